"""Goodput under a bound on the queueing delay: what an operator signs.

Most goodput subject to a percentile of the queueing delay at a link being at most a bound. A queue
that is shorter than the bound is no worse for it; to hold a queue *at* a length is another
objective, ``queue-deviation``. The bound is what the objective is about, so it holds even where a
list of constraints is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from vermilion.objectives.fields import AT_MOST, LINK, UPPER_PERCENTILE
from vermilion.objectives.interface import FlowsObjective
from vermilion.objectives.noticeable import SHARE_OF_GOODPUT
from vermilion.scenario.quantities import TIME, format_quantity


@dataclass(frozen=True)
class DelayBound(FlowsObjective):
    """Goodput of the flows that are meant together, bit/s; maximised, under a bound on delay.

    Attributes:
        link: where packets wait.
        at_most: the bound, s.
        percentile: of the queueing delay, that keeps it: "p50", "p95" or "p99"; a table has the
            number alone.
    """

    name: ClassVar[str] = "delay-bound"
    summary: ClassVar[str] = (
        "goodput while a percentile of the queueing delay keeps a bound; maximised"
    )
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "maximise"
    noticeable: ClassVar[float] = 0.0
    noticeable_share: ClassVar[float] = SHARE_OF_GOODPUT
    metric: ClassVar[str] = "goodput_bit_per_s.total"

    link: str = field(kw_only=True, metadata=LINK)
    at_most: float = field(kw_only=True, metadata=AT_MOST)
    percentile: str = field(default="p95", kw_only=True, metadata=UPPER_PERCENTILE)

    @property
    def label(self) -> str:
        """Name with the bound, like "goodput (p95 delay at most 20 ms)"."""
        return f"goodput ({self.percentile} delay at most {format_quantity(self.at_most, TIME)})"

    @property
    def links(self) -> tuple[str, ...]:
        """The link."""
        return (self.link,)

    @property
    def own_constraints(self) -> tuple[str, ...]:
        """The bound."""
        bound = format_quantity(self.at_most, TIME)
        return (f"links.{self.link}.sojourn_ms.{self.percentile} <= {bound}",)
