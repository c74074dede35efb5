"""How the setting that stood at the beginning would do beside the one in force, in the models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vermilion.tuning.judge.known_reference import ConstraintOnKnown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.search import ModelCase


def first_beside_in_force(cases: Sequence[ModelCase], incumbent: Prediction) -> dict[str, float]:
    """What bounded metrics would be more under the first setting, in the mean of likely models.

    What a change may cost counts from the first setting, and the network shows only the one in
    force: the models know the difference. Empty while the first setting is in force.

    Args:
        cases: the models, with the bounds of harm that each asks for.
        incumbent: what they say of the setting in force.

    Returns:
        By the path of a metric, in its unit.
    """
    known: dict[str, list[tuple[float, float]]] = {}
    for case in cases:
        for bound in case.constraints:
            if case.share > 0.0 and isinstance(bound, ConstraintOnKnown):
                phases = [value for value in bound.known if value is not None]
                if phases:
                    mean = math.fsum(phases) / len(phases)
                    known.setdefault(str(bound.path), []).append((case.share, mean))
    beside: dict[str, float] = {}
    for path, shares in known.items():
        stands = incumbent.metric(path)
        total = math.fsum(share for share, _ in shares)
        if stands is not None:
            first = math.fsum(share * value for share, value in shares) / total
            beside[path] = first - stands.mean
    return beside
