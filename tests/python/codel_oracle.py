"""A search for tests that answers at once: CoDel's queue stands at 30 packets with 8 ms of target.

A module of its own, because the process that searches has to find it.
"""

from __future__ import annotations

from oracle_answer import answer_to
from vermilion.online.model.prediction import Outcome, Prediction
from vermilion.online.plan.judgement import HeldQueue
from vermilion.online.plan.task import Finding

RIGHT_S = 0.008
WANTED_PACKETS = 30.0
OTHERWISE_PACKETS = 60.0


def packets(target_s):
    """How long the queue is: the plant of the tests and the model of it agree."""
    return WANTED_PACKETS if abs(target_s - RIGHT_S) < 1e-5 else OTHERWISE_PACKETS


def solve(task):
    goal = HeldQueue(task.configuration.link, task.correction.internal_target)

    def predicted(target_s):
        means = [packets(target_s) + shift for shift in (-0.1, 0.0, 0.1)]
        outcomes = tuple(Outcome(mean, 2.0, 1.0, 0.0, goal.cost(mean, 2.0)) for mean in means)
        return Prediction({"target": target_s}, outcomes)

    candidate, incumbent = predicted(RIGHT_S), predicted(task.in_force["target"])
    answer = answer_to(task, goal, candidate, incumbent)
    return Finding(answer, "", None, task.correction, task.belief, None)
