"""The page of objectives names all of them, and what it shows is accepted."""

import re
import sys
from pathlib import Path

import pytest

from vermilion import parse_scenario
from vermilion.objectives import OBJECTIVES, objective_from_text
from vermilion.objectives.noticeable import OF_METRICS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import objective_tables  # noqa: E402 - of the documentation's own extensions

PAGE = (ROOT / "docs" / "objectives.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"`(\{ name = [^`]*\})`", PAGE)
SCENARIO = """
duration = "5 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "1 ms"
queue = { discipline = "red" }
[flows.calls]
path = ["bottleneck"]
traffic = { kind = "constant-rate", rate = "64 kbit/s" }
[flows.web]
path = ["bottleneck"]
rtt = "20 ms"
sender = "sack"
traffic = { kind = "web", mean_gap = "1 s", size = "20 kB" }
"""


@pytest.mark.parametrize("text", SHOWN)
def test_an_objective_that_it_shows_is_accepted(text):
    assert objective_from_text(text, parse_scenario(SCENARIO))[0].name in text


def test_it_shows_some():
    assert len(SHOWN) >= 4


def test_its_tables_have_a_row_for_each():
    for place, table, names in (
        ("<!-- objectives -->", objective_tables.objectives_table, OBJECTIVES),
        ("<!-- noticeable -->", objective_tables.noticeable_table, OBJECTIVES),
        ("<!-- noticeable metrics -->", objective_tables.metrics_table, OF_METRICS),
    ):
        assert place in PAGE
        rows = list(table())
        assert [row.split("`")[1] for row in rows[2:]] == list(names)
        assert len({row.count("|") for row in rows}) == 1


def test_a_row_says_the_floor_with_its_unit_and_the_share():
    rows = list(objective_tables.noticeable_table())
    assert "| `queue-deviation` | 1 packet^2 | 5 % |" in rows
    assert "| `completion-time` | 0.01 s | 5 % |" in rows
    assert "| `goodput` |  | 0.5 % |" in rows
