"""``vermilion twin``: a scenario that behaves like a capture."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import completion, options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.json_output import write_json
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, note, output_file, say
from vermilion.cli.progress import ProgressBar
from vermilion.files.document import document, package_version
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from vermilion.twin import ComparedFigure, Twin


@document(
    "version=package_version link_rate_bit_per_s=made.rate_bit_per_s fitted=made.fitted"
    " unknown=made.unknown comparison scenario=made.text",
    package_version,
)
@dataclass(frozen=True, slots=True)
class TwinDocument:
    """A scenario made from a capture, beside it."""

    made: "Twin"
    comparison: "tuple[ComparedFigure, ...]"


def twin(
    capture: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE",
            help="Capture file: pcap or pcapng, also gzip; - for standard input.",
            show_default=False,
        ),
    ],
    *,
    link_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help='Link rate, like "10 Mbit/s" (default: as the capture shows).',
            show_default=False,
        ),
    ] = None,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Discipline; see: vermilion disciplines. Default: drop-tail, as deep as "
            "the longest waits.",
            show_default=False,
            autocompletion=completion.discipline_names,
        ),
    ] = None,
    sender: Annotated[
        str,
        typer.Option(metavar="NAME", help="Congestion control of all flows."),
    ] = "cubic",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the scenario (TOML); - for standard output.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=1000, help="Number of seeds of the twin."),
    ] = 5,
    cut_short: Annotated[
        bool,
        typer.Option("--cut-short", help="Accept a truncated file."),
    ] = False,
    target: options.Json = None,
) -> int:
    """Make a scenario that behaves like a capture.

    Long flows, short transfers with fitted sizes and arrivals, round trips, ECN, the share that
    does not slow down, and the queue. It says what the capture could not tell, simulates the
    scenario, and puts both side by side.
    """
    from vermilion.monitor import CaptureFileError
    from vermilion.twin import TwinError, compare_with, read_evidence, twin_of

    check_outputs(json=target, output=output)
    rate = None if link_rate is None else options.rate("--link-rate", link_rate)
    with ExitStack() as outputs:
        scenario_file, json_file = (
            None if name is None else outputs.enter_context(output_file(option, name))
            for option, name in (("--output", output), ("--json", target))
        )
        try:
            with ProgressBar("reading", 1.0) as bar:
                evidence = read_evidence(capture, cut_short=cut_short, progress=bar.callback)
            made = twin_of(evidence, link_rate_bit_per_s=rate, discipline=discipline, sender=sender)
        except (CaptureFileError, TwinError) as error:
            message = str(error) if capture in str(error) else f"CAPTURE: {capture}: {error}"
            raise UserError(message) from None
        with ProgressBar("simulating", float(seeds)) as bar:
            chosen = range(1, seeds + 1)
            done = 0

            def advance(count: float) -> None:
                nonlocal done
                done = int(count)
                if bar.callback is not None:
                    bar.callback(count)

            sides = compare_with(evidence, made, chosen, advance, keeps_at_interrupt=True)
        if scenario_file is not None:
            scenario_file.write(made.text)
        if json_file is not None:
            write_json(json_file, TwinDocument(made, sides))
        if STANDARD_OUTPUT not in {output, target}:
            _show(made, sides, output)
    if done < seeds:
        met = f"{done} of {how_many(seeds, 'seed')}"
        note(f"interrupted: the scenario is whole, and was simulated with {met}")
        return EXIT_INTERRUPTED
    return 0


def _show(made: "Twin", sides: "tuple[ComparedFigure, ...]", output: str | None) -> None:
    from rich.table import Table

    from vermilion.cli.output import console
    from vermilion.cli.tables import ABSENT, fixed

    for head, said in (("From the capture", made.fitted), ("Not known", made.unknown)):
        say(f"{head}:")
        for each in said:
            say(f"  {each}")
    if sides:
        say()
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for name in ("capture", "twin", "its seeds"):
            table.add_column(name, justify="right")
        table.add_column("")
        for side in sides:
            seeds = (
                ABSENT
                if side.twin_low is None
                else f"{fixed(side.twin_low, 2)} to {fixed(side.twin_high, 2)}"
            )
            table.add_row(side.name, fixed(side.capture, 2), fixed(side.twin, 2), seeds, side.unit)
        console().print(table)
    if output is not None:
        say(f"\nscenario: {output}")
