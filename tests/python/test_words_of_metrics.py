"""Numbers in sentences: each in the unit that its reader thinks in."""

import pytest

from vermilion.objectives.metric_words import metric_in_words
from vermilion.objectives.metrics import MetricPath
from vermilion.online.decide.setting_words import setting_in_words
from vermilion.routers import LinkConfiguration


@pytest.mark.parametrize(
    ("path", "value", "half_width", "words"),
    [
        ("flows.*.goodput_bit_per_s.total", 24.08e6, 0.32e6, "24.08 +- 0.32 Mbit/s"),
        ("links.wan.drop_rate", 0.1724, None, "17.24 %"),
        ("links.wan.sojourn_ms.p95", 22.61, 0.5, "22.61 +- 0.5 ms"),
        ("flows.*.completion_time_s.p99", 1.25, None, "1.25 s"),
        ("links.wan.queue_packets.mean", 30.0, None, "30 packets"),
        ("flows.*.jain_index", 0.66, 0.02, "0.66 +- 0.02"),
    ],
)
def test_a_metric_is_said_in_its_readers_unit(path, value, half_width, words):
    assert metric_in_words(MetricPath.parse(path), value, half_width) == words


def test_a_setting_is_said_with_the_units_of_its_parameters():
    pie = LinkConfiguration("wan", "pie", 0.0)
    setting = {"target": 0.00129412, "alpha": 0.01276, "limit": 1000}
    assert setting_in_words(setting, pie) == "target 1.294 ms, alpha 0.01276, limit 1000 packets"


def test_of_several_queues_each_has_its_own_units():
    both = LinkConfiguration(
        "a+b",
        "mixed",
        0.0,
        (LinkConfiguration("a", "red", 0.0), LinkConfiguration("b", "linux-red", 0.0)),
    )
    words = setting_in_words({"a.min_threshold": 12.5, "b.min_threshold": 30000}, both)
    assert words == "a.min_threshold 12.5 packets, b.min_threshold 30000 bytes"


def test_a_discipline_that_nobody_knows_has_numbers_only():
    assert (
        setting_in_words({"speed": 0.5}, LinkConfiguration("wan", "of-my-own", 0.0)) == "speed 0.5"
    )
