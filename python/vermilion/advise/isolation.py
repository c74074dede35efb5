"""Whether a queue for all may take the place of a queue for each flow.

With a queue for each flow a transfer waits behind itself, and a call behind nearly nobody. With one
for all everybody waits for everybody, and a call loses as many of its packets as the transfers do.
So whoever has the first keeps it, though a queue for all may come nearer to a bound on the delay of
all packets: unless they ask for it by name, or no queue for each flow fills the line as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.harms import MARGINS
from vermilion.advise.judgement import goodput_share
from vermilion.advise.question import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question
    from vermilion.advise.queue_setting import QueueSetting

WORTH_ONE_QUEUE: Final = 1.0 - MARGINS["goodput_ratio"]
"""Of the rate: so much more has one queue for all to carry, to be preferred to a queue for each
flow. A recommendation may cost as much at most."""


def keeps_isolation(question: Question, now: QueueSetting) -> bool:
    """Whether there is a queue for each flow that nobody has asked to give up."""
    return now.keeps_apart and question.discipline == ANY


def gives_up_isolation(
    question: Question, now: Measured, others: Iterable[Measured], measured: Measured
) -> bool:
    """Whether a queue takes one for each flow away, for less than that is worth.

    Args:
        question: with the discipline that is asked for.
        now: the queue in force.
        others: that were compared with it too.
        measured: the queue.
    """
    if measured.queue.keeps_apart or not keeps_isolation(question, now.queue):
        return False
    apart = [now, *(each for each in others if each.queue.keeps_apart)]
    most = max(goodput_share(question, each) for each in apart)
    return goodput_share(question, measured) - most < WORTH_ONE_QUEUE
