"""What a controller sees on networks that are not as its model has them."""

from dataclasses import replace

import numpy as np
import pytest

from online_world import LINK, PACKET_BYTES, POLICY, SIXTEEN_FLOWS, TICK_S, World
from vermilion.objectives import Constraint
from vermilion.online.decide.controller import Controller, Turn
from vermilion.online.decide.detection import Fluctuation
from vermilion.online.decide.entering import learn_bias, refine
from vermilion.online.decide.step import step
from vermilion.online.decide.verification import first_broken
from vermilion.online.entries import DecisionKind
from vermilion.online.events import Began, Record, Search
from vermilion.online.model.senders import WIDER, SenderBelief, SenderModel
from vermilion.online.policy import stated_policy
from vermilion.online.sense.link_state import WaitingPlace
from vermilion.online.sense.round_trips import BaseRoundTrips
from vermilion.online.sense.sampler import Sample
from vermilion.online.sense.senses import Senses
from vermilion.online.sense.stretch import Stretch
from vermilion.routers.base import FlowTraffic, LinkConfiguration, RttSamples
from vermilion.scenario import ScenarioError, scenario_from_document

STARVED = "flows.*.starved <= reference + 1"


def sample(time_s, packets, backlog=40, **more):
    """A tenth of a second."""
    return Sample(
        time_s=time_s,
        interval_s=0.1,
        backlog_before_packets=backlog,
        backlog_packets=backlog,
        backlog_bytes=PACKET_BYTES * backlog,
        packets=packets,
        bytes=PACKET_BYTES * packets,
        drops=0,
        marks=0,
        active_flows=16,
        heard_flows=16,
        rtt_samples=16,
        mean_rtt_s=0.05,
        **more,
    )


# --- newcomers ------------------------------------------------------------------------------


