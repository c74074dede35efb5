"""The linter for prose finds long sentences and banned words, and passes code and tables."""

import importlib.util
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "docs" / "prose_lint.py"
SPECIFICATION = importlib.util.spec_from_file_location("prose_lint", PLACE)
prose_lint = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(prose_lint)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It is fast. Note that it is slow. It begins anew.", 2),
        (" ".join(["word"] * 33) + ".", 1),
        (" ".join(["word"] * 32) + ". See `anew` and [the page](anew.md).", 0),
        ("```\n" + " ".join(["code"] * 50) + " anew\n```", 0),
    ],
)
def test_sentences_that_break_a_rule_are_found(text, count):
    assert len(list(prose_lint.faults(text))) == count
