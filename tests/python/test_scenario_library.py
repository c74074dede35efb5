"""The shipped scenarios are what their heads say they are, and they run.

Numbers come from RFC 7928, from the AQM evaluation suite of ns-3 (for what the RFC leaves open) and
from draft-irtf-iccrg-tcpeval-01. They are worked out here from what the sources give (edge delays,
constants, loads), not copied from the scenarios.
"""

import re
import shlex
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import fmean

import pytest

import vermilion
from vermilion.scenario import load_scenario, scenario_names
from vermilion.scenario.library import scenario_summaries, scenario_text
from vermilion.simulate.sweeps import make_variants

ROOT = Path(__file__).parents[2]
EVALUATED = [name for name in scenario_names() if name.startswith(("rfc7928-", "tcpeval-"))]
ONE_PATH = [
    name
    for name in EVALUATED
    if name.startswith("rfc7928-")
    and not name.endswith(("-mix", "-absorption", "-aqm", "-bidirectional"))
    and "capacity" not in name
]

# Where a whole run takes more than a moment, the first seconds of it.
SHORTENED = {
    "tcpeval-access-link": ("10 s", "2 s"),
    "tcpeval-data-center": ("1.5 s", "0.5 s"),
    "tcpeval-trans-oceanic": ("2 s", "0.5 s"),
    "tcpeval-satellite": ("30 s", "10 s"),
    "tcpeval-multiple-bottlenecks": ("10 s", "2 s"),
}

# The link that has the load, the load, and the link's rate.
LOADED = {
    "tcpeval-access-link": ("down", 0.85, 100e6),
    "tcpeval-data-center": ("down", 0.85, 1e9),
    "tcpeval-trans-oceanic": ("down", 0.85, 1e9),
    "tcpeval-satellite": ("down", 0.85, 40e6),
    "tcpeval-dial-up": ("down", 0.85, 64e3),
    "tcpeval-wireless-lan": ("air", 0.85, 6e6),
    "tcpeval-ramp-up": ("down", 0.5, 10e6),
    "tcpeval-rtt-fairness": ("down", 0.5, 10e6),
    "tcpeval-impact": ("down", 1.0, 10e6),
    "tcpeval-multiple-bottlenecks": ("b", 0.8, 100e6),
}


def bounded_pareto_moment(order, minimum, maximum, shape):
    """E[X^order] as the integral of x^order over the density a m^a x^(-a-1) / (1 - (m/M)^a)."""
    weight = shape * minimum**shape / (1 - (minimum / maximum) ** shape)
    return weight * (maximum ** (order - shape) - minimum ** (order - shape)) / (order - shape)


def seconds(text):
    number, unit = text.split()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def data_rate(document, link):
    """Bits of data a second that the transfers of a scenario bring to a link."""
    total = 0.0
    for group in document["flows"].values():
        traffic = group.get("traffic", {})
        if link not in group["path"] or traffic.get("kind") != "web":
            continue
        size = traffic["size"]
        scale = {"kB": 1e3, "MB": 1e6}
        low, high = (
            float(text.split()[0]) * scale[text.split()[1]]
            for text in (size["minimum"], size["maximum"])
        )
        mean = bounded_pareto_moment(1, low, high, size["shape"])
        total += group["count"] * 8 * mean / seconds(traffic["mean_gap"])
    return total


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_loads_says_what_it_is_and_needs_no_excuse(name):
    scenario = load_scenario(name)
    assert scenario.title
    assert scenario.description
    assert scenario.notes == []
    assert scenario_text(name).startswith("# ")


@pytest.mark.parametrize("name", EVALUATED)
def test_a_head_names_its_section_and_where_it_departs(name):
    head = scenario_text(name).partition("\n\n")[0].replace("\n# ", " ")
    first = "RFC 7928, " if name.startswith("rfc7928-") else "Common TCP Evaluation Suite, "
    assert head.startswith(f"# {first}")
    assert re.search(r"section \d+(\.\d+)*:", head)
    assert "What to look at:" in head
    assert re.search("Departs:|is ours|are ours", head)


