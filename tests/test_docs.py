"""What the documents say is tried out: commands, configurations, code, links and names.

In any Markdown file of the repository:

* a ```yaml block that begins with ``version: 1`` is a configuration, and ``hushd check``
  finds it sound;
* in a ```console block each ``$ hushd ...`` runs in a copy of ``config/``, ``examples/`` and
  ``tests/recordings/`` and prints what stands below it (``...`` is anything); each
  ``$ make ...`` names a target of the Makefile; other commands are not run;
* ``>>>`` in a ```python block is a doctest; so are those of all modules;
* links lead to files, and to headings, that exist.
"""

import doctest
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import pytest

from hushd.cli import parser
from hushd.plugin.loading import load

REPO = Path(__file__).resolve().parents[1]

#: talk to a running daemon, or run until they are told to stop: the docs show what they look
#: like, other tests run them
NOT_RUN = {"run", "demo", "status", "reload", "backup", "silence", "silences", "ack", "notify-test"}


class Block(NamedTuple):
    """A fenced block of a document."""

    where: str  # "README.md:12"
    language: str
    text: str


class Command(NamedTuple):
    """A command that a document shows, with the output it promises."""

    where: str
    line: str
    output: str


def listed(*patterns: str) -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted({name for name in done.stdout.splitlines() if (REPO / name).is_file()})


DOCUMENTS = listed("*.md")


def blocks(name: str) -> Iterator[Block]:
    fence, language, begin, margin = "", "", 0, 0
    lines: list[str] = []
    for number, line in enumerate((REPO / name).read_text(encoding="utf-8").splitlines(), 1):
        opened = re.match(r"(\s*)(```+|~~~+)\s*([\w-]*)\s*$", line)
        if not fence and opened:
            fence, language, begin, lines = opened[2], opened[3], number, []
            margin = len(opened[1])
        elif fence and line.strip() == fence:
            yield Block(f"{name}:{begin}", language, "\n".join(lines) + "\n")
            fence = ""
        elif fence:
            lines.append(line[margin:] if line[:margin].isspace() else line)
    assert not fence, f"{name}:{begin}: the block is never closed"


BLOCKS = [block for name in DOCUMENTS for block in blocks(name)]


def commands(block: Block) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield Command(block.where, line.strip(), output)


CONFIGURATIONS = [
    block
    for block in BLOCKS
    if block.language == "yaml" and re.match(r"(\s*#.*\n|\s*\n)*version: 1\b", block.text)
]
COMMANDS = [
    command for block in BLOCKS if block.language == "console" for command in commands(block)
]


