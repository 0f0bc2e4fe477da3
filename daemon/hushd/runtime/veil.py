"""Takes secrets out of what plugins, and the libraries under them, say of their failures.

A server may say back what it was told, and in the clothes in which it came: in an address, in
JSON, or, as in ``Authorization: Basic``, in base64 behind a name.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

STARS = "***"
_SCHEME = re.compile("[a-z+]+(?=(:|%3a)(//|%2f%2f))", re.IGNORECASE)
SHORTEST = 4  # characters: a shorter one would take letters out of every text


def veil(text: str, secrets: Iterable[str]) -> str:
    """Return *text* with stars for every secret in it, and for the telling parts of URLs.

    >>> veil("no answer from http://me:swordfish@bell.lan/ring", ["http://me:swordfish@bell.lan/"])
    'no answer from ***ring'
    >>> veil("cannot open /hooks/T0123", ["https://chat.example.org/hooks/T0123?x=1"])
    'cannot open /***/***'
    >>> veil("no such key: sword%2Ffish; Basic bWU6c3dvcmQvZmlzaA==", ["sword/fish"])
    'no such key: ***; Basic bWU6***A=='
    >>> veil("refused: there is no swordf", ["swordfish"])
    'refused: there is no ***'
    """
    parts = {part for secret in secrets for part in _words(secret) if len(part) >= SHORTEST}
    words = {word for part in parts for word in _clothes(part) if len(word) >= SHORTEST}
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, STARS)
    return _without_stump(text, words)


def _without_stump(text: str, words: Iterable[str]) -> str:
    """Return *text* without the beginning of one of *words* at its end: plugins cut what is long."""
    longest = 0
    for word in words:
        scheme = _SCHEME.match(word)  # it tells nothing
        shortest = max(SHORTEST - 1, scheme.end() if scheme else 0)
        for length in range(min(len(word) - 1, len(text)), shortest, -1):
            if text.endswith(word[:length]):
                longest = max(longest, length)
                break
    return f"{text[: len(text) - longest]}{STARS}" if longest else text


def spoken(exc: BaseException, secrets: Iterable[str]) -> str:
    """Return what *exc* says, for people: without the number of the error and without secrets.

    >>> spoken(ConnectionRefusedError(111, "Connection refused"), [])
    'Connection refused'
    >>> spoken(OSError("[Errno 5] of bell swordfish"), ["swordfish"])
    'of bell ***'
    >>> spoken(TimeoutError(), [])
    'TimeoutError()'
    """
    return veil(re.sub(r"\A\[Errno -?\d+\] ", "", str(exc)) or repr(exc), secrets)


def _words(secret: str) -> Iterator[str]:
    yield secret
    scheme, found, rest = secret.partition("://")
    if not found:
        return
    authority, _, tail = rest.partition("/")
    user, _, host = authority.rpartition("@")
    if scheme not in {"http", "https"}:  # with Apprise's a token may stand in place of a host
        tail = f"{host}/{tail}"
    yield from re.split(r"[/?&=:#@,]", f"{user}/{tail}")


def _clothes(word: str) -> Iterator[str]:
    """Yield the ways in which *word* may be written."""
    yield word
    data = word.encode(errors="surrogateescape")
    for way in (quote(data), quote(data, safe=""), quote_plus(data)):
        yield way
        yield re.sub("%..", lambda code: code[0].lower(), way)
    yield from (json.dumps(word, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    for before in range(3):  # bytes that share a group of four letters with the first of ours
        for encode in (b64encode, urlsafe_b64encode):
            letters = encode(b"\0" * before + data).decode().rstrip("=")
            # the letters at both ends may hold bits of what stands beside it
            yield letters[(8 * before + 5) // 6 : (8 * (before + len(data))) // 6]
