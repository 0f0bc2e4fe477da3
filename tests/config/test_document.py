"""The YAML reader: types, places, limits; nothing but ConfigError comes out of it."""

import string

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.config import ConfigError, read_text
from hushd.config.document import MAX_BYTES, Node, parse, scalar
from hushd.config.problems import Mark, Report, Source
from hushd.plugin import Catalog


def plain(node):
    if node is None:
        return None
    if node.kind == "map":
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    return [plain(item) for item in node.items] if node.kind == "list" else node.value


def tree(text):
    report = Report()
    node = parse("x.yaml", text, report)
    report.stop_if_wrong()
    return plain(node)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("22:00", "22:00"),  # base 60 in YAML 1.1
        ("06:00", "06:00"),
        ("12:30:00", "12:30:00"),
        ("on", "on"),
        ("no", "no"),
        ("NO", "NO"),
        ("y", "y"),
        ("1e3", 1000.0),
        ("0755", 755),
        ("0o14", "0o14"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("2026-01-01", "2026-01-01"),
        (".5", 0.5),
        ("5.", 5.0),
        ("-12.5", -12.5),
        ("+3", 3),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ('"5"', "5"),
        ("'true'", "true"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        ("{a: 1, b: [x, {c: 2}]}", {"a": 1, "b": ["x", {"c": 2}]}),
        ("&x [1]", [1]),
    ],
)
def test_scalars_are_typed_as_yaml_1_2_says(text, value):
    assert tree(f"key: {text}") == {"key": value}


def test_keys_are_texts():
    assert tree("on: 1\n1: 2\ntrue: 3\n22:00: 4\n") == {"on": 1, "1": 2, "true": 3, "22:00": 4}


def test_merging_keeps_what_is_written_and_then_the_first():
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 3}\n"
    assert tree(text)["c"] == {"x": 3, "y": 1, "z": 2}


@pytest.mark.parametrize("text", ["a: {<<: 5}", "a: {<<: [5]}", "b: &b [1]\na: {<<: *b}"])
def test_only_mappings_are_merged(text):
    with pytest.raises(ConfigError, match="takes a mapping"):
        tree(text)


def test_every_duplicate_key_names_both_lines():
    with pytest.raises(ConfigError) as caught:
        tree("a: 1\nb: {c: 1,\n  c: 2}\na: 3\n")
    assert [problem.message for problem in caught.value.problems] == [
        '"c" stands here twice, first on line 2',
        '"a" stands here twice, first on line 1',
    ]


@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\r", "\x85", "\u2028"])
def test_places_are_right_whatever_ends_a_line(breaks):
    node = parse("x.yaml", f"a: 1{breaks}bb: two{breaks}", Report())
    assert node is not None
    mark = node.entries["bb"].node.mark
    assert (mark.line, mark.column, mark.length) == (2, 5, 3)
    assert mark.source.lines[1] == "bb: two"


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfa: 1", "\ufeffa: 1"])
def test_a_byte_order_mark_is_left_out(data):
    node = parse("x.yaml", data, Report())
    assert node is not None
    assert node.entries["a"].key.column == 1


def nested(levels):
    last = chr(ord("a") + levels - 1)
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n"
        for i in range(levels - 1)
    )
    return f"{bomb}rules: *{last}\n"


BAD = {
    "billion laughs": nested(9),
    "a million laughs": nested(6),
    "merge bomb": "a0: &a0 {k0: 1}\n"
    + "".join(f"a{i}: &a{i}\n  <<: [*a{i - 1}, *a{i - 1}]\n  k{i}: 1\n" for i in range(1, 600)),
    "recursive alias": "&a [*a]",
    "recursive mapping": "a: &a {b: *a}",
    "recursive merge": "a: &a {<<: *a}",
    "deep flow lists": "[" * 100_000,
    "deep flow mappings": "{a: " * 100_000,
    "deep block lists": "- " * 50_000,
    "deep block mappings": "\n".join(" " * i + "a:" for i in range(600)),
    "python object": '!!python/object/apply:os.system ["true"]',
    "python tuple": "!!python/tuple [1]",
    "binary": "a: !!binary aGVsbG8=",
    "unknown tag": "a: !secret password",
    "tag directive": "%TAG ! tag:example.org,2000:\n---\na: !x 1",
    "yaml version": f"%YAML 1.{'9' * 5000}\n---\na: 1",
    "impossible escape": 'a: "\\UFFFFFFFF"',
    "surrogate escape": 'a: "\\ud800"\nb: 1',
    "null byte": b"a: \x00",
    "utf-16": "a: 1".encode("utf-16"),
    "too large": b"#" * (MAX_BYTES + 1),
    "many lines": "- x\n" * 110_000,
    "complex key": "? {a: b}\n: 1",
    "empty key": ": 1",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_in_a_config_error_of_bounded_length(name):
    """No limit on time: a slow machine is no fault.  Without the limits on nodes it never ends."""
    with pytest.raises(ConfigError) as caught:
        read_text("x.yaml", BAD[name], Catalog())
    assert len(str(caught.value)) < 20_000


def pathological_text():
    pieces = st.sampled_from(
        ["version: 1\n", "rules:\n", "  a:\n", "- ", "&a ", "*a", "<<: ", "{", "}", "[", "]", ": ", ",",
         '"', "'", "|\n", "!!str ", "\t", "#", "%", "@", "---\n", "\n", "  ", "? ", "\ufeff", "\x85", "é"]
    )  # fmt: skip
    return st.lists(st.one_of(pieces, st.text(string.printable, max_size=5)), max_size=40).map(
        "".join
    )


@settings(max_examples=400, deadline=None)
@given(st.one_of(pathological_text(), st.text(), st.binary()))
def test_only_config_errors_come_out_of_any_text(data):
    try:
        read_text("x.yaml", data, Catalog())
    except ConfigError as exc:
        assert exc.problems  # noqa: PT017  either outcome is fine
        assert str(exc)  # noqa: PT017  likewise


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**9), 10**9),
        st.floats(-1e6, 1e6),
        st.text(string.ascii_letters + string.digits + " :.-{}*&!%@'\"", max_size=8).filter(
            lambda text: scalar(text, Mark(Source(""), 0, 0)).kind == "text"  # 08: a text in 1.1
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(string.ascii_lowercase, min_size=1, max_size=4), inner, max_size=4),
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["k", "l", "m"]), values))
def test_what_pyyaml_writes_is_read_as_it_was(value):
    text = yaml.safe_dump(value, default_flow_style=None)
    assert tree(text) == (value or {})


def test_a_node_of_a_mapping_knows_its_key():
    node = parse("x.yaml", "rules:\n  loud: {}\n", Report())
    assert node is not None
    inner = node.entries["rules"].node.entries["loud"].node
    assert (inner.at.line, inner.at.column, inner.at.length) == (2, 3, 4)
    assert isinstance(inner, Node)


def test_a_problem_of_a_whole_file_has_no_line():
    assert str(Mark(Source("x.yaml"), 0, 0)) == "x.yaml"


def test_long_lines_and_control_characters_are_tamed():
    text = f"a: {'x' * 300}\x1b[31m: {'y' * 300}\n"
    with pytest.raises(ConfigError) as caught:
        tree(text)
    shown = str(caught.value)
    assert "\x1b" not in shown
    assert all(len(line) < 250 for line in shown.splitlines())
