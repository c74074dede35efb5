"""How many flows may starve, by what a change may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.model.prediction import Prediction
    from vermilion.online.plan.search import ModelCase


def most_starved(cases: Sequence[ModelCase], incumbent: Prediction) -> float | None:
    """How many flows the bound of harm lets starve, in the likely model that starves most."""
    limits: list[float] = []
    for case in cases:
        for bound in case.constraints:
            if case.share == 0.0 or not bound.of_harm or bound.path.metric != "starved":
                continue
            stood = incumbent.metric(str(bound.path))
            reference = [None if stood is None else stood.mean]
            limits.extend(each for each in bound.bounds([None], reference) if each is not None)
    return max(limits, default=None)
