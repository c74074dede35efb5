"""Fairness of flows, from the traffic of each in each second.

How unequal flows are is no mean over seconds, because in a second chance makes every flow differ.
So it is taken over the whole stretch, and its confidence from leaving out one second after the
other (the jackknife: M. H. Quenouille, "Notes on bias in estimation", Biometrika 43, 1956; J. W.
Tukey, "Bias and confidence in not-quite large samples", Annals of Mathematical Statistics 29,
1958), which also takes away most of what a short stretch has too much of it.

What a stretch of samples says of a metric, in the words of a simulated run's results.

A router's counters give the same metrics as a simulation does, only by samples: the backlog at the
end of every interval instead of at every instant. How alike flows fare is known where a monitor
sees what each of them moves. What nobody tells (completion times) is absent, never guessed.

Successive samples are strongly correlated, so the unit of statistics is a batch of seconds.

What a stretch of samples of several queues says of a metric.

Of links each queue's own counters tell, as for one queue. What flows get is known where monitors
see packets: the bytes that left the last queue of each flow's path
(:func:`jain_index`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from vermilion.objectives import Constraint, Objective
    from vermilion.objectives.weighted_sum import WeightedSum
    from vermilion.online.sense.sampler import Sample
    from vermilion.simulate.statistics import Interval


def jackknifed(
    goodput: NDArray[np.float64] | None,
    of: Callable[[NDArray[np.float64]], float],
    fewest: int,
    confidence: float,
) -> Interval | None:
    """A number of the flows' goodputs over a whole stretch, with its jackknife interval.

    ``None`` where it is too short, or nothing was moved.

    Args:
        goodput: bit/s of each flow (columns) in each second (rows); ``None`` where nobody knows.
        of: the number, of one goodput for each flow.
        fewest: seconds without which nothing is said.
        confidence: of the interval.
    """
    from vermilion.simulate.statistics import mean_interval

    if goodput is None or len(goodput) < fewest:
        return None
    count, total = len(goodput), goodput.sum(axis=0)
    if total.sum() <= 0.0:
        return None
    whole = of(total / count)
    without = [of((total - batch) / (count - 1)) for batch in goodput]
    return mean_interval([count * whole - (count - 1) * each for each in without], confidence)


def variation(goodputs: NDArray[np.float64]) -> float:
    """The coefficient of variation."""
    return float(goodputs.std() / goodputs.mean()) if goodputs.mean() > 0.0 else 0.0


def jain_index(goodputs: NDArray[np.float64]) -> float:
    """Jain's index: 1 where all fare alike."""
    return 1.0 / (1.0 + variation(goodputs) ** 2)


def slowest_share(goodputs: NDArray[np.float64]) -> float:
    """The slowest flow's goodput, of the mean."""
    return float(goodputs.min() / goodputs.mean()) if goodputs.mean() > 0.0 else 0.0


def starved(goodputs: NDArray[np.float64]) -> float:
    """Number of flows below :data:`STARVED_SHARE` of the mean."""
    return float((goodputs < STARVED_SHARE * goodputs.mean()).sum())


STARVED_SHARE = 0.05
"""Of the mean share of all flows: what gets less is starved, as in a simulation's results."""

FAIRNESS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "goodput_cov": variation,
    "jain_index": jain_index,
    "slowest_share": slowest_share,
    "starved": starved,
}
"""Metrics of how alike the flows fare, by their names."""

_BY_CHANCE = frozenset({"slowest_share", "starved"})
"""Those that stray too far by chance to take a setting back for the usual margin."""
FAIRNESS_OBJECTIVES: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "goodput-variation": variation,
    "jain-index": jain_index,
}
"""Objectives of that, by their names."""

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
        rate = _rate_of(open_samples, rate_bit_per_s)
        batches.append(
            Batch(
                seconds=seconds,
                backlog_packets=backlog,
                waiting_ms=8e3 * waiting / rate,
                packets=sum(each.packets for each in open_samples),
                bits=8.0 * sum(each.bytes for each in open_samples),
                drops=sum(each.drops for each in open_samples),
                marks=sum(each.marks for each in open_samples),
                rate_bit_per_s=rate,
            )
        )
        open_samples, seconds = [], 0.0
    return batches


