"""What explains the setting in force: which senders, and how well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.model.calibration import FEWEST_SAMPLES, log_likelihoods, watch
from vermilion.online.model.explanation import Explanation
from vermilion.online.model.horizon import GUESSED_PACKETS_PER_S, Horizon, horizon_for
from vermilion.online.model.network import build_model
from vermilion.online.model.prediction import queue_noise
from vermilion.simulate import run_many

if TYPE_CHECKING:
    from vermilion.online.model.senders import SenderBelief, SenderModel
    from vermilion.online.model.traffic import Traffic
    from vermilion.online.plan.task import Task
    from vermilion.scenario import Scenario

_CALIBRATION_S = 20.0  # of simulated observation per kind of sender
_CALIBRATION_SHARE = 0.5  # of the deadline that the kinds of senders may take together
_NOISE_RUNS = 3


def examine(task: Task, traffic: Traffic, deadline_s: float) -> tuple[Explanation, SenderBelief]:
    """Find out what explains the task's settled samples, and revise what is believed."""
    policy, belief = task.policy, task.belief
    scale = policy.scale_packets(traffic.packets_per_s)
    horizon = horizon_for(traffic, deadline_s, task.packets_per_s)

    def model(kind: SenderModel, horizon: Horizon) -> Scenario:
        return build_model(task.configuration, task.in_force, traffic, kind, policy, horizon)

    kinds = belief.plausible
    speed = task.packets_per_s or GUESSED_PACKETS_PER_S
    affordable_s = _CALIBRATION_SHARE * deadline_s * speed / (len(kinds) * traffic.packets_per_s)
    watched_s = min(_CALIBRATION_S, affordable_s - horizon.warm_up_s)
    if len(task.settled) >= FEWEST_SAMPLES and watched_s >= 2.0 * len(task.settled) * 0.1:
        simulated = {
            kind: watch(
                model(kind, Horizon(horizon.warm_up_s, watched_s)).core_json(),
                policy.link,
                task.first_seed,
                horizon.warm_up_s,
                horizon.warm_up_s + watched_s,
            )
            for kind in kinds
        }
        belief = belief.learned(log_likelihoods(task.settled, simulated, scale))
    best = model(belief.best, horizon)
    seeds = range(task.first_seed + 1, task.first_seed + 1 + task.comparisons)
    [results] = run_many([best], seeds)
    means = [
        result.link(policy.link).total["queue_packets"]["mean"] for result in results if result
    ]
    return Explanation(
        senders=f"{belief.best.in_words()} senders",
        explained=True,
        figures=(),
        predicted_mean=sum(means) / len(means),
        noise=queue_noise(best, policy.link, seeds[:_NOISE_RUNS]),
    ), belief
