"""Least delay for nearly all goodput: the default objective.

A longer queue carries more, until it carries all there is; from there on it only delays. The knee
of that curve is the least queueing delay with which nearly all goodput of the setting in force is
still there. Waiting is measured at a percentile, because what interactive traffic feels is not
the mean. That the goodput stays is a part of the objective, so it holds even where a list of
constraints is empty: the least delay of all is that of a link that carries nothing.

The word is that of R. Jain and K. K. Ramakrishnan, "Congestion Avoidance in Computer Networks with
a Connectionless Network Layer", DEC-TR-506, 1988; their measure of it is ``power``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from vermilion.objectives.fields import FLOWS, GOODPUT_SHARE, UPPER_PERCENTILE
from vermilion.objectives.interface import LinkObjective, waiting_ms
from vermilion.objectives.noticeable import NoticesDelay
from vermilion.objectives.windows import ALL_FLOWS
from vermilion.scenario.quantities import number_text

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics


@dataclass(frozen=True)
class Knee(NoticesDelay, LinkObjective):
    """A percentile of the queueing delay at a link, ms, while nearly all goodput stays.

    Attributes:
        percentile: "p50", "p95" or "p99"; a table has the number alone.
        goodput_share: the part of the goodput of the setting in force that has to stay, 0 to 1.
        flows: whose goodput; "*" stands for any letters.
    """

    name: ClassVar[str] = "knee"
    summary: ClassVar[str] = "least queueing delay for nearly all goodput of now"
    unit: ClassVar[str] = "ms"
    measures: ClassVar[tuple[str, ...]] = ("sojourn_ms.p95",)

    percentile: str = field(default="p95", metadata=UPPER_PERCENTILE)
    goodput_share: float = field(default=0.98, metadata=GOODPUT_SHARE)
    flows: str = field(default=ALL_FLOWS, metadata=FLOWS)

    @property
    def label(self) -> str:
        """Name with the bound, like "p95 delay (goodput at least 98 % of now)"."""
        share = number_text(100.0 * self.goodput_share)
        return f"{self.percentile} delay (goodput at least {share} % of now)"

    @property
    def own_constraints(self) -> tuple[str, ...]:
        """The goodput that has to stay."""
        share = number_text(self.goodput_share)
        return (f"flows.{self.flows}.goodput_bit_per_s.total >= {share} of reference",)

    def value(self, window: LinkMetrics) -> float:
        """The percentile of the queueing delay over the window, ms."""
        return waiting_ms(self.name, window, self.percentile)
