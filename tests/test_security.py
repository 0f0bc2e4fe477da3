"""What no source file may do, because of who could profit; and where each other rule is tried.

docs/security.md says what is promised.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for top in ("daemon", "plugins") for path in (REPO / top).rglob("*.py"))

#: modules that run what they read, or go where they are sent
SHUNNED = {"pickle", "marshal", "shelve", "dill", "jinja2", "urllib.request", "xmlrpc", "telnetlib"}
CALLS = {
    "eval",
    "exec",
    "os.system",
    "os.popen",
    "yaml.load",
    "yaml.full_load",
    "yaml.unsafe_load",
    "ssl._create_unverified_context",
}
#: file -> the bit of its source that is excused, and why
EXCUSED = {
    "daemon/hushd/runtime/tls.py": {"CERT_NONE"},  # mqtt.tls.insecure: asked for, and warned of
    # sentences out of tables in the same file; what a sensor sends is only put into them
    "daemon/hushd/runtime/notes.py": {"a format that is no constant"},
    "daemon/hushd/cli/street.py": {"a format that is no constant"},
    # what people write into their own configuration, boxed in: see tests/config/test_messages.py
    "daemon/hushd/config/sandbox.py": {"jinja2"},
    # the patterns of names, which are part of the language of configurations
    "daemon/hushd/config/scalars.py": {"a regular expression that is no constant"},
    # names that are looked for in a text, each escaped
    "plugins/hushd_notify/services.py": {"a regular expression that is no constant"},
    # the laws that authors hold their aggregators to; the daemon does not import it
    "daemon/hushd/plugin/testing/aggregators.py": {"pickle"},
}


def dotted(node: ast.expr) -> str:
    """Return a name as it is written: ``os.path.join``."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{dotted(owner)}.{name}"
    return ""


def constant(node: ast.expr) -> bool:
    """Say whether it is written in the source: a text, or the name of one at the top of a file."""
    return isinstance(node, ast.Constant) or bool(re.fullmatch(r"_?[A-Z][A-Z_]*", dotted(node)))


def faults(source: str) -> Iterator[str]:
    """Yield what a source file does that none may."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in SHUNNED)
            case ast.ImportFrom(module=str(module)) if module in SHUNNED:
                yield module
            case ast.Attribute(attr="CERT_NONE"):
                yield "CERT_NONE"
            case ast.Call(func=function, args=arguments, keywords=keywords):
                name = dotted(function)
                if name in CALLS:
                    yield name
                if any(
                    k.arg == "shell"
                    and not (isinstance(k.value, ast.Constant) and not k.value.value)
                    for k in keywords
                ):
                    yield "shell"
                if re.fullmatch(r"re\.(?!escape)\w+", name) and not constant(arguments[0]):
                    yield "a regular expression that is no constant"
                if name == "yaml.parse" and "yaml.SafeLoader" not in [
                    dotted(k.value) for k in keywords
                ]:
                    yield "yaml without SafeLoader"
                if (
                    isinstance(function, ast.Attribute)
                    and function.attr in {"format", "format_map"}
                    and not constant(function.value)
                ):
                    yield "a format that is no constant"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(REPO)))
def test_no_file_runs_what_it_reads(path):
    excused = EXCUSED.get(str(path.relative_to(REPO)), set())
    assert set(faults(path.read_text(encoding="utf-8"))) - excused == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from urllib.request import urlopen",
        "eval(text)",
        "os.system(text)",
        "subprocess.run(text, shell=True)",
        "subprocess.run(text, shell=shell)",
        "re.compile(text)",
        "re.search(f'{text}', line)",
        "yaml.load(text)",
        "yaml.parse(text)",
        "text.format(value)",
        "context.verify_mode = ssl.CERT_NONE",
    ],
)
def test_the_search_finds_it(source):
    assert len(list(faults(source))) == 1


def test_the_search_lets_pass_what_is_fine():
    fine = (
        "re.compile(_WORDS)\n'{}'.format(1)\nsubprocess.run(words, shell=False)\njson.loads(text)"
    )
    assert list(faults(fine)) == []


def test_every_proof_that_the_page_names_is_there():
    page = (REPO / "docs/security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"tests/[\w/]+\.py", page))
    assert len(named) > 8
    assert [name for name in sorted(named) if not (REPO / name).is_file()] == []
