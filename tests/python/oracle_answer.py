"""What a search that stands in for the real one answers: a candidate beside what is in force."""

from __future__ import annotations

from vermilion.online.plan.judgement import HeldQueue, judge
from vermilion.online.plan.task import Answer


def answer_to(task, goal, candidate, incumbent):
    """The answer that these two predictions make, by a goal that may hold a queue at a target."""
    return Answer(
        picture=task.picture,
        internal_target=goal.target if isinstance(goal, HeldQueue) else None,
        setting=candidate.setting,
        candidate=candidate,
        incumbent=incumbent,
        verdict=judge(candidate, incumbent, goal),
        candidate_noise=1.0,
        incumbent_noise=1.0,
        evaluations=1,
    )
