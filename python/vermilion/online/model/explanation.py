"""Inference of the kind of senders from observations.

No router exports how its senders react to loss, and it matters: Reno stalls where NewReno
recovers, delayed acknowledgements halve the growth of every window. But the number of flows,
their round trips and the rate are known, so each kind of sender implies how high the queue
stands under the setting in force, how it moves, how many packets are dropped and how many
flows fall silent. A few seconds of settled observation are therefore compared with what a
model of each kind shows when watched through the same counters at the same intervals.

The comparison is a likelihood with normal errors. Observations of one window are far from
independent, so each comparison counts for half, and older ones fade.

Whether a model explains what is seen, before it is believed about what could be.

A model that does not reproduce the network under the setting in force has no word on other
settings. What it has to reproduce is what every router can tell: the mean queue, its deviation, the
share of packets lost or marked, and the throughput.

Each is compared between the stretch observed and windows of the same length of the model. What
differs by chance shows in the scatter between windows: that of the kind itself, or the median of
the kinds of senders simulated if that is more, because windows are few. To it comes what the model
may be wrong by itself, a floor for each figure: the number of flows and their round trips are
estimates, and a bias of the mean is another room's work (:mod:`vermilion.online.plan.correction`).
Where flows or round trips are doubted, so is what follows from them: the scatter between models of
what they may be is added. A figure further from the model than :data:`LIMIT` of all this together
is not explained.

On 192 stretches of 2 and 8 s of networks with known senders (every kind of
:data:`~vermilion.online.model.senders.SENDER_MODELS`, 8 to 64 flows, three settings of RED) the
worst of the four figures stood 0.6 standard deviations away in the median, further than 2 in 4, and
further than :data:`LIMIT` in one (8 flows of Reno whose windows are capped).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from vermilion.online.model.senders import SenderModel


FEWEST_SAMPLES = 15
"""Samples from which on a comparison makes sense, taken as often as can be: 1.5 s."""

_FEWEST_SPARSE = 5  # of a router that is asked more rarely; further apart, they tell more each
_EPSILON_S = 1e-6

_FLOORS = (0.05, 0.03, 0.10, 0.02, 0.02)  # errors of the model itself, per feature


def are_enough(samples: Sequence[Sample]) -> bool:
    """Check whether the samples suffice for a comparison with a model."""
    seconds = math.fsum(sample.interval_s for sample in samples)
    least_s = FEWEST_SAMPLES * SAMPLE_INTERVAL_S - _EPSILON_S
    return len(samples) >= _FEWEST_SPARSE and seconds >= least_s


def features(samples: Sequence[Sample], scale: float) -> NDArray[np.float64]:
    """Features that distinguish kinds of senders in a stretch of samples.

    Mean and standard deviation of the backlog and its mean movement between samples, each as
    a share of the scale; the logarithm of the signals (drops and marks) per packet; the
    share of flows that were heard in an interval, not a number where nobody listens. A model's
    flows are heard when its senders time a round trip, so that the share says nothing either where
    a monitor on the way takes the samples: how many packets it can time depends on its clock.
    """
    backlog = np.array([sample.backlog_packets for sample in samples], dtype=np.float64)
    signals = sum(sample.drops + sample.marks for sample in samples)
    packets = sum(sample.packets + sample.drops for sample in samples)
    heard = [
        math.nan
        if sample.heard_flows is None or sample.active_flows is None or not sample.timed_by_senders
        else sample.heard_flows / max(1, sample.active_flows)
        for sample in samples
    ]
    return np.array(
        [
            backlog.mean() / scale,
            backlog.std() / scale,
            # One signal more keeps the logarithm finite where there was none.
            np.log((signals + 1.0) / (packets + 1.0)),
            np.mean(heard),
            np.abs(np.diff(backlog)).mean() / scale,
        ]
    )


def windows_of(samples: Sequence[Sample], size: int) -> list[Sequence[Sample]]:
    """A stretch of samples cut into windows of a size; itself where it is shorter."""
    return [samples[first : first + size] for first in range(0, len(samples) - size + 1, size)] or [
        samples
    ]


def log_likelihoods(
    observed: Sequence[Sample],
    simulated: Mapping[SenderModel, Sequence[Sample]],
    scale: float,
) -> dict[SenderModel, float]:
    """Log likelihood of the observation under each kind, up to a common constant.

    Args:
        observed: settled samples of the network, at least :data:`FEWEST_SAMPLES`.
        simulated: settled samples of a model of each kind, several times as many.
        scale: what counts as a long queue, packets.
    """
    seen = features(observed, scale)
    known = np.isfinite(seen)
    windows = {
        kind: np.array([features(window, scale) for window in windows_of(samples, len(observed))])
        for kind, samples in simulated.items()
    }
    # Windows are few, so their scatter is pooled over the kinds.
    scatter = np.mean([each.var(axis=0) for each in windows.values()], axis=0)
    variance = scatter + np.square(_FLOORS)
    return {
        kind: float(-0.5 * np.sum((np.square(seen - each.mean(axis=0)) / variance)[known]))
        for kind, each in windows.items()
    }


LIMIT: Final = 3.0
"""Standard deviations from which on a figure is not explained by its model."""

DOUBTFUL: Final = 2.0
"""Standard deviations from which on another explanation is looked for."""

# What the model may be wrong by itself, as standard deviations.
MEAN_FLOOR: Final = 0.08
"""Of the mean queue, as a share of the scale."""
_DEVIATION_FLOOR = 0.06  # of the scale
SIGNALS_FLOOR: Final = (0.15, 0.002)
"""Of the share of packets lost or marked: of what the model has, and of all packets."""
_THROUGHPUT_FLOOR = 0.02  # of what the model has


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, as it was seen and as the model has it.

    Attributes:
        name: in words: "mean queue", "deviation", "signals", "throughput".
        unit: of both.
        seen: on the network.
        model: the mean over the model's windows of the same length.
        noise: the standard deviation between such windows, the model's own error included.
    """

    name: str
    unit: str
    seen: float
    model: float
    noise: float

    @property
    def deviations(self) -> float:
        """Distance between observation and model, in standard deviations."""
        return abs(self.seen - self.model) / self.noise

    @property
    def explained(self) -> bool:
        """True where the observation lies within the model's noise."""
        return self.deviations <= LIMIT

    def describe(self) -> str:
        """Like "mean queue 51 packets seen, 22 +- 3 in the model"."""
        seen, model, noise = (self._text(each) for each in (self.seen, self.model, self.noise))
        unit = f" {self.unit}" if self.unit[0].isalpha() else self.unit
        return f"{self.name} {seen}{unit} seen, {model} +- {noise} in the model"

    def _text(self, value: float) -> str:
        """Whole numbers, or two digits of what would be lost by that."""
        return f"{value:.0f}" if self.noise >= 1.0 else f"{value:.2g}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Fit of the best model to a stretch of settled observation.

    Attributes:
        senders: the kind of senders that explains most, in words.
        told_apart: whether it is surely that kind, and no other that explains as much.
        explained: whether every figure lies within the model's noise.
        figures: what was compared.
        predicted_mean: mean queue of the model under the setting in force, packets.
        noise: how far a second's mean strays from it in the model, packets.
    """

    senders: str
    told_apart: bool
    explained: bool
    figures: tuple[Figure, ...]
    predicted_mean: float
    noise: float

    def describe(self) -> str:
        """Describe the figures that the model does not explain, or say that it explains all."""
        if self.explained:
            return f"what is seen is explained by {self.senders}"
        missed = [figure.describe() for figure in self.figures if not figure.explained]
        return f"this network is not explained by {self.senders} ({'; '.join(missed)})"


def compare(
    observed: Sequence[Sample],
    model: Sequence[Sample],
    kinds: Iterable[Sequence[Sample]],
    scale: float,
    others: Sequence[Sequence[Sample]] = (),
) -> tuple[Figure, ...]:
    """Compare observed figures with those of a model.

    Args:
        observed: settled samples of the network.
        model: settled samples of the model that is to explain them, several times as many.
        kinds: the same of every kind of senders simulated, this one among them.
        scale: what counts as a long queue, packets.
        others: what the model shows with other traffic as likely as its own, where it is doubted.
    """
    seen = _measured(observed)
    size = len(observed)
    windows = np.array([_measured(window) for window in windows_of(model, size)])
    scatters = [
        np.var([_measured(window) for window in windows_of(kind, size)], axis=0) for kind in kinds
    ]
    # A restless kind must not excuse what another one does not explain.
    scatter = np.maximum(np.median(scatters, axis=0), windows.var(axis=0))
    mean = windows.mean(axis=0)
    share, least = SIGNALS_FLOOR
    floors = np.array(
        [
            MEAN_FLOOR * scale,
            _DEVIATION_FLOOR * scale,
            share * mean[2] + 100.0 * least,
            _THROUGHPUT_FLOOR * mean[3],
        ]
    )
    # The model's mean is itself one of few windows.
    variance = scatter * (1.0 + 1.0 / len(windows)) + np.square(floors)
    if others:
        apart = [
            np.mean([_measured(window) for window in windows_of(other, size)], axis=0) - mean
            for other in others
        ]
        variance = variance + np.sum(np.square(apart), axis=0) / (1 + len(others))
    noise = np.sqrt(variance)
    return tuple(
        Figure(name, unit, float(seen[place]), float(mean[place]), float(noise[place]))
        for place, (name, unit) in enumerate(_FIGURES)
    )


_FIGURES: Final = (
    ("mean queue", "packets"),
    ("deviation", "packets"),
    ("signals", "% of packets"),
    ("throughput", "Mbit/s"),
)


def _measured(samples: Sequence[Sample]) -> NDArray[np.float64]:
    """The figures of a stretch of samples, in their units."""
    backlog = np.array([sample.backlog_packets for sample in samples], dtype=np.float64)
    signals = sum(sample.drops + sample.marks for sample in samples)
    arrivals = sum(sample.packets + sample.drops for sample in samples)
    bits = 8.0 * sum(sample.bytes for sample in samples)
    seconds = sum(sample.interval_s for sample in samples)
    return np.array(
        [backlog.mean(), backlog.std(), 100.0 * signals / max(1, arrivals), bits / seconds / 1e6]
    )
