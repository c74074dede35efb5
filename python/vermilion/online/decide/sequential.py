"""Sequential tests: when does a stream of observations say "something changed"?

Two tests, each sound for its kind of stream. :class:`Persistence` is for quantities that
are exact but flicker (a flow count): outside the tolerance several times in a row. The
cumulative sum (E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954) is for
noisy ones (a backlog): it adds up what exceeds a slack and alarms at a threshold, so that a
large shift is noticed quickly and a small one eventually, while noise around the reference
drains away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Persistence:
    """True once a condition has held for a number of observations in a row.

    A value: every observation makes the next one.

    Attributes:
        hold: how many, at least 1.
        run: for how many it has held so far.
    """

    hold: int
    run: int = 0

    def __post_init__(self) -> None:
        """Refuse a number that would mean nothing."""
        if self.hold < 1:
            message = f"hold {self.hold} is not accepted; expected at least 1 observation"
            raise ValueError(message)

    def after(self, *, outside: bool) -> Persistence:
        """The test after one more observation."""
        return replace(self, run=self.run + 1 if outside else 0)

    @property
    def alarmed(self) -> bool:
        """Whether it has held long enough."""
        return self.run >= self.hold


@dataclass(frozen=True, slots=True)
class TwoSidedCusum:
    """Page's cumulative sum test for a shift of the mean, up or down.

    For independent normal observations of standard deviation s, slack 0.75 s and threshold
    6 s give one false alarm in about 20,000 observations, and notice a shift of 2 s after
    about 5 (Siegmund's approximation, *Sequential Analysis*, 1985).

    A value: every observation makes the next one.

    Attributes:
        reference: the mean expected.
        slack: the deviation from it that is tolerated, at least 0.
        threshold: the alarm's level, above 0.
        above: what has exceeded the slack upwards and not drained away.
        below: the same downwards.
    """

    reference: float
    slack: float
    threshold: float
    above: float = 0.0
    below: float = 0.0

    def __post_init__(self) -> None:
        """Refuse levels that would mean nothing."""
        if self.slack < 0 or self.threshold <= 0:
            message = f"slack {self.slack} and threshold {self.threshold} must be >= 0 and > 0"
            raise ValueError(message)

    def after(self, observation: float) -> tuple[TwoSidedCusum, Literal["above", "below"] | None]:
        """The test after one observation, and which way the mean has shifted, if it has.

        With an alarm the sums begin anew.
        """
        excess = observation - self.reference
        above = max(0.0, self.above + excess - self.slack)
        below = max(0.0, self.below - excess - self.slack)
        if max(above, below) <= self.threshold:
            return replace(self, above=above, below=below), None
        direction: Literal["above", "below"] = "above" if above > below else "below"
        return replace(self, above=0.0, below=0.0), direction
