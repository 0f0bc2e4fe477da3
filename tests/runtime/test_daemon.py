"""Where relative paths of what is written lead."""

from pathlib import Path

import pytest

from hushd.runtime.daemon import state_directory


@pytest.mark.parametrize(
    ("variable", "path"),
    [("/var/lib/hushd", "/var/lib/hushd"), ("/a:/b", "/a"), ("", "."), (None, ".")],
)
def test_state_directory(monkeypatch, variable, path):
    if variable is None:
        monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    else:
        monkeypatch.setenv("STATE_DIRECTORY", variable)
    assert state_directory() == Path(path)
