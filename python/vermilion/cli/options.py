"""Options and arguments that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vermilion.cli import completion
from vermilion.cli.endings import UserError
from vermilion.cli.output import figure_format, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from vermilion.simulate.batches import BatchRunner

ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="Scenario file (TOML) or shipped name; see: vermilion scenarios",
        show_default=False,
        autocompletion=completion.scenario_names,
    ),
]

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value, like links.bottleneck.rate='8 Mbit/s'. Repeatable.",
        show_default=False,
        autocompletion=completion.overrides,
    ),
]

Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="Python file (.py) or library (.so) with disciplines or congestion controls. "
        "Repeatable.",
        show_default=False,
        autocompletion=completion.plugin_files,
    ),
]

Plant = Annotated[
    Literal["simulator", "emulator", "kernel"],
    typer.Option(
        help="Simulator, this machine's TCP over an emulated link, or a Linux kernel in "
        "virtual time (make kernel)."
    ),
]

Seed = Annotated[
    int,
    typer.Option(metavar="N", help="Seed of all random numbers."),
]

FirstSeed = Annotated[
    int, typer.Option("--seed", metavar="N", help="First seed; the others follow.")
]

Seeds = Annotated[
    int,
    typer.Option(metavar="COUNT", min=1, max=100_000, help="How many seeds (replications)."),
]

Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=4096,
        help="Runs at a time (default: one per core).",
        show_default=False,
    ),
]

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Dask scheduler for longer simulations, like tcp://10.0.0.1:8786.",
        show_default=False,
    ),
]

Plot = Annotated[
    bool,
    typer.Option("--plot", help="Draw queueing delays in the terminal."),
]

Style = Annotated[
    Literal["page", "paper", "paper-wide", "slides"],
    typer.Option(help="Look of --figure: a page, a paper's column (3.3 in) or width, slides."),
]

Json = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write results as JSON; - for standard output.",
        show_default=False,
    ),
]


def figure_options(figure: str | None, *, panels: str | None = None, style: str = "page") -> str:
    """Format of ``--figure``; "" where there is none.

    Raises:
        UserError: another ending, a panel that there is not, or a choice of panels or a style
            without a figure.
    """
    if figure is None:
        for option, given in (("--panels", panels), ("--style", style != "page")):
            if given:
                message = f"{option} needs --figure FILE"
                raise UserError(message)
        return ""
    kind = figure_format(figure)
    if kind == "html" and style != "page":
        message = f"--style: {style} is not accepted for .html; expected page"
        raise UserError(message)
    if panels is not None:
        from vermilion.report.run_figure import PANELS

        for panel in panels.split(","):
            if panel.strip() not in PANELS:
                message = f'--panels: "{panel}" is not accepted; expected {", ".join(PANELS)}'
                raise UserError(message)
    return kind


def load_plugins(files: list[str] | None) -> None:
    """Registers the classes of the files named with ``--plugin``.

    Raises:
        ScenarioError: a file that cannot be used.
    """
    if files:
        from vermilion.scenario import plugins

        plugins.load_plugins(files)


@contextmanager
def dask(address: str | None) -> Iterator[BatchRunner | None]:
    """The workers that ``--dask`` names; ``None`` for this machine alone.

    Raises:
        UserError: they cannot be used.
    """
    from vermilion.simulate.batches import ClusterError, dask_workers

    if address is None:
        yield None
        return
    try:
        with dask_workers(address) as workers:
            yield workers
            if workers.rescued:
                note(f"{workers.rescued} pieces of work lost by the cluster were done here")
    except ClusterError as error:
        message = f"--dask: {error}"
        raise UserError(message) from None


def interval(option: str, text: str, shortest_s: float, duration_s: float) -> float:
    """Read the interval of a series, like "0.1 s": from the shortest to the duration, seconds.

    Raises:
        UserError: it is no time, or too short or too long.
    """
    from vermilion.scenario.lowering import parse_interval

    return _parse(option, text, lambda: parse_interval(text, shortest_s, duration_s))


def seconds(option: str, text: str) -> float:
    """Read a time, like "30 s".

    Raises:
        UserError: it is no time.
    """
    from vermilion.scenario.quantities import TIME, Quantity

    return _parse(option, text, lambda: float(Quantity(TIME).parse(text)))


def rate(option: str, text: str) -> float:
    """Read a rate, like "10 Mbit/s": at least 1 bit/s.

    Raises:
        UserError: it is no rate.
    """
    from vermilion.scenario.quantities import RATE, Quantity

    return _parse(option, text, lambda: float(Quantity(RATE, minimum=1.0).parse(text)))


def _parse(option: str, text: str, parse: Callable[[], float]) -> float:
    from vermilion.scenario.quantities import QuantityError

    try:
        return parse()
    except QuantityError as error:
        message = f'{option}: "{text}" is not accepted; expected {error.accepted}'
        raise UserError(message) from None


_MEGABYTE = 1_000_000


def read_limited(path: Path, option: str, megabytes: int, accepted: str) -> bytes:
    """Read a file that an option names, if it is not larger than so many megabytes.

    Raises:
        ScenarioError: it cannot be read, or is larger.
    """
    from vermilion.scenario.errors import ScenarioError

    try:
        with path.open("rb") as file:
            content = file.read(megabytes * _MEGABYTE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        problem = f"{option}: cannot be read ({reason})"
        raise ScenarioError("", problem, accepted, str(path)) from None
    if len(content) > megabytes * _MEGABYTE:
        problem = f"{option}: is larger than {megabytes} MB"
        raise ScenarioError("", problem, accepted, str(path))
    return content
