"""Tables of a comparison: metrics, units and decimals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.simulate.compared_runs import (
    BULK_FLOWS,
    COMPLETION_TIME,
    GOODPUT,
    are_nearly_the_same_run,
)
from vermilion.simulate.metric import SLOWEST_SHARE, STARVED
from vermilion.simulate.notebook import stretch
from vermilion.simulate.tables import Section, ShownTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.simulate.compared_runs import ComparedRuns
    from vermilion.simulate.statistics import Interval

    Of = Callable[[int, str, int, str], Interval | None]
    _Part = tuple[str, str, Sequence["Row"], tuple[Of, Of]]

ABSENT: Final = "-"
"""Shown for what could not be computed."""


_STARS: Final = 0.05
"""The part of differences that get a star where nothing differs: their intervals are of 95 %."""

MOST_ACROSS: Final = 6
"""Variants that stand side by side; more stand one below the other."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: its label, the metric, the factor to the unit shown, and the decimals."""

    label: str
    metric: str
    factor: float = 1.0
    decimals: int = 1


LINK_ROWS: Final = (
    Row("utilisation (%)", "utilization", 100.0, 2),
    Row("goodput (Mbit/s)", GOODPUT, 1e-6, 3),
    Row("queueing delay mean (ms)", "sojourn_ms.mean"),
    Row("queueing delay p50 (ms)", "sojourn_ms.p50"),
    Row("queueing delay p95 (ms)", "sojourn_ms.p95"),
    Row("queueing delay p99 (ms)", "sojourn_ms.p99"),
    Row("queue mean (pkt)", "queue_packets.mean"),
    Row("queue sd (pkt)", "queue_packets.sd"),
    Row("queue p95 (pkt)", "queue_packets.p95"),
    Row("drop rate (%)", "drop_rate", 100.0, 2),
    Row("mark rate (%)", "mark_rate", 100.0, 2),
    Row("lost on the wire (%)", "loss_rate", 100.0, 3),
)

FLOW_ROWS: Final = (
    Row("goodput (Mbit/s)", "goodput_bit_per_s.total", 1e-6, 3),
    Row("  slowest flow (Mbit/s)", "goodput_bit_per_s.min", 1e-6, 4),
    Row("  slowest / mean (%)", SLOWEST_SHARE, 100.0),
    Row("Jain's fairness index", "jain_index", 1.0, 3),
    Row("starved flows", STARVED),
    Row("completion mean (s)", "completion_time_s.mean", 1.0, 3),
    Row("completion p95 (s)", "completion_time_s.p95", 1.0, 3),
    Row("one-way delay p50 (ms)", "delay_ms.p50"),
    Row("one-way delay p95 (ms)", "delay_ms.p95"),
    Row("jitter (ms)", "jitter_ms", 1.0, 2),
    Row("packets lost (%)", "packet_loss_rate", 100.0, 2),
)

_FAIRNESS_METRICS: Final = {"goodput_bit_per_s.min", SLOWEST_SHARE, "jain_index", STARVED}
_OMITTED_IF_ZERO: Final = {"mark_rate", "loss_rate"}


def tables(comparison: ComparedRuns) -> list[ShownTable]:
    """A table for each link and each group of flows of which anything could be computed."""
    found = [_table(comparison, *part) for part in _parts(comparison)]
    return [_fit_width(table) for table in found if table.sections]


def _parts(comparison: ComparedRuns) -> list[_Part]:
    """List each table's title, subject, rows, and place of its figures."""
    units = comparison.measure_units
    link_rows = [
        *LINK_ROWS,
        *(
            Row(f"{name} ({units[name]})" if units.get(name) else name, name)
            for name in comparison.measures
        ),
    ]
    of_links = (comparison.interval, comparison.difference)
    of_flows = (comparison.flows_interval, comparison.flows_difference)
    parts: list[_Part] = [
        *((f"link {link}", link, link_rows, of_links) for link in comparison.links),
        *(
            (f"flows {group}", group, _flow_rows(comparison, group), of_flows)
            for group in comparison.groups
        ),
    ]
    if len(comparison.bulk_groups) > 1:
        title = f"bulk flows together: {', '.join(comparison.bulk_groups)}"
        parts.append((title, BULK_FLOWS, FLOW_ROWS, of_flows))
    return parts


def _flow_rows(comparison: ComparedRuns, group: str) -> Sequence[Row]:
    """Rows of a group, without those that compare its flows where it never has more than one.

    A group with a sender has no jitter either: nobody listens to it as it arrives.
    """
    groups = [each.flows[group] for each in comparison.scenarios]
    silent: set[str] = set()
    if groups and all(each.count == 1 for each in groups):
        silent |= _FAIRNESS_METRICS
    if not any(each.traffic.is_open_loop for each in groups):
        silent.add("jitter_ms")
    return [row for row in FLOW_ROWS if row.metric not in silent]


