"""Test of which senders explain the observations under the setting in force, and how well.

Of several queues the figures of every queue count: the evidence for a kind of senders is that of
all together, and every queue has to be explained. Of more figures one strays further by chance, so
the limit is that of one queue for all of them together, by Sidak's correction.

The model of a first answer has been compared with nothing yet. While it was searched, the network
went on under the setting in force, of which the model has a prediction too. Where the two are apart
by more than chance and the model's usual errors, the prediction of another setting is worth nothing
(:func:`misfits`). Two figures can be told from a second or so: the mean queue, and the
share of packets lost or marked, which strays between the model's runs, and over a shorter time by
the root of the ratio more.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean, median, pvariance
from typing import TYPE_CHECKING, Final

from vermilion.online.model.explanation import (
    DOUBTFUL,
    LIMIT,
    MEAN_FLOOR,
    SIGNALS_FLOOR,
    Explanation,
    Figure,
    are_enough,
    compare,
    log_likelihoods,
)
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.senders import WIDER
from vermilion.online.model.traffic import GUESSED_PACKETS_PER_S, Horizon, horizon_for
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, Sample, mean_and_seconds
from vermilion.routers.simulated import SimulatedNetwork, SimulatedRouter
from vermilion.simulate import run_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.model.senders import SenderBelief, SenderModel
    from vermilion.online.plan.problem import Problem
    from vermilion.online.plan.task import Answer
    from vermilion.routers.base import ManagedQueue, Observation
    from vermilion.scenario import Scenario


FEWEST_COMPARED: Final = 3
"""Samples without which nothing is compared."""


def before_silence(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Without the last samples in which packets waited and none left.

    An outage is one only when it has lasted for a while. What begins as one tells nothing of
    senders, though everything that arrives may be dropped in it.
    """
    end = len(samples)
    while end and samples[end - 1].packets == 0 and samples[end - 1].backlog_packets > 0:
        end -= 1
    return samples[:end]


def misfits(
    answer: Answer, seen: Sequence[Sample], scale: float, bias: float
) -> tuple[Figure, ...]:
    """Figures under the setting in force that the answer's model does not explain.

    Args:
        answer: whose model is compared.
        seen: settled samples under the setting that was in force when the search began.
        scale: what counts as a long queue, packets.
        bias: how much higher the network is known to stand than its model, packets.
    """
    if len(seen) < FEWEST_COMPARED:
        return ()
    mean, seconds = mean_and_seconds(seen)
    signals = sum(sample.drops + sample.marks for sample in seen)
    arrivals = sum(sample.packets + sample.drops for sample in seen)
    rates = [outcome.signal_rate for outcome in answer.incumbent.outcomes]
    share, least = SIGNALS_FLOOR
    by_chance = pvariance(rates) * answer.starved_over_s / seconds
    figures = (
        Figure(
            "mean queue",
            "packets",
            mean,
            answer.incumbent.mean.mean + bias,
            math.hypot(answer.incumbent_noise / math.sqrt(seconds), MEAN_FLOOR * scale),
        ),
        Figure(
            "signals",
            "% of packets",
            100.0 * signals / max(1, arrivals),
            100.0 * fmean(rates),
            100.0 * math.hypot(math.sqrt(by_chance), share * fmean(rates) + least),
        ),
    )
    return tuple(figure for figure in figures if not figure.explained)


_WATCHED_S = 20.0  # of simulated observation per kind of sender
_OBSERVED_S = 9.0  # of the observation that is compared: of more there are too few windows
_WATCHED_SHARE = 0.5  # of the deadline that the kinds of senders may take together
_FEWEST_WINDOWS = 2.0  # as long as what was observed, in each model's observation
_NOISE_RUNS = 3
_FEWEST_PACKETS = 5.0  # below which a length is a matter of single packets

Watched = dict[str, "Sequence[Sample]"]
"""Samples of each queue."""


