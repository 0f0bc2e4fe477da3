"""Room is put by while there is some, and given back once."""

import os

from hushd.runtime import ballast
from hushd.runtime.ballast import Ballast


def test_it_takes_real_room_and_gives_it_back_once(tmp_path):
    path = tmp_path / "store.ballast"
    room = Ballast(path)
    room.take_on()
    room.take_on()
    found = path.stat()
    assert found.st_size == ballast.SIZE
    assert found.st_blocks * 512 >= ballast.SIZE
    assert found.st_mode & 0o777 == 0o600
    assert room.drop()
    assert not path.exists()
    assert not room.drop()


def test_none_is_taken_on_where_the_disk_is_nearly_full(tmp_path, monkeypatch):
    disk = os.statvfs(tmp_path)
    monkeypatch.setattr(ballast, "SPARE", disk.f_bavail * disk.f_frsize * 2)
    Ballast(tmp_path / "store.ballast").take_on()
    assert list(tmp_path.iterdir()) == []


def test_none_is_taken_on_where_nothing_can_be_written(tmp_path):
    Ballast(tmp_path / "not there" / "store.ballast").take_on()
    assert list(tmp_path.iterdir()) == []
