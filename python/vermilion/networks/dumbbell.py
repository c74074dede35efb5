"""The dumbbell: two directions of one bottleneck."""

from __future__ import annotations

from vermilion.networks.keywords import with_known_keywords
from vermilion.networks.network import Network


@with_known_keywords
def dumbbell(
    *,
    rate: str = "10 Mbit/s",
    delay: str = "10 ms",
    queue: object = "drop-tail",
    title: str = "Dumbbell",
    **table: object,
) -> Network:
    """A bottleneck in both directions: the links ``bottleneck`` and ``back``, and no flows yet.

    Args:
        rate: of both links.
        delay: one way.
        queue: as for :meth:`Network.link`, of both.
        title: of the scenario.
        table: ``duration`` and the other keys of :class:`Network`.
    """
    network = Network(title, **table)
    for name in ("bottleneck", "back"):
        network.link(name, rate=rate, delay=delay, queue=queue)
    return network