def examine(problem: Problem, deadline_s: float) -> tuple[Explanation, SenderBelief]:
    """Find out what explains the task's settled samples, and revise what is believed.

    First the kinds of senders that are believed in are compared with what was seen. Where the best
    of them explains it badly or not at all, more kinds are considered.
    """
    task = problem.task
    examination = _Examination(problem, deadline_s)
    belief, figures = examination.explained_by(task.belief)
    if any(figure.deviations > examination.limit(DOUBTFUL) for figure in figures):
        marked = problem.traffic.ecn_share > 0.0
        further = {
            kind: odds
            for kind, odds in WIDER.items()
            if kind not in belief.priors
            and kind.may_be(marked=marked, selective=task.belief.selective)
            and examination.scaling.suits(kind)
        }
        belief, figures = examination.explained_by(task.belief.widened(further))
    best = examination.model(belief.best, examination.horizon)
    links, share = problem.links, examination.scaling.share
    seeds = range(task.first_seed + 1, task.first_seed + 1 + task.comparisons)
    [results] = run_many([best], seeds)
    means = [
        math.fsum(result.link(link).total["queue_packets"]["mean"] for link in links)
        for result in results
        if result is not None
    ]
    limit = examination.limit(LIMIT)
    return Explanation(
        senders=belief.best.describe(),
        # A smaller model strays from the whole one by as much as kinds differ.
        told_apart=belief.tells_apart and not examination.scaling.is_smaller,
        explained=all(figure.deviations <= limit for figure in figures),
        figures=figures,
        predicted_mean=sum(means) / len(means) / share,
        noise=queue_noise(best, links, seeds[:_NOISE_RUNS], task.reading_interval_s) / share,
    ), belief


