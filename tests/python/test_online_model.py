"""Models made from observation alone."""

import json
import math

import numpy as np
import pytest

from vermilion.objectives.knee import Knee
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.online.model.network import build_model, search_space
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.senders import SenderModel
from vermilion.online.model.traffic import (
    Horizon,
    TooLittleIsKnown,
    Traffic,
    horizon_for,
    least_queue_packets,
)
from vermilion.online.plan.problem import first_guesses
from vermilion.online.plan.task import AnswerMemory
from vermilion.online.policy import Policy, marks_alone, stated_policy
from vermilion.online.sense.traffic_estimate import TrafficEstimate
from vermilion.routers.base import LinkConfiguration
from vermilion.scenario import ScenarioError, disciplines, load_scenario
from vermilion.simulate import run_many

CONFIGURATION = LinkConfiguration("bottleneck", "red", 0.010)
POLICY = stated_policy(load_scenario("varying-load"))
IN_FORCE = {name: row.default for name, row in disciplines()["red"].parameters.items()} | {
    "min_threshold": 15.0,
    "max_threshold": 45.0,
}
FAR = QueueDeviation("bottleneck", 300.0)
HORIZON = Horizon(warm_up_s=3.0, measured_s=5.0)


def picture(**changes):
    known = {
        "time_s": 10.0,
        "flows": 16,
        "base_rtts_s": (0.028,) * 10 + (0.180,) * 6,
        "rate_bit_per_s": 10e6,
        "packet_bytes": 1000.0,
        "marked_share": None,
    }
    return TrafficEstimate(**(known | changes))


def traffic(**changes):
    return Traffic.of_picture(picture(**changes), POLICY)


def model(seen, policy=POLICY, kind=None):
    return build_model(
        CONFIGURATION, IN_FORCE, seen, kind or SenderModel("newreno"), policy, HORIZON
    )


def test_a_model_has_the_observed_flows_rate_and_packet_size():
    core = json.loads(model(traffic()).core_json())
    assert [(f["count"], f["rtt_ns"]) for f in core["flows"]] == [
        (10, 28_000_000),
        (6, 180_000_000),
    ]
    assert core["links"][0]["rate_bit_per_s"] == 10_000_000
    assert {f["packet_size_bytes"] for f in core["flows"]} == {1000}
    assert core["changes"] == []


def test_a_model_has_the_parameters_in_force_not_those_of_any_scenario():
    core = json.loads(model(traffic()).core_json())
    in_force = core["links"][0]["queue"]["parameters"]
    assert in_force["min_threshold"] == 15.0
    assert in_force["limit"] == IN_FORCE["limit"]


def test_no_round_trip_is_below_the_links_own_delay():
    core = json.loads(model(traffic(base_rtts_s=(0.002,) * 16)).core_json())
    assert core["flows"][0]["rtt_ns"] == 10_000_000


def test_the_share_of_marks_decides_how_many_flows_understand_them():
    def capable(share):
        flows = json.loads(model(traffic(marked_share=share)).core_json())["flows"]
        return sum(f["count"] for f in flows if f["sender"]["parameters"].get("ecn"))

    assert [capable(share) for share in (None, 0.05, 0.5, 1.0)] == [0, 0, 8, 16]


@pytest.mark.parametrize(
    ("marked", "flows"),
    # A queue that has not marked lately treats all alike. One that drops nearly everything
    # beyond its maximum threshold has capable flows all the same. Who starves sends little.
    [(None, 0), (0.0, 0), (0.02, 4), (0.25, 4), (0.5, 8), (1.0, 16)],
)
def test_flows_seen_to_be_capable_are_counted_where_a_queue_marks(marked, flows):
    seen = traffic(marked_share=marked, ecn_capable_share=0.25)
    groups = json.loads(model(seen).core_json())["flows"]
    capable = sum(each["count"] for each in groups if each["sender"]["parameters"].get("ecn"))
    assert capable == flows


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"flows": 0}, "no flow is active"),
        ({"rate_bit_per_s": None}, "not been busy long enough"),
        ({"base_rtts_s": ()}, "no round trip has been sampled"),
    ],
)
def test_too_little_knowledge_is_named(changes, words):
    with pytest.raises(TooLittleIsKnown, match=words):
        traffic(**changes)


