"""Traffic of each flow of a scenario, as the guest's programs receive it.

Everything that is drawn is drawn here, from the seed, so that neither the network nor the settings
of a queue move it. Sizes and goodput are those of the scenario: a full segment of Linux carries
:data:`.acceptance.HEADER_BYTES` less than the packet has at the queue, and stands for what the
scenario counts of it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.kernel_plant.acceptance import (
    CONGESTION_CONTROLS,
    DATAGRAM_HEADER_BYTES,
    FRAME_BYTES,
    HEADER_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario.core_network import CoreFlowGroup
    from vermilion.scenario.core_scenario import CoreScenario
    from vermilion_lab.kernel_plant.hosts import Host

_OPTIONS: Final = 12
"""Of timestamps: a maximum segment size counts them as data."""

_BITS_NS: Final = 8_000_000_000
_MOST_TRANSFERS: Final = 200_000


@dataclass(frozen=True, slots=True)
class PlannedFlow:
    """One flow, or one source of transfers.

    Attributes:
        group: the name of its group.
        start_ns: when it begins.
        stop_ns: when it ends by order; ``None`` for never.
        endless: whether it always has data.
        scale: bytes that the scenario counts for each that the application receives.
        there_ns: what the scenario's data takes to arrive and the guest's does not.
        orders: what the guest is told.
    """

    group: str
    start_ns: int
    stop_ns: int | None
    endless: bool
    scale: float
    there_ns: int
    orders: Mapping[str, Any]


def planned_flows(
    scenario: CoreScenario,
    hosts: Sequence[Host],
    members: Mapping[str, Sequence[int]],
    seed: int,
    *,
    frame_bytes: int = FRAME_BYTES,
) -> list[PlannedFlow]:
    """Every flow of a scenario, group by group.

    Args:
        scenario: whose.
        hosts: of :func:`.hosts.hosts_of`, with ``members``.
        members: of each group, the numbers of its flows' hosts.
        seed: of what is drawn.
        frame_bytes: what a packet has at the queue before its IP header.
    """
    return [
        _flow(scenario, group, number, hosts[host], seed, frame_bytes)
        for group in scenario.flows
        for number, host in enumerate(members[group.name])
    ]


def _flow(
    scenario: CoreScenario,
    group: CoreFlowGroup,
    number: int,
    host: Host,
    seed: int,
    frame_bytes: int,
) -> PlannedFlow:
    def stream(purpose: str) -> random.Random:
        return random.Random(f"{seed}/{group.name}/{number}/{purpose}")  # noqa: S311 - no secret

    start_ns = stream("start").randint(*group.start_ns)
    stop_ns = None if group.stop_ns is None else stream("stop").randint(*group.stop_ns)
    draw = stream("traffic")
    end_ns = scenario.duration_ns if stop_ns is None else min(scenario.duration_ns, stop_ns)
    counted = group.packet_size_bytes - group.header_size_bytes
    orders: dict[str, Any] = {
        "source": host.source,
        "sink": host.sink,
        "start_ns": start_ns,
        "stop_ns": stop_ns,
    }
    if group.sender is None:
        payload = group.packet_size_bytes - DATAGRAM_HEADER_BYTES + FRAME_BYTES - frame_bytes
        orders |= {"kind": "datagrams", "payload": payload}
        orders |= _datagrams(group, draw, end_ns - start_ns)
    else:
        payload = group.packet_size_bytes - HEADER_BYTES + FRAME_BYTES - frame_bytes
        orders |= {
            "kind": "bulk",
            "congestion_control": CONGESTION_CONTROLS[group.sender.congestion_control],
            "maximum_segment": payload + _OPTIONS,
            "paced": group.sender.parameters.get("pacing") is True,
        }
        if group.traffic["kind"] != "bulk":
            orders["kind"] = "transfers"
            orders["transfers"] = _transfers(group, draw, payload / counted, start_ns, end_ns)
            # A pause is counted from the end of the transfer before, else from the beginning.
            orders["one_after_another"] = group.traffic["kind"] == "bursts"
    return PlannedFlow(
        group=group.name,
        start_ns=start_ns,
        stop_ns=stop_ns,
        endless=orders["kind"] == "bulk",
        scale=counted / payload,
        there_ns=host.there_ns,
        orders=orders,
    )


def _datagrams(group: CoreFlowGroup, draw: random.Random, longest_ns: int) -> dict[str, Any]:
    """Gaps between packets, and when they may be sent."""
    traffic: Mapping[str, Any] = group.traffic
    gap_ns = group.packet_size_bytes * _BITS_NS / traffic["rate_bit_per_s"]
    if traffic["kind"] == "poisson":
        return {"mean_gap_ns": gap_ns, "draw": draw.getrandbits(63), "on_off": None}
    if traffic["kind"] == "constant-rate":
        return {"gap_ns": gap_ns, "on_off": None}
    stretches: list[list[int]] = []
    at = 0.0
    while at < longest_ns and len(stretches) < _MOST_TRANSFERS:
        on, off = _draw(traffic["on_ns"], draw), _draw(traffic["off_ns"], draw)
        stretches.append([round(on), round(off)])
        at += on + off
    return {"gap_ns": gap_ns, "on_off": stretches}


def _transfers(
    group: CoreFlowGroup, draw: random.Random, scale: float, start_ns: int, end_ns: int
) -> list[list[int]]:
    """Pauses in ns before transfers, and their sizes in bytes of the application."""
    traffic: Mapping[str, Any] = group.traffic
    if traffic["kind"] == "transfer":
        return [[0, math.ceil(traffic["size_bytes"] * scale)]]
    found: list[list[int]] = []
    at = float(start_ns)
    while at < end_ns and len(found) < _MOST_TRANSFERS:
        if traffic["kind"] == "web":
            pause = draw.expovariate(1.0) * traffic["mean_gap_ns"]
        else:
            pause = _draw(traffic["off_ns"], draw) if found else 0.0
        at += pause
        size = max(1, round(_draw(traffic["size"], draw)))
        found.append([round(pause), math.ceil(size * scale)])
    return found


def _draw(form: Mapping[str, Any], draw: random.Random) -> float:
    """A number from a distribution, in its own unit."""
    match form["distribution"]:
        case "constant":
            return float(form["value"])
        case "exponential":
            return draw.expovariate(1.0) * float(form["mean"])
        case "lognormal":
            return float(form["median"]) * draw.lognormvariate(0.0, float(form["sigma"]))
        case "pareto":
            shape = float(form["shape"])
            least = float(form["mean"]) * (shape - 1.0) / shape
            return float(least * draw.paretovariate(shape))
        case "bounded-pareto":
            low, high, shape = float(form["minimum"]), float(form["maximum"]), float(form["shape"])
            share = 1.0 - draw.random() * (1.0 - (low / high) ** shape)
            return float(low / share ** (1.0 / shape))
        case _:
            return _empirical(form, draw.random())


def _empirical(form: Mapping[str, Any], part: float) -> float:
    values, probabilities = form["values"], form["probabilities"]
    if part <= probabilities[0]:
        return float(values[0])
    for number in range(1, len(values)):
        if part <= probabilities[number]:
            break
    low, high = float(values[number - 1]), float(values[number])
    share = (part - probabilities[number - 1]) / (probabilities[number] - probabilities[number - 1])
    if form.get("interpolation") == "logarithmic":
        return float(low * (high / low) ** share)
    return float(low + share * (high - low))
