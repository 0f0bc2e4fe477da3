"""Takes secrets out of what plugins, and the libraries under them, say of their failures."""

import re
from collections.abc import Iterable, Iterator

STARS = "***"
SHORTEST = 4  # characters: a shorter one would take letters out of every text


def veil(text: str, secrets: Iterable[str]) -> str:
    """Return *text* with stars for every secret in it, and for the telling parts of URLs.

    >>> veil("no answer from http://me:swordfish@bell.lan/ring", ["http://me:swordfish@bell.lan/"])
    'no answer from ***ring'
    >>> veil("cannot open /hooks/T0123", ["https://chat.example.org/hooks/T0123?x=1"])
    'cannot open /***/***'
    """
    words = {word for secret in secrets for word in _words(secret) if len(word) >= SHORTEST}
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, STARS)
    return text


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
