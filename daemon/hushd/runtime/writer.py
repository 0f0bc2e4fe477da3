"""Writes what people are told: in the words of the rule where it has some, else in ours."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Protocol

from hushd.config.messages import TemplateError, Templates
from hushd.config.records import Message
from hushd.core.internal import PREFIX
from hushd.core.readings import SECOND
from hushd.core.reconcile import Kind
from hushd.core.rules import Bound, Rule
from hushd.core.transitions import Event, Transition
from hushd.plugin.records import Note
from hushd.runtime import notes
from hushd.runtime.notes import Current
from hushd.runtime.wording import span

#: what is told -> the templates that may say it, the first that there is; what is not here,
#: as that something keeps coming and going, is always told in our words
PARTS: dict[str, tuple[str, ...]] = {
    "raised": ("raise",),
    "raised_again": ("raise",),
    "escalated": ("raise",),
    "lowered": ("raise",),
    "repeat": ("repeat", "raise"),
    "cleared": ("clear",),
    "no_data": ("no_data",),
}
#: likewise, of the alert of a silent sensor
NO_DATA: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("raised", "raised_again", "escalated", "lowered", "repeat"), ("no_data",)
)
TEXT = 1_000  # characters of a text that goes into a template


class Warn(Protocol):
    """Writes to the log."""

    def __call__(self, event: str, **fields: object) -> None:
        """Write a line."""


class Writer:
    """Knows the place, and the words and limits of each rule; used by several threads.

    Args:
        site: What the place is called.
        node: Which of several daemons this one is.
        zone: In which times are told; None: UTC, and it is said.
        rules: Those whose alerts are told.
        messages: The words of those that have any, by rule.
        warn: Hears of templates that cannot be filled in, once of each kind.
    """

    def __init__(
        self,
        *,
        site: str = "",
        node: str = "",
        zone: tzinfo | None = None,
        rules: Sequence[Rule] = (),
        messages: Mapping[str, Message] | None = None,
        warn: Warn | None = None,
    ) -> None:
        self.zone = zone
        self._site = site
        self._node = node
        self._rules = {rule.name: rule for rule in rules}
        self._messages = dict(messages or {})
        self._templates = {name: Templates(m.texts) for name, m in self._messages.items()}
        self._warn = warn
        self._warned: set[tuple[str, str, str]] = set()

    def write(
        self,
        transition: Transition,
        kind: Kind | Event,
        severity: str | None,
        key: str,
        *,
        now: int | None = None,
        current: Current | None = None,
        late: tuple[int, int] | None = None,
    ) -> Note:
        """Return what to tell of *transition*.

        Args:
            transition: What happened; its values are told as they were then.
            kind: What is told of it.
            severity: How bad the notifier is to take it for.
            key: The same when the same thing is told again.
            now: The time, for what has not ended; None: that of the transition.
            current: How it stands at that time, for a reminder.
            late: When it happened and when it is told, where that is too far apart.
        """
        rule = self._rules.get(transition.rule)
        note = notes.write(
            transition, kind, severity, key, self.zone, rule=rule, now=now, current=current
        )
        message = self._messages.get(transition.rule)
        if message is not None and message.link:
            note = note._replace(text=f"{note.text}\nMore: {message.link}")
        words = self._words(transition, kind)
        if words is not None:
            variables = self._variables(transition, kind, severity, now, late)
            if current is not None and current.value is not None:
                variables |= {"value": current.value, "peak": current.peak}
            note = self._in_words(*words, note, variables)
        return note if late is None else notes.late(note, *late, self.zone)

    def _words(self, transition: Transition, kind: str) -> tuple[str, str] | None:
        """Return the rule whose words tell this, and which of them; None: ours do."""
        name = transition.rule
        if name.startswith(PREFIX) or (kind == "cleared" and transition.reason in notes.ENDS):
            return None  # that nobody looks any more is not that all is well
        if name.endswith(notes.SILENCE):
            sensor = name.removesuffix(notes.SILENCE)
            names = sorted(rule.name for rule in self._rules.values() if sensor in rule.sensors)
            parts = NO_DATA.get(kind, ())
        else:
            names, parts = [name], PARTS.get(kind, ())
        for part in parts:
            for rule in names:
                if part in self._templates.get(rule, ()):
                    return rule, part
        # a title of its own stands over our text, too, unless it is about another thing
        return (name, "") if parts and not name.endswith(notes.SILENCE) else None

    def _in_words(self, rule: str, part: str, note: Note, variables: dict[str, Any]) -> Note:
        """Return *note* in a rule's own words, or in ours with what is wrong with those."""
        templates = self._templates.get(rule)
        if templates is None:
            return note
        own: dict[str, str] = {}
        for name in ("title", part):
            if name not in templates:
                continue
            try:
                own[name] = templates.render(name, variables)
            except TemplateError as exc:
                self._complain(rule, name, str(exc))
                wrong = f"The {name} of the message of rule {rule} cannot be written: {exc}."
                return note._replace(text=f"{note.text}\n{wrong}")
        return note._replace(title=own.get("title") or note.title, text=own.get(part) or note.text)

    def _complain(self, rule: str, part: str, why: str) -> None:
        if self._warn is None or (rule, part, why) in self._warned:
            return
        self._warned.add((rule, part, why))
        self._warn(
            "template.failed", rule=rule, part=part, error=why, hint="it is told in our own words"
        )

    def _variables(
        self,
        transition: Transition,
        kind: str,
        severity: str | None,
        now: int | None,
        late: tuple[int, int] | None,
    ) -> dict[str, Any]:
        labels = {name: _short(value) for name, value in transition.labels}
        message = self._messages.get(transition.rule)
        started = transition.started
        until = transition.at if now is None or kind == "cleared" else max(now, transition.at)
        over = kind == "cleared"
        own: dict[str, Any] = {
            "rule": transition.rule,
            "severity": "ok" if over else severity or "ok",
            "state": _state(transition, kind),
            "value": transition.value,
            "unit": transition.unit,
            "limit": transition.limit,
            "clear": self._clear(transition),
            "over": transition.over,
            "measure": transition.measure,
            "since": None if started is None else self._moment(started),
            "lasted": None if started is None else _length(until - started),
            "peak": transition.peak,
            "samples": transition.samples,
            "coverage": transition.coverage,
            "episode": transition.episode,
            "site": _short(self._site),
            "node": _short(self._node),
            "about": _short(transition.about),
            "link": "" if message is None else _short(message.link),
            "late": "" if late is None else span(late[1] - late[0]),
            "event_id": transition.id,
            "labels": labels,
        }
        return labels | own

    def _clear(self, transition: Transition) -> float | None:
        """Return where the alert ends: the rule's `clear` beside the limit that was crossed."""
        rule = self._rules.get(transition.rule)
        limits = [x for choice in rule.choices for x in choice.limits] if rule is not None else []
        levels = {transition.severity, transition.was}
        for limit in limits:
            if limit.severity in levels:
                for bound, end in zip(_bounds(limit.limit), _bounds(limit.clear), strict=False):
                    if bound == transition.limit:
                        return bound if end is None else end
        return None

    def _moment(self, at: int) -> datetime:
        return datetime.fromtimestamp(at // SECOND, self.zone or UTC)


def _bounds(bound: Bound | None) -> tuple[float | None, float | None]:
    """Return both ends of a band; a single bound stands for both."""
    return bound if isinstance(bound, tuple) else (bound, bound)


def _state(transition: Transition, kind: str) -> str:
    if kind == "no_data" or transition.rule.endswith(notes.SILENCE):
        return "no data"
    return "ok" if kind == "cleared" or transition.severity is None else "firing"


def _length(ns: int) -> timedelta:
    return timedelta(seconds=round(ns / SECOND))


def _short(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"
