"""``vermilion monitor``: what a passive monitor knows of a capture."""

import json
from typing import Annotated

import typer

from vermilion.cli import options
from vermilion.cli.entry import UserError
from vermilion.cli.output import output_file


def monitor(
    capture: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE",
            help="A capture file: pcap or pcapng, also in gzip; - for standard input.",
            show_default=False,
        ),
    ],
    flows: Annotated[
        int,
        typer.Option(
            metavar="COUNT", min=1, max=1 << 24, help="How many flows are followed at once."
        ),
    ] = 65_536,
    largest_packet: Annotated[
        int,
        typer.Option(
            metavar="BYTES",
            min=68,
            max=1 << 31,
            help="The largest IP packet of the link; larger ones are taken for several.",
        ),
    ] = 1500,
    most: Annotated[
        int, typer.Option(metavar="COUNT", min=0, max=1_000_000, help="How many flows are shown.")
    ] = 20,
    *,
    cut_short: Annotated[
        bool,
        typer.Option("--cut-short", help="Read a file that ends too early as far as it goes."),
    ] = False,
    target: options.Json = None,
) -> None:
    """Tell what a passive monitor knows of a capture: flows, round trips, losses, ECN."""
    from vermilion.monitor import CaptureFileError, read_capture

    try:
        summary = read_capture(
            capture,
            flows=flows,
            largest_packet=largest_packet,
            kept_flows=most,
            cut_short=cut_short,
        )
    except CaptureFileError as error:
        raise UserError(str(error)) from None
    if target is not None:
        with output_file("--json", target) as file:
            file.write(f"{json.dumps(summary.document, indent=2)}\n")
        return
    from vermilion.cli.monitor_tables import show

    show(summary)
