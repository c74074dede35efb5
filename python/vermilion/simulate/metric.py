"""A number of a window, found by its path."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, get_type_hints

from typing_extensions import TypedDict, is_typeddict

from vermilion.scenario.errors import did_you_mean
from vermilion.simulate.result_data import WITH_FLOW_DELAYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.simulate.result_data import Goodput, GroupMetrics


@cache
def metric_paths(window: type) -> tuple[str, ...]:
    """The paths of all numbers that a kind of window may have, whether it has them or not.

    Args:
        window: such as :class:`vermilion.simulate.result_data.LinkMetrics`.
    """
    found = []
    for name, kind in get_type_hints(window).items():
        if is_typeddict(kind):
            found += [f"{name}.{path}" for path in metric_paths(kind)]
        elif kind in {int, float}:
            found.append(name)
    return tuple(found)


def metric_of(window: Mapping[str, object], path: str) -> float | None:
    """The number at a path like "queue_packets.mean" of a window's metrics.

    ``None`` where it is absent because it could not be computed.
    """
    here: object = window
    for part in path.split("."):
        if not isinstance(here, dict) or part not in here:
            return None
        here = here[part]
    return float(here) if isinstance(here, int | float) else None


STARVED: Final = "starved"
"""Flows with less than 5 % of the mean goodput of all bulk flows: a key of a group's metrics."""

SLOWEST_SHARE: Final = "slowest_share"
"""Goodput of the slowest flow per mean goodput: what :func:`slowest_share` gives."""


class BulkFlows(TypedDict, total=False):
    """Metrics of all bulk flows together; all absent where none was active."""

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


_OPTIONAL_METRICS: Final = {
    **dict.fromkeys(
        WITH_FLOW_DELAYS,
        "runs measure it only with flow_delays=True, and tunings with "
        "vermilion.objectives.CalledFunction(FUNCTION, needs_flow_delays=True)",
    ),
    **dict.fromkeys(
        ("queue_packets", "queue_bytes", "average_queue_packets", "sojourn_ms"),
        'nothing was measured, the discipline has none, or the link has not books = "full"',
    ),
    "sojourn_distribution_ms": "runs measure it only with distributions=True",
    "each": "only a single run has single flows, and only where they do not come and go",
}


class WindowMetrics(dict[str, Any]):
    """A dictionary like any other, but for the message of its ``KeyError``."""

    __slots__ = ()

    def __missing__(self, name: object) -> NoReturn:
        """Explain the absence of a metric, and name those present.

        Raises:
            KeyError: always.
        """
        why = _OPTIONAL_METRICS.get(str(name))
        if why is None:
            known = did_you_mean(str(name), self)
            why = f"not computed, or no metric of this name; expected {known}"
        message = f"no metric {name!r} in this window: {why}"
        raise KeyError(message)
