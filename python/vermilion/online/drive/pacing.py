"""Who pays for the time a search takes: the network.

While the controller computes, the network goes on under the old setting. A controller of a
real router computes beside the passing time; a controller of a simulated network must be
charged for it, or it would look quicker than it is. So the controller hands its work to a
:class:`Pace` and polls with the network's time until the answer is due, sampling all the
while. The work is told how long it may take.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


class Pending(Generic[Answer]):
    """An answer that is known but not yet due."""

    def __init__(self, begun_s: float, took_s: float, answer: Answer) -> None:
        self.begun_s = begun_s
        self.took_s = took_s
        self._answer = answer

    def due(self, now_s: float) -> Answer | None:
        """The answer once the network's time has reached the end of the work."""
        return self._answer if now_s >= self.begun_s + self.took_s - 1e-9 else None


class Pace(ABC):
    """How much of the network's time a piece of work takes."""

    @abstractmethod
    def begin(self, now_s: float, deadline_s: float, work: Callable[[], Answer]) -> Pending[Answer]:
        """Do ``work``, which was allowed ``deadline_s``, beginning at ``now_s``."""


class MeasuredPace(Pace):
    """Charges the wall time the work really took."""

    def begin(self, now_s: float, deadline_s: float, work: Callable[[], Answer]) -> Pending[Answer]:  # noqa: ARG002
        """Do ``work`` and charge what it took, even beyond the deadline."""
        begun = time.perf_counter()
        answer = work()
        return Pending(now_s, time.perf_counter() - begun, answer)


class FixedPace(Pace):
    """Charges the whole deadline whatever the machine: runs repeat exactly."""

    def begin(self, now_s: float, deadline_s: float, work: Callable[[], Answer]) -> Pending[Answer]:
        """Do ``work`` and charge the deadline."""
        return Pending(now_s, deadline_s, work())
