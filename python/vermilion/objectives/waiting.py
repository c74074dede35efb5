"""How long packets wait at a link, also where none of them gets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.objectives.interface import measured
from vermilion.simulate.metric import metric_of

if TYPE_CHECKING:
    from vermilion.simulate.result_data import LinkMetrics

_MS_PER_S = 1e3


def waiting_ms(name: str, window: LinkMetrics, key: str) -> float:
    """A summary of the queueing delays of a window's packets, ms.

    Where packets came and none got through, it is the window's length: whoever wanted to send has
    waited for all of it. So a setting that shuts its queue is a bad one, and not one that nothing
    is known of.

    Args:
        name: of the objective, for the message.
        window: of the link.
        key: "mean", or a percentile like "p95".

    Raises:
        NotMeasuredError: no packet came.
    """
    if metric_of(window, f"sojourn_ms.{key}") is None and window.get("arrivals"):
        return _MS_PER_S * (window["end_s"] - window["start_s"])
    return measured(name, window, "sojourn_ms", key)
