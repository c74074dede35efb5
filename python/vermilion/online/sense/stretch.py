"""What a stretch of samples says of a metric, in the words of a simulated run's results.

A router's counters give the same metrics as a simulation does, only by samples: the backlog at the
end of every interval instead of at every instant. How alike flows fare is known where a monitor
sees what each of them moves. What nobody tells (completion times) is absent, never guessed.

Successive samples are strongly correlated, so the unit of statistics is a batch of seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vermilion.online.sense.fairness import FAIRNESS, FAIRNESS_OBJECTIVES, jackknifed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.objectives import Constraint, Objective
    from vermilion.online.sense.sampler import Sample
    from vermilion.simulate.statistics import Interval

CONFIDENCE = 0.99
"""Of the intervals compared: a needless rollback costs as much as a late one."""

BATCH_S = 1.0
"""Length of a batch, s."""

FEWEST_BATCHES = 3
"""Batches without which nothing is said."""

_EPSILON_S = 1e-6


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of about a second.

    Attributes:
        seconds: how long they are.
        backlog_packets: at the end of each sample.
        waiting_ms: what a packet that arrived then would wait.
        packets: forwarded.
        bits: forwarded.
        drops: packets.
        marks: packets.
        rate_bit_per_s: the link's.
    """

    seconds: float
    backlog_packets: NDArray[np.float64]
    waiting_ms: NDArray[np.float64]
    packets: int
    bits: float
    drops: int
    marks: int
    rate_bit_per_s: float

    @property
    def arrivals(self) -> int:
        """Packets that came."""
        return self.packets + self.drops


def batches_of(
    samples: Sequence[Sample], rate_bit_per_s: float, length_s: float = BATCH_S
) -> list[Batch]:
    """The whole batches of a stretch; what is left over at its end is not used."""
    import numpy as np

    batches: list[Batch] = []
    open_samples: list[Sample] = []
    seconds = 0.0
    for sample in samples:
        open_samples.append(sample)
        seconds += sample.interval_s
        if seconds < length_s - _EPSILON_S:
            continue
        backlog = np.array([each.backlog_packets for each in open_samples], dtype=np.float64)
        waiting = np.array([each.backlog_bytes for each in open_samples], dtype=np.float64)
        batches.append(
            Batch(
                seconds=seconds,
                backlog_packets=backlog,
                waiting_ms=8e3 * waiting / rate_bit_per_s,
                packets=sum(each.packets for each in open_samples),
                bits=8.0 * sum(each.bytes for each in open_samples),
                drops=sum(each.drops for each in open_samples),
                marks=sum(each.marks for each in open_samples),
                rate_bit_per_s=rate_bit_per_s,
            )
        )
        open_samples, seconds = [], 0.0
    return batches


def _statistics(
    name: str, take: Callable[[Batch], NDArray[np.float64]]
) -> dict[str, Callable[[Batch], float]]:
    """The metrics of a quantity that every sample has."""

    def percentile(share: float) -> Callable[[Batch], float]:
        def of(batch: Batch) -> float:
            import numpy as np

            return float(np.percentile(take(batch), share))

        return of

    return {
        f"{name}.mean": lambda batch: float(take(batch).mean()),
        f"{name}.sd": lambda batch: float(take(batch).std()),
        f"{name}.max": lambda batch: float(take(batch).max()),
        **{f"{name}.p{share}": percentile(share) for share in (5, 50, 95, 99)},
    }


