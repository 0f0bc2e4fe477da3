"""Publishes notes as JSON, over the daemon's own connection to the broker."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hushd.plugin import Context, Fault, Note, NotifierType, Option, RefusedError
from hushd_notify.texts import body

LENGTH = 65_535  # bytes of a topic, as MQTT has it
#: what a placeholder may stand for, beside a label
FIXED = ("rule", "labels", "kind", "severity", "site", "notifier")
NONE = "-"  # where there is nothing to put in

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SPECIAL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff/+#$%]")


class Mqtt:
    """One topic, or a pattern of topics."""

    def __init__(self, options: Mapping[str, Any], context: Context) -> None:
        self._topic = str(options["topic"])
        self._retain = bool(options["retain"])
        self._context = context

    def send(self, note: Note) -> None:
        """Publish *note*; a test is never kept by the broker.

        Raises:
            RefusedError: the topic would be too long, or the broker does not allow it.
            NotSentError: it never left.
            OSError: the broker may not have it.
        """
        topic = self._filled(note)
        if len(topic.encode()) > LENGTH:
            raise RefusedError(f"the topic would be longer than {LENGTH} bytes")
        retain = self._retain and note.kind != "test"
        try:
            self._context.publish(topic, body(note, self._context.site), retain=retain)
        except PermissionError as exc:
            raise RefusedError(str(exc)) from exc

    def close(self) -> None:
        """Do nothing: the connection is the daemon's."""

    def _filled(self, note: Note) -> str:
        labels = note.record.get("labels")
        known = labels if isinstance(labels, Mapping) else {}
        texts = {
            **known,
            "rule": note.record.get("rule"),
            "labels": ",".join(f"{name}={level(value)}" for name, value in sorted(known.items())),
            "kind": note.kind,
            "severity": note.severity,
            "site": self._context.site,
            "notifier": self._context.name,
        }

        def text(match: re.Match[str]) -> str:
            value = texts.get(match[1])
            if value is None or value == "":
                return NONE
            return str(value) if match[1] == "labels" else level(value)

        return _PLACE.sub(text, self._topic)


def level(value: object) -> str:
    """Return *value* as a part of one level of a topic; what MQTT gives a meaning is escaped.

    >>> level("3/4 #1")
    '3%2F4 %231'
    """
    return _SPECIAL.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode(errors="surrogatepass")),
        str(value),
    )


def _faults(options: Mapping[str, Any]) -> Iterator[Fault]:
    topic = str(options["topic"])
    rest = _PLACE.sub("", topic)
    if "{" in rest or "}" in rest:
        hint = "write {rule}, {labels}, {kind}, {severity}, {site}, {notifier} or {NAME} of a label"
        yield Fault("topic", "a placeholder that cannot be read", hint)
    elif "+" in rest or "#" in rest:
        yield Fault("topic", '"+" and "#" are for subscriptions', "write placeholders: {room}")
    elif topic.startswith("$"):
        yield Fault("topic", 'topics that begin with "$" are the broker\'s own')
    elif not topic.isprintable() or len(topic.encode()) > LENGTH // 2:
        yield Fault("topic", "not a topic that a broker takes")


MQTT = NotifierType(
    "mqtt",
    "a JSON object published to the broker",
    Mqtt,
    (
        Option(
            "topic",
            "where to publish; `{rule}`, `{labels}`, `{kind}`, `{severity}`, `{site}`, `{notifier}` "
            "and each label by its name, as `{room}`, are filled in",
            "text",
            default="hushd/alert/{rule}/{labels}",
        ),
        Option(
            "retain",
            "whether the broker keeps the last one of each topic",
            "boolean",
            default=False,
        ),
    ),
    check=_faults,
)
