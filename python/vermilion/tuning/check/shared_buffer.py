"""One coordinate for the limits of all drop-tail queues of a tuning: how long a full one lasts.

Several queues get buffers that take equally long to send, as an operator sizes them ("20 ms"),
so that the simplest thing stays simple: it has one number, whatever the network. Of a single
queue that number is its limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.search import Dimension, Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.search import Point

LEAST_PACKETS: Final = 2
"""The shortest queue that is tried: one packet waiting is less than a sender's first burst."""


class SharedBuffer(Space):
    """The box of a buffer's length in time, searched by its logarithm.

    Args:
        packet_s: seconds that one packet takes on each link, by the path of the queue's limit.
        longest_s: the upper end, seconds. Where it is less than the lower end, which is
            :data:`LEAST_PACKETS` on the fastest link, it is raised above that.

    Attributes:
        names: the paths of the limits.
    """

    def __init__(self, packet_s: Mapping[str, float], longest_s: float) -> None:
        shortest = LEAST_PACKETS * min(packet_s.values())
        longest = max(longest_s, 2.0 * shortest)
        super().__init__([Dimension("buffer", shortest, longest, log=True)])
        self._packet_s = dict(packet_s)
        self.names = tuple(packet_s)

    def values(self, point: Point) -> dict[str, float]:
        """The limits in whole packets, by path."""
        [coordinate] = point
        seconds = self.dimensions[0].value(coordinate)
        return {
            path: float(max(round(seconds / packet), LEAST_PACKETS))
            for path, packet in self._packet_s.items()
        }

    def point(self, values: Mapping[str, float]) -> Point:
        """The point of the first limit, which the others follow."""
        path, packet = next(iter(self._packet_s.items()))
        return (self.dimensions[0].coordinate(values[path] * packet),)
