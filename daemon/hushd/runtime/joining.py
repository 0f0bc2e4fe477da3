"""One note of each thing, several in one message, and notes told for somebody else."""

from collections.abc import Sequence

from hushd.core.reconcile import rank
from hushd.core.rules import SEVERITIES
from hushd.plugin.records import Note
from hushd.runtime.deeds import Item
from hushd.runtime.notes import Current
from hushd.runtime.writer import Writer

LINES = 20  # of what one message tells


def part(
    item: Item,
    notifier: str,
    writer: Writer,
    *,
    now: int,
    current: Current | None,
    late: tuple[int, int] | None,
) -> Note:
    """Return what to tell of one thing.

    Args:
        item: The thing.
        notifier: Who tells it.
        writer: Knows the words.
        now: Wall time, for what is still on.
        current: How it stands now, for a reminder.
        late: When it happened and when it is told, where that is too far apart.
    """
    waiting = item.waiting
    repeat = item.kind == "repeat"
    key = f"{waiting.transition.id}-{notifier}"
    if repeat and item.counts:
        key += f"-{item.told.repeats}"
    note = writer.write(
        waiting.transition,
        item.kind,
        item.severity,
        key,
        now=now if repeat else None,
        current=current if repeat else None,
        late=late,
    )
    if waiting.unsure:
        note = note._replace(again=True)
    return stand_in(note, waiting.instead) if waiting.instead else note


def join(notes: Sequence[Note]) -> Note:
    """Return one note that says what all of them say, a line for each.

    Its record is that of the worst, which has those of the others with it.

    >>> one = Note("raised", "Room 101: too loud", "", "warning", "a", {"rule": "loud"})
    >>> other = Note("cleared", "Room 102: all well", "", "critical", "b", {"rule": "loud"})
    >>> both = join([other, one])
    >>> print(both.title, both.text, both.severity, both.kind, sep=chr(10))
    2 messages; Room 101: too loud
    Room 102: all well
    Room 101: too loud
    warning
    several
    """
    if len(notes) == 1:
        return notes[0]
    worst = max(notes, key=_weight)
    lines = [note.title for note in notes[:LINES]]
    if len(notes) > LINES:
        lines.append(f"and {len(notes) - LINES} more")
    kinds = {note.kind for note in notes}
    severities = [s for s in SEVERITIES if any(n.severity == s and _is_on(n) for n in notes)]
    return Note(
        worst.kind if len(kinds) == 1 else "several",
        f"{len(notes)} messages; {worst.title}",
        "\n".join(lines),
        severities[-1] if severities else worst.severity,
        f"{notes[0].key}+{len(notes) - 1}",
        {**worst.record, "also": [note.record for note in notes if note is not worst]},
        again=any(note.again for note in notes),
    )


def stand_in(note: Note, absent: str) -> Note:
    """Return *note* as it is told by another than the one who should have told it."""
    return note._replace(text=f"{note.text}\nTold here because {absent} could not tell it.")


def _is_on(note: Note) -> bool:
    return note.kind not in {"cleared", "missed"}


def _weight(note: Note) -> tuple[bool, int]:
    found = next((s for s in SEVERITIES if s == note.severity), None)
    return _is_on(note), rank(found)
