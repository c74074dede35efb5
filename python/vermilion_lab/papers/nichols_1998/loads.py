"""Long transfers, alone and among mice: the queue, its density, and how packets are dropped."""

from __future__ import annotations

from itertools import pairwise, product
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final

from vermilion.simulate import mean_interval
from vermilion_lab.papers import plots
from vermilion_lab.papers.interface import FigureTable
from vermilion_lab.papers.measures import cell, differences, interval, of_total
from vermilion_lab.papers.nichols_1998.network import (
    LIGHT,
    LINK,
    LOADS,
    MICE,
    PACKET_BITS,
    QUEUE,
    QUEUES,
    RATES,
    RED,
    TRANSFERS_AT,
    load,
    pipe,
)
from vermilion_lab.papers.verdict import Check, Expected

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.interface import Evidence, Numbers
    from vermilion_lab.papers.workbench import Workbench

_TEN_S: Final = (20.0, 30.0)
_GAP_PROBE_S: Final = 0.001
_DENSITY_PROBE_S: Final = 0.005
_BINS: Final = 25
_READINGS: Final = {
    "as in the talk": (0.1, 1),
    "buffer of 200 ms": (0.1, 2),
    "maximum probability 0.02": (0.02, 1),
}
"""RED's maximum probability, and the buffer in bandwidth-delay products of 100 ms."""

_PERSISTENT: Final = 0.3
"""The part of a bandwidth-delay product below which the talk wants the queue that persists."""


def measure_gaps(bench: Workbench) -> Numbers:
    """25 long transfers at 10 Mbit/s: the queue and the packets between drops."""
    bench.expect(len(LOADS) * len(QUEUES) * len(bench.seeds))
    numbers: Numbers = {}
    for kind, queue in product(LOADS, QUEUES):
        found: Numbers = {"queue": [], "sd": [], "gap": [], "variation": []}
        for result in bench.traces(load(kind, 10.0, 25, queue), _GAP_PROBE_S):
            summary = result.link(LINK).total["queue_packets"]
            found["queue"].append(summary["mean"])
            found["sd"].append(summary["sd"])
            series = result.series(LINK)
            times, gaps = packets_between_drops(series)
            settled = [gap for time, gap in zip(times, gaps, strict=True) if time >= _TEN_S[0]]
            found["gap"].append(fmean(settled))
            found["variation"].append(stdev(settled) / fmean(settled))
            if "trace" not in found:
                begin, end = (round(time / _GAP_PROBE_S) for time in _TEN_S)
                points = slice(begin, end, 10)
                shown = [at for at, time in enumerate(times) if _TEN_S[0] <= time < _TEN_S[1]]
                found["trace"] = {
                    "time_s": series["time_s"][points].round(6).tolist(),
                    "queue": series["queue_packets"][points].tolist(),
                    "drop_s": [round(times[at], 6) for at in shown],
                    "gap": [gaps[at] for at in shown],
                }
        numbers.setdefault(kind, {})[queue] = found
    return numbers


def packets_between_drops(series: Any) -> tuple[list[float], list[float]]:  # noqa: ANN401 - arrays by name
    """Times of drops, and the number of arrivals since the previous drop.

    To within the packets of a millisecond; of several drops in one, all but the first follow
    the one before at once.
    """
    drops = series["drops"]
    arrived = series["arrivals"].cumsum()
    times: list[float] = []
    at: list[float] = []
    for point in drops.nonzero()[0]:
        count = int(drops[point])
        times += [float(series["time_s"][point])] * count
        at += [float(arrived[point]) - later for later in reversed(range(count))]
    return times[1:], [after - before for before, after in pairwise(at)]


