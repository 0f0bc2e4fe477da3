"""Templates: what is found when they are read, what they may do, and what they make."""

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.config import sandbox
from hushd.config.messages import BODY, TITLE, VARIABLES, TemplateError, Templates, faults, place
from hushd.config.problems import Mark, Source

LABELS = ("floor", "room")
BERLIN = ZoneInfo("Europe/Berlin")
VALUES = {
    **dict.fromkeys(VARIABLES, ""),
    "rule": "night-noise",
    "severity": "critical",
    "value": 52.3456,
    "unit": "dBA",
    "limit": 50.0,
    "peak": None,
    "since": datetime(2026, 3, 28, 22, 5, 40, tzinfo=BERLIN),
    "lasted": timedelta(minutes=125),
    "about": "a" * 1_000,
    "floor": "1",
    "room": "101",
    "labels": {"floor": "1", "room": "101"},
}


def fill(text: str, part: str = "raise", **more: object) -> str:
    return Templates({part: text}).render(part, VALUES | more)


def test_a16_a_variable_that_is_not_there_is_found_with_the_one_that_was_meant():
    (fault,) = faults("noise in {{ rom }}", LABELS)
    assert fault.message == 'unknown variable "rom"'
    assert fault.hint == 'did you mean "room"?'
    assert (fault.line, fault.column, fault.length) == (1, 13, 3)


@pytest.mark.parametrize(
    ("text", "message", "hint", "where"),
    [
        ("{{ value | rond(1) }}", 'unknown filter "rond"', '"round"', (1, 12)),
        ("{{ value is nmber }}", 'unknown test "nmber"', '"number"', (1, 13)),
        ("{{ labels.rom }}", 'unknown label "rom"', '"room"', (1, 11)),
        ("{{ labels['rom'] }}", 'unknown label "rom"', '"room"', (1, 12)),
        ("of the room\n{{ value }} {{ lmit }}", "unknown variable", '"limit"', (2, 16)),
        ("{% if rom %}{% endif %}", "unknown variable", '"room"', (1, 7)),
        ("rom {{ rom }}", "unknown variable", '"room"', (1, 8)),
        ("{{ value", "no template", "written as in", (1, 1)),
        ("{{ value }", "no template: unexpected '}'", "written as in", (1, 10)),
        ("{% if value %}", "endif", "written as in", (1, 4)),
        ("{% nope %}", "unknown tag 'nope'", "written as in", (1, 4)),
        ("{{ value | center(9) }}", "not for messages", "truncate", (1, 12)),
        ("{{ room.upper() }}", "not for messages", "called", (1, 1)),
        ("{{ room.upper }}", 'nothing has a "upper"', "labels", (1, 9)),
        ("{{ ''.__class__ }}", 'nothing has a "__class__"', "labels", (1, 7)),
        ("{{ range }}", 'unknown variable "range"', "", (1, 4)),
        ("{{ loop }}", 'unknown variable "loop"', "", (1, 4)),
        ("{% for x in labels %}{{ loop.cycle }}{% endfor %}", "a loop has no", "", (1, 30)),
        ("{% for x in room %}{% endfor %}", "only the labels", "for name in", (1, 4)),
        ("{% set x = 1 %}", "not for messages", "set", (1, 1)),
        ("{% include 'x' %}", "not for messages", "alone", (1, 1)),
        ("x" * 4_001, "4001 characters", "at most 4000", (1, 1)),
    ],
)
def test_what_is_wrong_is_found_where_it_is(text, message, hint, where):
    fault = faults(text, LABELS)[0]
    assert message in fault.message
    assert hint in fault.hint
    assert (fault.line, fault.column) == where


def test_all_faults_are_found_at_once():
    assert [fault.message for fault in faults("{{ a }}\n{{ b }} {{ c | d2 }}", ())] == [
        'unknown variable "a"',
        'unknown variable "b"',
        'unknown variable "c"',
        'unknown filter "d2"',
    ]


@pytest.mark.parametrize("name", [*VARIABLES, *LABELS])
def test_every_variable_and_label_can_be_named(name):
    assert faults(f"{{{{ {name} }}}}", LABELS) == []


