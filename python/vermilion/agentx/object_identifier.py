"""Object identifiers: tuples of numbers from 0 to 2^32 - 1, at most 128 of them (RFC 2578, 3.5)."""

from __future__ import annotations

from typing import Final, TypeAlias

ObjectIdentifier: TypeAlias = tuple[int, ...]
"""The name of an object or of a part of the tree."""

LONGEST: Final = 128
"""Numbers of an object identifier."""

LARGEST: Final = 2**32 - 1
"""The largest of its numbers."""

ZERO_DOT_ZERO: Final[ObjectIdentifier] = (0, 0)
"""A pointer to nothing (RFC 2578, "zeroDotZero")."""


def dotted(name: ObjectIdentifier) -> str:
    """As people write it, like "1.3.6.1.2.1"."""
    return ".".join(str(each) for each in name)


def below(name: ObjectIdentifier, top: ObjectIdentifier) -> bool:
    """Whether a name is in the part of the tree that begins at another."""
    return name[: len(top)] == top
