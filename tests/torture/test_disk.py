"""The disk that fails is tried on a plain database first, where right and wrong are known."""

import random
import shutil
import sqlite3
import subprocess
import sys

import pytest
from torture.calls import Sent, Sync, Truncate, Unlink, Write, calls, strace
from torture.disk import Disk, File, moments, sectors

PROGRAM = """
import socket, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("pragma journal_mode=wal")
db.execute(f"pragma synchronous={sys.argv[2]}")
db.execute("pragma wal_autocheckpoint=20")
db.execute("create table kept(n integer primary key, text)")
with socket.create_server(("127.0.0.1", 0)) as server:
    peer = socket.create_connection(server.getsockname())
    for n in range(60):
        db.execute("insert into kept values(?, ?)", (n, "x" * 2000))
        peer.sendall(b"kept")
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('7 pwrite64(3<\\x2f\\x61>, "\\x62\\x63", 2, 4096) = 2', Write("/a", 4096, b"bc")),
        (
            '7 pwrite64(3<\\x2f\\x61>, "\\x62\\x63", 2, 4096 <unfinished ...>',
            Write("/a", 4096, b"bc"),
        ),
        ("7 ftruncate(3<\\x2f\\x61>, 8) = 0", Truncate("/a", 8)),
        ("7 fdatasync(3<\\x2f\\x61>) = 0", Sync("/a", 0)),
        ('7 unlink("\\x2f\\x61") = 0', Unlink("/a")),
        (
            '7 sendto(6<TCP:[127.0.0.1:1->127.0.0.1:2]>, "\\x40\\x02", 2, 0, NULL, 0) = 2',
            Sent("127.0.0.1:1->127.0.0.1:2", b"\x40\x02"),
        ),
        ("7 fdatasync(3<\\x2f\\x61>) = -1 EIO (Input/output error)", None),
        ('7 unlink("\\x2f\\x61") = -1 ENOENT (No such file or directory)', None),
        ("7 +++ exited with 0 +++", None),
    ],
)
def test_calls_are_read(text, expected):
    assert list(calls([text])) == ([expected] if expected is not None else [])


def test_a_sync_promises_what_was_asked_for_before_it_began():
    trace = [
        '1 pwrite64(3<\\x2f\\x61>, "\\x62", 1, 0) = 1',
        "1 fdatasync(3<\\x2f\\x61> <unfinished ...>",
        '2 pwrite64(3<\\x2f\\x61>, "\\x63", 1, 1) = 1',
        "1 <... fdatasync resumed>) = 0",
    ]
    found = list(calls(trace))
    assert found == [Write("/a", 0, b"b"), Write("/a", 1, b"c"), Sync("/a", 1)]
    file = File()
    for number, call in enumerate(found[:2]):
        file.loose.append((number, call))
    file.sync(found[2].began)
    assert bytes(file.solid) == b"b"
    assert [call.data for _, call in file.loose] == [b"c"]


def test_what_was_not_synced_comes_by_the_sector_or_not_at_all():
    file = File()
    file.loose.append((0, Write("/a", 0, b"\1" * 512)))
    file.sync(1)
    file.loose += [(1, Write("/a", 256, b"\2" * 1024)), (2, Truncate("/a", 4096))]
    chance = random.Random(1)
    found = {file.after_a_cut(chance) for _ in range(300)}
    assert all(content[:256] == b"\1" * 256 for content in found)
    assert {len(content) for content in found} >= {512, 4096}
    assert any(content[256:512] == b"\1" * 256 and b"\2" in content for content in found)
    assert any(content[511:513] == b"\2\0" for content in found)
    assert [len(sector.data) for sector in sectors(Write("/a", 256, bytes(1024)))] == [
        256,
        512,
        256,
    ]


@pytest.mark.parametrize(("synchronous", "holds"), [("full", True), ("normal", False)])
def test_a_database_that_syncs_each_commit_keeps_it_and_one_that_does_not_loses_it(
    synchronous, holds, tmp_path
):
    if shutil.which("strace") is None:
        pytest.fail("strace is missing: apt-get install strace", pytrace=False)
    home, found, trace = tmp_path / "home", tmp_path / "found", tmp_path / "trace"
    home.mkdir()
    found.mkdir()
    program = [sys.executable, "-c", PROGRAM, str(home / "kept.db"), synchronous]
    subprocess.run([*strace(trace), *program], check=True)
    happened = list(calls(trace.read_text().splitlines()))
    assert sum(isinstance(call, Sent) for call in happened) == 60
    chance, disk, promised, broken, done = random.Random(1), Disk(home), 0, 0, 0
    for moment in moments(happened, 100, chance):
        for number in range(done, moment):
            disk.happen(number, happened[number])
            promised += isinstance(happened[number], Sent)
        done = moment
        disk.cut(chance, found, ["kept.db", "kept.db-wal", "kept.db-journal"])
        broken += not keeps(found / "kept.db", promised)
        (found / "kept.db-shm").unlink(missing_ok=True)
    assert (broken == 0) == holds


def keeps(path, promised):
    """Say whether a database is whole and holds as many rows as were promised."""
    try:
        db = sqlite3.connect(path)
        (state,) = db.execute("pragma integrity_check").fetchone()
        (rows,) = db.execute("select count(*) from kept").fetchone() if promised else (0,)
        db.close()
    except sqlite3.DatabaseError:
        return False
    return state == "ok" and rows >= promised
