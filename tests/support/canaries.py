"""Texts that must be seen nowhere, and a search that knows them in other clothes."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

MARK = "canary"  # every secret in the tests begins so

#: where each is kept in the tests, by what it is of; some letters are written differently elsewhere
CANARIES = {
    "mqtt": "canary-mqtt/Qx7+b=",
    "hook": "canary-hook-Zr41-path",
    "token": "canary-token.Jw83+k/",
    "header": "canary-header Vn52=",
    "inline": "canary-inline-Hs96",
    "mail": "canary-mail/Tm37+q",
    "apprise": "canary-apprise-Lp68",
    "command": "canary-command Rd25&",
}


def sightings(text: bytes, canaries: dict[str, str] | None = None) -> list[str]:
    """Return which canaries are in *text*, and how each is written there."""
    return [
        f"{name}: {form!r}"
        for name, canary in (canaries or CANARIES).items()
        for form in _forms(canary)
        if form in text
    ]


def in_files(folder: Path, spared: frozenset[str]) -> list[str]:
    """Return which canaries are in the files under *folder*, but for those that are *spared*."""
    return [
        f"{path.relative_to(folder)}: {sighting}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in spared
        for sighting in sightings(path.read_bytes())
    ]


def _forms(canary: str) -> Iterator[bytes]:
    data = canary.encode()
    telling = canary.removeprefix(f"{MARK}-").encode()  # half of it is too much already
    yield from {data, telling}
    for part in (canary, telling.decode()):
        yield from {f.encode() for f in (quote(part), quote(part, safe=""), quote_plus(part))}
    yield quote(telling, safe="").lower().encode()
    yield data.hex().encode()
    yield data[::-1]
    for before in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            letters = encode(b"?" * before + data)
            yield letters[(8 * before + 5) // 6 + 2 : (8 * (before + len(data))) // 6 - 2]
