"""A terminal that shows one picture after another, and is afterwards as it was before."""

import os
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self, TextIO

SMALLEST = (40, 15)  # columns and lines
EVERY = 0.1  # seconds between two pictures

# the second screen, without cursor and without wrapping; and back
ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"


def can_show(stream: TextIO) -> bool:
    """Say whether *stream* is a terminal that pictures can be drawn on."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") in {"", "dumb"}:
        return False
    columns, lines = os.get_terminal_size(stream.fileno())
    return columns >= SMALLEST[0] and lines >= SMALLEST[1]


class Terminal:
    """Draws what ``draw(columns, lines)`` returns, over and over, from a thread of its own.

    A terminal that is held up (Ctrl-S, a slow line) holds up nothing but this thread.
    """

    def __init__(
        self,
        stream: TextIO,
        draw: Callable[[int, int], Sequence[str]],
        lost: Callable[[], None],
    ) -> None:
        """Prepare; *lost* is called when the terminal is gone or drawing failed."""
        self.error: Exception | None = None
        self._file = stream.fileno()
        self._encoding = stream.encoding or "ascii"
        self._draw = draw
        self._lost = lost
        self._lock = threading.RLock()  # a signal may come while the main thread holds it
        self._over = threading.Event()
        self._shown = False
        self._size = (0, 0)
        self._lines: list[str] = []
        self._keys: Any = None  # how the keyboard was set
        self._thread = threading.Thread(target=self._run, name="screen", daemon=True)

    def __enter__(self) -> Self:
        """Take the screen."""
        self.show()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self._over.set()
        self._thread.join(1.0)  # it gives the screen back, unless it is held up
        self._restore_keys()

    def show(self) -> None:
        """Go to the second screen."""
        with self._lock:
            self._silence_keys()
            self._shown, self._lines = True, []
            self._write(ENTER)

    def hide(self) -> None:
        """Go back to what was there before."""
        if self._lock.acquire(timeout=0.5):
            try:
                if self._shown:
                    self._shown = False
                    with suppress(OSError):
                        self._write(LEAVE)
            finally:
                self._lock.release()
        self._restore_keys()

    @contextmanager
    def suspending(self) -> Iterator[None]:
        """Give the screen back while Ctrl-Z has stopped the process."""

        def suspend(_signum: int, _frame: FrameType | None) -> None:
            self.hide()
            os.kill(os.getpid(), signal.SIGSTOP)
            self.show()  # it goes on here

        before = signal.signal(signal.SIGTSTP, suspend)
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, before)

    def _run(self) -> None:
        try:
            while not self._over.wait(EVERY):
                self._paint()
        except OSError:  # the terminal is gone
            self._lost()
        except Exception as exc:  # noqa: BLE001  shown once the screen is given back
            self.error = exc
            self._lost()
        finally:
            self.hide()

    def _paint(self) -> None:
        """Draw what has changed since the last picture."""
        size = os.get_terminal_size(self._file)
        lines = self._draw(size[0] - 1, size[1])  # in the last column terminals differ
        with self._lock:
            if not self._shown:
                return
            before = self._lines
            out = []
            if size != self._size:
                self._size, before = size, []
                out.append("\x1b[2J")
            for i, line in enumerate(lines):
                if i >= len(before) or before[i] != line:
                    out.append(f"\x1b[{i + 1};1H{line}\x1b[K")
            self._lines = list(lines)
            self._write("".join(out))

    def _write(self, text: str) -> None:
        data = text.encode(self._encoding, "replace")
        while data:
            data = data[os.write(self._file, data) :]

    def _silence_keys(self) -> None:
        """Let what is typed not appear; Ctrl-C and Ctrl-Z work as ever."""
        if not sys.stdin.isatty():
            return
        self._keys = termios.tcgetattr(sys.stdin)
        quiet = termios.tcgetattr(sys.stdin)
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)

    def _restore_keys(self) -> None:
        if self._keys is not None:
            with suppress(termios.error):
                termios.tcflush(sys.stdin, termios.TCIFLUSH)
                termios.tcsetattr(sys.stdin, termios.TCSANOW, self._keys)
            self._keys = None