@pytest.mark.parametrize(
    ("yaml", "text", "where"),
    [
        ('raise: "noise in {{ rom }}"', "noise in {{ rom }}", (1, 21)),
        ("raise: |\n    Loud\n    in {{ rom }}\n", "Loud\nin {{ rom }}\n", (3, 11)),
        ('raise: "\\x6eoise {{ rom }}"', "noise {{ rom }}", (1, 8)),  # not found: as a whole
    ],
)
def test_a_fault_is_shown_where_it_stands_in_the_file(yaml, text, where):
    mark = Mark(Source("hushd.yaml", yaml), 1, 8)
    found = place(mark, text, faults(text, LABELS)[0])
    assert (found.line, found.column) == where


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ severity | upper }}: noise in room {{ room }}", "CRITICAL: noise in room 101"),
        ("{{ value | round(1) }} {{ unit }}, limit {{ limit }}", "52.3 dBA, limit 50"),
        ("{{ value }} {{ peak }} {{ peak | round(1) }}", "52.3456 unknown unknown"),
        ("since {{ since | time }} on {{ since | date }}", "since 22:05 on 2026-03-28"),
        ("{{ since }}", "2026-03-28 22:05"),
        ("{{ lasted }} = {{ lasted | duration }}", "2 h 5 min = 2 h 5 min"),
        (
            "{{ 90 | duration }}, {{ peak | time }}, {{ peak | date }}",
            "1 min 30 s, unknown, unknown",
        ),
        ("{{ peak | duration }}{{ late }}", "unknown"),
        ("{{ labels.room }}{{ labels['floor'] }}{{ room[0] }}", "10111"),
        ("{% for name in labels %}{{ name }}={{ labels[name] }} {% endfor %}", "floor=1 room=101"),
        (
            "{% for a, b in labels | dictsort %}{{ ', ' if loop.index > 1 }}{{ a }} {{ b }}{% endfor %}",
            "floor 1, room 101",
        ),
        ("{% if value > limit %}loud{% else %}fine{% endif %}", "loud"),
        ("{{ 'far' if value - limit > 5 else 'near' }} {{ value is number }}", "near yes"),
        ("{{ (value * 2) | round }} {{ 7 % 4 }} {{ rule ~ '!' }}", "105 3 night-noise!"),
        ("{{ '<b>' }}{{ room | default('?') }}", "<b>101"),
    ],
)
def test_what_a_template_makes(text, told):
    assert faults(text, LABELS) == []
    assert fill(text) == told


def test_utc_is_said_where_no_zone_is_known():
    assert fill("{{ since | time }}", since=datetime(2026, 3, 28, 22, 5, tzinfo=UTC)) == "22:05 UTC"


def test_a_title_is_one_line_and_nothing_is_longer_than_it_may_be():
    assert fill("a\n  b {{ room }}\n", "title") == "a b 101"
    title = fill("{{ about }}", "title")
    assert (len(title), title[-1]) == (TITLE, "…")
    body = fill("{{ about }}" * 6)
    assert (len(body), body[-1]) == (BODY, "…")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero"),
        ("{{ value / 0 }}", "ZeroDivisionError"),
        ("{{ room + 1 }}", "TypeError"),
        ("{{ value is divisibleby 0 }}", "ZeroDivisionError"),
        ("{{ labels[value] }}", "52.3456"),
        ("{{ value | round(99) }}", "round takes 0 to 10 decimals"),
    ],
)
def test_what_cannot_be_filled_in_says_why(text, why):
    assert faults(text, LABELS) == []
    with pytest.raises(TemplateError, match=why):
        fill(text)


