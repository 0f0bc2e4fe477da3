"""Which library should describe the configuration: pydantic, msgspec or none?

Each candidate runs in a fresh interpreter and describes the same sensors and rules (ours:
the whole language).  The baseline imports what the daemon imports anyway (yaml, the
plugins' door, the records of the core), so that the figures are what a candidate adds:
ours brings its reader of YAML and its messages with it, the others' would be on top.  Ratios are to the baseline.  What each says of one
file with five mistakes is printed below the figures.

    python benchmarks/config_models.py [--rounds 15]

pydantic and msgspec are used if they are installed, else put into a throwaway venv.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from importlib.util import find_spec
from pathlib import Path

CACHE = tempfile.TemporaryDirectory()
KEEPING = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPYCACHEPREFIX": CACHE.name,
}

MISTAKEN = """\
version: 1
sensors:
  noise: {topic: "home/{room}/noise", unti: dBA}
notifiers:
  phone: {type: log}
rules:
  too-loud:
    watch: noise
    measure: leq
    over: 10
    warning: {above: seventy}
    wraning: {above: 70}
    notify: phone
"""

MODELS = {
    "baseline": "",
    "none (hushd.config.language)": "import hushd.config.language",
    "msgspec": """
import re
from typing import Annotated, Literal
import msgspec
Duration = Annotated[str, msgspec.Meta(pattern=r"^(?=.)(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$")]
class Base(msgspec.Struct, forbid_unknown_fields=True): pass
class Limit(Base):
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    outside: tuple[float, float] | None = None
    inside: tuple[float, float] | None = None
    clear: float | tuple[float, float] | None = None
    wait: Duration | None = msgspec.field(default=None, name="for")
    clear_for: Duration | None = None
class NoData(Base):
    after: Duration | None = None
    severity: Literal["info", "warning", "critical"] = "warning"
    level: Literal["keep", "clear"] = "keep"
    notify: list[str] | None = None
class Sensor(Base):
    topic: str
    value: str = "number"
    time: str | None = None
    lateness: Duration = "0s"
    future: Duration = "5s"
    duplicates: Literal["drop", "keep", "last", "max"] = "drop"
    labels: dict[str, str] = {}
    interval: Duration | None = None
    hold: Duration | None = None
    unit: str = ""
    valid: tuple[float, float] | None = None
    retained: Literal["ignore", "use"] = "ignore"
    expect: list[dict[str, str]] = []
class Rule(Base):
    watch: str
    measure: str | dict[str, float]
    about: str = ""
    enabled: bool = True
    where: dict[str, str | list[str]] = {}
    each: list[str] | None = None
    over: Duration | None = None
    min_samples: int = 1
    min_coverage: float = 0.5
    info: Limit | None = None
    warning: Limit | None = None
    critical: Limit | None = None
    clear_for: Duration | None = None
    no_data: Literal["ignore"] | NoData | None = None
    notify: list[str] | dict[str, list[str]] = []
class Site(Base):
    name: str = "hushd"
    timezone: str | None = None
class Main(Base):
    version: Literal[1]
    site: Site | None = None
    sensors: dict[str, Sensor] = {}
    notifiers: dict[str, dict[str, str]] = {}
    rules: dict[str, Rule] = {}
def check(data):
    msgspec.convert(data, Main)
""",
    "pydantic": """
