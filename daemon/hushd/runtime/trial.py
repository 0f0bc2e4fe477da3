"""One test note through one notifier, now: what ``hushd notify-test`` does.

It needs no running daemon, and is no part of one: nothing is kept, nothing is tried again,
and what the daemon's own notifier of that name waits for is left alone.
"""

import threading
import time
import uuid
from collections.abc import Callable
from typing import Literal, NamedTuple

from hushd.config.records import Config
from hushd.core.rules import Severity
from hushd.core.transitions import rfc3339
from hushd.plugin.records import Context, Note, RefusedError
from hushd.runtime import sessions
from hushd.runtime.daemon import way
from hushd.runtime.delivery import Way
from hushd.runtime.logs import Log
from hushd.runtime.publisher import Publisher
from hushd.runtime.veil import spoken, veil

DEADLINE = 60.0  # seconds, as in the daemon


class Outcome(NamedTuple):
    """What came of it."""

    #: refused: nothing was delivered, and the same would happen again; failed: perhaps not;
    #: broken: the plugin did not hold to its part
    state: Literal["told", "refused", "failed", "broken"]
    said: str = ""  # without any secret
    took: float = 0.0  # seconds


def send_test(
    config: Config,
    name: str,
    severity: Severity,
    say: Callable[..., None],
    log: Log,
    deadline: float = DEADLINE,
) -> Outcome:
    """Send a test note through the notifier *name* and return what came of it.

    Args:
        config: Where the notifier is.
        name: One of its notifiers.
        severity: How bad the note says things are.
        say: Where the ``log`` notifier writes.
        log: Where the connection to the broker, if it takes one, says what is wrong.
        deadline: Seconds; then it is given up, whatever the plugin still does.

    Raises:
        LookupError: a secret of this notifier is not there; the message says which.
    """
    told_by = way(config.notifiers[name])
    mqtt = config.mqtt
    publisher = Publisher(mqtt, f"{sessions.client_id(mqtt, config.site.name)}-test", log)

    def publish(topic: str, payload: bytes, *, retain: bool = False) -> None:
        if mqtt.password is not None and mqtt.password.missing:
            raise RefusedError(f"mqtt.password: {mqtt.password.source} is not set")
        publisher.publish(topic, payload, retain=retain)

    context = Context(name, config.site.name, say, publish)
    outcomes: list[Outcome] = []
    began = time.monotonic()
    thread = threading.Thread(
        target=lambda: outcomes.append(_send(told_by, context, _note(config, name, severity))),
        name=f"notify-{name}",
        daemon=True,
    )
    thread.start()
    thread.join(deadline)
    took = time.monotonic() - began
    publisher.close(b"")
    if not outcomes:
        return Outcome("failed", f"still not done after {deadline:g} s", took)
    return outcomes[0]._replace(took=took)


def _send(told_by: Way, context: Context, note: Note) -> Outcome:
    try:
        notifier = told_by.type.open(told_by.options, context)
        try:
            notifier.send(note)
        finally:
            notifier.close()
    except RefusedError as exc:
        return Outcome("refused", veil(str(exc), told_by.secrets))
    except OSError as exc:
        return Outcome("failed", spoken(exc, told_by.secrets))
    except BaseException as exc:  # noqa: BLE001  whatever it is, it is the plugin's
        return Outcome("broken", veil(f"{type(exc).__name__}: {exc}", told_by.secrets))
    return Outcome("told")


def _note(config: Config, name: str, severity: Severity) -> Note:
    now = time.time_ns()
    key = f"test-{uuid.uuid4().hex[:16]}"
    return Note(
        "test",
        f"Test of {name}: this is hushd at {config.site.name}",
        "Somebody tries out whether messages arrive here.  Nothing is wrong.\n"
        f"A real one would be of severity {severity}.",
        severity,
        f"{key}-{name}",
        {
            "at": rfc3339(now - now % 10**9),
            "rule": "test",
            "labels": {},
            "event": "test",
            "severity": severity,
            "id": key,
        },
    )
