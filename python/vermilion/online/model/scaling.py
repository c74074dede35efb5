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

Where few flows share a fast link their windows are large, and it is the windows that shrink: all
flows stay, each with a share b of its packets, as if k = 1/b packets were one. For the same course
of windows in time one grows by b segments in a round trip instead of one, CUBIC's C becomes b C
(both are growth in segments per time), and what queues drop by chance is dropped b times less often
in packets, so as often in time: probabilities become p / b. A packet dropped is still one sign of
congestion, and stands for one packet dropped of the network's. That holds while p / b is small and
windows have some tens of packets left. What chance adds to a queue is a few packets, of the model
as of the network, so that the model's mean queue, in the network's packets, is longer by a few
times k: where a queue is to be far shorter than a usual one, that shows. What is dropped because
there is no room comes in bursts that depend on single packets: a drop-tail queue of the model is an
eighth longer, and loses a quarter less. The law is of senders that grow by rule (Reno's family and
CUBIC, in the form of RFC 9438), not of those that count marks (DCTCP) or rates (BBR).
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from vermilion.online.model.network import UNRESPONSIVE
from vermilion.online.sense.traffic_estimate import rounded_to_total
from vermilion.scenario import disciplines
from vermilion.simulate import Result
from vermilion.simulate.batches import BatchRunner, cores
from vermilion.simulate.runs import run_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.online.model.senders import SenderModel
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue
    from vermilion.simulate.result_data import ResultData

_ENOUGH_PACKETS_PER_S = 20_000.0  # five seconds of it in 20 ms of a core: 100 settings a second
_FAST_PACKETS_PER_S = 70_000.0  # about 0.8 Gbit/s of full packets; below, all is simulated
_FEWEST_FLOWS = 16
_FEW_PACKETS_PER_S = 4_000.0  # where windows shrink: time for their long sawteeth
_FEWEST_OF_A_WINDOW = 24.0
_FEWEST_OF_A_LENGTH = 16.0  # where windows shrink
_MOST_HALVINGS_OF_WINDOWS = 9
_CUBIC_SCALING = 0.4  # RFC 9438
_CUBIC_DECREASE = 0.7

_BY_RULE: Final = {"cubic", "newreno", "reno", "sack", "tahoe"}
"""Senders whose windows shrink."""
_FEWEST_PACKETS = 8.0  # of the length that the goal is about

_NO_LENGTHS: Final = {"mean_packet_size", "maximum_packet_size", "max_packet_size"}
"""What is in bytes and is the size of a packet."""

_QUEUES: Final = ("queue_packets", "queue_bytes", "average_queue_packets")
_PACKETS: Final = {
    "packets_forwarded", "arrivals", "queued_at_start", "queued_at_end", "packets_sent",
    "packets_delivered", "jitter_pairs",
}  # fmt: skip
"""Counts of packets."""
_SIGNS: Final = {
    "drops", "marks", "losses", "forced_drops", "overflow_drops", "flows", "starved", "timeouts",
    "retransmissions", "transfers_begun", "completed", "packets_lost",
}  # fmt: skip
"""Counts of flows, and of what befalls them: as many where only windows are smaller."""
_RATES_OF_SIGNS: Final = {"drop_rate", "mark_rate", "loss_rate"}

_PACKETS_OF_SAMPLES: Final = (
    "backlog_before_packets", "backlog_packets", "backlog_bytes", "packets", "bytes", "rtt_samples",
)  # fmt: skip
_SIGNS_OF_SAMPLES: Final = ("drops", "marks", "active_flows", "heard_flows")


def _forgetting(weight: float, share: float, _: float) -> float:
    """A weight per packet that forgets as fast where a share of the packets come."""
    return 1.0 if weight >= 1.0 else -math.expm1(math.log1p(-weight) / share)


def _forgetting_log(weight_log: float, share: float, _: float) -> float:
    """The same of a weight 2^-n; 0 is the quickest there is."""
    return max(weight_log + math.log2(share), 0.0)


def _gain(gain: float, share: float, of_windows: float) -> float:
    """A gain in probability per packet."""
    return gain / (share * of_windows)


def _probability(probability: float, _: float, of_windows: float) -> float:
    """A probability that a packet is dropped or marked."""
    return min(1.0, probability / of_windows)


_Law = dict[str, "Callable[[float, float, float], float]"]

_AVERAGE: Final[_Law] = {"weight": _forgetting}
_RED: Final[_Law] = {"weight": _forgetting, "max_probability": _probability}