def hushd(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    binaries = Path(sys.executable).parent
    return subprocess.run(
        ["sh", "-c", f"exec 2>&1; {line}"],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "PYTHONUTF8": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder as somebody has it who cloned the repository."""
    copy = tmp_path_factory.mktemp("docs")
    for name in ("config", "examples", "tests/recordings"):
        if (REPO / name).is_dir():
            copytree(REPO / name, copy / name)
    return copy


def where(item) -> str:
    return f"{item.where} {item.line}" if isinstance(item, Command) else item.where


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=where)
def test_a_configuration_is_sound(block, folder):
    path = folder / "from-the-docs.yaml"
    path.write_text(block.text, encoding="utf-8")
    done = hushd(f"hushd check {path.name}", folder)
    assert done.returncode == 0, done.stdout


def matches(promised: str, printed: str) -> bool:
    checker = doctest.OutputChecker()
    return checker.check_output(promised, printed, doctest.ELLIPSIS)


@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if each.line.startswith("hushd ")], ids=where
)
def test_a_command_prints_what_is_promised(command, folder):
    name = command.line.split()[1]
    if name in NOT_RUN:
        assert hushd(f"hushd {name} --help", folder).returncode == 0
        return
    done = hushd(command.line, folder)
    assert done.returncode in {0, 1, 78}, done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    if command.output.strip():
        promised = command.output.rstrip() + "\n"
        assert matches(promised, done.stdout), f"it prints:\n{done.stdout}"


def test_make_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (REPO / "Makefile").read_text(), re.MULTILINE))
    named = {
        (command.where, word)
        for command in COMMANDS
        if command.line.startswith("make ")
        for word in command.line.split()[1:]
        if "=" not in word
    }
    assert {(place, word) for place, word in named if word not in targets} == set()


def example(text: str, name: str, variables: dict) -> doctest.TestResults:
    test = doctest.DocTestParser().get_doctest(text, variables, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, clear_globs=False)
    variables.update(test.globs)
    return result


@pytest.mark.parametrize("name", DOCUMENTS)
def test_code_in_documents(name, capsys):
    variables: dict = {}
    faults = [
        block.where
        for block in BLOCKS
        if block.where.startswith(f"{name}:") and block.language == "python" and ">>>" in block.text
        if example(block.text, block.where, variables).failed
    ]
    assert not faults, capsys.readouterr().out


MODULES = [
    ".".join(Path(name).with_suffix("").parts[1:]).removesuffix(".__init__")
    for name in listed("daemon/*.py", "plugins/*.py")
    if not name.endswith("__main__.py")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name, capsys):
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(module, optionflags=flags)
    assert not result.failed, capsys.readouterr().out


def slug(heading: str) -> str:
    """Return the anchor that a heading gets."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(name: str) -> str:
    """Return a document without its blocks and its spans of code."""
    text = (REPO / name).read_text(encoding="utf-8")
    text = re.sub(r"^(\s*)(```+|~~~+).*?^\s*\2\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path: Path) -> set[str]:
    text = re.sub(
        r"^(```+|~~~+).*?^\1\s*$",
        "",
        path.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    return {slug(found) for found in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    lost = []
    for target in re.findall(r"\]\(<?([^)\s>]+)>?\)", prose(name)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (REPO / name).parent / file if file else REPO / name
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            lost.append(target)
    assert lost == []


def test_the_index_leads_to_every_page():
    index = (REPO / "docs/README.md").read_text(encoding="utf-8")
    pages = [name for name in listed("docs/*.md") if name.count("/") == 1]
    assert [
        name for name in pages if f"({Path(name).name})" not in index and name != "docs/README.md"
    ] == []
    decisions = [name for name in listed("docs/adr/*.md") if re.search(r"/\d{4}-", name)]
    titles = [(REPO / name).read_text(encoding="utf-8").splitlines()[0] for name in decisions]
    bad = [
        name
        for name, title in zip(decisions, titles, strict=True)
        if not re.match(rf"# (ADR )?{Path(name).name[:4]}\b", title)
    ]
    assert bad == [], "a decision's title begins with its number"


def offered() -> list[str]:
    """Return the name of everything that a configuration may name, and of each command."""
    catalog = load()
    commands = next(action.choices for action in parser()._actions if action.choices)
    return [
        *catalog.aggregators,
        *catalog.decoders,
        *catalog.notifiers,
        *(commands or ()),
    ]


def test_everything_that_can_be_named_is_in_the_docs():
    text = "\n".join((REPO / name).read_text(encoding="utf-8") for name in DOCUMENTS)
    code = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    code |= set(re.findall(r"[\w-]+", " ".join(block.text for block in BLOCKS)))
    assert [name for name in offered() if name not in code] == []


def test_the_check_itself_sees_a_broken_promise():
    assert matches("a ... c\n", "a b c\n")
    assert not matches("a\n", "b\n")
    block = Block("x.md:1", "console", "$ hushd check \\\n    a.yaml\nfine\n$ make test\n")
    assert list(commands(block)) == [
        Command("x.md:1", "hushd check a.yaml", "fine\n"),
        Command("x.md:1", "make test", ""),
    ]
    assert slug("Write a `rule`, quickly!") == "write-a-rule-quickly"
