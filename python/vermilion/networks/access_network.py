"""The access network: homes with slow and unequal links behind one that they share."""

from __future__ import annotations

from vermilion.networks.host_network import HostNetwork
from vermilion.networks.keywords import with_known_keywords
from vermilion.networks.parking_lot import check_count


@with_known_keywords
def access_network(
    homes: int = 16,
    *,
    down: str = "100 Mbit/s",
    up: str = "20 Mbit/s",
    shared: str = "1 Gbit/s",
    delay: str = "4 ms",
    backhaul_delay: str = "6 ms",
    queue: object = "drop-tail",
    shared_queue: object | None = None,
    title: str = "",
    **table: object,
) -> HostNetwork:
    """Homes ``home1``, ``home2``, ... and a ``server`` beyond the link that they share.

    The links are ``down-N`` and ``up-N`` of each home, ``shared-down`` and ``shared-up``.

    Args:
        homes: how many.
        down: rate to a home.
        up: rate from a home.
        shared: rate of the shared link, each way.
        delay: of a home's links, one way.
        backhaul_delay: of the shared link, one way.
        queue: of the homes' links, as for :meth:`Network.link`.
        shared_queue: of the shared link; without one, that of the homes.
        title: of the scenario.
        table: ``duration`` and the other keys of :class:`Network`.

    Raises:
        ScenarioError: a number or a value that is not accepted.
    """
    check_count("homes", homes, 1)

    def route(source: str, target: str, _choice: int) -> list[str]:
        path = []
        if source != "server":
            path.append(f"up-{source.removeprefix('home')}")
        if "server" in {source, target}:
            path.append("shared-down" if source == "server" else "shared-up")
        if target != "server":
            path.append(f"down-{target.removeprefix('home')}")
        return path

    names = ["server", *(f"home{number}" for number in range(1, homes + 1))]
    network = HostNetwork(title or f"Access network of {homes} homes", names, route, **table)
    common = queue if shared_queue is None else shared_queue
    network.add_links(["shared-down", "shared-up"], rate=shared, delay=backhaul_delay, queue=common)
    numbers = range(1, homes + 1)
    network.add_links([f"down-{number}" for number in numbers], rate=down, delay=delay, queue=queue)
    network.add_links([f"up-{number}" for number in numbers], rate=up, delay=delay, queue=queue)
    return network
