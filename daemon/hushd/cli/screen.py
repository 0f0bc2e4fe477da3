"""What ``hushd demo`` looks like: a picture in, the lines of a terminal out.

Pure: it neither knows the terminal nor the time.  Everything it shows of levels, windows
and alerts was read from the engine; here it is only drawn.
"""

from collections.abc import Sequence
from typing import NamedTuple

LOW, HIGH = 30.0, 100.0  # dBA: the ends of a bar
LOUD, BANG = 65.0, 95.0  # dBA: there is music; somebody slams a door

RESET = "\x1b[0m"
BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "1;31", "32", "33", "36"
SEVERITIES = {"info": CYAN, "warning": YELLOW, "critical": RED}
STATES = {"ok": GREEN, "pending": YELLOW, "warming": DIM}
MARKS = {"ALERT": RED, "WORSE": RED, "BETTER": GREEN, "OK": GREEN, "NOTE": DIM}

Piece = tuple[str, str]  # a text and its colour


class Limit(NamedTuple):
    """A mark on the bars."""

    severity: str
    at: float


class House(NamedTuple):
    """One house as the engine knows it."""

    name: str
    now: float | None = None  # the newest reading
    value: float | None = None  # of the window
    state: str = "warming"  # as in `hushd status`: pending, firing(warning) ...
    other: str = ""  # the state of the other rules, if it is worth a word: "bang: firing(info)"


class Entry(NamedTuple):
    """A line of the log."""

    time: str  # "22:32:29"
    mark: str  # a key of MARKS
    text: str


class Picture(NamedTuple):
    """Everything there is to see at one moment."""

    time: str
    where: str  # "mosquitto at 127.0.0.1:39191"
    story: str  # a sentence
    houses: tuple[House, ...]
    limits: tuple[Limit, ...]
    window: str  # "leq over 5s"
    unit: str
    log: tuple[Entry, ...]
    tick: int = 0  # counts pictures: lets notes dance


class Signs(NamedTuple):
    """The characters to draw with."""

    eighths: str  # of a full cell, growing; the last is the full one
    track: str
    limit: str
    needle: str
    notes: tuple[str, str]
    roof: tuple[str, str]
    wall: str
    ground: str
    dash: str


ROOF = ("\N{BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT}", "╲")
FINE = Signs(
    eighths="▏▎▍▌▋▊▉█",
    track="·",
    limit="┃",
    needle="◆",
    notes=("♪  ♫", " ♫ ♪"),
    roof=("".join(ROOF), "  ".join(ROOF)),
    wall="││",
    ground="▔",
    dash="─",
)
PLAIN = Signs("#", ".", "|", "O", ("o  o", " o o"), ("/\\", "/  \\"), "||", "-", "-")


class Look(NamedTuple):
    """What the terminal can do."""

    colours: bool = False
    signs: Signs = PLAIN


def render(picture: Picture, width: int, height: int, look: Look) -> list[str]:
    """Return at most *height* lines, none wider than *width*.

    What does not fit is left out, the least important first: the drawing, then the
    legend, then empty lines; the houses and the newest of the log stay.
    """
    head = _head(picture, width)
    houses = [_house(house, picture, width, look.signs) for house in picture.houses]
    spare = height - 1 - len(head) - len(houses) - 4  # the log: a title and three lines at least
    drawing = _drawing(picture, width, look.signs)
    lines = list(head)
    if drawing and spare >= len(drawing) + 3:
        lines += drawing
        spare -= len(drawing)
    gaps = min(2, max(0, spare))
    spare -= gaps
    lines += [[]] * (gaps > 0)
    if spare > 0:
        lines.append(_legend(picture, width, look.signs))
    lines += houses
    lines += [[]] * (gaps > 1)
    left = max(0, height - 1 - len(lines))
    lines += _log(picture, width, left, look.signs)
    lines = lines[: max(0, height - 1)]
    lines += [[]] * (height - 1 - len(lines))
    lines.append([(" Ctrl-C ends it", DIM)])
    return [_painted(line, width, look) for line in lines]


def _head(picture: Picture, width: int) -> list[list[Piece]]:
    title, more = " hushd demo", f"  Linden Street, {picture.where}"
    room = width - len(title) - len(picture.time) - 2
    more = more[: max(0, room)] if len(more) <= room else "  Linden Street"[: max(0, room)]
    blank = " " * max(1, width - len(title) - len(more) - len(picture.time) - 1)
    return [
        [(title, BOLD), (more, DIM), (blank, ""), (picture.time, DIM)],
        [(f" {picture.story}", "")],
    ]


