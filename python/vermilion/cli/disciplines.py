"""``vermilion disciplines``: what a queue can do, and with which parameters."""

from typing import Annotated

import typer

from vermilion.cli import completion, options


def disciplines(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show this one in full.",
            show_default=False,
            autocompletion=completion.discipline_names,
        ),
    ] = None,
    plugins: options.Plugins = None,
    target: options.Json = None,
) -> None:
    """List the queue disciplines, or show one in full."""
    from vermilion import _core
    from vermilion.cli.algorithms import show
    from vermilion.scenario import algorithms

    options.load_plugins(plugins)
    show("discipline", name, algorithms.disciplines(), _core.disciplines(), target)
