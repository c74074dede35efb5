"""Effort: how much is simulated, so that time is kept on any network.

A plan is made in packets' work and never in seconds, so that the same question has the same answer
everywhere. A fast line sends more packets in the least time that tells something; then there are
fewer conditions and seeds, and beyond that the question is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.advise.candidates import (
    LEAST_SCREENED,
    LEAST_SECOND,
    SCREENING,
    SELECTION,
    TUNING,
)
from vermilion.advise.conditions import grid, subset
from vermilion.scenario import RATE, ScenarioError, format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Laboratory
    from vermilion.advise.question import Question

LEAST_SEEDS: Final = 3
"""Of a comparison: fewer show nothing."""

_STRETCH: Final = 1.4
"""Of the budget that the least plan may take: conditions are worth more than settings."""

COMPARED: Final = 4
"""Queues in a comparison, that in force among them."""

UP_TO_COMPARISON: Final = 1.25
"""Of the budget, for the search and the comparison. The comparison decides, so it gets what a
search has left, and some of what is kept for aiming further: on a fast line, where runs are short,
length is worth more than that."""

COMPARABLE: Final = UP_TO_COMPARISON - SCREENING - TUNING - SELECTION
"""Of the budget, for the comparison where the search takes all of its part."""

_SPARE: Final = 1.1
_MORE: Final = 3
_STEPS: Final = 40


def conditions_for(
    question: Question, buffer_bytes: float, laboratory: Laboratory
) -> list[Condition]:
    """The conditions that can be afforded: the grid, or the corners that matter most.

    Args:
        question: with its ranges.
        buffer_bytes: what the queue in force can hold.
        laboratory: with its budget.

    Raises:
        ScenarioError: not even these can; the message has a rate at which they can.
    """
    found = _affordable_count(question, buffer_bytes, laboratory)
    if found is not None:
        return found
    low, high = 0.0, question.rate_bit_per_s
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        slower = replace(question, rate_bit_per_s=middle)
        fits = (
            _affordable_count(slower, buffer_bytes, replace(laboratory, question=slower))
            is not None
        )
        low, high = (middle, high) if fits else (low, middle)
    given = format_quantity(question.rate_bit_per_s, RATE)
    if low <= 0.0:
        most = f"fewer than {question.flows[1]}, to be simulated in time"
        raise ScenarioError("--flows", f"{question.flows[0]} .. {question.flows[1]}", most)
    most = format_quantity(float(f"{0.95 * low:.2g}"), RATE)
    hint = "; without --quick more" if question.quick else ""
    accepted = f"at most {most} with these round trips and flows, to be simulated in time{hint}"
    raise ScenarioError("--rate", given, accepted)


def least_cost(conditions: Sequence[Condition], laboratory: Laboratory) -> float:
    """Least cost of a search."""
    few = subset(conditions)
    return laboratory.cost(few, 0.0, LEAST_SCREENED + 1, 1) + laboratory.cost(
        conditions, 0.0, LEAST_SECOND + 1, 1
    )


def settled_cost(conditions: Sequence[Condition], laboratory: Laboratory, queues: int = 2) -> float:
    """Cost of the least comparison in which all transfers have settled."""
    settled = [each.settled() for each in conditions]
    return laboratory.cost(settled, 0.0, queues, LEAST_SEEDS)


def settled_conditions(
    conditions: Sequence[Condition], laboratory: Laboratory, packets: float, queues: int = 2
) -> list[Condition] | None:
    """The conditions with runs that are long enough, or the corners that matter most.

    Args:
        conditions: of the search.
        laboratory: of which the costs are.
        packets: what the comparison may cost.
        queues: that are to be compared, that in force among them; if need be, two are.

    Returns:
        ``None`` where not even the least comparison is affordable.
    """
    few = subset(conditions)
    for some, count in ((conditions, queues), (few, queues), (few, 2)):
        if settled_cost(some, laboratory, count) <= packets:
            return [each.settled() for each in some]
    return None


def settling_budget(conditions: Sequence[Condition], laboratory: Laboratory) -> float:
    """The budget with which the comparison can be as long as it has to be."""
    cost = settled_cost(conditions, laboratory)
    searched = least_cost(conditions, laboratory)
    return _SPARE * max(cost / COMPARABLE, (cost + searched) / UP_TO_COMPARISON)


def seeds_for(
    conditions: Sequence[Condition], laboratory: Laboratory, most: int, packets: float
) -> int:
    """Number of seeds that a comparison has room for.

    As many as are usual if runs of the least length allow it; on a slow line, where a full run
    is cheap, up to three times as many, because few seeds are mistaken about harm.

    Args:
        conditions: of the comparison.
        laboratory: of which the costs are.
        most: how many are usual.
        packets: what the comparison may cost.
    """
    least = int(packets / laboratory.cost(conditions, 0.0, 2, 1))
    full = int(packets / laboratory.cost(conditions, 1.0, COMPARED, 1))
    return max(min(max(least, LEAST_SEEDS), most), min(full, _MORE * most))


def _affordable_count(
    question: Question, buffer_bytes: float, laboratory: Laboratory
) -> list[Condition] | None:
    everything = grid(question, buffer_bytes)
    for conditions in (everything, subset(everything)):
        compared = laboratory.cost(conditions, 0.0, 2, LEAST_SEEDS)
        if least_cost(conditions, laboratory) + compared <= _STRETCH * laboratory.budget:
            return list(conditions)
    return None
