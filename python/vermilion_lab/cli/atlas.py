"""``vermilion atlas``: the best settings over a grid of conditions, maps of them, and rules."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.json_output import write_json
from vermilion.cli.output import (
    STANDARD_OUTPUT,
    binary_output_file,
    check_outputs,
    note,
    output_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from vermilion_lab.atlas import Atlas, Plan

_FIGURES = (".svg", ".png")


def atlas(
    plan_file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A table (TOML) with any of these: rate, flows, rtt, ecn, discipline, sender, "
            "packet_size, target_delay or hold_at, objective, constraints, parameters, space, "
            "budget, search, seed. Options replace what it says.",
            show_default=False,
        ),
    ] = None,
    *,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Of the link, like '5 Mbit/s, 20 Mbit/s'.", show_default=False
        ),
    ] = None,
    flows: Annotated[
        str | None, typer.Option(metavar="LIST", help="How many, like 4,16.", show_default=False)
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Base round trips, like '20 ms, 100 ms'.", show_default=False
        ),
    ] = None,
    ecn: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="off, on, or 'off, on' (default: off).", show_default=False
        ),
    ] = None,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:PARAMETERS]",
            help="What to tune, and what of it stays fixed (default: red). A threshold may be "
            "given in targets: 'red:gentle=true,min_threshold=0.5 target'.",
            show_default=False,
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="NAME",
            help="What of it to tune (default: all that have a box). May be repeated.",
            show_default=False,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="As tune takes it, of the link 'bottleneck' and the flows 'bulk' (default: "
            "goodput while queueing delays keep to --target-delay).",
            show_default=False,
        ),
    ] = None,
    constraints: Annotated[
        list[str] | None,
        typer.Option(
            "--constraint",
            metavar="TEXT",
            help="As tune takes it. May be repeated.",
            show_default=False,
        ),
    ] = None,
    target_delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="At most so long may 95 % of the packets wait (default: 20 ms).",
            show_default=False,
        ),
    ] = None,
    hold_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Hold the queue at this length instead: the time it takes to send.",
            show_default=False,
        ),
    ] = None,
    sender: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:PARAMETERS]",
            help="Of the flows, like newreno (default: cubic:option_set=linux).",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT", min=1, help="Settings per cell (default: 150).", show_default=False
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How to search, as tune takes it (default: recursive-random-search).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="The first seed (default: 1).", show_default=False),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep each cell there as soon as it is done, and take from there what is already "
            "known: an interrupted atlas goes on.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the table: .csv or .parquet.", show_default=False),
    ] = None,
    maps: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw maps of the settings: .svg or .png.", show_default=False
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw how far rules are from them: .svg or .png.",
            show_default=False,
        ),
    ] = None,
    threads: options.Threads = None,
    dask: options.Dask = None,
    target: options.Json = None,
) -> None:
    """Tune a discipline over a grid of conditions.

    Finds the best setting for every combination of rate, number of flows, round trip and ECN, fits
    power laws to what it finds, and compares both with the rules of the literature.
    """
    given = {
        "rate": _listed(rate),
        "flows": _listed(flows, number=True),
        "rtt": _listed(rtt),
        "ecn": _listed(ecn),
        "discipline": discipline,
        "parameters": parameters,
        "objective": objective,
        "constraints": constraints,
        "target_delay": target_delay,
        "hold_at": hold_at,
        "sender": sender,
        "budget": budget,
        "search": search,
        "seed": seed,
    }
    plan = _plan(plan_file, given)
    check_outputs(json=target, table=table)
    _check_suffixes(table, {"--maps": maps, "--rules": rules})
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        table_file = table and outputs.enter_context(_table_file(table))
        figures = {
            name: outputs.enter_context(binary_output_file(f"--{name}", path))
            for name, path in (("maps", maps), ("rules", rules))
            if path is not None
        }
        done = _build(plan, keep, threads, dask)
        if json_file:
            write_json(json_file, done.document())
        if table_file:
            _write_table(table, table_file, done)
        for name, file in figures.items():
            from vermilion_lab.atlas.maps import maps_figure, rules_figure

            figure = maps_figure(done) if name == "maps" else rules_figure(done)
            _save(figure, str(maps if name == "maps" else rules), file)
        if STANDARD_OUTPUT not in {target, table}:
            from vermilion_lab.cli.atlas_tables import print_atlas

            print_atlas(done)


def _listed(text: str | None, *, number: bool = False) -> list[object] | None:
    """The entries of a list on the command line."""
    if text is None:
        return None
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    return [int(entry) if number and entry.isdigit() else entry for entry in entries]


def _plan(file: str | None, given: dict[str, Any]) -> "Plan":
    from vermilion_lab.atlas import read_plan
    from vermilion_lab.atlas.plan import read_plan_file

    table = {} if file is None else read_plan_file(file)
    chosen = {key: value for key, value in given.items() if value is not None}
    # One of the two takes the place of whichever the file has.
    either = ("target_delay", "hold_at")
    if any(key in chosen for key in either):
        table = {key: value for key, value in table.items() if key not in either}
    table.update(chosen)
    return read_plan(table, file or "atlas")


def _build(plan: "Plan", keep: Path | None, threads: int | None, dask: str | None) -> "Atlas":
    from vermilion.cli.progress import ProgressBar
    from vermilion_lab.atlas import build_atlas
    from vermilion_lab.atlas.build import TOTAL_EFFORT

    total = TOTAL_EFFORT * len(plan.conditions())
    try:
        with options.dask(dask) as workers, ProgressBar("atlas", total) as bar:
            return build_atlas(
                plan, keep=keep, workers=workers, threads=threads, progress=bar.callback
            )
    except KeyboardInterrupt:
        if keep is not None:
            note(f'the cells that are done are in "{keep}"; the same command goes on')
        else:
            note("nothing is kept of an atlas that is not whole, unless --keep names a folder")
        raise
    except OSError as error:
        if keep is None:
            raise
        reason = error.strerror or error
        message = f'--keep: "{keep}" cannot be used ({reason}); expected a folder'
        raise UserError(message) from None


def _check_suffixes(table: str | None, figures: dict[str, str | None]) -> None:
    from vermilion.simulate import MissingPackageError
    from vermilion.simulate.tables import check_format

    if table is not None and table != STANDARD_OUTPUT:
        try:
            check_format(table)
        except (ValueError, MissingPackageError) as error:
            message = f"--table: {error}"
            raise UserError(message) from None
    for option, path in figures.items():
        if path is not None and Path(path).suffix.lower() not in _FIGURES:
            message = f'{option}: "{path}" is not accepted; expected a name ending in .svg or .png'
            raise UserError(message)


def _table_file(path: str) -> Any:  # noqa: ANN401 - of texts or of bytes
    if path.lower().endswith(".parquet"):
        return binary_output_file("--table", path)
    return output_file("--table", path)


def _write_table(path: str | None, file: Any, done: "Atlas") -> None:  # noqa: ANN401 - likewise
    from vermilion_lab.atlas.table import write_csv, write_parquet

    write: Callable[[Any, Atlas], None] = write_csv
    if str(path).lower().endswith(".parquet"):
        write = write_parquet
    write(file, done)


def _save(figure: "Figure", path: str, file: Any) -> None:  # noqa: ANN401 - an open file of bytes
    from vermilion.report import drawing

    kind = Path(path).suffix.lower().removeprefix(".")
    metadata: Any = {"Date": None} if kind == "svg" else None
    with drawing.style():
        figure.savefig(file, format=kind, dpi=150, metadata=metadata)
