"""Figure 3: the average drop rate over w_q and max_p is a noisy surface."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, interval, of_phases
from vermilion_lab.papers.verdict import Check, Expected
from vermilion_lab.papers.ye_2002.network import LINK, QUEUE, steady

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench


WEIGHTS = tuple(10 ** (-4 + 4 * k / 11) for k in range(12))
PROBABILITIES = tuple(10 ** (-3 + 3 * k / 9) for k in range(10))
SURFACES = {"16 flows": 16, "64 flows": 64}


def measure_surface(bench: Workbench) -> Numbers:
    """Drop rates on the grid, seed by seed."""
    scenarios = {}
    for name, flows in SURFACES.items():
        base = steady(flows)
        for i, weight in enumerate(WEIGHTS):
            for j, probability in enumerate(PROBABILITIES):
                scenarios[f"{name}/{i}/{j}"] = base.with_values(
                    {f"{QUEUE}.weight": weight, f"{QUEUE}.max_probability": probability}
                )
    bench.expect(len(scenarios) * len(bench.seeds))
    results = bench.run_many(scenarios)
    return {
        name: _surface(
            [
                [
                    of_phases(results[f"{name}/{i}/{j}"], LINK, "drop_rate")[0]
                    for j in range(len(PROBABILITIES))
                ]
                for i in range(len(WEIGHTS))
            ]
        )
        for name in SURFACES
    }


def _surface(samples: list[list[list[float]]]) -> Numbers:
    import numpy as np

    surfaces = np.array(samples).transpose(2, 0, 1)  # seed, weight, probability
    mean = surfaces.mean(axis=0)
    return {
        "first": surfaces[0].tolist(),
        "mean": mean.tolist(),
        "minima": [float(_local_minima(surface)) for surface in surfaces],
        "minima_of_mean": _local_minima(mean),
        # How well one surface tells good from bad where the others do, as a rank correlation.
        "agreement": [
            _rank_correlation(surfaces[k], np.delete(surfaces, k, axis=0).mean(axis=0))
            for k in range(len(surfaces))
        ],
    }


def _local_minima(surface: Any) -> int:  # noqa: ANN401 - an array
    """Points of the grid that are lower than all of their up to eight neighbours."""
    import numpy as np

    padded = np.pad(surface, 1, constant_values=math.inf)
    lower = np.ones_like(surface, dtype=bool)
    rows, columns = surface.shape
    for i in (0, 1, 2):
        for j in (0, 1, 2):
            if (i, j) != (1, 1):
                lower &= surface < padded[i : i + rows, j : j + columns]
    return int(lower.sum())


def _rank_correlation(first: Any, second: Any) -> float:  # noqa: ANN401 - arrays
    from scipy.stats import spearmanr

    return float(spearmanr(first.ravel(), second.ravel()).statistic)


def draw_surface(numbers: Numbers) -> Drawing:
    """Draw one seed’s surface beside the mean, as maps."""
    import numpy as np
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, panels = plots.sheet(2, 2, 7.4, sharex=True, sharey=True)
    edges = [_edges(WEIGHTS), _edges(PROBABILITIES)]
    for row, (name, found) in zip(panels, numbers.items(), strict=True):
        maps = {key: 100 * np.array(found[key]) for key in ("first", "mean")}
        low = min(float(each.min()) for each in maps.values())
        high = max(float(each.max()) for each in maps.values())
        for axes, (key, head) in zip(
            row, (("first", "one run"), ("mean", "mean of all seeds")), strict=True
        ):
            drawn = axes.pcolormesh(
                *edges, maps[key].T, cmap="cividis", vmin=low, vmax=high, edgecolor="face"
            )
            axes.set(title=f"{name}: {head}", xscale="log", yscale="log")
            axes.grid(visible=False)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(LogLocator())
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter(NullFormatter())
        row[0].set_ylabel("max_p")
        figure.colorbar(drawn, ax=list(row), label="dropped (%)", pad=0.01)
    for axes in panels[-1]:
        axes.set_xlabel("w_q")
    return figure


def _edges(centres: Sequence[float]) -> list[float]:
    """The borders of the cells around these points, which are even on a logarithmic axis."""
    step = (centres[1] / centres[0]) ** 0.5
    return [centres[0] / step, *(centre * step for centre in centres)]


def surface_tables(numbers: Numbers) -> list[FigureTable]:
    """Roughness of the surfaces."""
    return [
        FigureTable(
            "Local minima among 120 points, and how well one seed’s surface ranks them",
            ("surface", "of one seed", "of the mean of all", "rank correlation with the others"),
            tuple(
                (
                    name,
                    cell(found["minima"]),
                    str(found["minima_of_mean"]),
                    cell(found["agreement"]),
                )
                for name, found in numbers.items()
            ),
        )
    ]


def surface_noisy(evidence: Evidence) -> list[Check]:
    """Rough, and yet with a structure."""
    checks = []
    for name, found in evidence["figure-3"].items():
        checks += [
            Check(
                quantity="local minima of the surface of one seed",
                interval=interval(found["minima"]),
                expected=Expected(low=2.0),
                reading=name,
            ),
            Check(
                quantity="rank correlation of one seed’s surface with the mean of the others",
                interval=interval(found["agreement"]),
                expected=Expected(low=0.5),
                reading=name,
            ),
        ]
    return checks