_OF_LINKS: Mapping[str, Callable[[Batch], float]] = {
    "utilization": lambda batch: min(1.0, batch.bits / (batch.rate_bit_per_s * batch.seconds)),
    "drop_rate": lambda batch: batch.drops / batch.arrivals if batch.arrivals else 0.0,
    "mark_rate": lambda batch: batch.marks / batch.arrivals if batch.arrivals else 0.0,
    **_statistics("queue_packets", lambda batch: batch.backlog_packets),
    **_statistics("sojourn_ms", lambda batch: batch.waiting_ms),
}
_OF_FLOWS: Mapping[str, Callable[[Batch], float]] = {
    "goodput_bit_per_s.total": lambda batch: batch.bits / batch.seconds,
}
_OF_OBJECTIVES: Mapping[str, Callable[[Batch], float]] = {
    "mean-sojourn": _OF_LINKS["sojourn_ms.mean"],
    "drop-rate": _OF_LINKS["drop_rate"],
    "mark-rate": _OF_LINKS["mark_rate"],
    "utilization": _OF_LINKS["utilization"],
    "goodput": _OF_FLOWS["goodput_bit_per_s.total"],
    "delay-bound": _OF_FLOWS["goodput_bit_per_s.total"],
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some seconds of a network under one setting.

    Attributes:
        batches: of about a second each.
        goodput: bit/s of each flow (columns) in each batch (rows); ``None`` where nobody looks
            at packets.
    """

    batches: tuple[Batch, ...]
    goodput: NDArray[np.float64] | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        samples: Sequence[Sample],
        rate_bit_per_s: float | None,
        goodput: NDArray[np.float64] | None = None,
    ) -> Stretch | None:
        """The stretch of some samples; ``None`` where it is too short or the rate is unknown.

        Args:
            samples: oldest first.
            rate_bit_per_s: of the link.
            goodput: bit/s of each flow in each second, where a monitor sees them.
        """
        if rate_bit_per_s is None or rate_bit_per_s <= 0.0:
            return None
        batches = batches_of(samples, rate_bit_per_s)
        return cls(tuple(batches), goodput) if len(batches) >= FEWEST_BATCHES else None

    @property
    def seconds(self) -> float:
        """How long it is."""
        return sum(batch.seconds for batch in self.batches)

    @property
    def rate_bit_per_s(self) -> float | None:
        """What the link carries, which no flows together get more than; ``None`` of several."""
        return self.batches[-1].rate_bit_per_s

    def interval(self, of: Callable[[Batch], float]) -> Interval:
        """A metric's mean over the batches, with confidence."""
        from vermilion.simulate.statistics import mean_interval

        return mean_interval([of(batch) for batch in self.batches], CONFIDENCE)

    @property
    def queue(self) -> Interval:
        """The mean backlog, packets."""
        return self.interval(_OF_LINKS["queue_packets.mean"])

    @property
    def utilization(self) -> Interval:
        """The share of the capacity used, 0 to 1."""
        return self.interval(_OF_LINKS["utilization"])

    @property
    def signal_rate(self) -> float:
        """Drops and marks per packet that arrived."""
        arrivals = sum(batch.arrivals for batch in self.batches)
        signals = sum(batch.drops + batch.marks for batch in self.batches)
        return signals / arrivals if arrivals > 0 else 0.0

    def bounded(self, constraint: Constraint) -> Interval | None:
        """The metric that a constraint is about; ``None`` where nobody can tell."""
        of_flows = FAIRNESS.get(constraint.path.metric)
        if of_flows is not None and constraint.path.room == "flows":
            return jackknifed(self.goodput, of_flows, FEWEST_BATCHES, CONFIDENCE)
        of = metric_of(constraint)
        return None if of is None else self.interval(of)

    def objective(self, objective: Objective) -> Interval | None:
        """The objective's own number; ``None`` where nobody can tell."""
        of_flows = FAIRNESS_OBJECTIVES.get(objective.name)
        if of_flows is not None:
            return jackknifed(self.goodput, of_flows, FEWEST_BATCHES, CONFIDENCE)
        of = value_of(objective)
        return None if of is None else self.interval(of)


def metric_of(constraint: Constraint) -> Callable[[Batch], float] | None:
    """How a constraint's metric is made from a batch; ``None`` where it cannot be."""
    path = constraint.path
    return (_OF_FLOWS if path.room == "flows" else _OF_LINKS).get(path.metric)


def value_of(objective: Objective) -> Callable[[Batch], float] | None:
    """How an objective's value is made from a batch; ``None`` where it cannot be."""
    from vermilion.objectives.chosen_metric import ChosenMetric
    from vermilion.objectives.knee import Knee
    from vermilion.objectives.queue_deviation import QueueDeviation
    from vermilion.objectives.sojourn_percentile import SojournPercentile

    match objective:
        case QueueDeviation(target=target):
            return lambda batch: float(((batch.backlog_packets - target) ** 2).mean())
        case Knee(percentile=share) | SojournPercentile(percentile=share):
            return _OF_LINKS[f"sojourn_ms.{share}"]
        case ChosenMetric(path=path):
            return (_OF_FLOWS if path.room == "flows" else _OF_LINKS).get(path.metric)
        case _:
            return _OF_OBJECTIVES.get(objective.name)
