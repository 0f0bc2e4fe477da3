"""Paths into JSON: what can be written, and the way out of what cannot."""

import pytest

from hushd_payloads.paths import MISSING, Each, dig, parse


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("level", ("level",)),
        ("a.b.c", ("a", "b", "c")),
        ("a.b[0].c", ("a", "b", 0, "c")),
        ("[0][-1]", (0, -1)),
        ('params."temperature:0".tC', ("params", "temperature:0", "tC")),
        ("params.temperature:0.tC", ("params", "temperature:0", "tC")),  # a colon needs no quotes
        ('"a.b"."say \\"so\\""', ("a.b", 'say "so"')),
        ("Sound Level", ("Sound Level",)),
        ("data[*].v", ("data", Each(), "v")),
        ("s[id=53].v", ("s", Each("id", "53"), "v")),
        ('s[value_type="DNMS noise"].v', ("s", Each("value_type", "DNMS noise"), "v")),
        ("0", ("0",)),  # a field, not an element
    ],
)
def test_a_path_is_read(text, steps):
    assert parse(text) == steps


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (".a", 'cannot read ".a"'),
        ("a..b", 'cannot read ".b" of the path "a..b"'),
        ("a.", 'the path "a." ends in a dot'),
        ("a[0]b", 'a dot is missing before "b"'),
        ('a"b"', 'a dot is missing before ""b""'),
        ("a.[0]", 'write "a[0]", without the dot'),
        ("a[x]", r'cannot read "[x]"'),
        ("a[0", r'cannot read "[0"'),
        ('"a', 'cannot read ""a"'),
        ("a]", 'a dot is missing before "]"'),
        ("a[]", 'cannot read "[]"'),
        (" level", 'leave the blank beside "level" out'),
        ("a.level ", 'leave the blank beside "level" out'),
        ("a[\u0663]", "cannot read"),
    ],
)
def test_what_is_no_path_says_so(text, hint):
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("document", "path", "found"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a": None}, "a", None),
        ({"a": 0}, "a", 0),
        ({"a": None}, "a.b", MISSING),
        ({"a": 5}, "a.b", MISSING),
        ({"a": "text"}, "a[0]", MISSING),  # not "t"
        ({"0": 5}, "[0]", MISSING),
        ([5], "[0]", 5),
        ([5], "[1]", MISSING),
        ([5], "[-2]", MISSING),
        ([5, 6], "[-1]", 6),
        (["x"], "0", MISSING),
        (7, "", 7),
    ],
)
def test_dig_finds_what_is_there_and_nothing_else(document, path, found):
    assert dig(document, parse(path)) is found
