"""Options and arguments that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vermilion.cli import completion
from vermilion.cli.endings import UserError
from vermilion.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from vermilion.simulate.batches import BatchRunner

ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file (TOML) or the name of a shipped one; see: vermilion scenarios",
        show_default=False,
        autocompletion=completion.scenario_names,
    ),
]

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a value, like links.bottleneck.rate='8 Mbit/s'. May be repeated.",
        show_default=False,
        autocompletion=completion.overrides,
    ),
]

Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py",
        help="A file with queue disciplines or congestion controls of your own in Python. "
        "May be repeated.",
        show_default=False,
        autocompletion=completion.plugin_files,
    ),
]

Plant = Annotated[
    Literal["simulator", "emulator", "kernel"],
    typer.Option(
        help="Run in the simulator, with this machine's TCP through an emulated link in real time, "
        "or on a real Linux kernel in virtual time (see: make kernel)."
    ),
]

Seed = Annotated[
    int,
    typer.Option(metavar="N", help="The seed from which every random number of the run derives."),
]

FirstSeed = Annotated[
    int, typer.Option("--seed", metavar="N", help="The first seed; further ones follow it.")
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
        help="How many runs at a time (default: one for each core).",
        show_default=False,
    ),
]

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Let the workers of this Dask scheduler do the longer simulations, like "
        "tcp://10.0.0.1:8786. The outcome is the same.",
        show_default=False,
    ),
]

Plot = Annotated[
    bool,
    typer.Option(
        "--plot", help="Draw curves in the terminal as well: how long packets wait over time."
    ),
]

Json = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help='Write the results as JSON to a file, or to standard output for "-".',
        show_default=False,
    ),
]


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
                note(f"{workers.rescued} pieces of work were lost by the cluster and done here")
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