def commands(name):
    """The indented lines of a head: commands, or parts of one."""
    head = scenario_text(name).partition("\n\n")[0].replace("\\\n#", "")
    return [shlex.split(line) for line in re.findall(r"^#     (.*)$", head, re.MULTILINE)]


@pytest.mark.parametrize("name", [name for name in EVALUATED if commands(name)])
def test_what_a_head_proposes_can_be_done(name):
    for words in commands(name):
        if words[0] == "vermilion":
            assert words[1] in {"run", "compare"}
            assert words[2] == name
        settings = [value for key, value in pairwise(words) if key == "--set"]
        assert settings
        variants, _ = make_variants(name, (), settings)
        for scenario in variants.values():
            assert scenario.notes == []


@pytest.mark.parametrize("name", scenario_names())
def test_a_run_keeps_the_laws(name):
    scenario = load_scenario(name)
    if name in SHORTENED:
        duration, warm_up = SHORTENED[name]
        scenario = scenario.with_values({"duration": duration, "warm_up": warm_up})
    result = vermilion.run(scenario, seed=3)
    for link in result.links:
        metrics = result.link(link)
        total, ledger = metrics.total, result.data["links"][link]["ledger"]
        left = total["packets_forwarded"] + total["drops"]
        stayed = total["queued_at_end"] - total["queued_at_start"]
        assert total["arrivals"] == left + stayed
        assert 0 < total["utilization"] <= 1
        assert ledger["backlog_packet_s"] == pytest.approx(ledger["sojourn_packet_s"], rel=1e-9)
    for group in result.data["flows"].values():
        assert group["total"]["goodput_bit_per_s"]["total"] > 0


def test_a_scenario_is_told_in_a_line():
    for name, title, description in scenario_summaries():
        assert len(name) <= 40
        assert len(title) <= 60
        assert len(description) <= 90
        assert "\n" not in title + description


