"""What the commands share that talk to the running daemon: where it listens, what it says."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hushd.cli.codes import OK, UNAVAILABLE
from hushd.runtime import control


class NobodyError(Exception):
    """No daemon answers; the text says what was tried and what to do."""


def ask(args: argparse.Namespace, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the daemon that is meant answers.

    Raises:
        NobodyError: there is none, or it does not answer.
    """
    path = _where(args)
    try:
        return control.ask(path, request)
    except PermissionError as exc:
        raise NobodyError(
            f"{path}: you may not ask this daemon\n  hint: ask as its user, or with sudo"
        ) from exc
    except (FileNotFoundError, ConnectionRefusedError) as exc:
        raise NobodyError(f"no daemon listens at {path}\n  hint: hushd run -c FILE") from exc
    except TimeoutError as exc:
        raise NobodyError(
            f"{path}: the daemon does not answer\n  hint: its log says what it is about"
        ) from exc
    except OSError as exc:
        raise NobodyError(f"{path}: {exc.strerror or exc}") from exc


def inquire(
    args: argparse.Namespace,
    request: Mapping[str, Any],
    show: Callable[[Mapping[str, Any]], None],
) -> int:
    """Ask, and let *show* print the answer, or print why there is none; return the exit code."""
    command = args.run.__name__.replace("_", "-")
    try:
        answer = ask(args, request)
    except NobodyError as exc:
        print(f"hushd {command}: {exc}", file=sys.stderr)
        return UNAVAILABLE
    if not answer.get("ok"):
        return told(command, answer)
    show(answer)
    return OK


def printable(line: str) -> str:
    """Return *line* with nothing that a terminal would obey: labels come from outside."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def told(command: str, answer: Mapping[str, Any]) -> int:
    """Print why the daemon said no; return the exit code that goes with it."""
    error = str(answer.get("error", "no reason given"))
    # problems of a configuration begin with their place, as compilers write it
    print(error if answer.get("code") == 78 else f"hushd {command}: {error}", file=sys.stderr)
    code = answer.get("code")
    return code if isinstance(code, int) else 1


def _where(args: argparse.Namespace) -> Path:
    """Return the socket: as given, else of the configuration, else the only one there is."""
    if args.socket is not None:
        return Path(args.socket)
    places = control.places()
    if args.config is not None:
        name = control.name_for(args.config)
        found = [place / name for place in places if _is_there(place / name)]
        return found[0] if found else places[0] / name
    found = [path for place in places for path in _sockets(place)]
    if len(found) > 1:
        listed = "\n".join(f"  {path}" for path in found)
        raise NobodyError(f"several daemons run; say which one with -c FILE or --socket:\n{listed}")
    if not found:
        looked = ", ".join(map(str, places))
        raise NobodyError(
            f"no daemon runs, or none that you may see; looked in {looked}\n"
            "  hint: hushd run -c FILE; for one that systemd runs: sudo hushd status"
        )
    return found[0]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:  # it is, for all we can see
        return True


def _sockets(place: Path) -> list[Path]:
    try:
        return sorted(path for path in place.glob("*.sock") if control.lives(path))
    except OSError:
        return []
