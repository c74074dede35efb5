"""An objective in the words and the unit of a reader."""

import pytest

from vermilion.objectives.metrics import FLOW_METRICS, METRICS
from vermilion.objectives.price import METRIC_WORDS, shown_objective, shown_objectives


@pytest.mark.parametrize(
    ("label", "unit", "name", "shown", "factor"),
    [
        ("links.bottleneck.sojourn_ms.mean", "ms", "mean queueing delay", "ms", 1.0),
        ("links.uplink.sojourn_ms.p95", "ms", "p95 queueing delay", "ms", 1.0),
        ("links.bottleneck.utilization", "", "utilisation", "%", 100.0),
        ("links.a.queue_packets.sd", "packets", "standard deviation of the queue", "packets", 1.0),
        ("flows.*.goodput_bit_per_s.total", "bit/s", "goodput", "Mbit/s", 1e-6),
        ("flows.*.jain_index", "", "fairness (Jain)", "", 1.0),
    ],
)  # fmt: skip
def test_a_metric_is_shown_in_words(label, unit, name, shown, factor):
    found = shown_objective(label, unit)
    assert (found.name, found.unit, found.factor) == (name, shown, factor)


@pytest.mark.parametrize(
    ("label", "unit"),
    [("queue-deviation", "packets^2"), ("links.bottleneck.loss_rate", ""), ("links.a", ""),
     ("waiting.of.utilization", "")],
)  # fmt: skip
def test_what_has_no_words_keeps_its_name_and_its_unit(label, unit):
    found = shown_objective(label, unit)
    assert (found.name, found.unit, found.factor) == (label, unit, 1.0)


def test_words_are_of_metrics_that_are_measured():
    assert set(METRIC_WORDS) <= {*METRICS, *FLOW_METRICS}


def test_the_same_metric_of_two_links_keeps_its_paths():
    labels = ("links.up.utilization", "links.down.utilization")
    found = shown_objectives(labels, ("", ""))
    assert [each.name for each in found] == list(labels)
    assert [(each.unit, each.factor) for each in found] == [("%", 100.0)] * 2
