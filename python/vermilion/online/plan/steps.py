"""Small steps on the network itself, where no model explains it: a pattern search in a box.

One parameter is moved a little, what that does is measured, and it stays only if it helped. A
direction that helped is taken again, one that did not is left for the next, and after a round of
all directions without any gain the steps are halved, until they are too small to be noticed
(R. Hooke and T. A. Jeeves, "Direct search solution of numerical and statistical problems", JACM
8(2), 1961, without their pattern moves: two parameters at once could not be told apart).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.routers.queue_set import joint_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue
    from vermilion.search import Space

_FIRST_SIDE = 0.08
_LEAST_SIDE = 0.02


@dataclass(frozen=True, slots=True)
class Steps:
    """Where a pattern search stands; the setting in force is its best point so far.

    Attributes:
        space: the box, by path.
        side: length of a step, as a share of a parameter's range.
        direction: the one to take next: 2 i moves parameter i up, 2 i + 1 moves it down.
        failed: directions in a row that brought nothing.
    """

    space: Space
    side: float = _FIRST_SIDE
    direction: int = 0
    failed: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no step is left that anyone would notice."""
        return self.side < _LEAST_SIDE

    def next_setting(
        self, in_force: Mapping[str, ParameterValue]
    ) -> tuple[Steps, dict[str, float]] | None:
        """The next setting to try, and the steps with its direction; ``None`` at their end.

        Args:
            in_force: every parameter, by name, of several queues by its joint name; those of the
                box have to be numbers.
        """
        steps = self
        names = {path: _name(path, in_force) for path in self.space.names}
        point = self.space.point({path: float(in_force[n] or 0.0) for path, n in names.items()})
        while not steps.is_over:
            place, down = divmod(steps.direction, 2)
            there = min(max(point[place] + (-steps.side if down else steps.side), 0.0), 1.0)
            if abs(there - point[place]) > 0.5 * steps.side:
                moved = [*point]
                moved[place] = there
                found = self.space.values(tuple(moved))
                if found == self.space.values(point):  # between two whole numbers, or a switch
                    steps = steps.told(better=False)
                    continue
                return steps, {names[path]: value for path, value in found.items()}
            steps = steps.told(better=False)  # the end of the box
        return None

    def told(self, *, better: bool) -> Steps:
        """After the step that was tried last."""
        if better:
            return replace(self, failed=0)
        directions = 2 * len(self.space)
        after = replace(self, direction=(self.direction + 1) % directions, failed=self.failed + 1)
        if after.failed < directions:
            return after
        return replace(after, side=0.5 * self.side, failed=0)


def _name(path: str, known: Mapping[str, ParameterValue]) -> str:
    """What the router calls the parameter of a path like ``links.first.queue.weight``."""
    _, link, _, name = path.split(".")
    return name if name in known else joint_name(link, name)
