"""Wherever a tuning's time is up, it ends with what it has, and can say so.

Where somebody else is busy on the machine, some simulations take much longer than those before. So
a deadline can come within any batch, and what was measured by then may be less than any stage
expects.
"""

import pytest

from vermilion import tune, tune_front, tune_robust
from vermilion.scenario import parse_scenario
from vermilion.simulate.runs import run_many
from vermilion.tuning import baselines, memory, simulations

MODULES = (simulations, memory, baselines)
"""Those of a tuning that simulate against a deadline."""

SCENARIO = """
duration = "2 s"
warm_up = "0.5 s"
[links.bottleneck]
rate = "2 Mbit/s"
delay = "5 ms"
queue = { discipline = "fq-codel" }
[flows.uploads]
count = 6
path = ["bottleneck"]
rtt = "30 ms"
sender = "cubic"
start = "0 s .. 0.5 s"
[flows.browsing]
count = 2
path = ["bottleneck"]
rtt = "50 ms"
sender = "cubic"
traffic = { kind = "web", mean_gap = "300 ms", size = "20 kB" }
[tuning]
objective = { name = "knee", link = "bottleneck" }
"""


class Simulator:
    """One whose time is up within a certain batch, of which only the first half is done.

    Args:
        last: the number of the batch, from 1; 0 for never.
        for_good: whether there is no time for any later batch either.
    """

    def __init__(self, last, *, for_good):
        self.last = last
        self.for_good = for_good
        self.batches = 0

    def __call__(self, texts, seeds, *, deadline_s=None, **options):
        rows = run_many(texts, seeds, **options)
        if deadline_s is None:
            return rows
        self.batches += 1
        if self.last == 0 or self.batches < self.last:
            return rows
        if self.batches > self.last:
            done = 0 if self.for_good else len(texts) * len(seeds)
        else:
            done = len(texts) * len(seeds) // 2
        numbers = [range(each * len(seeds), (each + 1) * len(seeds)) for each in range(len(texts))]
        return [
            [result if number < done else None for number, result in zip(of_row, row, strict=True)]
            for of_row, row in zip(numbers, rows, strict=True)
        ]


def tuned(monkeypatch, kind, simulator):
    for module in MODULES:
        monkeypatch.setattr(module, "run_many", simulator)
    scenario = parse_scenario(SCENARIO, "small")
    options = {"deadline_s": 1e6, "threads": 2}
    if kind == "front":
        return tune_front(scenario, budget=20, **options)
    if kind == "robust":
        other = parse_scenario(SCENARIO.replace("count = 6", "count = 9"), "more")
        return tune_robust([scenario, other], search="cma-es", budget=8, **options)
    return tune(scenario, search="cma-es", budget=8, **options)


@pytest.mark.parametrize("for_good", [True, False])
@pytest.mark.parametrize(
    ("kind", "step"),
    [
        pytest.param("setting", 3, marks=pytest.mark.evidence),
        ("robust", 9),
        ("front", 3),
    ],
)
def test_a_tuning_ends_with_what_it_has(monkeypatch, kind, step, for_good):
    simulator = Simulator(0, for_good=for_good)
    assert tuned(monkeypatch, kind, simulator).end == "budget"
    assert simulator.batches >= 15
    for last in range(1, simulator.batches + 1, step):
        found = tuned(monkeypatch, kind, Simulator(last, for_good=for_good))
        assert found.end in {"budget", "deadline"}
        assert len(str(found).splitlines()) > 3
