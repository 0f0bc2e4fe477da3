"""The laws of a decoder: it never raises, and never gives what is not a finite number."""

import re
from collections.abc import Iterable, Iterator
from math import isfinite
from random import Random
from typing import NoReturn

from hushd.plugin.records import Decode, Decoder, Refused, Sample, Wanted

REASONS = 24  # a decoder has a handful; more means that a payload's text is among them

_REASON = re.compile(r"[a-z][a-z0-9_]{0,39}")
_DETAIL = 80
_NOISE = 300  # payloads of random bytes

#: What sensors, broken senders and strangers send
NASTY: tuple[bytes, ...] = (
    b"",
    b" \r\n",
    b"63.2",
    b" 63.2\n",
    b"-1e3",
    b"+.5",
    b"5.",
    b".",
    b"e",
    b"nan",
    b"-inf",
    b"Infinity",
    b"1e999",
    b"-1e999",
    b"1_000",
    b"0x1F",
    b"1,5",
    b"63.2 dB",
    b"63.2\x00",
    b"\x00",
    b"true",
    b"false",
    b"null",
    b'"63.2"',
    b'"nan"',
    b'"\\ud800"',
    b"NaN",
    b"[NaN, Infinity]",
    b"{}",
    b"[]",
    b"{",
    b'{"a": ',
    b'{"a": 1} trailing',
    b'{"a": 1, "a": 2}',
    b'{"value": nan}',
    b'{"value": true}',
    b'{"value": null}',
    b'{"value": {"value": 1}}',
    "\u0663.\u0665".encode(),
    "20.6 \u2103".encode(),
    b"\xef\xbb\xbf63.2",
    b"\xff\xfe6\x003\x00",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"9" * 5_000,
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"1" * 4_000 + b".5",
    b"unavailable",
    b"Offline",
)


def check_decoder(
    decoder: Decoder, wanted: Wanted | None = None, examples: Iterable[bytes] = (), *, seed: int = 0
) -> None:
    """Raise AssertionError with the law that *decoder* breaks, if it breaks one.

    Whatever the bytes are, the answer must be a list of samples, each of a finite number,
    and of reasons, each a constant such as ``not_a_number``; and the same bytes must give
    the same answer.

    Args:
        decoder: What a plugin offers.
        wanted: What a sensor asks of it.
        examples: Payloads that must hold a sample; they are also tried cut short and with
            bytes changed.
        seed: Another one checks with other bytes.
    """
    wanted = Wanted() if wanted is None else wanted
    decode = decoder.build(wanted)
    examples = list(examples)
    random = Random(seed)  # noqa: S311  noise is no secret
    reasons: set[str] = set()
    for payload in examples:
        if not any(isinstance(answer, Sample) for answer in decode(payload)):
            _fail(decoder, payload, f"gives {decode(payload)!r}, no sample")
    for payload in (*examples, *NASTY, *_spoilt(examples, random)):
        reasons.update(_check_answers(decoder, decode, payload))
    if len(reasons) > REASONS:
        raise AssertionError(f"{decoder.name}: reasons are not constants: {sorted(reasons)}")


def _check_answers(decoder: Decoder, decode: Decode, payload: bytes) -> set[str]:
    """Return the reasons in the answer to *payload*, all of which must be well formed."""
    reasons = set()
    try:
        answers = decode(payload)
        again = decode(payload)
    except Exception as exc:  # noqa: BLE001  whatever it is, it breaks the law
        _fail(decoder, payload, f"raised {type(exc).__name__}: {exc}")
    if not isinstance(answers, list):
        _fail(decoder, payload, f"gives {answers!r}, not a list")
    for answer in answers:
        if isinstance(answer, Refused):
            if not _REASON.fullmatch(answer.reason):
                _fail(decoder, payload, f"gives the reason {answer.reason!r}, no constant")
            if len(answer.detail) > _DETAIL:
                _fail(decoder, payload, f"gives a detail of more than {_DETAIL} characters")
            reasons.add(answer.reason)
        elif isinstance(answer, Sample):
            _check_sample(decoder, payload, answer)
        else:
            _fail(decoder, payload, f"gives {answer!r}, neither a Sample nor a Refused")
    if answers != again:
        _fail(decoder, payload, f"gives {answers!r}, then {again!r}")
    return reasons


def _check_sample(decoder: Decoder, payload: bytes, sample: Sample) -> None:
    if type(sample.value) not in {int, float} or not isfinite(sample.value):
        _fail(decoder, payload, f"gives the value {sample.value!r}, no finite number")
    if not (sample.at is None or type(sample.at) is int):
        _fail(decoder, payload, f"gives the time {sample.at!r}, not whole nanoseconds")
    for name, text in sample.labels:
        try:
            fit = bool(name.encode() and text.encode())
        except (AttributeError, UnicodeEncodeError):
            fit = False
        if not fit:
            _fail(decoder, payload, f"gives the label {name!r}: {text!r}, no text")


def _spoilt(examples: list[bytes], random: Random) -> Iterator[bytes]:
    """Yield noise, and the examples cut short and with bytes changed."""
    for _ in range(_NOISE):
        yield random.randbytes(random.randrange(1, 40))
    for example in examples:
        for _ in range(_NOISE):
            spoilt = bytearray(example[: random.randint(0, len(example))])
            for _ in range(random.randrange(3)):
                if spoilt:
                    spoilt[random.randrange(len(spoilt))] = random.choice(b'0"{[]},:\\eN-\x00\xff')
            yield bytes(spoilt)


def _fail(decoder: Decoder, payload: bytes, why: str) -> NoReturn:
    raise AssertionError(f"{decoder.name}: {payload[:60]!r}: {why}")
