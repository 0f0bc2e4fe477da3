import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.core.topics import TopicTemplate, is_label


@pytest.mark.parametrize(
    ("text", "topic", "labels"),
    [
        ("hotel/{floor}/{room}/noise", "hotel/1/101/noise", (("floor", "1"), ("room", "101"))),
        ("{b}/{a}", "x/y", (("a", "y"), ("b", "x"))),  # sorted by name
        ("hotel/{floor}/noise", "hotel/1/2/noise", None),
        ("hotel/{floor}/noise", "hotel/1/heat", None),
        ("hotel/{floor}", "hotel", None),
        ("hotel/{floor}", "hotel/", (("floor", ""),)),  # an empty level is a level
        ("hotel/{rest*}", "hotel/1/101", (("rest", "1/101"),)),
        ("hotel/{rest*}", "hotel", (("rest", ""),)),  # as with #
        ("{site}/{rest*}", "a/b", (("rest", "b"), ("site", "a"))),
        ("hotel/+/noise", "hotel/1/noise", ()),
        ("hotel/#", "hotel/1/noise", ()),
        ("#", "a/b", ()),
        ("#", "$SYS/uptime", None),
        ("{a}/uptime", "$SYS/uptime", None),
        ("+/uptime", "$SYS/uptime", None),
        ("{rest*}", "$SYS/uptime", None),
        ("$SYS/{what}", "$SYS/uptime", (("what", "uptime"),)),
        ("/{a}", "/x", (("a", "x"),)),
        ("straße/{a}", "straße/ü", (("a", "ü"),)),
    ],
)
def test_match(text, topic, labels):
    assert TopicTemplate.parse(text).match(topic) == labels


def test_the_broker_gets_plain_wildcards():
    template = TopicTemplate.parse("hotel/{floor}/+/{rest*}")
    assert (template.filter, template.labels) == ("hotel/+/+/#", ("floor", "rest"))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "write a topic"),
        ("$share/g/a", "every n-th message"),
        ("a/#/b", "at the end"),
        ("a/{rest*}/b", "at the end"),
        ("a/b{c}", "whole level"),
        ("a/{b}{c}", "small letters"),
        ("a/b+", "whole level"),
        ("a#", "whole level"),
        ("a/{", "whole level"),
        ("a/{}", "small letters"),
        ("a/{*}", "small letters"),
        ("a/{Room}", "small letters"),
        ("a/{room}/{room}", "only once"),
        ("a\0b", "control characters"),
        ("a\nb", "control characters"),
        ("a" * 65_536, "65535 bytes"),
        ("ü" * 40_000, "65535 bytes"),
    ],
)
def test_what_is_no_topic_is_refused_with_the_way_out(text, hint):
    with pytest.raises(ValueError, match=hint):
        TopicTemplate.parse(text)


@pytest.mark.parametrize(
    ("name", "fine"), [("room", True), ("room_2", True), ("2", False), ("", False)]
)
def test_is_label(name, fine):
    assert is_label(name) is fine


def covers(pattern: list[str], topic: list[str]) -> bool:
    """Say whether an MQTT filter covers a topic: the obvious, recursive way."""
    if pattern == ["#"]:
        return True
    if not pattern or not topic:
        return not pattern and not topic
    return pattern[0] in {"+", topic[0]} and covers(pattern[1:], topic[1:])


levels = st.sampled_from(["a", "b", "", "$x"])
wild = st.sampled_from(["a", "b", "", "$x", "+", "{l}"])


@given(
    st.lists(wild, min_size=1, max_size=4),
    st.sampled_from(["", "#", "{r*}"]),
    st.lists(levels, min_size=1, max_size=5),
)
def test_match_agrees_with_the_slow_matcher(pattern, end, topic):
    pattern = [
        level for i, level in enumerate(pattern) if level != "{l}" or "{l}" not in pattern[:i]
    ]
    text = "/".join([*pattern, end] if end else pattern)
    if not text:
        return
    template = TopicTemplate.parse(text)
    plain = template.filter.split("/")
    name = "/".join(topic)
    expected = covers(plain, topic) and not (name.startswith("$") and plain[0] in {"+", "#"})
    labels = template.match(name)
    assert (labels is not None) is expected
    if labels is not None:
        assert [label for label, _ in labels] == sorted(template.labels)
        if "{l}" in pattern:
            assert dict(labels)["l"] == topic[pattern.index("{l}")]


@given(st.text())
def test_only_value_errors_come_out(text):
    try:
        TopicTemplate.parse(text).match(text)
    except ValueError as exc:
        assert str(exc)  # noqa: PT017  any of two outcomes is fine