def remark(comparison: ComparedRuns) -> str:
    """Explain the numbers in the tables."""
    count = len(comparison.seeds)
    if count == 1:
        return (
            f"Seed {comparison.seeds[0]} alone says nothing about the uncertainty of these figures."
        )
    text = f"Means over {count} seeds with 95 % t intervals."
    same = [are_nearly_the_same_run(results) for results in comparison.results]
    nearly = "nearly " if same != list(comparison.same_for_all_seeds) else ""
    if len(comparison.names) > 1:
        how = "differs" if all(same) else "differs significantly"
        text += f" * {how} from {comparison.names[0]!r}."
        text += "" if all(same) else _chance_remark(comparison)
    if any(same):
        unmoved = [repr(name) for name, each in zip(comparison.names, same, strict=True) if each]
        of = "" if all(same) else f" of {', '.join(unmoved)}"
        text += f" All seeds gave {nearly}the same run{of}: its intervals say nothing about chance."
    text += "".join(_incomplete_seeds_remark(comparison, group) for group in comparison.groups)
    if not comparison.phases_agree:
        text += " The variants have different phases, which cannot be compared."
    return text


def _chance_remark(comparison: ComparedRuns) -> str:
    """Expected number of stars by chance, in a sentence; "" without comparisons."""
    differences = (
        difference_of(variant, name, number, row.metric)
        for _, name, rows, (_, difference_of) in _parts(comparison)
        for number in _shown_windows(comparison)
        for row in rows
        for variant in range(1, len(comparison.names))
    )
    # What does not stray cannot get a star by chance.
    count = sum(1 for each in differences if each is not None and each.half_width)
    if not count:
        return ""
    one = "this difference" if count == 1 else f"these {count} differences"
    return f" Chance alone gives {_STARS * count:.1f} of {one} a star on average."


def _incomplete_seeds_remark(comparison: ComparedRuns, group: str) -> str:
    """Remark on seeds with which no transfer of a group completed, if there are any."""
    intervals = (
        comparison.flows_interval(variant, group, window, f"{COMPLETION_TIME}.mean")
        for variant in range(len(comparison.names))
        for window in range(len(comparison.windows(comparison.links[0])))
    )
    counts = {interval.count for interval in intervals if interval is not None}
    least, most, seeds = min(counts, default=0), max(counts, default=0), len(comparison.seeds)
    if least == most == seeds or not counts:
        return ""
    some = f"{least}" if least == most else f"{least} to {most}"
    return (
        f" Completion times of {group!r} are over {some} of the {seeds} seeds: with the others no "
        "transfer completed."
    )


def _table(
    comparison: ComparedRuns, title: str, name: str, rows: Sequence[Row], of: tuple[Of, Of]
) -> ShownTable:
    windows = comparison.windows(comparison.links[0])
    headings = [*(stretch(window) for window in windows[:-1]), "whole run"]
    sections = [
        _section(comparison, name, number, headings[number], rows, of)
        for number in _shown_windows(comparison)
    ]
    return ShownTable(title, comparison.names, [section for section in sections if section.rows])


def _shown_windows(comparison: ComparedRuns) -> Sequence[int]:
    windows = comparison.windows(comparison.links[0])
    # A scenario without changes has one phase, which is the whole run.
    one = [stretch(window) for window in windows[:-1]] == [stretch(windows[-1])]
    return [len(windows) - 1] if one else range(len(windows))


def _fit_width(table: ShownTable) -> ShownTable:
    """Put variants one below the other, where they are too many for a line."""
    return table if len(table.headings) <= MOST_ACROSS else table.turned(f"{ABSENT}  ")


def _section(
    comparison: ComparedRuns,
    name: str,
    window: int,
    title: str,
    rows: Sequence[Row],
    of: tuple[Of, Of],
) -> Section:
    interval_of, difference_of = of
    variants = range(len(comparison.names))
    lines = []
    for row in rows:
        intervals = [interval_of(variant, name, window, row.metric) for variant in variants]
        # A mark rate of zero throughout, or a metric that no variant has, says nothing.
        if all(interval is None for interval in intervals) or (
            row.metric in _OMITTED_IF_ZERO
            and not any(interval and interval.mean for interval in intervals)
        ):
            continue
        differences = [difference_of(variant, name, window, row.metric) for variant in variants]
        lines.append(
            (row.label, [_cell(*pair, row) for pair in zip(intervals, differences, strict=True)])
        )
    return Section(title, lines)


def _cell(interval: Interval | None, difference: Interval | None, row: Row) -> str:
    if interval is None:
        return f"{ABSENT}  "
    text = f"{interval.mean * row.factor:.{row.decimals}f}"
    if interval.half_width is not None:
        text += f" ± {interval.half_width * row.factor:.{row.decimals}f}"
    differs = difference is not None and difference.excludes(0.0)
    return f"{text} {'*' if differs else ' '}"
