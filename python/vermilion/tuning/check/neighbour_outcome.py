"""How a recommended setting fares under one condition around those that it was made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.check.certainty import BoundRuling
    from vermilion.tuning.judge.verdict import ConstraintVerdict

BREAKS: Final = "breaks a bound"
"""What a table says in place of "worse", where that is why: the objective may well have gained."""

MAY_BREAK: Final = "may break a bound"
MAY_LOSE: Final = "may be worse"
"""What a table says in place of "undecided"."""

NeighbourVerdict = Literal["better", "no difference", "worse", "undecided", "not measured"]


@dataclass(frozen=True, slots=True)
class NeighbourOutcome:
    """Two settings under one neighbouring condition.

    Attributes:
        key: the condition's stable name.
        label: the condition in words, to follow "with".
        verdict: on the recommended setting.
        reason: of the verdict, in words, to follow the condition.
        best: the objective of the recommended setting; ``None`` where it is not measured.
        incumbent: the same of the setting in force.
        difference: recommended - in force, seed by seed, turned so that negative is better.
        constraints: the verdicts on the recommended setting.
        breaks: the one that it breaks and the setting in force keeps, if that is why it is worse.
        may_break: the one of which nobody can tell, if that is why it is undecided.
        seeds: how many both settings have met.
    """

    key: str
    label: str
    verdict: NeighbourVerdict
    reason: str
    best: Interval | None
    incumbent: Interval | None
    difference: Interval | None
    constraints: tuple[ConstraintVerdict, ...]
    breaks: ConstraintVerdict | None = None
    may_break: BoundRuling | None = None
    seeds: int = 0

    @property
    def shown_verdict(self) -> str:
        """The verdict as a table shows it."""
        return shown(
            self.verdict,
            breaks=self.breaks is not None,
            may_break=self.may_break is not None,
        )

    @property
    def gains(self) -> bool:
        """Whether the objective is better, even if a bound is broken for it, or may be."""
        if self.breaks is None and self.may_break is None:
            return self.verdict == "better"
        high = None if self.difference is None else self.difference.high
        return high is not None and high < 0.0

    def to_data(self) -> dict[str, Any]:
        """For JSON; what could not be computed is absent."""
        data: dict[str, Any] = {
            "key": self.key,
            "condition": self.label,
            "verdict": self.verdict,
            "reason": self.reason,
            "gains": self.gains,
        }
        if self.breaks is not None:
            broken = {"constraint": self.breaks.constraint, "figures": self.breaks.figures}
            data["breaks"] = broken
        if self.may_break is not None:
            data["may_break"] = {
                "constraint": self.may_break.verdict.constraint,
                "figures": self.may_break.verdict.figures,
                "seeds": self.may_break.seeds,
            }
            if self.may_break.needed is not None:
                data["may_break"]["seeds_needed"] = self.may_break.needed
        if self.seeds:
            data["seeds"] = self.seeds
        for name in ("best", "incumbent", "difference"):
            interval: Interval | None = getattr(self, name)
            if interval is not None:
                data[name] = {"mean": interval.mean, "count": interval.count}
                if interval.half_width is not None:
                    data[name] |= {"low": interval.low, "high": interval.high}
        return data


def shown(verdict: str, *, breaks: bool, may_break: bool) -> str:
    """A verdict as a table shows it.

    Args:
        verdict: one of :data:`NeighbourVerdict`, or whatever stands for none.
        breaks: whether it is because of a bound that is broken.
        may_break: whether it is because of one that may be.
    """
    if breaks:
        return BREAKS
    if may_break:
        return MAY_BREAK
    return MAY_LOSE if verdict == "undecided" else verdict
