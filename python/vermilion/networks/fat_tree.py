"""The fat tree: a data centre of equal switches (M. Al-Fares and others, SIGCOMM 2008)."""

from __future__ import annotations

from itertools import pairwise

from vermilion.networks.host_network import HostNetwork
from vermilion.networks.network import with_known_keywords
from vermilion.networks.parking_lot import check_count
from vermilion.scenario.errors import ScenarioError

MOST_PORTS = 16
"""A tree of such switches has 1024 hosts and 6144 links, one for each direction."""


@with_known_keywords
def fat_tree(
    ports: int = 4,
    *,
    rate: str = "1 Gbit/s",
    delay: str = "5 us",
    queue: object = "drop-tail",
    books: str = "full",
    title: str = "",
    **table: object,
) -> HostNetwork:
    """Fat tree of switches with ``ports`` ports each, and ``ports`` ** 3 / 4 hosts.

    Hosts are called ``host1``, ``host2``, ...; those of one edge switch, then those of one pod,
    stand together. A link is named after its ends: ``host1-edge1``, ``edge1-aggregation2``,
    ``aggregation2-core1``, and back. Between pods there are (ports / 2) ** 2 paths, within a pod
    ports / 2; ``choice`` picks one.

    Args:
        ports: of a switch, an even number.
        rate: of every link.
        delay: one way, of every link.
        queue: as for :meth:`Network.link`.
        books: what is measured at every link: ``full``, ``counters`` or ``none``.
        title: of the scenario.
        table: ``duration`` and the other keys of :class:`Network`.

    Raises:
        ScenarioError: a number or a value that is not accepted.
    """
    check_count("ports", ports, 2, MOST_PORTS)
    if ports % 2:
        raise ScenarioError("ports", ports, f"an even number from 2 to {MOST_PORTS}")
    half = ports // 2
    hosts = ports * half * half

    def route(source: str, target: str, choice: int) -> list[str]:
        here, there = (int(host.removeprefix("host")) - 1 for host in (source, target))
        edges = here // half, there // half
        pods = edges[0] // half, edges[1] // half
        stops = [source, f"edge{edges[0] + 1}"]
        if edges[0] != edges[1]:
            position = choice % half
            stops.append(f"aggregation{pods[0] * half + position + 1}")
            if pods[0] != pods[1]:
                core = position * half + choice // half % half
                stops.append(f"core{core + 1}")
                stops.append(f"aggregation{pods[1] * half + position + 1}")
            stops.append(f"edge{edges[1] + 1}")
        stops.append(target)
        return [f"{first}-{second}" for first, second in pairwise(stops)]

    names = [f"host{number}" for number in range(1, hosts + 1)]
    network = HostNetwork(title or f"Fat tree of {hosts} hosts", names, route, **table)
    network.add_links(_cables(ports), rate=rate, delay=delay, queue=queue, books=books)
    return network


def _cables(ports: int) -> list[str]:
    """Every link's name, those of one cable after each other."""
    half = ports // 2
    ends = []
    for edge in range(ports * half):
        ends += [(f"host{edge * half + port + 1}", f"edge{edge + 1}") for port in range(half)]
    for pod in range(ports):
        for edge in range(half):
            ends += [
                (f"edge{pod * half + edge + 1}", f"aggregation{pod * half + position + 1}")
                for position in range(half)
            ]
        for position in range(half):
            ends += [
                (f"aggregation{pod * half + position + 1}", f"core{position * half + port + 1}")
                for port in range(half)
            ]
    return [
        f"{first}-{second}" for low, high in ends for first, second in ((low, high), (high, low))
    ]
