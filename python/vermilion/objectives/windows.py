"""The stretches of a run that are measured: of a link, and of one or several groups of flows.

Several groups are taken together as if all their flows were of one group. Their numbers of
flows, means and standard deviations give the moments of all flows exactly; percentiles of
completion times and of packets' delays do not follow from those of the groups, so they are absent.

Where bulk flows are among them, how alike the flows fare is said of the bulk flows alone. Thirty
calls that all get what they send make an index near 1/30 whatever two downloads get, and the call
that sends least is the slowest flow of them all: neither says anything about the queue.
"""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal, cast

from vermilion.simulate.metric import STARVED
from vermilion.simulate.result_data import GroupMetrics, LinkMetrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.simulate import Result
    from vermilion.simulate.result_data import Goodput, Stretch


class FlowsWindow(GroupMetrics, total=False):
    """Metrics of flows, of whatever groups they are, over a stretch of time."""

    slowest_share: float
    """The goodput of the slowest flow per mean goodput, of the flows that are compared."""
    compared_flows: int
    """Of how many flows ``jain_index``, ``goodput_cov`` and ``slowest_share`` are, where those are
    not all: the bulk flows, where others are beside them."""


_COUNTS: Final = (
    "flows",
    STARVED,
    "timeouts",
    "retransmissions",
    "transfers_begun",
    "completed",
)

Window = LinkMetrics | FlowsWindow
"""Metrics over a stretch of time: a result's ``total`` or one of its ``phases``."""

Over = Literal["phases", "total"]
"""Choice of windows: the measured phases, or the whole run after the warm-up."""

ALL_FLOWS = "*"


def link_windows(result: Result, link: str, over: Over = "phases") -> list[LinkMetrics]:
    """A link's measured phases, or ``total`` alone: if asked for, or if there are no phases."""
    measured = result.link(link)
    return measured.phases if over == "phases" and measured.phases else [measured.total]


def flow_windows(
    result: Result, flows: str = ALL_FLOWS, over: Over = "phases"
) -> list[FlowsWindow]:
    """The same of a group of flows, or of all flows of several groups together.

    Each window also has ``slowest_share``: the goodput of the slowest flow per mean goodput.
    Where bulk flows are active beside others, that, ``jain_index`` and ``goodput_cov`` are of the
    bulk flows.

    Args:
        result: of a run.
        flows: a group's name, in which ``*`` stands for any letters.
        over: which windows.
    """
    groups = [result.flows(name) for name in matching(flows, result.groups)]
    entries = [
        group.phases if over == "phases" and group.phases else [group.total] for group in groups
    ]
    return [_pool(windows) for windows in zip(*entries, strict=True)]


def matching(flows: str, groups: Iterable[str]) -> list[str]:
    """The groups whose names fit, in which ``*`` stands for any letters."""
    return [name for name in groups if name == flows or fnmatchcase(name, flows)]


def is_idle(window: Mapping[str, object]) -> bool:
    """Return whether no flow was active in a window of flows: no bound applies to it."""
    return window.get("flows") == 0


def flows_without_goodput(window: FlowsWindow) -> int | None:
    """Number of flows compared, where none of them got anything.

    ``None`` where some flow did, or single flows are not known.
    """
    compared = window.get("compared_flows")
    if compared is not None:
        return None if "jain_index" in window else compared
    nothing = window.get("goodput_bit_per_s", {}).get("mean") == 0.0
    return window["flows"] if nothing else None


def weighted_mean(values: Sequence[float], windows: Sequence[Stretch]) -> float:
    """The mean of a value per window, each weighted by its window's duration."""
    durations = [window["end_s"] - window["start_s"] for window in windows]
    weighted = (value * duration for value, duration in zip(values, durations, strict=True))
    return math.fsum(weighted) / math.fsum(durations)


def _pool(windows: Sequence[GroupMetrics]) -> FlowsWindow:
    """One window of several groups, as if their flows were of one group."""
    active = [window for window in windows if not is_idle(window)]
    pooled = cast("FlowsWindow", dict(active[0])) if len(active) == 1 else _pool_active(windows)
    goodput = pooled.get("goodput_bit_per_s")
    if "compared_flows" not in pooled and goodput is not None and goodput.get("mean"):
        pooled["slowest_share"] = goodput["min"] / goodput["mean"]
    return pooled


