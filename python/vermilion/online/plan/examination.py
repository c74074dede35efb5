"""Whether the model of a first answer shows what is seen under the setting in force.

A first answer is for conditions of which nothing has been compared with a model yet: how the
senders behave is only believed. But while it was searched, the network went on under the setting in
force, and the model has a word on that one too. Where the two are apart by more than chance and the
model's usual errors, its word on another setting is worth nothing.

Two figures can be told from a second or so. The mean queue strays by what a second's mean does in
the model. The share of packets lost or marked strays between the model's runs, and over a shorter
time by the root of the ratio more.

What explains the setting in force: which senders, and how well.

What explains several queues under the joint setting in force: which senders, and how well.

As for one queue (:mod:`vermilion.online.plan.examination`), with the figures of every queue: the
evidence for a kind of senders is that of all queues together, and every queue has to be explained.
Of more figures one strays further by chance, so the limit is that of one queue for all of them
together, by Sidak's correction.
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
    watch,
)
from vermilion.online.model.network import build_model, build_set_model
from vermilion.online.model.possibilities import other_traffic
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.scaling import scaling_for
from vermilion.online.model.senders import WIDER
from vermilion.online.model.traffic import GUESSED_PACKETS_PER_S, Horizon, horizon_for
from vermilion.online.sense.picture import SetPicture
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, Sample, SetSample, mean_and_seconds
from vermilion.routers.simulated_network import SimulatedNetwork
from vermilion.simulate import run_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.model.network import SetTraffic
    from vermilion.online.model.senders import SenderBelief, SenderModel
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.plan.task import Answer, Task
    from vermilion.online.policy import SetPolicy
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
    """What was seen under the setting in force and is not as the answer's model has it.

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


_CALIBRATION_S = 20.0  # of simulated observation per kind of sender
_CALIBRATION_SHARE = 0.5  # of the deadline that the kinds of senders may take together
_FEWEST_WINDOWS = 2.0  # as long as what was observed, in each model's observation
_NOISE_RUNS = 3
_FEWEST_PACKETS = 5.0  # below which a length is a matter of single packets


def examine(task: Task, traffic: Traffic, deadline_s: float) -> tuple[Explanation, SenderBelief]:
    """Find out what explains the task's settled samples, and revise what is believed.

    First the kinds of senders that are believed in are compared with what was seen. Where the best
    of them explains it badly or not at all, more kinds are thought of.
    """
    examination = _Examination(task, traffic, deadline_s)
    belief, figures = examination.explained_by(task.belief)
    if any(figure.deviations > DOUBTFUL for figure in figures):
        further = {
            kind: odds
            for kind, odds in WIDER.items()
            if kind not in belief.priors
            and kind.may_be(marked=traffic.ecn_share > 0.0, selective=task.belief.selective)
            and examination.scaling.suits(kind)
        }
        belief, figures = examination.explained_by(task.belief.widened(further))
    best = examination.model(belief.best, examination.horizon)
    link, share = task.policy.link, examination.scaling.share
    seeds = range(task.first_seed + 1, task.first_seed + 1 + task.comparisons)
    [results] = run_many([best], seeds)
    means = [result.link(link).total["queue_packets"]["mean"] for result in results if result]
    return Explanation(
        senders=belief.best.in_words(),
        # A smaller model strays from the whole one by as much as kinds differ.
        told_apart=belief.tells_apart and not examination.scaling.is_smaller,
        explained=all(figure.explained for figure in figures),
        figures=figures,
        predicted_mean=sum(means) / len(means) / share,
        noise=queue_noise(best, link, seeds[:_NOISE_RUNS], task.reading_interval_s) / share,
    ), belief


