"""A search for tests of two CoDel queues that answers at once: 8 ms of target is right for both.

A module of its own, because the process that searches has to find it.
"""

from __future__ import annotations

from codel_oracle import RIGHT_S, packets
from oracle_answer import answer_to
from vermilion.online.model.prediction import Outcome, Prediction
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
    answer = answer_to(task, goal, candidate, incumbent)
    return Finding(answer, "", None, task.correction, task.belief, None)