_SAME_RATE = 0.02  # within which the line has not varied
_DEEP = (3, 0.08)  # packets, and of those of an interval: too many to have drained unseen


def _rate_of(samples: Sequence[Sample], usual_bit_per_s: float) -> float:
    """Rate of a link during a batch, bit/s: what left while many packets waited.

    On a line that varies each batch has its own; the usual rate holds where no packets waited.
    """
    busy = [
        each
        for each in samples
        if min(each.backlog_before_packets, each.backlog_packets)
        >= max(_DEEP[0], _DEEP[1] * each.packets)
        and each.packets > 0
    ]
    busy_s = sum(each.interval_s for each in busy)
    if busy_s <= 0.0:
        return usual_bit_per_s
    seconds = sum(each.interval_s for each in samples)
    busy_bits = 8.0 * sum(each.bytes for each in busy)
    # While none waited the link may have been as fast as usual, or as it was in the same second.
    idle_bits = (seconds - busy_s) * busy_bits / busy_s
    rate = (busy_bits + idle_bits) / seconds
    same = abs(rate - usual_bit_per_s) <= _SAME_RATE * usual_bit_per_s
    return usual_bit_per_s if same else rate


def _statistics(
    name: str, take: Callable[[Batch], NDArray[np.float64]]
) -> dict[str, Callable[[Batch], float]]:
    """The metrics of a quantity that every sample has."""

    def percentile(share: float) -> Callable[[Batch], float]:
        def of(batch: Batch) -> float:
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
        queues: of several queues what each one's counters say, by its link; those whose rate is
            known. Empty for one.
    """

    batches: tuple[Batch, ...]
    goodput: NDArray[np.float64] | None = field(default=None, compare=False)
    queues: Mapping[str, Stretch] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        samples: Sequence[Sample],
        rate_bit_per_s: float | None,
        goodput: NDArray[np.float64] | None = None,
        rates: Mapping[str, float | None] | None = None,
    ) -> Stretch | None:
        """The stretch of some samples; ``None`` where it is too short or the rate is unknown.

        Args:
            samples: oldest first.
            rate_bit_per_s: of the link, or of all links together.
            goodput: bit/s of each flow in each second, where a monitor sees them.
            rates: of each of several links, in the order of the samples' queues.
        """
        if rate_bit_per_s is None or rate_bit_per_s <= 0.0:
            return None
        batches = batches_of(samples, rate_bit_per_s)
        if len(batches) < FEWEST_BATCHES:
            return None
        queues = {
            link: cls.of([each.queues[place] for each in samples], rate)
            for place, (link, rate) in enumerate((rates or {}).items())
        }
        known = {link: stretch for link, stretch in queues.items() if stretch is not None}
        return cls(tuple(batches), goodput, known)

    @property
    def seconds(self) -> float:
        """Length, s."""
        return sum(batch.seconds for batch in self.batches)

    @property
    def rate_bit_per_s(self) -> float | None:
        """Mean rate of the link, the limit of all flows' goodput.

        ``None`` for several links: their flows may get more than one of them carries.
        """
        if self.queues:
            return None
        bits = sum(batch.rate_bit_per_s * batch.seconds for batch in self.batches)
        return bits / self.seconds

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
        path = constraint.path
        if self.queues and path.room == "links":
            part = self.queues.get(path.name)
            return None if part is None else part.bounded(constraint)
        if constraint.of_harm and path.metric in _BY_CHANCE:
            return None
        of_flows = (_OF_SET_FLOWS if self.queues else FAIRNESS).get(path.metric)
        if of_flows is not None and path.room == "flows":
            return jackknifed(self.goodput, of_flows, FEWEST_BATCHES, CONFIDENCE)
        of = None if self.queues else metric_of(constraint)
        return None if of is None else self.interval(of)

    def objective(self, objective: Objective) -> Interval | None:
        """The objective's own number; ``None`` where nobody can tell."""
        from vermilion.objectives.interface import LinkObjective
        from vermilion.objectives.weighted_sum import WeightedSum

        known = _OF_SET_OBJECTIVES if self.queues else FAIRNESS_OBJECTIVES
        of_flows = known.get(objective.name)
        if of_flows is not None:
            return jackknifed(self.goodput, of_flows, FEWEST_BATCHES, CONFIDENCE)
        if not self.queues:
            of = value_of(objective)
            return None if of is None else self.interval(of)
        match objective:
            case LinkObjective(link=link):
                part = self.queues.get(link)
                return None if part is None else part.objective(objective)
            case WeightedSum():
                return self._sum(objective)
            case _:
                return None

    def _sum(self, objective: WeightedSum) -> Interval | None:
        """A sum of links' objectives, batch by batch; ``None`` where one has no scale of its own.

        The scale of a part that states none is what the setting in force reaches in the model; on
        the network there is no such number.
        """
        from vermilion.objectives.interface import LinkObjective
        from vermilion.simulate.statistics import mean_interval

        rows: list[list[float]] = []
        for part in objective.parts:
            of = value_of(part.objective)
            if part.scale is None or of is None or not isinstance(part.objective, LinkObjective):
                return None
            queue = self.queues.get(part.objective.link)
            if queue is None:
                return None
            sign = -1.0 if part.objective.maximised else 1.0
            factor = sign * part.weight / part.scale
            rows.append([factor * of(batch) for batch in queue.batches])
        # The seconds of one queue may be fewer.
        totals = [sum(values) for values in zip(*rows, strict=False)]
        return mean_interval(totals, CONFIDENCE)


