"""A network between hosts: links go one way, and a route says which of them a flow crosses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from vermilion.networks.network import Network
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
        """Adds a group of flows from one host to another and their acknowledgements' way back.

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
