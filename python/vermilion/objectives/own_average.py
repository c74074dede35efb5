"""The guard of what the tuned discipline computes for itself.

RED's average is a queue behind a filter whose weight is one of the parameters that are tuned. So a
search wins by making the average stand still, whatever the queue does: docs/tuning-goals.md. Where
an objective or a constraint is of such an average, the queue itself may not swing more than now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vermilion.objectives.metrics import MetricPath

STEADY_QUEUE: Final = "links.{link}.queue_packets.sd <= 1 of reference"
"""With ``{link}`` for the link."""

_OWN: Final = "average_queue_packets"


def guards_of(path: MetricPath) -> tuple[str, ...]:
    """The constraints without which a metric could be gamed; of most there is none."""
    own = path.room == "links" and path.metric.partition(".")[0] == _OWN
    return (STEADY_QUEUE.format(link=path.name),) if own else ()
