"""Numbers in sentences: each in the unit that its reader thinks in."""

import pytest

from test_cli import vermilion
from vermilion.objectives.metrics import MetricPath, format_metric
from vermilion.online.entries import SettingInForce, format_setting
from vermilion.online.record.journal import Journal
from vermilion.routers import LinkConfiguration
from vermilion.routers.queue_set import configuration_of
from vermilion.scenario import disciplines

__all__ = ["vermilion"]


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
    assert format_metric(MetricPath.parse(path), value, half_width) == words


def test_a_setting_is_said_with_the_units_of_its_parameters():
    pie = LinkConfiguration("wan", "pie", 0.0)
    setting = {"target": 0.00129412, "alpha": 0.01276, "limit": 1000}
    assert format_setting(setting, pie) == "target 1.294 ms, alpha 0.01276, limit 1000 packets"


def test_of_several_queues_each_has_its_own_units():
    both = LinkConfiguration(
        "a+b",
        "mixed",
        0.0,
        (LinkConfiguration("a", "red", 0.0), LinkConfiguration("b", "linux-red", 0.0)),
    )
    words = format_setting({"a.min_threshold": 12.5, "b.min_threshold": 30000}, both)
    assert words == "a.min_threshold 12.5 packets, b.min_threshold 30000 bytes"


def test_a_discipline_that_nobody_knows_has_numbers_only():
    assert format_setting({"speed": 0.5}, LinkConfiguration("wan", "of-my-own", 0.0)) == "speed 0.5"


@pytest.mark.parametrize("names", [("red", "pie"), ("pie", "red"), ("red", "red")])
def test_a_set_of_a_journal_has_the_units_of_each_queues_own_discipline(names):
    queues = dict(zip(("near", "far"), names, strict=True))
    setting = {
        f"{link}.{name}": parameter.default
        for link, discipline in queues.items()
        for name, parameter in disciplines()[discipline].parameters.items()
    }
    together = "+".join(dict.fromkeys(names))
    known = configuration_of("near+far", together, setting)
    assert {each.link: each.discipline for each in known.queues} == queues
    assert "near.limit 100 packets" in format_setting({"near.limit": 100.0}, known)


def test_status_says_the_units_of_a_set_of_queues(tmp_path, vermilion):
    limits = {
        f"{link}.{name}": parameter.default
        for link in ("first", "second")
        for name, parameter in disciplines()["drop-tail"].parameters.items()
    }
    path = tmp_path / "journal.sqlite"
    with Journal(
        path,
        version="1.2.3",
        title="two queues",
        router="simulated set",
        link="first+second",
        discipline="drop-tail",
        target_packets=None,
        network="seed 1",
    ) as book:
        book.keep(SettingInForce(0.0, {**limits, "first.limit": 50.0, "second.limit": 70.0}))
    _, words, _ = vermilion("status", path)
    assert "first.limit 50 packets" in words
    assert "second.limit 70 packets" in words


def test_a_set_with_a_discipline_that_nobody_knows_has_numbers_only_there():
    known = configuration_of("a+b", "of-my-own", {"a.speed": 0.5, "b.speed": 0.6})
    assert format_setting({"b.speed": 0.6}, known) == "b.speed 0.6"
