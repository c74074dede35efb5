"""Loss of 64 connections, compared with the square-root law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, interval, of_total
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

SCENARIO = "papers/feng-1999-loss"
LINK = "bottleneck"
QUEUE = f"links.{LINK}.queue"
SENDER = "flows.sources.sender"

ROUND_TRIPS_MS = (20, 100)
MAX_PROBABILITIES = (0.016, 0.1, 0.25)
DROP_TAIL = "drop-tail"

# --- 64 connections -------------------------------------------------------------------------------


def measure_sixty_four(bench: Workbench) -> Numbers:
    """Drop rate and utilisation of 64 connections with each queue and round trip."""
    scenarios = {}
    for trip in ROUND_TRIPS_MS:
        base = load_scenario(SCENARIO).with_values({"flows.sources.rtt": f"{trip} ms"})
        scenarios[f"{trip} ms/{DROP_TAIL}"] = base.with_values(
            {QUEUE: {"discipline": "drop-tail", "limit": "80 packets"}}
        )
        for most in MAX_PROBABILITIES:
            red = base.with_values({f"{QUEUE}.max_probability": most})
            scenarios[f"{trip} ms/RED {most:g}"] = red
            scenarios[f"{trip} ms/RED {most:g} with ECN"] = red.with_values({f"{SENDER}.ecn": True})
    bench.expect(len(scenarios) * len(bench.seeds))
    results = bench.run_many(scenarios)
    return {
        name: {
            "loss": of_total(found, LINK, "drop_rate"),
            "utilization": of_total(found, LINK, "utilization"),
        }
        for name, found in results.items()
    }


def draw_sixty_four(numbers: Numbers) -> Drawing:
    """Loss by queue, a panel for each round trip."""
    figure, panels = plots.sheet(1, 2, 4.4, sharey=True)
    for axes, trip in zip(panels[0], ROUND_TRIPS_MS, strict=True):
        found = {
            name.partition("/")[2]: values["loss"]
            for name, values in numbers.items()
            if name.startswith(f"{trip} ms/")
        }
        for place, (name, values) in enumerate(found.items()):
            mean = interval(values)
            if mean is None:
                continue
            marked = "ECN" in name
            colour = (
                drawing.GREY if name == DROP_TAIL else drawing.GREEN if marked else drawing.BLUE
            )
            axes.barh(
                place,
                100 * mean.mean,
                xerr=100 * (mean.half_width or 0.0),
                color=colour,
                height=0.65,
                capsize=3,
            )
        axes.set_yticks(range(len(found)), list(found))
        axes.invert_yaxis()
        axes.set_title(f"round trip of {trip} ms")
        axes.set_xlabel("dropped (%)")
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
    return figure


def sixty_four_tables(numbers: Numbers) -> list[FigureTable]:
    """Loss and utilisation."""
    return [
        FigureTable(
            "64 connections",
            ("round trip and queue", "dropped (%)", "utilisation (%)"),
            tuple(
                (
                    name.replace("/", ", "),
                    cell(found["loss"], 100.0),
                    cell(found["utilization"], 100.0),
                )
                for name, found in numbers.items()
            ),
        )
    ]


def loss_is_high(evidence: Evidence) -> list[Check]:
    """Drop-tail and RED alike lose several per cent."""
    return [
        Check(
            quantity=f"dropped, {name.partition('/')[2]}",
            interval=interval(found["loss"]),
            expected=Expected(low=0.03),
            reading=f"{name.partition('/')[0]} round trip",
            unit="%",
            scale=100.0,
        )
        for name, found in evidence["loss-of-64"].items()
        if "ECN" not in name
    ]


def ecn_loses_less(evidence: Evidence) -> list[Check]:
    """Marks instead of drops: at most half the loss."""
    found = evidence["loss-of-64"]
    return [
        Check(
            quantity=f"drops with ECN over those without, max_p {most:g}",
            interval=interval(
                [
                    with_ecn / without
                    for with_ecn, without in zip(
                        found[f"{trip} ms/RED {most:g} with ECN"]["loss"],
                        found[f"{trip} ms/RED {most:g}"]["loss"],
                        strict=True,
                    )
                ]
            ),
            expected=Expected(high=0.5),
            reading=f"{trip} ms round trip",
        )
        for trip in ROUND_TRIPS_MS
        for most in MAX_PROBABILITIES
    ]


def ecn_still_loses(evidence: Evidence) -> list[Check]:
    """ECN alone does not end loss: with a conservative RED it remains."""
    return [
        Check(
            quantity="dropped with ECN, max_p 0.016",
            interval=interval(evidence["loss-of-64"][f"{trip} ms/RED 0.016 with ECN"]["loss"]),
            expected=Expected(low=0.005),
            reading=f"{trip} ms round trip",
            unit="%",
            scale=100.0,
        )
        for trip in ROUND_TRIPS_MS
    ]


# --- the model ------------------------------------------------------------------------------------

CONSTANT = math.sqrt(1.5)
"""Of the square-root law, an acknowledgement for each packet."""

COUNTS = (4, 8, 16, 32, 64)
TRIPS_MS = (20, 50, 100, 200)
SIZES = (500, 1000, 1460)
SENDERS: Final = {"Reno": "reno", "SACK": "sack"}
BYTES_PER_S = 10e6 / 8
VALID_UP_TO = 0.02
"""Loss above which the law is not meant to hold: timeouts."""


def _model_scenario(count: int, trip_ms: int, size: int, sender: str) -> Scenario:
    """The queue holds the same bytes whatever the size of packets."""
    packets = {
        "limit": 80_000 / size,
        "min_threshold": 20_000 / size,
        "max_threshold": 80_000 / size,
    }
    values: dict[str, object] = {
        f"{QUEUE}.{name}": f"{math.floor(value)} packets" for name, value in packets.items()
    }
    return load_scenario(SCENARIO).with_values(
        values
        | {
            "duration": "50 s",
            f"{QUEUE}.mean_packet_size": f"{size} bytes",
            "flows.sources.count": count,
            "flows.sources.rtt": f"{trip_ms} ms",
            "flows.sources.packet_size": f"{size} bytes",
            f"{SENDER}.congestion_control": sender,
        }
    )


def measure_model(bench: Workbench) -> Numbers:
    """Loss and waiting over the grid of N, R and MSS."""
    scenarios = {
        f"{name}/{count}/{trip}/{size}": _model_scenario(count, trip, size, sender)
        for name, sender in SENDERS.items()
        for count in COUNTS
        for trip in TRIPS_MS
        for size in SIZES
    }
    bench.expect(len(scenarios) * len(bench.seeds))
    results = bench.run_many(scenarios)
    return {
        name: {
            "loss": of_total(found, LINK, "drop_rate"),
            "sojourn_ms": of_total(found, LINK, "sojourn_ms.mean"),
        }
        for name, found in results.items()
    }


def _model(count: int, trip_s: float, size: int) -> float:
    """The paper's p = (N MSS C / (L R))^2."""
    return (count * size * CONSTANT / (BYTES_PER_S * trip_s)) ** 2