def draw_gaps(numbers: Numbers) -> Drawing:
    """Ten seconds: queues above, packets between drops below, for each load."""
    figure, panels = plots.sheet(4, 2, 9.2, sharex=True, sharey="row")
    for row, (kind, by_queue) in enumerate(numbers.items()):
        for column, (queue, found) in enumerate(by_queue.items()):
            trace = found["trace"]
            upper, lower = panels[2 * row][column], panels[2 * row + 1][column]
            plots.trace(upper, trace["time_s"], trace["queue"], "queue", column, 0.6)
            upper.set_title(f"{queue}, {kind}", fontsize=10.5)
            lower.plot(
                trace["drop_s"],
                trace["gap"],
                linestyle="none",
                marker=plots.MARKERS[column],
                markersize=2.2,
                color=plots.COLOURS[column],
            )
            lower.set_yscale("log")
            upper.set_xlim(*_TEN_S)
        panels[2 * row][0].set_ylabel("queue (packets)")
        panels[2 * row + 1][0].set_ylabel("packets\nbetween drops")
    for axes in panels[-1]:
        axes.set_xlabel("time (s)")
    return figure


def gap_tables(numbers: Numbers) -> list[FigureTable]:
    """Queue and drops of each load."""
    return [
        FigureTable(
            caption="25 long transfers at 10 Mbit/s",
            heads=(
                "load",
                "queue",
                "mean queue (packets)",
                "standard deviation (packets)",
                "packets between drops",
                "their coefficient of variation",
            ),
            rows=tuple(
                (kind, queue, *(cell(found[key]) for key in ("queue", "sd", "gap", "variation")))
                for kind, by_queue in numbers.items()
                for queue, found in by_queue.items()
            ),
        )
    ]


def spread_evenly(evidence: Evidence) -> list[Check]:
    """Drops come more regularly with RED Light."""
    return _light_less_red(
        evidence, "variation", "coefficient of variation of the packets between drops", "", 0.0
    )


def fewer_by_gap(evidence: Evidence) -> list[Check]:
    """Check that more packets pass between drops with RED Light."""
    return [
        Check(
            quantity="packets between drops, RED Light less RED",
            interval=interval(differences(by_queue[LIGHT]["gap"], by_queue[RED]["gap"])),
            expected=Expected(low=0.0),
            reading=kind,
            unit="packets",
        )
        for kind, by_queue in evidence["long-and-mice"].items()
    ]


def _light_less_red(
    evidence: Evidence, key: str, quantity: str, unit: str, highest: float
) -> list[Check]:
    return [
        Check(
            quantity=f"{quantity}, RED Light less RED",
            interval=interval(differences(by_queue[LIGHT][key], by_queue[RED][key])),
            expected=Expected(high=highest),
            reading=kind,
            unit=unit,
        )
        for kind, by_queue in evidence["long-and-mice"].items()
    ]


