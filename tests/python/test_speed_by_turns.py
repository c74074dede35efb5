"""What the comparison with another commit's speed says of the two results."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

from speed_by_turns import difference, results_of, values

BEFORE = {"packets": 7, "links": [{"name": "b", "mean": 1.5, "sd": None, "gone": 1}]}


def said(after):
    return difference(dict(values(BEFORE)), dict(values(after)))


def test_results_that_only_have_more_than_they_had_are_the_same():
    after = {"packets": 7, "new": 0, "links": [{"name": "b", "mean": 1.5, "sd": 0.25}]}
    same = "the 3 values that both results have are the same"
    assert said(after) == f"{same}; 1 were there only before, 2 are new"


def test_what_differs_is_counted_and_the_first_of_it_shown():
    after = {"packets": 8, "links": [{"name": "b", "mean": 1.25, "sd": None, "gone": 1}]}
    # 8 is an eighth more than 7, as a part of 8; 1.25 is a sixth of 1.5 less.
    differs = "the results differ in 2 of the 4 values that both have, by at most 16.7 %"
    shown = "packets 7 -> 8, links[0].mean 1.5 -> 1.25"
    assert said(after) == f"{differs}: {shown}"
    many = {"links": [{"mean": each} for each in range(200)]}
    less = {"links": [{"mean": each + 1} for each in range(200)]}
    told = difference(dict(values(many)), dict(values(less)))
    assert "in 200 of the 200 values that both have, all of them mean, by" in told
    assert "by at most 100 %" in told  # nothing has become something
    assert "links[2].mean 2 -> 3, ..." in told
    assert "links[3]" not in told


def test_rounding_is_told_from_another_result():
    told = said({"packets": 7, "links": [{"name": "b", "mean": 1.5 + 3e-9, "sd": 1, "gone": 1}]})
    assert "in 1 of the 4 values that both have, all of them mean, by at most 2e-07 %" in told


@pytest.mark.parametrize("line", ["one-10 7 9 0.0100 00ff", ""])
def test_a_program_that_cannot_write_results_is_named_as_the_reason(tmp_path, line):
    program = tmp_path / "speed"
    program.write_text(f"#!/bin/sh\necho '{line}'\n", encoding="utf-8")
    program.chmod(0o755)
    assert results_of(program, "one-10") is None
    assert "too old to say where" in difference(None, {})
