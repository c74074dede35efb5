"""Whether the queue stands below a shaper, which one kind of queue tells by its average.

A kernel's red lets its average fall while nothing waits, but only where it hears that nothing does:
below a shaper it never does, and one burst can shut it for long (``shaped`` of ``linux-red``,
net/sched/sch_red.c).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.advise.commands import needs_shaper

if TYPE_CHECKING:
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question
    from vermilion.advise.queue_setting import QueueSetting


def is_shaped(question: Question, present: Present) -> bool:
    """Whether whatever is set stands below a shaper: one that is there, or that of the commands.

    A class that was named is one of a shaper, unless tc shows that there is none.
    """
    if present.shaper == "cake":  # goes when another queue comes, and its shaper with it
        return needs_shaper(question, present)
    if question.parent is not None:
        return present.shaper is not None or not present.stated
    return present.shaper is not None or needs_shaper(question, present)


def as_it_stands(question: Question, present: Present) -> QueueSetting:
    """The queue in force, as it is simulated in its place.

    Where the line is slower than the interface, that is below the shaper that packets would have to
    wait at, or there would be no queue to judge.
    """
    queue = present.queue
    if queue.discipline != "linux-red":
        return queue
    own = {**queue.parameters, "shaped": is_shaped(question, present)}
    return replace(queue, parameters=own)
