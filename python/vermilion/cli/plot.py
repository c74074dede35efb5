"""``--plot``: curves in the terminal, as wide as it is."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.report.braille import Panel

_USUAL_WIDTH: Final = 80
"""Of what is no terminal, unless ``$COLUMNS`` says otherwise."""

Plot = Annotated[
    bool,
    typer.Option(
        "--plot", help="Draw curves in the terminal as well: how long packets wait over time."
    ),
]


def show_panels(panels: Sequence[Panel]) -> None:
    """Prints curves in what the terminal can show: its width, colours, and letters.

    ``NO_COLOR`` (https://no-color.org) and a terminal called "dumb" keep colours away.
    """
    from vermilion.report.braille import plot

    is_terminal = sys.stdout.isatty()
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    width = shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    typer.echo(
        plot(panels, width, colour=is_terminal and wanted, braille=encoding.startswith("utf"))
    )