_LAWS: Final[Mapping[str, _Law]] = {
    "drop-tail": {},
    "red": _RED,
    "ns2-red": _RED,
    "self-configuring-red": _AVERAGE,
    "adaptive-red": _AVERAGE,
    "pd-red": _RED,
    "nonlinear-red": _AVERAGE,
    "wred": _AVERAGE,
    "linux-red": {"weight_log": _forgetting_log, "max_probability": _probability},
    "step": {},
    "pi": {"a": _gain, "b": _gain},
    "pie": {},
}
"""The disciplines that shrink, and what of each is neither a length nor stays as it is."""

_WINDOWS_TOO: Final = {"red", "ns2-red", "linux-red", "drop-tail"}
"""Those under which windows may shrink. A PI controller's probability swings so far that p / b is
not small: its small models are not like the whole one, as the figures show."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """Ratio of a model's size to its network's.

    Attributes:
        discipline: of the queue.
        halvings: the model has 1 / 2^halvings of the flows.
        windows: it has 1 / 2^windows of the packets of each flow.
    """

    discipline: str
    halvings: int = 0
    windows: int = 0

    @property
    def is_smaller(self) -> bool:
        """True where the model is smaller than the network."""
        return self.halvings + self.windows > 0

    @property
    def share(self) -> float:
        """Share of the network's rate."""
        return math.ldexp(1.0, -(self.halvings + self.windows))

    @property
    def of_windows(self) -> float:
        """Share of each flow's packets."""
        return math.ldexp(1.0, -self.windows)

    def suits(self, kind: SenderModel) -> bool:
        """Check whether such senders can be modelled at this scale."""
        return self.windows == 0 or shrinks(kind)

    def senders(self, kind: SenderModel) -> SenderModel:
        """Return the senders as they are in the smaller model."""
        if self.windows == 0:
            return kind
        slower: tuple[tuple[str, ParameterValue], ...] = (("linear_increase", self.of_windows),)
        if kind.congestion_control == "cubic":
            # The form of Linux, in whole segments, differs only where windows are small.
            scaling = _CUBIC_SCALING * self.of_windows
            slower = (*slower, ("cubic_scaling", scaling), ("dialect", "rfc9438"))
        return replace(
            kind,
            parameters=(*kind.parameters, *slower),
            beside=None if kind.beside is None else self.senders(kind.beside),
        )

    def epoch_s(self, traffic: Traffic) -> float:
        """Time for large windows to grow back, s; 0 for small windows.

        Args:
            traffic: of the whole network. The time is that of CUBIC (RFC 9438: K).
        """
        if self.windows == 0:
            return 0.0
        lost = (1.0 - _CUBIC_DECREASE) * _window(traffic)
        return math.cbrt(lost / _CUBIC_SCALING)

    def traffic(self, traffic: Traffic) -> Traffic:
        """The traffic of the smaller model; its mixture stays as far as whole flows allow."""
        if not self.is_smaller:
            return traffic
        flows = max(1, round(math.ldexp(traffic.flows, -self.halvings)))
        return replace(
            traffic,
            flows=flows,
            classes=_fewer(traffic.classes, flows),
            rate_bit_per_s=self.share * traffic.rate_bit_per_s,
            unresponsive_bit_per_s=self.share * traffic.unresponsive_bit_per_s,
        )

    def into(self, name: str, value: ParameterValue) -> ParameterValue:
        """A parameter's value in the smaller model."""
        return self._changed(name, value, self.share, self.of_windows)

    def out_of(self, name: str, value: float) -> float:
        """The network's parameter that a value in the smaller model stands for."""
        found = self._changed(name, value, 1.0 / self.share, 1.0 / self.of_windows)
        return value if found is None or isinstance(found, bool | str) else float(found)

    def _changed(
        self, name: str, value: ParameterValue, share: float, of_windows: float
    ) -> ParameterValue:
        if not self.is_smaller or value is None or isinstance(value, bool | str):
            return value
        law = _LAWS[self.discipline].get(name)
        if law is not None:
            return law(value, share, of_windows)
        row = disciplines()[self.discipline].parameters.get(name)
        if row is None or row.unit not in {"packets", "bytes"} or name in _NO_LENGTHS:
            return value
        # A length that is a whole number, as limits are, holds at least one packet.
        return float(max(1, round(share * value))) if row.integer else share * value

    def result(self, result: Result) -> Result:
        """Convert the result of a run to the network's scale."""
        if not self.is_smaller:
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
        """Convert the model's samples to the network's scale."""
        if not self.is_smaller:
            return list(samples)
        times = dict.fromkeys(_PACKETS_OF_SAMPLES, self.halvings + self.windows)
        times |= dict.fromkeys(_SIGNS_OF_SAMPLES, self.halvings)
        return [
            replace(
                sample, **{name: _times(getattr(sample, name), by) for name, by in times.items()}
            )
            for sample in samples
        ]

    def _window(self, window: Mapping[str, Any], name: str) -> dict[str, Any]:
        """One measured window of a link or a group of flows, in the network's numbers."""
        times = 1.0 / self.share
        of_model = name == UNRESPONSIVE  # as many flows as in the network, and each with less
        of_flow = times if of_model else 1.0 / self.of_windows
        found: dict[str, Any] = {}
        for key, value in window.items():
            if key in _QUEUES:
                found[key] = {each: times * number for each, number in value.items()}
            elif key == "goodput_bit_per_s":
                found[key] = {
                    each: (times if each == "total" else of_flow) * number
                    for each, number in value.items()
                }
            elif key == "flows" and of_model:
                found[key] = value
            elif key in _PACKETS:
                found[key] = _times(value, self.halvings + self.windows)
            elif key in _SIGNS:
                found[key] = _times(value, self.halvings)
            elif key in _RATES_OF_SIGNS:
                found[key] = None if value is None else self.of_windows * value
            else:
                found[key] = value
        return found


