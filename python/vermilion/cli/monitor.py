"""``vermilion monitor``: what a passive monitor knows of a capture, or of an interface."""

import contextlib
import json
import signal
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vermilion.cli import options
from vermilion.cli.exit_codes import EXIT_INTERRUPTED
from vermilion.cli.output import note, output_file, say
from vermilion.cli.progress import ProgressBar
from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vermilion.monitor import CaptureSummary, Listening

_LOOK_S = 0.05


def monitor(
    capture: Annotated[
        str | None,
        typer.Argument(
            metavar="CAPTURE",
            help="A capture file: pcap or pcapng, also in gzip; - for standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    interface: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Listen to an interface of this machine instead, like eth0. Needs CAP_NET_RAW.",
            show_default=False,
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="How long to listen to the interface. Default: until Ctrl-C or SIGTERM.",
            show_default=False,
        ),
    ] = None,
    flows: Annotated[
        int,
        typer.Option(
            metavar="COUNT", min=1, max=1 << 24, help="How many flows are followed at once."
        ),
    ] = 65_536,
    largest_packet: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES",
            min=68,
            max=1 << 31,
            help="The largest IP packet of the link; larger ones are taken for several. Default: "
            "1500, or what the interface says.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(metavar="COUNT", min=0, max=1_000_000, help="How many flows are shown.")
    ] = 20,
    cut_short: Annotated[
        bool,
        typer.Option("--cut-short", help="Read a file that ends too early as far as it goes."),
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
            message = "--cut-short is for a capture; leave it out with --interface"
            raise UserError(message)
        for_s = None if for_ is None else options.seconds("--for", for_)
        summary, listening = _listen(interface, for_s, flows, largest_packet, most)
        document = {"interface": interface, "listening": _as_document(listening)}
        document |= summary.document
    else:
        if for_ is not None:
            message = "--for is for an interface; expected --interface beside it"
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
        with output_file("--json", target) as file:
            file.write(f"{json.dumps(document, indent=2)}\n")
    else:
        from vermilion.cli.monitor_tables import show

        show(summary, listening)
    if stopped:
        note("interrupted: this counts the packets that were read by then")
        return EXIT_INTERRUPTED
    return 0


def _read(
    capture: str,
    flows: int,
    largest_packet: int | None,
    most: int,
    interrupted: "Callable[[], object]",
    *,
    cut_short: bool,
) -> "CaptureSummary":
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
) -> "tuple[CaptureSummary, Listening]":
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
def _stopped_by_signals() -> "Iterator[list[int]]":
    """A list that gets an entry when somebody says stop: Ctrl-C or SIGTERM."""
    said: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda got, _: said.append(got)) for number in numbers]
    try:
        yield said
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _as_document(listening: "Listening") -> dict[str, object]:
    from dataclasses import asdict

    return asdict(listening)
