"""What a server says back of a secret is covered, in whatever clothes it comes."""

from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushd.runtime.veil import STARS, veil

SECRET = "canary/7f+3a=é ?"  # a bit of everything that is written differently somewhere


@pytest.mark.parametrize(
    "said",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        "canary/7f+3a=\\u00e9 ?",
    ],
)
def test_however_it_is_written_it_is_covered(said):
    assert veil(f"no: {said}!", [SECRET]) == f"no: {STARS}!"


@given(st.binary(max_size=20), st.text(min_size=6, max_size=30), st.binary(max_size=20))
def test_base64_shows_no_more_than_a_few_letters_at_each_end(before, secret, after):
    data = before + secret.encode() + after
    for encode in (b64encode, urlsafe_b64encode):
        said = encode(data).decode()
        covered = veil(said, [secret])
        assert STARS in covered
        left, _, right = covered.partition(STARS)
        start, end = 8 * len(before) / 6, 8 * (len(before) + len(secret.encode())) / 6
        assert len(left) <= start + 4
        assert len(right) <= len(said) - end + 6


def test_a_basic_authorization_is_covered():
    said = b64encode(f"me:{SECRET}".encode()).decode()
    covered = veil(f"401 Unauthorized: Basic {said}", [f"json://me:{SECRET}@phone.lan/note"])
    assert "401 Unauthorized: Basic " in covered
    assert STARS in covered


@given(st.text("abcdefgh/=", min_size=4, max_size=40), st.integers(0, 60))
def test_a_secret_that_was_cut_off_is_covered_too(secret, length):
    said = f"500 no: {secret}"[:length]
    assert secret[:4] not in veil(said, [secret])


def test_the_scheme_of_an_address_is_no_secret():
    assert veil("this is not http", ["https://x.lan/", "http://x.lan/"]) == "this is not http"


def test_what_is_too_short_is_left():
    assert veil("a b ab abc", ["a", "ab", "abc"]) == "a b ab abc"
