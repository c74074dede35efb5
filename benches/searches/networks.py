"""Our own instances: surfaces of the simulator, frozen as scenario files.

A search is told the mean over a few seeds, other ones in each repetition and the same for all its
points, as in a tuning. A recommendation is judged by the mean over many seeds that no search has
seen: its true mean, but for what is left of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from cells import cell_of
from contenders import follow

from vermilion.objectives import objective_of
from vermilion.scenario import load_scenario
from vermilion.search import Space
from vermilion.simulate import run_many
from vermilion.tuning import Candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cells import Cell

    from vermilion.search import Point
    from vermilion.simulate import Result

HERE = Path(__file__).parent

REPETITIONS = 15
FIRST_TRUE_SEED = 1_000_000


@dataclass(frozen=True)
class Network:
    """A frozen instance.

    Attributes:
        name: of the scenario file.
        title: for the figure.
        unit: of the objective, for the figure.
        seeds: simulations whose mean a search is told.
        true_seeds: simulations that judge a recommendation.
        budgets: settings after which the recommendation is judged.
    """

    name: str
    title: str
    unit: str
    seeds: int
    true_seeds: int
    budgets: tuple[int, ...]

    @property
    def dimensions(self) -> int:
        """Parameters."""
        return 16 if self.name == "parking-lot" else 4

    def surface(self) -> tuple[Space, Callable[[Point, Sequence[int]], float]]:
        """The box, and the mean objective of a point over some seeds."""
        scenario = load_scenario(str(HERE / f"{self.name}.toml"))
        parking = self.name == "parking-lot"
        space = Space.from_scenario(scenario, SIXTEEN if parking else None)
        candidates = Candidates(scenario, space.names)
        value = unfairness if parking else objective_of(scenario).evaluate

        def mean(point: Point, seeds: Sequence[int]) -> float:
            text = candidates.text(space.values(point))
            [results] = run_many([text], seeds, threads=1)
            return fmean(value(result) for result in results if result is not None)

        return space, mean


NETWORKS = (
    Network("64-flows", "64 flows, 4 parameters", "queue deviation (packets²)", 3, 30,
            (10, 25, 50, 100, 200, 400)),
    Network("parking-lot", "parking lot, 16 parameters", "COV of goodputs", 2, 20,
            (10, 25, 50, 100, 200, 300)),
    Network("16-flows", "16 flows, 4 parameters", "queue deviation (packets²)", 3, 30,
            (10, 25, 50, 100, 200, 400)),
)  # fmt: skip

SIXTEEN = [
    f"links.{link}.queue.{parameter}"
    for link in "abcd"
    for parameter in ("min_threshold", "max_threshold", "max_probability", "weight")
]


def unfairness(result: Result) -> float:
    """The coefficient of variation of all flows' goodputs, from their groups' moments."""
    groups = [result.flows(name).total for name in result.groups]
    counts = [FLOWS_IN_A_GROUP] * len(groups)
    goodputs = [group["goodput_bit_per_s"] for group in groups]
    flows = sum(counts)
    mean = math.fsum(n * g["mean"] for n, g in zip(counts, goodputs, strict=True)) / flows
    # A group's sd is that of a sample: n - 1 of its squares are in its variance.
    squares = math.fsum(
        (n - 1) * g["sd"] ** 2 + n * (g["mean"] - mean) ** 2
        for n, g in zip(counts, goodputs, strict=True)
    )
    return math.sqrt(squares / (flows - 1)) / mean


FLOWS_IN_A_GROUP = 6


def measure(network: Network, search: str) -> Cell:
    """One search on one network, all repetitions."""
    space, mean = network.surface()
    trajectories = []
    for repetition in range(1, REPETITIONS + 1):
        first = 100 * repetition
        told = partial(mean, seeds=range(first, first + network.seeds))
        trajectories.append(follow(search, len(space), repetition, told, network.budgets))
    true_seeds = range(FIRST_TRUE_SEED, FIRST_TRUE_SEED + network.true_seeds)
    truth = partial(mean, seeds=true_seeds)
    return cell_of(network.name, len(space), search, network.budgets, trajectories, truth)
