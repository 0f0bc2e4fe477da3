"""One mistake per pair of files; the .txt is what people see."""

from pathlib import Path

import pytest

from hushd.config import ConfigError, read_text, render
from hushd.plugin import load

HERE = Path(__file__).parent / "problems"
CATALOG = load()


def told(path: Path) -> str:
    """Return what is said of a file: its errors, else its warnings."""
    try:
        config = read_text(path.name, path.read_bytes(), CATALOG)
    except ConfigError as exc:
        return str(exc)
    return render(config.warnings)


@pytest.mark.parametrize("path", sorted(HERE.glob("*.yaml")), ids=lambda path: path.stem)
def test_problem(path, monkeypatch):
    for name in ("CREDENTIALS_DIRECTORY", "HUSHD_GOLDEN", "HUSHD_GOLDEN_UNSET"):
        monkeypatch.delenv(name, raising=False)
    assert f"{told(path)}\n" == path.with_suffix(".txt").read_text()


def test_a_file_without_problems_says_nothing():
    for path in HERE.glob("fine-*.txt"):
        assert path.read_text() == "\n"


@pytest.mark.parametrize("path", sorted(HERE.glob("*password*.txt")), ids=lambda path: path.stem)
def test_nobody_sees_a_password(path):
    assert "fish" not in path.read_text()
