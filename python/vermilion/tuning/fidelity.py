"""Short simulations in place of long ones, only where they rank settings alike.

Most settings of a search are so bad that a fraction of the simulated time shows it. But a short
run may also favour other settings than a long one: those that settle quickly. So the agreement of
the two rankings is measured on a pilot set of settings drawn from the whole box, each simulated at
both lengths with the same seed, and short runs are used only if its interval lies high enough.
What is measured is reported either way.

The measure is Spearman's rank correlation; its 95 % interval is Fisher's, with the variance of
D. G. Bonett and T. A. Wright, "Sample size requirements for estimating Pearson, Kendall and
Spearman correlations", Psychometrika 65 (2000): (1 + rho^2 / 2) / (n - 3). A perfect agreement of
n settings is not told from one with two neighbours exchanged, whose correlation gives the interval.

A pilot set says little about the ranks among the best. So the best of the short runs climb:
successive halving (K. Jamieson and A. Talwalkar, AISTATS 2016) lets the better half of them meet
twice the simulated time, until those that are left meet all of it and race there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal

from vermilion.files.document import document
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

Fidelity = Literal["auto", "full"]
"""Whether a search may use short simulations where they rank settings alike."""

RUNGS: Final = (0.25, 0.5)
"""Fractions of the measured time: that of the search, and those that its best climb through."""

PILOT: Final = 20
"""Settings by which the agreement is measured."""

LEAST_AGREEMENT: Final = 0.7
"""Where the interval of the rank correlation must begin for short runs to be used."""

_FEWEST: Final = 4
"""Settings from which on the interval exists."""


@document()
@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Rank correlation of two lengths of simulation.

    Attributes:
        correlation: Spearman's, -1 to 1.
        low: the lower end of its 95 % interval.
        high: the upper end.
        count: of settings.
    """

    correlation: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        """Format, like "rank correlation 0.96 [0.88, 0.99] of 20 settings"."""
        return (
            f"rank correlation {self.correlation:.2f} [{self.low:.2f}, {self.high:.2f}] "
            f"of {how_many(self.count, 'setting')}"
        )


@document("used fraction agreement? reason")
@dataclass(frozen=True, slots=True)
class FidelityReport:
    """Decision on short simulations, with its reason.

    Attributes:
        used: whether it did.
        fraction: of each phase's measured time that the search simulated; 1 if not used.
        agreement: of short with long simulations; ``None`` if it was not measured.
        reason: in half a sentence.
    """

    used: bool
    fraction: float
    agreement: RankAgreement | None
    reason: str

    def __str__(self) -> str:
        """Format as one line."""
        measured = "" if self.agreement is None else f" ({self.agreement})"
        length = f"{self.fraction:.0%} of each phase" if self.used else "the full length"
        return f"searched with {length}, because {self.reason}{measured}"


def rank_agreement(short: Sequence[float], full: Sequence[float]) -> RankAgreement | None:
    """Rank correlation of two lists of values of the same settings, with its interval.

    Args:
        short: the values of the settings in short simulations; infinite ones share a rank.
        full: those in full ones, in the same order.

    Returns:
        ``None`` where it cannot be computed: of fewer than four settings, or if one of the lists
        has the same value throughout.
    """
    count = len(short)
    if count < _FEWEST:
        return None
    one, other = _ranks(short), _ranks(full)
    mean = (count + 1) / 2.0
    products = math.fsum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True))
    squares = [math.fsum((rank - mean) ** 2 for rank in ranks) for ranks in (one, other)]
    if not all(squares):
        return None
    correlation = products / math.sqrt(squares[0] * squares[1])
    exchanged = 1.0 - 12.0 / (count**3 - count)
    centre = math.atanh(min(max(correlation, -exchanged), exchanged))
    deviation = math.sqrt((1.0 + correlation**2 / 2.0) / (count - 3))
    half_width = NormalDist().inv_cdf(0.975) * deviation
    low, high = math.tanh(centre - half_width), math.tanh(centre + half_width)
    return RankAgreement(correlation, low, max(high, correlation), count)


def judged(agreement: RankAgreement | None, fraction: float) -> FidelityReport:
    """Decide if short simulations of this fraction may be used, by the measured agreement."""
    if agreement is None:
        return full_length("the agreement of short runs could not be measured")
    if agreement.low < LEAST_AGREEMENT:
        return full_length("short runs do not surely rank settings alike", agreement)
    return FidelityReport(
        used=True, fraction=fraction, agreement=agreement, reason="short runs rank settings alike"
    )


def full_length(reason: str, agreement: RankAgreement | None = None) -> FidelityReport:
    """The report that short simulations are not used."""
    return FidelityReport(used=False, fraction=1.0, agreement=agreement, reason=reason)


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; equal values share the mean of theirs."""
    ranks = [0.0] * len(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    before = 0
    for _, equal in groupby(order, key=values.__getitem__):
        members = list(equal)
        for member in members:
            ranks[member] = before + (len(members) + 1) / 2.0
        before += len(members)
    return ranks
