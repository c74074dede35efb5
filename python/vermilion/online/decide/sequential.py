"""Sequential tests: when does a stream of observations say "something changed"?

Two tests, each sound for its kind of stream. :class:`Persistence` is for quantities that
are exact but flicker (a flow count): outside the tolerance several times in a row. The
cumulative sum (E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954) is for
noisy ones (a backlog): it adds up what exceeds a slack and alarms at a threshold, so that a
large shift is noticed quickly and a small one eventually, while noise around the reference
drains away.
"""

from __future__ import annotations

from typing import Literal


class Persistence:
    """True once a condition has held for a number of observations in a row."""

    def __init__(self, hold: int) -> None:
        if hold < 1:
            message = f"hold {hold} is not accepted; expected at least 1 observation"
            raise ValueError(message)
        self._hold = hold
        self._run = 0

    def update(self, *, outside: bool) -> bool:
        """Take in one observation."""
        self._run = self._run + 1 if outside else 0
        return self._run >= self._hold


class TwoSidedCusum:
    """Page's cumulative sum test for a shift of the mean, up or down.

    For independent normal observations of standard deviation s, slack 0.75 s and threshold
    6 s give one false alarm in about 20,000 observations, and notice a shift of 2 s after
    about 5 (Siegmund's approximation, *Sequential Analysis*, 1985).
    """

    def __init__(self, reference: float, slack: float, threshold: float) -> None:
        """Args: the mean expected, the deviation from it that is tolerated, the alarm's level."""
        if slack < 0 or threshold <= 0:
            message = f"slack {slack} and threshold {threshold} must be >= 0 and > 0"
            raise ValueError(message)
        self.reference = reference
        self.slack = slack
        self.threshold = threshold
        self.above = 0.0
        self.below = 0.0

    def update(self, observation: float) -> Literal["above", "below"] | None:
        """Take in one observation; which way the mean has shifted, if it has (then start anew)."""
        excess = observation - self.reference
        self.above = max(0.0, self.above + excess - self.slack)
        self.below = max(0.0, self.below - excess - self.slack)
        if max(self.above, self.below) <= self.threshold:
            return None
        direction: Literal["above", "below"] = "above" if self.above > self.below else "below"
        self.above = self.below = 0.0
        return direction
