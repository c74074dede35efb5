"""A count with its noun: "1 setting", "250 settings", "12,345 packets"."""

from __future__ import annotations


def how_many(count: float, noun: str, several: str = "", *, grouped: bool = False) -> str:
    """The count and the noun, in the singular for one.

    Args:
        count: of the things; a target of 12.5 packets is one, too.
        noun: for one of them.
        several: for more than one, or none; the noun with an "s" unless given.
        grouped: whether large numbers have commas.
    """
    shown = f"{count:g}" if isinstance(count, float) else f"{count:,}" if grouped else str(count)
    return f"{shown} {noun if count == 1 else several or f'{noun}s'}"
