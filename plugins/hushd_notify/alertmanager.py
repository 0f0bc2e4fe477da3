"""Keeps Prometheus Alertmanager informed, through its v2 API, of which alerts are on.

To Alertmanager an alert is its labels, and the severity is one of them: that is what its
routes and inhibitions look at.  So when a severity changes, the alert of the old one is
ended and that of the new one begun, in one request.  Which are to be ended is asked of
Alertmanager itself.  A memory of our own would be wrong after a restart, and what a rule was
at before is not always what this notifier told, for it may have been held back; to end every
other severity, whether it was ever on or not, would let people behind Alertmanager hear of
the end of what never began.

Alertmanager forgets all alerts when it restarts, and ends one of which it hears no more.
"""

import json
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from hushd.plugin import (
    Context,
    Fault,
    Note,
    NotifierType,
    NotSentError,
    Option,
    RefusedError,
)
from hushd_notify.lines import SECOND
from hushd_notify.texts import lines, one_line
from hushd_notify.web import CA, TIMEOUT, Server, ca_faults, token_faults, url_faults

API = "/api/v2/alerts"
SEVERITIES = ("info", "warning", "critical")
ENDED = frozenset({"cleared", "missed"})
#: they tell of another level than before, or of an end; the others find nothing to put an end to
CHANGES = ENDED | {"raised_again", "escalated", "lowered", "flapping", "steady"}
RESERVED = frozenset({"alertname", "severity", "site"})
TRIAL = timedelta(minutes=5)  # after which a test is over

