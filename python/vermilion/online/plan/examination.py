"""What explains the setting in force: which senders, and how well."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

from vermilion.online.model.calibration import are_enough, log_likelihoods, watch
from vermilion.online.model.explanation import DOUBTFUL, Explanation, compare
from vermilion.online.model.horizon import GUESSED_PACKETS_PER_S, Horizon, horizon_for
from vermilion.online.model.network import build_model
from vermilion.online.model.possibilities import other_traffic
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.scaling import scaling_for
from vermilion.online.model.senders import WIDER
from vermilion.simulate import run_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.model.explanation import Figure
    from vermilion.online.model.senders import SenderBelief, SenderModel
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.plan.task import Task
    from vermilion.online.sense.sampler import Sample
    from vermilion.scenario import Scenario

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
