import pytest

from hushd.plugin import load


@pytest.fixture(scope="session")
def catalog():
    return load()
