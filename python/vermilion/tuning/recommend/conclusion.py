"""What a recommendation comes to, in one word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from vermilion.tuning.recommend.recommendation import Recommendation

if TYPE_CHECKING:
    from vermilion.tuning.recommend.robust_recommendation import RobustRecommendation

Conclusion = Literal["recommended", "kept", "refused"]
"""Whether the best setting should replace the one in force; else whether the latter is kept because
nothing is surely better, or because the best does not surely keep what must hold."""


def conclusion_of(outcome: Recommendation | RobustRecommendation) -> Conclusion:
    """What a recommendation comes to; the one place that knows.

    A tuning that was cut short before its comparison has kept what is in force.
    """
    if outcome.accepted:
        return "recommended"
    compared = (
        [outcome.comparison]
        if isinstance(outcome, Recommendation)
        else [case.comparison for case in outcome.cases]
    )
    refused = any(each is not None and each.decision.refused for each in compared)
    return "refused" if refused else "kept"