def test_the_page_about_the_library_names_every_scenario_and_no_other():
    page = (ROOT / "docs" / "scenario-library.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9/-]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == scenario_names()


# --- RFC 7928 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ONE_PATH)
def test_the_path_is_that_of_the_suite(name):
    document = load_scenario(name).document
    link = document["links"]["bottleneck"]
    assert link["rate"] == "1 Mbit/s"
    assert link["queue"] == {"discipline": "drop-tail", "limit": "45 packets"}
    round_trips = {group["rtt"] for group in document["flows"].values() if "rtt" in group}
    assert round_trips <= {"100 ms", "20 ms"}
    for group in document["flows"].values():
        # 698 bytes of data, and the headers of IP with TCP (timestamps) or with UDP.
        size, header = (
            int(group[key].removesuffix(" bytes")) for key in ("packet_size", "header_size")
        )
        assert size - header == 698
        assert header == (52 if "sender" in group else 28)
        assert group["access_rate"] == "10 Mbit/s"


@pytest.mark.parametrize(
    ("level", "constant", "loss"),
    [("mild", 0.036, 0.001), ("medium", 0.081, 0.005), ("heavy", 0.114, 0.01)],
)
def test_the_number_of_flows_follows_from_the_level_of_congestion(level, constant, loss):
    scenario = load_scenario(f"rfc7928-stability-{level}")
    on_the_path = round(1e6 * 0.1 / (8 * 750))
    assert on_the_path == 17
    assert scenario.flows["tcp"].count == int(constant * (on_the_path + 45))
    # The constants are those of the square-root law with an acknowledgement for every second
    # segment, so the losses must be near the nominal ones.
    assert constant == pytest.approx(sqrt(loss / 0.76), abs=1e-3)
    drop_rate = vermilion.run(scenario, seed=1).link("bottleneck").total["drop_rate"]
    assert loss / 1.6 < drop_rate < loss * 1.6


def test_varying_congestion_goes_through_its_levels_twice():
    result = vermilion.run(load_scenario("rfc7928-varying-congestion"), seed=1)
    phases = result.link("bottleneck").phases
    assert [(phase["start_s"], phase["end_s"]) for phase in phases] == [
        (5.0, 20.0),
        *((20.0 * k + 2.0, 20.0 * k + 20.0) for k in range(1, 6)),
    ]
    groups = result.data["flows"].values()
    there = [sum(group["phases"][number]["flows"] for group in groups) for number in range(6)]
    assert there == [2, 5, 7, 2, 5, 7]


def test_capacity_varies_between_100_and_10_megabits():
    scenario = load_scenario("rfc7928-varying-capacity")
    ten, hundred = 10e6, 100e6
    assert [change.rate for change in scenario.changes] == [ten, hundred, ten, hundred, ten]
    assert [change.at for change in scenario.changes] == [20, 40, 60, 80, 100]
    # By turns: the link could have sent 55 Mbit/s on average.
    fast = vermilion.run(load_scenario("rfc7928-varying-capacity-fast"), seed=1)
    total = fast.link("bottleneck").total
    bits = total["packets_forwarded"] * 750 * 8
    assert bits / (total["utilization"] * 290) == pytest.approx(55e6, rel=1e-3)


def test_a_source_ten_times_too_fast_loses_nine_of_ten_packets():
    total = vermilion.run(load_scenario("rfc7928-unresponsive"), seed=1).link("bottleneck").total
    assert total["drop_rate"] == pytest.approx(0.9, abs=1e-4)
    assert total["utilization"] == pytest.approx(1, abs=1e-4)


def test_the_shorter_round_trip_gets_more_and_equal_ones_get_the_same():
    def ratio(round_trip):
        scenario = load_scenario(
            "rfc7928-rtt-fairness",
            [f"flows.other.rtt={round_trip}", 'links.bottleneck.queue={ discipline = "red" }'],
        )
        total = [0.0, 0.0]
        for seed in (1, 2, 3, 4):
            flows = vermilion.run(scenario, seed=seed).data["flows"]
            for place, group in enumerate(("other", "reference")):
                total[place] += flows[group]["total"]["goodput_bit_per_s"]["total"]
        return total[0] / total[1]

    assert ratio("20 ms") > 1.3
    assert ratio("100 ms") == pytest.approx(1, abs=0.1)
    assert ratio("500 ms") < 1 / 1.3


def test_whoever_crosses_two_queues_gets_less():
    scenario = load_scenario("rfc7928-multiple-aqm")
    flows = vermilion.run(scenario, seed=1).data["flows"]
    through, first, second = (
        flows[group]["total"]["goodput_bit_per_s"]["total"]
        for group in ("through", "first-only", "second-only")
    )
    assert through < first
    assert through < second


def less_than_best_effort(*settings):
    """Goodputs of NewReno and LEDBAT (bit/s), and the mean waiting time (ms), over four seeds."""
    scenario = load_scenario("rfc7928-less-than-best-effort", settings)
    runs = vermilion.run_many([scenario], range(1, 5))[0]

    def goodput(group):
        return fmean(
            run.data["flows"][group]["total"]["goodput_bit_per_s"]["total"] for run in runs
        )

    waits = [run.link("bottleneck").total["sojourn_ms"]["mean"] for run in runs]
    return goodput("friendly"), goodput("background"), fmean(waits)


def test_ledbat_keeps_its_target_alone_and_gives_way_until_a_discipline_hides_the_queue():
    # Alone (the other flow begins when all is over) it fills the link with 100 ms of queue.
    _, background, wait = less_than_best_effort('flows.friendly.start="299.9 s"')
    assert background == pytest.approx(1e6 * 698 / 750, rel=1e-3)
    assert wait == pytest.approx(100, rel=0.05)
    # Beside NewReno, which fills a buffer of 270 ms, it is next to nothing; CoDel keeps the queue
    # below its target, and it is a NewReno like the other.
    friendly, background, wait = less_than_best_effort()
    assert wait > 100
    assert background < 0.1 * friendly
    friendly, background, wait = less_than_best_effort(
        'links.bottleneck.queue={ discipline = "codel" }'
    )
    assert wait < 100
    assert background > 0.7 * friendly


def test_bursts_are_of_the_size_that_is_said():
    result = vermilion.run(load_scenario("rfc7928-burst-absorption"), seed=1).data["flows"]
    assert result["video"]["total"]["goodput_bit_per_s"]["total"] == pytest.approx(2e6, rel=0.02)
    assert result["constant"]["total"]["goodput_bit_per_s"]["total"] == pytest.approx(1e6, rel=0.02)
    # 1450 transfers of exponential size: 1/sqrt(1450) for the sizes, and as much for their number.
    assert result["web"]["total"]["goodput_bit_per_s"]["total"] == pytest.approx(
        1.46e6, rel=3 * sqrt(2 / 1450)
    )


# --- Common TCP Evaluation Suite ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "central_ms"),
    [
        ("tcpeval-access-link", 2),
        ("tcpeval-trans-oceanic", 65),
        ("tcpeval-satellite", 300),
        ("tcpeval-dial-up", 5),
        ("tcpeval-wireless-lan", 2),
    ],
)
def test_the_nine_round_trips_follow_from_the_edge_delays(name, central_ms):
    trips = sorted(2 * (left + central_ms + right) for left in (0, 12, 25) for right in (2, 37, 75))
    for group in load_scenario(name).document["flows"].values():
        assert sorted(seconds(trip) * 1e3 for trip in group["rtt"]) == pytest.approx(trips)
        assert group["count"] % 9 == 0


