"""Display of a result in a notebook and by ``print``: its main numbers, with their units."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from vermilion.simulate.measured_run import LinkResult
from vermilion.simulate.metric import SLOWEST_SHARE, STARVED, metric_of
from vermilion.simulate.tables import Section, ShownTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AMONG_FLOWS: Final = frozenset(
    {
        "goodput_bit_per_s.mean",
        "goodput_bit_per_s.sd",
        "goodput_bit_per_s.min",
        "goodput_bit_per_s.max",
        SLOWEST_SHARE,
        "jain_index",
    }
)
"""Compare the flows of a group with each other."""

_ON_THE_WIRE: Final = ("losses", "loss_rate")
_SENDER_METRICS: Final = ("timeouts", "retransmissions")
_CLOSED_LOOP_METRICS: Final = (STARVED, "transfers_begun")
"""Metrics of flows that have a sender."""


def silent_of_link(windows: Sequence[Mapping[str, object]]) -> frozenset[str]:
    """The paths of metrics that say nothing about a link: losses of a wire that loses nothing.

    Args:
        windows: the phases and the whole run, as measured of the link.
    """
    lost = any(window.get(key) for window in windows for key in _ON_THE_WIRE)
    return frozenset() if lost else frozenset(_ON_THE_WIRE)


def silent_of_group(windows: Sequence[Mapping[str, object]]) -> frozenset[str]:
    """The paths of metrics that say nothing about a group.

    A flow that is alone in its group cannot be compared with others. Traffic that sends whatever
    the network does repairs nothing, and it alone is hurt by jitter.

    Args:
        windows: the phases and the whole run, as measured of the group.
    """
    nothing: set[str] = set()
    if all(window.get("flows", 0) in {0, 1} for window in windows):
        nothing |= AMONG_FLOWS
    if _is_open_loop(windows):
        nothing |= {*_SENDER_METRICS}
    else:
        nothing.add("jitter_ms")
    return frozenset(nothing)


def _is_open_loop(windows: Sequence[Mapping[str, object]]) -> bool:
    return not any(key in window for window in windows for key in _CLOSED_LOOP_METRICS) and not any(
        window.get(key) for window in windows for key in _SENDER_METRICS
    )


if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vermilion.simulate.measured_run import FlowsResult, MeasuredRun
    from vermilion.simulate.result_data import Stretch

    # Label, path of the metric, factor to the unit shown, decimals.
    Row = tuple[str, str, float, int]

    Entries = Mapping[str, LinkResult | FlowsResult]

ABSENT: Final = "\N{EN DASH}"

_LINK_ROWS: Final[Sequence[Row]] = (
    ("utilisation (%)", "utilization", 100.0, 2),
    ("queueing delay, mean (ms)", "sojourn_ms.mean", 1.0, 2),
    ("queueing delay, p50 (ms)", "sojourn_ms.p50", 1.0, 2),
    ("queueing delay, p95 (ms)", "sojourn_ms.p95", 1.0, 2),
    ("queueing delay, p99 (ms)", "sojourn_ms.p99", 1.0, 2),
    ("queue, mean (packets)", "queue_packets.mean", 1.0, 1),
    ("queue, p95 (packets)", "queue_packets.p95", 1.0, 1),
    ("drop rate (%)", "drop_rate", 100.0, 2),
    ("mark rate (%)", "mark_rate", 100.0, 2),
    ("lost on the wire (packets)", "losses", 1.0, 0),
    ("lost on the wire (%)", "loss_rate", 100.0, 3),
)

_FLOW_ROWS: Final[Sequence[Row]] = (
    ("flows", "flows", 1.0, 0),
    ("goodput (Mbit/s)", "goodput_bit_per_s.total", 1e-6, 3),
    ("Jain’s fairness index", "jain_index", 1.0, 3),
    ("starved flows", "starved", 1.0, 0),
    ("completion time, mean (s)", "completion_time_s.mean", 1.0, 3),
    ("completion time, p95 (s)", "completion_time_s.p95", 1.0, 3),
    ("one-way delay, p50 (ms)", "delay_ms.p50", 1.0, 2),
    ("one-way delay, p95 (ms)", "delay_ms.p95", 1.0, 2),
    ("jitter (ms)", "jitter_ms", 1.0, 2),
    ("packets lost (%)", "packet_loss_rate", 100.0, 2),
    ("timeouts", "timeouts", 1.0, 0),
    ("retransmissions (packets)", "retransmissions", 1.0, 0),
)


def result_html(result: MeasuredRun) -> str:
    """A heading and two tables; every text is escaped."""
    parts = [f"<p>{escape(_heading(result))}</p>", *(table.html() for table in _tables(result))]
    return "<div>\n" + "\n".join(parts) + "\n</div>"


def result_text(result: MeasuredRun) -> str:
    """The same as text."""
    return "\n\n".join([_heading(result), *map(str, _tables(result))])


def _heading(result: MeasuredRun) -> str:
    return f"Vermilion {result.data['version']}, seed {result.seed}"


def _tables(result: MeasuredRun) -> Iterator[ShownTable]:
    links: Entries = {f"link {name}": result.link(name) for name in result.links}
    flows: Entries = {f"flows {name}": result.flows(name) for name in result.groups}
    for title, entries, rows in (("Links", links, _LINK_ROWS), ("Flows", flows, _FLOW_ROWS)):
        if entries:
            first = next(iter(entries.values()))
            headings = [stretch(window) for window in first.phases] + ["whole run"]
            sections = [_section(name, entry, rows) for name, entry in entries.items()]
            yield ShownTable(title, headings, sections)


def stretch(window: Stretch) -> str:
    """Format the time that a window covers: "25 .. 80 s"."""
    return f"{window['start_s']:g} .. {window['end_s']:g} s"


def _section(name: str, entry: LinkResult | FlowsResult, rows: Sequence[Row]) -> Section:
    windows = (*entry.phases, entry.total)
    silent_of = silent_of_link if isinstance(entry, LinkResult) else silent_of_group
    silent = silent_of(windows)
    lines = []
    for label, path, factor, decimals in rows:
        values = [metric_of(window, path) for window in windows]
        if path not in silent and any(value is not None for value in values):
            cells = [
                ABSENT if value is None else f"{value * factor:,.{decimals}f}" for value in values
            ]
            lines.append((label, cells))
    return Section(name, lines)
