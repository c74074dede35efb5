"""Networks of hosts whose own links have rates: a star and an access network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from vermilion.networks.network import Network, with_known_keywords
from vermilion.networks.parking_lot import check_count
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.scenario.quantities import TIME, exact_text, parse_quantity

Route = Callable[[str, str, int], list[str]]
"""From the sending host, the receiving host and a choice among paths to the links crossed."""


class HostNetwork(Network):
    """A network whose builder knows the way from each host to each other.

    Attributes:
        hosts: their names.
    """

    def __init__(self, title: str, hosts: Sequence[str], route: Route, **table: object) -> None:
        """A network without links; the builder adds them.

        Args:
            title: of the scenario.
            hosts: their names.
            route: the way from one to another.
            table: as for :class:`Network`.
        """
        super().__init__(title, **table)
        self.hosts = tuple(hosts)
        self._route = route

    def path(self, source: str, target: str, choice: int = 0) -> list[str]:
        """The links from one host to another, in order.

        Args:
            source: the sending host.
            target: the receiving host, another one.
            choice: where there are several paths of equal length, which: any number from 0 on, as
                a router's hash would give it.

        Raises:
            ScenarioError: no such host, or twice the same.
        """
        for field, host in (("source", source), ("target", target)):
            if host not in self.hosts:
                raise ScenarioError(field, host, did_you_mean(host, self.hosts), self.title)
        if source == target:
            raise ScenarioError("target", target, "another host than the source", self.title)
        return self._route(source, target, choice)

    def connect(
        self, name: str, source: str, target: str, *, choice: int = 0, **table: object
    ) -> Self:
        """Add a group of flows from one host to another, with the return path of acknowledgements.

        Args:
            name: of the group.
            source: the sending host.
            target: the receiving host.
            choice: among several paths; the way back is that of the same choice.
            table: the other keys of ``[flows.NAME]``; without ``rtt`` it is the propagation delay
                of the links both ways.

        Raises:
            ScenarioError: what :meth:`path` or :meth:`Network.flows` refuses.
        """
        path = self.path(source, target, choice)
        back = self.path(target, source, choice)
        if "rtt" not in table:
            links = self._document.get("links", {})
            # In whole nanoseconds, as the core adds them.
            delays = (parse_quantity(links[link]["delay"], TIME) for link in (*path, *back))
            whole = sum(round(delay * 1e9) for delay in delays)
            table["rtt"] = exact_text(whole / 1e9, TIME)
        return self.flows(name, path=path, return_path=back, **table)


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
