"""Table 1: packets dropped and the use of the link in 100 s, under every reading."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.jamali_2013.settings import (
    AS_PUBLISHED,
    DROP_TAIL,
    LINK,
    READINGS,
    RED,
    SCENARIOS,
    SETTINGS,
    SLACK,
    queues,
    scenario_of,
)
from vermilion_lab.papers.measures import cell, differences, interval, of_total
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

PUBLISHED: Final = dict(zip(SCENARIOS, ((2974, 2511), (3333, 2747)), strict=True))
"""Packets dropped by RED and by VRED, of the paper."""

_NEAR_COUNT: Final = 0.1
_NEAR_SAVING: Final = 0.25


def measure_totals(bench: Workbench) -> Numbers:
    """Measure every scenario, setting of ns-2 and queue."""
    names = list(product(SCENARIOS, SETTINGS, queues()))
    bench.expect(len(names) * len(bench.seeds))
    results = bench.run_many({"/".join(name): scenario_of(*name) for name in names})
    numbers: Numbers = {}
    for (load, settings, queue), found in zip(names, results.values(), strict=True):
        numbers.setdefault(load, {}).setdefault(settings, {})[queue] = {
            key: of_total(found, LINK, metric)
            for key, metric in (
                ("drops", "drops"),
                ("forced", "forced_drops"),
                ("utilization", "utilization"),
                ("queue", "queue_packets.mean"),
            )
        }
    return numbers


def _change(found: dict[str, Any], queue: str) -> list[float]:
    """Drops of a queue against RED's, seed by seed: the change as a share of RED's mean."""
    red = found[RED]["drops"]
    mean = sum(red) / len(red)
    return [value / mean for value in differences(found[queue]["drops"], red)]


def draw_totals(numbers: Numbers) -> Drawing:
    """Draw for each scenario the drops (above) and their ratio to RED's (below)."""
    figure, panels = plots.sheet(2, 2, 7.0, sharey="row")
    places = range(len(SETTINGS))
    for column, (load, by_settings) in enumerate(numbers.items()):
        upper, lower = panels[0][column], panels[1][column]
        for number, queue in enumerate(queues()):
            drops = [by_settings[settings][queue]["drops"] for settings in SETTINGS]
            moved = [place + 0.1 * (number - 3.5) for place in places]
            plots.line(upper, moved, drops, queue, number, joined=False)
            if queue not in {RED, DROP_TAIL}:
                changes = [_change(by_settings[settings], queue) for settings in SETTINGS]
                plots.line(lower, moved, changes, queue, number, scale=100.0, joined=False)
        red, vred = PUBLISHED[load]
        for axes, levels in ((upper, (red, vred)), (lower, (100 * (vred / red - 1),))):
            for level in levels:
                axes.axhline(level, color="#222222", linewidth=1.1, linestyle=(0, (5, 3)))
        for axes, place, level, words, side in (
            (upper, 3.45, red, "paper: RED", "bottom"),
            (upper, 3.45, vred, "paper: VRED", "top"),
            (lower, -0.45, 100 * (vred / red - 1), "paper: VRED", "top"),
        ):
            axes.annotate(
                words,
                (place, level),
                (0, 2 if side == "bottom" else -3),
                textcoords="offset points",
                ha="right" if place > 0 else "left",
                va=side,
                fontsize=9,
            )
        lower.axhline(0.0, color="#767676", linewidth=0.8)
        upper.set_title(load, fontsize=10.5)
        for axes in (upper, lower):
            axes.set_xlim(-0.5, 3.5)
            axes.set_xticks(
                list(places),
                [name.replace(", ", ",\n").replace(" and ", "\nand ") for name in SETTINGS],
            )
            axes.tick_params(axis="x", labelsize=8.5)
    panels[0][0].set_ylabel("packets dropped in 100 s")
    panels[0][0].set_ylim(bottom=0)
    panels[1][0].set_ylabel("drops against RED (%)")
    panels[1][0].set_ylim(-30, 10)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def total_tables(numbers: Numbers) -> list[FigureTable]:
    """A table for each scenario."""
    return [
        FigureTable(
            caption=f"{load}: the paper has {PUBLISHED[load][0]} drops of RED and "
            f"{PUBLISHED[load][1]} of VRED",
            heads=(
                "ns-2",
                "queue",
                "drops",
                "of these forced",
                "against RED (%)",
                "most favourable pair of runs (%)",
                "utilisation (%)",
                "mean queue (packets)",
            ),
            rows=tuple(
                (
                    settings,
                    queue,
                    cell(found["drops"]),
                    cell(found["forced"]),
                    "" if queue == RED else cell(_change(by_queue, queue), 100.0),
                    "" if queue == RED else f"{100 * _lowest_change(by_queue, queue):.1f}",
                    cell(found["utilization"], 100.0),
                    cell(found["queue"]),
                )
                for settings, by_queue in by_settings.items()
                for queue, found in by_queue.items()
            ),
        )
        for load, by_settings in numbers.items()
    ]


