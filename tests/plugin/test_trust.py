"""What may be run is what nobody else could have written, however one gets there."""

import os

import pytest

from hushd.plugin.trust import distrust


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "above" / "below"
    folder.mkdir(parents=True)
    path = folder / "a.py"
    path.write_text("")
    path.chmod(0o644)
    return path


def test_what_only_root_and_we_can_write_is_trusted(file):
    assert distrust(file) == distrust(file.parent) == ""


@pytest.mark.parametrize("up", [0, 1, 2])
@pytest.mark.parametrize(
    ("mode", "fine"),
    [
        (0o755, (True, True, True)),
        (0o775, (False, False, False)),
        (0o757, (False, False, False)),
        (0o1777, (False, True, True)),  # as /tmp is: fine above, not as what is run
    ],
)
def test_every_folder_above_counts(file, up, mode, fine):
    place = (file, file.parent, file.parent.parent)[up]
    place.chmod(mode)
    why = distrust(file)
    assert why == ("" if fine[up] else f"{place} is writable by others; chmod go-w it")


def test_a_folder_to_be_searched_may_not_be_one_for_all(file):
    file.parent.chmod(0o1777)
    assert "writable by others" in distrust(file.parent)


def test_the_folders_that_a_link_is_in_count_too(file, tmp_path):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    link = open_to_all / "a.py"
    link.symlink_to(file)
    assert distrust(link) == ""
    open_to_all.chmod(0o777)
    assert f"{open_to_all} is writable" in distrust(link)


def test_a_stranger_s_folder_is_not_trusted(file, monkeypatch):
    if os.geteuid() == 0:
        os.chown(file.parent.parent, 4711, 4711)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert "belongs to user" in distrust(file)


def test_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        distrust(tmp_path / "nothing")
