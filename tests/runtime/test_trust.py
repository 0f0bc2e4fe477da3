"""When the wall clock is not to be believed, in the words that people read."""

from pathlib import Path

import pytest

from hushd.core.readings import SECOND
from hushd.runtime import trust
from hushd.runtime.trust import RELEASED, doubt

MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE


@pytest.mark.parametrize(
    ("wall", "known", "synchronised", "why"),
    [
        (RELEASED, None, False, ""),
        (RELEASED - 1, None, True, "it shows {wall}, before this hushd was released"),
        (RELEASED + DAY, RELEASED + DAY, False, ""),
        (RELEASED + DAY, RELEASED + DAY + MINUTE, False, ""),  # as a time server may set it back
        (RELEASED + DAY, RELEASED + 2 * DAY, False, "it shows {wall}, but it was {known} already"),
        (RELEASED + DAY, RELEASED + 2 * DAY, True, ""),  # what was known was wrong
    ],
)
def test_doubt(wall, known, synchronised, why):
    minutes = {"wall": trust._minute(wall), "known": trust._minute(known or 0)}
    assert doubt(wall, known, lambda: synchronised) == why.format(**minutes)


def test_times_are_said_to_the_minute():
    assert doubt(1_549_681_445 * SECOND + 678, None, bool).startswith(
        "it shows 2019-02-09T03:04:00Z,"
    )


def test_a_time_server_leaves_a_file(tmp_path, monkeypatch):
    mark = tmp_path / "synchronized"
    monkeypatch.setattr(trust, "_SYNCHRONIZED", mark)
    assert not trust.synchronised()
    mark.touch()
    assert trust.synchronised()


def test_a_run_of_the_machine_has_one_name_whoever_says_it(tmp_path, monkeypatch):
    file = tmp_path / "boot_id"
    file.write_text("41ecf0e1-9441-41e1-8ec0-310b2f875e6f\n")
    monkeypatch.setattr(trust, "_BOOT", file)
    assert trust.boot_id() == "41ecf0e1944141e18ec0310b2f875e6f"
    file.unlink()
    assert trust.boot_id() == ""
    monkeypatch.setenv("HUSHD_BOOT_ID", "41ecf0e1944141e18ec0310b2f875e6f")  # systemd's %b
    assert trust.boot_id() == "41ecf0e1944141e18ec0310b2f875e6f"


def test_the_unit_passes_that_name_on():
    unit = Path(__file__).parents[2] / "systemd/hushd.service"
    assert "\nEnvironment=HUSHD_BOOT_ID=%b\n" in unit.read_text(encoding="utf-8")
