"""Noticing that the traffic of several queues is no longer what the model says.

Each queue's traffic is watched as it would be if it were alone; what one of them notices concerns
all, because their model is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.online.decide.detection import Alarm, ConditionWatch
from vermilion.online.sense.set_picture import SetPicture

if TYPE_CHECKING:
    from vermilion.online.sense.picture import TrafficPicture


@dataclass(frozen=True, slots=True)
class SetConditionWatch:
    """Compares the traffic of several queues now with that of their model.

    A value: every picture makes the next one.

    Attributes:
        modelled: the picture that the model in use was built from.
        watches: (link, the watch of its queue).
    """

    modelled: SetPicture
    watches: tuple[tuple[str, ConditionWatch], ...]

    def after(self, now: TrafficPicture) -> tuple[SetConditionWatch, Alarm | None]:
        """The watch after the picture of one more sample, and what has changed, if it has."""
        if not isinstance(now, SetPicture):
            message = f"{type(now).__name__} is no picture of several queues"
            raise TypeError(message)
        seen = dict(now.queues)
        first: Alarm | None = None
        watches: list[tuple[str, ConditionWatch]] = []
        for link, watch in self.watches:
            following, alarm = watch.after(seen[link])
            watches.append((link, following))
            if alarm is not None and first is None:
                first = replace(
                    alarm,
                    reason=f"{link}: {alarm.reason}",
                    details={"link": link, **alarm.details},
                )
        found = [link for link in now.known_queues if link not in self.modelled.known_queues]
        if first is None and found:
            reason = f"the rate of {', '.join(found)} has become known"
            first = Alarm(now.time_s, "rate", reason, {"links": found})
        return replace(self, watches=tuple(watches)), first


def watch_of(picture: TrafficPicture, queueing_s: float) -> ConditionWatch | SetConditionWatch:
    """A watch that compares the traffic with this picture from now on.

    Args:
        picture: of one queue, or of several.
        queueing_s: the usual queueing delay.
    """
    if not isinstance(picture, SetPicture):
        return ConditionWatch(picture, queueing_s)
    watches = tuple((link, ConditionWatch(part, queueing_s)) for link, part in picture.queues)
    return SetConditionWatch(picture, watches)
