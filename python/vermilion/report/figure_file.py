"""What a figure can be saved as, by the end of its name."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

FORMATS: Final = ("html", "svg", "png")
"""What a figure can be saved as, by the end of its name."""

_DOTS_PER_INCH: Final = 200


def figure_format(path: str | os.PathLike[str]) -> str:
    """The format that a file's name asks for: one of :data:`FORMATS`.

    Raises:
        ValueError: another ending.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        message = (
            f'"{Path(path).name}" is not accepted; expected a name ending in .html, .svg or .png'
        )
        raise ValueError(message)
    return suffix


def picture(figure: Figure, kind: str) -> bytes:
    """The bytes of a figure as "svg" or "png"; the same figure gives the same bytes."""
    target = io.BytesIO()
    with drawing.style():
        if kind == "svg":
            figure.savefig(target, format="svg", metadata={"Date": None})
        else:
            figure.savefig(target, format="png", dpi=_DOTS_PER_INCH)
    return target.getvalue()