class _Examination:
    """Models of several kinds of senders, each watched once."""

    def __init__(self, task: Task, traffic: Traffic, deadline_s: float) -> None:
        self._task = task
        wanted = task.policy.scale_packets(traffic.packets_per_s)
        self._scale = wanted
        if task.policy.target_packets is None:
            # A goal without a length says nothing of what is long: what is seen does.
            seen = fmean(sample.backlog_packets for sample in task.settled)
            self._scale = min(wanted, max(seen, _FEWEST_PACKETS))
        self.scaling = scaling_for(
            traffic, task.configuration.discipline, wanted, [task.belief.best]
        )
        self._traffic = self.scaling.traffic(traffic)
        self._others = [self.scaling.traffic(each) for each in other_traffic(traffic, task.picture)]
        speed = task.packets_per_s or GUESSED_PACKETS_PER_S
        self._affordable_s = _CALIBRATION_SHARE * deadline_s * speed / self._traffic.packets_per_s
        # To the millisecond: what is asked every tenth of a second comes a little early or late.
        self._interval_s = round(median(sample.interval_s for sample in task.settled), 3)
        self._watched: dict[tuple[SenderModel, Traffic | None], Sequence[Sample]] = {}
        self.horizon = horizon_for(
            self._traffic, deadline_s, task.packets_per_s, self.scaling.epoch_s(traffic)
        )

    def model(
        self, kind: SenderModel, horizon: Horizon, traffic: Traffic | None = None
    ) -> Scenario:
        """What the network would be with such senders, under the setting in force."""
        task = self._task
        in_force = {name: self.scaling.into(name, value) for name, value in task.in_force.items()}
        return build_model(
            task.configuration,
            in_force,
            traffic or self._traffic,
            self.scaling.senders(kind),
            task.policy,
            horizon,
        )

    def explained_by(self, belief: SenderBelief) -> tuple[SenderBelief, tuple[Figure, ...]]:
        """The belief after a look at its plausible kinds, and how well the best explains."""
        observed = self._task.settled
        if not are_enough(observed):
            return belief, ()
        # Kinds whose windows do not shrink would take longer than anybody waits.
        kinds = [kind for kind in belief.plausible if self.scaling.suits(kind)]
        least_s = _FEWEST_WINDOWS * sum(sample.interval_s for sample in observed)
        watched_s = min(_CALIBRATION_S, self._affordable_s / len(kinds) - self.horizon.warm_up_s)
        if watched_s < least_s:  # the best alone, whatever it takes
            watched_s, kinds = least_s, [belief.best]
        simulated = {kind: self._watch(kind, watched_s) for kind in kinds}
        if len(kinds) > 1:
            belief = belief.learned(log_likelihoods(observed, simulated, self._scale))
        others = [self._watch(belief.best, watched_s, each) for each in self._others]
        figures = compare(observed, simulated[belief.best], simulated.values(), self._scale, others)
        return belief, figures

    def _watch(
        self, kind: SenderModel, seconds: float, traffic: Traffic | None = None
    ) -> Sequence[Sample]:
        asked = (kind, traffic)
        if asked not in self._watched:
            begin_s = self.horizon.warm_up_s
            self._watched[asked] = self.scaling.samples(
                watch(
                    self.model(kind, Horizon(begin_s, seconds), traffic).core_json(),
                    self._task.policy.link,
                    self._task.first_seed,
                    begin_s,
                    begin_s + seconds,
                    self._interval_s,
                )
            )
        return self._watched[asked]


_WATCHED_S = 20.0  # of simulated observation per kind of sender
_WATCHED_SHARE = 0.5  # of the deadline that the kinds may take together
_FIGURES_OF_ONE = 4

Watched = dict[str, list[Sample]]
"""What was seen of each queue."""


def examine_set(
    task: Task, policy: SetPolicy, traffic: SetTraffic, deadline_s: float
) -> tuple[Explanation, SenderBelief]:
    """Find out what explains the task's settled samples, and revise what is believed."""
    examination = _SetExamination(task, policy, traffic, deadline_s)
    belief, figures = examination.explained_by(task.belief)
    if any(figure.deviations > examination.further(DOUBTFUL) for figure in figures):
        further = {
            kind: odds
            for kind, odds in WIDER.items()
            if kind not in belief.priors
            and kind.may_be(marked=traffic.whole.ecn_share > 0.0, selective=task.belief.selective)
        }
        belief, figures = examination.explained_by(task.belief.widened(further))
    links = tuple(traffic.queues)
    best = examination.model(belief.best, examination.horizon)
    seeds = range(task.first_seed + 1, task.first_seed + 1 + task.comparisons)
    [results] = run_many([best], seeds)
    means = [
        math.fsum(result.link(link).total["queue_packets"]["mean"] for link in links)
        for result in results
        if result is not None
    ]
    limit = examination.further(LIMIT)
    return Explanation(
        senders=belief.best.in_words(),
        told_apart=belief.tells_apart,
        explained=all(figure.deviations <= limit for figure in figures),
        figures=figures,
        predicted_mean=sum(means) / len(means),
        noise=queue_noise(best, links, seeds[:_NOISE_RUNS], task.reading_interval_s),
    ), belief


