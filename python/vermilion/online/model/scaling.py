"""A fast link in little: a part of the flows on a part of the rate, and the queue to suit.

A packet takes the simulator as long on a fast link as on a slow one, so a second at 10 Gbit/s takes
a thousand times as long as one at 10 Mbit/s. R. Pan, B. Prabhakar, K. Psounis, D. Wischik,
"SHRiNK: A method for scaleable performance prediction and efficient network simulation", INFOCOM
2003, take a sample of the flows instead: with a share a of the flows, a of the rate, and a of the
buffers and thresholds, and all propagation delays as they are, a network of many long flows and
active queue management has the same queueing delays, the same shares of packets lost and the same
throughput of each flow. For then in the fluid limit nothing changes: the window of a flow depends
on its round trip and the share lost, the share lost on the average queue over the thresholds, and
the queue on the sum of the windows over the rate; the last two both shrink by a.

What counts packets has to be told. RED's average takes in one packet at a time, and a share a of
the packets come; to forget as fast in time the weight w becomes 1 - (1 - w)^(1/a). A PI
controller's gains are per packet and grow by 1/a; its clock stays. PIE and what else works by delay
and by its own clock stays as it is. CoDel does not shrink: it drops so many packets a second,
whatever the rate. Nor do disciplines that look at single flows.

Lengths shrink until they mean a few packets, and flows until a few are left: by chance a sum of n
windows strays by 1/sqrt(n), and the smaller model's queue more than the network's. Shares are
powers of two, which devices with weights of powers of two need. How well a small model agrees with
the full one is measured in docs/figures/scaled_models.txt.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from os import sched_getaffinity
from typing import TYPE_CHECKING, Any, Final, cast

from vermilion.online.model.network import UNRESPONSIVE
from vermilion.scenario import disciplines
from vermilion.simulate import Result
from vermilion.simulate.batches import BatchRunner
from vermilion.simulate.runs import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.online.model.traffic import Traffic
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue
    from vermilion.simulate.result_data import ResultData

_ENOUGH_PACKETS_PER_S = 20_000.0  # five seconds of it in 20 ms of a core: 100 settings a second
_FAST_PACKETS_PER_S = 70_000.0  # about 0.8 Gbit/s of full packets; below, all is simulated
_FEWEST_FLOWS = 16
_FEWEST_PACKETS = 8.0  # of the length that the goal is about

_NO_LENGTHS: Final = {"mean_packet_size", "maximum_packet_size", "max_packet_size"}
"""What is in bytes and is the size of a packet."""

_QUEUES: Final = ("queue_packets", "queue_bytes", "average_queue_packets")
_COUNTS: Final = {
    "packets_forwarded", "arrivals", "drops", "marks", "losses", "forced_drops", "overflow_drops",
    "queued_at_start", "queued_at_end", "flows", "starved", "timeouts", "retransmissions",
    "transfers_begun", "completed", "packets_sent", "packets_delivered", "packets_lost",
    "jitter_pairs",
}  # fmt: skip

_OF_SAMPLES: Final = (
    "backlog_before_packets", "backlog_packets", "backlog_bytes", "packets", "bytes",
    "drops", "marks", "active_flows", "heard_flows", "rtt_samples",
)  # fmt: skip


def _forgetting(weight: float, share: float) -> float:
    """A weight per packet that forgets as fast where a share of the packets come."""
    return 1.0 if weight >= 1.0 else -math.expm1(math.log1p(-weight) / share)


def _forgetting_log(weight_log: float, share: float) -> float:
    """The same of a weight 2^-n; 0 is the quickest there is."""
    return max(weight_log + math.log2(share), 0.0)


def _gain(gain: float, share: float) -> float:
    """A gain per packet."""
    return gain / share


_Law = dict[str, "Callable[[float, float], float]"]

_AVERAGE: Final[_Law] = {"weight": _forgetting}

_LAWS: Final[Mapping[str, _Law]] = {
    "drop-tail": {},
    "red": _AVERAGE,
    "ns2-red": _AVERAGE,
    "self-configuring-red": _AVERAGE,
    "adaptive-red": _AVERAGE,
    "nonlinear-red": _AVERAGE,
    "wred": _AVERAGE,
    "linux-red": {"weight_log": _forgetting_log},
    "step": {},
    "pi": {"a": _gain, "b": _gain},
    "pie": {},
}
"""The disciplines that shrink, and what of each is neither a length nor stays as it is."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """How much smaller a model is than its network.

    Attributes:
        discipline: of the queue.
        halvings: the share is 1 / 2^halvings; 0 for a model of the whole.
    """

    discipline: str
    halvings: int = 0

    @property
    def share(self) -> float:
        """Of the network's flows and rate that the model has."""
        return math.ldexp(1.0, -self.halvings)

    def traffic(self, traffic: Traffic) -> Traffic:
        """The traffic of the smaller model; its mixture stays as far as whole flows allow."""
        if self.halvings == 0:
            return traffic
        return replace(
            traffic,
            flows=max(1, round(self.share * traffic.flows)),
            classes=_fewer(traffic.classes, max(1, round(self.share * traffic.flows))),
            rate_bit_per_s=self.share * traffic.rate_bit_per_s,
            unresponsive_bit_per_s=self.share * traffic.unresponsive_bit_per_s,
        )

    def into(self, name: str, value: ParameterValue) -> ParameterValue:
        """A parameter's value in the smaller model."""
        return self._changed(name, value, self.share)

    def out_of(self, name: str, value: float) -> float:
        """The network's parameter that a value in the smaller model stands for."""
        found = self._changed(name, value, 1.0 / self.share)
        return value if found is None or isinstance(found, str) else float(found)

    def _changed(self, name: str, value: ParameterValue, share: float) -> ParameterValue:
        if self.halvings == 0 or value is None or isinstance(value, bool | str):
            return value
        law = _LAWS[self.discipline].get(name)
        if law is not None:
            return law(value, share)
        row = disciplines()[self.discipline].parameters[name]
        if row.unit not in {"packets", "bytes"} or name in _NO_LENGTHS:
            return value
        # A length that is a whole number, as limits are, holds at least one packet.
        return float(max(1, round(share * value))) if row.integer else share * value

    def result(self, result: Result) -> Result:
        """What a run of the smaller model says of the network."""
        if self.halvings == 0:
            return result
        data: dict[str, Any] = dict(result.data)
        for room in ("links", "flows"):
            data[room] = {
                name: {
                    **entry,
                    "total": self._window(entry["total"], name),
                    "phases": [self._window(each, name) for each in entry["phases"]],
                }
                for name, entry in data[room].items()
            }
        return Result(cast("ResultData", data))

    def samples(self, samples: Sequence[Sample]) -> list[Sample]:
        """What a monitor of the network would have seen where it saw these in the model."""
        if self.halvings == 0:
            return list(samples)
        counted = (
            "backlog_before_packets", "backlog_packets", "backlog_bytes", "packets", "bytes",
            "drops", "marks", "active_flows", "heard_flows", "rtt_samples",
        )  # fmt: skip
        return [
            replace(
                sample, **{name: _times(getattr(sample, name), self.halvings) for name in counted}
            )
            for sample in samples
        ]

    def _window(self, window: Mapping[str, Any], name: str) -> dict[str, Any]:
        """One measured window of a link or a group of flows, in the network's numbers."""
        times = 1.0 / self.share
        of_model = name == UNRESPONSIVE  # as many flows as in the network, and each with less
        found: dict[str, Any] = {}
        for key, value in window.items():
            if key in _QUEUES:
                found[key] = {each: times * number for each, number in value.items()}
            elif key == "goodput_bit_per_s":
                scaled = (
                    value if of_model else {"total": value["total"]} if "total" in value else {}
                )
                found[key] = {**value, **{each: times * scaled[each] for each in scaled}}
            elif key in _COUNTS and not (of_model and key == "flows"):
                found[key] = _times(value, self.halvings)
            else:
                found[key] = value
        return found