MEASURED: frozenset[str] = frozenset((*_OF_LINKS, *_OF_FLOWS))
"""Metrics that counters tell."""


def metric_of(constraint: Constraint) -> Callable[[Batch], float] | None:
    """Return how to compute a constraint's metric from a batch; ``None`` if impossible."""
    path = constraint.path
    return (_OF_FLOWS if path.room == "flows" else _OF_LINKS).get(path.metric)


def value_of(objective: Objective) -> Callable[[Batch], float] | None:
    """Return how to compute an objective's value from a batch; ``None`` if impossible."""
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


def goodputs_of(
    samples: Sequence[Sample], numbers: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64] | None:
    """bit/s of each flow of several queues in each whole batch.

    ``None`` where nobody has looked at packets.

    Args:
        samples: oldest first.
        numbers: of the flows that are there now.
    """
    if not numbers or any(sample.delivered is None for sample in samples):
        return None
    flows = np.unique(np.concatenate(list(numbers)))
    rows: list[NDArray[np.float64]] = []
    row, seconds = np.zeros(len(flows)), 0.0
    for sample in samples:
        if sample.delivered is not None:
            seen, sizes = sample.delivered
            there = np.isin(seen, flows)
            np.add.at(row, np.searchsorted(flows, seen[there]), 8.0 * sizes[there])
        seconds += sample.interval_s
        if seconds >= 1.0 - _EPSILON_S:
            rows.append(row / seconds)
            row, seconds = np.zeros(len(flows)), 0.0
    return np.array(rows) if rows else None


def _total(goodputs: NDArray[np.float64]) -> float:
    return float(goodputs.sum())


_OF_SET_FLOWS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "goodput_bit_per_s.total": _total,
    **FAIRNESS,
}
_OF_SET_OBJECTIVES: dict[str, Callable[[NDArray[np.float64]], float]] = {
    **FAIRNESS_OBJECTIVES,
    "goodput": _total,
    "delay-bound": _total,  # its delay is a constraint of a link
}
"""Objectives that are of what flows get, by their names."""
