"""``vermilion bench``, ``reproduce`` and ``check``: a fixed suite, again, and for students."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.json_output import write_json
from vermilion.cli.output import STANDARD_OUTPUT, console, note, output_file, say
from vermilion.cli.progress import ProgressBar

if TYPE_CHECKING:
    from vermilion.bench.outputs import Outputs

EXIT_DIFFERS = 1
"""Exit code where a repeated run differs, or a submission has not all points."""

_MOST_LINES = 20


def bench(
    *,
    plugins: options.Plugins = None,
    sender: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Congestion control to hold (default: the plug-in's).",
            show_default=False,
        ),
    ] = None,
    discipline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Or the queue discipline to hold.", show_default=False),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Folder to write, or one to go on with."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="The short suite: a fifth of the work.")
    ] = False,
    threads: options.Threads = None,
) -> int:
    """Hold a congestion control or a queue against others.

    A fixed suite, beside rivals with the same chances. The folder has figures (PDF, SVG, PNG),
    LaTeX tables, CSV, a page, and what it takes to run it again. The same command goes on with a
    folder that was interrupted.
    """
    from vermilion.bench import Bench, BenchError
    from vermilion.bench.bench import command_of
    from vermilion.bench.outputs import Outputs

    files, sender, discipline = plugins or [], sender or "", discipline or ""
    command = command_of(files, sender, discipline, output, quick=quick)
    try:
        held = Bench.of(
            sender=sender, discipline=discipline, plugins=files, quick=quick, command=command
        )
        with ProgressBar("running", len(held.tasks())) as bar:
            found = held.run(output, threads=threads, progress=bar.callback)
        outputs = Outputs(held, found)
        done = [0]
        with ProgressBar("drawing", len(outputs.figures())) as bar:

            def drawn() -> None:
                done[0] += 1
                if bar.callback is not None:
                    bar.callback(done[0])

            outputs.write(Path(output), progress=drawn)
    except BenchError as error:
        raise UserError(str(error)) from None
    except KeyboardInterrupt:
        note(f"what was run is kept in {output}; the same command goes on")
        raise
    _show(outputs, output)
    return 0


def _show(outputs: "Outputs", folder: str) -> None:
    """Print the summary, a line for each number, and where the rest is."""
    from rich.table import Table

    summary = outputs.summary()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for label in summary.headings[1:]:
        table.add_column(label, justify="right")
    for row in summary.rows:
        table.add_row(*row)
    console().print(table)
    say(f"Means over cases and {len(outputs.bench.seeds)} seeds. Page, figures, tables, data:")
    say(f"  {folder}/index.html")


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER", help="Folder of vermilion bench, or a file of compare --json."
        ),
    ],
    *,
    threads: options.Threads = None,
) -> int:
    """Run a bench or a comparison again, and say what differs.

    Bit for bit on one platform and version. Exit code 1 if anything differs.
    """
    from vermilion.bench import BenchError, reproduce
    from vermilion.bench.bench import read_manifest

    try:
        total = len(read_manifest(Path(target))["scenarios"]) if Path(target).is_dir() else 1
        with ProgressBar("running again", 7 * total) as bar:
            outcome = reproduce(target, threads=threads, progress=bar.callback)
    except BenchError as error:
        raise UserError(str(error)) from None
    for remark in outcome.remarks:
        note(remark)
    if outcome.identical:
        say(f"identical: {outcome.runs} runs, bit for bit")
        return 0
    say(f"{len(outcome.differences)} differences in {outcome.runs} runs")
    for line in outcome.differences[:_MOST_LINES]:
        say(f"  {line}")
    if len(outcome.differences) > _MOST_LINES:
        say(f"  and {len(outcome.differences) - _MOST_LINES} more")
    return EXIT_DIFFERS


def check(
    submission: Annotated[
        str,
        typer.Argument(metavar="SUBMISSION", help="File of Python, or of TOML with a [queue]."),
    ],
    *,
    assignment: Annotated[
        str, typer.Option(metavar="NAME", help="red, aimd or bufferbloat; see the teachers' page.")
    ],
    target: options.Json = None,
) -> int:
    """Grade a submission of an assignment by what it does.

    A file of Python is a program that is run: grade those of others in a container. Exit code 1
    unless it has all points.
    """
    from vermilion.bench import BenchError
    from vermilion.bench.assignments import check

    try:
        grades = check(submission, assignment)
    except BenchError as error:
        raise UserError(str(error)) from None
    points, possible = sum(each.points for each in grades), sum(each.of for each in grades)
    if target is not None:
        document = {
            "assignment": assignment,
            "points": points,
            "of": possible,
            "tasks": [
                {
                    "task": each.words,
                    **({} if each.value is None else {"value": each.value}),
                    "bound": each.bound,
                    "points": each.points,
                    "of": each.of,
                }
                for each in grades
            ],
        }
        with output_file("--json", target) as file:
            write_json(file, document)
    if target != STANDARD_OUTPUT:
        for each in grades:
            value = "unknown" if each.value is None else f"{each.value:.4g}"
            say(f"{each.points} of {each.of}  {each.words}: {value}, expected {each.bound}")
        say(f"{points} of {possible} points")
    return 0 if points == possible else EXIT_DIFFERS
