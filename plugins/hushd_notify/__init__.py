"""Ways to tell people: log, journal, mqtt, webhook, Alertmanager, command, email, and Apprise's services."""

from collections.abc import Iterator

from hushd.plugin import NotifierType, hookimpl
from hushd_notify import alertmanager, command, journal, log, mail, mqtt, services, webhook


@hookimpl
def hushd_notifiers() -> Iterator[NotifierType]:
    """Offer them."""
    yield log.LOG
    yield journal.JOURNAL
    yield mqtt.MQTT
    yield webhook.WEBHOOK
    yield alertmanager.ALERTMANAGER
    yield command.COMMAND
    yield mail.EMAIL
    yield services.APPRISE