class _Examination:
    """Models of several kinds of senders, each watched once."""

    def __init__(self, problem: Problem, deadline_s: float) -> None:
        task = problem.task
        self._problem, self._task = problem, task
        self.scaling = problem.scaling([task.belief.best])
        self._traffics = [problem.traffic, *problem.others()]
        # More would leave no time to watch any kind of senders but the likeliest for twice as long.
        self._observed = {link: _latest(each) for link, each in problem.settled().items()}
        whole = problem.traffic
        small = self.scaling.traffic(whole)
        speed = task.packets_per_s or GUESSED_PACKETS_PER_S
        self._affordable_s = _WATCHED_SHARE * deadline_s * speed / small.packets_per_s
        # To the millisecond: what is asked every tenth of a second comes a little early or late.
        self._interval_s = round(median(sample.interval_s for sample in task.settled), 3)
        self._watched: dict[tuple[SenderModel, int], Watched] = {}
        self.horizon = horizon_for(
            small, deadline_s, task.packets_per_s, self.scaling.epoch_s(whole)
        )

    def limit(self, deviations: float) -> float:
        """Standard deviations for the figures of all queues, as these are for one queue's."""
        if len(self._observed) == 1:
            return deviations
        from scipy.stats import norm

        once = 2.0 * norm.sf(deviations)
        return float(norm.isf((1.0 - (1.0 - once) ** (1.0 / len(self._observed))) / 2.0))

    def model(self, kind: SenderModel, horizon: Horizon, traffic: int = 0) -> Scenario:
        """The network with such senders, under the setting in force."""
        return self._problem.build(
            self.scaling, self._task.in_force, self._traffics[traffic], kind, horizon
        )

    def explained_by(self, belief: SenderBelief) -> tuple[SenderBelief, tuple[Figure, ...]]:
        """The belief after a look at its plausible kinds, and how well the best explains."""
        observed = self._observed
        if not all(are_enough(samples) for samples in observed.values()):
            return belief, ()
        # Kinds whose windows do not shrink would take longer than anybody waits.
        kinds = [kind for kind in belief.plausible if self.scaling.suits(kind)]
        first = next(iter(observed.values()))
        least_s = _FEWEST_WINDOWS * sum(sample.interval_s for sample in first)
        watched_s = min(_WATCHED_S, self._affordable_s / len(kinds) - self.horizon.warm_up_s)
        if watched_s < least_s:  # the best alone, whatever it takes
            watched_s, kinds = least_s, [belief.best]
        simulated = {kind: self._watch(kind, watched_s) for kind in kinds}
        scales = {link: self._scale(link) for link in observed}
        if len(kinds) > 1:
            belief = belief.learned(self._likelihoods(simulated, scales))
        others = [
            self._watch(belief.best, watched_s, number) for number in range(1, len(self._traffics))
        ]
        figures = [
            figure if len(observed) == 1 else replace(figure, name=f"{link}: {figure.name}")
            for link, samples in observed.items()
            for figure in compare(
                samples,
                simulated[belief.best][link],
                [each[link] for each in simulated.values()],
                scales[link],
                [each[link] for each in others],
            )
        ]
        return belief, tuple(figures)

    def _likelihoods(
        self, simulated: Mapping[SenderModel, Watched], scales: Mapping[str, float]
    ) -> dict[SenderModel, float]:
        """Log likelihood of each kind: the mean over queues, because they share flows."""
        rows = [
            log_likelihoods(
                samples, {kind: seen[link] for kind, seen in simulated.items()}, scales[link]
            )
            for link, samples in self._observed.items()
        ]
        return {kind: math.fsum(row[kind] for row in rows) / len(rows) for kind in simulated}

    def _scale(self, link: str) -> float:
        """The length of a long queue, packets: the goal's, or what is seen where it has none."""
        wanted = self._problem.scale_packets(link)
        if self._task.policy.target_packets is not None:
            return wanted
        seen = fmean(sample.backlog_packets for sample in self._observed[link])
        return min(wanted, max(seen, _FEWEST_PACKETS))

    def _watch(self, kind: SenderModel, seconds: float, traffic: int = 0) -> Watched:
        asked = (kind, traffic)
        if asked not in self._watched:
            begin_s = self.horizon.warm_up_s
            model = self.model(kind, Horizon(begin_s, seconds), traffic)
            seen = watch(
                model,
                self._problem.links,
                self._task.first_seed,
                begin_s,
                begin_s + seconds,
                self._interval_s,
            )
            self._watched[asked] = {
                link: self.scaling.samples(samples) for link, samples in seen.items()
            }
        return self._watched[asked]


def _latest(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The last of some samples, as long as a comparison needs."""
    from_s = samples[-1].time_s - _OBSERVED_S if samples else 0.0
    return [each for each in samples if each.time_s > from_s]


def watch(
    model: Scenario,
    links: Sequence[str],
    seed: int,
    from_s: float,
    to_s: float,
    interval_s: float = SAMPLE_INTERVAL_S,
) -> dict[str, list[Sample]]:
    """The samples that monitors would take of a model's queues.

    Args:
        model: of the network.
        links: whose queues are watched.
        seed: of the model.
        from_s: when the first sample begins.
        to_s: when the last one ends.
        interval_s: between two samples: as on the network, or what happens between them is not the
            same.
    """
    router: ManagedQueue
    if len(links) == 1:
        router = SimulatedRouter(model.core_json(), links[0], seed)
    else:
        router = SimulatedNetwork(model.core(), links, seed)

    def observe(until_s: float) -> Mapping[str, Observation]:
        router.wait(until_s)
        seen = router.observe()
        return seen.queues or {links[0]: seen}

    before = {link: each.reading for link, each in observe(from_s).items()}
    samples: dict[str, list[Sample]] = {link: [] for link in links}
    for tick in range(1, round((to_s - from_s) / interval_s) + 1):
        for link, seen in observe(from_s + tick * interval_s).items():
            samples[link].append(Sample.between(before[link], seen))
            before[link] = seen.reading
    return samples