def _pool_active(windows: Sequence[GroupMetrics]) -> FlowsWindow:
    """Pool several groups, or those without an active flow."""
    active = [window for window in windows if not is_idle(window)]
    ends = {"start_s": windows[0]["start_s"], "end_s": windows[0]["end_s"]}
    pooled = cast("FlowsWindow", ends)
    # What is not counted of any group is absent, whoever measured it.
    for key in _COUNTS:
        known = [window[key] for window in windows if key in window]
        if known:
            pooled[key] = sum(known)
    _add_fairness(pooled, active)
    times = [window["completion_time_s"] for window in active if "completion_time_s" in window]
    if times:
        count, mean, sd = _moments(
            [each["count"] for each in times], ((each["mean"], each["sd"]) for each in times)
        )
        pooled["completion_time_s"] = {
            "count": count,
            "mean": mean,
            "sd": sd,
            "min": min(each["min"] for each in times),
            "max": max(each["max"] for each in times),
        }
    _add_packets(pooled, [window for window in active if "packets_sent" in window])
    return pooled


def _add_fairness(pooled: FlowsWindow, windows: Sequence[GroupMetrics]) -> None:
    """Goodput over the flows of several groups, and its indices over those that are compared."""
    # Before the warm-up is over a window has no length, and nobody any goodput in it.
    windows = [window for window in windows if "goodput_bit_per_s" in window]
    if not windows:
        return
    pooled["goodput_bit_per_s"] = _goodput(windows)
    bulk = [window for window in windows if STARVED in window]
    if not bulk or len(bulk) == len(windows):
        _add_indices(pooled, pooled["goodput_bit_per_s"])
        return
    pooled["compared_flows"] = sum(window["flows"] for window in bulk)
    goodput = _goodput(bulk)
    if len(bulk) > 1:
        _add_indices(pooled, goodput)
    elif goodput["total"] > 0.0:
        pooled["jain_index"] = bulk[0]["jain_index"]
        pooled["goodput_cov"] = bulk[0]["goodput_cov"]
    if goodput["mean"]:
        pooled["slowest_share"] = goodput["min"] / goodput["mean"]


def _goodput(windows: Sequence[GroupMetrics]) -> Goodput:
    """Goodput of all flows of these groups; only the total where some come and go."""
    goodputs = [window["goodput_bit_per_s"] for window in windows]
    total = math.fsum(goodput["total"] for goodput in goodputs)
    if not all("mean" in goodput for goodput in goodputs):
        return {"total": total}
    _, mean, sd = _moments(
        [window["flows"] for window in windows],
        ((goodput["mean"], goodput["sd"]) for goodput in goodputs),
    )
    return {
        "total": total,
        "mean": mean,
        "sd": sd,
        "min": min(goodput["min"] for goodput in goodputs),
        "max": max(goodput["max"] for goodput in goodputs),
    }


def _add_indices(pooled: FlowsWindow, goodput: Goodput) -> None:
    if goodput["total"] > 0.0 and "mean" in goodput:
        mean, sd = goodput["mean"], goodput["sd"]
        pooled["jain_index"] = mean**2 / (sd**2 + mean**2)
        pooled["goodput_cov"] = sd / mean


def _add_packets(pooled: FlowsWindow, windows: Sequence[GroupMetrics]) -> None:
    """Add the packet metrics of several groups, if they were measured."""
    if not windows:
        return
    for key in ("packets_sent", "packets_delivered", "packets_lost", "jitter_pairs"):
        pooled[key] = sum(window[key] for window in windows)
    settled = pooled["packets_delivered"] + pooled["packets_lost"]
    if settled:
        pooled["packet_loss_rate"] = pooled["packets_lost"] / settled
    delayed = [window for window in windows if "delay_ms" in window]
    if delayed:
        delays = [window["delay_ms"] for window in delayed]
        _, mean, sd = _moments(
            [window["packets_delivered"] for window in delayed],
            ((delay["mean"], delay["sd"]) for delay in delays),
        )
        largest = max(delay["max"] for delay in delays)
        pooled["delay_ms"] = {"mean": mean, "sd": sd, "max": largest}
    jitters = [
        window["jitter_ms"] * window["jitter_pairs"] for window in windows if "jitter_ms" in window
    ]
    if jitters:
        pooled["jitter_ms"] = math.fsum(jitters) / pooled["jitter_pairs"]
    runs = [window["losses_in_a_row"] for window in windows if "losses_in_a_row" in window]
    if runs:
        count = sum(run["count"] for run in runs)
        mean = math.fsum(run["count"] * run["mean"] for run in runs) / count
        longest = max(run["max"] for run in runs)
        pooled["losses_in_a_row"] = {"count": count, "mean": mean, "max": longest}


def _moments(
    counts: Sequence[int], moments: Iterable[tuple[float, float]]
) -> tuple[int, float, float]:
    """Count, mean and standard deviation of several samples together.

    Args:
        counts: of each sample.
        moments: mean and standard deviation of each.
    """
    known = list(zip(counts, moments, strict=True))
    n = sum(counts)
    mean = math.fsum(count * each for count, (each, _) in known) / n
    squares = (count * (sd**2 + (each - mean) ** 2) for count, (each, sd) in known)
    return n, mean, math.sqrt(math.fsum(squares) / n)