class Crowd(World):
    """Twenty-four flows join sixteen at 20 s; of them ``shut_out`` get one packet through."""

    shut_out = 0

    def _traffic(self, carrying):
        del carrying
        new = self.flows - 16
        numbers = np.arange(self.flows)
        packets = np.full(self.flows, max(1, self.packets // self.flows), dtype=np.int64)
        if new > 0:
            packets[16 : 16 + self.shut_out] = 0 if self.joined else 1
            self.joined = True
        return FlowTraffic(
            numbers, packets, PACKET_BYTES * packets, np.full(self.flows, fill_value=True)
        )


def crowded(shut_out, *, ours=True):
    """The decisions of a controller in front of such a crowd, whose own setting stands or not."""
    configuration = LinkConfiguration(LINK, "fake", 0.01)
    bounds = (Constraint.parse(STARVED),)
    policy = replace(POLICY, bounds=bounds, deadline_s=100.0)
    controller = Controller.of(policy, configuration, evaluations=1)
    world = Crowd(starving=0)
    world.shut_out, world.joined = shut_out, False
    controller, _ = step(controller, Began(dict(world.in_force)), 0.0)
    if ours:
        first = {**world.in_force, "level": 99.0}
        controller = controller.changed(original=first, budget=controller.budget.spent(0.0))
    said = []
    for tick in range(1, 301):
        now_s = round(tick * TICK_S, 6)
        world.flows = 40 if now_s > 20.0 else 16
        controller, effects = step(controller, world.observe(now_s), now_s)
        said += [each for each in effects if not isinstance(each, Search)]
    return controller, said


def test_newcomers_that_starve_are_answered_within_seven_seconds():
    controller, said = crowded(12)
    asked = [each for each in said if getattr(each, "takes_back", False)]
    assert asked[0].parameters["level"] == 99.0
    assert controller.budget.changes_s[-1] <= 27.0


def test_where_the_setting_is_not_ours_starvation_is_said():
    _, said = crowded(12, ours=False)
    reasons = [
        each.entry.reason
        for each in said
        if isinstance(each, Record)
        and getattr(each.entry, "kind", None) is DecisionKind.CONSTRAINT_BROKEN
    ]
    assert len(reasons) == 1
    assert "12 of 24 flows" in reasons[0]


def test_a_few_that_starve_may_be_chance():
    controller, _ = crowded(4)
    assert controller.alarms.newcomers_starve == 0
    assert controller.budget.changes_s == (0.0,)


# --- lines that vary ------------------------------------------------------------------------


def test_a_busy_line_that_varies_is_wholly_used():
    samples = [sample(0.1 * k, 60 if k // 15 % 2 else 250) for k in range(1, 101)]
    stretch = Stretch.of(samples, 20e6)
    assert stretch.utilization.mean > 0.99


def test_a_line_that_idles_is_not():
    samples = [sample(0.1 * k, *((125, 40) if k % 2 else (60, 0))) for k in range(1, 101)]
    assert Stretch.of(samples, 10e6).utilization.mean == pytest.approx(0.74, abs=0.01)


# --- where packets wait ---------------------------------------------------------------------


def trips_of(*intervals, **more):
    """Base round trip after intervals of (sample s, backlog bytes)."""
    trips = BaseRoundTrips.begin()
    for tick, (seconds, backlog) in enumerate(intervals, start=1):
        trips = trips.with_backlog(0.1 * tick, backlog)
        heard = RttSamples(np.array([1]), np.array([seconds]))
        trips = trips.updated(0.1 * tick, 0.1, heard, 10e6, 1000.0, **more)
    [base_s] = trips.estimates(1)
    return base_s, trips


def test_a_queue_behind_this_one_is_no_longer_path():
    filling = [(0.041 + 0.01 * tick, 0.0) for tick in range(100)]
    base_s, trips = trips_of(*filling, rises=False)
    assert base_s == pytest.approx(0.040, abs=0.002)
    assert trips.usual_floor_s(5.0) == pytest.approx(0.040, abs=0.002)


def test_a_longer_path_is_believed_while_packets_stand_here():
    longer = [(0.041, 12_500.0)] * 30 + [(0.191, 12_500.0)] * 30
    base_s, _ = trips_of(*longer, rises=True)
    assert base_s == pytest.approx(0.180, abs=0.002)


def test_behind_fair_queues_the_backlog_is_nobodys_wait():
    base_s, _ = trips_of(*[(0.030, 50_000.0)] * 20, fair=True)
    assert base_s == pytest.approx(0.0292, abs=0.001)


def test_the_place_where_packets_wait_is_found_with_its_doubt():
    place = WaitingPlace().after(1.0, here_s=0.002, round_trip_s=1.2, shortest_s=0.041)
    assert place.kind == "behind"
    assert place.behind_s == pytest.approx(1.157)
    assert 0.0 < place.doubt_s < 0.02
    assert WaitingPlace().after(1.0, 0.024, 0.055, 0.029).kind == "here"
    assert WaitingPlace().after(1.0, 0.001, 0.031, 0.029).kind == "nowhere"


def seen(in_force, seconds, round_trip_s):
    """Decisions and searches of a controller that sees such round trips."""
    controller = Controller.of(POLICY, LinkConfiguration(LINK, "fake", 0.01), evaluations=1)
    world = World()
    world.in_force.update(in_force)
    controller, _ = step(controller, Began(dict(world.in_force)), 0.0)
    found = []
    for tick in range(1, round(seconds / TICK_S) + 1):
        now_s = round(tick * TICK_S, 6)
        world.round_trip_s = round_trip_s(now_s)
        world.offset = 0.0 if now_s < 6.0 else -45.0  # the queue empties
        controller, effects = step(controller, world.observe(now_s), now_s)
        found += effects
    return controller, found


def test_nothing_is_searched_while_packets_wait_behind_the_queue():
    controller, found = seen({}, 15.0, lambda now_s: 0.04 + 0.08 * max(now_s - 6.0, 0.0))
    kinds = [
        each.entry.kind
        for each in found
        if isinstance(each, Record) and hasattr(each.entry, "kind")
    ]
    assert kinds.count(DecisionKind.BEHIND) == 1
    assert controller.alarms.behind
    # The packets that wait there are missing here, and say nothing of a model of this queue.
    turn = Turn(controller, 15.0)
    learn_bias(turn, 8.0, 30.0, 2.0)
    assert turn.controller.learned.correction == controller.learned.correction


def test_an_error_of_the_rate_is_no_change_of_the_path():
    """Behind a full queue of a second, 4 % of the rate are more than the path is long."""
    senses = Senses.begin()
    world = World(in_force={"level": 1000.0})
    for tick in range(1, 60):
        senses, _ = senses.after(world.observe(0.1 * tick).observation)
    assert senses.picture().rtts_doubt > 1.0


@pytest.mark.parametrize(
    ("paths_s", "told_apart"), [((0.030,) * 8, False), ((0.02,) * 4 + (0.12,) * 4, True)]
)
def test_beside_a_queue_of_a_second_flows_of_one_path_have_one_round_trip(paths_s, told_apart):
    """Each flow's estimate is off by up to 15 ms, however far away all of them are."""
    senses, now = Senses.begin(), World(flows=8, in_force={"level": 1000.0})
    off_s = np.tile([-0.015, 0.015, -0.01, 0.01], 2)
    for tick in range(1, 40):
        seen = now.observe(0.1 * tick).observation
        trips = RttSamples(np.arange(8), np.array(paths_s) + off_s + 0.8008)
        senses, _ = senses.after(replace(seen, round_trips=trips))
    found = senses.picture().base_rtts_s
    assert found[4] - found[3] > 0.06 if told_apart else max(found) - min(found) < 0.005
    assert np.mean(found) == pytest.approx(np.mean(paths_s), abs=0.005)
    assert senses.place.kind == "here"


# --- bounds ---------------------------------------------------------------------------------


def test_a_reference_is_no_more_than_the_link_carries():
    bound = Constraint.parse("flows.*.goodput_bit_per_s.total >= 0.98 of reference")
    before = Stretch.of([sample(0.1 * k, 235 + k % 3) for k in range(1, 51)], 18.8e6)
    after = Stretch.of([sample(0.1 * k, 204 + k % 3) for k in range(1, 51)], 16.3e6)
    assert first_broken(after, before, [bound]) is None


def test_the_slowest_flow_is_measured_on_the_network():
    samples = [sample(0.1 * k, 125) for k in range(1, 101)]
    goodput = np.full((10, 4), 1e6)
    goodput[:, 0] = 2e4
    stretch = Stretch.of(samples, 10e6, goodput)
    asked = [Constraint.parse("flows.*.slowest_share >= 0.1"), Constraint.parse(STARVED)]
    broken = first_broken(stretch, None, asked)
    assert broken.bound == asked[0].text
    assert broken.measured.mean == pytest.approx(0.0265, abs=0.001)
    starved = Constraint.parse("flows.*.starved <= 0")
    assert first_broken(stretch, None, [starved]).measured.mean == 1.0


def scenario_of(discipline, **tuning):
    """One link with such a queue."""
    return scenario_from_document(
        {
            "duration": "10 s",
            "links": {
                LINK: {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"discipline": discipline}}
            },
            "flows": {
                "all": {
                    "count": 4,
                    "path": [LINK],
                    "rtt": "30 ms",
                    "sender": "cubic",
                    "packet_size": "1000 bytes",
                    "start": "0 s",
                }
            },
            "tuning": tuning,
        },
        "here",
    )


@pytest.mark.parametrize(
    ("discipline", "tuning", "field"),
    [
        ("pie", {"objective": {"name": "completion-time"}}, "tuning.objective.name"),
        ("pie", {"constraints": ["flows.*.completion_time_s.p95 <= 2"]}, "tuning.constraints.0"),
        (
            "dualpi2",
            {"constraints": [f"links.{LINK}.sojourn_ms.p95 <= 20 ms"]},
            "tuning.constraints.0",
        ),
    ],
)
def test_what_nobody_can_measure_is_refused_before_the_run(discipline, tuning, field):
    with pytest.raises(ScenarioError) as refusal:
        stated_policy(scenario_of(discipline, **tuning))
    assert refusal.value.field == field


# --- evidence -------------------------------------------------------------------------------


def test_stale_evidence_ages():
    kinds = SenderModel("newreno"), SenderModel("cubic", option_set="linux")
    belief = SenderBelief().learned({kinds[0]: 0.0, kinds[1]: -40.0})
    assert belief.best == kinds[0]
    assert belief.aged(0.0) == belief
    assert belief.aged(300.0).best == kinds[1]


def test_prague_and_mixtures_of_bbr_are_thought_of():
    names = {
        (kind.congestion_control, kind.beside and kind.beside.congestion_control) for kind in WIDER
    }
    assert {("prague", None), ("cubic", "prague"), ("sack", "bbr"), ("cubic", "bbr1")} <= names


def test_conditions_that_come_and_go_are_compared_with_models_of_all_of_them():
    controller = Controller.of(POLICY, LinkConfiguration(LINK, "fake", 0.01), evaluations=1)
    turn = Turn(controller, 0.0)
    world = World()
    for tick in range(1, 301):
        now_s = round(tick * TICK_S, 6)
        senses, _ = turn.controller.senses.after(world.observe(now_s).observation)
        turn.change(senses=senses)
    turn = Turn(turn.controller, 30.0)
    turn.change(
        fluctuation=Fluctuation((20.0, 23.0, 26.0, 29.0), (SIXTEEN_FLOWS,)), flows_changed_s=29.9
    )
    refine(turn, senses.picture(), "why", 29.0, None)
    [task] = [each.task for each in turn.effects if isinstance(each, Search)]
    assert task.met == (SIXTEEN_FLOWS,)
    assert len(task.settled) > 200
