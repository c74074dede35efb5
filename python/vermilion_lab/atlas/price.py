"""Price of a setting: a few numbers of a cell, whatever the objective."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from vermilion.objectives import metric_of
from vermilion_lab.atlas.scenarios import FLOWS, LINK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.simulate import Result

_OF_FLOWS: Final[Mapping[str, str]] = {
    "goodput_bit_per_s": "goodput_bit_per_s.total",
    "jain_index": "jain_index",
    "starved": "starved",
}
_OF_THE_LINK: Final[Mapping[str, str]] = {
    "drop_rate": "drop_rate",
    "p50_ms": "sojourn_ms.p50",
    "p95_ms": "sojourn_ms.p95",
    "p99_ms": "sojourn_ms.p99",
}
PRICE: Final = (*_OF_FLOWS, *_OF_THE_LINK)
"""Keys of a price: goodput of all flows, Jain's index, starved flows, drops per arrival, and
percentiles of the queueing delay."""


def price(results: Sequence[Result]) -> dict[str, float]:
    """The mean of each number over the runs of a cell; what some run lacks is absent.

    Args:
        results: of one setting, with several seeds.
    """
    found = {}
    for metrics, windows in (
        (_OF_FLOWS, [result.flows(FLOWS).total for result in results]),
        (_OF_THE_LINK, [result.link(LINK).total for result in results]),
    ):
        for name, metric in metrics.items():
            values = [metric_of(window, metric) for window in windows]
            known = [value for value in values if value is not None]
            if known and len(known) == len(values):
                found[name] = math.fsum(known) / len(known)
    return found
