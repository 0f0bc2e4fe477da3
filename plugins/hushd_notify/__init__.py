"""Ways to tell people: log, journal, mqtt, webhook, command, email, and Apprise's services."""

from collections.abc import Iterator

from hushd.plugin import NotifierType, hookimpl
from hushd_notify import command, journal, log, mail, mqtt, services, webhook


@hookimpl
def hushd_notifiers() -> Iterator[NotifierType]:
    """Offer them."""
    yield log.LOG
    yield journal.JOURNAL
    yield mqtt.MQTT
    yield webhook.WEBHOOK
    yield command.COMMAND
    yield mail.EMAIL
    yield services.APPRISE