class SmallRuns(BatchRunner):
    """Simulates smaller models, and says what that means for the network.

    It stands where a tuning's runner of batches may stand; nothing is sent anywhere.
    """

    def __init__(self, scaling: Scaling) -> None:
        super().__init__(Executor(), cores())
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
        """Run :func:`vermilion.simulate.run_many` and scale the results to the network."""
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


def shrinks(kind: SenderModel) -> bool:
    """Check whether windows of such senders can shrink.

    A cap of a few segments would have to shrink to none.
    """
    capped = any(name == "window_cap" for name, _ in kind.parameters)
    beside = kind.beside is None or shrinks(kind.beside)
    return kind.congestion_control in _BY_RULE and not capped and beside


def scaling_for(
    traffic: Traffic, discipline: str, wanted_packets: float, kinds: Iterable[SenderModel] = ()
) -> Scaling:
    """Return the scale at which a search evaluates a hundred settings a second.

    It depends on nothing of the machine. A link of less than about a gigabit per second is modelled
    whole, and so is one whose discipline does not shrink. Flows shrink first, and where few are
    left, windows.

    Args:
        traffic: of the whole network.
        discipline: of the queue.
        wanted_packets: the length of queue that the goal is about.
        kinds: the senders to be modelled; windows shrink only where all of them allow it.
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
    if scaling.share * traffic.packets_per_s <= _ENOUGH_PACKETS_PER_S:
        return scaling
    if discipline not in _WINDOWS_TOO or not all(shrinks(kind) for kind in kinds):
        return scaling
    return _with_smaller_windows(scaling, traffic, wanted_packets)


def _with_smaller_windows(scaling: Scaling, traffic: Traffic, wanted_packets: float) -> Scaling:
    """The same with windows as small as they may be."""
    while scaling.share * traffic.packets_per_s > _FEW_PACKETS_PER_S:
        smaller = replace(scaling, windows=scaling.windows + 1)
        if smaller.of_windows * _window(traffic) < _FEWEST_OF_A_WINDOW:
            break
        if smaller.share * wanted_packets < _FEWEST_OF_A_LENGTH:
            break
        if smaller.windows > _MOST_HALVINGS_OF_WINDOWS:
            break
        scaling = smaller
    return scaling


def _window(traffic: Traffic) -> float:
    """The mean window of a flow, packets, with the wanted queue."""
    trips = math.fsum(count * base_s for count, base_s in traffic.classes) / traffic.flows
    return traffic.packets_per_s * (trips + traffic.queueing_s) / traffic.flows


def _fewer(classes: Sequence[tuple[int, float]], flows: int) -> tuple[tuple[int, float], ...]:
    """Reduce the flows, keeping the shares of the classes (largest remainders first)."""
    before = sum(count for count, _ in classes)
    counts = rounded_to_total([count * flows / before for count, _ in classes], flows)
    return tuple(
        (count, base_s) for count, (_, base_s) in zip(counts, classes, strict=True) if count > 0
    )


def _times(count: Any, halvings: int) -> Any:  # noqa: ANN401 - a count, or none
    """A whole number of the model's, in the network."""
    return None if count is None else count << halvings
