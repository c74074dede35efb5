"""Figure 8: four RED queues in a row, set at random, and tuned together from 325 s on.

The product's on-line controller keeps one queue at a target. Here the aim lies outside of any
queue, in what flows get, so the parts of the product are put together in another way: the network
is a stepped simulation; at 325 s a model is made of what can be known by then; the product's own
search finds sixteen parameters in it; and they are applied to the running network.

The model knows the links, as whoever runs them does, how many flows take which path, and of each
path the shortest round trip that a monitor has seen. It has other seeds than the network, and that
its senders are of the same kind is assumed.
"""

from __future__ import annotations

import json
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing
from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, differences, interval
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure as Drawing
    from numpy.typing import NDArray

    from vermilion import _core
    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

FOUR_QUEUES = "four-red-queues"
LINKS = ("first", "second", "third", "fourth")

WINDOW_S = 25
"""Over which each goodput is averaged."""
SETTLED_FROM_S = 125
"""Until then the flows that are worst off fall behind slowly, whatever the setting."""
TUNED_FROM_S = 325
"""Where tuning begins, as in the paper."""
SEARCH_S = 5
"""What a search is charged: the network goes on with the old setting for so long."""
END_S = 525
STANDARD_END_S = 325
"""Standard RED is run no longer than what it is compared with."""
EVALUATIONS = 60
"""Settings that the search may try."""
RE_EVALUATIONS, COMPARISONS = 2, 12
"""Seeds that the best few of them then meet, and seeds on which the best meets the old one."""
MODEL_S = 20
"""Length of a simulation of the model; its first quarter is left out."""

SEARCH = "cma-es"
REQUIRED_IMPROVEMENT = 0.02
"""Share of the coefficient of variation that must be gained for a setting to be applied."""

READINGS: Final[dict[str, dict[str, object]]] = {
    "parking lot": {},
    "all flows through all": {f"flows.only-{link}.path": list(LINKS) for link in LINKS}
    | {
        f"flows.only-{link}.rtt": f"{round_trip_ms} ms"
        for link, round_trip_ms in zip(LINKS, (68, 98, 138, 188), strict=True)
    },
}
"""The paper gives neither rates nor delays nor flows."""

_NS_PER_S = 1_000_000_000
_FIRST_MODEL_SEED = 1 << 32  # no model ever has the network's seed
_MODEL_SEEDS = 100  # of one model
_EFFORT = 5  # such a run with its search takes about as long as so many without


def measure_four_queues(bench: Workbench) -> Numbers:
    """Measure each reading with each seed: random, then tuned, and with standard RED."""
    jobs = [(name, seed) for name in READINGS for seed in bench.seeds]
    bench.expect(_EFFORT * len(jobs))
    runs = bench.each_in_processes(_measure_network, jobs, weight=_EFFORT)
    count = len(bench.seeds)
    return {
        name: {key: [run[key] for run in runs[k * count : (k + 1) * count]] for key in runs[0]}
        for k, name in enumerate(READINGS)
    }


def _measure_network(job: tuple[str, int]) -> Numbers:
    """One network: coefficients of variation and utilisation over time."""
    from random import Random

    from vermilion import _core
    from vermilion.search import CountedFromBelow

    reading, seed = job
    standard = load_scenario(FOUR_QUEUES).with_values(
        {"duration": f"{END_S} s", "warm_up": "0 s"} | READINGS[reading]
    )
    space = CountedFromBelow.from_scenario(standard)
    random = Random(f"vermilion_lab.papers.ye-2002.misconfiguration.1/{seed}")  # noqa: S311 - no secret
    drawn = standard.with_values(space.values(tuple(random.random() for _ in range(len(space)))))

    network = _core.Simulation(drawn.core_json(), seed)
    watch = _Watch(network)
    watch.until(TUNED_FROM_S)
    setting = _tune_model(_model(drawn, network), seed)
    network.advance((TUNED_FROM_S + SEARCH_S) * _NS_PER_S)
    if setting is not None:
        for link, parameters in _by_link(setting).items():
            network.set_queue(link, json.dumps(parameters))
    watch.until(END_S)

    alone = _Watch(_core.Simulation(standard.core_json(), seed))
    alone.until(STANDARD_END_S)
    return {
        "variation": watch.variation,
        "utilization": watch.utilization,
        "standard": alone.variation,
        "standard_utilization": alone.utilization,
        "applied": setting is not None,
    }


class _Watch:
    """Steps a network from window to window, and sees what its flows get and its links carry.

    Attributes:
        variation: coefficient of variation of all flows' goodputs in each window.
        utilization: mean of the links' in each window.
    """

    def __init__(self, network: _core.Simulation) -> None:
        self._network = network
        self._now_s = 0
        self._received: Any = 0.0
        self._carried = 0.0
        self.variation: list[float] = []
        self.utilization: list[float] = []

    def until(self, end_s: int) -> None:
        """Windows up to a moment."""
        import numpy as np

        while self._now_s < end_s:
            self._now_s += WINDOW_S
            self._network.advance(self._now_s * _NS_PER_S)
            result = json.loads(self._network.result()[0])
            received = self._now_s * np.array(
                [
                    flow["goodput_bit_per_s"]
                    for group in result["flows"].values()
                    for flow in group["total"]["each"]
                ]
            )
            goodputs = received - self._received
            # As a share of the capacity, of which every second brings as much.
            carried = self._now_s * float(
                np.mean([link["total"]["utilization"] for link in result["links"].values()])
            )
            self.variation.append(float(goodputs.std() / goodputs.mean()))
            self.utilization.append((carried - self._carried) / WINDOW_S)
            self._received, self._carried = received, carried


