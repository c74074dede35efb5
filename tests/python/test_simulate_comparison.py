"""Comparing variants: common seeds, intervals, and differences seed by seed."""

import json
import re

import pytest

import vermilion
from vermilion.scenario import load_scenario, parse_scenario
from vermilion.scenario.other_values import with_discipline
from vermilion.simulate import metric_of, run
from vermilion.simulate.compared_runs import METRICS
from vermilion.simulate.comparison import compare

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")


@pytest.fixture(scope="module")
def outcome():
    red = load_scenario("varying-load", SHORT)
    return compare(
        {"red": red, "again": red, "drop-tail": with_discipline(red, "drop-tail")[0]}, range(1, 7)
    )


def test_phases_come_before_the_whole_run(outcome):
    starts = [(window["start_s"], window["end_s"]) for window in outcome.windows("bottleneck")]
    assert starts == [(2.0, 4.0), (6.0, 8.0), (2.0, 8.0)]


def test_a_mean_is_that_of_its_runs(outcome):
    interval = outcome.interval(0, "bottleneck", 2, "queue_packets.mean")
    values = [
        result.link("bottleneck").total["queue_packets"]["mean"] for result in outcome.results[0]
    ]
    assert interval.count == 6
    assert interval.mean == pytest.approx(sum(values) / 6)
    assert interval.low < interval.mean < interval.high


def test_the_same_scenario_under_two_names_does_not_differ(outcome):
    difference = outcome.difference(1, "bottleneck", 2, "queue_packets.mean")
    assert (difference.mean, difference.half_width) == (0.0, 0.0)
    assert not difference.excludes(0.0)


def test_drop_tail_has_the_longer_queue(outcome):
    difference = outcome.difference(2, "bottleneck", 2, "queue_packets.mean")
    assert difference.mean > 10
    assert difference.excludes(0.0)


def test_what_cannot_be_computed_is_absent(outcome):
    assert outcome.interval(2, "bottleneck", 2, "average_queue_packets.mean") is None
    single = compare({"one": load_scenario("varying-load", SHORT)}, [1])
    assert single.interval(0, "bottleneck", 2, "utilization").half_width is None
    metric = single.to_dict()["variants"][0]["links"]["bottleneck"]["total"]["utilization"]
    assert set(metric) == {"mean", "replications"}


def test_a_flow_that_is_alone_is_not_set_against_itself():
    scenario = load_scenario("rfc7928-unresponsive-beside-tcp", ["duration=20 s"])
    several = scenario.with_values({"flows.udp.count": 2})
    tables = {table.title: table for table in compare({"2": several}, [1, 2]).tables()}
    shown = {
        group: [label for label, _ in tables[f"flows {group}"].sections[0].rows]
        for group in ("friendly", "udp")
    }
    assert shown["friendly"] == ["goodput (Mbit/s)"]
    assert shown["udp"] == [
        "goodput (Mbit/s)",
        "  slowest flow (Mbit/s)",
        "  slowest / mean (%)",
        "Jain's fairness index",
    ]


@pytest.mark.parametrize("variants", [2, 7])  # side by side, and one below the other
def test_a_group_with_nothing_to_compare_has_no_table(variants, tmp_path):
    network = vermilion.Network("A transfer is over before anything counts", duration="6 s")
    network.link("b", rate="10 Mbit/s", delay="5 ms", queue={"discipline": "codel"})
    network.flows("bulk", path=["b"], rtt="40 ms", sender="cubic", count=2)
    short = {"kind": "transfer", "size": "20 kB"}
    network.flows("first", path=["b"], rtt="40 ms", sender="cubic", traffic=short)
    scenario = network.scenario().with_values({"warm_up": 4.0})
    counts = range(1, variants + 1)
    outcome = vermilion.compare(vermilion.grid(scenario, {"flows.bulk.count": counts}), seeds=2)
    assert [table.title for table in outcome.tables()] == ["link b", "flows bulk"]
    assert "flows first" not in str(outcome)
    assert "flows first" not in outcome._repr_html_()
    outcome.save_figure(tmp_path / "page.html")
    assert "flows bulk" in (tmp_path / "page.html").read_text()


