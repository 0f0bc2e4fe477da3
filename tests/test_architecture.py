"""The house plan of docs/architecture.md, as tests that name the offender."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]

#: parts of the standard library that touch nothing outside the program
PURE = [
    *["array", "base64", "bisect", "collections", "dataclasses", "datetime", "decimal", "enum"],
    *["functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "re"],
    *["struct", "typing", "zlib"],
]
#: beside these, what a decoder of payloads needs
TEXT = ["binascii", "contextlib", "csv", "io", "string"]
ANY = sorted(sys.stdlib_module_names)

#: folder -> what it may import; left never imports right: core, plugin, config, runtime, cli
MAY_IMPORT = {
    # the time zone database is a table that never changes while a process runs
    "daemon/hushd/core": [*PURE, "zoneinfo", "hushd.core"],
    "daemon/hushd/plugin": [*ANY, "pluggy", "hushd.core", "hushd.plugin"],
    "daemon/hushd/config": [
        *[*ANY, "holidays", "jinja2", "yaml"],
        *["hushd.core", "hushd.plugin", "hushd.config"],
    ],
    "daemon/hushd/runtime": [
        *[*ANY, "paho", "structlog"],
        *["hushd.core", "hushd.plugin", "hushd.config", "hushd.runtime"],
    ],
    "daemon/hushd/cli": [*ANY, "hushd", "iotcore", "paho", "structlog", "yaml"],
    "plugins/hushd_basic": [*PURE, "hushd.plugin", "hushd_basic"],
    "plugins/hushd_spread": [*PURE, "hushd.plugin", "hushd_spread"],
    "plugins/hushd_rank": [*PURE, "hushd.plugin", "hushd_rank"],
    "plugins/hushd_acoustics": [*PURE, "hushd.plugin", "hushd_acoustics"],
    "plugins/hushd_payloads": [*PURE, *TEXT, "hushd.plugin", "hushd_payloads"],
    "plugins/hushd_notify": [*ANY, "apprise", "hushd.plugin", "hushd_notify"],
}

#: what a pure part may not call, though no import gives it away
IMPURE_NAMES = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}
IMPURE_CLOCKS = {"now", "today", "utcnow"}
CLOCKS = {"date", "datetime"}

#: a name of a built-in aggregator that `daemon/` may hold as a text, and why
EXCUSED = {
    "last": "`measure: last` needs no `over`; also a way with duplicates",
    "max": "a way with duplicates",
    "min": "minutes, in what people read; also a filter of templates",
    "leq": "the hint at an arithmetic mean of decibels, where a plugin offers it",
    "count": "an ordinary word: the length of a window by number",
    "first": "an ordinary word",
    "range": "an ordinary word",
    "rate": "an ordinary word",
}


def sources(folder: str) -> list[Path]:
    return sorted((REPO / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), path)


def imports(path: Path) -> Iterator[str]:
    """Yield each module that a file imports, however late, with its full name."""
    package = path.relative_to(REPO).parts[1:-1]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = package[: len(package) - node.level + 1]
                module = ".".join([*above, module]).rstrip(".")
            if module == "hushd":  # `from hushd import cli` imports hushd.cli
                yield from (f"hushd.{alias.name}" for alias in node.names)
            else:
                yield module


def test_every_folder_has_its_rule():
    folders = {
        name_of(path.parent)
        for root, pattern in (("daemon/hushd", "*/__init__.py"), ("plugins", "*/__init__.py"))
        for path in (REPO / root).glob(pattern)
    }
    assert folders <= set(MAY_IMPORT), "say in MAY_IMPORT what a new folder may import"


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_point_one_way(folder):
    for path in sources(folder):
        strangers = {
            name
            for name in imports(path)
            if not any(f"{name}.".startswith(f"{allowed}.") for allowed in MAY_IMPORT[folder])
        }
        assert not strangers, f"{name_of(path)} imports {sorted(strangers)}"


def test_source_roots_are_no_packages():
    for root in ("daemon", "plugins"):
        assert not (REPO / root / "__init__.py").exists()


def impurities(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in IMPURE_NAMES:
                yield f"{name_of(path)}:{node.lineno} uses {name}"
            case ast.Attribute(value=owner, attr=attr) if attr in IMPURE_CLOCKS:
                held = owner.attr if isinstance(owner, ast.Attribute) else owner
                if (held.id if isinstance(held, ast.Name) else held) in CLOCKS:
                    yield f"{name_of(path)}:{node.lineno} reads the clock with {attr}"


@pytest.mark.parametrize(
    "folder", ["daemon/hushd/core", *(f for f in MAY_IMPORT if "hushd_" in f and "notify" not in f)]
)
def test_pure_parts_ask_nothing_of_the_world(folder):
    assert [fault for path in sources(folder) for fault in impurities(path)] == []


def test_the_search_for_impurities_finds_them(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "REPO", tmp_path)
    path = tmp_path / "bad.py"
    path.write_text(
        "import datetime\nfrom datetime import datetime as d\n"
        "print(open('x'))\ndatetime.datetime.now()\ndatetime.now()\nself.now()\n"
    )
    assert len(list(impurities(path))) == 4


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every string of a file that stands there as a value."""
    module = tree(path)
    prose = {
        id(node.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def test_the_daemon_names_no_aggregate():
    offered = {
        node.args[0].value
        for plugin in sorted((REPO / "plugins").iterdir())
        for path in plugin.rglob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Aggregator"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert {"leq", "median", "mean"} <= offered
    named = [
        f"{name_of(path)}:{line} names {text}"
        for path in sources("daemon")
        for line, text in texts(path)
        if text in offered - set(EXCUSED)
    ]
    assert named == []


#: folders of tests that stand for no folder of the sources, and what they are for
OTHER_TESTS = {
    "contract": "what every plugin must hold, over all that are installed",
    "e2e": "the whole, with a real broker",
    "examples": "that the recordings in config/examples give what somebody else works out",
    "recordings": "synthetic recordings",
    "support": "what several test files share",
    "torture": "what must hold whatever happens to the daemon and around it",
}


def test_tests_mirror_the_tree():
    packages = {path.parent.name for path in (REPO / "daemon/hushd").glob("*/__init__.py")}
    tested = {path.parent.name for path in (REPO / "tests").glob("*/**/test_*.py")}
    assert packages <= tested, f"no tests of {sorted(packages - tested)}"
    folders = {path.name for path in (REPO / "tests").iterdir() if path.is_dir()}
    known = packages | set(OTHER_TESTS) | {"plugins", "__pycache__"}
    assert folders <= known, f"tests of nothing: {sorted(folders - known)}"


def test_every_plugin_has_its_tests():
    plugins = {path.parent.name for path in (REPO / "plugins").glob("*/__init__.py")}
    names = {path.stem for path in (REPO / "tests/plugins").rglob("test_*.py")} | {
        path.name for path in (REPO / "tests/plugins").iterdir() if path.is_dir()
    }
    untested = {
        plugin
        for plugin in plugins
        if not any(plugin.removeprefix("hushd_") in name for name in names)
    }
    assert not untested, f"no tests/plugins/test_*.py of {sorted(untested)}"
