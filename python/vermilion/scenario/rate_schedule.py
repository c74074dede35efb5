"""Rates that follow a schedule: the times and the rates, as a user writes them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import PlainValidator

from vermilion.scenario.errors import FieldError
from vermilion.scenario.quantities import RATE, TIME, Quantity, QuantityError

LONGEST_SCHEDULE: Final = 1_000_000
"""Steps."""

_STEP_TIME: Final = Quantity(TIME, minimum=0.0, maximum=1e6)
_STEP_RATE: Final = Quantity(RATE, minimum=0.0, maximum=1e13)


def _read_steps(value: object) -> tuple[tuple[float, float], ...]:
    example = 'a list like [["0 s", "10 Mbit/s"], ["20 s", "100 Mbit/s"]]'
    if not isinstance(value, list | tuple) or not 0 < len(value) <= LONGEST_SCHEDULE:
        raise FieldError("", value, f"{example}, of at most {LONGEST_SCHEDULE:,} steps")
    steps: list[tuple[float, float]] = []
    for index, step in enumerate(value):
        if not isinstance(step, list | tuple) or len(step) != 2:  # noqa: PLR2004 - a pair
            raise FieldError(str(index), step, 'a time and a rate, like ["20 s", "100 Mbit/s"]')
        try:
            time = float(_STEP_TIME.parse(step[0]))
            rate = float(_STEP_RATE.parse(step[1]))
        except QuantityError as error:
            raise FieldError(str(index), error.value, error.accepted) from None
        if index == 0 and time != 0:
            raise FieldError("0", step[0], 'a first step at "0 s"')
        if steps and time <= steps[-1][0]:
            raise FieldError(str(index), step[0], "a time after that of the step before")
        steps.append((time, rate))
    return tuple(steps)


Steps = Annotated[tuple[tuple[float, float], ...], PlainValidator(_read_steps)]
"""Seconds and bit/s, the first at 0 s."""