_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Alertmanager:
    """One Alertmanager; nothing is kept between two notes."""

    def __init__(self, options: Mapping[str, Any], context: Context) -> None:
        for fault in _faults(options):
            raise RefusedError(f"{fault.option}: {fault.message}")
        self._seconds = options["timeout"] / SECOND
        self._expires = timedelta(microseconds=options["expires"] // 1000)
        self._static = dict(options.get("labels") or {})
        self._generator = options.get("generator_url")
        self._site = context.site
        headers = {"Content-Type": "application/json"}
        if options.get("token"):
            headers["Authorization"] = f"Bearer {options['token']}"
        elif options.get("username"):
            pair = f"{options['username']}:{options.get('password') or ''}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        self._server = Server(str(options["url"]), headers, ca=options.get("ca"))
        self._target = self._server.url.path.rstrip("/") + API

    def send(self, note: Note) -> None:
        """Post the alert that *note* is about, and the ends of what it is no more.

        What it raises is what `Server.ask` does.  The same note twice changes nothing.
        """
        until = time.monotonic() + self._seconds
        labels = identity(note.record, self._site, self._static)
        on = self._on(labels) if note.kind in CHANGES else set()
        alerts = self._alerts(note, labels, on, datetime.now(UTC))
        if alerts:
            left = max(until - time.monotonic(), 0.0)
            self._server.ask("POST", self._target, json.dumps(alerts).encode(), seconds=left)

    def close(self) -> None:
        """Do nothing: no connection outlives its note."""

    def _on(self, labels: Mapping[str, str]) -> set[str]:
        """Return at which severities Alertmanager has this alert.

        All of them, where it does not let itself be asked.

        Raises:
            NotSentError: there was no answer.
        """
        only = [
            ("filter", f'{name}="{value.translate(_ESCAPES)}"') for name, value in labels.items()
        ]
        try:
            text = self._server.ask(
                "GET", f"{self._target}?{urlencode(only)}", seconds=self._seconds
            )
            found = [dict(alert["labels"]) for alert in json.loads(text)]
        except NotSentError:
            raise
        except OSError as exc:  # nothing was told yet
            raise NotSentError(str(exc) or type(exc).__name__) from exc
        except (RefusedError, ValueError, KeyError, TypeError):
            return set(SEVERITIES)
        # a matcher also finds those who have more labels than it asks for
        return {severity for severity in SEVERITIES if {**labels, "severity": severity} in found}

    def _alerts(
        self, note: Note, labels: Mapping[str, str], on: set[str], now: datetime
    ) -> list[dict[str, object]]:
        """Return what to post: first what is over, then what is on."""
        at = min(_moment(note.record.get("at"), now), now)
        started = min(_moment(note.record.get("started"), at), at)
        current = note.severity
        over: set[object] = {*on}
        ended = at
        if note.kind in {"escalated", "lowered"}:
            over.add(note.record.get("was"))
        if note.kind in ENDED or current is None:
            # also one that it does not have: it may have forgotten it, and not who heard of it
            over.add(current)
            current = None
        elif note.kind == "raised_again":
            ended = started  # when that was, nobody was there to tell; it is not the same one
        else:
            over.discard(current)
        annotations = _annotations(note)
        made = [
            self._alert(labels, severity, annotations, started, ended)
            for severity in SEVERITIES
            if severity in over
        ]
        if current is not None:
            end = now + (TRIAL if note.kind == "test" else self._expires)
            made.append(self._alert(labels, current, annotations, started, end))
        return made

    def _alert(
        self,
        labels: Mapping[str, str],
        severity: str,
        annotations: Mapping[str, str],
        starts: datetime,
        ends: datetime,
    ) -> dict[str, object]:
        alert: dict[str, object] = {
            "labels": {**labels, "severity": severity},
            "annotations": annotations,
            "startsAt": starts.isoformat(),
            "endsAt": ends.isoformat(),
        }
        if self._generator:
            alert["generatorURL"] = self._generator
        return alert


def identity(record: Mapping[str, Any], site: str, static: Mapping[str, str]) -> dict[str, str]:
    """Return the labels by which an alert is known for its whole life; the severity is beside them.

    A label whose name is taken goes by another one, else two alerts could become one.

    >>> identity({"rule": "loud", "labels": {"site": "west", "room": "101"}}, "Adler", {"room": "x"})
    {'alertname': 'loud', 'site': 'Adler', 'room': 'x', 'label_room': '101', 'label_site': 'west'}
    """
    given: Mapping[str, Any] = record.get("labels") or {}
    labels = {"alertname": str(record.get("rule")), "site": site, **static}
    for name, value in sorted(given.items()):
        known = name
        while known in RESERVED or known in labels or (known != name and known in given):
            known = f"label_{known}"
        labels[known] = str(value)
    # Alertmanager leaves out what is empty, and knows no half of a pair of surrogates
    return {name: _SURROGATE.sub("\ufffd", value) for name, value in labels.items() if value}


def _annotations(note: Note) -> dict[str, str]:
    record = note.record
    said = {
        "summary": one_line(note.title),
        "description": lines(note.text),
        "value": _number(record.get("value")),
        "limit": _number(record.get("limit")),
        "unit": one_line(str(record.get("unit") or "")),
        "episode": _number(record.get("episode")),
        "event_id": note.key,
    }
    return {name: text for name, text in said.items() if text}


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else ""


def _moment(text: object, otherwise: datetime) -> datetime:
    return datetime.fromisoformat(text) if isinstance(text, str) else otherwise


def _faults(options: Mapping[str, Any]) -> Iterator[Fault]:
    """Find what could not be posted, or would be misunderstood."""
    if options.get("url") is not None:
        yield from _of_url(str(options["url"]))
    if options.get("generator_url") is not None:
        yield from url_faults("generator_url", str(options["generator_url"]))
    for name in options.get("labels") or {}:
        if name in RESERVED:
            yield Fault(
                "labels", f'"{name}" is a label that hushd itself writes', "use another name"
            )
        elif not _LABEL.fullmatch(name):
            hint = 'begin with a letter, and use letters, digits and "_"'
            yield Fault("labels", f'cannot use "{one_line(name)}" as the name of a label', hint)
    yield from token_faults(options.get("token"))
    yield from _of_user(options)
    if options.get("ca") is not None:
        yield from ca_faults(str(options["ca"]))
    if options["expires"] < 3 * options["refresh"]:
        message = "an alert would be over before one lost note could be made good"
        yield Fault("expires", message, "make it at least three times as long as refresh")


def _of_url(url: str) -> Iterator[Fault]:
    found = list(url_faults("url", url))
    yield from found
    if found:
        return
    parts = urlsplit(url)
    if "@" in parts.netloc:
        hint = "write username: NAME and password: {credential: NAME}"
        yield Fault("url", "a user name or password does not belong into a URL", hint)
    if parts.query or parts.fragment or parts.path.rstrip("/").endswith(API):
        message = "this is more than the address of Alertmanager"
        yield Fault("url", message, f'leave out what comes after it, such as "{API}"')


def _of_user(options: Mapping[str, Any]) -> Iterator[Fault]:
    """Find a login that is not whole; a secret that could not be had is not there at all."""
    user = options.get("username")
    if user is None:
        if options.get("password") is not None:
            yield Fault("password", "a password without a user name", "add username: NAME")
        return
    if options.get("token") is not None:
        yield Fault("token", "a token and a user name", "leave out one of them")
    if ":" in str(user):
        yield Fault("username", 'a user name cannot hold ":"')
    if options.get("password", "") is None:
        hint = "add password: {credential: NAME}"
        yield Fault("username", "a user name without a password", hint)


ALERTMANAGER = NotifierType(
    "alertmanager",
    "an alert of Prometheus Alertmanager",
    Alertmanager,
    (
        Option("url", "where Alertmanager is, without `/api/v2/alerts`", "url", required=True),
        Option("labels", "more labels for each alert", "map", otherwise="none"),
        Option("generator_url", "where the link at each alert leads", "url", otherwise="none"),
        Option("username", "who logs in", "text", otherwise="nobody"),
        Option("password", "where the password is kept", "secret", otherwise="none"),
        Option("token", "sent as `Authorization: Bearer ...`", "secret", otherwise="none"),
        Option(
            "refresh",
            "how often it is told again what is still on",
            "duration",
            default=60 * SECOND,
            low=SECOND,
        ),
        Option(
            "expires",
            "after how long without word it ends an alert by itself; at least three times `refresh`",
            "duration",
            default=86_400 * SECOND,
            low=SECOND,
        ),
        CA,
        TIMEOUT,
    ),
    check=_faults,
    refreshes=True,
)
