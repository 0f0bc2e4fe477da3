"""``hushd test``: what passes, what fails and how that is said, and files that cannot be read."""

import re
from pathlib import Path
from shutil import copy

import pytest

from hushd.cli import main

REPO = Path(__file__).parents[2]
DOCUMENT = REPO / "docs/rule-testing.md"
EXAMPLES = sorted((REPO / "config/examples").glob("*/*.test.yaml"))

CONFIG = """\
version: 1
site: {name: Home, timezone: Europe/Berlin}
sensors:
  noise: {topic: "home/{floor}/{room}/noise", interval: 1m, unit: dBA, valid: [20, 130]}
notifiers:
  phone: {type: log}
  mail: {type: log}
rules:
  loud:
    about: It is loud.
    watch: noise
    each: [room]
    measure: last
    warning: {above: 70, clear: 60, for: 2m}
    critical: {above: 90, clear: 80}
    notify: {warning: [phone], critical: [mail]}
  rests: {enabled: false, watch: noise, measure: last, warning: {above: 70}, notify: [phone]}
"""
#: a minute each from 22:00 on: quiet; loud from 22:05; very loud from 22:10; quiet from 22:15
HEAD = """\
tests:
  - name: an evening
    rules: hushd.yaml
    start: 2026-12-05T22:00:00
    feed:
      - {sensor: noise, labels: {floor: 1, room: attic}, every: 1m, values: "30x4 75x4 95x4 30x60"}
    expect:
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with ``hushd.yaml``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hushd.yaml").write_text(CONFIG)
    return tmp_path


def tried(capsys, text: str) -> tuple[int, str, str]:
    Path("a.test.yaml").write_text(text)
    code = main(["test", "a.test.yaml"])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def expecting(capsys, *expectations: str) -> tuple[int, str]:
    text = HEAD + "".join(f"      - {each}\n" for each in expectations)
    code, out, err = tried(capsys, text)
    assert err == ""
    return code, out


# -- what can be expected --------------------------------------------------------------


@pytest.mark.parametrize(
    "expectation",
    [
        "{at: 22:04, rule: loud, room: attic, state: ok}",
        "{at: 22:05, rule: loud, room: attic, state: pending}",
        "{at: 22:06:59.999, rule: loud, room: attic, state: pending}",
        "{at: 22:07, rule: loud, room: attic, state: firing, severity: warning}",
        "{at: 22:10, rule: loud, room: attic, state: firing, severity: critical, value: 95}",
        "{at: 22:14:30, rule: loud, labels: {room: attic}, value: 95.0}",
        "{at: 2026-12-05T22:15:00, rule: loud, room: attic, state: ok, no_data: false}",
        "{at: 23:20, rule: loud, room: attic, no_data: true}",
        "{at: 23:20, rule: noise/no-data, room: attic, state: firing, severity: warning}",
        "{at: 22:20, rule: noise/no-data, room: attic, state: ok}",
        "{at: 00:30, rule: noise/no-data, room: attic, state: firing}",
        "{between: [22:00, 22:30], told: {phone: [raised, escalated, cleared]}}",
        "{between: [22:07, 22:07], told: {phone: [raised], mail: []}}",
        "{between: [22:07, 22:15], rule: loud, room: attic, told: {mail: [raised, cleared]}}",
        "{between: [22:30, 23:30], rule: loud, told: {phone: []}}",
        "{between: [22:30, 23:30], told: {phone: [raised]}}",
        '{between: [22:00, 22:30], message: {phone: "noise is 75 dBA"}}',
        '{between: [22:00, 22:30], message: {phone: "Rule: loud."}}',
    ],
)
def test_what_is_so_passes(capsys, expectation):
    code, out = expecting(capsys, expectation)
    assert out == "a.test.yaml\n  passed: an evening\n1 passed, 0 failed\n"
    assert code == 0


@pytest.mark.parametrize(
    ("expectation", "expected", "found"),
    [
        ("{at: 22:05, rule: loud, room: attic, state: firing}", "state firing", "state pending"),
        (
            "{at: 22:07, rule: loud, room: attic, state: firing, severity: critical}",
            "severity critical",
            "severity warning",
        ),
        (
            "{at: 22:04, rule: loud, room: attic, state: firing, severity: info}",
            "state firing, severity info",
            "state ok, severity none",
        ),
        ("{at: 22:07, rule: loud, room: attic, value: 75.1}", "value 75.1", "value 75"),
        ("{at: 22:07, rule: loud, room: attic, no_data: true}", "no_data true", "no_data false"),
        (
            "{at: 22:07, rule: noise/no-data, room: attic, state: firing}",
            "state firing",
            "state ok",
        ),
        (
            "{at: 22:07, rule: loud, room: cellar, state: ok}",
            "state ok",
            "no such alert: nothing was heard of room cellar, there is one for room attic",
        ),
        (
            "{between: [22:00, 22:30], told: {phone: [raised, cleared]}}",
            "phone is told raised, cleared",
            "phone was told raised, escalated, cleared",
        ),
        (
            "{between: [22:00, 22:06], told: {phone: [raised]}}",
            "phone is told raised",
            "phone was told nothing",
        ),
        (
            "{between: [22:00, 22:30], told: {mail: []}}",
            "mail is told nothing",
            "mail was told raised, cleared",
        ),
        (
            '{between: [22:00, 22:30], message: {mail: "75 dBA"}}',
            'a message to mail with "75 dBA"',
            "none with it",
        ),
        (
            '{between: [22:00, 22:06], message: {mail: "75 dBA"}}',
            'a message to mail with "75 dBA"',
            "no message",
        ),
    ],
)
def test_what_is_not_so_fails_and_says_what_there_was(capsys, expectation, expected, found):
    code, out = expecting(capsys, expectation)
    assert code == 1
    assert "    a.test.yaml:8: " in out  # the line of the expectation
    assert f"      expected:  {expected}\n" in out
    assert f"      there was: {found}\n" in out
    assert out.endswith("0 passed, 1 failed\n")


def test_a_failure_shows_what_changed_around_it_in_local_time(capsys):
    _, out = expecting(
        capsys,
        "{at: 22:04, rule: loud, room: attic, state: ok}",
        "{at: 22:08, rule: loud, room: attic, state: ok}",
    )
    assert (
        out
        == """\