HOSTILE = [
    "{{ 9 ** 9 ** 9 ** 9 }}",
    "{{ 'x' * 10000000000 }}",
    "{{ [1] * 10000000000 }}",
    "{{ 10000000000 * (room,) }}",
    "{{ '%10000000000d' % 1 }}",
    "{{ 'x' | center(10000000000) }}",
    "{{ 'x' | indent(10000000000) }}",
    "{{ '%10000000000d' | format(1) }}",
    "{{ value | round(1000000000, 'floor') }}",
    "{{ labels | map('center', 10000000000) | list }}",
    "{{ [1] | batch(10000000000, 0) | list }}",
    "{{ range(10000000000) | sum }}",
    "{{ lipsum(n=10000000000) }}",
    "{% for x in range(10000000000) %}x{% endfor %}",
    "{% for a in labels %}{% for b in labels %}x{% endfor %}{% endfor %}",
    "{% for a in labels recursive %}{{ loop(labels) }}{% endfor %}",
    "{% set x = 'x' %}" + "{% set x = x ~ x %}" * 100,
    "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('x') }}",
    "{{ " + "(" * 1_900 + "1" + ")" * 1_900 + " }}",
    "{{ " + "not " * 900 + "1 }}",
    "{{ " + "-" * 3_900 + "1 }}",
    "{{ 1" + "+1" * 1_900 + " }}",
    "{{ about" + "|replace('a', about)" * 30 + " }}",
    "{{ about" + "|join(about)" * 30 + " }}",
    "{{ about" + "~about" * 600 + " }}",
    "{{ [about" + ",about" * 600 + "] | join(about) }}",
    "{% for x in labels %}" + "{{ about }}" * 300 + "{% endfor %}",
    "{% if 1 %}" * 300,
    "{{ " + "*".join(["9" * 100] * 38) + " }}",
    "{{ 1e999 | int }}",
    "{{ value" + "|e" * 1_900 + " }}",
    "{{ ().__class__.__base__.__subclasses__() }}",
    "{{ self._TemplateReference__context }}",
    "{{ labels.__init__.__globals__ }}",
    "{{ labels['__class__'] }}",
    "{% raw %}" + "{{" * 1_900,
    "\ud800 {{ room }}",
]


def burn(text: str) -> str:
    """Return what is told of a template, whatever it is."""
    if found := faults(text, LABELS):
        return found[0].message
    try:
        return fill(text)
    except TemplateError as exc:
        return str(exc)


def test_no_template_burns_time_or_memory():
    """In a process of its own with little of both: what is more than that kills it."""
    told = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_messages
for text in test_messages.HOSTILE:
    assert len(test_messages.burn(text)) <= {BODY}, text[:80]
"""
    done = subprocess.run([sys.executable, "-c", told], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", HOSTILE[-7:-2])
def test_the_inside_of_the_program_is_out_of_reach(text):
    for secret in ("<class", "<module", "<function", "<bound", "<built-in"):
        assert secret not in burn(text)


PIECES = [
    *".[]()|10'~+*,:-x",
    *["{{", "}}", "{%", "%}", "{#", "#}", "value", "room", "labels", "if", "else", "endif"],
    *["for", "in", "endfor", "round", "time", "is", "not", "defined", "==", "raw"],
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_whatever_is_written_is_a_fault_or_a_text(text):
    assert len(burn(text)) <= BODY


def test_jinja_is_imported_only_where_there_is_a_template():
    told = (
        "import sys, hushd.config; from hushd.config.messages import Templates; Templates({});"
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", told], check=False).returncode == 0


PAGE = (Path(__file__).parents[2] / "docs/messages.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table on the page that has *heading* in its first column."""
    table = PAGE.split(f"\n| {heading} |", 1)[1].split("\n\n")[0]
    lines = re.findall(r"(?m)^\| (?!-)(.*) \|$", table)
    return [re.split(r" (?<!\\)\| ", line) for line in lines]


def test_the_page_names_every_variable_and_filter():
    assert [row[0] for row in rows("name")] == [f"`{name}`" for name in VARIABLES]
    named = {
        re.sub(r"\W.*", "", x) for row in rows("filter") for x in re.findall("`(.+?)`", row[0])
    }
    assert named == set(sandbox.ENVIRONMENT.filters)


@pytest.mark.parametrize("row", rows("template"), ids=lambda row: row[1])
def test_the_samples_of_the_page_become_what_it_says(row):
    text, told = row[0].strip("`").replace(r"\|", "|"), row[1]
    assert faults(text, LABELS) == []
    assert fill(text) == told
