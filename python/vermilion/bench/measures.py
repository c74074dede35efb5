"""Measures of one run of the suite: plain numbers by name, and a digest of everything else."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

from vermilion.fabric import run as run_fabric
from vermilion.simulate.flow_curves import jain_over_time, time_to_fairness
from vermilion.simulate.instruments import FlowSeries, Transfers
from vermilion.simulate.runs import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.bench.suite import Case, Kind
    from vermilion.simulate import Result

Measures = dict[str, Any]
"""Outcome of a run: :func:`measured` has its keys."""

JAIN_WINDOW_S = 1.0
"""Stretch over which Jain's index is taken while flows converge."""

_TIMING = ("wall_s", "cpu_s")


def measured(case: Case, kind: Kind, contestant: str, against: str, seed: int) -> Measures:
    """Run a case once.

    Returns:
        ``numbers`` by name; where the family asks for it ``delays`` (percents and milliseconds),
        ``classes`` of transfers by size and ``jain`` over time; and ``digest``, the SHA-256 of all
        that the run has measured.

    Raises:
        ScenarioError: a contestant that is not accepted.
    """
    if case.family.fabric:
        found = run_fabric(case.fabric(contestant), seed)
        slowdown = found.slowdown
        numbers = {f"slowdown_{name}": slowdown[name] for name in ("mean", "p50", "p99")}
        numbers["unfinished"] = slowdown.get("unfinished", 0)
        outcome: Measures = {"numbers": _known(numbers)}
        outcome["fabric_classes"] = [dict(each) for each in found.slowdown_by_size]
        return {**outcome, "digest": digest(found.data)}
    scenario = case.scenario(kind, contestant, against)
    instruments: list[FlowSeries | Transfers] = []
    if case.family.flow_series:
        instruments.append(FlowSeries(interval_s=0.1))
    if case.family.transfers:
        instruments.append(Transfers())
    result = run(scenario, seed, distributions=True, flow_delays=True, instruments=instruments)
    outcome = {"numbers": _known(_numbers(result))}
    distribution = result.link("line").total.get("sojourn_distribution_ms")
    if distribution is not None:
        outcome["delays"] = [distribution["percent"], distribution["value"]]
    if result.transfers is not None:
        outcome["classes"] = result.transfers.by_size()
    if result.flow_series is not None:
        ends, jain = jain_over_time(result.flow_series, JAIN_WINDOW_S)
        known = [(float(end), float(each)) for end, each in zip(ends, jain, strict=True)]
        outcome["jain"] = [(end, each) for end, each in known if not math.isnan(each)]
        reached = time_to_fairness(ends, jain, case.family.joined_s)
        if reached is not None:
            outcome["numbers"]["time_to_fairness_s"] = reached
    return {**outcome, "digest": digest(result.data)}


def digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of everything that a run has measured, but the time it took."""
    rest = {name: value for name, value in data.items() if name not in _TIMING}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _numbers(result: Result) -> dict[str, float | None]:
    total = result.link("line").total
    sojourn = total.get("sojourn_ms")
    numbers: dict[str, float | None] = {
        "utilization": total.get("utilization"),
        "drop_rate": total.get("drop_rate"),
        "mark_rate": total.get("mark_rate"),
    }
    if sojourn is not None:
        numbers |= {
            "delay_mean_ms": sojourn["mean"],
            "delay_p50_ms": sojourn["p50"],
            "delay_p95_ms": sojourn["p95"],
            "delay_p99_ms": sojourn["p99"],
        }
    goodputs: dict[str, float] = {}
    flows: list[float] = []
    for group in result.groups:
        window = result.flows(group).total
        goodput = window.get("goodput_bit_per_s")
        if goodput is not None:
            goodputs[group] = goodput["total"]
        flows += [each["goodput_bit_per_s"] for each in window.get("each", ())]
        times = window.get("completion_time_s")
        if times is not None:
            numbers[f"{group}_completion_p99_ms"] = 1e3 * times["max" if group == "own" else "p99"]
            numbers[f"{group}_completion_mean_ms"] = 1e3 * times["mean"]
        if group == "call":
            numbers["call_delay_p95_ms"] = window.get("delay_ms", {}).get("p95")
            numbers["call_loss"] = window.get("packet_loss_rate")
    numbers["goodput_mbit_s"] = sum(goodputs.values()) / 1e6
    if len(flows) > 1 and any(flows):
        numbers["jain_index"] = sum(flows) ** 2 / len(flows) / sum(each**2 for each in flows)
    beside = goodputs.get("other", goodputs.get("cubic"))
    if beside is not None and "own" in goodputs and beside + goodputs["own"] > 0:
        numbers["share"] = goodputs["own"] / (beside + goodputs["own"])
    if goodputs.get("own-far"):
        numbers["rtt_ratio"] = goodputs["own"] / goodputs["own-far"]
    return numbers


def _known(numbers: Mapping[str, float | None]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in numbers.items()
        if value is not None and math.isfinite(value)
    }
