"""What a stretch of samples of several queues says of a metric.

Of links each queue's own counters tell, as for one queue. What flows get is known where monitors
see packets: the bytes that left the last queue of each flow's path
(:mod:`vermilion.online.sense.fairness`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vermilion.online.sense.fairness import FAIRNESS, FAIRNESS_OBJECTIVES, jackknifed
from vermilion.online.sense.stretch import (
    CONFIDENCE,
    FEWEST_BATCHES,
    Stretch,
    batches_of,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.objectives import Constraint, Objective
    from vermilion.online.sense.set_sample import SetSample
    from vermilion.simulate.statistics import Interval

_EPSILON_S = 1e-6


@dataclass(frozen=True, slots=True)
class SetStretch(Stretch):
    """Some seconds of several queues under one joint setting.

    Attributes:
        queues: what each queue's counters say, by its link; those whose rate is known.
    """

    queues: Mapping[str, Stretch] = field(default_factory=dict)

    @classmethod
    def of_set(
        cls,
        samples: Sequence[SetSample],
        rates: Mapping[str, float | None],
        numbers: Sequence[NDArray[np.int64]],
    ) -> SetStretch | None:
        """The stretch of some samples; ``None`` where it is too short, or no rate is known.

        Args:
            samples: oldest first.
            rates: of each link, in the order of the samples' queues.
            numbers: of the flows that are there now.
        """
        known = [rate for rate in rates.values() if rate]
        if not known:
            return None
        batches = batches_of(samples, sum(known))
        if len(batches) < FEWEST_BATCHES:
            return None
        queues: dict[str, Stretch] = {}
        for place, (link, rate) in enumerate(rates.items()):
            stretch = Stretch.of([each.queues[place] for each in samples], rate)
            if stretch is not None:
                queues[link] = stretch
        return cls(tuple(batches), _goodputs(samples, numbers), queues)

    @property
    def rate_bit_per_s(self) -> float | None:
        """Flows of several links may get more than one of them carries."""
        return None

    def bounded(self, constraint: Constraint) -> Interval | None:
        """The metric that a constraint is about; ``None`` where nobody can tell."""
        path = constraint.path
        if path.room == "links":
            part = self.queues.get(path.name)
            return None if part is None else part.bounded(constraint)
        of = _OF_FLOWS.get(path.metric)
        return None if of is None else self._of_flows(of)

    def objective(self, objective: Objective) -> Interval | None:
        """The objective's own number; ``None`` where nobody can tell."""
        from vermilion.objectives.interface import LinkObjective
        from vermilion.objectives.weighted_sum import WeightedSum

        of_flows = _OF_OBJECTIVES.get(objective.name)
        if of_flows is not None:
            return self._of_flows(of_flows)
        match objective:
            case LinkObjective(link=link):
                part = self.queues.get(link)
                return None if part is None else part.objective(objective)
            case WeightedSum():
                return self._sum(objective)
            case _:
                return None

    def _sum(self, objective: Objective) -> Interval | None:
        """A sum of links' objectives, batch by batch; ``None`` where one has no scale of its own.

        The scale of a part that states none is what the setting in force reaches in the model; on
        the network there is no such number.
        """
        from vermilion.objectives.interface import LinkObjective
        from vermilion.objectives.weighted_sum import WeightedSum
        from vermilion.simulate.statistics import mean_interval

        if not isinstance(objective, WeightedSum):
            return None
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
        fewest = min(len(row) for row in rows)
        totals = [sum(values) for values in zip(*(row[:fewest] for row in rows), strict=True)]
        return mean_interval(totals, CONFIDENCE)

    def _of_flows(self, of: Callable[[NDArray[np.float64]], float]) -> Interval | None:
        """A number of the flows' goodputs over the whole stretch, with its jackknife interval."""
        return jackknifed(self.goodput, of, FEWEST_BATCHES, CONFIDENCE)


def _goodputs(
    samples: Sequence[SetSample], numbers: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64] | None:
    """bit/s of each flow in each whole batch; ``None`` where nobody has looked at packets."""
    import numpy as np

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


_OF_FLOWS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "goodput_bit_per_s.total": _total,
    **FAIRNESS,
}
_OF_OBJECTIVES: dict[str, Callable[[NDArray[np.float64]], float]] = {
    **FAIRNESS_OBJECTIVES,
    "goodput": _total,
    "delay-bound": _total,  # its delay is a constraint of a link
}
"""Objectives that are of what flows get, by their names."""
