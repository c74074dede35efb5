"""Convert samples of the guest into a result with the simulator's keys.

The kernel counts packets, bytes, drops and marks, so that these are exact. How long its queue is
has to be asked, every :data:`SAMPLE_NS`: mean, spread and percentiles of the queue are those of
the samples. The queueing delay is derived: of a first-in, first-out queue, what waits over the rate
at each sample; of queues that serve flows in turns only its mean, by Little's law. What the kernel
does not tell is absent: RED's average, and why a packet was dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from vermilion.scenario.core_scenario import CoreScenario, Window
    from vermilion.simulate.result_data import Measured
    from vermilion_lab.kernel_plant.traffic_plan import PlannedFlow

SAMPLE_NS: Final = 20_000_000
"""Between two looks at the queues."""

_S: Final = 1e-9
_BITS: Final = 8
_STARVED_SHARE: Final = 0.05
_IN_TURNS: Final = frozenset({"fq", "fq-codel", "fq-pie"})
_PERCENTILES: Final = {"p5": 5, "p50": 50, "p95": 95, "p99": 99}

_TIME, _PACKETS, _BYTES, _DROPS, _MARKS, _WAITING, _WAITING_BYTES = range(7)


@dataclass
class Measurements:
    """Raw readings of one run.

    Attributes:
        samples: of each link, an array with a row for each sample: time (ns), packets and bytes
            forwarded, drops, marks, packets and bytes waiting.
        traffic: at each boundary (ns), of each flow: bytes received, packets sent again, timeouts.
        transfers: number of the flow, beginning, end (``None`` if it did not end), ns.
    """

    samples: list[NDArray[np.int64]]
    traffic: Mapping[int, NDArray[np.int64]]
    transfers: Sequence[tuple[int, int, int | None]]


def measured(
    scenario: CoreScenario,
    flows: Sequence[PlannedFlow],
    rates: Sequence[Sequence[tuple[int, float]]],
    total: Window,
    phases: Sequence[Window],
    of: Measurements,
) -> Measured:
    """Measurements under the simulator's keys.

    Args:
        scenario: what was run.
        flows: what was planned, in the order of the traffic's counters.
        rates: of each link, from when on (ns) it had which rate (bit/s).
        total: the whole measured time.
        phases: and that of each phase.
        of: what was read.
    """
    links: dict[str, Any] = {}
    for number, link in enumerate(scenario.links):
        in_turns = link.queue.discipline in _IN_TURNS
        samples, own = of.samples[number], rates[number]
        links[link.name] = {
            "total": _link(samples, own, total, in_turns=in_turns),
            "phases": [_link(samples, own, each, in_turns=in_turns) for each in phases],
            "ledger": _ledger(samples),
        }
    forwarded = sum(int(samples[-1, _PACKETS]) for samples in of.samples)
    groups = measured_flows(scenario, flows, total, phases, of)
    return {"packets_forwarded": forwarded, "links": links, "flows": groups}


def measured_flows(
    scenario: CoreScenario,
    flows: Sequence[PlannedFlow],
    total: Window,
    phases: Sequence[Window],
    of: Measurements,
) -> dict[str, Any]:
    """Measurements of each group of flows: see :func:`measured`."""
    return {
        group.name: {
            "total": _group(group.name, flows, total, of),
            "phases": [_group(group.name, flows, each, of) for each in phases],
        }
        for group in scenario.flows
    }


def series(samples: NDArray[np.int64], interval_ns: int) -> dict[str, NDArray[np.float64]]:
    """A link's time series, a point at each interval, with the simulator's columns."""
    step = max(1, interval_ns // SAMPLE_NS)
    chosen = samples[::step].astype(np.float64)
    apart = np.diff(chosen, axis=0, prepend=chosen[:1])
    times = chosen[:, _TIME] * _S
    passed = np.diff(times, prepend=times[:1] - interval_ns * _S)
    unknown = np.full(len(chosen), np.nan)
    return {
        "time_s": times,
        "queue_packets": chosen[:, _WAITING],
        "queue_bytes": chosen[:, _WAITING_BYTES],
        "average_queue_packets": unknown,
        "drop_probability": unknown,
        "throughput_bit_per_s": apart[:, _BYTES] * _BITS / passed,
        "rate_bit_per_s": unknown,
        "arrivals": apart[:, _PACKETS] + apart[:, _DROPS] + apart[:, _WAITING],
        "drops": apart[:, _DROPS],
        "marks": apart[:, _MARKS],
    }


def _link(
    samples: NDArray[np.int64],
    rates: Sequence[tuple[int, float]],
    window: Window,
    *,
    in_turns: bool,
) -> dict[str, Any]:
    begin, end = _sample_index(samples, window[0]), _sample_index(samples, window[1])
    within = samples[begin : end + 1]
    first, last = within[0], within[-1]
    forwarded, drops, marks = (
        int(last[column] - first[column]) for column in (_PACKETS, _DROPS, _MARKS)
    )
    seconds = float(last[_TIME] - first[_TIME]) * _S
    arrivals = forwarded + drops + int(last[_WAITING] - first[_WAITING])
    found: dict[str, Any] = {
        "start_s": window[0] * _S,
        "end_s": window[1] * _S,
        "packets_forwarded": forwarded,
        "arrivals": arrivals,
        "drops": drops,
        "marks": marks,
        "losses": 0,
        "queued_at_start": int(first[_WAITING]),
        "queued_at_end": int(last[_WAITING]),
    }
    possible = _capacity_bits(rates, int(first[_TIME]), int(last[_TIME]))
    if possible > 0.0:
        found["utilization"] = min(1.0, float(last[_BYTES] - first[_BYTES]) * _BITS / possible)
    if arrivals > 0:
        found["drop_rate"], found["mark_rate"] = drops / arrivals, marks / arrivals
    if forwarded > 0:
        found["loss_rate"] = 0.0
    looked = within[:-1] if len(within) > 1 else within
    found["queue_packets"] = _summary(looked[:, _WAITING])
    found["queue_bytes"] = _summary(looked[:, _WAITING_BYTES])
    if forwarded > 0 and in_turns:
        waited = float(np.mean(looked[:, _WAITING])) * seconds / forwarded
        found["sojourn_ms"] = {"mean": 1e3 * waited}
    elif forwarded > 0:
        starts = np.array([at for at, _ in rates])
        values = np.array([rate for _, rate in rates])
        now = values[np.searchsorted(starts, looked[:, _TIME], side="right") - 1]
        found["sojourn_ms"] = _summary(1e3 * _BITS * looked[:, _WAITING_BYTES] / now)
    return found


def _ledger(samples: NDArray[np.int64]) -> dict[str, Any]:
    last = samples[-1]
    forwarded, drops = int(last[_PACKETS]), int(last[_DROPS])
    waiting = int(last[_WAITING])
    return {
        "arrivals": forwarded + drops + waiting,
        "forwarded": forwarded,
        "drops": drops,
        "marks": int(last[_MARKS]),
        "losses": 0,
        "queued": waiting,
        "backlog_packet_s": float(np.sum(samples[:-1, _WAITING] * np.diff(samples[:, _TIME]))) * _S,
    }


def _sample_index(samples: NDArray[np.int64], time_ns: int) -> int:
    """The number of the sample nearest to a time."""
    place = int(np.searchsorted(samples[:, _TIME], time_ns - SAMPLE_NS // 2))
    return min(place, len(samples) - 1)


def _capacity_bits(rates: Sequence[tuple[int, float]], begin_ns: int, end_ns: int) -> float:
    ends = [at for at, _ in rates[1:]] + [end_ns]
    return sum(
        rate * max(0, min(end, end_ns) - max(at, begin_ns)) * _S
        for (at, rate), end in zip(rates, ends, strict=True)
    )


def _summary(values: NDArray[Any]) -> dict[str, float]:
    found = {"mean": float(np.mean(values)), "sd": float(np.std(values))}
    places = np.percentile(values, list(_PERCENTILES.values()))
    found |= dict(zip(_PERCENTILES, (float(each) for each in places), strict=True))
    return {**found, "max": float(np.max(values))}


def _group(
    name: str, flows: Sequence[PlannedFlow], window: Window, of: Measurements
) -> dict[str, Any]:
    begin, end = window
    seconds = (end - begin) * _S
    own = [number for number, flow in enumerate(flows) if flow.group == name]
    there = [number for number in own if _active(flows[number], window)]
    apart = of.traffic[end] - of.traffic[begin]
    found: dict[str, Any] = {"start_s": begin * _S, "end_s": end * _S}
    found["timeouts"] = int(sum(apart[number, 2] for number in own))
    found["retransmissions"] = int(sum(apart[number, 1] for number in own))
    rates = np.array([apart[n, 0] * flows[n].scale * _BITS / seconds for n in there])
    transfers = [each for each in of.transfers if flows[each[0]].group == name]
    if flows[own[0]].orders["kind"] == "transfers":
        under_way = [
            each for each in transfers if each[1] < end and (each[2] is None or each[2] > begin)
        ]
        took = [
            (ended - begun + flows[number].there_ns) * _S
            for number, begun, ended in transfers
            if ended is not None and begin <= ended < end
        ]
        found["flows"] = len(under_way)
        found["goodput_bit_per_s"] = {"total": float(np.sum(rates))}
        found["transfers_begun"] = sum(begin <= each[1] < end for each in transfers)
        found["completed"] = len(took)
        if took:
            times = np.array(took)
            summary = {"count": len(took), "min": float(times.min()), **_summary(times)}
            found["completion_time_s"] = summary
        return found
    found["flows"] = len(there)
    if len(there) == 0:
        return found
    found["goodput_bit_per_s"] = {
        "total": float(np.sum(rates)),
        "mean": float(np.mean(rates)),
        "sd": float(np.std(rates)),
        "min": float(np.min(rates)),
        "max": float(np.max(rates)),
    }
    if np.sum(rates**2) > 0.0:
        found["jain_index"] = float(np.sum(rates) ** 2 / (len(rates) * np.sum(rates**2)))
        found["goodput_cov"] = float(np.std(rates) / np.mean(rates))
    if flows[own[0]].endless:
        found["starved"] = int(np.sum(rates < _STARVED_SHARE * _mean_of_endless(flows, window, of)))
    found["each"] = [
        {
            "goodput_bit_per_s": float(rate),
            "timeouts": int(apart[number, 2]),
            "retransmissions": int(apart[number, 1]),
        }
        for number, rate in zip(there, rates, strict=True)
    ]
    return found


def _active(flow: PlannedFlow, window: Window) -> bool:
    begin, end = window
    return flow.start_ns < end and (flow.stop_ns is None or flow.stop_ns > begin)


def _mean_of_endless(flows: Sequence[PlannedFlow], window: Window, of: Measurements) -> float:
    """Mean rate of all endless flows of the scenario, bit/s."""
    begin, end = window
    apart = of.traffic[end] - of.traffic[begin]
    rates = [
        apart[number, 0] * flow.scale * _BITS / ((end - begin) * _S)
        for number, flow in enumerate(flows)
        if flow.endless and _active(flow, window)
    ]
    return float(np.mean(rates)) if rates else 0.0
