"""The command as people run it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HUSHD = Path(sys.executable).parent / "hushd"

CONFIG = """\
version: 1
sensors:
  noise: {topic: "home/{room}/noise", unit: dBA, valid: [20, 130]}
notifiers:
  terminal: {type: log}
rules:
  loud:
    watch: noise
    measure: last
    warning: {above: 70, clear: 60, for: 1m}
    notify: [terminal]
"""


@pytest.fixture
def hushd(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs ``hushd`` in a folder that holds ``hushd.yaml``."""
    (tmp_path / "hushd.yaml").write_text(CONFIG)

    def run(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HUSHD, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            **more,
        )

    return run
