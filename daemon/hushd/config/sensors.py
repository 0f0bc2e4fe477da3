"""Sensors: topics, labels and decoders that fit together."""

from collections.abc import Iterable
from datetime import tzinfo
from typing import Any, NamedTuple

from hushd.config.place import Place
from hushd.config.problems import Mark, Report, shorten, suggest
from hushd.config.records import SensorConfig
from hushd.config.scalars import BAD
from hushd.config.table import Section
from hushd.core.readings import Labels, labels_of
from hushd.core.rules import Sensor
from hushd.core.times import StampFormat, stamp_parser
from hushd.core.topics import TopicTemplate
from hushd.plugin.catalog import Catalog
from hushd.plugin.records import Wanted

Named = dict[str, tuple[Mark, Any]]  # name -> (where it is named, section or value or BAD)


class SensorParts(NamedTuple):
    """What rules need to know of a sensor."""

    sensor: Sensor
    section: Section


class Sensors:
    """Checks the section ``sensors``."""

    def __init__(
        self, main: Section, named: Named, catalog: Catalog, report: Report, place: Place
    ) -> None:
        self.main = main
        self.named = named
        self.catalog = catalog
        self.report = report
        self.place = place
        self.parts: dict[str, SensorParts] = {}

    def compile(self) -> dict[str, SensorConfig]:
        out = {}
        for name, (mark, value) in self.named.items():
            if value is BAD:
                continue
            config = self.sensor(name, mark, value)
            if config is not None:
                out[name] = config
        return out

    def sensor(self, name: str, mark: Mark, section: Section) -> SensorConfig | None:
        topic = section["topic"]
        if not topic:
            return None
        try:
            template = TopicTemplate.parse(topic)
        except ValueError as exc:
            place = section.place("topic")
            self.report.error(place, f'cannot use "{shorten(topic)}" as a topic', str(exc))
            return None
        payload: Named = section["labels"] or {}
        for label, (at, _) in payload.items():
            if label in template.labels:
                self.report.error(
                    at,
                    f'the topic has a label "{label}" already',
                    "give one of the two another name",
                )
        labels = {*template.labels, *payload}
        interval, hold = section["interval"], section["hold"]
        if interval and hold and hold < interval:
            self.report.warn(
                section.place("hold"),
                "a reading stands for less than the interval: no window will ever be full",
                "write at least the interval, or leave hold out",
            )
        self.parts[name] = SensorParts(
            Sensor(
                name,
                tuple(sorted(labels)),
                section["unit"] or "",
                section["lateness"] or 0,
                section["future"] if section.ok("future") else 0,
                section["duplicates"] or "drop",
                interval,
                hold,
                self.expected(section, labels),
            ),
            section,
        )
        return self.reader(name, mark, section, template)

    def expected(self, section: Section, labels: set[str]) -> tuple[Labels, ...]:
        """Return the label sets that must exist."""
        out = []
        for _, entry in section["expect"] or ():
            for label, (at, _) in entry.items():
                if label not in labels:
                    unknown_label(self.report, label, at, labels)
            out.append(labels_of({k: v for k, (_, v) in entry.items() if v is not BAD}))
        return tuple(out)

    def reader(
        self, name: str, mark: Mark, section: Section, template: TopicTemplate
    ) -> SensorConfig | None:
        """Return the sensor with its decoder built."""
        if not section.ok("value", "time", "labels"):
            return None
        asked = section["value"]
        where = section.place("value") if "value" in section else mark
        decoder_name, _, argument = asked.partition(":")
        decoder = self.catalog.decoders.get(decoder_name)
        if decoder is None:
            hints = self.catalog.hint("decoder", decoder_name)
            self.report.error(where, f'unknown decoder "{shorten(decoder_name)}"', *hints)
            return None
        steps = [(where, asked, Wanted(argument))]
        steps += self.further(section, decoder_name, steps[0][2])
        decode = None
        for at, text, step in steps:  # each adds one thing, so that the right one is blamed
            try:
                decode = decoder.build(step)
            except ValueError as exc:
                self.report.error(at, f'the decoder cannot use "{shorten(text)}"', str(exc))
                return None
            except Exception as exc:  # noqa: BLE001  whatever it is, it is the plugin's
                self.report.error(
                    at,
                    f'the decoder "{decoder_name}" broke: {type(exc).__name__}',
                    f"plugin {self.catalog.sources.get(decoder_name, decoder_name)}: {exc}",
                )
                return None
        if decode is None:
            return None
        return SensorConfig(
            name,
            template,
            decoder_name,
            decode,
            section["unit"] or "",
            section["valid"],
            section["retained"] or "ignore",
        )

    def further(
        self, section: Section, decoder: str, wanted: Wanted
    ) -> Iterable[tuple[Mark, str, Wanted]]:
        """Yield what else the decoder must find: the time, then one more label each."""
        time: Section | None = section["time"]
        if time is not None:
            text, mark = time["path"], time.place("path")
            path = self.argument(text, mark, decoder, "time") if text else None
            zone = self.time_zone(time) if time["zone"] else self.place.zone
            form: StampFormat = time["format"] or "auto"
            if path is not None:
                wanted = wanted._replace(time=path, stamp=stamp_parser(form, zone))
                yield mark, text, wanted
        labels: Named = section["labels"] or {}
        for name, (mark, text) in labels.items():
            at = None if text is BAD else self.argument(text, mark, decoder, f'label "{name}"')
            if at is not None:
                wanted = wanted._replace(labels=(*wanted.labels, (name, at)))
                yield mark, text, wanted

    def time_zone(self, section: Section) -> tzinfo | None:
        """Return the zone that ``time.zone`` means."""
        if section["zone"] != "site":
            return self.place.open_zone(section["zone"], section.place("zone"))
        site: Section | None = self.main["site"]
        if site is None or (site["timezone"] is None and site.ok("timezone")):
            self.report.error(
                section.place("zone"),
                'zone is "site", but site.timezone is not set',
                "add it, as in site: {timezone: Europe/Berlin}",
            )
        return self.place.zone

    def argument(self, text: str, mark: Mark, decoder: str, what: str) -> str | None:
        """Return what follows the decoder's name and the colon."""
        name, colon, argument = text.partition(":")
        if colon and name == decoder:
            return argument
        if colon and name in self.catalog.decoders:
            hint = f"name one decoder in both, as in value: {name}:level"
        else:
            hint = f'write "{decoder}:{text}"'
        self.report.error(
            mark, f'the {what} is read by the decoder of the value, "{decoder}"', hint
        )
        return None


def unknown_label(report: Report, label: str, mark: Mark, labels: Iterable[str]) -> None:
    """Complain of a label that the sensor has not."""
    hints = suggest(label, labels) or (
        'the sensor has none; name levels of its topic, as in "home/{room}/noise"',
    )
    report.error(mark, f'unknown label "{shorten(label)}"', *hints)
