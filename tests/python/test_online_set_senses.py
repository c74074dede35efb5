"""What several queues tell together, that none of them can know alone."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from online_set_world import LINKS, SetWorld
from vermilion.objectives import Constraint, objective_from_table
from vermilion.objectives.goodput_variation import GoodputVariation
from vermilion.objectives.jain_index import JainIndex
from vermilion.objectives.slowest_flow import SlowestFlow
from vermilion.online.decide.detection import Fluctuation, watch_of
from vermilion.online.model.network import UNRESPONSIVE, build_model, searched
from vermilion.online.model.senders import SenderModel
from vermilion.online.model.traffic import Horizon, TooLittleIsKnown, Traffic
from vermilion.online.plan.task import condition_distance
from vermilion.online.policy import Policy, tuned_links
from vermilion.online.sense.senses import Senses, flows_on_paths, seen_paths
from vermilion.online.sense.stretch import Stretch
from vermilion.online.sense.traffic_estimate import PathTraffic
from vermilion.routers.base import LinkConfiguration
from vermilion.routers.simulated import SimulatedNetwork
from vermilion.scenario import load_scenario
from vermilion.simulate import run

FOUR = load_scenario("four-red-queues")
NAMES = tuned_links(FOUR)
POLICY = Policy.of_scenario(FOUR, several=NAMES)
CONFIGURATION = LinkConfiguration(
    "+".join(NAMES), "red", 0.0, tuple(LinkConfiguration(link, "red", 0.005) for link in NAMES)
)


def sensed(world, until_s, senses=None, begin_s=0.0):
    """The senses after so many seconds."""
    senses = senses or Senses.begin(LINKS)
    for tick in range(round(10 * begin_s) + 1, round(10 * until_s) + 1):
        senses, _ = senses.after(world.observe(tick / 10).observation)
    return senses


@pytest.fixture(scope="module")
def four():
    """The senses of four simulated queues after 12 s, and the network."""
    network = SimulatedNetwork(FOUR.core(), NAMES, seed=1)
    senses = Senses.begin(NAMES)
    for tick in range(1, 121):
        network.wait(tick / 10)
        senses, _ = senses.after(network.observe())
    return senses


# --- paths ---------------------------------------------------------------------------------------


def test_flows_are_told_apart_by_the_queues_that_they_cross():
    at = {
        "a": np.array([1, 2, 3]),
        "b": np.array([2, 3, 4]),
        "c": np.array([3, 9]),
    }
    found = {path: flows.tolist() for path, flows in seen_paths(at, ()).items()}
    assert found == {
        ("a", "b", "c"): [3],
        ("a", "b"): [2],
        ("a",): [1],
        ("b",): [4],
        ("c",): [9],
    }
    ordered = seen_paths(at, [("b", "a"), ("c", "b")])
    assert ("b", "a") in ordered
    assert ("a", "b") not in ordered
    assert seen_paths({"a": np.array([], np.int64)}, ()) == {}


def test_counts_alone_put_flows_where_the_operator_says_that_they_go():
    assert flows_on_paths({"a": 10.0, "b": 4.0}, ()) == pytest.approx(
        {("a",): 10, ("b",): 4}, rel=0.01
    )
    found = flows_on_paths({"a": 16.0, "b": 16.0}, [("a", "b"), ("a",), ("b",)])
    for link in "ab":
        assert sum(n for path, n in found.items() if link in path) == pytest.approx(16.0, rel=0.02)
    # Nothing tells how many go through; the even answer is a third of the unknown each way.
    assert min(found.values()) > 2.0
    # A queue on no path has flows of its own.
    assert flows_on_paths({"a": 5.0, "b": 3.0}, [("a",)])[("b",)] == pytest.approx(3.0, rel=0.01)


def test_a_simulated_network_shows_its_paths_and_round_trips(four):
    picture = four.picture()
    assert {path.links: path.flows for path in picture.paths} == {
        tuple(NAMES): 8,
        **{(link,): 8 for link in NAMES},
    }
    truth = {tuple(NAMES): 0.048} | {(link,): 0.018 for link in NAMES}
    for path in picture.paths:
        mean = sum(path.base_rtts_s) / len(path.base_rtts_s)
        assert mean == pytest.approx(truth[path.links], rel=0.2)
    for link, part in picture.queues:
        assert part.rate_bit_per_s == pytest.approx(10e6, rel=0.02)
        assert part.flows == 16, link
    assert picture.flows == 40
    assert "order of queues along a path is not seen" in picture.describe()


def test_a_path_that_the_operator_knows_is_no_guess():
    world = SetWorld()
    picture = sensed(world, 3.0, Senses.begin(LINKS, [("far", "near")])).picture()
    assert picture.paths[0].links == ("far", "near")
    assert picture.unknown == ()


def test_without_monitors_it_is_said_that_paths_are_not_known():
    world = SetWorld(monitor=False)
    world.near.drops = world.far.drops = 3
    picture = sensed(world, 8.0).picture()
    assert picture.knowledge == "counters"
    assert {path.links for path in picture.paths} == {("near",), ("far",)}
    assert "do not tell which flows cross several queues" in picture.describe()
    configured = sensed(world, 8.0, Senses.begin(LINKS, [LINKS])).picture()
    assert LINKS in {path.links for path in configured.paths}
    assert "do not tell how many flows take which path" in configured.describe()


def test_a_flow_that_is_only_seen_on_the_way_goes_all_the_way():
    """One without a round trip counts with those whose path holds its own."""
    from vermilion.online.sense.senses import _with_round_trips

    whole = PathTraffic(("near", "far"), 8, (0.05,), 1000.0)
    begun = PathTraffic(("near",), 2, (), 1000.0)
    lost = PathTraffic(("elsewhere",), 3, (), 1000.0)
    assert _with_round_trips([whole, begun, lost]) == ([replace(whole, flows=10)], 3)


# --- what was measured ---------------------------------------------------------------------------


def test_goodputs_are_what_left_the_last_queue_of_each_path(four):
    """The same as the simulation itself measures over the same seconds."""
    stretch = four.stretch(6.0)
    truth = run(FOUR.with_values({"duration": "12 s", "warm_up": "6 s"}), seed=1)
    wanted = GoodputVariation(over="total").measure(truth)
    measured = stretch.goodput.mean(axis=0)
    assert len(measured) == 40
    assert measured.std() / measured.mean() == pytest.approx(wanted, rel=0.03)
    for link in NAMES:
        bound = Constraint.parse(f"links.{link}.utilization >= 0.9")
        assert stretch.bounded(bound).mean == pytest.approx(
            truth.link(link).total["utilization"], abs=0.01
        )


def test_the_jackknife_covers_the_truth_as_often_as_it_says():
    """Flows with known means: the share of 99 % intervals that hold the true variation."""
    coins = random.Random(3)
    means = np.array([1.0] * 12 + [0.4] * 4)
    truth = float(means.std() / means.mean())
    held, centre = 0, []
    for _ in range(300):
        rows = np.array([[coins.gauss(m, 0.3 * m) for m in means] for _ in range(6)])
        found = Stretch((), rows).objective(GoodputVariation())
        held += found.low <= truth <= found.high
        centre.append(found.mean)
    assert held >= 285
    assert np.mean(centre) == pytest.approx(truth, rel=0.02)


def test_fairness_needs_somebody_who_looks_at_packets():
    world = SetWorld(monitor=False)
    stretch = sensed(world, 6.0).stretch(1.0)
    assert stretch.objective(GoodputVariation()) is None
    assert stretch.bounded(Constraint.parse("flows.*.jain_index >= 0.5")) is None
    assert stretch.bounded(Constraint.parse("links.near.drop_rate <= 0.5")) is not None


def test_starved_flows_are_counted_over_all_queues():
    world = SetWorld()
    senses = sensed(world, 2.0)
    world.share = 0.0
    senses = sensed(world, 12.0, senses, 2.0)
    assert senses.open_flows == 24
    assert senses.starved_since(2.0) == 8
    assert senses.starved_since(-5.0) is None
    assert sensed(SetWorld(), 6.0).starved_since(2.0) == 0
    assert sensed(SetWorld(monitor=False), 6.0).starved_since(2.0) is None


def test_each_link_is_judged_by_its_own_counters():
    world = SetWorld()
    world.near.in_force["level"] = 10.0
    stretch = sensed(world, 8.0).stretch(1.0)
    near, far = (
        Constraint.parse(f"links.{link}.queue_packets.mean <= 20 packets") for link in LINKS
    )
    assert stretch.bounded(near).mean == pytest.approx(10.0, abs=1.0)
    assert stretch.bounded(far).mean == pytest.approx(45.0, abs=1.0)
    assert stretch.queue.mean == pytest.approx(55.0, abs=1.5)
    jain = Constraint.parse("flows.*.jain_index >= 0.5")
    assert stretch.bounded(jain).mean == pytest.approx(
        (16 + 8 * 0.5) ** 2 / (24 * (16 + 8 * 0.25)), abs=0.01
    )


def test_a_sum_over_links_is_measured_where_its_parts_have_scales():
    scenario = FOUR.with_values({})
    parts = [
        {"weight": 1, "scale": 10.0, "name": "mean-sojourn", "link": link}
        for link in ("first", "second")
    ]
    objective = objective_from_table({"name": "weighted-sum", "parts": parts}, scenario)
    without = objective_from_table(
        {"name": "weighted-sum", "parts": [{"weight": 1, "name": "mean-sojourn", "link": "first"}]},
        scenario,
    )
    senses = Senses.begin(("first", "second"))
    world = SetWorld()
    for tick in range(1, 60):
        seen = world.observe(tick / 10).observation
        queues = dict(zip(("first", "second"), seen.queues.values(), strict=True))
        senses, _ = senses.after(replace(seen, queues=queues))
    stretch = senses.stretch(0.0)
    each = [
        stretch.queues[link].interval(lambda b: b.waiting_ms.mean()).mean
        for link in ("first", "second")
    ]
    assert stretch.objective(objective).mean == pytest.approx(sum(each) / 10.0, rel=0.01)
    assert stretch.objective(without) is None
    assert stretch.objective(SlowestFlow()) is None
    assert stretch.objective(JainIndex()).mean == pytest.approx(0.926, abs=0.01)


# --- changes -------------------------------------------------------------------------------------


def test_what_one_queue_notices_concerns_all():
    world = SetWorld()
    senses = sensed(world, 4.0)
    watch = watch_of(senses.picture(), 0.01)
    assert [link for link, _ in watch.queues] == list(LINKS)
    world.far.flows = 16
    alarm = None
    for tick in range(41, 60):
        senses, _ = senses.after(world.observe(tick / 10).observation)
        watch, alarm = watch.after(senses.picture())
        if alarm is not None:
            break
    assert alarm.reason == "far: 16 flows have become 24"
    assert alarm.watcher == "flows"


def test_load_that_moves_from_one_queue_to_another_is_another_condition():
    before = sensed(SetWorld(), 4.0).picture()
    moved = SetWorld()
    moved.near.flows, moved.far.flows = 4, 12
    after = sensed(moved, 4.0).picture()
    assert before.flows == after.flows
    assert condition_distance(before, after, 0.01) > math.log(16 / 12) - 0.05
    assert condition_distance(before, before, 0.01) == 0.0
    fluctuating = Fluctuation(changes_s=(1.0, 2.0, 3.0, 4.0), met=(before,))
    assert fluctuating.spans(before)
    assert not fluctuating.spans(after)


def test_a_queue_without_a_sample_leaves_the_set_without_one():
    world = SetWorld()
    senses = sensed(world, 2.0)
    seen = world.observe(2.1).observation
    stale = replace(seen.queues["far"], reading=senses.parts["far"].reading)
    after, sample = senses.after(replace(seen, queues={**seen.queues, "far": stale}))
    assert sample is None
    _, sample = after.after(world.observe(2.2).observation)
    assert sample is not None


def test_one_link_that_is_cut_off_makes_the_others_tell_nothing():
    cut = SetWorld()
    senses = sensed(cut, 3.0)
    assert senses.link_state.kind == "busy"
    cut.far.packets = 0
    senses = sensed(cut, 8.0, senses, 3.0)
    assert senses.link_state.kind == "outage"
    assert "packets in the queue, and none has left" in senses.link_state.words


def test_one_link_at_which_packets_stand_may_be_the_beginning_of_an_outage():
    cut = SetWorld()
    senses = sensed(cut, 3.0)
    assert not senses.may_be_silent
    cut.far.packets = 0
    senses = sensed(cut, 3.2, senses, 3.0)
    assert senses.may_be_silent
    assert not senses.seems_silent
    senses = sensed(cut, 4.5, senses, 3.2)
    cut.far.packets = 60
    senses = sensed(cut, 6.0, senses, 4.5)
    assert not senses.may_be_silent
    assert senses.samples_since_silence(0.0)[0].time_s == pytest.approx(4.6)


def test_one_link_without_traffic_is_no_outage():
    world = SetWorld(through=0)
    world.far.flows = 0
    senses = sensed(world, 8.0)
    assert not senses.may_be_silent
    assert senses.parts["far"].watch.state.kind == "outage"  # there are flows, as far as it knows
    assert senses.link_state.kind == "busy"


# --- the model -----------------------------------------------------------------------------------


def model_of(picture, in_force=None):
    traffic = Traffic.of_picture(picture, POLICY)
    values = in_force or SimulatedNetwork(FOUR.core(), NAMES, 1).parameters()
    model = build_model(
        CONFIGURATION, values, traffic, SenderModel("newreno"), POLICY, Horizon(3.0, 5.0)
    )
    return traffic, model


def test_the_model_is_a_network_of_all_queues_and_their_paths(four):
    traffic, model = model_of(four.picture())
    assert list(model.links) == NAMES
    counts = {}
    for group in model.flows.values():
        counts[group.path] = counts.get(group.path, 0) + group.count
    assert counts == {tuple(NAMES): 8, **{(link,): 8 for link in NAMES}}
    assert set(model.tuning.parameters) == {POLICY.path(name) for name in POLICY.parameters}
    assert searched(POLICY, traffic) == POLICY.parameters
    assert not any(name.startswith(UNRESPONSIVE) for name in model.flows)


def test_a_link_that_was_never_busy_is_left_out_with_its_parameters(four):
    picture = four.picture()
    queues = tuple(
        (link, replace(part, rate_bit_per_s=None) if link == "third" else part)
        for link, part in picture.queues
    )
    traffic, model = model_of(replace(picture, queues=queues))
    assert "third" not in model.links
    assert not any(".third." in path for path in model.tuning.parameters)
    assert ("first", "second", "fourth") in {group.path for group in model.flows.values()}
    assert len(searched(POLICY, traffic)) == 12
    watch = watch_of(replace(picture, queues=queues), 0.01)
    _, alarm = watch.after(picture)
    assert alarm.reason == "the rate of third has become known"


def test_nothing_is_modelled_of_nothing(four):
    with pytest.raises(TooLittleIsKnown, match="no flow is active"):
        Traffic.of_picture(replace(four.picture(), paths=(), flows=0), POLICY)
