"""``vermilion autorate``: a better configuration for cake-autorate, from its log."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.json_output import write_json
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, console, output_file, say
from vermilion.cli.progress import ProgressBar
from vermilion.files.document import document, package_version

if TYPE_CHECKING:
    from vermilion.autorate import AutorateAdvice, DirectionAdvice

_NAMES = {"dl": "download", "ul": "upload"}
_MOST_CONFIGURATION = 1 << 20


@document(
    "version=package_version answer=advice.answer reason=advice.reason log_s"
    " download=advice.download upload=advice.upload changes=advice.changes configuration",
    package_version,
)
@dataclass(frozen=True, slots=True)
class AutorateDocument:
    """Advice for cake-autorate."""

    advice: "AutorateAdvice"
    log_s: float
    configuration: str


def autorate(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="Log of cake-autorate with output_processing_stats=1; also gzip.",
            show_default=False,
        ),
    ],
    *,
    configuration: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="The config.primary.sh in use. Default: its defaults, and rates as in the log.",
            show_default=False,
        ),
    ] = None,
    delay: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Excess wait (95th percentile) that is good enough while loaded."
        ),
    ] = "30 ms",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the configuration; - for standard output.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 1,
    target: options.Json = None,
) -> int:
    """Improve a configuration of cake-autorate from its log.

    The log shows what the line carried and when. Configurations race on its first half by the
    rules of cake-autorate; its second half judges the best of them against the present one.
    """
    from vermilion.autorate import (
        AutorateLogError,
        advise_autorate,
        read_configuration,
        read_log,
    )
    from vermilion.autorate.configuration import with_changes

    check_outputs(json=target, output=output)
    delay_s = options.seconds("--delay", delay)
    text, present = "", None
    if configuration is not None:
        try:
            with Path(configuration).open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST_CONFIGURATION)
            present = read_configuration(text)
        except (OSError, ValueError) as error:
            message = f"--config: {configuration}: {_reason(error)}"
            raise UserError(message) from None
    try:
        read = read_log(sys.stdin.buffer if log == "-" else log)
    except (OSError, AutorateLogError) as error:
        message = f"LOG: {log}: {_reason(error)}"
        raise UserError(message) from None
    with ExitStack() as outputs:
        configuration_file, json_file = (
            None if name is None else outputs.enter_context(output_file(option, name))
            for option, name in (("--output", output), ("--json", target))
        )
        with ProgressBar("searching", 1.0) as bar:
            advice = advise_autorate(
                read, present, delay_s=delay_s, seed=seed, progress=bar.callback
            )
        written = with_changes(text, advice.changes, "\n".join(_evidence(advice)))
        if configuration_file is not None:
            configuration_file.write(written)
        if json_file is not None:
            write_json(json_file, AutorateDocument(advice, read.seconds, written))
        if STANDARD_OUTPUT not in {output, target}:
            _show(advice, output)
    return 0


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _direction(name: str, each: "DirectionAdvice") -> str:
    if each.capacity_kbps is None or each.present is None or each.advised is None:
        return f"{_NAMES[name]}: full for {each.seen_s:.0f} s of the log; not judged"
    low, _, high = (rate / 1000 for rate in each.capacity_kbps)
    before, after = each.present, each.advised
    return (
        f"{_NAMES[name]}: {low:.3g} to {high:.3g} Mbit/s; goodput"
        f" {100 * before.goodput_share:.0f} -> {100 * after.goodput_share:.0f} %, excess wait"
        f" {1000 * before.excess_p95_s:.0f} -> {1000 * after.excess_p95_s:.0f} ms"
    )


def _evidence(advice: "AutorateAdvice") -> list[str]:
    if advice.answer != "set":
        return [f"{advice.answer}: {advice.reason}"]
    lines = [_direction(name, each) for name, each in advice.directions.items()]
    return [
        "Simulated on the half of the log that judges (95th percentiles, while loaded):",
        *lines,
    ]


def _show(advice: "AutorateAdvice", output: str | None) -> None:
    from rich.table import Table

    from vermilion.autorate.configuration import number

    headline = {
        "set": f"Set: {len(advice.changes)} numbers",
        "keep": "Keep the present configuration",
        "not judged": "Not judged",
    }[advice.answer]
    say(f"{headline}: {advice.reason}." if advice.answer != "set" else f"{headline}.")
    for name, each in advice.directions.items():
        say(f"  {_direction(name, each)}")
    if advice.changes:
        say()
        table = Table(box=None, pad_edge=False)
        for head in ("", "now", "set"):
            table.add_column(head, justify="right" if head else "left")
        for name, value in advice.changes.items():
            table.add_row(name, number(advice.present[name]), number(value))
        console().print(table)
        say(
            "\nSimulated on the line of this log. Try it for a day, and ask again with the new log."
        )
    if output is not None:
        say(f"configuration: {output}")
