"""Price line of on-line runs: goodput and queueing delay in every phase.

The network left alone stands beside the one kept tuned, and beside baselines. What differs from the
network left alone is told from what may be chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from vermilion.files.document import document
from vermilion.objectives.price import PRICE, PriceRow
from vermilion.objectives.windows import flow_windows
from vermilion.report.phases import traffic_of
from vermilion.scenario.errors import ScenarioError
from vermilion.simulate.metric import metric_of
from vermilion.simulate.runs import run_many
from vermilion.simulate.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.objectives.windows import FlowsWindow
    from vermilion.online.entries import OnlineRun
    from vermilion.simulate import Result
    from vermilion.simulate.result_data import LinkMetrics
    from vermilion.simulate.statistics import Interval


@dataclass(frozen=True, slots=True)
class OtherQueue:
    """Another way of managing the queue of an on-line run, for comparison.

    Attributes:
        name: what it is: "drop-tail, limit 30".
        results: the outcome for each seed of the runs, in their order.
    """

    name: str
    results: tuple[Result, ...]


def short_queue(runs: Sequence[OnlineRun]) -> OtherQueue | None:
    """The network of an on-line run with a drop-tail queue of the target's length.

    Args:
        runs: one scenario under different seeds; at least one.

    Returns:
        ``None`` where the goal is not to hold the queue, or the scenario cannot have such a queue:
        a change in it sets a parameter that drop-tail does not have, for example.
    """
    first = runs[0]
    if first.target_packets is None:
        return None
    limit = max(1, round(first.target_packets))
    queue = f"links.{first.link}.queue"
    try:
        scenario = first.scenario.with_values(
            {f"{queue}.discipline": "drop-tail", f"{queue}.limit": limit}
        )
    except ScenarioError:
        return None
    [results] = run_many([scenario], seeds=[run.seed for run in runs])
    return OtherQueue(
        f"drop-tail, limit {limit}", tuple(each for each in results if each is not None)
    )


LEFT_ALONE: Final = "left alone"
KEPT_TUNED: Final = "kept tuned"

ROWS: Final[tuple[PriceRow, ...]] = tuple(
    row for row in PRICE if not row.metric.startswith("queue_packets.")
)
"""The rows of the price that a user of the network feels; how the queue moves is told elsewhere."""

_SPAN: Final = ("sojourn_ms.p5", "sojourn_ms.p95")


@document("p5 p95")
class DelaySpan(NamedTuple):
    """Percentiles of the queueing delay, ms."""

    p5: float
    p95: float


@document(
    "mean=interval.mean low?=interval.low high?=interval.high replications=interval.count"
    " difference.mean? difference.low? difference.high? difference.replications?=difference.count"
    " significant?"
)
@dataclass(frozen=True, slots=True)
class Priced:
    """One number of one setting.

    Attributes:
        interval: over the seeds, in the metric's own unit.
        difference: from the network left alone, seed by seed; ``None`` of that network itself.
    """

    interval: Interval
    difference: Interval | None

    @property
    def changed(self) -> bool:
        """Return whether it differs significantly from the network left alone."""
        return self.difference is not None and self.difference.excludes(0.0)

    @property
    def significant(self) -> bool | None:
        """The same; ``None`` where there are not enough seeds to judge it."""
        return self.changed if self.judged else None

    @property
    def judged(self) -> bool:
        """Return whether there are enough seeds to judge a difference."""
        return self.difference is not None and self.difference.half_width is not None


@dataclass(frozen=True, slots=True)
class PriceLine:
    """Metrics of each setting in one phase.

    Attributes:
        start_s: where measurement began, in seconds.
        end_s: where it ended.
        traffic: the flows then active, in words.
        settings: the network left alone, the one kept tuned, and the baselines, by name.
        waits_ms: for each setting between which times packets wait: the 5th and the 95th
            percentile, means over the seeds; ``None`` where a run has not measured them.
        rows: what is known of every setting, each row with one number per setting.
    """

    start_s: float
    end_s: float
    traffic: str
    settings: tuple[str, ...]
    waits_ms: tuple[DelaySpan | None, ...]
    rows: tuple[tuple[PriceRow, tuple[Priced, ...]], ...]


def price_lines(
    runs: Sequence[OnlineRun], rivals: Sequence[OtherQueue] = ()
) -> tuple[PriceLine, ...]:
    """The price of every phase.

    Args:
        runs: one scenario under different seeds; at least one.
        rivals: other ways of managing the same queue, with a result for each of these seeds.
    """
    first = runs[0]
    settings: dict[str, Sequence[Result]] = {
        LEFT_ALONE: [run.reference for run in runs],
        KEPT_TUNED: [run.tuned for run in runs],
        **{rival.name: rival.results for rival in rivals},
    }
    measured = [[_phases(result, first.link) for result in each] for each in settings.values()]
    lines = []
    for index, window in enumerate(first.reference.link(first.link).phases):
        here = [[phases[index] for phases in each] for each in measured]
        lines.append(
            PriceLine(
                start_s=window["start_s"],
                end_s=window["end_s"],
                traffic=traffic_of(first, index),
                settings=tuple(settings),
                waits_ms=tuple(_span(each) for each in here),
                rows=tuple(_rows(here)),
            )
        )
    return tuple(lines)


def describe_delay(line: PriceLine) -> str:
    """Describe the queueing delay in one sentence; "" if it was not measured."""
    alone, tuned = line.waits_ms[:2]
    if alone is None or tuned is None:
        return ""
    return (
        f"{line.traffic}: {LEFT_ALONE}, packets wait {format_span(alone)}; "
        f"{KEPT_TUNED}, {format_span(tuned)}."
    )


def format_span(span: tuple[float, float]) -> str:
    """Two times in ms: "4.3 to 69 ms"."""
    return " to ".join(_milliseconds(each) for each in span) + "\N{NO-BREAK SPACE}ms"


def describe_price(line: PriceLine) -> str:
    """Describe the other metrics that the tuning changed, and did not, in two sentences."""
    rows = [(row, cells) for row, cells in line.rows if not row.metric.startswith("sojourn_ms.")]
    if not rows:
        return ""
    if not all(cells[1].judged for _, cells in rows):
        return "One seed cannot tell what else changed from what is chance."
    changed = [
        f"{row.label} {in_unit(row, cells[0].interval.mean)} \N{RIGHTWARDS ARROW} "
        f"{in_unit(row, cells[1].interval.mean)} {row.unit}".rstrip()
        for row, cells in rows
        if cells[1].changed
    ]
    kept = [row.label for row, cells in rows if not cells[1].changed]
    words = f"Changed: {'; '.join(changed)}." if changed else "Nothing else changed for certain."
    return f"{words} No sure change: {'; '.join(kept)}." if changed and kept else words


def in_unit(row: PriceRow, value: float, *, signed: bool = False) -> str:
    """A metric's value in the unit of its row, with the decimals of its row."""
    text = f"{value * row.factor:{'+' if signed else ''}.{row.decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}") if float(text) else text.lstrip("+-")


