"""The examples of the page for those who come from ns-3 run, and are as short as it says."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "docs" / "examples" / "from_ns3.py"
SPECIFICATION = importlib.util.spec_from_file_location(FILE.stem, FILE)
from_ns3 = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(from_ns3)


@pytest.mark.parametrize("example", from_ns3.EXAMPLES, ids=lambda each: each.__name__)
def test_an_example_runs_in_about_ten_lines(example):
    rows = example()
    assert rows
    assert all(value is not None for row in rows for value in row.values())
    body = inspect.getsource(example).splitlines()[2:]
    assert len(body) <= 11


def test_dctcp_shares_its_bottlenecks_as_the_paper_says():
    """All of a link is used, and the flows with two bottlenecks have least."""
    [row] = from_ns3.dctcp_example()
    first, second, third = (
        row[f"flows.{name}.goodput_bit_per_s.mean"] for name in ("s1", "s2", "s3")
    )
    assert 10 * (first + third) == pytest.approx(1e9, rel=0.03)
    assert 10 * first + 20 * second == pytest.approx(10e9, rel=0.03)
    assert first < third < second


def test_aqm_shortens_the_queue_of_the_benchmark():
    waits = {
        row["discipline"].partition(":")[0]: row["links.bottleneck.sojourn_ms.mean"]
        for row in from_ns3.queue_discs_benchmark()
    }
    assert waits["drop-tail"] > 4 * max(wait for name, wait in waits.items() if name != "drop-tail")
