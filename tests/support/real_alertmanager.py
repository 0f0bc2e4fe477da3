"""Alertmanager as Debian packs it, on a port of its own, with what people behind it hear."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from waiting import eventually

#: everything goes to one receiver, soon
CONFIG = """
route: {{receiver: people, group_by: [alertname], group_wait: 100ms, group_interval: 100ms, repeat_interval: 1h}}
receivers:
  - name: people
    webhook_configs: [{{url: "{people}", send_resolved: true}}]
"""


def program() -> str:
    """Return where Alertmanager is; skip the test where it is not, but not in CI as root."""
    for name in ("prometheus-alertmanager", "alertmanager"):
        if found := shutil.which(name):
            return found
    why = "Alertmanager is missing: apt-get install prometheus-alertmanager"
    if os.environ.get("CI") == "true" and os.geteuid() == 0:
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


class RealAlertmanager:
    """May be stopped and started again: it forgets the alerts then, and keeps silences."""

    def __init__(
        self,
        folder: Path,
        people: str,
        web: str = "",
        prefix: str = "/",
        ca: Path | None = None,
    ) -> None:
        self._program = program()
        self._folder = folder
        (folder / "alertmanager.yml").write_text(CONFIG.format(people=people))
        (folder / "web.yml").write_text(web)
        self._web = bool(web)
        self._prefix = prefix
        self._trust = None if ca is None else ssl.create_default_context(cafile=str(ca))
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is, as a configuration of hushd says it."""
        scheme = "http" if self._trust is None else "https"
        return f"{scheme}://localhost:{self.port}{self._prefix}".rstrip("/")

    def start(self) -> "RealAlertmanager":
        """Return when it is ready; one that wants a password is when it refuses us."""
        with (self._folder / "alertmanager.log").open("ab") as log:
            self._child = subprocess.Popen(
                [
                    self._program,
                    f"--config.file={self._folder}/alertmanager.yml",
                    f"--storage.path={self._folder}/data",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                    f"--web.route-prefix={self._prefix}",
                    *([f"--web.config.file={self._folder}/web.yml"] if self._web else []),
                    "--cluster.listen-address=",
                ],
                stdout=log,
                stderr=log,
            )
        eventually(self._ready, 30, what="Alertmanager does not get ready")
        return self

    def stop(self) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child.wait(20)
            self._child = None

    def alerts(self) -> list[dict[str, Any]]:
        """Return those that are on, as it tells them."""
        found: list[dict[str, Any]] = self._ask("/api/v2/alerts")
        return found

    def severities(self) -> list[str]:
        """Return the severities of those that are on."""
        return sorted(alert["labels"]["severity"] for alert in self.alerts())

    def silence(self, rule: str, starts: str, ends: str) -> None:
        matcher = {"name": "alertname", "value": rule, "isRegex": False, "isEqual": True}
        self._ask(
            "/api/v2/silences",
            {
                "matchers": [matcher],
                "startsAt": starts,
                "endsAt": ends,
                "createdBy": "caretaker",
                "comment": "a party that was announced",
            },
        )

    def _ready(self) -> bool:
        assert self._child is not None
        if self._child.poll() is not None:
            pytest.fail((self._folder / "alertmanager.log").read_text(), pytrace=False)
        try:
            self._ask("/api/v2/status", raw=True)
        except urllib.error.HTTPError as exc:
            return exc.code == 401
        except OSError:
            return False
        return True

    def _ask(
        self, path: str, said: Mapping[str, object] | None = None, *, raw: bool = False
    ) -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}",
            None if said is None else json.dumps(said).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10, context=self._trust) as answer:
            text = answer.read()
        return text if raw else json.loads(text)
