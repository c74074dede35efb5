"""Whether an applied setting does in the network what it did in the model.

After a new setting has settled, the backlog is watched for a while and its squared
deviation from the target compared twice: with what was measured before under the same
conditions (where there was time to measure), and otherwise with what the model said of the
old setting. Successive samples are strongly correlated, so the unit of statistics is the
mean of one second. A setting that is significantly and noticeably worse, or that empties
the link, is rolled back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.sense.sampler import Sample
    from vermilion.simulate.statistics import Interval

CONFIDENCE = 0.99
"""Of the intervals compared: a needless rollback costs as much as a late one."""

_BATCH_S = 1.0
_FEWEST_BATCHES = 3
_WORSE_THAN_MEASURED = 1.1
_WORSE_THAN_PREDICTED = 1.5  # a prediction has an error of its own that its seeds do not show
_UTILIZATION_LOST = 0.02


@dataclass(frozen=True, slots=True)
class Measurement:
    """A stretch of samples, summed up by seconds.

    Attributes:
        queue: mean backlog, packets.
        deviation: mean squared deviation of the backlog from the target, packets squared.
        utilization: share of the capacity used, 0 to 1.
        signal_rate: drops and marks per packet that arrived.
        seconds: how long the stretch is.
    """

    queue: Interval
    deviation: Interval
    utilization: Interval
    signal_rate: float
    seconds: float

    def details(self) -> dict[str, object]:
        """The numbers, for the journal."""
        return {
            "mean_queue_packets": self.queue.mean,
            "squared_deviation": self.deviation.mean,
            "squared_deviation_half_width": self.deviation.half_width,
            "utilization": self.utilization.mean,
            "signal_rate": self.signal_rate,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the model said before the change.

    Attributes:
        deviation_before: of the old setting under the present conditions, packets squared.
        deviation_after: of the new setting, packets squared.
        mean_after: mean queue under the new setting, packets.
    """

    deviation_before: float
    deviation_after: float
    mean_after: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verification's end.

    Attributes:
        verdict: keep the setting or take it back.
        reason: why, in words and numbers.
        measured: the stretch it is based on.
    """

    verdict: Literal["verified", "rolled-back"]
    reason: str
    measured: Measurement


def measure(samples: Sequence[Sample], target: float, rate_bit_per_s: float) -> Measurement | None:
    """Sum up a stretch of samples; ``None`` if it is shorter than three seconds."""
    from vermilion.simulate.statistics import mean_interval

    queues: list[float] = []
    deviations: list[float] = []
    utilizations: list[float] = []
    area = squares = sent = seconds = 0.0
    for sample in samples:
        area += sample.backlog_packets * sample.interval_s
        squares += (sample.backlog_packets - target) ** 2 * sample.interval_s
        sent += 8.0 * sample.bytes
        seconds += sample.interval_s
        if seconds >= _BATCH_S - 1e-6:
            queues.append(area / seconds)
            deviations.append(squares / seconds)
            utilizations.append(min(1.0, sent / (rate_bit_per_s * seconds)))
            area = squares = sent = seconds = 0.0
    if len(queues) < _FEWEST_BATCHES:
        return None
    signals = sum(sample.drops + sample.marks for sample in samples)
    arrivals = sum(sample.packets + sample.drops for sample in samples)
    return Measurement(
        queue=mean_interval(queues, CONFIDENCE),
        deviation=mean_interval(deviations, CONFIDENCE),
        utilization=mean_interval(utilizations, CONFIDENCE),
        signal_rate=signals / arrivals if arrivals > 0 else 0.0,
        seconds=sum(sample.interval_s for sample in samples),
    )


def verify(after: Measurement, before: Measurement | None, expected: Expectation) -> Outcome:
    """Judge a setting by what was measured under it.

    Args:
        after: under the new setting, settled.
        before: under the old setting in the same conditions; ``None`` where there was no time.
        expected: what the model said.
    """
    figures = (
        f"mean queue {after.queue.mean:.1f} packets (model {expected.mean_after:.1f}), squared "
        f"deviation {after.deviation.mean:.1f} (model {expected.deviation_after:.1f}"
    )
    if before is not None:
        figures += f", before {before.deviation.mean:.1f}), utilisation "
        figures += f"{after.utilization.mean:.1%} (before {before.utilization.mean:.1%})"
    else:
        figures += f", old setting by the model {expected.deviation_before:.1f}), utilisation "
        figures += f"{after.utilization.mean:.1%}"
    least = after.deviation.low
    if before is not None and least is not None:
        most_before = before.deviation.high
        if most_before is not None and least > _WORSE_THAN_MEASURED * most_before:
            return Outcome("rolled-back", f"worse than before: {figures}", after)
        used, used_before = after.utilization.high, before.utilization.low
        if used is not None and used_before is not None and used < used_before - _UTILIZATION_LOST:
            return Outcome("rolled-back", f"the link is used less: {figures}", after)
    elif least is not None and least > _WORSE_THAN_PREDICTED * expected.deviation_before:
        return Outcome("rolled-back", f"worse than the old setting would be: {figures}", after)
    return Outcome("verified", figures, after)
