"""Each row of the table of guarantees names tests that are there, and each guarantee is there."""

import ast
import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
PAGE = (REPO / "docs" / "durability.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (G\d+) \| .* \| (.*) \|$", PAGE, re.MULTILINE))
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))


def test_no_guarantee_is_left_out():
    assert list(ROWS) == [f"G{number}" for number in range(1, 18)]


@pytest.mark.parametrize("guarantee", ROWS)
def test_each_names_a_proof(guarantee):
    assert "`tests/" in ROWS[guarantee]


@pytest.mark.parametrize("proof", NAMED)
def test_each_proof_is_there(proof):
    path, _, name = proof.partition("::")
    tree = ast.parse((REPO / path).read_text(encoding="utf-8"))
    tests = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert name in tests if name else any(test.startswith("test_") for test in tests)
