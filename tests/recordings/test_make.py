from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

HERE = Path(__file__).parent
spec = spec_from_file_location("make_recordings", HERE / "make.py")
assert spec
assert spec.loader
make = module_from_spec(spec)
spec.loader.exec_module(make)


@pytest.mark.parametrize("path", make.FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_recordings_are_those_that_the_script_makes(path):
    assert path.read_bytes().decode() == make.FILES[path]()


def test_they_are_small():
    assert max(path.stat().st_size for path in make.FILES) < 200_000
