"""The star: hosts around one switch."""

from __future__ import annotations

from vermilion.networks.host_network import HostNetwork
from vermilion.networks.keywords import with_known_keywords
from vermilion.networks.parking_lot import check_count


@with_known_keywords
def star(
    hosts: int = 8,
    *,
    rate: str = "1 Gbit/s",
    delay: str = "10 us",
    queue: object = "drop-tail",
    title: str = "",
    **table: object,
) -> HostNetwork:
    """Hosts ``host1``, ``host2``, ... at one switch, each with the links ``up-N`` and ``down-N``.

    Args:
        hosts: how many.
        rate: of every link.
        delay: one way, of every link.
        queue: as for :meth:`Network.link`: of the switch's ports, which are the links down, and of
            the hosts' own.
        title: of the scenario.
        table: ``duration`` and the other keys of :class:`Network`.

    Raises:
        ScenarioError: a number or a value that is not accepted.
    """
    check_count("hosts", hosts, 2)
    names = [f"host{number}" for number in range(1, hosts + 1)]

    def route(source: str, target: str, _choice: int) -> list[str]:
        return [f"up-{source.removeprefix('host')}", f"down-{target.removeprefix('host')}"]

    network = HostNetwork(title or f"Star of {hosts} hosts", names, route, **table)
    for number in range(1, hosts + 1):
        network.link(f"up-{number}", rate=rate, delay=delay, queue=queue)
        network.link(f"down-{number}", rate=rate, delay=delay, queue=queue)
    return network