def test_the_data_center_has_short_edges_and_long_ones():
    trips = sorted(2 * (left + right) for left in (10, 10, 100) for right in (10, 100, 100))
    for group in load_scenario("tcpeval-data-center").document["flows"].values():
        assert sorted(seconds(trip) * 1e6 for trip in group["rtt"]) == pytest.approx(trips)


@pytest.mark.parametrize(
    ("name", "link", "buffer_s"),
    [
        ("tcpeval-access-link", "down", 0.1),
        ("tcpeval-data-center", "down", 0.01),
        ("tcpeval-trans-oceanic", "down", 0.1),
        ("tcpeval-satellite", "down", 0.1),
        ("tcpeval-satellite", "up", 1.0),
        ("tcpeval-dial-up", "down", 1.25),
        ("tcpeval-ramp-up", "down", 0.08),
        ("tcpeval-impact", "down", 0.08),
    ],
)
def test_a_buffer_holds_its_time_to_the_nearest_packet(name, link, buffer_s):
    table = load_scenario(name).links[link]
    packets = round(buffer_s * table.rate / (1500 * 8))
    assert table.queue.parameters["limit"] == packets


@pytest.mark.parametrize("name", sorted(LOADED))
def test_transfers_offer_the_load(name):
    link, load, rate = LOADED[name]
    scenario = load_scenario(name)
    assert scenario.links[link].rate == rate
    assert data_rate(scenario.document, link) / rate == pytest.approx(load, rel=1e-3)
    # Nine connections of ten have large packets.
    counts = {1500: 0, 536: 0}
    for group in scenario.document["flows"].values():
        if group.get("traffic", {}).get("kind") == "web":
            counts[int(group["packet_size"].removesuffix(" bytes"))] += group["count"]
    assert counts[1500] == 9 * counts[536]


@pytest.mark.parametrize("name", [name for name in LOADED if LOADED[name][1] == 0.85])
def test_the_gaps_in_the_head_are_those_of_the_three_loads(name):
    link, _, rate = LOADED[name]
    gaps = re.findall(r"mean_gap=([\d.]+ m?s)'", scenario_text(name))
    assert len(gaps) == 3
    for gap, load in zip(gaps, (0.6, 0.85, 1.1), strict=True):
        scenario = load_scenario(name, [f"flows.*.traffic.mean_gap={gap}"])
        assert data_rate(scenario.document, link) / rate == pytest.approx(load, rel=1e-3)