from typing import Annotated, Literal
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
Duration = Annotated[str, StringConstraints(pattern=r"^(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$", min_length=1)]
class Base(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
class Limit(Base):
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    outside: tuple[float, float] | None = None
    inside: tuple[float, float] | None = None
    clear: float | tuple[float, float] | None = None
    wait: Duration | None = Field(default=None, alias="for")
    clear_for: Duration | None = None
class NoData(Base):
    after: Duration | None = None
    severity: Literal["info", "warning", "critical"] = "warning"
    level: Literal["keep", "clear"] = "keep"
    notify: list[str] | None = None
class Sensor(Base):
    topic: str
    value: str = "number"
    time: str | None = None
    lateness: Duration = "0s"
    future: Duration = "5s"
    duplicates: Literal["drop", "keep", "last", "max"] = "drop"
    labels: dict[str, str] = {}
    interval: Duration | None = None
    hold: Duration | None = None
    unit: str = ""
    valid: tuple[float, float] | None = None
    retained: Literal["ignore", "use"] = "ignore"
    expect: list[dict[str, str]] = []
class Rule(Base):
    watch: str
    measure: str | dict[str, float]
    about: str = ""
    enabled: bool = True
    where: dict[str, str | list[str]] = {}
    each: list[str] | None = None
    over: Duration | None = None
    min_samples: int = 1
    min_coverage: float = 0.5
    info: Limit | None = None
    warning: Limit | None = None
    critical: Limit | None = None
    clear_for: Duration | None = None
    no_data: Literal["ignore"] | NoData | None = None
    notify: list[str] | dict[str, list[str]] = []
class Site(Base):
    name: str = "hushd"
    timezone: str | None = None
class Main(Base):
    version: Literal[1]
    site: Site | None = None
    sensors: dict[str, Sensor] = {}
    notifiers: dict[str, dict[str, str]] = {}
    rules: dict[str, Rule] = {}
def check(data):
    Main.model_validate(data)
""",
}

MEASURE = """
import json, sys, time
sys.path[:0] = json.loads(sys.argv[1])
start = time.perf_counter()
import yaml, hushd.plugin, hushd.core.rules, hushd.core.times
{model}
took = time.perf_counter() - start
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[1])
print(json.dumps([took, pages * 4096]))
"""

SHOW = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
import yaml, hushd.plugin
{model}
text = sys.argv[2]
try:
    if {ours}:
        from hushd.config import read_text
        read_text("hushd.yaml", text, hushd.plugin.load())
    else:
        check(yaml.safe_load(text))
except Exception as exc:
    print(exc)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        extra = provide(Path(folder))
        measured = {name: [] for name in MODELS}
        for _ in range(arguments.rounds + 1):
            for name, model in MODELS.items():  # in turn, so that a busy minute hits all alike
                measured[name].append(json.loads(run(MEASURE.format(model=model), extra)))
        table({name: rows[1:] for name, rows in measured.items()})  # the first compiles sources
        for name, model in MODELS.items():
            if name != "baseline":
                ours = name.startswith("none")
                print(f"\n--- {name} says of a file with five mistakes\n")
                print(run(SHOW.format(model=model, ours=ours), extra, MISTAKEN).rstrip())


def provide(folder):
    """Return where the libraries are: nowhere in particular, or in a throwaway venv."""
    missing = [name for name in ("pydantic", "msgspec") if find_spec(name) is None]
    if not missing:
        return []
    venv.create(folder / "venv", with_pip=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", *missing]
    subprocess.run(pip, check=True)  # noqa: S603  two names of ours
    return [str(path) for path in (folder / "venv").glob("lib/python*/site-packages")]


def run(code, extra, *arguments):
    """Return what *code* prints in a fresh interpreter, which may keep compiled sources."""
    command = [sys.executable, "-c", code, json.dumps(extra), *arguments]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=KEEPING)  # noqa: S603  ours
    return ran.stdout


def table(measured):
    """Print medians as ratios to the baseline, and what a candidate adds."""
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in measured.items()
    }
    base_time, base_memory = medians["baseline"]
    print("| candidate | import time | adds | resident memory | adds |")
    print("|---|---|---|---|---|")
    for name, (took, memory) in medians.items():
        print(
            f"| {name} | {took / base_time:.2f} | {(took - base_time) * 1e3:.0f} ms "
            f"| {memory / base_memory:.2f} | {(memory - base_memory) / 2**20:.1f} MB |"
        )


if __name__ == "__main__":
    main()