def test_a_fast_link_is_simulated_for_a_shorter_time_but_not_for_none():
    slow = horizon_for(traffic(), 1.0, 1e7)
    fast = horizon_for(traffic(rate_bit_per_s=1e9), 1.0, 1e7)
    assert slow.measured_s >= 10.0
    assert 2.0 <= fast.measured_s < slow.measured_s


def test_a_larger_target_is_searched_in_a_larger_box():
    far = Policy("bottleneck", FAR, POLICY.parameters, POLICY.constraints)
    path = "links.bottleneck.queue.max_threshold"
    assert model(traffic(), far).tuning.space[path][1] == "1000.0 packets"


def test_the_operators_own_box_comes_first():
    path = "links.bottleneck.queue.max_threshold"
    own = Policy("bottleneck", FAR, POLICY.parameters, None, {path: ["20 packets", "60 packets"]})
    assert model(traffic(), own).tuning.space[path] == ["20 packets", "60 packets"]


def test_first_guesses_keep_the_order_of_the_thresholds():
    for guess in first_guesses("red", POLICY.parameters, traffic(), 30.0):
        assert 0 < guess["min_threshold"] < guess["max_threshold"]
        assert 0 < guess["weight"] <= 0.1


@pytest.mark.parametrize("flows", [8, 16, 32])
def test_a_ramp_through_the_target_holds_it_and_starves_nobody(flows):
    """The last guesses; the first is a wall, which does harm to 32 NewReno flows."""
    seen = traffic(flows=flows, base_rtts_s=(0.028,) * flows)
    wall, *_, ramp = first_guesses("red", POLICY.parameters, seen, 30.0)
    ends = {}
    for name, guess in (("wall", wall), ("ramp", ramp)):
        held = build_model(
            CONFIGURATION, IN_FORCE | guess, seen, SenderModel("newreno"), POLICY, Horizon(5, 10)
        )
        [row] = run_many([held], range(1, 9))
        queue = np.mean([each.link("bottleneck").total["queue_packets"]["mean"] for each in row])
        jain = np.mean([each.flows("class-1").total["jain_index"] for each in row])
        ends[name] = queue, jain
    assert ends["ramp"][0] == pytest.approx(30.0, abs=3.0)
    assert ends["ramp"][1] > 0.94
    assert ends["ramp"][1] > ends["wall"][1] - 0.01


def test_newcomers_begin_where_the_warm_up_ends_and_are_measured_once_they_are_there():
    seen = traffic(flows=17, base_rtts_s=(0.028,) * 12 + (0.18,) * 5)
    kind, horizon = SenderModel("newreno"), Horizon(5.0, 10.0)
    joined = build_model(CONFIGURATION, IN_FORCE, seen, kind, POLICY, horizon, 0.5)
    late = {name: each for name, each in joined.flows.items() if name.endswith("-joining")}
    assert sum(each.count for each in joined.flows.values()) == 17
    assert sum(each.count for each in late.values()) == 9
    [result] = run_many([joined], [1])[0]
    [window] = result.flows("class-1-joining").phases
    assert (window["start_s"], window["end_s"]) == (7.0, 15.0)
    assert window["flows"] == late["class-1-joining"].count


def test_of_flows_that_come_and_go_as_many_do_so_while_the_model_is_measured():
    seen = traffic(flows=17, base_rtts_s=(0.028,) * 12 + (0.18,) * 5)
    kind, horizon = SenderModel("newreno"), Horizon(5.0, 10.0)
    changing = build_model(
        CONFIGURATION, IN_FORCE, seen, kind, POLICY, horizon, turnover=(0.02, 0.01)
    )
    counts = {name: each.count for name, each in changing.flows.items()}
    there = sum(count for name, count in counts.items() if not name.endswith("-coming"))
    assert there == 17
    assert sum(count for name, count in counts.items() if name.endswith("-coming")) == 3
    assert sum(count for name, count in counts.items() if name.endswith("-going")) == 2
    assert changing.flows["class-1-coming"].start == (5.0, 14.5)
    assert changing.flows["class-1-going"].stop == (5.0, 14.5)
    [result] = run_many([changing], [1])[0]
    [window] = result.flows("class-1").phases
    assert (window["start_s"], window["end_s"]) == (5.6, 14.5)


