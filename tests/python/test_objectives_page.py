"""What the page of objectives shows is accepted."""

import re
from pathlib import Path

import pytest

from vermilion import parse_scenario
from vermilion.objectives import objective_from_text

ROOT = Path(__file__).parents[2]
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
