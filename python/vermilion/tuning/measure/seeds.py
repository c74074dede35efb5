"""Which simulation seeds a tuning uses for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from vermilion.scenario.how_many import how_many


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of a tuning's three stages; no seed serves two of them.

    Attributes:
        search: common to all candidates of the search; at least one.
        re_evaluation: those that the few best settings may meet in addition, as many as it takes
            to tell them apart; may be empty.
        comparison: fresh ones for the best setting and the incumbent; at least two, because a
            single one says nothing about chance.
    """

    search: tuple[int, ...]
    re_evaluation: tuple[int, ...]
    comparison: tuple[int, ...]

    def __post_init__(self) -> None:
        seeds = (*self.search, *self.re_evaluation, *self.comparison)
        if len(set(seeds)) < len(seeds):
            message = f"seeds {seeds} are not accepted; expected each of them only once"
            raise ValueError(message)
        if not self.search or len(self.comparison) < 2:  # noqa: PLR2004 - an interval needs two
            message = (
                f"{how_many(len(self.search), 'seed')} for the search and {len(self.comparison)} "
                "for the comparison are not accepted; expected at least 1 and 2"
            )
            raise ValueError(message)

    @classmethod
    def counted(
        cls, first: int = 1, *, search: int = 3, re_evaluation: int = 15, comparison: int = 10
    ) -> Self:
        """So many seeds for each stage, one after the other from ``first`` on."""
        start, end = first + search, first + search + re_evaluation
        return cls(
            tuple(range(first, start)),
            tuple(range(start, end)),
            tuple(range(end, end + comparison)),
        )

    def further(self, count: int) -> tuple[int, ...]:
        """So many seeds more, that no stage has met."""
        first = 1 + max((*self.search, *self.re_evaluation, *self.comparison))
        return tuple(range(first, first + count))
