"""``hushd check`` and ``hushd run`` with a configuration that is not sound."""

import pytest


def test_a_sound_file(hushd):
    done = hushd("check", "hushd.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "hushd.yaml: 1 rule, no problems\n",
        "",
    )


def test_w55_every_problem_with_its_place_and_code_78(hushd, tmp_path):
    text = (tmp_path / "hushd.yaml").read_text()
    (tmp_path / "bad.yaml").write_text(
        text.replace("measure: last", "measure: lats").replace("above: 70", "abvoe: 70")
    )
    done = hushd("check", "hushd.yaml", "bad.yaml")
    assert done.returncode == 78
    assert done.stdout == "hushd.yaml: 1 rule, no problems\n"
    assert 'bad.yaml:9:14: error: unknown measure "lats"' in done.stderr
    assert 'did you mean "above"?' in done.stderr


def test_w56_a_misspelt_section_has_a_line(hushd, tmp_path):
    text = (tmp_path / "hushd.yaml").read_text()
    (tmp_path / "bad.yaml").write_text(text.replace("notifiers:", "notifers:"))
    done = hushd("check", "bad.yaml")
    assert done.returncode == 78
    assert 'bad.yaml:4:1: error: unknown key "notifers"' in done.stderr
    assert 'did you mean "notifiers"?' in done.stderr


@pytest.mark.parametrize("command", [["check"], ["run", "-c"]])
@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_read(hushd, command, name):
    done = hushd(*command, name)
    assert done.returncode == 78
    assert name in done.stderr
    assert "Traceback" not in done.stderr


def test_run_says_what_is_wrong_and_does_not_start(hushd, tmp_path):
    (tmp_path / "bad.yaml").write_text("version: 2\n")
    done = hushd("run", "-c", "bad.yaml")
    assert done.returncode == 78
    assert "error" in done.stderr


def test_warnings_are_shown_and_are_no_error(hushd, tmp_path):
    text = (tmp_path / "hushd.yaml").read_text().replace(", clear: 60, for: 1m", "")
    (tmp_path / "nervous.yaml").write_text(text)
    done = hushd("check", "nervous.yaml")
    assert done.returncode == 0
    assert done.stdout == "nervous.yaml: 1 rule, 1 warning\n"
    assert "warning: " in done.stderr
