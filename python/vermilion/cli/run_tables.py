"""The table of ``vermilion run``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.cli.output import console
from vermilion.cli.tables import (
    BEYOND_THE_LINE,
    at_least,
    fixed,
    grid,
    is_beyond_the_line,
    megabits,
    percent,
    stretch,
    whole,
)
from vermilion.simulate import LinkResult, metric_of
from vermilion.simulate.metric import SLOWEST_SHARE, STARVED, bulk_flows, slowest_share
from vermilion.simulate.notebook import silent_of_group, silent_of_link
from vermilion.simulate.tables import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import FlowsResult, Result

    # Label, path of the metric, how to show it.
    Row = tuple[str, str, Callable[[float | None], str]]


_A_TENTH_OF_A_MILLION: Final = 100_000


def _one_decimal(value: float | None) -> str:
    return fixed(value, 1)


def _three_decimals(value: float | None) -> str:
    return fixed(value, 3)


def _milliseconds(value: float | None) -> str:
    return at_least(value, 1, 2)


def _seconds(value: float | None) -> str:
    return at_least(value, 3, 2)


LINK_ROWS: Sequence[Row] = (
    ("utilisation", "utilization", percent),
    ("queueing delay mean (ms)", "sojourn_ms.mean", _milliseconds),
    ("queueing delay p50 (ms)", "sojourn_ms.p50", _milliseconds),
    ("queueing delay p95 (ms)", "sojourn_ms.p95", _milliseconds),
    ("queueing delay p99 (ms)", "sojourn_ms.p99", _milliseconds),
    ("queue mean (pkt)", "queue_packets.mean", _one_decimal),
    ("queue sd (pkt)", "queue_packets.sd", _one_decimal),
    ("queue p95 (pkt)", "queue_packets.p95", _one_decimal),
    ("own average's mean (pkt)", "average_queue_packets.mean", _one_decimal),
    ("packets forwarded", "packets_forwarded", whole),
    ("drops", "drops", whole),
    ("drop rate", "drop_rate", percent),
    ("mark rate", "mark_rate", percent),
    ("lost on the wire", "losses", whole),
    ("  per packet forwarded", "loss_rate", percent),
)

FLOW_ROWS: Sequence[Row] = (
    ("flows", "flows", whole),
    ("goodput (Mbit/s)", "goodput_bit_per_s.total", megabits),
    ("  of each: mean (Mbit/s)", "goodput_bit_per_s.mean", megabits),
    ("  sd (Mbit/s)", "goodput_bit_per_s.sd", megabits),
    ("  slowest (Mbit/s)", "goodput_bit_per_s.min", megabits),
    ("  fastest (Mbit/s)", "goodput_bit_per_s.max", megabits),
    ("  slowest / mean", SLOWEST_SHARE, percent),
    ("Jain's fairness index", "jain_index", _three_decimals),
    ("starved flows", STARVED, whole),
    ("transfers begun", "transfers_begun", whole),
    ("  completed", "completed", whole),
    ("completion mean (s)", "completion_time_s.mean", _seconds),
    ("completion p50 (s)", "completion_time_s.p50", _seconds),
    ("completion p95 (s)", "completion_time_s.p95", _seconds),
    ("completion p99 (s)", "completion_time_s.p99", _seconds),
    ("video, mean rate (Mbit/s)", "video.mean_rate_bit_per_s", megabits),
    ("video, stalls", "video.stalls", whole),
    ("video, stalled (s)", "video.stalled_s", _seconds),
    ("one-way delay p50 (ms)", "delay_ms.p50", _milliseconds),
    ("one-way delay p95 (ms)", "delay_ms.p95", _milliseconds),
    ("jitter (ms)", "jitter_ms", _milliseconds),
    ("packets lost", "packet_loss_rate", percent),
    ("timeouts", "timeouts", whole),
    ("retransmissions", "retransmissions", whole),
)


_GOODPUT: Final[Row] = ("goodput (Mbit/s)", "goodput_bit_per_s.total", megabits)

_DETAILS: Final = frozenset(
    {
        "sojourn_ms.p50", "sojourn_ms.p99", "queue_packets.p95",
        "average_queue_packets.mean", "packets_forwarded", "drops", "goodput_bit_per_s.mean",
        "goodput_bit_per_s.sd", "goodput_bit_per_s.min", "goodput_bit_per_s.max",
        "transfers_begun", "completion_time_s.p50", "completion_time_s.p99", "delay_ms.p50",
        "timeouts", "retransmissions",
    }
)  # fmt: skip
"""Metrics that ``--all`` adds."""

_MANY: Final = 2
_FIRST: Final = frozenset(
    {
        "utilization", "sojourn_ms.p95", "drop_rate", "mark_rate", "goodput_bit_per_s.total",
        "completion_time_s.p95", "video.mean_rate_bit_per_s", "video.stalled_s", "delay_ms.p95",
        "packet_loss_rate",
    }
)  # fmt: skip
"""Metrics of each link, or of each group, where there are more than `_MANY`."""


def print_result(scenario: Scenario, result: Result, *, everything: bool = False) -> None:
    """Print the metrics of links and flow groups, a column for each phase.

    Args:
        scenario: that was run.
        result: its outcome.
        everything: with those of ``--all``.
    """
    screen = console()
    title = scenario.title or scenario.origin
    screen.print(f"{title}  (seed {result.seed})", markup=False, style="bold")
    first = result.link(result.links[0]) if result.links else result.flows(result.groups[0])
    windows = _windows(first)
    link_rows, flow_rows = (
        [row for row in rows if everything or row[1] not in _DETAILS]
        for rows in (LINK_ROWS, FLOW_ROWS)
    )
    together = _together(result, flow_rows)
    bulk = () if everything or not together else _bulk_groups(result)
    groups = [name for name in result.groups if name not in bulk]
    if not everything and len(result.links) > _MANY:
        link_rows = [row for row in link_rows if row[1] in _FIRST]
    if not everything and len(groups) > _MANY:
        flow_rows = [row for row in flow_rows if row[1] in _FIRST]
    sections = [
        _section(
            f"link {name} ({scenario.links[name].queue.discipline})", result.link(name), link_rows
        )
        for name in result.links
    ]
    sections += [_section(f"flows {name}", result.flows(name), flow_rows) for name in groups]
    sections += together
    if bulk:
        shares = [
            (f"goodput of {name} (Mbit/s)", cells)
            for name in bulk
            for _, cells in _section("", result.flows(name), [_GOODPUT]).rows
        ]
        sections[-1] = replace(sections[-1], rows=[*sections[-1].rows, *shares])
    if not everything:
        sections = [
            replace(each, rows=[row for row in each.rows if not _is_unmarked(row)])
            for each in sections
        ]
    screen.print(grid([heading for heading, _ in windows], sections, screen.width))
    if any(
        is_beyond_the_line(scenario, name, _value(window, _GOODPUT[1]))
        for name in result.groups
        for _, window in _windows(result.flows(name))
    ):
        screen.print(BEYOND_THE_LINE, markup=False)
    data = result.data
    screen.print(
        f"{whole(data['packets_forwarded'])} packets forwarded in {data['wall_s']:.3g} s"
        f"{_speed(data['packets_forwarded'], data['cpu_s'])}"
        f"{'' if everything else '; more rows: --all'}",
        markup=False,
    )


def _speed(packets: int, cpu_s: float) -> str:
    """Return the speed; that of real packets is lower by orders of magnitude."""
    if packets == 0 or cpu_s <= 0.0:
        return ""
    speed = packets / cpu_s
    shown = f"{fixed(speed / 1e6, 1)} million" if speed >= _A_TENTH_OF_A_MILLION else whole(speed)
    return f" ({shown} per CPU second)"


def _windows(entry: LinkResult | FlowsResult) -> list[tuple[str, Mapping[str, object]]]:
    """Headings and metrics of the phases and of the whole run, which may be a single phase."""
    phases: list[tuple[str, Mapping[str, object]]] = [
        (stretch(window), window) for window in entry.phases
    ]
    if [heading for heading, _ in phases] == [stretch(entry.total)]:
        return phases
    return [*phases, ("whole run", entry.total)]


def _together(result: Result, rows: Sequence[Row]) -> list[Section]:
    """A section about the bulk flows of all groups, if several groups have any."""
    groups = _bulk_groups(result)
    if len(groups) < 2:  # noqa: PLR2004 - one group alone says it itself
        return []
    measured = [[window for _, window in _windows(result.flows(name))] for name in result.groups]
    together = [bulk_flows(windows) for windows in zip(*measured, strict=True)]
    return [_rows(f"bulk flows together: {', '.join(groups)}", together, rows)]


def _bulk_groups(result: Result) -> list[str]:
    """Groups with bulk flows."""
    return [
        name
        for name in result.groups
        if any(STARVED in window for _, window in _windows(result.flows(name)))
    ]


def _is_unmarked(row: tuple[str, Sequence[str]]) -> bool:
    """True of a rate of marks where nothing is marked."""
    label, cells = row
    return label == "mark rate" and not any(set(cell) & set("123456789") for cell in cells)


def _section(title: str, entry: LinkResult | FlowsResult, rows: Sequence[Row]) -> Section:
    windows = [window for _, window in _windows(entry)]
    silent_of = silent_of_link if isinstance(entry, LinkResult) else silent_of_group
    silent = silent_of(windows)
    return _rows(title, windows, [row for row in rows if row[1] not in silent])


def _rows(title: str, windows: Sequence[Mapping[str, object]], rows: Sequence[Row]) -> Section:
    cells = [
        (label, [show(_value(window, path)) for window in windows]) for label, path, show in rows
    ]
    return Section(title, [row for row in cells if any(map(_says_something, row[1]))])


def _value(window: Mapping[str, object], path: str) -> float | None:
    return slowest_share(window) if path == SLOWEST_SHARE else metric_of(window, path)


def _says_something(cell: str) -> bool:
    return any(character.isdigit() for character in cell)
