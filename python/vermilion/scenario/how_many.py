"""A count with its noun: "1 setting", "250 settings"."""

from __future__ import annotations


def how_many(count: int, noun: str, several: str = "") -> str:
    """The count and the noun, in the singular for one.

    Args:
        count: of the things.
        noun: for one of them.
        several: for more than one, or none; the noun with an "s" unless given.
    """
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"
