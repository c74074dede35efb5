"""An objective of your own, from Python: any function of a run's result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.objectives.interface import NotMeasuredError, Objective

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.simulate import Result

_LARGEST: Final = 1e75
"""The fourth power of what is larger is no number any more, and statistics need it."""


@dataclass(frozen=True)
class CalledFunction(Objective):
    """A function of a run's result.

    The result has no single flows (``each``), because a tuning runs many.

    Attributes:
        function: returns the number, or ``None`` where the run does not have it.
        title: what a report calls it; by default the function's own name.
        maximise: whether high values are wanted.
        needs_flow_delays: whether it asks for what :func:`vermilion.run` measures of groups of
            flows only with ``flow_delays``: ``delay_ms``, ``packet_loss_rate`` and so on.
    """

    name: ClassVar[str] = "function"
    summary: ClassVar[str] = "a function of a run's result, from Python"
    unit: ClassVar[str] = ""
    noticeable: ClassVar[float] = 0.0

    function: Callable[[Result], float | None]
    title: str = ""
    maximise: bool = False
    needs_flow_delays: bool = False

    @property
    def maximised(self) -> bool:
        """Whether high values are wanted."""
        return self.maximise

    @property
    def label(self) -> str:
        """The title or the function's name."""
        return self.title or getattr(self.function, "__name__", self.name)

    def measure(self, result: Result) -> float:
        """What the function returns."""
        value = self.function(result)
        try:
            number = math.nan if isinstance(value, str | bytes | None) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not abs(number) <= _LARGEST:
            message = (
                f"{self.label} returned {value!r} where a number is needed, "
                f"from -{_LARGEST:g} to {_LARGEST:g}"
            )
            raise NotMeasuredError(message)
        return number
