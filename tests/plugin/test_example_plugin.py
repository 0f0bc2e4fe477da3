"""The example is built, installed and used as a stranger's plugin would be."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
EXAMPLE = REPO / "examples" / "hushd-example"

USE = """
import json
from hushd.core.log import Log
from hushd.plugin import load
from hushd.plugin.testing import check_aggregator

catalog = load()
crest = catalog.aggregators["crest"]
check_aggregator(crest)
log = Log()
window = log.view(crest.build(), crest.wants, count=4)
for at, value in enumerate([9.0, 1.0, -1.0, 1.0, -3.0]):
    log.append(at, value)
print(json.dumps([window.value(4), catalog.sources["crest"], len(catalog.broken)]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the folder that the example is installed into, from a copy of its source."""
    source = tmp_path_factory.mktemp("source") / "hushd-example"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path_factory.mktemp("target")
    if find_spec("pip"):
        tool = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index"]
    else:  # a virtual environment of uv has no pip
        tool = ["uv", "pip", "install", "--quiet", "--offline", "--python", sys.executable]
    subprocess.run(
        [*tool, "--no-deps", "--no-build-isolation", "--target", target, source],
        check=True,
        timeout=120,
    )
    return target


def run(code, *paths):
    """Return what a fresh interpreter prints, which finds hushd and *paths* only."""
    sources = [REPO / "daemon", REPO / "plugins", *paths]
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={"PYTHONPATH": ":".join(map(str, sources))},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def test_the_example_is_found_checked_and_used(installed):
    value, source, broken = json.loads(run(USE, installed))
    assert value == 3 / 3**0.5  # of 1, -1, 1, -3: the 9 has left the window
    assert source == "crest (hushd-example 0.3)"
    assert broken == 0


def test_without_it_nobody_knows_a_crest():
    code = "from hushd.plugin import load; print('crest' in load().aggregators)"
    assert run(code).strip() == "False"


def test_the_same_file_works_as_a_drop_in(tmp_path):
    shutil.copy(EXAMPLE / "hushd_example.py", tmp_path / "crest.py")
    (tmp_path / "crest.py").chmod(0o644)
    tmp_path.chmod(0o755)
    code = f"""
from pathlib import Path
from hushd.plugin import load
catalog = load(Path({str(tmp_path)!r}))
print(catalog.sources["crest"], catalog.broken)
"""
    assert run(code).strip() == f"crest ({tmp_path / 'crest.py'}) ()"


def test_it_is_as_short_as_the_docs_promise():
    code = (EXAMPLE / "hushd_example.py").read_text().splitlines()
    assert len([line for line in code if line.strip()]) <= 14
