"""The child that sends one note through Apprise: ``python -m hushd_notify.sending``.

Reads one JSON object from standard input, writes one to standard output:
``{"state": "told" | "refused" | "failed", "said": "..."}``.
"""

import json
import os
import re
import sys
from typing import Any

#: Apprise tells no status apart; what it logs does, as in ``Unauthorized, error=401.``
FOR_GOOD = re.compile(r"\berror=(400|401|403|404|410)\b")


def tell(given: dict[str, Any]) -> tuple[str, str]:
    """Send it; return what came of it and what was said."""
    try:
        import apprise  # noqa: PLC0415  a missing one is an answer, too
    except ImportError as exc:
        return "refused", f"Apprise is not installed ({exc}): pip install 'hushd[apprise]'"
    service = apprise.Apprise.instantiate(
        given["url"], asset=apprise.AppriseAsset(async_mode=False), suppress_exceptions=True
    )
    if service is None:
        return "refused", "Apprise does not know this URL, or a part of it is missing"
    # Apprise's own are 4 s: a server that answers later has the note and would get it twice
    if "rto=" not in given["url"]:
        service.socket_read_timeout = given["seconds"]
    if "cto=" not in given["url"]:
        service.socket_connect_timeout = given["seconds"]
    told = apprise.Apprise()
    told.add(service)
    result = told.notify(
        body=given["body"],
        title=given["title"],
        notify_type=given["type"],
        body_format=given.get("format", "text"),
    )
    said = "; ".join(str(entry.message) for entry in result.logs()) or "Apprise says no more"
    if result:
        return "told", ""
    return ("refused" if FOR_GOOD.search(said) else "failed"), said


def main() -> None:
    """Send what standard input says, and end at once, whatever thread is still there."""
    try:
        state, said = tell(json.load(sys.stdin))
    except Exception as exc:  # noqa: BLE001  whatever it is, it is Apprise's
        state, said = "failed", f"{type(exc).__name__}: {exc}"
    print(f"\n{json.dumps({'state': state, 'said': said})}", flush=True)  # noqa: T201  our answer
    os._exit(0)


if __name__ == "__main__":
    main()
