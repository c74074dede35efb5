"""What a search that stands in for the real one answers: a candidate beside what is in force."""

from __future__ import annotations

from vermilion.online.plan.judgement import HeldQueue, judge
from vermilion.online.plan.task import Answer


def answer_to(task, goal, candidate, incumbent, *, words="keep the queue", unit="packets^2"):
    """The answer that these two predictions make, by a goal that may hold a queue at a target."""
    return Answer(
        kind=task.kind,
        picture=task.picture,
        in_force=task.in_force,
        internal_target=goal.target if isinstance(goal, HeldQueue) else None,
        goal=words,
        unit=unit,
        setting=candidate.setting,
        candidate=candidate,
        incumbent=incumbent,
        verdict=judge(candidate, incumbent, goal),
        candidate_noise=1.0,
        incumbent_noise=1.0,
        evaluations=1,
    )
