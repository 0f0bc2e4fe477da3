"""What waits between the source's thread and the loop: batches, bounded by messages."""

import queue
import threading
from types import FrameType

from hushd.runtime.messages import Ask, Event, Message, Reload, Stop


class Inbox:
    """A ``SimpleQueue`` of batches: its ``put`` is reentrant, so a signal handler may call it.

    (``queue.Queue.put`` is not: a handler interrupting it would deadlock.)  A batch stays
    open, and grows, until the loop takes it: one hand-over serves as many messages as came
    meanwhile, where one per message would cost more than the windows do.

    When *limit* messages wait, a further one of QoS 1 makes its thread wait, so that the
    broker keeps the rest; one of QoS 0, which nobody would send again, is dropped and counted.
    """

    def __init__(self, limit: int) -> None:
        self.dropped = 0  # messages of QoS 0
        self._limit = limit
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._room = threading.Condition(threading.Lock())
        self._open: list[Message] | None = None  # the batch that still grows
        self._waiting = 0
        self._closed = False

    def offer(self, message: Message) -> None:
        """Add a message; called by the source's thread."""
        with self._room:
            if self._waiting >= self._limit:
                if message.qos == 0:
                    self.dropped += 1
                    return
                self._room.wait_for(lambda: self._waiting < self._limit or self._closed)
            self._waiting += 1
            if self._open is None:
                self._open = [message]
                self._queue.put(self._open)
            else:
                self._open.append(message)

    def offer_all(self, messages: list[Message]) -> None:
        """Add messages that came together; called by the source's thread."""
        with self._room:
            if self._waiting + len(messages) <= self._limit:
                self._waiting += len(messages)
                if self._open is None:
                    self._open = messages
                    self._queue.put(messages)
                else:
                    self._open += messages
                return
        for message in messages:
            self.offer(message)

    def announce(self, event: Event) -> None:
        """Add news of the connection, after all messages that came before it."""
        with self._room:
            self._open = None
            self._queue.put(event)

    def take(self, timeout: float | None) -> Event | None:
        """Return what came first, or None after *timeout* seconds; called by the loop."""
        try:
            event = self._queue.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(event, list):
            with self._room:
                if self._open is event:
                    self._open = None
                self._waiting -= len(event)
                self._room.notify_all()
        return event

    def ask(self, ask: Ask) -> None:
        """Add a request from the control socket, after what came before it."""
        self._queue.put(ask)

    def resize(self, limit: int) -> None:
        """Let another number of messages wait."""
        with self._room:
            self._limit = limit
            self._room.notify_all()

    @property
    def waiting(self) -> int:
        """Return how many messages wait."""
        return self._waiting

    def close(self) -> None:
        """Let a thread go on that waits for room; what it has is not wanted any more."""
        with self._room:
            self._closed = True
            self._room.notify_all()

    def on_stop(self, signum: int, frame: FrameType | None) -> None:
        """Handle a signal that asks for the end."""
        self._queue.put(Stop(signum))

    def on_reload(self, signum: int, frame: FrameType | None) -> None:
        """Handle a signal that asks for the configuration to be read again."""
        self._queue.put(Reload(signum))
