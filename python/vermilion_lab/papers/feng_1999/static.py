"""Settings that never change: too aggressive for few sources or too conservative for many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario import load_scenario
from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, differences, interval, of_total
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion.scenario import Scenario
    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

SCENARIO = "papers/feng-1999-static"
LINK = "bottleneck"
QUEUE = f"links.{LINK}.queue"

AGGRESSIVE = 0.25
CONSERVATIVE = 0.016
TEMPERS: Final = {"aggressive": AGGRESSIVE, "conservative": CONSERVATIVE}

ROUND_TRIPS: Final[dict[str, object]] = {
    "32 ms": "32 ms",
    "14 to 212 ms": ["14 ms", "22 ms", "22 ms", "22 ms", "212 ms"],
    "232 ms": "232 ms",
}
"""1 + 5 + 5 + 5 ms one way; a site behind each of the links; and all of them in a row."""

LIMITS = (80, 120)
COUNTS = (8, 32)
DRAWN = (
    ("aggressive", 8, 80),
    ("aggressive", 32, 80),
    ("conservative", 8, 80),
    ("conservative", 32, 80),
    ("aggressive", 32, 120),
    ("conservative", 32, 120),
)


def _scenario(trip: str, temper: str, count: int, limit: int) -> Scenario:
    return load_scenario(SCENARIO).with_values(
        {
            "flows.sources.rtt": ROUND_TRIPS[trip],
            "flows.sources.count": count,
            f"{QUEUE}.max_probability": TEMPERS[temper],
            f"{QUEUE}.limit": f"{limit} packets",
        }
    )


def measure_static(bench: Workbench) -> Numbers:
    """Measure both tempers with few and many sources, on both queues, in each reading."""
    scenarios = {
        f"{trip}/{temper}/{count}/{limit}": _scenario(trip, temper, count, limit)
        for trip in ROUND_TRIPS
        for temper in TEMPERS
        for count in COUNTS
        for limit in LIMITS
    }
    bench.expect(len(scenarios) * len(bench.seeds) + len(DRAWN))
    results = bench.run_many(scenarios)
    numbers: Numbers = {
        name: {
            "loss": of_total(found, LINK, "drop_rate"),
            "utilization": of_total(found, LINK, "utilization"),
            "queue": of_total(found, LINK, "queue_packets.mean"),
            "p5": of_total(found, LINK, "queue_packets.p5"),
        }
        for name, found in results.items()
    }
    traces = {}
    for temper, count, limit in DRAWN:
        series = bench.first_trace(_scenario("32 ms", temper, count, limit), 0.02).series(LINK)
        shown = slice(1000, 1500)  # 20 to 30 s
        traces[f"{temper}, {count} sources, {limit} KB"] = {
            "time_s": series["time_s"][shown].round(6).tolist(),
            "queue": series["queue_packets"][shown].tolist(),
        }
    return {"readings": numbers, "traces": traces}


def draw_static(numbers: Numbers) -> Drawing:
    """Ten seconds of each queue."""
    figure, panels = plots.sheet(3, 2, 8.0, sharex=True, sharey=True)
    for axes, (name, trace) in zip(panels.ravel(), numbers["traces"].items(), strict=True):
        limit = float(name.rpartition(", ")[2].removesuffix(" KB"))
        plots.trace(axes, trace["time_s"], trace["queue"], "queue", 0, 0.9)
        axes.axhline(limit, color="#D55E00", linewidth=1.2, linestyle=(0, (5, 3)))
        axes.set_title(name, fontsize=10.5)
        axes.set_ylim(-2, 126)
        axes.set_xlim(20, 30)
    for row in panels:
        row[0].set_ylabel("queue (KB)")
    for axes in panels[-1]:
        axes.set_xlabel("time (s)")
    return figure


def static_tables(numbers: Numbers) -> list[FigureTable]:
    """Tables of all readings."""
    return [
        FigureTable(
            "RED whose settings never change",
            (
                "path, temper, sources, queue (KB)",
                "dropped (%)",
                "utilisation (%)",
                "mean queue (KB)",
                "5th percentile (KB)",
            ),
            tuple(
                (
                    name.replace("/", ", "),
                    cell(found["loss"], 100.0),
                    cell(found["utilization"], 100.0),
                    cell(found["queue"]),
                    cell(found["p5"]),
                )
                for name, found in numbers["readings"].items()
            ),
        )
    ]


def aggressive_empties(evidence: Evidence) -> list[Check]:
    """Check that with 8 sources the aggressive queue runs empty and the link is not full."""
    checks = []
    readings = evidence["static"]["readings"]
    for trip in ROUND_TRIPS:
        for limit in LIMITS:
            found = readings[f"{trip}/aggressive/8/{limit}"]
            gentle = readings[f"{trip}/conservative/8/{limit}"]
            checks += [
                Check(
                    quantity="utilisation, 8 sources, aggressive",
                    interval=interval(found["utilization"]),
                    expected=Expected(high=0.98),
                    reading=f"{trip}, {limit} KB",
                    unit="%",
                    scale=100.0,
                ),
                Check(
                    quantity="utilisation, 8 sources, conservative less aggressive",
                    interval=interval(differences(gentle["utilization"], found["utilization"])),
                    expected=Expected(low=0.0),
                    reading=f"{trip}, {limit} KB",
                    unit="%",
                    scale=100.0,
                ),
            ]
    return checks


def conservative_overflows(evidence: Evidence) -> list[Check]:
    """Check that with 32 sources only the conservative queue overflows."""
    checks = []
    readings = evidence["static"]["readings"]
    for trip in ROUND_TRIPS:
        for limit in LIMITS:
            found = readings[f"{trip}/conservative/32/{limit}"]
            other = readings[f"{trip}/aggressive/32/{limit}"]
            checks += [
                Check(
                    quantity="dropped, 32 sources, conservative",
                    interval=interval(found["loss"]),
                    expected=Expected(low=0.001),
                    reading=f"{trip}, {limit} KB",
                    unit="%",
                    scale=100.0,
                ),
                Check(
                    quantity="dropped, 32 sources, conservative less aggressive",
                    interval=interval(differences(found["loss"], other["loss"])),
                    expected=Expected(low=0.0),
                    reading=f"{trip}, {limit} KB",
                    unit="%",
                    scale=100.0,
                ),
            ]
    return checks


# --- against the number of sources ----------------------------------------------------------------

MANY = (8, 16, 24, 32, 48, 64)
GATEWAYS: Final[dict[str, dict[str, object]]] = {
    "aggressive": {"max_probability": AGGRESSIVE},
    "conservative": {"max_probability": CONSERVATIVE},
    "self-configuring": {"discipline": "self-configuring-red", "max_probability": 0.1},
}


def measure_counts(bench: Workbench) -> Numbers:
    """Loss and utilisation of each gateway with 8 to 64 sources, 120 KB."""
    base = load_scenario(SCENARIO).with_values({f"{QUEUE}.limit": "120 packets"})
    scenarios = {
        f"{trip}/{gateway}/{count}": base.with_values(
            {
                "flows.sources.rtt": ROUND_TRIPS[trip],
                "flows.sources.count": count,
                **{f"{QUEUE}.{name}": value for name, value in settings.items()},
            }
        )
        for trip in ROUND_TRIPS
        for gateway, settings in GATEWAYS.items()
        for count in MANY
    }
    bench.expect(len(scenarios) * len(bench.seeds))
    results = bench.run_many(scenarios)
    return {
        f"{trip}/{gateway}": {
            key: [of_total(results[f"{trip}/{gateway}/{count}"], LINK, metric) for count in MANY]
            for key, metric in (("loss", "drop_rate"), ("utilization", "utilization"))
        }
        for trip in ROUND_TRIPS
        for gateway in GATEWAYS
    }


def draw_counts(numbers: Numbers) -> Drawing:
    """Loss above, utilisation below; a column for each path."""
    figure, panels = plots.sheet(2, len(ROUND_TRIPS), 6.4, sharex=True, sharey="row")
    for column, trip in enumerate(ROUND_TRIPS):
        for number, gateway in enumerate(GATEWAYS):
            found = numbers[f"{trip}/{gateway}"]
            plots.line(panels[0][column], MANY, found["loss"], gateway, number, scale=100.0)
            plots.line(panels[1][column], MANY, found["utilization"], gateway, number, scale=100.0)
        panels[0][column].set_title(f"round trip {trip}")
        panels[1][column].set_xlabel("sources")
        panels[1][column].set_xticks(MANY)
    panels[0][0].set_ylabel("dropped (%)")
    panels[1][0].set_ylabel("utilisation (%)")
    panels[0][0].legend(loc="upper left")
    return figure


def count_tables(numbers: Numbers) -> list[FigureTable]:
    """Loss and utilisation by the number of sources."""
    return [
        FigureTable(
            caption,
            ("path, gateway", *(f"{count} sources" for count in MANY)),
            tuple(
                (name.replace("/", ", "), *(cell(values, 100.0) for values in found[key]))
                for name, found in numbers.items()
            ),
        )
        for key, caption in (("loss", "Dropped (%)"), ("utilization", "Utilisation (%)"))
    ]


def no_setting_for_all(evidence: Evidence) -> list[Check]:
    """Check that each static setting is worse than the other somewhere: in use or in loss."""
    checks = []
    for trip in ROUND_TRIPS:
        aggressive = evidence["sources"][f"{trip}/aggressive"]
        conservative = evidence["sources"][f"{trip}/conservative"]
        checks += [
            Check(
                quantity="utilisation with 8 sources, conservative less aggressive",
                interval=interval(
                    differences(conservative["utilization"][0], aggressive["utilization"][0])
                ),
                expected=Expected(low=0.0),
                reading=trip,
                unit="%",
                scale=100.0,
            ),
            Check(
                quantity="dropped with 64 sources, conservative less aggressive",
                interval=interval(differences(conservative["loss"][-1], aggressive["loss"][-1])),
                expected=Expected(low=0.0),
                reading=trip,
                unit="%",
                scale=100.0,
            ),
        ]
    return checks


def self_configuring_range(evidence: Evidence) -> list[Check]:
    """Little loss and a full link, whatever the number of sources."""
    checks = []
    for trip in ROUND_TRIPS:
        found = evidence["sources"][f"{trip}/self-configuring"]
        for place, count in enumerate(MANY):
            checks += [
                Check(
                    quantity=f"dropped with {count} sources, self-configuring",
                    interval=interval(found["loss"][place]),
                    expected=Expected(high=0.005),
                    reading=trip,
                    unit="%",
                    scale=100.0,
                ),
                Check(
                    quantity=f"utilisation with {count} sources, self-configuring",
                    interval=interval(found["utilization"][place]),
                    expected=Expected(low=0.95),
                    reading=trip,
                    unit="%",
                    scale=100.0,
                ),
            ]
    return checks
