"""Who pays for the time a search takes: the network.

While the controller computes, the network goes on under the old setting. A controller of a
real router computes beside the passing time; a controller of a simulated network must be
charged for it, or it would look quicker than it is. So the driver does the work at once, and
hands its finding over only when the network's time has reached the end of it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.plan.task import Finding, Task

    Solve = Callable[[Task], Finding]
    """Does the work; :func:`vermilion.online.plan.solve.solve` outside of tests."""


class Pace(ABC):
    """How much of the network's time a piece of work takes."""

    @abstractmethod
    def work(self, task: Task, solve: Solve) -> tuple[Finding, float]:
        """Do the work; the finding, and the seconds that it is charged."""


class MeasuredPace(Pace):
    """Charges the wall time the work really took."""

    def work(self, task: Task, solve: Solve) -> tuple[Finding, float]:
        """Do the work and charge what it took, even beyond the deadline."""
        begun = time.perf_counter()
        finding = solve(task)
        return finding, time.perf_counter() - begun


class FixedPace(Pace):
    """Charges the whole deadline whatever the machine: runs repeat exactly."""

    def work(self, task: Task, solve: Solve) -> tuple[Finding, float]:
        """Do the work and charge the deadline."""
        return solve(task), task.deadline_s
