"""What a queue's switches say of marks: whether it marks, and whether it drops in earnest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

DROPS_IN_EARNEST: Final = "drop_above_maximum"
"""The switch by which a queue drops above its maximum what it could mark (RFC 3168, section 7)."""


def marks(parameters: Mapping[str, object]) -> bool:
    """Whether a queue with these parameters marks what it can."""
    return parameters.get("ecn") is True


def marks_alone(parameters: Mapping[str, object]) -> bool:
    """Whether a queue with these parameters never drops, for its average, what it can mark."""
    return marks(parameters) and parameters.get(DROPS_IN_EARNEST) is False
