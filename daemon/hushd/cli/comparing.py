"""``hushd replay --what-if``: two configurations, one recording, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo

from hushd.cli import episodes as on
from hushd.cli.episodes import Episode, Which, episodes
from hushd.cli.replaying import Playback, Request
from hushd.config.records import Config
from hushd.core.readings import Reading
from hushd.core.reconcile import rank
from hushd.runtime.rehearsal import Rehearsal
from hushd.runtime.wording import between, capital, place

DIFFERENCES = 10  # episodes that are shown one by one
LABEL, COLUMN = 22, 18  # characters

Found = Mapping[Which, Sequence[Episode]]


def compare(config: Config, other: Config, asked: Request) -> None:
    """Print how *other* would have done on a recording, beside *config*.

    Raises:
        UsageError: the recording cannot be read.
    """
    runs: list[Rehearsal] = []

    def feed(reading: Reading) -> None:
        if not runs:
            runs.extend(Rehearsal(each, reading.arrived) for each in (config, other))
        for run in runs:
            run.feed(reading)

    def finish(end: int) -> None:
        for run in runs:
            run.advance(end)

    playback = Playback(config, asked)
    playback.play(feed, finish)
    if runs:
        end = max(run.now for run in runs)
        as_is, what_if = ((episodes(run.transitions, end), told(run)) for run in runs)
        for line in report(as_is, what_if, config.site.zone):
            print(line)
    playback.account()


def told(run: Rehearsal) -> dict[Which, int]:
    """Return how many messages spoke of each alert."""
    counts: dict[Which, int] = {}
    for said in run.said:
        for which in said.about:
            counts[which] = counts.get(which, 0) + 1
    return counts


def report(
    as_is: tuple[Found, Mapping[Which, int]],
    what_if: tuple[Found, Mapping[Which, int]],
    zone: tzinfo | None,
) -> Iterator[str]:
    """Yield the lines: a table for each alert that differs, then where they differ."""
    every = sorted({*as_is[0], *what_if[0], *as_is[1], *what_if[1]})
    differing = [which for which in every if _row(as_is, which) != _row(what_if, which)]
    for which in differing:
        rule, labels = which
        yield f"{f'{rule}  {place(labels)}'.rstrip()}"
        yield _line("", "as it is", "what if")
        for name, left, right in zip(
            ("episodes", "time on", "longest", "worst", "messages"),
            _row(as_is, which),
            _row(what_if, which),
            strict=True,
        ):
            yield _line(f"  {name}", left, right)
        yield ""
    same = len(every) - len(differing)
    if not differing:
        yield "no difference" if every else "no alert, neither way"
    elif same:
        yield f"no difference in {same} other alert{'' if same == 1 else 's'}"
    gone = list(_only(as_is[0], what_if[0], "only as it is", zone))
    new = list(_only(what_if[0], as_is[0], "only what if", zone))
    different = [text for _, text in sorted(gone + new)]
    if different:
        yield "where they differ:"
        yield from (f"  {text}" for text in different[:DIFFERENCES])
        if len(different) > DIFFERENCES:
            yield f"  and {len(different) - DIFFERENCES} more"


def _only(one: Found, other: Found, words: str, zone: tzinfo | None) -> Iterator[tuple[int, str]]:
    """Yield the episodes of *one* that *other* does not have, with when they began."""
    for (rule, labels), found in one.items():
        theirs = {(x.began, x.ended, x.worst) for x in other.get((rule, labels), ())}
        for each in found:
            if (each.began, each.ended, each.worst) not in theirs:
                when = between(each.began, each.ended, zone)
                where = f"{rule}  {place(labels)}".rstrip()
                still = ", still on at the end" if each.open else ""
                yield each.began, f"{capital(when)}  {where}: {each.worst}, {words}{still}"


def _row(side: tuple[Found, Mapping[Which, int]], which: Which) -> list[str]:
    found = side[0].get(which, ())
    worst = max((each.worst for each in found), key=rank, default=None)
    return [
        str(len(found)),
        on.total(found) or "-",
        on.longest(found) or "-",
        worst or "-",
        str(side[1].get(which, 0)),
    ]


def _line(name: str, left: str, right: str) -> str:
    return f"{name:<{LABEL}}{left:>{COLUMN}}{right:>{COLUMN}}".rstrip()
