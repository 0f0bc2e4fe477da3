"""What the demo looks like: a picture in, lines out, whatever the size of the terminal."""

import re

import pytest

from hushd.cli.screen import FINE, PLAIN, Entry, House, Limit, Look, Picture, render

HOUSES = (
    House("1", 41.2, 41.0, "ok"),
    House("3", 99.0, 70.0, "ok", "bang: firing(info)"),
    House("5"),
    House("7", 86.0, 84.9, "firing(critical)"),
    House("9", 40.0, 66.0, "clearing(warning)"),
)
LOG = (
    Entry("22:32:29", "ALERT", "House 7: noise over 5s is 73.3 dBA, limit 65 (warning)"),
    Entry("22:32:32", "WORSE", "House 7: noise over 5s is worse: 80.1 dBA, limit 80 (critical)"),
)
PICTURE = Picture(
    time="22:32:40",
    where="mosquitto at 127.0.0.1:1883",
    story="Now they dance at house 7.",
    houses=HOUSES,
    limits=(Limit("warning", 65.0), Limit("critical", 80.0)),
    window="leq over 5s",
    unit="dBA",
    log=LOG,
)
ROOFS = [f"{roof:^16}" for roof in FINE.roof]


def test_the_whole_picture():
    assert render(PICTURE, 80, 24, Look(signs=FINE)) == [
        " hushd demo  Linden Street, mosquitto at 127.0.0.1:1883                22:32:40",
        " Now they dance at house 7.",
        "                     BANG!                             ♫ ♪",
        ROOFS[0] * 4 + ROOFS[0].rstrip(),
        ROOFS[1] * 4 + ROOFS[1].rstrip(),
        "      │1 │            │3 │            │5 │            │7 │            │9 │",
        "▔" * 80,
        "",
        " ██ now  ◆ leq over 5s  ┃ 65 warning  ┃ 80 critical",
        " house 1  41 dBA █████◆··········┃······┃·········  41.0 dBA  ok",
        " house 3  99 dBA ████████████████┃█◆████┃████████▌  70.0 dBA  bang: firing info",
        " house 5   - dBA ················┃······┃·········     - dBA  warming",
        " house 7  86 dBA ████████████████┃██████┃█◆▍······  84.9 dBA  firing critical",
        " house 9  40 dBA ████▊···········◆······┃·········  66.0 dBA  clearing warning",
        "",
        " ── alerts " + "─" * 68,
        " 22:32:29  ALERT  House 7: noise over 5s is 73.3 dBA, limit 65 (warning)",
        " 22:32:32  WORSE  House 7: noise over 5s is worse: 80.1 dBA, limit 80 (critical)",
        *[""] * 5,
        " Ctrl-C ends it",
    ]


def test_the_smallest():
    assert render(PICTURE, 40, 15, Look()) == [
        " hushd demo  Linden Street     22:32:40",
        " Now they dance at house 7.",
        "",
        " ## now  O leq over 5s  | 65  | 80",
        " 1  41 ##O.....|..|....  41.0  ok",
        " 3  99 ########|O#|####  70.0  info",
        " 5   - ........|..|....     -  warming",
        " 7  86 ########|##|O...  84.9  critical",
        " 9  40 ##......O..|....  66.0  clearing",
        "",
        " -- alerts ----------------------------",
        " 22:32:32  WORSE  House 7: noise over 5s",
        "    is worse: 80.1 dBA, limit 80",
        "    (critical)",
        " Ctrl-C ends it",
    ]


@pytest.mark.parametrize(
    ("house", "line"),
    [
        (House("1", 30.0, None, "warming"), " 1  30 ........|..|....     -  warming"),
        (House("1", 100.0, 100.0, "ok"), " 1 100 ########|##|###O 100.0  ok"),
        (House("1", 12.0, 130.0, "ok"), " 1  12 ........|..|...O 130.0  ok"),  # beyond the ends
        (House("1", 70.0, 64.9, "pending"), " 1  70 #######O|..|....  64.9  pending"),
        # the needle is shown where a limit stands
        (House("1", 70.0, 66.0, "pending"), " 1  70 ########O..|....  66.0  pending"),
        (House("1", 70.0, 66.0, "firing(warning)"), " 1  70 ########O..|....  66.0  warning"),
        # the worse of the two rules has the word, unless both have something to say
        (House("1", 70.0, 66.0, "ok", "bang: pending"), " 1  70 ########O..|....  66.0  pending"),
        (
            House("1", 70.0, 66.0, "firing(critical)", "bang: firing(info)"),
            " 1  70 ########O..|....  66.0  critical",
        ),
    ],
)
def test_a_house(house, line):
    assert line in render(PICTURE._replace(houses=(house,)), 40, 15, Look())


@pytest.mark.parametrize("look", [Look(), Look(colours=True, signs=FINE)], ids=["plain", "fine"])
@pytest.mark.parametrize("width", [1, 20, 39, 40, 41, 50, 63, 64, 79, 80, 200])
@pytest.mark.parametrize("height", [1, 5, 14, 15, 16, 17, 18, 20, 24, 60])
def test_it_fits_whatever_the_size(width, height, look):
    lines = render(PICTURE, width, height, look)
    shown = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    assert len(lines) == height
    assert max(map(len, shown)) <= width
    if width >= 40 and height >= 15:
        text = "\n".join(shown)
        assert all(f"{house.name} " in text for house in HOUSES)
        assert "WORSE" in text
        assert "Now they dance" in text


def test_before_anything_happened():
    lines = render(PICTURE._replace(log=(), limits=(), window=""), 80, 24, Look())
    assert " none yet" in lines


def test_colours_say_how_bad_it_is():
    lines = render(PICTURE, 80, 24, Look(colours=True, signs=PLAIN))
    [loud] = [line for line in lines if line.startswith(" house 7")]
    assert "\x1b[1;31m################" in loud
    assert loud.endswith("\x1b[1;31mfiring critical\x1b[0m")
    assert all(line.count("\x1b[0m") * 2 == line.count("\x1b[") for line in lines)
