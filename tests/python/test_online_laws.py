"""The queue's own law: told the operator's number, first tried, and not chased by searches."""

import json
import math
from dataclasses import replace

import pytest

from online_world import LINK, POLICY, SIXTEEN_FLOWS, World
from vermilion.link.control import Control
from vermilion.link.plan import WAYS
from vermilion.objectives import Constraint
from vermilion.objectives.knee import Knee
from vermilion.online.decide.controller import Controller
from vermilion.online.decide.detection import OFTEN, Fluctuation
from vermilion.online.decide.step import step
from vermilion.online.entries import DecisionKind
from vermilion.online.events import Apply, Began, Record, Search
from vermilion.online.model.traffic import Traffic
from vermilion.online.plan.laws import (
    as_first_set,
    as_modelled,
    laws_for,
    told_delay_s,
    without_law,
)
from vermilion.online.policy import Policy
from vermilion.routers.adaptive_red import GAIN, HIGHEST, LOWEST, AdaptiveRed, HeldBesideLaw, aim
from vermilion.routers.base import LinkConfiguration
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import load_scenario

RED = {
    "limit": 100,
    "min_threshold": 15.0,
    "max_threshold": 45.0,
    "max_probability": 0.1,
    "weight": 0.002,
    "gentle": False,
    "ecn": True,
}
KNOBS = ("min_threshold", "max_threshold", "max_probability", "weight")
BESIDE = LinkConfiguration(LINK, "red", 0.01, adaptive=True)
HELD = replace(POLICY, parameters=KNOBS, space={})
TRAFFIC = Traffic.of_picture(SIXTEEN_FLOWS, HELD)


def bounded(text, **more):
    """A policy for the knee with a bound."""
    bound = Constraint.parse(text)
    return Policy(LINK, Knee(LINK), ("target",), bounds=(bound,), **more)


def test_the_number_is_the_target_or_half_of_a_bound_on_a_percentile():
    assert told_delay_s(HELD, TRAFFIC) == pytest.approx(0.024)
    assert told_delay_s(bounded("links.bottleneck.sojourn_ms.p95 <= 20"), TRAFFIC) == 0.01
    assert told_delay_s(bounded("links.bottleneck.sojourn_ms.mean <= 20"), TRAFFIC) == 0.02
    assert told_delay_s(bounded("links.bottleneck.utilization >= 0.9"), TRAFFIC) is None


@pytest.mark.parametrize(
    ("discipline", "asked"),
    [
        ("pie", {"target": 0.01}),
        ("dualpi2", {"target": 0.01}),
        ("fq-codel", {"target": 0.005, "interval": 0.1}),
        ("codel", {"target": 0.005, "interval": 0.1}),
        ("cake", {"rtt": 0.1}),
    ],
)
def test_a_discipline_with_a_law_is_told_the_number(discipline, asked):
    policy = bounded("links.bottleneck.sojourn_ms.p95 <= 20")
    policy = replace(policy, parameters=tuple(asked))
    [law] = laws_for(LinkConfiguration(LINK, discipline, 0.01), {}, policy, TRAFFIC)
    assert law.adapts
    assert law.setting == pytest.approx(asked)
    assert law.stands(asked)


def test_a_plain_red_has_a_law_where_the_router_offers_it_and_a_rule_everywhere():
    quick, steep = laws_for(BESIDE, RED, HELD, TRAFFIC)
    assert quick.setting == {
        "min_threshold": 22.5,
        "max_threshold": 66.0,
        "weight": 0.3,
        "adaptive": True,
    }
    assert steep.setting == pytest.approx(
        {"min_threshold": 24.0, "max_threshold": 66.0, "max_probability": 0.6, "weight": 0.2}
    )
    [alone] = laws_for(LinkConfiguration(LINK, "red", 0.01), RED, HELD, TRAFFIC)
    assert not alone.adapts


def test_linux_red_is_made_adaptive_only_where_the_operator_lets_it():
    in_force = {"adaptive": False}
    knobs = ("min_threshold", "max_threshold", "max_probability", "weight_log")
    linux = LinkConfiguration(LINK, "linux-red", 0.01)
    listed = replace(HELD, parameters=knobs)
    [steep] = laws_for(linux, in_force, listed, TRAFFIC)
    assert not steep.adapts
    usual = replace(listed, law_parameters=("adaptive",))
    law, _ = laws_for(linux, in_force, usual, TRAFFIC)
    assert law.setting["adaptive"] is True
    assert law.setting["min_threshold"] == 20_000
    assert without_law(linux, {"adaptive": True}, in_force) == {"adaptive": False}
    assert without_law(linux, {"adaptive": True}, {"adaptive": True}) == {"adaptive": True}


