"""What sets of queues have like single ones: the atlas, steps without a model, harm to a crowd."""

from dataclasses import replace

import pytest

from online_set_world import SetWorld, controller_of
from vermilion.online.decide.step import step
from vermilion.online.events import Began, Search
from vermilion.online.model.network import build_model
from vermilion.online.model.possibilities import by_turns, possibilities
from vermilion.online.model.senders import SenderBelief, SenderModel
from vermilion.online.model.traffic import Horizon, Traffic
from vermilion.online.plan import examination
from vermilion.online.plan.examination import watch
from vermilion.online.plan.problem import Problem
from vermilion.online.policy import stated_policy
from vermilion.online.sense.traffic_estimate import PathTraffic, TrafficEstimate, set_estimate
from vermilion.scenario import load_scenario

FOUR = load_scenario("four-red-queues")
NAMES = ("first", "second")
PARAMETERS = ("min_threshold", "max_threshold", "max_probability", "weight")


def part(flows, rate_bit_per_s=10e6, base_s=0.05):
    return TrafficEstimate(
        time_s=10.0,
        flows=flows,
        base_rtts_s=(base_s,) * flows,
        rate_bit_per_s=rate_bit_per_s,
        packet_bytes=1000.0,
        marked_share=0.0,
    )


def seen(first, second, base_s=0.05):
    """Two queues, each with flows of its own."""
    pictures = {"first": part(first, base_s=base_s), "second": part(second, base_s=base_s)}
    paths = [
        PathTraffic((link,), picture.flows, picture.base_rtts_s, 1000.0)
        for link, picture in pictures.items()
    ]
    return set_estimate(pictures, paths, ())


# --- a crowd, and senders that nobody has seen ----------------------------------------------------


def test_a_setting_may_do_no_harm_to_twice_the_flows_at_any_queue():
    policy = stated_policy(FOUR)
    shown = seen(4, 16)
    traffic = Traffic.of_picture(shown, policy)
    found = possibilities(traffic, shown, SenderBelief())
    believed, crowd = found
    assert (believed.share, believed.words) == (1.0, "")
    assert believed.traffic is traffic
    assert (crowd.share, crowd.joining) == (0.0, 0.5)
    assert crowd.words == "with twice the flows, half of which join the others"
    assert [each.flows for _, each in crowd.traffic.paths] == [8, 32]
    # Nothing has been seen of the senders: the crowd is of those that suffer most.
    assert crowd.kind == SenderModel("newreno")


def test_where_loads_come_and_go_twice_the_heaviest_may_come_too():
    """It is no load that was met: the search for all of them failed with a KeyError."""
    policy = stated_policy(FOUR)
    few, many = (Traffic.of_picture(seen(*each), policy) for each in ((2, 8), (4, 16)))
    *believed, crowd = by_turns(few, [few, many], SenderBelief())
    assert [each.traffic for each in believed] == [few, many]
    assert (crowd.share, crowd.joining) == (0.0, 0.5)
    assert crowd.words == "with twice the flows, half of which join the others"
    assert [each.flows for _, each in crowd.traffic.paths] == [8, 32]


def test_where_windows_are_large_at_every_queue_nobody_is_locked_out():
    policy = stated_policy(FOUR)
    shown = seen(2, 2, base_s=0.2)
    traffic = Traffic.of_picture(shown, policy)
    assert [each.share for each in possibilities(traffic, shown, SenderBelief())] == [1.0]


def test_where_flows_are_doubted_more_and_fewer_are_modelled():
    policy = stated_policy(FOUR)
    shown = replace(seen(8, 16), flows_doubt=0.5)
    traffic = Traffic.of_picture(shown, policy)
    found = possibilities(traffic, shown, SenderBelief())
    counts = [sum(each.flows for _, each in one.traffic.paths) for one in found]
    assert len(found) == 3
    assert counts[1] > counts[0] > counts[2]
    assert sum(each.share for each in found) == pytest.approx(1.0)


# --- steps without a model ------------------------------------------------------------------------


def _task(controller):
    """The first search that a controller asks for."""
    world = SetWorld()
    searches, now_s = [], 0.0
    controller, _ = step(controller, Began(world.in_force), 0.0)
    while not searches:
        now_s = round(now_s + 0.1, 1)
        controller, effects = step(controller, world.observe(now_s), now_s)
        searches = [each for each in effects if isinstance(each, Search)]
    return searches[0].task


def test_models_are_watched_as_often_as_the_queues_are_asked(monkeypatch):
    """What moves within a second is not seen by who asks once in a second, over SNMP for one."""
    policy = stated_policy(FOUR)
    shown = seen(8, 16)
    traffic = Traffic.of_picture(shown, policy)
    task = _task(controller_of())
    table = {name: FOUR.get(f"links.first.queue.{name}") for name in PARAMETERS}
    links = tuple(
        replace(task.configuration, link=link, discipline="red", queues=()) for link in NAMES
    )
    in_force = {f"{link}.{name}": value for link in NAMES for name, value in table.items()}
    configuration = replace(task.configuration, queues=links)
    kind = SenderModel("newreno")
    horizon = Horizon(2.0, 8.0)
    network = build_model(configuration, in_force, traffic, kind, policy, horizon)
    watched = watch(network, NAMES, 7, 2.0, 10.0, 1.0)
    settled = tuple(
        replace(first, links=NAMES, queues=(first, second))
        for first, second in zip(*watched.values(), strict=True)
    )
    intervals = []

    def remember(*given):
        found = watch(*given)
        intervals.extend(sample.interval_s for each in found.values() for sample in each)
        return found

    monkeypatch.setattr(examination, "watch", remember)
    asked = replace(
        task,
        kind="refined",
        settled=settled,
        policy=policy,
        configuration=configuration,
        picture=shown,
        in_force=in_force,
        belief=SenderBelief({kind: 0.0}),
        comparisons=3,
    )
    explanation, _ = examination.examine(Problem(asked), 1.0)
    # Eight samples are few, but of eight seconds: they are compared.
    assert len(explanation.figures) == 8
    assert intervals == pytest.approx([1.0] * len(intervals))
    assert explanation.explained, explanation.describe()
