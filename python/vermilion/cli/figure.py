"""Where figures of commands go: SVG, PNG or a page, by the file's name."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO, Self

from vermilion.cli.output import binary_output_file
from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from types import TracebackType


class FigureFile:
    """The file of ``--figure``, opened before the work begins. A context manager.

    Attributes:
        kind: the format, by the file's name; "" where no figure is asked for.
        file: where the figure goes; ``None`` likewise, and outside of the ``with``.

    Raises:
        UserError: a name with another ending, or a file that cannot be written.
    """

    def __init__(self, figure: str | None) -> None:
        """Args: the file's name; ``None`` for no figure."""
        self.kind = "" if figure is None else figure_format(figure)
        self.file: BinaryIO | None = None
        self._figure = figure
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        self._opened.__enter__()
        if self._figure is not None:
            self.file = self._opened.enter_context(binary_output_file("--figure", self._figure))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.file = None
        self._opened.__exit__(kind, error, traceback)


def figure_format(figure: str) -> str:
    """The format that ``--figure`` asks for.

    Raises:
        UserError: a name with another ending.
    """
    from vermilion.report import drawing

    try:
        return drawing.figure_format(figure)
    except ValueError as error:
        message = f"--figure: {error}"
        raise UserError(message) from None
