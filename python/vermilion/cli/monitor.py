"""``vermilion monitor``: flows and round trips of a capture, or of an interface."""

from __future__ import annotations

import contextlib
import signal
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vermilion.cli import options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.json_output import save_json
from vermilion.cli.output import cell, console, note, say
from vermilion.cli.progress import ProgressBar
from vermilion.cli.tables import ABSENT, fixed, percent, whole
from vermilion.files.document import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.table import Table

    from vermilion.monitor import (
        CaptureSummary,
        DirectionSummary,
        FlowSummary,
        Listening,
        RoundTripTimes,
    )

_LOOK_S = 0.05


def monitor(
    capture: Annotated[
        str | None,
        typer.Argument(
            metavar="CAPTURE",
            help="Capture file: pcap or pcapng, also gzip; - for standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    interface: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Interface to listen to, like eth0. Needs CAP_NET_RAW.",
            show_default=False,
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Time to listen. Default: until Ctrl-C or SIGTERM.",
            show_default=False,
        ),
    ] = None,
    flows: Annotated[
        int,
        typer.Option(
            "--most-flows",
            "--flows",
            metavar="COUNT",
            min=1,
            max=1 << 24,
            help="Maximum of flows followed.",
        ),
    ] = 65_536,
    largest_packet: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES",
            min=68,
            max=1 << 31,
            help="Largest IP packet (default: the interface's MTU, or 1500).",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(metavar="COUNT", min=0, max=1_000_000, help="How many flows are shown.")
    ] = 20,
    cut_short: Annotated[
        bool,
        typer.Option("--cut-short", help="Accept a truncated file."),
    ] = False,
    target: options.Json = None,
) -> int:
    """Show flows, round trips and losses of a capture.

    That is what a passive monitor can know: of a capture, or with --interface of the packets that
    pass an interface now.
    """
    stopped: list[str] = []
    if (capture is None) == (interface is None):
        given = "both are given" if capture else "neither is given"
        message = f"CAPTURE, --interface: {given}; expected a capture, or an interface"
        raise UserError(message)
    document: dict[str, Any]
    listening: Listening | None = None
    if interface is not None:
        if cut_short:
            message = "--cut-short needs a capture; leave it out with --interface"
            raise UserError(message)
        for_s = None if for_ is None else options.seconds("--for", for_)
        summary, listening = _listen(interface, for_s, flows, largest_packet, most)
        document = {"interface": interface, "listening": as_json(listening)}
        document |= summary.document
    else:
        if for_ is not None:
            message = "--for needs an interface; expected --interface beside it"
            raise UserError(message)
        summary = _read(
            capture or "",
            flows,
            largest_packet,
            most,
            lambda: stopped.append("Ctrl-C"),
            cut_short=cut_short,
        )
        document = dict(summary.document)
    if target is not None:
        from vermilion.monitor.waits import where_packets_wait

        waits = where_packets_wait(summary)
        save_json(target, document if waits is None else {**document, "waits": as_json(waits)})
    else:
        show(summary, listening)
    if stopped:
        note("interrupted: this counts the packets read so far")
        return EXIT_INTERRUPTED
    return 0


def _read(
    capture: str,
    flows: int,
    largest_packet: int | None,
    most: int,
    interrupted: Callable[[], object],
    *,
    cut_short: bool,
) -> CaptureSummary:
    from vermilion.monitor import CaptureFileError, read_capture

    try:
        with ProgressBar("reading", 1.0) as bar:
            return read_capture(
                capture,
                flows=flows,
                largest_packet=1500 if largest_packet is None else largest_packet,
                kept_flows=most,
                cut_short=cut_short,
                progress=bar.callback,
                interrupted=interrupted,
            )
    except CaptureFileError as error:
        raise UserError(str(error)) from None


def _listen(
    interface: str, for_s: float | None, flows: int, largest_packet: int | None, most: int
) -> tuple[CaptureSummary, Listening]:
    """Watch an interface for a time, or until stopped."""
    from vermilion.monitor import InterfaceError, InterfaceWatch
    from vermilion.monitor.privileges import CAP_NET_RAW, give_up

    try:
        with InterfaceWatch(
            interface, flows=flows, largest_packet=largest_packet, kept_flows=most
        ) as watch:
            give_up([CAP_NET_RAW])
            until = "until Ctrl-C" if for_s is None else f"for {for_s:g} s"
            say(f"listening to {interface} {until}", err=True)
            with _stopped_by_signals() as stopped:
                end_s = None if for_s is None else time.monotonic() + for_s
                while not stopped and (end_s is None or time.monotonic() < end_s):
                    # A pause, lest every block that the kernel closes is a turn of this loop.
                    left = _LOOK_S if end_s is None else end_s - time.monotonic()
                    time.sleep(min(_LOOK_S, max(0.0, left)))
                    watch.take_in()
                    watch.departing()
                    watch.round_trips()
                watch.take_in()
            return watch.finish(), watch.listening()
    except InterfaceError as error:
        message = f"--interface: {error}"
        raise UserError(message) from None


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[list[int]]:
    """A list that gets an entry when somebody says stop: Ctrl-C or SIGTERM."""
    said: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda got, _: said.append(got)) for number in numbers]
    try:
        yield said
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def show(summary: CaptureSummary, listening: Listening | None = None) -> None:
    """Shows a summary: an overview, then the largest flows."""
    screen = console()
    screen.print(_overview(summary, listening))
    if summary.flows:
        screen.print()
        screen.print(_flows(summary))
    if summary.flows_left_out:
        screen.print(f"smaller flows not shown: {whole(summary.flows_left_out)}")


def _overview(summary: CaptureSummary, listening: Listening | None) -> Table:
    from rich.table import Table

    from vermilion.monitor.waits import where_packets_wait

    waits = where_packets_wait(summary)
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
        ("packets wait", ABSENT if waits is None else waits.words()),
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
        table.add_column(name, no_wrap=name != "protocol")  # an address that is cut says nothing
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