class _SetExamination:
    """Models of several kinds of senders, each watched once at all queues."""

    def __init__(
        self, task: Task, policy: SetPolicy, traffic: SetTraffic, deadline_s: float
    ) -> None:
        self._task, self._policy, self._traffic = task, policy, traffic
        picture = task.picture
        if not isinstance(picture, SetPicture):
            message = f"{type(picture).__name__} is no picture of several queues"
            raise TypeError(message)
        self._others = [traffic.like(each) for each in other_traffic(traffic.whole, picture)]
        places = [place for place, (link, _) in enumerate(picture.queues) if link in traffic.queues]
        self._observed = {
            picture.queues[place][0]: [
                sample.queues[place] for sample in task.settled if isinstance(sample, SetSample)
            ]
            for place in places
        }
        # As often as the network was asked, to the millisecond: it is asked a little early or late.
        self._interval_s = round(median(sample.interval_s for sample in task.settled), 3)
        speed = task.packets_per_s or GUESSED_PACKETS_PER_S
        self._affordable_s = _WATCHED_SHARE * deadline_s * speed / traffic.whole.packets_per_s
        self._watched: dict[tuple[SenderModel, int], Watched] = {}
        self.horizon = horizon_for(traffic.whole, deadline_s, task.packets_per_s)

    def further(self, deviations: float) -> float:
        """As many standard deviations for the figures of all queues as these for one queue's."""
        from scipy.stats import norm

        figures = len(self._observed)  # times as many
        once = 2.0 * norm.sf(deviations)
        return float(norm.isf((1.0 - (1.0 - once) ** (1.0 / figures)) / 2.0))

    def model(self, kind: SenderModel, horizon: Horizon, other: int = 0) -> Scenario:
        """What the network would be with such senders, under the setting in force."""
        task = self._task
        traffic = [self._traffic, *self._others][other]
        configurations = task.configuration.queues
        return build_set_model(configurations, task.in_force, traffic, kind, self._policy, horizon)

    def explained_by(self, belief: SenderBelief) -> tuple[SenderBelief, tuple[Figure, ...]]:
        """The belief after a look at its plausible kinds, and how well the best explains."""
        observed = self._observed
        if not all(are_enough(samples) for samples in observed.values()):
            return belief, ()
        kinds = belief.plausible
        least_s = _FEWEST_WINDOWS * sum(s.interval_s for s in next(iter(observed.values())))
        watched_s = min(_WATCHED_S, self._affordable_s / len(kinds) - self.horizon.warm_up_s)
        if watched_s < least_s:  # the best alone, whatever it takes
            watched_s, kinds = least_s, [belief.best]
        simulated = {kind: self._watch(kind, watched_s) for kind in kinds}
        scales = {link: self._scale(link) for link in observed}
        if len(kinds) > 1:
            belief = belief.learned(self._likelihoods(simulated, scales))
        others = [
            self._watch(belief.best, watched_s, number + 1) for number in range(len(self._others))
        ]
        figures = [
            replace(figure, name=f"{link}: {figure.name}")
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
        """How well each kind explains all queues; the mean, because one flow is seen by several."""
        rows = [
            log_likelihoods(
                samples, {kind: seen[link] for kind, seen in simulated.items()}, scales[link]
            )
            for link, samples in self._observed.items()
        ]
        return {kind: math.fsum(row[kind] for row in rows) / len(rows) for kind in simulated}

    def _scale(self, link: str) -> float:
        """What counts as a long queue: what was seen, or what a usual delay makes of it."""
        usual = self._policy.of_queue(link).scale_packets(self._traffic.queues[link].packets_per_s)
        seen = [sample.backlog_packets for sample in self._observed[link]]
        return min(usual, max(sum(seen) / len(seen), 5.0))

    def _watch(self, kind: SenderModel, seconds: float, other: int = 0) -> Watched:
        asked = (kind, other)
        if asked not in self._watched:
            begin_s = self.horizon.warm_up_s
            model = self.model(kind, Horizon(begin_s, seconds), other)
            links = list(self._traffic.queues)
            seed = self._task.first_seed
            self._watched[asked] = watch_set(model, links, seed, begin_s, seconds, self._interval_s)
        return self._watched[asked]


def watch_set(
    model: Scenario,
    links: Sequence[str],
    seed: int,
    from_s: float,
    seconds: float,
    interval_s: float = SAMPLE_INTERVAL_S,
) -> Watched:
    """The samples that monitors would take of a model's queues, from a moment on.

    Args:
        model: of the network.
        links: whose queues are watched.
        seed: of the model.
        from_s: when the first sample begins.
        seconds: from then to the end of the last.
        interval_s: between two samples: as on the network, or what happens between them is not the
            same.
    """
    network = SimulatedNetwork(model.core(), links, seed)
    network.wait(from_s)
    before = {link: each.reading for link, each in network.observe().queues.items()}
    samples: Watched = {link: [] for link in links}
    for tick in range(1, round(seconds / interval_s) + 1):
        network.wait(from_s + tick * interval_s)
        for link, seen in network.observe().queues.items():
            samples[link].append(Sample.between(before[link], seen))
            before[link] = seen.reading
    return samples
