"""Where figures of commands go: SVG, PNG or a page, by the file's name."""

from __future__ import annotations

from vermilion.cli.user_error import UserError


def figure_format(figure: str) -> str:
    """The format that ``--figure`` asks for.

    Raises:
        UserError: a name with another ending.
    """
    from vermilion.report import figure_file

    try:
        return figure_file.figure_format(figure)
    except ValueError as error:
        message = f"--figure: {error}"
        raise UserError(message) from None