def test_cake_is_told_twenty_times_the_wanted_delay():
    policy = replace(HELD, parameters=("rtt",))
    [law] = laws_for(LinkConfiguration(LINK, "cake", 0.01), {}, policy, TRAFFIC)
    assert law.setting == pytest.approx({"rtt": 20 * 0.024})


def laws_of_two(*disciplines):
    links = ("up", "down")
    bounds = tuple(Constraint.parse(f"links.{each}.sojourn_ms.mean <= 20") for each in links)
    parameters = tuple(f"{each}.target" for each in links)
    policy = Policy("up+down", Knee("up"), parameters, bounds=bounds, links=links)
    queues = tuple(map(LinkConfiguration, links, disciplines, (0.0, 0.0)))
    traffic = replace(TRAFFIC, queues=dict.fromkeys(links, TRAFFIC), paths=((links, TRAFFIC),))
    configuration = LinkConfiguration("up+down", "pie", 0.0, queues)
    return laws_for(configuration, {}, policy, traffic)


def test_the_laws_of_several_queues_are_told_together_or_not_at_all():
    [law] = laws_of_two("pie", "fq-pie")
    assert law.setting == pytest.approx({"up.target": 0.02, "down.target": 0.02})
    assert laws_of_two("pie", "drop-tail") == ()


class EmulatedLink:
    """As much of the core's link as a law needs."""

    def __init__(self):
        self.now_ns, self.backlog, self.queue = 0, 90, dict(RED)

    def counters(self, _way):
        return {"backlog_packets": self.backlog}

    def queue_parameters(self, _way):
        return json.dumps(self.queue)

    def set_queue(self, _way, text):
        self.queue |= json.loads(text)


def test_the_emulator_runs_the_law_whoever_asks():
    link, scenario = EmulatedLink(), load_scenario("varying-load")
    links = {each: replace(scenario.core().links[0], name=each) for each in WAYS}
    control = Control.__new__(Control)
    control._links, control._laws = links, {}
    law = control._law(0, link)
    law.apply({"adaptive": True, "min_threshold": 22.5, "max_threshold": 66.0}, 0.0)
    link.now_ns = 250_000_000
    control.move(link)
    assert link.queue["max_probability"] == pytest.approx(0.1 * math.exp(0.3))
    control.move(link)
    assert link.queue["max_probability"] == pytest.approx(0.1 * math.exp(0.3))
    assert law.parameters()["adaptive"] is True
    law.apply({"max_probability": 0.2}, 0.3)
    assert law.due_s == math.inf


def test_what_the_operator_does_not_let_be_set_is_not_told():
    policy = replace(HELD, parameters=("max_probability",))
    assert laws_for(BESIDE, RED, policy, TRAFFIC) == ()


def test_the_law_moves_the_probability_within_its_bounds():
    law = AdaptiveRed(0.1, 0.1)
    parameters = {"min_threshold": 22.5, "max_threshold": 66.0}
    assert aim(parameters) == pytest.approx(30.0)
    assert law.after(30, parameters).probability == pytest.approx(0.1)
    assert law.after(33, parameters).probability == pytest.approx(0.1 * math.exp(0.02))
    assert law.after(27, parameters).probability == pytest.approx(0.1 * math.exp(-0.02))
    assert AdaptiveRed(HIGHEST, 0.1).after(90, parameters).probability == HIGHEST
    assert law.after(90, parameters).probability == pytest.approx(0.1 * math.exp(0.3))
    assert AdaptiveRed(LOWEST, 0.1).after(0, parameters).probability == LOWEST


def test_a_simulated_red_runs_the_law_until_somebody_sets_the_probability():
    scenario = load_scenario("varying-load")
    router = SimulatedRouter(scenario.core_json(), next(iter(scenario.links)), 1)
    before = router.parameters()
    router.apply({"min_threshold": 20.0, "max_threshold": 40.0, "weight": 0.1, "adaptive": True})
    router.wait(5.0)
    now = router.parameters()
    assert now["adaptive"] is True
    assert now["max_probability"] != before["max_probability"]
    assert HeldBesideLaw().is_unchanged({**now, "max_probability": 0.3}, now)
    router.apply(before)
    router.wait(6.0)
    assert router.parameters() == before