class SmallRuns(BatchRunner):
    """Simulates smaller models, and says what that means for the network.

    It stands where a tuning's runner of batches may stand; nothing is sent anywhere.
    """

    def __init__(self, scaling: Scaling) -> None:
        super().__init__(Executor(), len(sched_getaffinity(0)))
        self._scaling = scaling

    def run_many(
        self,
        texts: Sequence[str],
        seeds: Sequence[int],
        *,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
        deadline_s: float | None = None,
        flow_delays: bool = False,
    ) -> list[list[Result | None]]:
        """What :func:`vermilion.simulate.run_many` does, in the network's numbers."""
        rows = run_many(
            texts,
            seeds,
            threads=threads,
            progress=progress,
            deadline_s=deadline_s,
            flow_delays=flow_delays,
        )
        return [
            [None if result is None else self._scaling.result(result) for result in row]
            for row in rows
        ]


def scaling_for(traffic: Traffic, discipline: str, wanted_packets: float) -> Scaling:
    """How small a model may be, so that a search gets a hundred settings a second done.

    It depends on nothing of the machine. A link of less than about a gigabit per second is modelled
    whole, and so is one whose discipline does not shrink, or which has few flows.

    Args:
        traffic: of the whole network.
        discipline: of the queue.
        wanted_packets: the length of queue that the goal is about.
    """
    scaling = Scaling(discipline)
    if discipline not in _LAWS or traffic.packets_per_s < _FAST_PACKETS_PER_S:
        return scaling
    while scaling.share * traffic.packets_per_s > _ENOUGH_PACKETS_PER_S:
        smaller = replace(scaling, halvings=scaling.halvings + 1)
        if smaller.share * traffic.flows < _FEWEST_FLOWS:
            break
        if smaller.share * wanted_packets < _FEWEST_PACKETS:
            break
        scaling = smaller
    return scaling


def _fewer(classes: Sequence[tuple[int, float]], flows: int) -> tuple[tuple[int, float], ...]:
    """So many flows in all, shared among the classes as before (largest remainders first)."""
    before = sum(count for count, _ in classes)
    shares = [count * flows / before for count, _ in classes]
    counts = [math.floor(share) for share in shares]
    for place in sorted(range(len(shares)), key=lambda at: counts[at] - shares[at])[
        : flows - sum(counts)
    ]:
        counts[place] += 1
    return tuple(
        (count, base_s) for count, (_, base_s) in zip(counts, classes, strict=True) if count > 0
    )


def _times(count: Any, halvings: int) -> Any:  # noqa: ANN401 - a count, or none
    """A whole number of the model's, in the network."""
    return None if count is None else count << halvings
