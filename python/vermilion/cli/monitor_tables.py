"""The tables of ``vermilion monitor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.cli.numbers import ABSENT, fixed, percent, whole
from vermilion.cli.output import cell, console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from vermilion.monitor import (
        CaptureSummary,
        DirectionSummary,
        FlowSummary,
        Listening,
        RoundTripTimes,
    )


def show(summary: CaptureSummary, listening: Listening | None = None) -> None:
    """Shows a summary: an overview, then the largest flows."""
    screen = console()
    screen.print(_overview(summary, listening))
    if summary.flows:
        screen.print()
        screen.print(_flows(summary))
    if summary.flows_left_out:
        screen.print(f"smaller flows that are not shown: {whole(summary.flows_left_out)}")


def _overview(summary: CaptureSummary, listening: Listening | None) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    size = (
        f"mean {fixed(summary.mean_packet_bytes, 0)} bytes, "
        f"largest {whole(summary.largest_packet_bytes)}"
    )
    for name, value in (
        ("packets", f"{whole(summary.packets)} in {fixed(summary.duration_s, 3)} s, {size}"),
        ("traffic (bytes)", _traffic(summary)),
        ("flows", f"{whole(summary.flows_seen)}; openings seen: {whole(summary.openings)}"),
        ("whole round trips", _round_trips(summary.whole_ms)),
        ("beyond the monitor", _round_trips(summary.beyond_ms)),
        ("handshakes", _round_trips(summary.handshake_ms)),
        ("not timed", _counts(summary.not_timed)),
        ("data segments", _counts(summary.order)),
        ("ECN", f"{_counts(summary.ecn)}; ECE {whole(summary.ece)}, CWR {whole(summary.cwr)}"),
        ("not read", _counts(summary.undecoded)),
        ("not followed", _counts(summary.not_tracked)),
        ("merged", _merged(summary)),
        ("acknowledged, but not seen", whole(summary.acknowledged_unseen)),
    ):
        table.add_row(name, value)
    if listening is not None:
        table.add_row("lost by the ring", _lost(listening))
        table.add_row("flows looked at", _share(listening))
        table.add_row("CPU time", f"{listening.cpu_s:.3f} s")
    return table


def _lost(listening: Listening) -> str:
    return f"{whole(listening.lost_packets)} of {whole(listening.packets)} packets"


def _share(listening: Listening) -> str:
    if listening.coarsest_one_in == 1:
        return "all"
    return f"one in {listening.one_in}; at times one in {listening.coarsest_one_in}"


def _traffic(summary: CaptureSummary) -> str:
    amounts = {kind: amount.bytes for kind, amount in summary.traffic.items()}
    return f"{_counts(amounts)}; unresponsive {percent(summary.unresponsive_share)}"


def _merged(summary: CaptureSummary) -> str:
    if not summary.merged_packets:
        return "0"
    carried = whole(summary.merged_carried_at_least)
    return f"{whole(summary.merged_packets)} packets, at least {carried} on the link"


def _counts(counts: Mapping[str, int]) -> str:
    """Counts that are not zero."""
    shown = [f"{name} {whole(count)}" for name, count in counts.items() if count]
    return ", ".join(shown) or "0"


def _round_trips(times: RoundTripTimes | None) -> str:
    if times is None:
        return ABSENT
    return (
        f"{whole(times.count)}: min {times.min:.2f}, median {fixed(times.p50, 2)}, "
        f"p95 {fixed(times.p95, 2)}, max {times.max:.2f} ms"
    )


def _flows(summary: CaptureSummary) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("from", "to", "protocol"):
        table.add_column(name)
    for name in ("packets", "bytes", "sent again", "CE", "whole RTT ms", "beyond ms"):
        table.add_column(name, justify="right")
    for name in ("ECN", "ended"):
        table.add_column(name)
    for flow in summary.flows:
        for row in _rows(flow):
            table.add_row(*row)
    return table


def _rows(flow: FlowSummary) -> list[tuple[str, ...]]:
    """A row for each direction that was seen."""
    return [
        (
            cell(source),
            cell(target),
            flow.traffic,
            whole(side.packets),
            whole(side.bytes),
            whole(_sent_again(side)),
            whole(side.ecn["ce"]),
            _mean(side.whole_ms),
            _mean(side.beyond_ms),
            flow.ecn if flow.protocol == "tcp" else ABSENT,
            flow.ended or ABSENT,
        )
        for source, target, side in (
            (flow.initiator, flow.responder, flow.from_initiator),
            (flow.responder, flow.initiator, flow.from_responder),
        )
        if side.packets
    ]


def _sent_again(side: DirectionSummary) -> int:
    return side.order["sent-again"] + side.order["sent-again-lost-before-monitor"]


def _mean(times: RoundTripTimes | None) -> str:
    return ABSENT if times is None else f"{times.mean:.2f}"