def test_the_price_of_a_variant_is_shown_beside_its_gain(outcome):
    link, *groups, together = outcome.tables()
    assert [label for label, _ in link.sections[0].rows][:6] == [
        "utilisation (%)",
        "goodput (Mbit/s)",
        "queueing delay mean (ms)",
        "queueing delay p50 (ms)",
        "queueing delay p95 (ms)",
        "queueing delay p99 (ms)",
    ]
    assert "drop rate (%)" in dict(link.sections[0].rows)
    assert [table.title for table in groups] == ["flows early", "flows late"]
    assert together.title == "bulk flows together: early, late"
    for table in (*groups, together):
        rows = dict(table.sections[0].rows)
        assert {"  slowest / mean (%)", "Jain's fairness index", "starved flows"} <= set(rows)


def test_every_row_says_in_which_unit_its_numbers_are(outcome):
    plain = {"Jain's fairness index", "starved flows"}
    for table in outcome.tables():
        for section in table.sections:
            for label, _ in section.rows:
                assert re.search(r" \((ms|s|pkt|%|Mbit/s)\)$", label) or label in plain, label


def test_all_bulk_flows_together_are_the_flows_of_all_groups(outcome):
    together = outcome.to_dict()["variants"][0]["bulk_flows"]
    window, goodputs, starved = together["phases"][1], [], []
    red = load_scenario("varying-load", SHORT)
    for seed in outcome.seeds:
        groups = [run(red, seed).flows(name).phases[1] for name in ("early", "late")]
        each = [flow["goodput_bit_per_s"] for group in groups for flow in group["each"]]
        goodputs.append(each)
        starved.append(sum(one < 0.05 * sum(each) / len(each) for one in each))
    assert {len(each) for each in goodputs} == {64}
    count = len(goodputs)
    jain = [sum(each) ** 2 / (64 * sum(one**2 for one in each)) for each in goodputs]
    assert window["jain_index"]["mean"] == pytest.approx(sum(jain) / count)
    slowest = [64 * min(each) / sum(each) for each in goodputs]
    assert window["slowest_share"]["mean"] == pytest.approx(sum(slowest) / count)
    assert sum(starved) > 0
    assert window["starved"]["mean"] == pytest.approx(sum(starved) / count)
    total = sum(map(sum, goodputs)) / count
    assert window["goodput_bit_per_s"]["total"]["mean"] == pytest.approx(total)


def test_calls_and_short_transfers_are_no_bulk_flows():
    mix = load_scenario("rfc7928-traffic-mix", ["duration=20 s"])
    outcome = compare({"mix": mix}, [1, 2])
    bulk = [name for name, group in mix.flows.items() if group.traffic.kind == "bulk"]
    assert 0 < len(bulk) < len(mix.flows)
    assert outcome.bulk_groups == bulk
    udp = load_scenario("rfc7928-unresponsive", ["duration=12 s"])
    assert not [group for group in udp.flows.values() if group.traffic.kind == "bulk"]
    none = compare({"udp": udp}, [1])
    assert none.bulk_groups == []
    assert "bulk_flows" not in none.to_dict()["variants"][0]


def test_different_phases_are_not_compared():
    early = load_scenario("varying-load", SHORT)
    late = early.with_values({"flows.late.start": (5.0, 5.5)})
    outcome = compare({"early": early, "late": late}, [1, 2])
    assert not outcome.phases_agree
    [window] = outcome.windows("bottleneck")
    assert (window["start_s"], window["end_s"]) == (2.0, 8.0)
    assert outcome.difference(1, "bottleneck", 0, "utilization") is not None
    assert outcome.to_dict()["variants"][1]["links"]["bottleneck"]["phases"] == []


def test_further_measures_are_compared_like_any_metric():
    scenario = load_scenario("varying-load", SHORT)
    measures = {"square": lambda window: window["queue_packets"]["mean"] ** 2}
    outcome = compare({"one": scenario}, [1, 2], measures=measures)
    total = outcome.to_dict()["variants"][0]["links"]["bottleneck"]["total"]
    assert total["square"]["mean"] >= total["queue_packets"]["mean"]["mean"] ** 2


