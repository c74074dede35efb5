"""What the target of a queue's length may be: packets, or the time it takes to send them."""

from __future__ import annotations

from typing import Final

from vermilion.scenario.errors import FieldError
from vermilion.scenario.quantities import PACKETS, TIME, Quantity, QuantityError

LARGEST_TARGET: Final = 1e9
"""Packets."""

TARGET_PACKETS: Final = Quantity(PACKETS, minimum=0.0, maximum=LARGEST_TARGET)
"""The rule for a target in packets."""

_DELAY: Final = Quantity(TIME, minimum=0.0)

ACCEPTED_TARGET: Final = f'{TARGET_PACKETS.accepted()}, or a time, like "20 ms"'
"""What a target may be, in words."""


def target_delay(value: object) -> float | None:
    """The time that a target is given as, in seconds; ``None`` where it is in packets.

    Raises:
        FieldError: it is neither.
    """
    try:
        # First what is usual: to look for a unit that is not in the tables takes long.
        TARGET_PACKETS.parse(value)
    except QuantityError:
        try:
            return float(_DELAY.parse(value))
        except QuantityError:
            raise FieldError("", value, ACCEPTED_TARGET) from None
    return None
