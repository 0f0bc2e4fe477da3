"""The examples: each is sound, and its recording gives the journal beside it.

That the journals are right is told a second way, by hand or by brute force, in
`tests/examples`.
"""

import json

import pytest
from playback import EXAMPLES, NAMES, REPO, hushd, journal, replay


def rounded(text: str) -> str:
    """Return a journal to nine decimals: mathematics libraries differ in the last bit."""
    lines = (
        json.loads(line, parse_float=lambda x: round(float(x), 9)) for line in text.splitlines()
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_each_is_on_the_menu():
    menu = (EXAMPLES / "README.md").read_text()
    assert NAMES
    assert [name for name in NAMES if f"({name}/hushd.yaml)" not in menu] == []


def test_each_is_worked_out_a_second_way():
    second = {path.stem for path in (REPO / "tests/examples").glob("test_*.py")}
    assert {f"test_{name.replace('-', '_')}" for name in NAMES} == second


@pytest.mark.parametrize("name", NAMES)
def test_it_is_sound(name):
    assert "no problems" in hushd("check", f"config/examples/{name}/hushd.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_the_journal_is_the_expected_one(name):
    expected = (EXAMPLES / name / "journal.jsonl").read_text()
    assert rounded(journal(name)) == rounded(expected)


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_give_identical_bytes(name):
    assert replay(name) == journal(name)
