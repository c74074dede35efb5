"""How evenly flows share what there is: the slowest of a group, and the bulk flows of all groups.

Only bulk flows are taken together: what a call or a short transfer gets says nothing about the
fairness of a queue. The core counts the starved among them, so a group has that count if its
flows are bulk. The groups' means and standard deviations give Jain's index of all flows exactly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypedDict

from vermilion.simulate.metric import metric_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.simulate.result_data import Goodput, GroupMetrics

STARVED: Final = "starved"
"""Flows with less than 5 % of the mean goodput of all bulk flows: a key of a group's metrics."""

SLOWEST_SHARE: Final = "slowest_share"
"""Goodput of the slowest flow per mean goodput: what :func:`slowest_share` gives."""


class BulkFlows(TypedDict, total=False):
    """What is known of bulk flows together; all absent where none was active."""

    flows: int
    goodput_bit_per_s: Goodput
    starved: int
    jain_index: float


def slowest_share(window: Mapping[str, object]) -> float | None:
    """The goodput of the slowest flow of a window per mean goodput.

    ``None`` where single flows are not known, or none of them got anything.
    """
    least = metric_of(window, "goodput_bit_per_s.min")
    mean = metric_of(window, "goodput_bit_per_s.mean")
    return None if least is None or not mean else least / mean


def bulk_flows(windows: Iterable[GroupMetrics]) -> BulkFlows:
    """The metrics of all bulk flows together over one stretch of time.

    Args:
        windows: the metrics of every group over it.

    Returns:
        ``flows``, ``goodput_bit_per_s`` (``total``, ``mean`` and ``min``), ``jain_index`` and
        ``starved``, as a group has them; nothing if no bulk flow was active.
    """
    bulk = [window for window in windows if STARVED in window]
    if not bulk:
        return {}
    goodputs = [window["goodput_bit_per_s"] for window in bulk]
    flows = sum(window["flows"] for window in bulk)
    total = math.fsum(goodput["total"] for goodput in goodputs)
    together: BulkFlows = {
        "flows": flows,
        "goodput_bit_per_s": {
            "total": total,
            "mean": total / flows,
            "min": min(goodput["min"] for goodput in goodputs),
        },
        "starved": sum(window["starved"] for window in bulk),
    }
    if total > 0.0:
        squares = math.fsum(
            window["flows"] * (goodput["mean"] ** 2 + goodput["sd"] ** 2)
            for window, goodput in zip(bulk, goodputs, strict=True)
        )
        together["jain_index"] = total**2 / (flows * squares)
    return together
