"""Who asks for quiet, or minds an alert: what is meant, for how long, and when it is over.

A silence holds back what people would hear, and nothing else: alerts are judged, and are
in the journal, as always.  It has an end and a comment, always: whoever comes next must see
why it is quiet, and that it will not stay so.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from hushd.config.problems import suggest
from hushd.config.records import Config
from hushd.core.alarms import Alarm
from hushd.core.mutes import Ack, Mute
from hushd.core.readings import SECOND, Labels
from hushd.core.rules import DAY
from hushd.core.times import duration
from hushd.core.transitions import rfc3339
from hushd.runtime.control import refusal
from hushd.runtime.logs import Log
from hushd.runtime.notes import clock_time
from hushd.runtime.reach import OutOfReachError, Reach
from hushd.runtime.store import Store

LONGEST = 366 * DAY  # for longer, a rule is to say `enabled: false`, where everybody sees it
COMMENT = 500  # characters
FIRST = 2000  # a year; before that, a time is none that anybody means
TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
TIME_HINT = 'write it as in "2026-12-24T08:00", or "08:00" for the next time clocks show that'


class UnfitError(Exception):
    """What is asked cannot be done.

    Args:
        code: The exit code for whoever asked.
        error: Why, for people.
    """

    def __init__(self, code: int, error: str) -> None:
        super().__init__(error)
        self.code = code


class Silencing:
    """Answers whoever asks for quiet, and has it kept.

    Args:
        config: What rules there are, and where.
        store: Keeps what is asked for.
        alarms: Returns every alert there is, whatever its state.
        log: Where to report.
        changed: Is called when there are other silences or acknowledgements in the store.
        wall: Says what time it is, in ns.
    """

    def __init__(
        self,
        config: Config,
        store: Store,
        alarms: Callable[[], Iterable[Alarm]],
        log: Log,
        changed: Callable[[Sequence[Mute], Sequence[Ack]], None],
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._alarms = alarms
        self._changed = changed
        self._log = log
        self._wall = wall
        self._last = 0  # a number is not given to two silences
        self.change(config)
        self.announce()

    def change(self, config: Config) -> None:
        """Go by other rules; a silence of one that is gone goes on, it may come back."""
        self._reach = Reach(config.rules.rules)
        self._zone: tzinfo | None = config.site.zone

    def announce(self) -> None:
        """Let those who tell know what is in the store."""
        self._changed(self._store.mutes(), self._store.acks())

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request from the control socket."""
        try:
            match request.get("do"):
                case "silence":
                    return self._add(request)
                case "silence-end":
                    return self._end(request)
                case "ack":
                    return self._acknowledge(request)
                case _:
                    return {"ok": True, "silences": self.shown()}
        except UnfitError as exc:
            return refusal(exc.code, str(exc))

    def shown(self) -> list[dict[str, Any]]:
        """Return the silences there are, each with what it holds now."""
        mutes = self._store.mutes()
        on = [alarm for alarm in self._alarms() if alarm.level is not None] if mutes else []
        return [self._shown(mute, on) for mute in mutes]

    def acks(self) -> list[Ack]:
        """Return who minds what."""
        return self._store.acks()

    def tidy(self) -> None:
        """Forget silences that have ended, and who minded what is over; to be called often."""
        now = self._wall()
        ended = [mute for mute in self._store.mutes() if mute.ends <= now]
        for mute in ended:
            self._forget(mute, "its time has come")
        acks = self._store.acks()
        over = []
        if acks:
            on = {(x.rule, x.labels): x.episode for x in self._alarms() if x.level is not None}
            over = [a for a in acks if on.get((a.rule, a.labels)) != a.episode]
            self._store.drop_acks([(ack.rule, ack.labels) for ack in over])
        if ended or over:
            self.announce()

    # -- requests ------------------------------------------------------------------------

    def _add(self, request: Mapping[str, Any]) -> dict[str, Any]:
        rule, labels = self._meant(request)
        comment = _comment(request)
        now = self._wall()
        ends = self._ends(request, now)
        numbers = [self._last, *(mute.number for mute in self._store.mutes())]
        self._last = max(numbers) + 1
        mute = Mute(self._last, rule, labels, now, ends, comment)
        self._store.keep_mute(mute)
        self.announce()
        self._log.info(
            "silence.added",
            number=mute.number,
            rule=rule,
            labels=dict(labels),
            until=rfc3339(ends // SECOND * SECOND),
            comment=comment,
        )
        known = list(self._alarms())
        on = [alarm for alarm in known if alarm.level is not None]
        return {"ok": True, "silence": self._shown(mute, on), "hint": _hint(mute, known)}

    def _end(self, request: Mapping[str, Any]) -> dict[str, Any]:
        number = request.get("number")
        mutes = self._store.mutes()
        for mute in mutes:
            if mute.number == number:
                self._forget(mute, "it was asked for")
                self.announce()
                return {"ok": True, "silence": self._shown(mute, [])}
        there = ", ".join(str(mute.number) for mute in mutes)
        hint = f"there are {there}" if there else "there is none"
        raise UnfitError(1, f"there is no silence {number}\n  hint: {hint}")

    def _acknowledge(self, request: Mapping[str, Any]) -> dict[str, Any]:
        rule, labels = self._meant(request)
        comment = _comment(request)
        now = self._wall()
        on = [alarm for alarm in self._alarms() if alarm.level is not None]
        meant = [x for x in on if rule == x.rule and set(labels) <= set(x.labels)]
        if not meant:
            firing = ", ".join(_named(x.rule, x.labels) for x in on[:5]) or "nothing"
            said = f"{_named(rule, labels)} does not fire, and only what fires can be acknowledged"
            raise UnfitError(1, f"{said}\n  hint: firing now: {firing}")
        for alarm in meant:
            ack = Ack(alarm.rule, alarm.labels, alarm.episode, now, comment)
            self._store.keep_ack(ack)
            self._log.info(
                "alert.acknowledged", rule=ack.rule, labels=dict(ack.labels), comment=comment
            )
        self.announce()
        return {"ok": True, "acknowledged": [_brief(alarm) for alarm in meant]}

    def _meant(self, request: Mapping[str, Any]) -> tuple[str, Labels]:
        """Return the rule and the labels that a request names."""
        rule, labels = request.get("rule", ""), request.get("labels", {})
        sound = isinstance(labels, dict) and all(isinstance(x, str) for x in labels.values())
        if not (isinstance(rule, str) and sound):
            raise UnfitError(2, "a rule is a text, and labels are names with texts")
        pairs = tuple(sorted(labels.items()))
        try:
            self._reach.check(rule, pairs)
        except OutOfReachError as exc:
            raise UnfitError(1, str(exc)) from exc
        return rule, pairs

    def _ends(self, request: Mapping[str, Any], now: int) -> int:
        """Return when a silence is to end."""
        try:
            if request.get("for"):
                ends = now + duration(str(request["for"]))
            elif request.get("until"):
                ends = _instant(str(request["until"]), self._zone, now)
            else:
                raise UnfitError(2, "a silence needs an end\n  hint: --for 2h, or --until TIME")
        except ValueError as exc:
            raise UnfitError(2, f"no end: {exc}") from exc
        if ends <= now:
            raise UnfitError(2, f"its end is past: {clock_time(ends, self._zone)}")
        if ends - now > LONGEST:
            hint = "a rule that is not wanted says so itself, with enabled: false"
            raise UnfitError(2, f"a silence lasts at most a year\n  hint: {hint}")
        return ends

    def _forget(self, mute: Mute, why: str) -> None:
        self._store.drop_mute(mute.number)
        self._log.info(
            "silence.ended",
            number=mute.number,
            rule=mute.rule,
            labels=dict(mute.labels),
            why=why,
            comment=mute.comment,
        )

    def _shown(self, mute: Mute, on: Iterable[Alarm]) -> dict[str, Any]:
        return {
            "number": mute.number,
            "rule": mute.rule,
            "labels": dict(mute.labels),
            "begins": rfc3339(mute.begins // SECOND * SECOND),
            "ends": rfc3339(mute.ends // SECOND * SECOND),
            "until": clock_time(mute.ends, self._zone),
            "comment": mute.comment,
            "holds": [_brief(x) for x in on if mute.covers(x.rule, x.labels)],
        }


def _brief(alarm: Alarm) -> dict[str, Any]:
    return {"rule": alarm.rule, "labels": dict(alarm.labels), "severity": alarm.level}


def _named(rule: str, labels: Labels) -> str:
    return " ".join([rule, *(f"{name}={value}" for name, value in labels)])


def _comment(request: Mapping[str, Any]) -> str:
    comment = str(request.get("comment") or "").strip()
    if not comment:
        raise UnfitError(2, 'a comment is needed\n  hint: --comment "why, and who asked"')
    if len(comment) > COMMENT:
        raise UnfitError(2, f"a comment has at most {COMMENT} characters")
    return comment


def _hint(mute: Mute, known: Sequence[Alarm]) -> str:
    """Return what may be wrong with labels that no alert carries yet; "" where one does."""
    if not mute.labels or any(mute.covers(x.rule, x.labels) for x in known):
        return ""
    for name, value in mute.labels:
        values = {dict(x.labels).get(name, "") for x in known if mute.rule in ("", x.rule)} - {""}
        if values and value not in values:
            return f"no alert has had {name}={value} so far; {suggest(value, values)[0]}"
    return "no alert matches it so far"


def _instant(text: str, zone: tzinfo | None, now: int) -> int:
    """Return the instant that *text* names in *zone*, or in UTC; of two, the later.

    Raises:
        ValueError: it is no time.
    """
    here = zone or UTC
    if time_alone := TIME.fullmatch(text):
        hour, minute = map(int, time_alone.groups())
        today = datetime.fromtimestamp(now / SECOND, here).date()
        clock = datetime(today.year, today.month, today.day, hour, minute)  # noqa: DTZ001  zone below
        days = (_to_ns(clock + timedelta(days=ahead), here) for ahead in range(3))
        return next(at for at in days if at > now)
    try:
        said = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"not a time: {TIME_HINT}") from None
    if said.year < FIRST:
        raise ValueError(f"not a time: {TIME_HINT}")
    return _to_ns(said, here)


def _to_ns(said: datetime, here: tzinfo) -> int:
    """Return ns since 1970; what has no offset is by the clocks *here*."""
    zoned = said if said.tzinfo is not None else said.replace(tzinfo=here)
    try:
        return max(int(zoned.replace(fold=fold).timestamp()) for fold in (0, 1)) * SECOND
    except OverflowError:  # at the edges of the calendar
        raise ValueError(f"not a time: {TIME_HINT}") from None
