"""Messages on which the process ended before it could acknowledge them.

The broker sends such a message again.  If its payload makes a decoder crash or hang, so that
the watchdog ends the process, it does so for ever, and no alert is ever raised again.

So what comes again, and was not judged before, is written down before it is, and struck out
with the next commit.  What stands there at a start was in hand when the last process ended.
If these were several, each is now taken in hand alone; one that was alone in hand at the end
of `DEATHS` processes is not judged any more.  That makes three or four starts, and costs
nothing where nothing comes again.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from hushd.runtime.messages import Message
from hushd.runtime.redelivery import Mark, mark

DEATHS = 2


class Suspects:
    """Knows which messages to be careful with.

    Args:
        left: What the last process had in hand when it ended, as `note` wrote it.
    """

    def __init__(self, left: bytes | None = None) -> None:
        found = json.loads(left) if left else []
        alone = len(found) == 1
        self._deaths = {Mark(packet, crc): deaths + alone for packet, crc, deaths in found}

    def parts(self, batch: list[Message]) -> Iterator[list[Message]]:
        """Yield the messages in order, each suspect alone; *batch* itself if there is none."""
        if not any(self._suspected(message) for message in batch):
            yield batch
            return
        part: list[Message] = []
        for message in batch:
            if not self._suspected(message):
                part.append(message)
                continue
            if part:
                yield part
                part = []
            yield [message]
        if part:
            yield part

    def condemns(self, message: Message) -> bool:
        """Say whether it is better not to judge a message."""
        return self._suspected(message) and self._deaths[mark(message)] >= DEATHS

    def note(self, messages: Iterable[Message]) -> bytes:
        """Return what is to be written down before *messages* are judged."""
        marks: Sequence[Mark] = [mark(message) for message in messages]
        return json.dumps([[*one, self._deaths.get(one, 0)] for one in marks]).encode()

    def _suspected(self, message: Message) -> bool:
        return bool(
            self._deaths and message.again and message.qos and mark(message) in self._deaths
        )