@document("name waits_ms? metrics")
@dataclass(frozen=True, slots=True)
class PricedSetting:
    """A setting over a phase."""

    name: str
    waits_ms: DelaySpan | None
    metrics: dict[str, Priced]


def summary(line: PriceLine) -> str:
    """Describe the queueing delay with plain blanks."""
    return describe_delay(line).replace("\N{NO-BREAK SPACE}", " ")


def plain_traffic(line: PriceLine) -> str:
    """The flows active, with plain blanks."""
    return line.traffic.replace("\N{NO-BREAK SPACE}", " ")


def priced_settings(line: PriceLine) -> list[PricedSetting]:
    """Metrics by setting."""
    return [
        PricedSetting(name, span, {row.metric: cells[place] for row, cells in line.rows})
        for place, (name, span) in enumerate(zip(line.settings, line.waits_ms, strict=True))
    ]


document(
    "start_s end_s traffic=plain_traffic summary?? settings=priced_settings",
    *(plain_traffic, summary, priced_settings),
)(PriceLine)


def _phases(result: Result, link: str) -> list[tuple[LinkMetrics, FlowsWindow]]:
    """Pair the link's and the flows' measurements of each phase."""
    return list(zip(result.link(link).phases, flow_windows(result), strict=False))


def _span(
    windows: Sequence[tuple[LinkMetrics, FlowsWindow]],
) -> DelaySpan | None:
    low, high = (_mean([metric_of(link, metric) for link, _ in windows]) for metric in _SPAN)
    return None if low is None or high is None else DelaySpan(low.mean, high.mean)


def _rows(
    here: Sequence[Sequence[tuple[LinkMetrics, FlowsWindow]]],
) -> list[tuple[PriceRow, tuple[Priced, ...]]]:
    rows = []
    for row in ROWS:
        values = [
            [metric_of(flows if row.of_flows else link, row.metric) for link, flows in each]
            for each in here
        ]
        cells = [
            _price_of(each, None if not place else values[0]) for place, each in enumerate(values)
        ]
        known = tuple(cell for cell in cells if cell is not None)
        nothing_is_marked = row.metric == "mark_rate" and not any(
            cell.interval.mean for cell in known
        )
        if len(known) == len(cells) and not nothing_is_marked:
            rows.append((row, known))
    return rows


def _price_of(
    values: Sequence[float | None], alone: Sequence[float | None] | None
) -> Priced | None:
    interval = _mean(values)
    if interval is None:
        return None
    if alone is None:
        return Priced(interval, None)
    pairs = zip(values, alone, strict=True)
    difference = _mean(
        [None if one is None or other is None else one - other for one, other in pairs]
    )
    return Priced(interval, difference)


def _mean(values: Sequence[float | None]) -> Interval | None:
    known = [value for value in values if value is not None]
    return mean_interval(known) if known and len(known) == len(values) else None


def _milliseconds(value: float) -> str:
    """Format milliseconds: whole ones, below 10 ms with a tenth."""
    text = f"{value:.1f}" if value < _TENTHS_BELOW_MS else f"{value:.0f}"
    return text.removesuffix(".0")


_TENTHS_BELOW_MS: Final = 9.95
