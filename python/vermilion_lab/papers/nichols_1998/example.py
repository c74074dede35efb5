"""The talk's table: one transfer at 1.5 Mbit/s under RED of 1993 and under RED Light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, interval, of_total
from vermilion_lab.papers.nichols_1998.network import LIGHT, LINK, QUEUES, RED, one_transfer
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

PLACES: Final = {
    f"{trip} ms, {limit} packets": (trip, limit)
    for trip in (16, 31, 50, 100)
    for limit in (11, 12, 25)
}
"""Round trips and buffers."""

PUBLISHED: Final = {
    RED: {"median": 6.0, "p95": 10.0, "tail": 0.32},
    LIGHT: {"median": 1.0, "p95": 5.0, "tail": 0.01},
}
_WORDS: Final = {
    "median": ("median of the queue", "packets", 1.0, 1.0),
    "p95": ("95th percentile of the queue", "packets", 1.0, 1.0),
    "tail": ("share of tail drops", "%", 100.0, 0.1),
}
"""Name, unit, scale, and how near is near enough."""


def measure_example(bench: Workbench) -> Numbers:
    """Measure both queues at each round trip with each buffer."""
    bench.expect(len(PLACES) * len(QUEUES) * len(bench.seeds))
    results = bench.run_many(
        {
            f"{place}/{queue}": one_transfer(queue, *where)
            for place, where in PLACES.items()
            for queue in QUEUES
        }
    )
    numbers: Numbers = {}
    for name, found in results.items():
        place, queue = name.split("/")
        drops = of_total(found, LINK, "drops")
        full = of_total(found, LINK, "overflow_drops")
        numbers.setdefault(place, {})[queue] = {
            "median": of_total(found, LINK, "queue_packets.p50"),
            "p95": of_total(found, LINK, "queue_packets.p95"),
            # A run without drops has no share of tail drops.
            "tail": [part / all_ for part, all_ in zip(full, drops, strict=True) if all_ > 0],
            "utilization": of_total(found, LINK, "utilization"),
        }
    return numbers


def draw_example(numbers: Numbers) -> Drawing:
    """A panel for each column of the table, and one for the utilisation."""
    figure, panels = plots.sheet(2, 2, 7.0, sharex=True)
    places = range(len(numbers))
    keys = [*_WORDS, "utilization"]
    heads = (
        "median (packets)",
        "95th percentile (packets)",
        "tail drops (% of drops)",
        "utilisation (%)",
    )
    for axes, key, head in zip(panels.ravel(), keys, heads, strict=True):
        scale = 100.0 if key in {"tail", "utilization"} else 1.0
        for number, queue in enumerate(QUEUES):
            plots.line(
                axes,
                places,
                [numbers[place][queue][key] for place in numbers],
                queue,
                number,
                scale=scale,
                joined=False,
            )
            if key in PUBLISHED[queue]:
                axes.axhline(
                    scale * PUBLISHED[queue][key],
                    color=plots.COLOURS[number],
                    linewidth=1.2,
                    linestyle=(0, (5, 3)),
                    label=f"{queue}, in the talk",
                )
        axes.set_ylabel(head)
        axes.set_ylim(0, 103 if key == "utilization" else None)
        # Each round trip is named once, below the buffer in the middle of its three.
        axes.set_xticks(
            list(places),
            [
                f"{limit}\n{trip} ms" if limit == 12 else f"{limit}"  # noqa: PLR2004 - the middle one
                for trip, limit in PLACES.values()
            ],
        )
        for place in range(3, len(numbers), 3):
            axes.axvline(place - 0.5, color="#DDDDDD", linewidth=0.8)
    for axes in panels[1]:
        axes.set_xlabel("buffer (packets), round trip")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    return figure


def example_tables(numbers: Numbers) -> list[FigureTable]:
    """Tables of all places."""
    return [
        FigureTable(
            caption="One transfer at 1.5 Mbit/s. In the talk: RED 6, 10 and 32 %; RED Light 1, 5 "
            "and 1 %",
            heads=(
                "round trip, buffer",
                "queue",
                "median (packets)",
                "95th percentile (packets)",
                "tail drops (% of drops)",
                "utilisation (%)",
            ),
            rows=tuple(
                (
                    place,
                    queue,
                    cell(found["median"]),
                    cell(found["p95"]),
                    cell(found["tail"], 100.0),
                    cell(found["utilization"], 100.0),
                )
                for place, by_queue in numbers.items()
                for queue, found in by_queue.items()
            ),
        )
    ]


def near_the_table(evidence: Evidence, queue: str) -> list[Check]:
    """Check each of the three numbers at each place."""
    return [
        Check(
            quantity=quantity,
            interval=interval(by_queue[queue][key]),
            expected=Expected(
                max(0.0, PUBLISHED[queue][key] - slack), PUBLISHED[queue][key] + slack
            ),
            reading=place,
            unit=unit,
            scale=scale,
        )
        for place, by_queue in evidence["table"].items()
        for key, (quantity, unit, scale, slack) in _WORDS.items()
    ]


def light_shorter(evidence: Evidence) -> list[Check]:
    """A shorter queue, and next to no tail drops, whatever the place."""
    checks = []
    for place, by_queue in evidence["table"].items():
        red, light = by_queue[RED], by_queue[LIGHT]
        checks += [
            Check(
                quantity=f"{_WORDS[key][0]}, RED Light less RED",
                interval=interval([a - b for a, b in zip(light[key], red[key], strict=True)]),
                expected=Expected(high=0.0),
                reading=place,
                unit="packets",
            )
            for key in ("median", "p95")
        ]
        checks.append(
            Check(
                quantity="share of tail drops with RED Light",
                interval=interval(light["tail"]),
                expected=Expected(high=0.01),
                reading=place,
                unit="%",
                scale=100.0,
            )
        )
    return checks
