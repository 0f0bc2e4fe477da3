"""Every decoder that is installed takes any bytes without raising."""

import json
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.core.times import stamp_parser
from hushd.plugin import Refused, Sample, Wanted, load
from hushd.plugin.testing import check_decoder

CATALOG = load()
ALL = Wanted("a[*].v", "a[*].t", (("room", "a[*].r"), ("site", "s")), stamp_parser())

#: what is asked of ours, and payloads that must hold a sample; a stranger's is asked for nothing
ASKED = {
    "number": [(Wanted(), [b"63.2", b" -1.5e1\n"])],
    "json": [
        (Wanted("level"), [b'{"level": 63.2, "level_max": "71"}']),
        (Wanted(), [b"63.2", b'"63.2"']),
        (ALL, [b'{"s": "bar", "a": [{"v": 1, "t": 1742681728, "r": 101}, {"v": null}]}']),
    ],
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", sorted(CATALOG.decoders))
def test_it_obeys_the_laws(name, seed):
    for wanted, examples in ASKED.get(name, [(Wanted(), [])]):
        check_decoder(CATALOG.decoders[name], wanted, examples, seed=seed)


def test_every_one_of_ours_is_asked_for_something():
    ours = {name for name in CATALOG.decoders if "(hushd " in CATALOG.sources[name]}
    assert ours == ASKED.keys()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "v", "t", "r", "s"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60)
    | st.text(max_size=30).map(str.encode)
    | JSON.map(json.dumps).map(str.encode)
)
def test_any_bytes_give_finite_samples_or_reasons(payload):
    for name, cases in ASKED.items():
        for wanted, _ in cases:
            for answer in CATALOG.decoders[name].build(wanted)(payload):
                if isinstance(answer, Sample):
                    assert type(answer.value) is float
                    assert isfinite(answer.value)
                else:
                    assert isinstance(answer, Refused)


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_back_to_the_last_bit(value):
    text = repr(value).encode()
    assert CATALOG.decoders["number"].build(Wanted())(text) == [Sample(value)]
    for payload in (b'{"v": %b}' % text, b'{"v": "%b"}' % text):
        assert CATALOG.decoders["json"].build(Wanted("v"))(payload) == [Sample(value)]