def _points(numbers: Numbers, sender: str, place: int, *, waiting: bool) -> list[list[float]]:
    """N, R, MSS, measured and foretold loss of one seed at each point of the grid."""
    points = []
    for name, found in numbers.items():
        kind, count, trip, size = name.split("/")
        if kind != sender:
            continue
        trip_s = int(trip) / 1e3 + (found["sojourn_ms"][place] / 1e3 if waiting else 0.0)
        foretold = _model(int(count), trip_s, int(size))
        points.append([int(count), trip_s, int(size), found["loss"][place], foretold])
    return points


def draw_model(numbers: Numbers) -> Drawing:
    """Measured against foretold loss, a panel for each reading of R."""
    figure, panels = plots.sheet(1, 2, 4.8, sharey=True)
    seeds = len(next(iter(numbers.values()))["loss"])
    for axes, waiting in zip(panels[0], (True, False), strict=True):
        for number, sender in enumerate(SENDERS):
            of_seeds = [_points(numbers, sender, k, waiting=waiting) for k in range(seeds)]
            foretold = [
                math.fsum(points[i][4] for points in of_seeds) / seeds
                for i in range(len(of_seeds[0]))
            ]
            measured = [
                math.fsum(points[i][3] for points in of_seeds) / seeds
                for i in range(len(of_seeds[0]))
            ]
            axes.plot(
                foretold,
                measured,
                linestyle="none",
                marker=plots.MARKERS[number],
                color=plots.COLOURS[number],
                markersize=5,
                alpha=0.8,
                label=sender,
            )
        ends = (1e-5, 10.0)
        axes.plot(ends, ends, color=drawing.INK, linewidth=1.0, label="equal")
        axes.axvline(VALID_UP_TO, color=drawing.GREY, linewidth=0.9, linestyle=(0, (2, 2)))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1e-5, 30)
        axes.set_ylim(1e-5, 1)
        axes.set_xlabel("loss foretold by the model")
        axes.set_title("R with waiting" if waiting else "R without waiting")
        axes.legend(loc="lower right")
    panels[0][0].set_ylabel("loss measured")
    return figure


def model_fits(evidence: Evidence) -> list[Check]:
    """Within a factor of two on the average of the points for which it is meant."""
    numbers = evidence["loss-model"]
    seeds = len(next(iter(numbers.values()))["loss"])
    checks = []
    for sender in SENDERS:
        for waiting in (True, False):
            ratios = []
            for place in range(seeds):
                logs = [
                    math.log2(measured / foretold)
                    for *_, measured, foretold in _points(numbers, sender, place, waiting=waiting)
                    if foretold <= VALID_UP_TO and measured > 0
                ]
                ratios.append(math.fsum(logs) / len(logs))
            checks.append(
                Check(
                    quantity="log2 of measured over foretold loss, mean where at most 2 % is "
                    "foretold",
                    interval=interval(ratios),
                    expected=Expected(-1.0, 1.0),
                    reading=f"{sender}, R {'with' if waiting else 'without'} waiting",
                )
            )
    return checks


def model_exponents(evidence: Evidence) -> list[Check]:
    """Loss grows between linearly and quadratically with N, 1/R and MSS."""
    import numpy as np

    numbers = evidence["loss-model"]
    seeds = len(next(iter(numbers.values()))["loss"])
    checks = []
    for sender in SENDERS:
        slopes = []
        for place in range(seeds):
            points = np.array(_points(numbers, sender, place, waiting=True))
            points = points[points[:, 3] > 0]
            logs = np.log(points)
            design = np.column_stack([np.ones(len(logs)), logs[:, 0], -logs[:, 1], logs[:, 2]])
            slopes.append(np.linalg.lstsq(design, logs[:, 3], rcond=None)[0][1:])
        checks += [
            Check(
                quantity=f"exponent of {what} in the loss",
                interval=interval([float(slope[k]) for slope in slopes]),
                expected=Expected(1.0, 2.0),
                reading=f"{sender}, all points",
            )
            for k, what in enumerate(("N", "1/R", "MSS"))
        ]
    return checks