def test_it_is_strict_json(outcome):
    document = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert document["seeds"] == [1, 2, 3, 4, 5, 6]
    first, _, last = document["variants"]
    total = last["links"]["bottleneck"]["total"]
    for metric in METRICS:
        assert metric_of(total, f"{metric}.mean") is not None
    assert set(total["drop_rate"]) == {"mean", "low", "high", "replications", "difference"}
    assert "difference" not in first["links"]["bottleneck"]["total"]["drop_rate"]


# Beside bulk flows a transfer every eight seconds on average, in eight measured seconds: with some
# seeds there is none.
RARE = """
duration = "10 s"
warm_up = "2 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "drop-tail", limit = "20 packets" }
[flows.web]
path = ["bottleneck"]
rtt = "40 ms"
sender = "cubic"
traffic = { kind = "web", mean_gap = "8 s", size = "20 kB" }
[flows.bulk]
path = ["bottleneck"]
rtt = "40 ms"
sender = "cubic"
count = 2
"""


@pytest.fixture(scope="module")
def rare():
    scenario = parse_scenario(RARE)
    variants = {"drop-tail": scenario, "codel": with_discipline(scenario, "codel")[0]}
    return compare(variants, range(1, 9))


def completed(comparison, variant):
    """Mean completion time of each run, ``None`` where none completed."""
    return [
        metric_of(result.flows("web").total, "completion_time_s.mean")
        for result in comparison.results[variant]
    ]


def test_a_seed_without_a_transfer_counts_as_a_goodput_of_nothing(rare):
    goodputs = [
        result.flows("web").total["goodput_bit_per_s"]["total"] for result in rare.results[0]
    ]
    assert min(goodputs) == 0.0 < max(goodputs)
    entry = rare.to_dict()["variants"][1]["flows"]["web"]["total"]
    assert entry["goodput_bit_per_s"]["total"]["replications"] == 8
    interval = rare.flows_interval(0, "web", -1, "goodput_bit_per_s.total")
    assert interval.mean == pytest.approx(sum(goodputs) / 8)


def test_completion_times_are_compared_over_the_seeds_that_have_one(rare):
    values = [[value for value in completed(rare, variant) if value] for variant in (0, 1)]
    assert 0 < len(values[1]) < 8
    entry = rare.to_dict()["variants"][1]["flows"]["web"]["total"]["completion_time_s"]["mean"]
    assert entry["replications"] == len(values[1])
    assert entry["mean"] == pytest.approx(sum(values[1]) / len(values[1]))
    apart = [
        there - here
        for here, there in zip(completed(rare, 0), completed(rare, 1), strict=True)
        if here is not None and there is not None
    ]
    assert entry["difference"]["replications"] == len(apart)
    assert entry["difference"]["mean"] == pytest.approx(sum(apart) / len(apart))


def test_the_text_says_how_many_seeds_have_a_completion_time(rare):
    assert "flows web" in [table.title for table in rare.tables()]
    counts = [sum(value is not None for value in completed(rare, each)) for each in (0, 1)]
    least, most = min(counts), max(counts)
    some = f"{least}" if least == most else f"{least} to {most}"
    assert f"Completion times of 'web' are over {some} of the 8 seeds" in rare.remark()
    assert "Completion times of 'bulk'" not in rare.remark()


def test_where_every_seed_has_a_completion_time_the_text_does_not_count_them():
    often = parse_scenario(RARE).with_values({"flows.web.traffic.mean_gap": 0.5})
    assert "Completion times" not in compare({"often": often}, [1, 2]).remark()


def test_flows_that_have_stopped_do_not_starve_in_the_phase_behind():
    text = (
        RARE.replace('warm_up = "2 s"', "")
        + """
[flows.leave]
path = ["bottleneck"]
rtt = "40 ms"
sender = "cubic"
count = 2
stop = "5 s"
"""
    )
    variant = compare({"leaving": parse_scenario(text)}, [1, 2]).to_dict()["variants"][0]
    before, after = variant["bulk_flows"]["phases"]
    assert after["starved"]["mean"] == 0.0
    assert after["jain_index"]["mean"] > 0.9
    assert set(variant["flows"]["leave"]["phases"][1]) == {"start_s", "end_s"}
    assert before["goodput_bit_per_s"]["total"]["mean"] > 0.0
