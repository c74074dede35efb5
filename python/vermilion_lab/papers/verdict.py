"""Verdicts from numbers and their intervals, by one rule for all papers.

A claim is broken down into checks: one quantity, in one reading of what the paper leaves open,
with the range in which the paper wants it. A check *holds* when the whole 95 % interval lies in
the range, *fails* when the whole interval lies outside, and is *open* when the interval straddles
an end or cannot be computed. The claim

- holds, when every check holds;
- holds in part, when some hold and others do not;
- does not hold, when none holds and at least one fails;
- cannot be judged, when all are open or there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from vermilion.files.document import document
from vermilion.report.numbers import significant, with_interval
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate import Interval

_NAMED_EXCEPTIONS = 4  # checks that a reason spells out; the table has all of them


class Ruling(Enum):
    """Outcome of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    OPEN = "cannot be judged"


@dataclass(frozen=True, slots=True)
class Expected:
    """Range that the paper claims, from ``low`` to ``high``, either of which may be absent."""

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Refuses a range that says nothing or is empty."""
        if self.low is None and self.high is None:
            message = "an expectation needs an end"
            raise ValueError(message)
        if self.low is not None and self.high is not None and self.low > self.high:
            message = f"an expectation from {self.low} to {self.high} is empty"
            raise ValueError(message)

    def contains(self, interval: Interval) -> bool:
        """Check whether the whole interval lies in the range."""
        low, high = interval.low, interval.high
        if low is None or high is None:
            return False
        return (self.low is None or low >= self.low) and (self.high is None or high <= self.high)

    def excludes(self, interval: Interval) -> bool:
        """Check whether the whole interval lies outside the range."""
        low, high = interval.low, interval.high
        if low is None or high is None:
            return False
        return (self.low is not None and high < self.low) or (
            self.high is not None and low > self.high
        )

    def describe(self, scale: float = 1.0) -> str:
        """Format, like "at most 93" or "27 to 33"."""
        if self.low is None:
            return f"at most {significant((self.high or 0.0) * scale)}"
        if self.high is None:
            return f"at least {significant(self.low * scale)}"
        return f"{significant(self.low * scale)} to {significant(self.high * scale)}"


@document(
    "quantity reading unit outcome expected_low? expected_high? mean? low? high?"
    " replications?=interval.count"
)
@dataclass(frozen=True, slots=True)
class Check:
    """One quantity in one reading, against what the paper wants of it.

    Attributes:
        quantity: what was measured, in words, with its conditions.
        interval: its mean over seeds; ``None`` where it could not be measured.
        expected: the range in which it bears the claim out.
        reading: which reading of what the paper leaves open; "" where nothing is.
        unit: of the numbers as shown.
        scale: from the interval's unit to the one shown, such as 100 for per cent.
    """

    quantity: str
    interval: Interval | None
    expected: Expected
    reading: str = ""
    unit: str = ""
    scale: float = 1.0

    @property
    def outcome(self) -> str:
        """The verdict in a word."""
        return {Ruling.HOLDS: "holds", Ruling.FAILS: "fails"}.get(self.verdict, "open")

    @property
    def expected_low(self) -> float | None:
        """Lower end of the range in the unit shown."""
        return self._shown(self.expected.low)

    @property
    def expected_high(self) -> float | None:
        """Upper end of the range, likewise."""
        return self._shown(self.expected.high)

    @property
    def mean(self) -> float | None:
        """The mean, likewise."""
        return None if self.interval is None else self._shown(self.interval.mean)

    @property
    def low(self) -> float | None:
        """The interval's lower end, likewise."""
        return None if self.interval is None else self._shown(self.interval.low)

    @property
    def high(self) -> float | None:
        """The interval's upper end, likewise."""
        return None if self.interval is None else self._shown(self.interval.high)

    def _shown(self, value: float | None) -> float | None:
        return None if value is None else value * self.scale

    @property
    def verdict(self) -> Ruling:
        """Holds, fails, or open."""
        if self.interval is None:
            return Ruling.OPEN
        if self.expected.contains(self.interval):
            return Ruling.HOLDS
        return Ruling.FAILS if self.expected.excludes(self.interval) else Ruling.OPEN

    @property
    def measured(self) -> str:
        """The mean with its interval and unit."""
        return f"{with_interval(self.interval, self.scale)} {self.unit}".rstrip()

    @property
    def wanted(self) -> str:
        """The expected range with its unit."""
        return f"{self.expected.describe(self.scale)} {self.unit}".rstrip()

    def describe(self) -> str:
        """Format, like "10 Mbit/s: utilisation 99.9 ± 0.1 %, expected at most 93 %"."""
        place = f"{self.reading}: " if self.reading else ""
        return f"{place}{self.quantity} {self.measured}, expected {self.wanted}"


def judge(checks: Sequence[Check]) -> Ruling:
    """The verdict on a claim, by the rule at the head of this module."""
    outcomes = [check.verdict for check in checks]
    if outcomes and all(outcome is Ruling.HOLDS for outcome in outcomes):
        return Ruling.HOLDS
    if Ruling.HOLDS in outcomes:
        return Ruling.IN_PART
    return Ruling.FAILS if Ruling.FAILS in outcomes else Ruling.OPEN


def reason(checks: Sequence[Check]) -> str:
    """Reason for the verdict: how many checks hold, and which do not."""
    return "; ".join([how_many_hold(checks), *exceptions(checks)])


def how_many_hold(checks: Sequence[Check]) -> str:
    """Format, like "11 of 13 checks hold"."""
    if not checks:
        return "nothing was measured"
    holding = sum(check.verdict is Ruling.HOLDS for check in checks)
    if holding == len(checks):
        return "its check holds" if holding == 1 else f"all {holding} checks hold"
    return f"{holding} of {how_many(len(checks), 'check')} {'holds' if holding == 1 else 'hold'}"


def exceptions(checks: Sequence[Check]) -> list[str]:
    """The checks that do not hold, in words: the first few, and how many more there are."""
    found = [check for check in checks if check.verdict is not Ruling.HOLDS]
    # What fails says more than what is undecided.
    found.sort(key=lambda check: check.verdict is Ruling.OPEN)
    parts = [
        ("fails: " if check.verdict is Ruling.FAILS else "open: ") + check.describe()
        for check in found[:_NAMED_EXCEPTIONS]
    ]
    left = len(found) - _NAMED_EXCEPTIONS
    return [*parts, f"and {left} more"] if left > 0 else parts
