"""Secrets: looked up where the configuration says, and never shown."""

import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from hushd.config.problems import Mark, Report

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_BYTES = 1 << 16


class Secret:
    """A text that only :meth:`reveal` shows; printed, logged or compared it stays closed."""

    __slots__ = ("_text", "source")

    def __init__(self, text: str | None, source: str) -> None:
        self._text = text
        self.source = source  # "environment variable NTFY_URL": for messages

    def reveal(self) -> str:
        """Return the text.

        Raises:
            LookupError: it was not there when the configuration was read.
        """
        if self._text is None:
            raise LookupError(f"{self.source} is not set")
        return self._text

    @property
    def missing(self) -> bool:
        """Say whether it was not there when the configuration was read."""
        return self._text is None

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a secret is not written anywhere")


class Keeper:
    """Looks secrets up and complains of those that are not there."""

    def __init__(
        self, report: Report, base: Path | None, environ: Mapping[str, str], *, for_run: bool
    ) -> None:
        self._report = report
        self._base = base
        self._environ = environ
        self._complain: Callable[..., None] = report.error if for_run else report.warn

    def variable(self, name: str, mark: Mark) -> Secret:
        """Return the value of an environment variable."""
        source = f"environment variable {name}"
        text = self._environ.get(name)
        if not text:
            self._complain(mark, f"{source} is {'not set' if text is None else 'empty'}")
        return Secret(text or None, source)

    def credential(self, name: str, mark: Mark) -> Secret:
        """Return a credential of systemd, from a single file or from the directory ``secrets``."""
        directory = self._environ.get("CREDENTIALS_DIRECTORY")
        if not directory:
            self._complain(
                mark,
                f'credential "{name}" is missing: systemd gave none',
                "outside of a unit, set CREDENTIALS_DIRECTORY to a directory that holds it",
            )
            return Secret(None, f"credential {name}")
        path = Path(directory, name)
        if not os.access(path, os.F_OK):  # also where the directory may not be looked into
            path = Path(directory, f"secrets_{name}")  # LoadCredential=secrets:DIRECTORY
        return self._read(path, mark, f'credential "{name}"')

    def file(self, name: str, mark: Mark) -> Secret:
        """Return what a file holds."""
        return self._read((self._base or Path()) / name, mark, f"secret file {name}", guard=True)

    def path(self, name: str, mark: Mark) -> Path:
        """Return the path of a file, which must be readable."""
        path = (self._base or Path()) / name
        try:
            path.open("rb").close()
        except (OSError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
            self._complain(mark, f"cannot read {name}: {why[:1].lower()}{why[1:]}")
        return path

    def expand(self, text: str, mark: Mark) -> Secret:
        """Return *text* with each ``${NAME}`` replaced from the environment."""
        missing = False

        def value(match: re.Match[str]) -> str:
            nonlocal missing
            if not _NAME.fullmatch(match[1]):
                self._report.error(
                    mark, f'cannot read "{match[0]}"', "write ${NAME}, an environment variable"
                )
                missing = True
                return ""
            secret = self.variable(match[1], mark)
            missing |= secret.missing
            return "" if secret.missing else secret.reveal()

        expanded = _VARIABLE.sub(value, text)
        names = ", ".join(_VARIABLE.findall(text)) or "in the configuration"
        return Secret(None if missing else expanded, f"URL with {names}")

    def _read(self, path: Path, mark: Mark, source: str, *, guard: bool = False) -> Secret:
        """Return the text of a file without the line break at its end."""
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                data = file.read(_MAX_BYTES + 1)
            text = data.decode().rstrip("\r\n")
        except (OSError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) and exc.strerror else "not a text"
            self._complain(mark, f"cannot read {source}: {why}")
            return Secret(None, source)
        if not text or len(data) > _MAX_BYTES:
            self._complain(mark, f"{source} is {'too large' if text else 'empty'}")
            return Secret(None, source)
        if guard and mode & stat.S_IWOTH:
            self._complain(mark, f"everybody may write {source}", "chmod 600 it")
        elif guard and mode & stat.S_IROTH:
            self._report.warn(mark, f"everybody may read {source}", "chmod 600 it")
        return Secret(text, source)
