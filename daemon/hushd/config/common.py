"""What the checks of all parts of a rule share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hushd.config.problems import Mark, Report, suggest
from hushd.config.schedules import Schedules
from hushd.config.sensors import Named, SensorParts
from hushd.config.table import Section
from hushd.plugin.catalog import Catalog

Words = tuple[tuple[Mark, str], ...]


@dataclass
class Common:
    """The rest of the configuration, and what rules have made use of."""

    main: Section
    named: Mapping[str, Named]
    catalog: Catalog
    report: Report
    parts: Mapping[str, SensorParts]
    schedules: Schedules
    #: sections that are there but unreadable: what refers to them is not to blame
    lost: set[str]
    watched: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    @property
    def defaults(self) -> Section | None:
        """Return the section of that name."""
        found: Section | None = self.main["defaults"]
        return found

    def holder(self, section: Section, key: str) -> Section:
        """Return where the value of a rule's *key* stands: in ``defaults`` if not in the rule."""
        if key not in section and self.defaults is not None and key in self.defaults:
            return self.defaults
        return section

    def pick(self, section: Section, key: str) -> Any:
        """Return the rule's own value, else that of ``defaults``, else the language's."""
        return self.holder(section, key)[key]

    def names(self, words: Words | None) -> tuple[str, ...]:
        """Return the notifiers of a list, each once."""
        for mark, name in words or ():
            self.notifier(name, mark)
        return tuple(dict.fromkeys(name for _, name in words or ()))

    def notifier(self, name: str, mark: Mark) -> bool:
        """Say whether there is a notifier of that name; complain if there is none."""
        known = self.named["notifiers"]
        self.told.add(name)
        if name not in known and "notifiers" not in self.lost:
            hints = suggest(name, known) or ("there are no notifiers",)
            self.report.error(mark, f'unknown notifier "{name}"', *hints)
        return name in known
