"""``vermilion online --json``: the runs on simulated networks, and their price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.files.document import document, package_version
from vermilion.report.price_line import price_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.entries import OnlineRun
    from vermilion.report.price_line import OtherQueue, PriceLine


@document("scenario=first.scenario.origin link=first.link phases")
@dataclass(frozen=True, slots=True)
class Price:
    """The price of tuning a queue over the phases of a scenario."""

    runs: Sequence[OnlineRun]
    baselines: Sequence[OtherQueue]

    @property
    def first(self) -> OnlineRun:
        """Its first seed."""
        return self.runs[0]

    @property
    def phases(self) -> tuple[PriceLine, ...]:
        """The price of each phase."""
        return price_lines(self.runs, self.baselines)


@document("version=package_version runs price", package_version)
@dataclass(frozen=True, slots=True)
class OnlineDocument:
    """Simulated networks, one run for each scenario and seed, and the price for each queue."""

    runs: Sequence[OnlineRun]
    price: Sequence[Price]
