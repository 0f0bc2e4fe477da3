"""hushd as a service of a :mod:`real_systemd` machine, as a caretaker sees it."""

import json
import subprocess
from time import time
from typing import Any

from real_systemd import Machine

UNIT = "hushd.service"
STATE = "/var/lib/private/hushd"

#: three readings beyond 70 raise `loud`, and evidence.jsonl in STATE says so
CONFIG = """\
version: 1
mqtt: {host: 127.0.0.1}
sensors:
  noise: {topic: "home/{room}/noise"}
notifiers:
  evidence: {type: journal, path: evidence.jsonl}
rules:
  loud: {watch: noise, measure: min, over: 3 samples, min_samples: 3, warning: {above: 70}, notify: [evidence]}
internal: {notify: []}
"""

#: publishes the messages that it reads
PUBLISH = """
import json, sys
from paho.mqtt import publish
publish.multiple(json.load(sys.stdin))
"""


class Service:
    """The service, its configuration, its journal, and what it has told."""

    def __init__(self, machine: Machine, library: str) -> None:
        self.machine = machine
        self.python = f"{library}/bin/python"
        self._since = f"@{time():.6f}"

    def configure(self, text: str) -> None:
        """Write the configuration."""
        self.machine.write("/etc/hushd/hushd.yaml", text)

    def drop_in(self, text: str) -> None:
        """Change the unit, as `systemctl edit` does."""
        self.machine.write(f"/etc/systemd/system/{UNIT}.d/override.conf", text)
        self.machine.run("systemctl", "daemon-reload")

    def do(self, verb: str) -> None:
        """Start, stop, restart or reload it."""
        self.machine.run("systemctl", verb, UNIT)

    def show(self, name: str) -> str:
        """Return a property that systemd knows of it."""
        return self.machine.show(UNIT, name)

    def journal(self, *matches: str) -> list[dict[str, Any]]:
        """Return the entries that match, since this object was made."""
        return self.machine.journal("--since", self._since, "-u", UNIT, *matches)

    def said(self) -> str:
        """Return all messages of these entries."""
        return "\n".join(str(entry["MESSAGE"]) for entry in self.journal())

    def status(self) -> dict[str, Any]:
        """Return what `hushd status` finds."""
        found: dict[str, Any] = json.loads(self.machine.run("hushd", "status", "--json"))
        return found

    def publish(self, *payloads: str, room: str = "attic", qos: int = 1) -> None:
        """Publish once the daemon listens."""
        self.machine.eventually(
            lambda: self.status()["broker"]["connected"], what="it does not connect"
        )
        messages = [
            {"topic": f"home/{room}/noise", "payload": payload, "qos": qos} for payload in payloads
        ]
        self.machine.run(self.python, "-c", PUBLISH, stdin=json.dumps(messages))

    def told(self) -> list[str]:
        """Return what the notifier has written: which rule, what, and where."""
        path = self.machine.path(f"{STATE}/evidence.jsonl")
        lines = path.read_text().splitlines() if path.exists() else []
        return [f"{r['rule']} {r['event']} {r['labels']['room']}" for r in map(json.loads, lines)]

    def tells(self, *expected: str) -> None:
        """Wait until the notifier has written this and no more."""
        self.machine.eventually(
            lambda: self.told() == list(expected), what=f"{expected}, not {self.told()}"
        )

    def restarted(self, times: int) -> None:
        """Wait until systemd has begun it anew so often, and it is at work."""
        self.machine.eventually(
            lambda: self.show("NRestarts") == str(times) and self.show("ActiveState") == "active",
            what="it is not started again",
        )

    def inside(self, *command: str, root: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command with the service's view of the files, and as its user or as root."""
        pid = self.show("MainPID")
        within = ["nsenter", "-t", pid, "-m", "--"]
        if not root:
            user = str(self.machine.path(f"/proc/{pid}").stat().st_uid)
            within += ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
        return self.machine.try_to(*within, *command)