a.test.yaml
  failed: an evening
    a.test.yaml:9: at 22:08:00, loud, room attic
      expected:  state ok
      there was: state firing
        22:07:00 raised warning at 75 dBA (limit 70)
        22:10:00 escalated critical at 95 dBA (limit 90)
        22:15:00 cleared at 30 dBA (limit 90)
0 passed, 1 failed
"""
    )


def test_a_failure_of_messages_shows_them(capsys):
    _, out = expecting(capsys, "{between: [22:00, 22:12], told: {phone: []}}")
    assert "        22:07:00 raised: Room attic: noise is 75 dBA, limit 70 (warning)\n" in out
    assert "        22:10:00 escalated: Room attic: noise is worse: 95 dBA" in out


def test_every_failure_is_shown_in_the_order_of_the_file(capsys):
    _, out = expecting(
        capsys,
        "{between: [22:00, 22:12], told: {phone: []}}",
        "{at: 22:08, rule: loud, room: attic, state: ok}",
        "{at: 22:07, rule: loud, room: attic, state: ok}",
    )
    assert re.findall(r"a\.test\.yaml:(\d+):", out) == ["8", "9", "10"]


# -- what happens ----------------------------------------------------------------------


def test_a_silence_is_a_silence(capsys):
    text = HEAD.replace(
        "    expect:",
        "    silences: [{rule: loud, room: attic, from: 22:01, to: 22:12}]\n    expect:",
    )
    code, out, _ = tried(
        capsys,
        text
        + "      - {between: [22:00, 22:11], told: {phone: []}}\n"
        + "      - {between: [22:12, 22:12], told: {phone: [raised], mail: [raised]}}\n",
    )
    assert code == 0, out


def test_several_sensors_speak_at_once_and_one_begins_later(capsys):
    more = "      - {sensor: noise, labels: {floor: 2, room: cellar}, at: 22:10, every: 30s, "
    text = HEAD.replace("    expect:\n", f'{more}values: "80x9"}}\n    expect:\n')
    code, out, _ = tried(
        capsys,
        text
        + "      - {at: 22:10, rule: loud, room: cellar, state: pending}\n"
        + "      - {at: 22:10, rule: loud, room: attic, state: firing}\n"
        + "      - {at: 22:12, rule: loud, room: cellar, state: firing}\n",
    )
    assert code == 0, out


def test_a_value_that_is_not_valid_is_no_reading(capsys):
    code, out, _ = tried(
        capsys,
        HEAD.replace("95x4", "950x4")
        + "      - {at: 22:14, rule: loud, room: attic, severity: warning, value: 75}\n",
    )
    assert code == 0, out


def test_each_test_begins_anew(capsys):
    one = HEAD + "      - {at: 22:08, rule: loud, room: attic, state: firing}\n"
    two = one.removeprefix("tests:\n").replace("an evening", "another").replace("75x4", "50x4")
    code, out, _ = tried(capsys, one + two)
    assert (code, out.count("passed: "), out.count("failed: ")) == (1, 1, 1)
    assert "failed: another" in out


def test_a_test_without_feed_can_see_that_nothing_is_told(capsys):
    text = re.sub(r"    feed:\n.*\n", "", HEAD)
    code, out, _ = tried(capsys, text + "      - {between: [22:00, 23:00], told: {phone: []}}\n")
    assert code == 0, out


# -- files that cannot be read ---------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("sensor: noise", "sensor: noize", 'error: unknown sensor "noize"'),
        ("sensor: noise", "sensor: noize", 'did you mean "noise"?'),
        ("room: attic}, every", "rom: attic}, every", '"rom" is no label of sensor noise'),
        ("room: attic}, every", "rom: attic}, every", 'label "room" is missing'),
        ("every: 1m", "every: 5000d", "the last value comes too late"),
        ("75x4", "75y4", '"75y4" is no part of a series'),
        ("every: 1m", "every: 1", "write a number and a unit"),
        ("rules: hushd.yaml", "rules: hushed.yaml", "there is no file hushed.yaml"),
        ("start: 2026-12-05T22:00:00", "start: 22:00", "write a day and a time"),
        ("name: an evening", "nme: an evening", 'did you mean "name"?'),
        ("rule: loud", "rule: lout", 'did you mean "loud"?'),
        ("rule: loud", "rule: rests", 'rule "rests" rests'),
        ("rule: loud, ", "", '"rule" is missing'),
        ("room: attic, state", "state", 'label "room" is missing'),
        ("state: ok", "sate: ok", '"sate" is no key, and no label of rule loud'),
        ("state: ok", "state: fine", 'cannot read "fine"'),
        (", state: ok", "", "nothing is expected here"),
        (", state: ok", ", told: {phone: []}", '"told" needs "between"'),
        ("at: 22:01", "at: 2026-12-05T21:00", "before the start of the test"),
        ("told: {phone: []}", "told: {fone: []}", 'unknown notifier "fone"'),
        ("told: {phone: []}", "told: {phone: [rised]}", 'did you mean "raised"?'),
        ("told: {phone: []}", "state: ok", '"between" needs "told" or "message"'),
        ("[22:00, 22:01]", "[22:01, 22:00]", "its end is before its beginning"),
        ("[22:00, 22:01]", "[22:00]", "the list is too short"),
        ("[22:00, 22:01]", "[22:00, 22:01, 22:02]", "more than two times"),
        ("from: 22:30", "from: 22:50", "its end is before its beginning"),
        ("tests:", "test:", 'did you mean "tests"?'),
    ],
)
def test_a_mistake_is_shown_where_it_is(capsys, written, instead, said):
    text = (
        HEAD
        + "      - {at: 22:01, rule: loud, room: attic, state: ok}\n"
        + "      - {between: [22:00, 22:01], told: {phone: []}}\n"
        + "    silences: [{room: attic, from: 22:30, to: 22:40}]\n"
    )
    assert tried(capsys, text)[0] == 0
    assert written in text
    code, out, err = tried(capsys, text.replace(written, instead))
    assert (code, out) == (78, "")
    assert said in err
    assert re.match(r"a\.test\.yaml:\d+:\d+: error: ", err)


def test_all_mistakes_are_shown_at_once(capsys):
    text = HEAD.replace("noise, labels", "noize, labels")
    code, _, err = tried(
        capsys, text + "      - {at: 22:01, rule: lout, room: attic, state: firng}\n"
    )
    assert code == 78
    assert err.count(": error: ") == 3


@pytest.mark.parametrize("text", ["", "# nothing\n", "tests: []\n", "- a\n", "{"])
def test_a_file_without_tests_cannot_be_read(capsys, text):
    code, out, err = tried(capsys, text)
    assert (code, out) == (78, "")
    assert err.startswith("a.test.yaml")


def test_a_file_that_is_not_there_stops_no_other(capsys):
    Path("a.test.yaml").write_text(
        HEAD + "      - {at: 22:01, rule: loud, room: attic, state: ok}\n"
    )
    assert main(["test", "none.test.yaml", "a.test.yaml"]) == 78
    printed = capsys.readouterr()
    assert printed.err == "none.test.yaml: No such file or directory\n"
    assert printed.out.endswith("1 passed, 0 failed\n")


def test_rules_that_are_not_sound_are_shown_with_their_own_place(capsys, folder):
    (folder / "hushd.yaml").write_text(
        CONFIG.replace("measure: last\n    warning", "measur: last\n    warning")
    )
    code, _, err = tried(capsys, HEAD + "      - {at: 22:01, rule: loud, room: attic, state: ok}\n")
    assert code == 78
    assert err.startswith("hushd.yaml:")
    assert 'did you mean "measure"?' in err


def test_tests_may_stand_beside_rules(capsys, folder):
    (folder / "rules.d").mkdir()
    head, rules = CONFIG.split("rules:\n")
    (folder / "hushd.yaml").write_text(f"{head}rules: {{}}\n")
    (folder / "rules.d/loud.yaml").write_text(f"rules:\n{rules}")
    text = HEAD.replace("rules: hushd.yaml", "rules: ../hushd.yaml")
    (folder / "rules.d/loud.test.yaml").write_text(
        text + "      - {at: 22:08, rule: loud, room: attic, state: firing}\n"
    )
    assert main(["test", "rules.d/loud.test.yaml"]) == 0, capsys.readouterr()
    assert main(["check", "hushd.yaml"]) == 0, capsys.readouterr()


def test_a_secret_that_is_missing_is_no_matter(capsys, folder, monkeypatch):
    monkeypatch.delenv("NOBODY_URL", raising=False)
    config = CONFIG.replace("mail: {type: log}", 'mail: {type: apprise, url: "${NOBODY_URL}"}')
    (folder / "hushd.yaml").write_text(config)
    code, _ = expecting(capsys, "{between: [22:00, 22:30], told: {mail: [raised, cleared]}}")
    assert code == 0


# -- examples --------------------------------------------------------------------------


def test_there_are_examples():
    assert len({path.parent for path in EXAMPLES}) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_examples_pass(path, capsys):
    assert main(["test", str(path)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_examples_can_fail(path, folder, capsys):
    """Under limits that nothing reaches, something is not as they expect it."""
    config = (path.parent / "hushd.yaml").read_text()
    far = re.sub(r"above: \d+(\.\d+)?", "above: 1000", config).replace("[0.5, 4.5]", "[-1, 1000]")
    assert far != config
    (folder / "hushd.yaml").write_text(far)
    copy(path, folder / path.name)
    assert main(["test", str(folder / path.name)]) == 1
    assert "failed: " in capsys.readouterr().out


def test_the_document_shows_the_first_test_as_it_is():
    shown = re.search(r"```yaml\n(tests:\n.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] in (REPO / "config/examples/hotel-night-noise/night.test.yaml").read_text()


def test_the_document_shows_what_a_changed_limit_prints(folder, capsys):
    source = REPO / "config/examples/hotel-night-noise"
    config = (source / "hushd.yaml").read_text()
    (folder / "hushd.yaml").write_text(config.replace("above: 40,", "above: 46,"))
    copy(source / "night.test.yaml", folder)
    assert main(["test", "night.test.yaml"]) == 1
    shown = re.search(r"```text\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert shown is not None
    assert capsys.readouterr().out == shown[1]


NIGHT = """\
tests:
  - name: loud at 21:58, only the night part counts
    rules: 2-night-noise.yaml
    start: 2026-03-28T21:55:00     # site time zone
    feed:
      - {sensor: noise, labels: {floor: 1, room: 101}, every: 10s, values: "30x18 55x120 _x60 30x200"}
    expect:
      - {at: 21:59, rule: night-noise, room: 101, state: inactive}
      - {at: 22:07, rule: night-noise, room: 101, state: warming}
      - {at: 22:08, rule: night-noise, room: 101, state: pending}
      - {at: 22:09, rule: night-noise, room: 101, state: firing, severity: critical}
      - {at: 22:28:15, rule: night-noise, room: 101, state: firing, no_data: true}
      - {between: [21:55, 22:20], room: 101, told: {reception: [raised], manager: [raised]}}
      - {between: [21:55, 22:20], room: 102, told: {reception: [raised], manager: []}}
"""


def test_a_night_in_a_hotel_with_a_room_that_is_expected_and_never_speaks(capsys, folder):
    copy(REPO / "tests/config/examples/2-night-noise.yaml", folder)
    code, out, _ = tried(capsys, NIGHT)
    assert code == 0, out
