"""The control socket: one line of JSON asks the running daemon, one line answers.

It is a Unix socket that only the daemon's user and root may use, in the runtime directory.
Its name is made from the path of the configuration, so that whoever knows the one finds
the other.  The loop answers; a thread of its own carries the questions there, and waits.
"""

import contextlib
import hashlib
import json
import os
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hushd.runtime.logs import Log
from hushd.runtime.messages import Ask

LONGEST = 64 << 10  # bytes of a request
LONGEST_ANSWER = 64 << 20
READING = 2.0  # seconds in which a request must be there
ANSWERING = 30.0  # seconds that the loop may take
AT_ONCE = 8  # connections
_CREDENTIALS = struct.Struct("iII")  # process, user, group: struct ucred
PATH = 100  # bytes that a socket's address may have, and a few to spare


def places() -> list[Path]:
    """Return the folders in which sockets may be; a daemon takes the first."""
    found = []
    if given := os.environ.get("RUNTIME_DIRECTORY", "").split(":")[0]:
        found.append(Path(given))
    if user := os.environ.get("XDG_RUNTIME_DIR", ""):
        found.append(Path(user, "hushd"))
    if os.geteuid() != 0:
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
        found.append(Path(home, "hushd"))
    found.append(Path("/run/hushd"))
    return list(dict.fromkeys(found))


def name_for(config: Path) -> str:
    """Return the name of the socket of the daemon that runs with *config*.

    >>> name_for(Path("/etc/hushd/hushd.yaml"))
    'hushd-b1219802.sock'
    """
    whole = os.fsencode(config.resolve())
    return f"{config.stem[:40]}-{hashlib.sha256(whole).hexdigest()[:8]}.sock"


class Control:
    """Listens at *path* until closed; that it cannot is logged and costs nothing else."""

    def __init__(
        self, path: Path, ask: Callable[[Ask], None], log: Log, answering: float = ANSWERING
    ) -> None:
        self._path = path
        self._ask = ask
        self._log = log
        self._answering = answering
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._socket: socket.socket | None = None
        try:
            self._socket = _listen(path)
        except OSError as exc:
            why = exc.strerror or str(exc)
            self._log.error(
                "control.failed", path=str(path), error=why, hint="no status, no reload"
            )
            return
        threading.Thread(
            target=self._run, args=(self._socket,), name="control", daemon=True
        ).start()

    def close(self) -> None:
        """Listen no more."""
        if self._socket is None:
            return
        with contextlib.suppress(OSError):  # somebody may have tidied up
            self._path.unlink()
        with contextlib.suppress(OSError):  # it wakes the thread
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _run(self, listening: socket.socket) -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                if listening.fileno() < 0 or not self._path.exists():
                    return
                time.sleep(0.1)  # out of descriptors, most likely
                continue
            if not _may_ask(peer):
                self._log.warning("control.refused", user=_user(peer))
                peer.close()
            elif self._room.acquire(blocking=False):
                threading.Thread(
                    target=self._serve, args=(peer,), name="asked", daemon=True
                ).start()
            else:
                peer.close()

    def _serve(self, peer: socket.socket) -> None:
        try:
            with peer:
                answer = self._answer(peer)
                peer.settimeout(READING)
                peer.sendall(json.dumps(answer, default=str).encode() + b"\n")
        except OSError:  # it has gone away, or was too slow
            pass
        finally:
            self._room.release()

    def _answer(self, peer: socket.socket) -> Mapping[str, Any]:
        try:
            request = json.loads(_line(peer, READING, LONGEST))
        except (ValueError, RecursionError):
            return refusal(2, "a request is one line of JSON")
        if not isinstance(request, dict):
            return refusal(2, "a request is an object")
        answers: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        self._ask(Ask(request, answers.put))
        try:
            return answers.get(timeout=self._answering)
        except queue.Empty:
            return refusal(69, f"the daemon has not answered for {self._answering:g} s")


def _user(peer: socket.socket) -> int:
    """Return whose process is at the other end, as the kernel says."""
    data = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(data)[1])


def _may_ask(peer: socket.socket) -> bool:
    """Say whether it is root or our own user: the mode of the socket may have been changed."""
    try:
        return _user(peer) in {0, os.geteuid()}
    except OSError:
        return False


def refusal(code: int, error: str) -> dict[str, Any]:
    """Return the answer that says no; *code* is the exit code for the one who asked."""
    return {"ok": False, "code": code, "error": error}


def ask(path: Path, request: Mapping[str, Any], seconds: float = ANSWERING + 5) -> dict[str, Any]:
    """Return what the daemon at *path* answers.

    Raises:
        OSError: nobody listens there, or does not answer in time.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(READING)
        with _address(path) as address:
            peer.connect(address)
        peer.sendall(json.dumps(request).encode() + b"\n")
        line = _line(peer, seconds, LONGEST_ANSWER)
    try:
        answer = json.loads(line)
    except ValueError as exc:
        raise ConnectionResetError("it broke off in the middle of its answer") from exc
    if not isinstance(answer, dict):
        raise ConnectionResetError("it answers in another language")
    return answer


def lives(path: Path) -> bool:
    """Say whether somebody listens at *path*, or may do so for all we can see."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(READING)
        try:
            with _address(path) as address:
                probe.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return path.is_socket()
    return True


def _line(peer: socket.socket, seconds: float, longest: int) -> bytes:
    """Return what *peer* sends until the end of a line, or until it ends."""
    until = time.monotonic() + seconds
    data = bytearray()
    while b"\n" not in data[-65536:]:
        peer.settimeout(max(until - time.monotonic(), 0.001))
        part = peer.recv(65536)
        data += part
        if not part or len(data) > longest:
            break
    return bytes(data)


def _listen(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        if path.is_socket():
            _clear(path)
        with _address(path) as address:
            listening.bind(address)
        path.chmod(0o600)  # before anybody can be accepted
        listening.listen(AT_ONCE)
    except OSError:
        listening.close()
        raise
    return listening


def _clear(path: Path) -> None:
    """Take away a socket that somebody left who is no more."""
    if lives(path):
        raise OSError("another hushd runs with this configuration")
    path.unlink()


@contextlib.contextmanager
def _address(path: Path) -> Iterator[str]:
    """Give the address of a socket; a path too long for one is taken from its folder."""
    if len(os.fsencode(path)) <= PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
