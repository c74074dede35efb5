"""What is wrong with a file of TOML, on one line."""

from __future__ import annotations

LONGEST_PROBLEM = 200


def toml_problem(error: Exception) -> str:
    """The parser's words, but for those that only its programmer understands.

    Args:
        error: that it has raised.
    """
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    words = " ".join(str(error).split()).replace("Cannot overwrite a value", "a key is there twice")
    return words[:LONGEST_PROBLEM]
