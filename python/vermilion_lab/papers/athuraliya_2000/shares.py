"""Figure 6: shares of the throughput against propagation delay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.athuraliya_2000.network import (
    DELAY_READINGS,
    DELAYS,
    DELAYS_MS,
    REDS,
    REM_SOURCES,
    SIGNALS,
    red,
    rem,
    rem_sender,
    replaced,
)
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, goodput, interval
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench


def _share_readings() -> dict[str, Scenario]:
    base = load_scenario(DELAYS)
    readings = {}
    for trip, factor in DELAY_READINGS.items():
        placed = base.with_values(
            {f"flows.delay-{delay}.rtt": f"{factor * delay} ms" for delay in DELAYS_MS}
        )
        for dialect in REDS:
            for signal, ecn in SIGNALS.items():
                readings[f"Reno, {dialect}, {signal}, {trip}"] = replaced(
                    placed, red(dialect), {"congestion_control": "reno", "ecn": ecn}
                )
        for phi, adjustment in REM_SOURCES:
            readings[f"REM, phi {phi:g}, {adjustment}, {trip}"] = replaced(
                placed, rem(phi), rem_sender(phi, adjustment)
            )
    return readings


def measure_shares(bench: Workbench) -> Numbers:
    """Goodput of six sources in each reading."""
    readings = _share_readings()
    bench.expect(len(readings) * len(bench.seeds))
    results = bench.run_many(readings)
    return {"readings": {name: _shares(found) for name, found in results.items()}}


def _shares(results: list[Any]) -> dict[str, object]:
    rates = [goodput(results, f"delay-{delay}") for delay in DELAYS_MS]
    totals = [math.fsum(of_seed) for of_seed in zip(*rates, strict=True)]
    shares = [
        [rate / total for rate, total in zip(of_delay, totals, strict=True)] for of_delay in rates
    ]
    return {
        "shares": shares,
        "ratio": [near / far for near, far in zip(shares[0], shares[-1], strict=True)],
    }


def draw_shares(numbers: Numbers) -> Drawing:
    """Shares against delay, Reno beside REM."""
    figure, panels = plots.sheet(1, 2, 4.9, sharey=True)
    for axes, kind, head in zip(
        panels[0], ("Reno", "REM"), ("Reno sources over RED", "REM sources"), strict=True
    ):
        chosen = [name for name in numbers["readings"] if name.startswith(f"{kind},")]
        if kind == "REM":
            chosen = [name for name in chosen if "immediate" in name and "phi 1.03" not in name]
        for number, name in enumerate(chosen):
            plots.line(
                axes,
                DELAYS_MS,
                numbers["readings"][name]["shares"],
                name.partition(", ")[2],
                number % (len(chosen) // 2),
                scale=100.0,
                dashed="one way" in name,
            )
        axes.axhline(100.0 / len(DELAYS_MS), color="#767676", linewidth=0.8)
        axes.set_title(head)
        axes.set_xlabel("propagation delay (ms)")
        axes.set_xticks(DELAYS_MS)
        axes.legend(fontsize=8.5)
        axes.set_ylim(0, 50)
    panels[0][0].set_ylabel("share of the throughput (%)")
    return figure


def share_tables(numbers: Numbers) -> list[FigureTable]:
    """Shares by reading."""
    return [
        FigureTable(
            caption="Share of the throughput (%) by propagation delay, and nearest over farthest",
            heads=("reading", *(f"{delay} ms" for delay in DELAYS_MS), "ratio"),
            rows=tuple(
                (name, *(cell(values, 100.0) for values in found["shares"]), cell(found["ratio"]))
                for name, found in numbers["readings"].items()
            ),
        )
    ]


def reno_unfair(evidence: Evidence) -> list[Check]:
    """Near sources get at least twice what far ones get."""
    return _ratio_checks(evidence, "Reno,", Expected(low=2.0))


def rem_fair(evidence: Evidence) -> list[Check]:
    """Near and far get the same within a quarter."""
    return _ratio_checks(evidence, "REM,", Expected(0.8, 1.25))


def _ratio_checks(evidence: Evidence, kind: str, expected: Expected) -> list[Check]:
    return [
        Check(
            quantity="share of the nearest source over that of the farthest",
            interval=interval(found["ratio"]),
            expected=expected,
            reading=name,
        )
        for name, found in evidence["figure-6"]["readings"].items()
        if name.startswith(kind)
    ]
