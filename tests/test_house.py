"""What the house promises: a wheel that works, and files that speak of the project alone."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from zipfile import ZipFile

import pytest

REPO = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {"hushd"} | {path.parent.name for path in (REPO / "plugins").glob("*/__init__.py")}


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (REPO / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=REPO, capture_output=True, check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_packages_and_nothing_else(wheel):
    names = ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == PACKAGES | {f"hushd-{PROJECT['project']['version']}.dist-info"}
    assert "hushd/py.typed" in names
    assert [name for name in names if name.endswith("LICENSE")]
    sources = {
        name.partition("/")[2] for name in tracked() if name.startswith(("daemon/", "plugins/"))
    }
    assert sources == {name for name in names if ".dist-info/" not in name}


def install(wheel: Path, python: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    uv = ["uv", "pip"]
    if find_spec("pip"):
        command = [*pip, "install", "--no-index", "--no-deps", str(wheel)]
    else:
        assert which("uv"), "neither pip nor uv is here"
        command = [*uv, "install", "--python", str(python), "--no-index", "--no-deps", str(wheel)]
    subprocess.run(command, capture_output=True, check=True)


def test_the_wheel_runs_in_a_clean_environment(wheel, tmp_path):
    clean = tmp_path / "clean venv"  # a blank in the path is no excuse
    venv.create(clean, with_pip=False, symlinks=True)
    python = clean / "bin/python"
    install(wheel, python)
    ours = sysconfig.get_path("purelib", vars={"base": str(clean), "platbase": str(clean)})
    # the dependencies, as this environment has them; our own wheel stands before them
    (Path(ours) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    said = subprocess.run(
        [clean / "bin/hushd", "--version"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert PROJECT["project"]["version"] in said.stdout
    where = subprocess.run(
        [python, "-c", "import hushd, hushd_basic; print(hushd.__file__, hushd_basic.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.count(str(clean)) == 2


def test_every_built_in_plugin_has_its_entry_point():
    points = PROJECT["project"]["entry-points"]["hushd"]
    assert set(points.values()) == PACKAGES - {"hushd"}


def test_the_top_level_is_the_one_that_was_agreed():
    folders = {name.split("/")[0] for name in tracked()}
    assert {"pyproject.toml", "daemon", "plugins", "config", "tests", "systemd"} <= folders
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"} <= folders


def test_the_changelog_speaks_of_what_comes_next():
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text
    assert "Keep a Changelog" in text


def test_ci_runs_what_the_readme_says():
    assert "make test" in (REPO / "README.md").read_text(encoding="utf-8")
    assert (REPO / ".ci/run").read_text().rstrip().endswith("exec make test")
    assert os.access(REPO / ".ci/run", os.X_OK)


#: what is true of one machine only; written so that this file does not hold it
OF_ONE_MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.{}/+#-])/(?:work|root|Users)/\w",
            r"(?<![\w.{}/+#-])/home/(?!assistant)\w+/",
            r"https?://\S+/simple\b",
            r"extra-index-" + "url",
            r"/opt/py" + "pi",
            r"bash_" + "jobs",
        ]
    )
)


def test_no_file_speaks_of_one_machine():
    faults = [
        f"{name}:{number}: {found[0]}"
        for name in tracked()
        for number, line in enumerate(
            (REPO / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if (found := OF_ONE_MACHINE.search(line)) and name != "tests/test_house.py"
    ]
    assert faults == []


def test_every_exception_from_a_lint_rule_has_its_reason():
    text = (REPO / "pyproject.toml").read_text(encoding="utf-8")
    lint = text[text.index("[tool.ruff.lint]") :]
    rules = [line for line in lint.splitlines() if re.match(r'\s+"[A-Z]+\d*",', line)]
    assert len(rules) > 20
    assert [line for line in rules if not re.search(r"#\s+\S.{5}", line)] == []


def test_every_exception_in_the_code_has_its_reason():
    bare = re.compile(r"#\s*(?:noqa(?::\s*[A-Z0-9, ]+)?|type:\s*ignore(?:\[[\w, -]+\])?)\s*$")
    faults = [
        f"{name}:{number}"
        for name in tracked()
        if name.endswith(".py")
        for number, line in enumerate((REPO / name).read_text(encoding="utf-8").splitlines(), 1)
        if bare.search(line)
    ]
    assert faults == []
