"""How the core's JSON is written: strictly, and in pieces where pieces stay the same."""

from __future__ import annotations

from json import JSONEncoder
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

encoded: Final[Callable[[object], str]] = JSONEncoder(allow_nan=False).encode
"""A value as JSON; NaN and infinities raise a ``ValueError``."""


def members(values: Mapping[str, object]) -> str:
    """Members of a JSON object, without the braces around them."""
    return encoded(values)[1:-1]
