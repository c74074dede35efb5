"""Figures 5 to 8: packets dropped and the use of the link over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.jamali_2013.settings import (
    AS_PUBLISHED,
    DEFAULT,
    LINK,
    MILDEST,
    RED,
    SCENARIOS,
    SLACK,
    scenario_of,
)
from vermilion_lab.papers.measures import cell, differences, interval
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

STEP_S: Final = 5.0
"""Time over which drops and bits are summed."""

RATE_BIT_PER_S: Final = 2e6
_QUEUES: Final = (RED, DEFAULT, MILDEST)
_STRETCHES: Final = dict(
    zip(
        SCENARIOS,
        (((5, 5, 20), (15, 25, 40), (20, 45, 100)), ((5, 5, 15), (20, 20, 100))),
        strict=True,
    )
)
"""Sources, and from when to when (s) there are so many; a step after each join is left out."""


def measure_over_time(bench: Workbench) -> Numbers:
    """Measure RED and two readings of VRED: for each step a value for each seed."""
    bench.expect(len(SCENARIOS) * len(_QUEUES) * len(bench.seeds))
    numbers: Numbers = {}
    for load in SCENARIOS:
        queues = {}
        for queue in _QUEUES:
            found = [
                result.series(LINK)
                for result in bench.traces(scenario_of(load, AS_PUBLISHED, queue), STEP_S)
            ]
            # The first point is at 0 s, when nothing has happened.
            queues[queue] = {
                "drops": _transpose([series["drops"][1:].tolist() for series in found]),
                "utilization": _transpose(
                    [
                        (series["throughput_bit_per_s"][1:] / RATE_BIT_PER_S).tolist()
                        for series in found
                    ]
                ),
            }
        numbers[load] = queues
    return numbers


def _transpose(by_seed: list[list[float]]) -> list[list[float]]:
    return [list(values) for values in zip(*by_seed, strict=True)]


def draw_over_time(numbers: Numbers) -> Drawing:
    """Drops above, utilisation below; a column for each scenario."""
    figure, panels = plots.sheet(2, 2, 6.6, sharex=True, sharey="row")
    for column, (load, found) in enumerate(numbers.items()):
        for row, (key, scale) in enumerate((("drops", 1 / STEP_S), ("utilization", 100.0))):
            axes = panels[row][column]
            for number, (queue, series) in enumerate(found.items()):
                middles = [(step + 0.5) * STEP_S for step in range(len(series[key]))]
                plots.line(axes, middles, series[key], queue, number, scale=scale)
            for _, begin, _ in _STRETCHES[load][1:]:
                at = begin - STEP_S
                axes.axvline(at, color="#767676", linewidth=0.8, linestyle=(0, (2, 2)))
            axes.set_xlim(0, 100)
        panels[0][column].set_title(load, fontsize=10.5)
        panels[1][column].set_xlabel("time (s)")
    panels[0][0].set_ylabel("packets dropped in a second")
    panels[0][0].set_ylim(bottom=0)
    panels[1][0].set_ylabel("utilisation (%)")
    panels[1][0].set_ylim(80, 101)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def _mean_steps(series: list[list[float]], begin_s: float, end_s: float) -> list[float]:
    """The mean step of a stretch, a value for each seed."""
    steps = series[round(begin_s / STEP_S) : round(end_s / STEP_S)]
    return [sum(values) / len(steps) for values in zip(*steps, strict=True)]


def stretch_tables(numbers: Numbers) -> list[FigureTable]:
    """Drops and utilisation by the number of sources."""
    return [
        FigureTable(
            caption=caption,
            heads=(
                "queue",
                *(
                    f"{load}: {begin} to {end} s ({sources} sources)"
                    for load, stretches in _STRETCHES.items()
                    for sources, begin, end in stretches
                ),
            ),
            rows=tuple(
                (
                    queue,
                    *(
                        cell(_mean_steps(numbers[load][queue][key], begin, end), scale)
                        for load, stretches in _STRETCHES.items()
                        for _, begin, end in stretches
                    ),
                )
                for queue in _QUEUES
            ),
        )
        for key, scale, caption in (
            ("drops", 1 / STEP_S, "Packets dropped in a second"),
            ("utilization", 100.0, "Utilisation (%)"),
        )
    ]


def below_all_along(evidence: Evidence) -> list[Check]:
    """Check that VRED drops less with each number of sources."""
    return _checks_against_red(
        evidence, "drops", "packets dropped in a second", Expected(high=0.0), "packets", 1 / STEP_S
    )


def busy_all_along(evidence: Evidence) -> list[Check]:
    """Check that the link is used no less with each number of sources."""
    return _checks_against_red(
        evidence, "utilization", "utilisation", Expected(low=-SLACK), "points", 100.0
    )


def _checks_against_red(
    evidence: Evidence, key: str, quantity: str, expected: Expected, unit: str, scale: float
) -> list[Check]:
    checks = []
    for load, stretches in _STRETCHES.items():
        found = evidence["figures-5-to-8"][load]
        for sources, begin, end in stretches:
            red = _mean_steps(found[RED][key], begin, end)
            checks += [
                Check(
                    quantity=f"{quantity} with VRED less that with RED, {sources} sources",
                    interval=interval(differences(_mean_steps(found[queue][key], begin, end), red)),
                    expected=expected,
                    reading=f"{load}; {queue}",
                    unit=unit,
                    scale=scale,
                )
                for queue in _QUEUES[1:]
            ]
    return checks