def _drawing(picture: Picture, width: int, signs: Signs) -> list[list[Piece]]:
    """Return the street, four lines high, if it is wide enough for it."""
    if not picture.houses or width < 8 * len(picture.houses):
        return []
    cell = min(16, width // len(picture.houses))
    rows: list[list[Piece]] = [[], [], [], []]
    for i, house in enumerate(picture.houses):
        now = house.now or 0.0
        colour = _colour(house)
        above = signs.notes[(picture.tick // 3 + i) % 2] if now >= LOUD else ""
        if now >= BANG:
            above = "BANG!"
        wall = f"{signs.wall[0]}{house.name:^2}{signs.wall[1]}"
        rows[0].append((f"{above:^{cell}}", colour if above else ""))
        rows[1].append((f"{signs.roof[0]:^{cell}}", colour))
        rows[2].append((f"{signs.roof[1]:^{cell}}", colour))
        rows[3].append((f"{wall:^{cell}}", colour))
    return [*rows, [(signs.ground * cell * len(picture.houses), DIM)]]


def _legend(picture: Picture, width: int, signs: Signs) -> list[Piece]:
    pieces: list[Piece] = [
        (f" {signs.eighths[-1] * 2} now  ", DIM),
        (f"{signs.needle} {picture.window}", DIM),
    ]
    for limit in picture.limits:
        colour = SEVERITIES.get(limit.severity, "")
        word = f" {limit.severity}" if width >= 50 else ""
        pieces.append((f"  {signs.limit} {limit.at:g}{word}", colour))
    return pieces


def _house(house: House, picture: Picture, width: int, signs: Signs) -> list[Piece]:
    """Return the line of one house: level, bar, window, state."""
    wide = width >= 64
    unit = f" {picture.unit}" if wide and picture.unit else ""
    colour = _colour(house)
    now, value = _number(house.now, 3, 0), _number(house.value, 5, 1)
    state = _words(house) if wide else _word(house)
    left = f" {'house ' if wide else ''}{house.name:<2}{now}{unit} "
    right = f" {value}{unit}  "
    room = width - len(left) - len(right) - (18 if wide else 9)
    bar = _bar(house, picture.limits, max(5, room), signs)
    return [(left, ""), *bar, (right, BOLD), (state, colour)]


def _bar(house: House, limits: Sequence[Limit], width: int, signs: Signs) -> list[Piece]:
    """Return the level now as a bar, the limits as marks and the window as a needle on it."""
    colour = _colour(house)
    steps = len(signs.eighths)
    filled = 0 if house.now is None else round(_part(house.now) * width * steps)
    cells: list[Piece] = []
    for i in range(width):
        full = min(max(filled - i * steps, 0), steps)
        cells.append((signs.eighths[full - 1], colour) if full else (signs.track, DIM))
    for limit in limits:
        cells[_place(limit.at, width)] = (signs.limit, SEVERITIES.get(limit.severity, ""))
    if house.value is not None:
        cells[_place(house.value, width)] = (signs.needle, BOLD)
    pieces: list[Piece] = []
    for text, paint in cells:
        if pieces and pieces[-1][1] == paint:
            pieces[-1] = (pieces[-1][0] + text, paint)
        else:
            pieces.append((text, paint))
    return pieces


def _part(level: float) -> float:
    return min(max((level - LOW) / (HIGH - LOW), 0.0), 1.0)


def _place(level: float, width: int) -> int:
    return min(int(_part(level) * width), width - 1)


def _number(value: float | None, width: int, decimals: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{decimals}f}"


def _words(house: House) -> str:
    """Return the state in full: "firing critical"."""
    return (house.other if _milder(house) else house.state).replace("(", " ").replace(")", "")


def _word(house: House) -> str:
    """Return the state in one word: a severity stands for firing."""
    state = house.other.partition(": ")[2] if _milder(house) else house.state
    what, _, severity = state.rstrip(")").partition("(")
    return severity if what == "firing" else what


def _milder(house: House) -> bool:
    """Say whether the other rules have more to say."""
    return bool(house.other) and house.state in {"ok", "warming"}


def _colour(house: House) -> str:
    state = house.other.partition(": ")[2] if _milder(house) else house.state
    what, _, severity = state.rstrip(")").partition("(")
    return STATES.get(what) or SEVERITIES.get(severity, "")


def _log(picture: Picture, width: int, height: int, signs: Signs) -> list[list[Piece]]:
    """Return the newest of the log, the newest last."""
    if height < 1:
        return []
    title = f" {signs.dash * 2} alerts "
    lines: list[list[Piece]] = [[(title + signs.dash * max(0, width - len(title) - 1), DIM)]]
    if not picture.log:
        lines.append([(" none yet", DIM)])
    shown: list[list[Piece]] = []
    for entry in reversed(picture.log):
        first, *rest = _wrapped(entry.text, max(10, width - 18), max(10, width - 5), 3)
        rows: list[list[Piece]] = [
            [
                (f" {entry.time}  ", DIM),
                (f"{entry.mark:<6} ", MARKS.get(entry.mark, "")),
                (first, ""),
            ],
            *([(f"    {row}", "")] for row in rest),
        ]
        if len(rows) + len(shown) > height - len(lines):
            break
        shown = rows + shown
    return lines + shown


def _wrapped(text: str, first: int, width: int, most: int) -> list[str]:
    """Return *text* in at most so many rows, broken between words where that is possible."""
    rows: list[str] = []
    room = first
    while len(text) > room and len(rows) < most - 1:
        cut = text.rfind(" ", 0, room + 1)
        cut = cut if cut > 0 else room
        rows.append(text[:cut])
        text = text[cut:].lstrip()
        room = width
    return [*rows, text]


def _painted(pieces: Sequence[Piece], width: int, look: Look) -> str:
    """Return the pieces as one text, cut to *width*."""
    out = []
    for text, colour in pieces:
        shown = text[:width]
        width -= len(shown)
        out.append(f"\x1b[{colour}m{shown}{RESET}" if look.colours and colour and shown else shown)
    return "".join(out).rstrip()
