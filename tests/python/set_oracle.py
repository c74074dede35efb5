"""A search for tests of two CoDel queues that answers at once: 8 ms of target is right for both.

A module of its own, because the process that searches has to find it.
"""

from __future__ import annotations

from codel_oracle import RIGHT_S, packets
from vermilion.online.model.prediction import Outcome, Prediction
from vermilion.online.plan.answer import Answer
from vermilion.online.plan.judgement import judge
from vermilion.online.plan.task import Finding

__all__ = ["packets", "solve"]

_WANTED = 30.0
_SCALE = 100.0


def solve(task):
    goal = task.policy.objective

    def predicted(setting):
        means = [packets(target_s) for target_s in setting.values()]
        cost = sum((mean - _WANTED) ** 2 for mean in means) / _SCALE
        outcomes = tuple(
            Outcome(sum(means), 2.0, 1.0, 0.0, cost + shift) for shift in (-0.1, 0.0, 0.1)
        )
        return Prediction(setting, outcomes)

    candidate = predicted(dict.fromkeys(task.policy.parameters, RIGHT_S))
    incumbent = predicted({name: task.in_force[name] for name in task.policy.parameters})
    answer = Answer(
        kind=task.kind,
        picture=task.picture,
        in_force=task.in_force,
        internal_target=None,
        goal=goal.label,
        unit=goal.unit,
        setting=candidate.setting,
        candidate=candidate,
        incumbent=incumbent,
        verdict=judge(candidate, incumbent, goal),
        candidate_noise=1.0,
        incumbent_noise=1.0,
        evaluations=1,
    )
    return Finding(answer, "", None, task.correction, task.belief, None)
