"""Whether the best of a search lies where a constraint begins to be broken.

What is then done about it is in :mod:`vermilion.tuning.find.edge_refinement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.objectives.feasible_first import BROKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.tuning.find.horizon import Horizon
    from vermilion.tuning.measure.evaluation import Evaluation

AT_ONCE: Final = 6
"""Settings of a round of the refinement."""

_MOST_REFINED: Final = 36
_PART: Final = 10
"""One further setting for so many of the search, up to the most."""


@dataclass(frozen=True, slots=True)
class Length:
    """What has been simulated of one length.

    Attributes:
        horizon: the length.
        evaluations: that have met all seeds of the search.
    """

    horizon: Horizon
    evaluations: Sequence[Evaluation]


def refined_settings(budget: int) -> int:
    """How many further settings a search of so many is worth; 0 for a search of a few."""
    count = min(_MOST_REFINED, budget // _PART)
    return count if count >= AT_ONCE else 0


def is_at_edge(here: Length) -> bool:
    """Whether what a user asked for stands in the way of something better than the best."""
    horizon = here.horizon
    if all(each.of_harm for each in horizon.constraints) or not here.evaluations:
        return False
    best = min(here.evaluations, key=horizon.value)
    if horizon.value(best) >= BROKEN:
        return True
    return any(
        each.objective < best.objective and horizon.value(each) >= BROKEN
        for each in here.evaluations
    )
