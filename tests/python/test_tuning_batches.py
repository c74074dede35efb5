"""Batches: networks meet whole seeds, whatever the time; what a condition adds is left out."""

from dataclasses import replace

import pytest

from vermilion.objectives import Constraint, objective_from_text
from vermilion.scenario import parse_scenario
from vermilion.simulate import run
from vermilion.tuning import simulations
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.simulations import Batches, Condition, Simulations

NETWORK = """
duration = "4 s"
[links.bottleneck]
rate = "2 Mbit/s"
delay = "5 ms"
queue = { discipline = "drop-tail", limit = "20 packets" }
[flows.own]
count = 2
path = ["bottleneck"]
rtt = "30 ms"
sender = "newreno"
[flows.added]
count = 2
path = ["bottleneck"]
rtt = "30 ms"
sender = "newreno"
"""
LIMIT = "links.bottleneck.queue.limit"


class Machine:
    """Takes a second for each run, by its own clock, and gives up at the deadline."""

    def __init__(self):
        self.now = 100.0

    def clock(self):
        return self.now

    def run_many(self, texts, seeds, *, deadline_s, **_):
        left = len(texts) * len(seeds) if deadline_s is None else int(deadline_s)
        rows = []
        for text in texts:
            done = [left - number > 0 for number in range(len(seeds))]
            left -= sum(done)
            self.now += sum(done)
            pairs = zip(seeds, done, strict=True)
            rows.append([f"{text}{seed}" if ran else None for seed, ran in pairs])
        return rows


@pytest.mark.parametrize(
    ("seconds", "met", "runs"),
    [(None, 5, 15), (20.0, 5, 15), (9.0, 3, 9), (7.5, 2, 7), (1.0, 0, 1)],
)
def test_all_networks_have_met_the_same_seeds_when_time_is_up(monkeypatch, seconds, met, runs):
    machine = Machine()
    monkeypatch.setattr(simulations, "run_many", machine.run_many)
    batches = Batches(1, flow_delays=True, clock=machine.clock)
    until = None if seconds is None else machine.now + seconds
    rows = batches.simulate_in_step(["a", "b", "c"], [1, 2, 3, 4, 5], until=until)
    assert rows == [[f"{text}{seed}" for seed in range(1, met + 1)] for text in "abc"]
    assert batches.count == runs
    assert batches.seconds_each == pytest.approx(1.0)


def test_flows_that_belong_to_a_condition_are_not_measured():
    scenario = parse_scenario(NETWORK)
    goal, _ = objective_from_text("minimise flows.*.goodput_bit_per_s.total", scenario)
    fair = Constraint.parse("flows.*.jain_index >= 0.1", scenario=scenario)
    given = Condition.of(scenario.core_json(), {LIMIT: None}, goal, [fair])
    other = replace(given, added=("added",))
    found = []
    for condition in (given, other):
        evaluation = Evaluation({LIMIT: 20.0})
        Simulations([condition], 1).run([evaluation], [7])
        found.append(evaluation.objective)
    flows = run(scenario, 7).data["flows"]
    own, added = (flows[name]["total"]["goodput_bit_per_s"]["total"] for name in ("own", "added"))
    assert found == pytest.approx([own + added, own])
