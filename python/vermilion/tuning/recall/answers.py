"""Earlier answers: where to begin the next search.

Conditions come back (every evening, after every failover, in the next scenario of a study). The
setting that was best for the most similar conditions so far is a better first guess than any
random one; the search tries it, and the setting in force, before anything else.

What conditions are, and how far two of them lie apart, is the caller's: those of a scenario are in
:mod:`vermilion.tuning.recall.conditions`, those of a live network in ``vermilion.online``.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Conditions = TypeVar("Conditions")


@dataclass(frozen=True, slots=True)
class EarlierAnswer(Generic[Conditions]):
    """A setting that was found for conditions.

    Attributes:
        conditions: what it was found for.
        setting: values of the tuned parameters.
        source: where it comes from, such as the scenario's name.
    """

    conditions: Conditions
    setting: Mapping[str, float]
    source: str = ""


class EarlierAnswers(Generic[Conditions]):
    """Settings that were found for conditions, the oldest forgotten first.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._answers: deque[EarlierAnswer[Conditions]] = deque(maxlen=most)

    def __iter__(self) -> Iterator[EarlierAnswer[Conditions]]:
        return iter(self._answers)

    def keep(self, answer: EarlierAnswer[Conditions]) -> None:
        """Remembers an answer."""
        self._answers.append(answer)

    def nearest(
        self, distance: Callable[[Conditions], float], most: int
    ) -> list[tuple[float, EarlierAnswer[Conditions]]]:
        """The answers for the most similar conditions, the most similar first.

        Args:
            distance: of an answer's conditions from those asked about; infinite where its
                setting would not fit.
            most: how many at most; all their settings differ, the newest of equally similar
                ones coming first.
        """
        return nearest_answers(self._answers, distance, most)


def nearest_answers(
    answers: Iterable[EarlierAnswer[Conditions]], distance: Callable[[Conditions], float], most: int
) -> list[tuple[float, EarlierAnswer[Conditions]]]:
    """Those of ``answers``, oldest first, that :meth:`EarlierAnswers.nearest` describes."""
    newest_first = list(answers)[::-1]
    ranked = sorted(
        ((distance(answer.conditions), answer) for answer in newest_first),
        key=lambda entry: entry[0],
    )
    found: list[tuple[float, EarlierAnswer[Conditions]]] = []
    for apart, answer in ranked:
        if len(found) == most or math.isinf(apart):
            break
        if all(dict(answer.setting) != dict(other.setting) for _, other in found):
            found.append((apart, answer))
    return found


def times_apart(one: float, other: float) -> float:
    """How far two positive quantities lie apart: 0 for equal ones, ln 2 for twice as much."""
    return abs(math.log(one / other))
