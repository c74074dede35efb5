"""Which kind of senders explains what is seen.

No router exports how its senders react to loss, and it matters: Reno stalls where NewReno
recovers, delayed acknowledgements halve the growth of every window. But the number of flows,
their round trips and the rate are known, so each kind of sender implies how high the queue
stands under the setting in force, how it moves, how many packets are dropped and how many
flows fall silent. A few seconds of settled observation are therefore compared with what a
model of each kind shows when watched through the same counters at the same intervals.

The comparison is a likelihood with normal errors. Observations of one window are far from
independent, so each comparison counts for half, and older ones fade.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.online.model.senders import SenderModel

FEWEST_SAMPLES = 15
"""Samples from which on a comparison makes sense, taken as often as can be: 1.5 s."""

_FEWEST_SPARSE = 5  # of a router that is asked more rarely; further apart, they tell more each
_EPSILON_S = 1e-6

_FLOORS = (0.05, 0.03, 0.10, 0.02, 0.02)  # errors of the model itself, per feature


def are_enough(samples: Sequence[Sample]) -> bool:
    """Whether so many samples can be compared with a model."""
    seconds = math.fsum(sample.interval_s for sample in samples)
    least_s = FEWEST_SAMPLES * SAMPLE_INTERVAL_S - _EPSILON_S
    return len(samples) >= _FEWEST_SPARSE and seconds >= least_s


def features(samples: Sequence[Sample], scale: float) -> NDArray[np.float64]:
    """What distinguishes kinds of senders in a stretch of samples.

    Mean and standard deviation of the backlog and its mean movement between samples, each as
    a share of the scale; the logarithm of the signals (drops and marks) per packet; the
    share of flows that were heard in an interval, not a number where nobody listens. A model's
    flows are heard when its senders time a round trip, so that the share says nothing either where
    a monitor on the way takes the samples: how many packets it can time depends on its clock.
    """
    import numpy as np

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
    """How well each kind explains what was observed, up to a common constant.

    Args:
        observed: settled samples of the network, at least :data:`FEWEST_SAMPLES`.
        simulated: settled samples of a model of each kind, several times as many.
        scale: what counts as a long queue, packets.
    """
    import numpy as np

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


def watch(
    core_scenario: str,
    link: str,
    seed: int,
    from_s: float,
    to_s: float,
    interval_s: float = SAMPLE_INTERVAL_S,
) -> list[Sample]:
    """The samples a monitor would take of a model from ``from_s`` to ``to_s``.

    Args:
        core_scenario: the model, as the core reads it.
        link: that is watched.
        seed: of the model.
        from_s: when the first sample begins.
        to_s: when the last one ends.
        interval_s: between two samples: as on the network, or what happens between them is not the
            same.
    """
    from vermilion.routers.simulated import SimulatedRouter

    router = SimulatedRouter(core_scenario, link, seed)
    router.wait(from_s)
    before = router.observe().reading
    samples: list[Sample] = []
    for tick in range(1, round((to_s - from_s) / interval_s) + 1):
        router.wait(from_s + tick * interval_s)
        observation = router.observe()
        samples.append(Sample.between(before, observation))
        before = observation.reading
    return samples
