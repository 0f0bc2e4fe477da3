"""Who is told of a rule's alerts, how often, in which words, and when rather not."""

from collections.abc import Iterable, Mapping

from hushd.config import messages
from hushd.config.common import Common
from hushd.config.problems import Mark, suggest
from hushd.config.records import Message
from hushd.config.scalars import BAD
from hushd.config.sensors import SensorParts
from hushd.config.table import Section
from hushd.core.rules import SEVERITIES, Flapping, NoData, Notify, Severity
from hushd.core.times import format_duration

PARTS = ("title", "raise", "clear", "repeat", "no_data")


class Telling:
    """Checks what ``defaults`` and rules say of messages."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.report = common.report
        self.said: set[tuple[str, messages.Fault]] = set()  # of `defaults.message`, by part
        #: template and labels -> what is wrong with it; many rules share that of `defaults`
        self.known: dict[tuple[str, tuple[str, ...]], list[messages.Fault]] = {}

    def notify(self, section: Section) -> Notify:
        """Return who is told, by severity."""
        value = self.common.pick(section, "notify")
        if value is None:
            return ()
        if isinstance(value, tuple):
            return (("info", self.common.names(value)),)
        return tuple(
            (severity, self.common.names(value[severity][1]))
            for severity in SEVERITIES
            if severity in value and value[severity][1] is not BAD
        )

    def no_data(self, section: Section, watched: Iterable[SensorParts]) -> NoData | None:
        """Return what silence means for a rule that looks at the sensors *watched*."""
        value = section["no_data"]
        if value is None:
            return NoData()
        if not isinstance(value, Section):
            return None  # ignore
        for parts in watched:
            interval = parts.sensor.interval
            if interval and value["after"] and value["after"] < interval:
                self.report.warn(
                    value.place("after"),
                    f"shorter than the interval of {parts.sensor.name}: every gap is a silence",
                    f"write more than {format_duration(interval)}",
                )
        return NoData(
            value["after"],
            value["severity"] or "warning",
            value["level"] or "keep",
            self.common.names(value["notify"]) if "notify" in value else None,
        )

    def unheard(
        self,
        section: Section,
        reached: Iterable[Severity],
        no_data: NoData | None,
        notify: Notify,
    ) -> None:
        """Say when somebody is listed at a severity that the rule never reaches."""
        value = section["notify"]
        severities = [*reached]
        if not isinstance(value, dict) or not severities or not notify:
            return
        if no_data is not None:
            severities.append(no_data.severity)
        worst = max(SEVERITIES.index(severity) for severity in severities)
        for severity, (mark, _) in value.items():
            if SEVERITIES.index(severity) > worst:
                more = "severity: " if "severity" in section else "a limit for "
                self.report.warn(
                    mark,
                    f"this rule is never {severity}: nobody listed here hears of it",
                    f"add {more}{severity}, or list them at {SEVERITIES[worst]}",
                )

    def repeat(self, section: Section) -> tuple[int, ...]:
        """Return the pauses between repetitions."""
        value: int | tuple[tuple[Mark, int], ...] | None = self.common.pick(section, "repeat")
        return (value,) if isinstance(value, int) else tuple(ns for _, ns in value or ())

    def flapping(self, section: Section) -> Flapping | None:
        """Return how many changes are too many."""
        value = self.common.pick(section, "flapping")
        if not isinstance(value, Section) or not (value["changes"] and value["within"]):
            return None
        return Flapping(value["changes"], value["within"])

    def message(self, name: str, section: Section, each: tuple[str, ...]) -> Message:
        """Return the words of a rule's messages, whose alerts carry the labels *each*."""
        shared = "message" not in section
        own: Section | None = self.common.pick(section, "message")
        texts: dict[str, str] = {}
        for part, text in _texts(own):
            texts[part] = text
            for mark, fault in self.faults(own, part, each):
                if shared and (part, fault) in self.said:
                    continue
                if shared:
                    where = f'{fault.message}, in the messages of rule "{name}"'
                    self.report.error(mark, where, "give that rule a message of its own")
                else:
                    self.report.error(mark, fault.message, fault.hint)
        return Message(texts, section["link"] or "")

    def look_at_words(self, defaults: Section) -> None:
        """Complain of templates that fit no rule, whatever its labels."""
        own: Section | None = defaults["message"]
        labels = {label for parts in self.common.parts.values() for label in parts.sensor.labels}
        for part, _ in _texts(own):
            for mark, fault in self.faults(own, part, tuple(sorted(labels))):
                self.said.add((part, fault))
                self.report.error(mark, fault.message, fault.hint)

    def faults(
        self, section: Section | None, part: str, labels: tuple[str, ...]
    ) -> list[tuple[Mark, messages.Fault]]:
        """Return what is wrong with a template, and where; each is looked at once."""
        if section is None:
            return []
        text, mark = section[part], section.place(part)
        if (text, labels) not in self.known:
            self.known[text, labels] = messages.faults(text, labels)
        found = self.known[text, labels]
        return [(messages.place(mark, text, fault), fault) for fault in found]

    def mutes(self, name: str, section: Section) -> tuple[str, ...]:
        """Return the rules that hold this one's messages back."""
        known = self.common.named["rules"]
        for mark, other in section["mute_while"] or ():
            if other == name:
                self.report.error(
                    mark, "a rule that mutes itself is never heard of", "name another rule"
                )
            elif other not in known and "rules" not in self.common.lost:
                hints = suggest(other, [rule for rule in known if rule != name])
                self.report.error(
                    mark, f'unknown rule "{other}"', *(hints or ("there is no other rule",))
                )
        return tuple(dict.fromkeys(other for _, other in section["mute_while"] or ()))

    def look_at_mutes(self, eaches: Mapping[str, tuple[str, ...]]) -> None:
        """Say which rules cannot hold another's messages back, or hold both back at once.

        Args:
            eaches: The labels that separate the alerts of each rule that could be read.
        """
        rules = self.common.named["rules"]
        for name, own in eaches.items():
            section: Section = rules[name][1]
            for mark, other in section["mute_while"] or ():
                lacking = sorted(set(eaches.get(other, ())) - set(own))
                if lacking:
                    self.report.warn(
                        mark,
                        f'"{other}" never mutes this rule: its alerts also have '
                        f"{', '.join(lacking)}",
                        "it mutes alerts that have all of its labels; name fewer in its each",
                    )
                elif other != name and other in eaches and name < other:
                    back = {muting for _, muting in rules[other][1]["mute_while"] or ()}
                    if name in back:
                        self.report.warn(
                            mark,
                            f'"{other}" and "{name}" mute each other: nobody hears of either',
                            "take one of the two out",
                        )


def _texts(section: Section | None) -> list[tuple[str, str]]:
    """Return the parts of a message that are there."""
    return [(part, section[part]) for part in PARTS if section[part]] if section is not None else []
