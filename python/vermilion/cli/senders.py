"""``vermilion senders``: how a flow can send, and with which parameters."""

from typing import Annotated

import typer

from vermilion.cli import completion, options


def senders(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show this one in full.",
            show_default=False,
            autocompletion=completion.sender_names,
        ),
    ] = None,
    plugins: options.Plugins = None,
    target: options.Json = None,
) -> None:
    """List the senders, or show one in full.

    A sender is a congestion control: what a flow does with acknowledgements and losses.
    """
    from vermilion import _core
    from vermilion.cli.algorithms import show
    from vermilion.scenario import algorithms

    options.load_plugins(plugins)
    show("sender", name, algorithms.senders(), _core.senders(), target)
