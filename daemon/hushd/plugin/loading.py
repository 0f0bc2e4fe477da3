"""Find plugins, load each on its own, and keep the reason of whatever fails.

A plugin is an entry point of the group ``hushd`` or a ``*.py`` file in the drop-in
directory.  Each gets a plugin manager of its own: pluggy stops at the first plugin that
raises, silently skips a second distribution with an entry-point name already used, and
never calls a misspelt hook unless it is asked to check.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from pluggy import PluginManager

from hushd.core.aggregation import Aggregation, Aggregator, Parameter
from hushd.plugin import hookspecs
from hushd.plugin.catalog import Broken, Catalog, Kind, Plugin, Record, State
from hushd.plugin.records import Decoder, NotifierType
from hushd.plugin.trust import distrust

GROUP = "hushd"

#: hook -> what it must offer
HOOKS: dict[str, tuple[Kind, type[Record]]] = {
    "hushd_aggregators": ("aggregator", Aggregator),
    "hushd_decoders": ("decoder", Decoder),
    "hushd_notifiers": ("notifier", NotifierType),
}

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_FILE = re.compile(r"[a-z][a-z0-9_]*")


class UnfitError(Exception):
    """What a plugin offers cannot be used; the message says why."""


def load(directory: Path | None = None, disable: Collection[str] = ()) -> Catalog:
    """Return what the installed plugins and the drop-in files of *directory* offer.

    Nothing that a plugin does wrong is raised: it is kept in ``Catalog.broken``.

    Args:
        directory: Where drop-in ``*.py`` files are; names that start with ``_`` are
            left alone.
        disable: Plugins to leave out, by the name of the entry point or of the file
            without ``.py``.
    """
    shelf = _Shelf()
    for found in [*_installed(), *_dropped_in(directory, shelf)]:
        if found.name in disable:
            shelf.plugins.append(Plugin(found.label, found.where, "disabled"))
        else:
            shelf.take(found)
    return shelf.catalog()


class _Found(NamedTuple):
    """A plugin that is there but not yet loaded."""

    name: str
    label: str
    where: str
    source: EntryPoint | Path

    def open(self) -> object:
        """Return the plugin's module."""
        if isinstance(self.source, Path):
            return _import_file(self.source)
        return self.source.load()


class _Shelf:
    """The catalog while it is being filled."""

    def __init__(self) -> None:
        self.records: dict[Kind, dict[str, Any]] = {"aggregator": {}, "decoder": {}, "notifier": {}}
        self.owners: dict[tuple[Kind, str], str] = {}
        self.broken: list[Broken] = []
        self.plugins: list[Plugin] = []

    def take(self, found: _Found) -> None:
        """Load a plugin and put what it offers on the shelf."""
        offers: list[str] = []
        try:
            manager = PluginManager(hookspecs.PROJECT)
            manager.add_hookspecs(hookspecs)
            manager.register(found.open(), name=found.label)
            manager.check_pending()  # else a misspelt hook is silently never called
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  whatever it is, it is the plugin's
            self.blame(found.label, exc)
        else:
            if not manager.get_hookcallers(manager.get_plugin(found.label)):
                self.broken.append(Broken(found.label, "no hook in it; is @hookimpl missing?"))
            for hook in HOOKS:
                offers += self.ask(manager, hook, found.label)
        if not offers and all(label != found.label for label, _ in self.broken):
            self.broken.append(Broken(found.label, "it offers nothing"))
        state: State = "loaded" if offers else "broken"
        self.plugins.append(Plugin(found.label, found.where, state, tuple(offers)))

    def ask(self, manager: PluginManager, hook: str, label: str) -> Iterator[str]:
        """Call one hook of one plugin; yield ``"aggregator rms"`` for each record kept."""
        kind, wanted = HOOKS[hook]
        try:
            offered = [record for answer in getattr(manager.hook, hook)() for record in answer]
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  whatever it is, it is the plugin's
            self.blame(label, exc)
            return
        for record in offered:
            try:
                name = _checked(record, kind, wanted)
            except UnfitError as exc:
                self.broken.append(Broken(label, str(exc)))
                continue
            owner = self.owners.setdefault((kind, name), label)
            if name in self.records[kind]:
                reason = f'{kind} "{name}" of {label} is already offered by {owner}'
                self.broken.append(Broken(label, reason))
                continue
            self.records[kind][name] = record
            yield f"{kind} {name}"

    def blame(self, label: str, exc: BaseException) -> None:
        """Keep the reason why a plugin did not load."""
        self.broken.append(Broken(label, f"{type(exc).__name__}: {exc}"))

    def catalog(self) -> Catalog:
        """Return what is on the shelf."""
        sources: dict[str, str] = {}
        for (_, name), label in self.owners.items():
            both = sources.get(name, label)
            sources[name] = label if both == label else f"{both}, {label}"
        return Catalog(
            self.records["aggregator"],
            self.records["decoder"],
            self.records["notifier"],
            sources,
            tuple(self.broken),
            tuple(self.plugins),
        )


