"""A search for tests that answers at once: RED's queue stands well with whichever is not in force.

So a controller that asks it changes the queue again and again. A module of its own, because the
process that searches has to find it.
"""

from __future__ import annotations

from oracle_answer import answer_to
from vermilion.online.model.prediction import Outcome, Prediction
from vermilion.online.plan.judgement import HeldQueue
from vermilion.online.plan.task import Finding

SHORT = {"min_threshold": 6_000, "max_threshold": 18_000, "max_probability": 0.1, "weight_log": 4}
LONG = {"min_threshold": 12_000, "max_threshold": 36_000, "max_probability": 0.05, "weight_log": 6}
"""They differ in every parameter: what is half of each shows."""

WANTED_PACKETS = 15.0
OTHERWISE_PACKETS = 60.0


def solve(task):
    goal = HeldQueue(task.configuration.link, task.correction.internal_target)

    def predicted(setting, packets):
        means = [packets + shift for shift in (-0.1, 0.0, 0.1)]
        outcomes = tuple(Outcome(mean, 2.0, 1.0, 0.0, goal.cost(mean, 2.0)) for mean in means)
        return Prediction(setting, outcomes)

    own = {name: task.in_force[name] for name in SHORT}
    other = LONG if own["min_threshold"] == SHORT["min_threshold"] else SHORT
    candidate = predicted(other, WANTED_PACKETS)
    incumbent = predicted(own, OTHERWISE_PACKETS)
    answer = answer_to(task, goal, candidate, incumbent)
    return Finding(answer, "", None, task.correction, task.belief, None)
