"""What explains several queues under the joint setting in force: which senders, and how well.

As for one queue (:mod:`vermilion.online.plan.examination`), with the figures of every queue: the
evidence for a kind of senders is that of all queues together, and every queue has to be explained.
Of more figures one strays further by chance, so the limit is that of one queue for all of them
together, by Sidak's correction.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from vermilion.online.model.calibration import are_enough, log_likelihoods
from vermilion.online.model.explanation import DOUBTFUL, LIMIT, Explanation, compare
from vermilion.online.model.horizon import GUESSED_PACKETS_PER_S, Horizon, horizon_for
from vermilion.online.model.possibilities import other_traffic
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.senders import WIDER
from vermilion.online.model.set_network import build_set_model
from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S, Sample
from vermilion.online.sense.set_picture import SetPicture
from vermilion.online.sense.set_sample import SetSample
from vermilion.routers.simulated_network import SimulatedNetwork
from vermilion.simulate import run_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.model.explanation import Figure
    from vermilion.online.model.senders import SenderBelief, SenderModel
    from vermilion.online.model.set_network import SetTraffic
    from vermilion.online.plan.task import Task
    from vermilion.online.set_policy import SetPolicy
    from vermilion.scenario import Scenario

_WATCHED_S = 20.0  # of simulated observation per kind of sender
_WATCHED_SHARE = 0.5  # of the deadline that the kinds may take together
_FEWEST_WINDOWS = 2.0
_NOISE_RUNS = 3
_FIGURES_OF_ONE = 4

Watched = dict[str, list[Sample]]
"""What was seen of each queue."""


def examine_set(
    task: Task, policy: SetPolicy, traffic: SetTraffic, deadline_s: float
) -> tuple[Explanation, SenderBelief]:
    """Find out what explains the task's settled samples, and revise what is believed."""
    examination = _Examination(task, policy, traffic, deadline_s)
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


class _Examination:
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
