"""What a process asked of the kernel: writes to files, their syncs, and what it sent.

Read from strace, in the order in which things happened.  A write counts from when it was
asked for, since from then on the disk may have it; a sync from when it returned, since only
then it is promised.  What was sent counts from when it was asked for, too: the receiver may
have it before the call returns.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TRACED = "pwrite64,write,fsync,fdatasync,ftruncate,unlink,sendto,sendmsg"


class Write(NamedTuple):
    """Bytes for a file."""

    path: str
    offset: int
    data: bytes


class Truncate(NamedTuple):
    """Another length for a file."""

    path: str
    size: int


class Sync(NamedTuple):
    """All that was asked for before the call *began* is on the disk."""

    path: str
    began: int  # how many calls there were before


class Unlink(NamedTuple):
    """A file is gone."""

    path: str


class Sent(NamedTuple):
    """Bytes for a peer."""

    connection: str  # "address:port->address:port"
    data: bytes


Call = Write | Truncate | Sync | Unlink | Sent

_LINE = re.compile(r"(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)", re.DOTALL)
_FILE = re.compile(r'\d+<([^>]*)>(?:, "([^"]*)")?(?:, (\d+))?(?:, (\d+))?')
_PEER = re.compile(r'\d+<TCP(?:v6)?:\[([^\]]*)\]>, "([^"]*)"')


def strace(output: Path) -> list[str]:
    """Return what a command line begins with, so that its calls are written to *output*."""
    shown = ["-yy", "-xx", "-s", "10000000"]
    return ["strace", "--seccomp-bpf", "-f", *shown, "-e", f"trace={TRACED}", "-o", str(output)]


def calls(lines: Iterable[str]) -> Iterator[Call]:
    """Return what strace wrote, call by call."""
    number = 0
    begun: dict[str, tuple[int, str]] = {}  # syncs that have not returned, by thread
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        thread, resumed, name, rest = match.groups()
        if resumed in {"fsync", "fdatasync"}:
            began, path = begun.pop(thread)
            found: Call | None = Sync(path, began) if _went_well(rest) else None
        elif name in {"fsync", "fdatasync"}:
            path = _path(rest)
            if "<unfinished" in rest:
                begun[thread] = number, path
                continue
            found = Sync(path, number) if _went_well(rest) else None
        else:
            found = None if resumed or not _went_well(rest) else _call(name, rest)
        if found is not None:
            number += 1
            yield found


def _call(name: str, rest: str) -> Call | None:
    if name == "unlink":
        return Unlink(_bytes(rest.split('"')[1]).decode())
    if (sent := _PEER.match(rest)) is not None:
        return Sent(sent[1], _bytes(sent[2]))
    written = _FILE.match(rest)
    if written is None or not written[1].startswith(r"\x"):  # a pipe, or the like
        return None
    path, text, size, offset = _bytes(written[1]).decode(), written[2], written[3], written[4]
    if name == "ftruncate":
        return Truncate(path, int(size))
    if name == "pwrite64":
        return Write(path, int(offset), _bytes(text))
    return None  # appended to a file that is not the store's


def _went_well(rest: str) -> bool:
    """Say whether a call returned no error; of one that goes on, say that it will not."""
    return ") = -1 " not in rest[-100:]


def _path(rest: str) -> str:
    match = _FILE.match(rest)
    return "" if match is None or not match[1].startswith(r"\x") else _bytes(match[1]).decode()


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace(r"\x", ""))