def _installed() -> list[_Found]:
    """Return the entry points, our own first, then by label: the same order everywhere."""
    return sorted(
        (
            _Found(point.name, f"{point.name} ({_distribution(point)})", point.value, point)
            for point in entry_points(group=GROUP)
        ),
        key=lambda found: (not found.label.endswith(f"({_ours()})"), found.label),
    )


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown distribution"


def _ours() -> str:
    """Return the distribution that offers the built-ins."""
    for point in entry_points(group=GROUP, name="basic", value="hushd_basic"):
        return _distribution(point)
    return ""


def _dropped_in(directory: Path | None, shelf: _Shelf) -> list[_Found]:
    """Return the drop-in files that are safe to run; the reason of others goes on the shelf."""
    if directory is None:
        return []
    try:
        paths: Iterable[Path] = sorted(directory.glob("*.py")) if _trusted(directory) else ()
    except (OSError, UnfitError) as exc:
        shelf.blame(str(directory), exc)
        return []
    found = []
    for path in paths:
        if path.name.startswith("_"):
            continue
        label = f"{path.stem} ({path})"
        try:
            _fit_to_run(path, directory)
        except (OSError, UnfitError) as exc:
            shelf.broken.append(Broken(label, str(exc)))
            shelf.plugins.append(Plugin(label, str(path), "broken"))
        else:
            found.append(_Found(path.stem, label, str(path), path))
    return found


def _fit_to_run(path: Path, directory: Path) -> None:
    if not _FILE.fullmatch(path.stem):
        raise UnfitError("name it with a-z, 0-9 and _ only")
    if path.resolve().parent != directory.resolve():
        raise UnfitError("it is a link that leads out of the directory")
    _trusted(path)


def _trusted(path: Path) -> bool:
    """Say that only root and we ourselves can write what we are about to run."""
    if why := distrust(path):
        raise UnfitError(why)
    return True


def _import_file(path: Path) -> object:
    name = f"hushd_dropin_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look modules up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _checked(record: object, kind: Kind, wanted: type[Record]) -> str:
    """Return the record's name.

    Raises:
        UnfitError: it is not the record that the hook asks for, or a field of it is amiss.
    """
    if not isinstance(record, wanted):
        raise UnfitError(f"offers {_an(type(record).__name__)} where {_an(wanted.__name__)} is due")
    if not (isinstance(record.name, str) and _NAME.fullmatch(record.name)):
        raise UnfitError(f"{kind} {record.name!r}: a name is made of a-z, 0-9, _ and -")
    complaint = _complaint(record)
    if complaint:
        raise UnfitError(f'{kind} "{record.name}": {complaint}')
    return record.name


def _complaint(record: Record) -> str:
    """Return what is wrong with a record's fields, or nothing."""
    if not isinstance(record.summary, str):
        return "summary must be a text"
    if isinstance(record, Aggregator):
        return _amiss(record)
    function = record.build if isinstance(record, Decoder) else record.open
    return "" if callable(function) else f"{function!r} must be a function"


def _amiss(record: Aggregator) -> str:
    if record.wants not in {"value", "seconds", "time"}:
        return f'wants must be "value", "seconds" or "time", not {record.wants!r}'
    if record.parameter is None:
        fit = isinstance(record.how, Aggregation) or callable(record.how)
        return "" if fit else "how must be an Aggregation or a factory of a window index"
    if not isinstance(record.parameter, Parameter):
        return "parameter must be a Parameter"
    return "" if callable(record.how) else "how must be a function of the argument"


def _an(word: str) -> str:
    return f"{'an' if word[:1].lower() in set('aeiou') else 'a'} {word}"
