"""Differentiated services codepoints (RFC 2474), by name or by number."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import PlainValidator

from vermilion.scenario.errors import FieldError

HIGHEST: Final = 63

NAMES: Final = {
    "default": 0,
    "le": 1,
    **{f"cs{number}": 8 * number for number in range(8)},
    **{
        f"af{number}{precedence}": 8 * number + 2 * precedence
        for number in range(1, 5)
        for precedence in range(1, 4)
    },
    "va": 44,
    "ef": 46,
}
"""Numbers of the names: LE (RFC 8622), class selectors, AF (RFC 2597), VA (5865), EF (3246)."""


def codepoint(value: object) -> int:
    """Read a codepoint.

    Raises:
        FieldError: it is none.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST:
        return value
    if isinstance(value, str) and value.lower() in NAMES:
        return NAMES[value.lower()]
    raise FieldError("", value, f'from 0 to {HIGHEST}, or a name, like "ef", "af41", "cs1", "le"')


Codepoint = Annotated[int, PlainValidator(codepoint)]
"""0 to 63."""
