"""What is wrong with a file of TOML, on one line."""

from __future__ import annotations

import re
from typing import Final

LONGEST_PROBLEM: Final = 200

_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)$")
_WITH_A_UNIT: Final = re.compile(
    r"(?P<key>[\w.-]+)\s*=\s*(?P<value>[-+]?\d[\d_.]*\s*(?:[A-Za-z][\w/^]*|%))\s*(?:[,}#]|$)"
)


def toml_problem(error: Exception, text: str = "") -> str:
    """The parser's words, but for those that only its programmer understands.

    Args:
        error: that it has raised.
        text: what it was reading, if that is known.
    """
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    words = " ".join(str(error).split()).replace("Cannot overwrite a value", "a key is there twice")
    return f"{words[:LONGEST_PROBLEM]}{_hint(words, text)}"


def _hint(words: str, text: str) -> str:
    """What is probably meant by the line that the parser complains of."""
    place = _LINE.search(words)
    lines = text.splitlines()
    if place is None or int(place[1]) > len(lines):
        return ""
    found = _WITH_A_UNIT.search(lines[int(place[1]) - 1])
    if found is None:
        return ""
    return f'; a number with a unit is written in quotes: {found["key"]} = "{found["value"]}"'