def test_linux_gets_the_same_guesses_in_its_own_words():
    """Thresholds in bytes, of packets of 1000 bytes, and the weight as the n of 2^-n."""
    known = first_guesses("red", POLICY.parameters, traffic(), 30.0)
    names = ("min_threshold", "max_threshold", "max_probability", "weight_log")
    linux = first_guesses("linux-red", names, traffic(), 30.0)
    assert len(linux) == len(known)
    for mine, other in zip(linux, known, strict=True):
        assert mine["min_threshold"] == pytest.approx(1000.0 * other["min_threshold"])
        assert mine["max_threshold"] == pytest.approx(1000.0 * other["max_threshold"])
        assert mine["max_probability"] == other["max_probability"]
        assert mine["weight_log"].is_integer()
        assert 0.7 < 2.0 ** -mine["weight_log"] / other["weight"] < 1.42


def test_a_discipline_with_other_knobs_gets_no_guesses():
    assert first_guesses("pi", ("a", "b"), traffic(), 30.0) == []


def test_the_answer_for_the_most_similar_conditions_comes_first():
    memory = AnswerMemory()
    memory = memory.kept(picture(flows=64), {"weight": 0.1})
    memory = memory.kept(picture(flows=16), {"weight": 0.2})
    near, far = memory.similar(picture(flows=18), 0.024, most=2)
    assert near == (pytest.approx(math.log(18 / 16)), {"weight": 0.2})
    assert far == (pytest.approx(math.log(64 / 18)), {"weight": 0.1})


@pytest.mark.parametrize(
    ("override", "field"),
    [
        ("tuning.objective.target=0 packets", "tuning.objective.target"),
        (
            'tuning.constraints=["flows.early.jain_index >= 0.5"]',
            r"tuning.constraints.0.*flows\.\*",
        ),
        ('tuning.constraints=["flows.*.jain >= 0.5"]', "tuning.constraints.0.*a metric"),
        (
            'tuning.parameters=["links.bottleneck.queue.mean_packet_size"]',
            r"tuning\.parameters.*a box to search",
        ),
    ],
)
def test_a_policy_that_cannot_be_pursued_on_line_is_refused(override, field):
    with pytest.raises(ScenarioError, match=field):
        stated_policy(load_scenario("varying-load", [override]))


def test_flows_that_starve_are_seen_in_the_model():
    """Its groups are classes of round trips, which nobody can name beforehand: all flows count."""
    override = 'tuning.constraints=["flows.*.slowest_share >= 0.1"]'
    policy = stated_policy(load_scenario("varying-load", [override]))
    assert policy.constraints == ("flows.*.slowest_share >= 0.1",)


def flow_groups(seen, kind=None):
    return {
        group["name"]: group for group in json.loads(model(seen, kind=kind).core_json())["flows"]
    }


def test_what_is_unresponsive_has_a_group_that_never_listens():
    group = flow_groups(traffic(unresponsive_bit_per_s=3e6))["unresponsive"]
    assert group["sender"] is None
    assert group["count"] * group["traffic"]["rate_bit_per_s"] == 3_000_000
    assert "unresponsive" not in flow_groups(traffic())


def test_flows_have_the_sizes_of_packets_that_were_seen():
    near = {"base_rtts_s": (0.028,) * 16}
    groups = flow_groups(traffic(**near, packet_sizes=((100.0, 4), (1500.0, 12))))
    assert {(each["packet_size_bytes"], each["count"]) for each in groups.values()} == {
        (100, 4),
        (1500, 12),
    }


def test_senders_of_two_kinds_have_half_of_the_flows_each():
    mixed = SenderModel("newreno", beside=SenderModel("dctcp"))
    near = {"base_rtts_s": (0.028,) * 16}
    groups = flow_groups(traffic(**near, marked_share=0.5), mixed).values()
    found = {
        (each["sender"]["congestion_control"], each["sender"]["parameters"]["ecn"], each["count"])
        for each in groups
    }
    # Half of the flows understand marks, and DCTCP's are those.
    assert found == {("newreno", False, 8), ("dctcp", True, 8)}