def _model(configured: Scenario, network: _core.Simulation) -> Scenario:
    """Model of the network from the observations so far."""
    import numpy as np

    flows, nanoseconds = network.take_rtt_samples()
    counts = {name: group.count for name, group in configured.flows.items()}
    shortest: NDArray[np.int64] = np.full(sum(counts.values()), np.iinfo(np.int64).max)
    np.minimum.at(shortest, flows, nanoseconds)
    seen: dict[str, object] = {}
    first = 0
    for name, count in counts.items():
        seen[f"flows.{name}.rtt"] = f"{int(shortest[first : first + count].min())} ns"
        first += count
    return configured.with_values(
        {"duration": f"{MODEL_S} s", "warm_up": f"{MODEL_S // 4} s"} | seen
    )


def _tune_model(model: Scenario, seed: int) -> Mapping[str, float | None] | None:
    """The best setting that the search finds in the model; ``None`` if none is worth applying."""
    from vermilion.objectives import constraints_of, objective_of
    from vermilion.search import CountedFromBelow
    from vermilion.tuning.evaluation import Seeds
    from vermilion.tuning.model_search import search_best

    space = CountedFromBelow.from_scenario(model)
    objective = objective_of(model)
    outcome = search_best(
        model,
        space,
        objective,
        constraints_of(model, objective, links=LINKS),
        incumbent={name: model.get(name) for name in space.names},
        seeds=Seeds.counted(
            _FIRST_MODEL_SEED + _MODEL_SEEDS * seed,
            search=1,
            re_evaluation=RE_EVALUATIONS,
            comparison=COMPARISONS,
        ),
        budget=EVALUATIONS,
        search=SEARCH,
        search_seed=seed,
        shortlist=4,
        required_improvement=REQUIRED_IMPROVEMENT,
        threads=1,
    )
    if outcome.end == "interrupted":
        raise KeyboardInterrupt
    return outcome.best if outcome.accepted else None


def _by_link(setting: Mapping[str, float | None]) -> dict[str, dict[str, float | None]]:
    """Group paths like ``links.first.queue.weight`` by link."""
    links: dict[str, dict[str, float | None]] = {}
    for path, value in setting.items():
        _, link, _, parameter = path.split(".")
        links.setdefault(link, {})[parameter] = value
    return links


def _mean_before(windows: Sequence[Sequence[float]]) -> list[float]:
    """A mean for each seed: from where the flows have settled to where tuning begins."""
    first, end = SETTLED_FROM_S // WINDOW_S, TUNED_FROM_S // WINDOW_S
    return [fmean(values[first:end]) for values in windows]


def _mean_after(windows: Sequence[Sequence[float]]) -> list[float]:
    """A mean for each seed: from the window after the one in which the setting is applied."""
    return [fmean(values[TUNED_FROM_S // WINDOW_S + 1 :]) for values in windows]


def draw_four_queues(numbers: Numbers) -> Drawing:
    """Variation over time in both readings."""
    figure, panels = plots.sheet(1, len(numbers), 4.6, sharey=True)
    middles = [(k + 0.5) * WINDOW_S for k in range(END_S // WINDOW_S)]
    for axes, (name, found) in zip(panels[0], numbers.items(), strict=True):
        for place, values in enumerate(found["variation"]):
            axes.plot(
                middles,
                values,
                color=drawing.SKY_BLUE,
                linewidth=0.7,
                label="one seed" if place == 0 else "_",
            )
        for key, label, number in (
            ("variation", "mean of all seeds", 0),
            ("standard", "standard RED", 1),
        ):
            samples = list(zip(*found[key], strict=True))
            plots.line(axes, middles[: len(samples)], samples, label, number)
        axes.axvline(TUNED_FROM_S, color=drawing.GREEN, linewidth=1.4, label="tuning begins")
        axes.set_xlim(0, END_S)
        axes.set_xlabel("time (s)")
        axes.set_title(name[0].upper() + name[1:])
    panels[0][0].set_ylim(bottom=0)  # last: it also ends the search for a common scale
    panels[0][0].set_ylabel("coefficient of variation of goodputs")
    panels[0][0].legend(loc="lower left", ncols=2)
    return figure


def four_queues_tables(numbers: Numbers) -> list[FigureTable]:
    """Tables before and after tuning, and of standard RED."""
    heads = ("network", "set at random", "tuned", "standard RED")
    return [
        FigureTable(
            "Coefficient of variation of the goodputs of 40 flows",
            (*heads, "seeds in which a setting was applied"),
            tuple(
                (
                    name,
                    cell(_mean_before(found["variation"])),
                    cell(_mean_after(found["variation"])),
                    cell(_mean_before(found["standard"])),
                    f"{sum(found['applied'])} of {len(found['applied'])}",
                )
                for name, found in numbers.items()
            ),
        ),
        FigureTable(
            "Utilisation, mean of the four links (%)",
            heads,
            tuple(
                (
                    name,
                    cell(_mean_before(found["utilization"]), 100.0),
                    cell(_mean_after(found["utilization"]), 100.0),
                    cell(_mean_before(found["standard_utilization"]), 100.0),
                )
                for name, found in numbers.items()
            ),
        ),
    ]


def tuning_evens_out(evidence: Evidence) -> list[Check]:
    """Gain of tuning, seed by seed."""
    return [
        Check(
            quantity="coefficient of variation before tuning less that after",
            interval=interval(
                differences(_mean_before(found["variation"]), _mean_after(found["variation"]))
            ),
            expected=Expected(low=0.0),
            reading=name,
        )
        for name, found in evidence["figure-8"].items()
    ]
