"""The stretches of a run that are measured: of a link, and of one or several groups of flows.

Several groups are taken together as if all their flows were of one group. Their numbers of
flows, means and standard deviations give the moments of all flows exactly; percentiles of
completion times and of packets' delays do not follow from those of the groups, so they are absent.
"""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.simulate import Result

Window = dict[str, Any]
"""Metrics over a stretch of time: a result's ``total`` or one of its ``phases``."""

Over = Literal["phases", "total"]
"""Which windows are meant: the measured phases, or the whole run after the warm-up."""

ALL_FLOWS = "*"

_OF_TRANSFERS: Final = ("transfers_begun", "completed")


def link_windows(result: Result, link: str, over: Over = "phases") -> list[Window]:
    """A link's measured phases, or ``total`` alone: if asked for, or if there are no phases."""
    measured = result.link(link)
    return measured.phases if over == "phases" and measured.phases else [measured.total]


def flow_windows(result: Result, flows: str = ALL_FLOWS, over: Over = "phases") -> list[Window]:
    """The same of a group of flows, or of all flows of several groups together.

    Each window also has ``slowest_share``: the goodput of the slowest flow per mean goodput.

    Args:
        result: of a run.
        flows: a group's name, in which ``*`` stands for any letters.
        over: which windows.
    """
    groups = [result.flows(name) for name in matching(flows, result.groups)]
    entries = [
        group.phases if over == "phases" and group.phases else [group.total] for group in groups
    ]
    return [_pooled(windows) for windows in zip(*entries, strict=True)]


def matching(flows: str, groups: Iterable[str]) -> list[str]:
    """The groups whose names fit, in which ``*`` stands for any letters."""
    return [name for name in groups if name == flows or fnmatchcase(name, flows)]


def is_idle(window: Mapping[str, Any]) -> bool:
    """Whether no flow was active in a window of flows: there is nothing to demand of it."""
    return window.get("flows") == 0


def weighted_mean(values: Sequence[float], windows: Sequence[Mapping[str, Any]]) -> float:
    """The mean of a value per window, each weighted by its window's duration."""
    durations = [window["end_s"] - window["start_s"] for window in windows]
    weighted = (value * duration for value, duration in zip(values, durations, strict=True))
    return math.fsum(weighted) / math.fsum(durations)


def _pooled(windows: Sequence[Window]) -> Window:
    """One window of several groups, as if their flows were of one group."""
    active = [window for window in windows if not is_idle(window)]
    if len(active) == 1:
        pooled = dict(active[0])
    else:
        pooled = {key: windows[0][key] for key in ("start_s", "end_s")}
        for key in ("flows", "starved", "timeouts", "retransmissions", *_OF_TRANSFERS):
            known = [window[key] for window in windows if key in window]
            if known:
                pooled[key] = sum(known)
        pooled.update(_fairness([w["goodput_bit_per_s"] | {"n": w["flows"]} for w in active]))
        times = [w["completion_time_s"] for w in active if "completion_time_s" in w]
        if times:
            pooled["completion_time_s"] = _moments(times, "count")
        pooled.update(_packets(active))
    goodput = pooled.get("goodput_bit_per_s", {})
    if goodput.get("mean"):
        pooled["slowest_share"] = goodput["min"] / goodput["mean"]
    return pooled


def _fairness(goodputs: Sequence[Mapping[str, float]]) -> Window:
    """Goodput and its indices over the flows of several groups."""
    if not goodputs:
        return {}
    total = math.fsum(goodput["total"] for goodput in goodputs)
    if not all("mean" in goodput for goodput in goodputs):
        return {"goodput_bit_per_s": {"total": total}}  # of flows that come and go
    moments = _moments(goodputs, "n")
    del moments["n"]
    pooled: Window = {"goodput_bit_per_s": {"total": total, **moments}}
    mean_square = moments["sd"] ** 2 + moments["mean"] ** 2
    if total > 0.0:
        pooled["jain_index"] = moments["mean"] ** 2 / mean_square
        pooled["goodput_cov"] = moments["sd"] / moments["mean"]
    return pooled


def _packets(windows: Sequence[Window]) -> Window:
    """How the packets of several groups fared, if that was measured."""
    windows = [window for window in windows if "packets_sent" in window]
    if not windows:
        return {}
    counts = ("packets_sent", "packets_delivered", "packets_lost", "jitter_pairs")
    pooled: Window = {key: sum(window[key] for window in windows) for key in counts}
    settled = pooled["packets_delivered"] + pooled["packets_lost"]
    if settled:
        pooled["packet_loss_rate"] = pooled["packets_lost"] / settled
    delays = [w["delay_ms"] | {"n": w["packets_delivered"]} for w in windows if "delay_ms" in w]
    if delays:
        pooled["delay_ms"] = _moments(delays, "n")
        del pooled["delay_ms"]["n"]
    jitters = [w["jitter_ms"] * w["jitter_pairs"] for w in windows if "jitter_ms" in w]
    if jitters:
        pooled["jitter_ms"] = math.fsum(jitters) / pooled["jitter_pairs"]
    runs = [window["losses_in_a_row"] for window in windows if "losses_in_a_row" in window]
    if runs:
        count = sum(run["count"] for run in runs)
        mean = math.fsum(run["count"] * run["mean"] for run in runs) / count
        longest = max(run["max"] for run in runs)
        pooled["losses_in_a_row"] = {"count": count, "mean": mean, "max": longest}
    return pooled


def _moments(groups: Sequence[Mapping[str, float]], count: str) -> dict[str, float]:
    """Count, mean, standard deviation and extremes, where known, of several samples together."""
    n = sum(group[count] for group in groups)
    mean = math.fsum(group[count] * group["mean"] for group in groups) / n
    squares = (group[count] * (group["sd"] ** 2 + (group["mean"] - mean) ** 2) for group in groups)
    extremes = {
        name: pick(group[name] for group in groups)
        for name, pick in (("min", min), ("max", max))
        if all(name in group for group in groups)
    }
    return {count: n, "mean": mean, "sd": math.sqrt(math.fsum(squares) / n), **extremes}