def test_the_load_arrives_where_nothing_holds_it_up():
    settings = ["links.*.rate=1 Gbit/s", "duration=50 s", "warm_up=10 s"]
    scenario = load_scenario("tcpeval-access-link", settings)
    seeds = range(1, 6)
    delivered = 0.0
    for result in vermilion.run_many([scenario], seeds)[0]:
        total = result.link("down").total
        assert total["drops"] == 0
        flows = result.data["flows"]
        delivered += sum(
            flows[group]["total"]["goodput_bit_per_s"]["total"]
            for group in ("down-large", "down-small")
        )
    # What is drawn is a sum of a Poisson number of sizes: its relative error is that of the root
    # of the sizes' second moment.
    number = 0.85 * 100e6 * 40 * len(seeds) / (8 * bounded_pareto_moment(1, 3e3, 3e6, 1.2))
    spread = sqrt(bounded_pareto_moment(2, 3e3, 3e6, 1.2)) / bounded_pareto_moment(1, 3e3, 3e6, 1.2)
    error = spread / sqrt(number)
    assert 3 * error < 0.05
    assert delivered / len(seeds) / 100e6 == pytest.approx(0.85, rel=3 * error)


def test_the_camps_are_offered_the_same_transfers_in_the_baseline_and_in_the_mix():
    short = ["duration=60 s", "warm_up=10 s"]
    begun = [
        {
            name: group["total"]["transfers_begun"]
            for name, group in vermilion.run(
                load_scenario("tcpeval-impact", [*short, f"flows.b-*.sender={sender}"]), seed=1
            )
            .data["flows"]
            .items()
        }
        for sender in ("sack", "cubic")
    ]
    assert begun[0] == begun[1]


def test_the_transfer_of_the_ramp_up_is_measured():
    flows = vermilion.run(load_scenario("tcpeval-ramp-up"), seed=1).data["flows"]
    assert flows["arriving"]["total"]["completion_time_s"]["count"] == 1


def test_without_slow_start_the_ramp_up_takes_as_many_round_trips_as_the_window_grows_by():
    # 1.5 MB are 1028 segments of 1460 bytes; windows of 2, 3, 4, ... bring them in 44 round trips
    # of 80 ms, besides that of the handshake. With slow start: 2, 4, 8, ...: 10. Nothing queues,
    # and a window of acknowledgements adds a whole segment.
    def completion(sender):
        settings = [
            "links.*.rate=1 Gbit/s",
            'flows.existing.start="149 s"',
            f"flows.arriving.sender={sender}",
            "duration=150 s",
        ]
        run = vermilion.run(load_scenario("tcpeval-ramp-up", settings), seed=1)
        return run.data["flows"]["arriving"]["total"]["completion_time_s"]["mean"]

    sack = 'congestion_control = "sack", byte_counting = true'
    without = f'{{ {sack}, initial_slow_start_threshold = "2 packets" }}'
    assert sum(range(2, 46)) >= 1028 > sum(range(2, 45))
    assert completion(without) == pytest.approx((1 + 44 - 0.5) * 0.08, rel=0.05)
    assert completion(f"{{ {sack} }}") < 0.3 * completion(without)


@pytest.mark.parametrize("kind", ["release", "arrival", "gradual-arrival"])
def test_a_transient_is_of_75_megabits(kind):
    scenario = load_scenario(f"tcpeval-transient-{kind}")
    bottleneck = scenario.links["bottleneck"]
    assert (bottleneck.rate, bottleneck.queue.parameters["limit"]) == (100e6, 1024)
    cross = scenario.document["flows"]["cross"]
    rate = float(cross["traffic"]["rate"].removesuffix(" Mbit/s"))
    assert cross.get("count", 1) * rate == 75
    phases = vermilion.run(scenario, seed=1).link("bottleneck").phases
    assert 60.0 in [phase["start_s"] for phase in phases]


def test_each_hop_of_the_parking_lot_is_shared_by_two():
    scenario = load_scenario("tcpeval-multiple-bottlenecks")
    for group in scenario.document["flows"].values():
        assert group["rtt"] == "60 ms"
    for link in scenario.links:
        users = {name.rpartition("-")[0] for name, g in scenario.flows.items() if link in g.path}
        assert users == {"through", f"only-{link}"}
