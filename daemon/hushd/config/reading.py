"""Files in, a checked configuration out."""

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hushd.config.changes import change
from hushd.config.compile import compile_config
from hushd.config.document import MAX_BYTES, Node, parse
from hushd.config.language import language
from hushd.config.language.place import PLUGINS
from hushd.config.problems import ConfigError, Mark, Report, Source, in_order
from hushd.config.records import Config
from hushd.config.scalars import BAD
from hushd.config.sensors import Named
from hushd.config.table import Section, Table
from hushd.plugin.catalog import Catalog

#: sections that files of rules.d may add to
SHARED = ("sensors", "schedules", "notifiers", "rules")
_EMPTY = 'write at least "version: 1", sensors, notifiers and rules'


def read(path: Path | str, *, for_run: bool = False, changes: Sequence[str] = ()) -> Config:
    """Return the configuration of *path* and of the files in ``rules.d`` beside it.

    Plugins are loaded, secrets are looked up; nothing else is touched.

    Args:
        path: The main file.
        for_run: Whether a missing secret is an error; else it is a warning.
        changes: What rules are to say instead, as ``RULE.KEY=VALUE``, see `hushd.config.changes`.

    Raises:
        ConfigError: there is anything wrong; it holds every problem found.
    """
    path = Path(path)
    report = Report()
    root = _parse_file(path, report, for_run=for_run)
    parts = []
    directory = path.parent / "rules.d"
    # where each may only touch his own (sticky), files of ours are safe; new ones are read in rules.d
    _look_who_writes(path.parent, stat.S_ISVTX, report, for_run=for_run)
    _look_who_writes(directory, 0, report, for_run=for_run)
    for part in sorted(directory.glob("*.yaml")) if directory.is_dir() else ():
        if part.name.endswith(".test.yaml"):
            continue  # tests of rules may stand beside them
        if part.exists() and not part.is_file():
            continue  # reading a pipe would wait for ever
        node = _parse_file(part, report, for_run=for_run)
        if node is not None:
            parts.append(node)
    if root is None:
        raise ConfigError(report.problems)
    if changes:
        change([root, *parts], changes, "--what-if", report)
    catalog = _load_plugins(path, root, report)
    return _compile(path, root, parts, catalog, report, for_run=for_run)


def read_text(name: str, text: str | bytes, catalog: Catalog, *, for_run: bool = False) -> Config:
    """Return the configuration that *text* is, given what the plugins offer.

    Raises:
        ConfigError: there is anything wrong; it holds every problem found.
    """
    report = Report()
    root = _parse(name, text, report)
    if root is None:
        raise ConfigError(report.problems)
    return _compile(Path(name), root, [], catalog, report, for_run=for_run)


def _parse_file(path: Path, report: Report, *, for_run: bool) -> Node | None:
    """Return the tree of a file; what is wrong with the file itself goes into *report*."""
    whole = Mark(Source(str(path)), 0, 0)
    try:
        if for_run and path.is_fifo():
            report.error(whole, "a pipe cannot be read again at a reload", "write it into a file")
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        mode = path.stat().st_mode
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        report.error(whole, f"cannot read the file: {why[:1].lower()}{why[1:]}")
        return None
    if stat.S_ISREG(mode) and mode & stat.S_IWOTH:
        complain = report.error if for_run else report.warn
        complain(whole, "everybody may write this file", "chmod o-w it")
    try:
        return _parse(str(path), data, report)
    except ConfigError as exc:  # the next file may have problems of its own
        report.problems += exc.problems
        return None


def _look_who_writes(folder: Path, excuse: int, report: Report, *, for_run: bool) -> None:
    """Complain of a folder that everybody may write, unless a bit of its mode is an *excuse*."""
    try:
        mode = folder.stat().st_mode
    except OSError:  # not there, or the files in it will tell
        return
    if stat.S_ISDIR(mode) and mode & stat.S_IWOTH and not mode & excuse:
        complain = report.error if for_run else report.warn
        whole = Mark(Source(str(folder)), 0, 0)
        complain(whole, "everybody may put files into this folder", "chmod o-w it")


def _parse(name: str, data: str | bytes, report: Report) -> Node | None:
    root = parse(name, data, report)
    if root is None:
        report.error(Mark(Source(name), 0, 0), "the file is empty", _EMPTY)
    return root


def _load_plugins(path: Path, root: Node, report: Report) -> Catalog:
    """Return what the plugins offer; where they are stands in the file itself."""
    from hushd.plugin.loading import load  # noqa: PLC0415  costs time that read_text need not spend

    directory: Path | None = None
    disable: tuple[str, ...] = ()
    entry = root.entries.get("plugins")
    section = PLUGINS.read(entry.node, Report()) if entry is not None else BAD
    if section is not BAD:
        if section["directory"]:
            directory = path.parent / section["directory"]
            if not directory.is_dir():
                report.error(section.place("directory"), "there is no such directory")
                directory = None
        disable = tuple(name for _, name in section["disable"] or ())
    catalog = load(directory, disable)
    if section is not BAD:
        known = {plugin.label.partition(" (")[0] for plugin in catalog.plugins}
        for mark, name in section["disable"] or ():
            if name not in known:
                report.warn(mark, f'there is no plugin "{name}" to disable')
        ours = {p.label for p in catalog.plugins if directory in Path(p.where).parents}
        for label, reason in catalog.broken:
            if label in ours:
                report.warn(section.place("directory"), f"plugin {label} is not used: {reason}")
    return catalog


def _compile(
    path: Path,
    root: Node,
    parts: list[Node],
    catalog: Catalog,
    report: Report,
    *,
    for_run: bool,
) -> Config:
    main_table, part_table = language(catalog)
    main = _section(main_table, root, report)
    others = [_section(part_table, part, report) for part in parts]
    if main is None:
        raise ConfigError(report.problems)
    named = _merge([main, *(part for part in others if part is not None)], report)
    config = compile_config(path, main, named, catalog, report, for_run=for_run)
    if config is None:
        raise ConfigError(report.problems)
    return replace(config, warnings=in_order(report.problems))


def _section(table: Table, root: Node, report: Report) -> Section | None:
    root.at = Mark(root.mark.source, 1, 1, len(root.mark.source.lines[0].rstrip()))
    section = table.read(root, report)
    return None if section is BAD else section


def _merge(sections: list[Section], report: Report) -> dict[str, Named]:
    """Return the named things of all files; a name stands once among them."""
    out: dict[str, Named] = {}
    for key in SHARED:
        merged: Named = {}
        for section in sections:
            for name, (mark, value) in (section[key] or {}).items():
                if name in merged:
                    report.error(
                        mark,
                        f'"{name}" is defined twice, first in {_place(merged[name][0])}',
                        "give one of the two another name",
                    )
                else:
                    merged[name] = mark, value
        out[key] = merged
    return out


def _place(mark: Mark) -> str:
    return f"{mark.source.name}:{mark.line}"
