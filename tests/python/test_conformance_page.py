"""The reader of test vectors that the documentation shows tells right from wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors" / "red.json"


@pytest.fixture(scope="module")
def example():
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    definitions, _, _ = block.partition("\nfor problem in problems(")
    return definitions


def played(code):
    names = {}
    exec(compile(code, "conformance.md", "exec"), names)  # noqa: S102 - our own page
    return list(names["problems"](VECTORS, names["ToyRed"]))


def test_the_toy_passes_all_cases(example):
    assert played(example) == []


@pytest.mark.parametrize(
    ("right", "wrong", "noticed"),
    [
        (
            "            self.count = 0\n            return None",
            "            return None",
            "the wait for a drop",
        ),
        ("if reason or queue >= self.limit", "if reason", "an overflow starts the count anew"),
        ('max(packet["empty_since_ns"], self.decayed)', 'packet["empty_since_ns"]', "not counted"),
        ("(self.average / high - 1)", "(self.average / high - 2)", "gentle"),
        ('and packet["ecn_capable"]', "", "ECN-capable packets are marked"),
        ("p >= 1:", "p > 1:", "at the thresholds"),
    ],
)
def test_a_mistake_in_the_toy_is_noticed(example, right, wrong, noticed):
    if right not in example:
        pytest.fail(f"{right!r} is not on the page")
    found = played(example.replace(right, wrong))
    assert any(noticed in problem for problem in found), found[:3]