def test_a_model_of_the_law_moves_the_probability_as_the_law_does():
    assert as_modelled(BESIDE, RED) == (BESIDE, RED)
    modelled, values = as_modelled(BESIDE, {**RED, "adaptive": True})
    assert modelled.discipline == "pd-red"
    assert values["interval"] == 0.1
    error = 1.0 / values["limit"]  # of one packet
    step = GAIN * values["max_probability"] / values["target_queue"]
    assert values["proportional_gain"] * error == pytest.approx(step)
    assert values["min_threshold"] == RED["min_threshold"]


def controlled(in_force, world, seconds, flows_at=lambda _: 16, policy=HELD):
    """(controller, effects) after so long beside a red with the law."""
    controller = Controller.of(policy, BESIDE, held=HeldBesideLaw(), evaluations=1)
    controller, _ = step(controller, Began(in_force), 0.0)
    effects = []
    for tick in range(round(10 * seconds)):
        now_s = tick / 10.0
        world.flows = flows_at(now_s)
        controller, asked = step(controller, world.observe(now_s), now_s)
        effects += [(now_s, each) for each in asked]
    return controller, effects


def world_of(in_force):
    world = World()
    world.in_force = {**world.in_force, "level": 30.0}
    del in_force
    return world


def test_a_law_of_lengths_is_told_as_soon_as_there_is_a_queue():
    _, effects = controlled(RED, world_of(RED), 3)
    now_s, change = next((when_s, each) for when_s, each in effects if isinstance(each, Apply))
    assert now_s < 0.5
    assert change.parameters == LAW_ALONE
    assert not [each for _, each in effects if isinstance(each, Search)]


def test_where_the_router_is_watched_first_the_model_is_asked_about_the_law():
    policy = replace(HELD, watch_first_s=1.0)
    _, effects = controlled(RED, world_of(RED), 5, policy=policy)
    [task] = [each.task for _, each in effects if isinstance(each, Search)]
    assert task.kind == "quick"
    assert [each.adapts for each in task.laws] == [True, False]


LAW_ALONE = {"min_threshold": 22.5, "max_threshold": 66.0, "weight": 0.3, "adaptive": True}
LAW = {**RED, **LAW_ALONE}


def test_a_law_in_force_is_watched_before_anything_is_searched():
    _, effects = controlled(LAW, world_of(LAW), 12)
    searches = [(now_s, each.task) for now_s, each in effects if isinstance(each, Search)]
    assert searches
    assert all(task.kind == "refined" and now_s > 2.0 for now_s, task in searches)


def test_conditions_that_change_each_three_seconds_are_left_to_the_law():
    def flows(now_s):
        return (8, 20, 40)[int(now_s / 3.0) % 3]

    controller, effects = controlled(LAW, world_of(LAW), 40, flows)
    said = [
        each.entry
        for _, each in effects
        if isinstance(each, Record)
        and getattr(each.entry, "kind", None) == DecisionKind.FLUCTUATING
    ]
    assert len(said) == 1
    assert "Adaptive RED told 30 packets" in said[0].reason
    since_s = said[0].time_s
    assert not [now_s for now_s, each in effects if isinstance(each, Search) and now_s > since_s]
    assert not controller.budget.changes_s


PIE = {"limit": 1000, "target": 0.015, "alpha": 0.125, "beta": 1.25}


def test_a_line_whose_rate_varies_is_left_to_what_holds_a_delay_by_itself():
    law = as_first_set(LinkConfiguration(LINK, "pie", 0.01), PIE)
    assert law is not None
    assert law.name == "PIE as it was"
    assert law.stands(PIE)
    assert not law.stands({**PIE, "target": 0.003})
    assert as_first_set(BESIDE, RED) is None


@pytest.mark.parametrize(("rates", "varies"), [((8e6, 10e6), True), ((10e6, 10.5e6), False)])
def test_it_is_the_line_that_varies_where_its_rate_does(rates, varies):
    met = [replace(SIXTEEN_FLOWS, flows=40, rate_bit_per_s=rate) for rate in rates]
    fluctuation = Fluctuation()
    for number in range(OFTEN):
        fluctuation = fluctuation.changed(5.0 * number).with_conditions([SIXTEEN_FLOWS, *met])
    assert fluctuation.is_of_the_line == varies