def _lowest_change(found: dict[str, Any], queue: str) -> float:
    """The lowest change of drops between any run of a queue and any of RED's.

    The paper has one run of each; this is the best that one pair of runs could have shown.
    """
    return float(min(found[queue]["drops"]) / max(found[RED]["drops"]) - 1.0)


def red_counts(evidence: Evidence) -> list[Check]:
    """RED's drops are near the published ones."""
    return [
        Check(
            quantity=f"packets dropped by RED, {load}",
            interval=interval(by_queue[RED]["drops"]),
            expected=Expected(
                (1 - _NEAR_COUNT) * PUBLISHED[load][0], (1 + _NEAR_COUNT) * PUBLISHED[load][0]
            ),
            reading=settings,
        )
        for load, by_settings in evidence["table-1"].items()
        for settings, by_queue in by_settings.items()
    ]


def _changes(evidence: Evidence, load: str, expected: Expected) -> list[Check]:
    return [
        Check(
            quantity="drops of VRED against RED",
            interval=interval(_change(by_queue, queue)),
            expected=expected,
            reading=f"{settings}; {queue}",
            unit="%",
            scale=100.0,
        )
        for settings, by_queue in evidence["table-1"][load].items()
        for queue in READINGS
    ]


def saves(evidence: Evidence, load: str) -> list[Check]:
    """About as many drops less as the paper has."""
    red, vred = PUBLISHED[load]
    change = vred / red - 1
    expected = Expected((1 + _NEAR_SAVING) * change, (1 - _NEAR_SAVING) * change)
    return _changes(evidence, load, expected)


def fewer(evidence: Evidence) -> list[Check]:
    """Check that any queue drops less, where RED drops as much as the paper's."""
    return [
        check
        for load in SCENARIOS
        for check in _changes(evidence, load, Expected(high=0.0))
        if check.reading.startswith(f"{AS_PUBLISHED};")
    ]


def busy(evidence: Evidence) -> list[Check]:
    """The link is used no less."""
    return [
        Check(
            quantity=f"utilisation with VRED less that with RED, {load}",
            interval=interval(
                differences(by_queue[queue]["utilization"], by_queue[RED]["utilization"])
            ),
            expected=Expected(low=-SLACK),
            reading=f"{settings}; {queue}",
            unit="points",
            scale=100.0,
        )
        for load, by_settings in evidence["table-1"].items()
        for settings, by_queue in by_settings.items()
        for queue in READINGS
    ]


def longer_queue(evidence: Evidence) -> list[Check]:
    """Check that losses depend on how many packets the queue holds."""
    return [
        Check(
            quantity=f"drops of drop-tail against RED, {load}",
            interval=interval(_change(by_settings[AS_PUBLISHED], DROP_TAIL)),
            expected=Expected(high=PUBLISHED[load][1] / PUBLISHED[load][0] - 1),
            reading=AS_PUBLISHED,
            unit="%",
            scale=100.0,
        )
        for load, by_settings in evidence["table-1"].items()
    ]
