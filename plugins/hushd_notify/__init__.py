"""Ways to tell people that need nothing but the standard library: log, journal, webhook."""

from collections.abc import Iterator

from hushd.plugin import NotifierType, hookimpl
from hushd_notify import journal, log, webhook


@hookimpl
def hushd_notifiers() -> Iterator[NotifierType]:
    """Offer them."""
    yield log.LOG
    yield journal.JOURNAL
    yield webhook.WEBHOOK