def test_packets_of_two_sizes_keep_the_mean_that_was_seen():
    near = {"base_rtts_s": (0.028,) * 16}
    groups = flow_groups(traffic(**near), SenderModel("newreno", two_sizes=True)).values()
    sizes = [each["packet_size_bytes"] for each in groups]
    assert sum(sizes) / 2 == 1000
    assert max(sizes) == 3 * min(sizes)


def test_an_average_may_have_a_memory_of_a_tenth_of_a_second_on_a_fast_link():
    knee = Policy("bottleneck", Knee("bottleneck"), POLICY.parameters)
    path = "links.bottleneck.queue.weight"
    fast = model(traffic(rate_bit_per_s=1e10), knee).tuning.space[path]
    assert float(fast[0]) == pytest.approx(1 / (1.25e6 * 0.1))
    assert path not in model(traffic(), knee).tuning.space


def test_a_queue_that_is_read_seldom_strays_further_from_its_mean():
    """What is left of chance after a minute, in the mean of what was read, is what was said."""
    seen = build_model(
        CONFIGURATION, IN_FORCE, traffic(), SenderModel("newreno"), POLICY, Horizon(5.0, 60.0)
    )
    often, each_second, seldom = (
        queue_noise(seen, ["bottleneck"], range(3), interval_s) for interval_s in (0.1, 1.0, 4.0)
    )
    assert each_second > 1.3 * often
    assert seldom == pytest.approx(2.0 * each_second, rel=0.3)
    # Read less often than the model is long, it is one reading.
    assert queue_noise(seen, ["bottleneck"], range(3), 100.0) > seldom


@pytest.mark.parametrize(("rate", "shortest_s"), [(1e6, 0.008), (4e6, 0.002), (10e6, None)])
def test_no_target_is_shorter_than_a_packet_takes_to_send(rate, shortest_s):
    """Packets of 1000 bytes: 8 ms at 1 Mbit/s; at 10 the table's box begins above that anyway."""
    policy = Policy("bottleneck", Knee("bottleneck"), ("target", "alpha", "beta"))
    space = search_space("pie", policy, traffic(rate_bit_per_s=rate))
    if shortest_s is None:
        assert space == {}
        return
    (path, ends), *others = space.items()
    assert (path, others) == (policy.path("target"), [])
    table = disciplines()["pie"].parameters["target"]
    lower, upper = (table.parse(end) for end in ends)
    assert lower == pytest.approx(shortest_s)
    assert upper >= max(10 * lower, table.search[1])


def test_flows_that_are_marked_and_never_dropped_keep_two_packets_each_under_way():
    """Sixty-four of 28 ms: 128 packets, of which the round trip holds 35; a kernel has 91."""
    crowd = traffic(flows=64, base_rtts_s=(0.028,) * 64, marked_share=1.0)
    assert least_queue_packets(crowd) == pytest.approx(2 * 64 - 35, abs=0.01)
    # Half of them can be dropped, and may send nothing.
    half = traffic(flows=64, base_rtts_s=(0.028,) * 64, marked_share=0.5)
    assert least_queue_packets(half) == pytest.approx(2 * 32 - 35, abs=0.01)
    # With two round trips the wait is the one at which all of them together fill the link.
    mixed = traffic(flows=40, base_rtts_s=(0.010,) * 20 + (0.060,) * 20, marked_share=1.0)
    wait_s = least_queue_packets(mixed) / mixed.packets_per_s
    assert 40 / (0.010 + wait_s) + 40 / (0.060 + wait_s) == pytest.approx(1250.0, rel=1e-3)
    few = traffic(flows=16, base_rtts_s=(0.028,) * 16, marked_share=1.0)
    assert least_queue_packets(few) == 0.0
    nobody = traffic(flows=64, base_rtts_s=(0.028,) * 64, marked_share=0.0)
    assert least_queue_packets(nobody) == 0.0


def test_a_queue_that_drops_somewhere_or_marks_nowhere_is_not_bound_by_marks():
    assert marks_alone({"ecn": True, "drop_above_maximum": False})
    assert not marks_alone({"ecn": True, "drop_above_maximum": True})
    assert not marks_alone({"ecn": False, "drop_above_maximum": False})
    assert not marks_alone({"ecn": True})
