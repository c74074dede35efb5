"""A fast line in little, as advice simulates it."""

from dataclasses import replace

import pytest

from vermilion.advise import read_question
from vermilion.advise.conditions import condition, network
from vermilion.advise.judgement import total_points
from vermilion.advise.measuring import Laboratory
from vermilion.advise.plan import may_shrink
from vermilion.advise.question import QueueSetting
from vermilion.advise.scaled_line import ScaledLine

FIFO = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": 800.0})
FAIR = QueueSetting("fq_codel", "fq_codel", "fq-codel", {"dialect": "linux"})


def question(**changes):
    asked = {"rate": "1 Gbit/s", "rtt": "40 ms", "flows": "4", "delay_at_most": "10 ms"}
    return read_question(**{**asked, **changes})


@pytest.mark.parametrize(
    ("flows", "scale", "expected"), [(4, 8, (1, 8)), (100, 4, (4, 1)), (100, 16, (4, 4))]
)
def test_flows_shrink_first_and_then_windows(flows, scale, expected):
    model = ScaledLine.of(flows, scale)
    assert (model.flows, model.windows) == expected
    assert model.scale == scale


def test_lengths_shrink_and_delays_stay():
    model = ScaledLine(2, 4)
    own = {
        "limit": 800.0,
        "green_min_threshold": 80.0,
        "green_max_probability": 0.1,
        "weight": 0.01,
    }
    queue = QueueSetting("wred", "wred", "wred", own)
    found = model.queue(queue).parameters
    assert (found["limit"], found["green_min_threshold"]) == (100.0, 10.0)
    assert found["green_max_probability"] == pytest.approx(0.4)
    # eight packets forget as much as one does
    assert found["weight"] == pytest.approx(1.0 - 0.99**8)
    times = {"target": 0.005, "interval": 0.1, "quantum": 1514.0}
    fair = QueueSetting("fq_codel", "fq_codel", "fq-codel", times)
    assert model.queue(fair).parameters == times
    assert ScaledLine().queue(queue) == queue


def test_a_queue_of_few_packets_does_not_shrink():
    assert not ScaledLine(1, 128).suits(FIFO)
    assert ScaledLine(1, 64).suits(FAIR)
    assert not may_shrink(question(), replace(FIFO, parameters={"limit": 10.0}))
    assert may_shrink(question(), FAIR)
    # a packet would take more than a twentieth of the bound: 12 us doubled, of 100 us
    assert not may_shrink(question(delay_at_most="100 us"), FAIR)


def test_the_network_is_that_much_slower():
    asked = replace(question(flows="100"), scale=8)
    at = condition(asked, 100, 0.04, "bulk", 0.0)
    found = network(asked, at, FIFO)
    assert found.links["bottleneck"].rate == 1e9 / 8
    assert found.links["bottleneck"].queue.parameters["limit"] == 100
    assert found.flows["cubic"].count == 25


@pytest.mark.evidence
@pytest.mark.parametrize("queue", [FIFO, FAIR])
def test_the_model_says_what_the_line_says(queue):
    rows = []
    for scale in (1, 8):
        asked = replace(question(), scale=scale)
        at = condition(asked, 4, 0.04, "bulk", 0.0)
        [row] = Laboratory(asked, None, None, 1e9).measure([queue], [at], range(1, 5), 0.5)
        rows.append((total_points(asked, row), row.goodput(at), row.p95_ms(at)))
    whole, model = rows
    assert model[0] == pytest.approx(whole[0], abs=1.0)
    assert model[1] == pytest.approx(whole[1], rel=0.02)
    assert model[2] == pytest.approx(whole[2], rel=0.15)