def measure_densities(bench: Workbench) -> Numbers:
    """The share of time at each queue size, at three rates with both loads."""
    bench.expect(len(RATES) * len(LOADS) * len(QUEUES) * len(bench.seeds))
    numbers: Numbers = {}
    for kind, rate, queue in product(LOADS, RATES, QUEUES):
        width = max(1, pipe(rate) // _BINS)
        found: Numbers = {"density": [], "median": [], "utilization": [], "width": width}
        for result in bench.traces(
            load(kind, rate, TRANSFERS_AT[rate][1], queue), _DENSITY_PROBE_S
        ):
            window = result.link(LINK).total
            found["median"].append(window["queue_packets"]["p50"])
            found["utilization"].append(window["utilization"])
            series = result.series(LINK)
            sizes = series["queue_packets"][series["time_s"] > window["start_s"]]
            bins = (sizes // width).astype(int)
            found["density"].append(
                [
                    float((bins == number).mean()) / width
                    for number in range(pipe(rate) // width + 1)
                ]
            )
        numbers.setdefault(kind, {}).setdefault(f"{rate:g}", {})[queue] = found
    return numbers


def draw_densities(numbers: Numbers) -> Drawing:
    """A row for each load, a column for each rate."""
    figure, panels = plots.sheet(2, 3, 6.4, sharex="col")
    for row, (kind, by_rate) in enumerate(numbers.items()):
        for column, (rate, by_queue) in enumerate(by_rate.items()):
            axes = panels[row][column]
            for number, (queue, found) in enumerate(by_queue.items()):
                width = found["width"]
                bins = [mean_interval(values) for values in zip(*found["density"], strict=True)]
                middles = [width * (place + 0.5) - 0.5 for place in range(len(bins))]
                means = [100 * found_bin.mean for found_bin in bins]
                errors = [100 * (found_bin.half_width or 0.0) for found_bin in bins]
                axes.plot(
                    middles,
                    means,
                    color=plots.COLOURS[number],
                    linewidth=1.5,
                    label=queue,
                    marker=plots.MARKERS[number],
                    markersize=3,
                )
                axes.fill_between(
                    middles,
                    [max(0.0, mean - error) for mean, error in zip(means, errors, strict=True)],
                    [mean + error for mean, error in zip(means, errors, strict=True)],
                    color=plots.COLOURS[number],
                    alpha=0.25,
                    linewidth=0,
                )
            axes.axvline(20, color="#767676", linewidth=0.8, linestyle=(0, (2, 2)))
            axes.set_title(f"{rate} Mbit/s, {kind}", fontsize=10.5)
            axes.set_xlim(-0.5, pipe(float(rate)) + 0.5)
            axes.set_ylim(bottom=0)
        panels[row][0].set_ylabel("time at a size (% per packet)")
    for axes in panels[-1]:
        axes.set_xlabel("queue (packets)")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    return figure


def density_tables(numbers: Numbers) -> list[FigureTable]:
    """Medians and the use of the link."""
    return [
        FigureTable(
            caption="Long transfers at three rates; the buffer is a bandwidth-delay product",
            heads=(
                "load",
                "Mbit/s; transfers",
                "queue",
                "median (packets)",
                "median (ms)",
                "utilisation (%)",
            ),
            rows=tuple(
                (
                    kind,
                    f"{rate}; {TRANSFERS_AT[float(rate)][1]}",
                    queue,
                    cell(found["median"]),
                    cell(found["median"], PACKET_BITS / (float(rate) * 1e3)),
                    cell(found["utilization"], 100.0),
                )
                for kind, by_rate in numbers.items()
                for rate, by_queue in by_rate.items()
                for queue, found in by_queue.items()
            ),
        )
    ]


def persistent_queue(evidence: Evidence) -> list[Check]:
    """Check that at most 30 % of the bandwidth-delay product persist, and the link is used."""
    checks = []
    for kind, by_rate in evidence["densities"].items():
        for rate, by_queue in by_rate.items():
            found = by_queue[LIGHT]
            size = pipe(float(rate))
            checks += [
                Check(
                    quantity="median queue over the bandwidth-delay product",
                    interval=interval([median / size for median in found["median"]]),
                    expected=Expected(high=_PERSISTENT),
                    reading=f"{rate} Mbit/s, {kind}",
                    unit="%",
                    scale=100.0,
                ),
                Check(
                    quantity="utilisation",
                    interval=interval(found["utilization"]),
                    expected=Expected(low=0.9),
                    reading=f"{rate} Mbit/s, {kind}",
                    unit="%",
                    scale=100.0,
                ),
            ]
    return checks


def busier_when_fast(evidence: Evidence) -> list[Check]:
    """Thresholds in packets starve links that are faster than they were made for."""
    return [
        Check(
            quantity="utilisation, RED Light less RED",
            interval=interval(
                differences(by_queue[LIGHT]["utilization"], by_queue[RED]["utilization"])
            ),
            expected=Expected(low=0.0),
            reading=f"{rate} Mbit/s, {kind}",
            unit="points",
            scale=100.0,
        )
        for kind, by_rate in evidence["densities"].items()
        for rate, by_queue in by_rate.items()
        if rate != f"{RATES[0]:g}"
    ]


def measure_reasons(bench: Workbench) -> Numbers:
    """RED of 1993 with few, more and many transfers: which of its drops are early ones."""
    places = {
        f"{rate:g} Mbit/s, {transfers}{' and mice' if LOADS[kind] == MICE else ''}": (
            kind,
            rate,
            transfers,
        )
        for kind, rate in product(LOADS, RATES)
        for transfers in TRANSFERS_AT[rate]
    }
    names = list(product(_READINGS, places))
    bench.expect(len(names) * len(bench.seeds))
    scenarios = {}
    for reading, place in names:
        probability, buffers = _READINGS[reading]
        scenarios[f"{reading}/{place}"] = load(*places[place], RED, buffers).with_values(
            {f"{QUEUE}.max_probability": probability}
        )
    numbers: Numbers = {}
    for (reading, place), found in zip(names, bench.run_many(scenarios).values(), strict=True):
        numbers.setdefault(reading, {})[place] = {
            key: of_total(found, LINK, metric)
            for key, metric in (
                ("drops", "drops"),
                ("forced", "forced_drops"),
                ("full", "overflow_drops"),
                ("rate", "drop_rate"),
                ("average", "average_queue_packets.mean"),
            )
        }
    return numbers


def _shares(found: dict[str, list[float]], *keys: str) -> list[float]:
    """Share of these reasons in all drops; runs without a drop have none."""
    return [
        sum(found[key][seed] for key in keys) / drops
        for seed, drops in enumerate(found["drops"])
        if drops > 0
    ]


def draw_reasons(numbers: Numbers) -> Drawing:
    """A bar for each load, in two parts; a panel for each reading."""
    figure, panels = plots.sheet(1, len(numbers), 5.6, sharey=True)
    for axes, (reading, shown) in zip(panels[0], numbers.items(), strict=True):
        places = list(range(len(shown)))
        left = [0.0] * len(shown)
        for number, (key, words) in enumerate(
            (("full", "buffer full"), ("forced", "average above 20 packets"))
        ):
            means = [100 * fmean(_shares(found, key) or [0.0]) for found in shown.values()]
            axes.barh(places, means, left=left, color=plots.COLOURS[number], label=words)
            left = [before + mean for before, mean in zip(left, means, strict=True)]
        whole = [interval(_shares(found, "full", "forced")) for found in shown.values()]
        axes.errorbar(
            left,
            places,
            xerr=[100 * ((found and found.half_width) or 0.0) for found in whole],
            color="#222222",
            linestyle="none",
            capsize=2.5,
        )
        axes.axvline(50, color="#767676", linewidth=0.9, linestyle=(0, (2, 2)))
        axes.set_yticks(places, list(shown))
        axes.tick_params(axis="y", labelsize=8.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of all drops (%)")
        axes.set_title(reading, fontsize=10.5)
    panels[0][0].invert_yaxis()  # the axis is shared: once for both
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    return figure


def reason_tables(numbers: Numbers) -> list[FigureTable]:
    """Tables of all loads."""
    return [
        FigureTable(
            caption="Drops of RED of 1993",
            heads=(
                "reading",
                "long transfers",
                "drop rate (%)",
                "average (packets)",
                "buffer full (% of drops)",
                "average above 20 (% of drops)",
                "not early (% of drops)",
            ),
            rows=tuple(
                (
                    reading,
                    place,
                    cell(found["rate"], 100.0),
                    cell(found["average"]),
                    cell(_shares(found, "full"), 100.0),
                    cell(_shares(found, "forced"), 100.0),
                    cell(_shares(found, "full", "forced"), 100.0),
                )
                for reading, by_place in numbers.items()
                for place, found in by_place.items()
            ),
        )
    ]


def mostly_forced(evidence: Evidence) -> list[Check]:
    """Check that more than half of the drops are forced."""
    return [
        Check(
            quantity="share of drops that are not early",
            interval=interval(_shares(found, "full", "forced")),
            expected=Expected(low=0.5),
            reading=f"{reading}: {place}",
            unit="%",
            scale=100.0,
        )
        for reading, by_place in evidence["forced-drops"].items()
        for place, found in by_place.items()
    ]
