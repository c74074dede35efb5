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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue

FEWEST_SAMPLES = 15
"""Samples from which on a comparison makes sense: 1.5 s."""

_FLOORS = (0.05, 0.03, 0.10, 0.02, 0.02)  # errors of the model itself, per feature
_TEMPER = 0.5
_FADE = 0.8
_HOPELESS = 15.0  # log odds behind the best from which on a kind is no longer simulated


@dataclass(frozen=True, slots=True)
class SenderModel:
    """How senders are assumed to behave.

    Attributes:
        congestion_control: name of a sender.
        parameters: its parameters in their tables' units, where not the defaults.
        option_set: whose defaults those are; ``None`` for the standards'.
    """

    congestion_control: str
    parameters: tuple[tuple[str, ParameterValue], ...] = ()
    option_set: str | None = None

    def in_words(self) -> str:
        """A name for logs: "newreno (window_cap 20)"."""
        given = [name if value is True else f"{name} {value}" for name, value in self.parameters]
        if self.option_set is not None:
            given.insert(0, f"as in {self.option_set}")
        return (
            f"{self.congestion_control} ({', '.join(given)})"
            if given
            else (self.congestion_control)
        )


SENDER_MODELS: dict[SenderModel, float] = {
    SenderModel("cubic", option_set="linux"): 0.0,
    SenderModel("newreno"): -0.5,
    SenderModel("reno"): -1.5,
    SenderModel("newreno", (("delayed_acknowledgements", True),)): -2.0,
    SenderModel("reno", (("delayed_acknowledgements", True),)): -3.5,
    SenderModel("newreno", (("window_cap", 20),)): -4.0,
    SenderModel("reno", (("window_cap", 20),)): -5.0,
    SenderModel("newreno", (("minimum_timeout", 1.0),)): -4.0,
}
"""The kinds that are told apart, with the log odds each has before there is evidence. A kind
that behaves like a likelier one in present conditions (a window cap no window reaches) must
not win by chance, for it will behave differently in others. Whether senders understand marks
is no question of kind: it is seen (:mod:`vermilion.online.model.network`)."""


def features(samples: Sequence[Sample], target: float) -> NDArray[np.float64]:
    """What distinguishes kinds of senders in a stretch of samples.

    Mean and standard deviation of the backlog and its mean movement between samples, each as
    a share of the target; the logarithm of the signals (drops and marks) per packet; the
    share of flows that were heard in an interval.
    """
    import numpy as np

    backlog = np.array([sample.backlog_packets for sample in samples], dtype=np.float64)
    signals = sum(sample.drops + sample.marks for sample in samples)
    packets = sum(sample.packets + sample.drops for sample in samples)
    heard = np.mean([sample.heard_flows / max(1, sample.active_flows) for sample in samples])
    return np.array(
        [
            backlog.mean() / target,
            backlog.std() / target,
            # One signal more keeps the logarithm finite where there was none.
            np.log((signals + 1.0) / (packets + 1.0)),
            heard,
            np.abs(np.diff(backlog)).mean() / target,
        ]
    )


def log_likelihoods(
    observed: Sequence[Sample],
    simulated: Mapping[SenderModel, Sequence[Sample]],
    target: float,
) -> dict[SenderModel, float]:
    """How well each kind explains what was observed, up to a common constant.

    Args:
        observed: settled samples of the network, at least :data:`FEWEST_SAMPLES`.
        simulated: settled samples of a model of each kind, several times as many.
        target: the operator's target, packets.
    """
    import numpy as np

    seen = features(observed, target)
    size = len(observed)
    windows = {
        kind: np.array(
            [
                features(samples[first : first + size], target)
                for first in range(0, max(1, len(samples) - size + 1), size)
            ]
        )
        for kind, samples in simulated.items()
    }
    # Windows are few, so their scatter is pooled over the kinds.
    scatter = np.mean([each.var(axis=0) for each in windows.values()], axis=0)
    variance = scatter + np.square(_FLOORS)
    return {
        kind: float(-0.5 * np.sum(np.square(seen - each.mean(axis=0)) / variance))
        for kind, each in windows.items()
    }


@dataclass(slots=True)
class SenderBelief:
    """What is believed of the senders, from all comparisons so far."""

    priors: Mapping[SenderModel, float] = field(default_factory=lambda: SENDER_MODELS)
    _evidence: dict[SenderModel, float] = field(default_factory=dict)

    @property
    def best(self) -> SenderModel:
        """The kind that explains most."""
        return max(self.priors, key=self._score)

    @property
    def plausible(self) -> list[SenderModel]:
        """The kinds still worth a simulation."""
        enough = self._score(self.best) - _HOPELESS
        return [kind for kind in self.priors if self._score(kind) > enough]

    def learn(self, likelihoods: Mapping[SenderModel, float]) -> None:
        """Take in one comparison; kinds left out of it explain it as badly as the worst."""
        best, worst = max(likelihoods.values()), min(likelihoods.values())
        for kind in self.priors:
            before = self._evidence.get(kind, 0.0)
            self._evidence[kind] = _FADE * before + _TEMPER * (likelihoods.get(kind, worst) - best)

    def _score(self, kind: SenderModel) -> float:
        return self.priors[kind] + self._evidence.get(kind, 0.0)


def watch(core_scenario: str, link: str, seed: int, from_s: float, to_s: float) -> list[Sample]:
    """The samples a monitor would take of a model from ``from_s`` to ``to_s``."""
    from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, Sampler
    from vermilion.routers.simulated import SimulatedRouter

    router = SimulatedRouter(core_scenario, link, seed)
    sampler = Sampler(router)
    samples: list[Sample] = []
    for tick in range(round((to_s - from_s) / SAMPLE_INTERVAL_S) + 1):
        router.wait(from_s + tick * SAMPLE_INTERVAL_S)
        taken = sampler.take()
        if taken is not None:
            samples.append(taken[0])
    return samples
