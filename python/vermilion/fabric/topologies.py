"""Nodes and links of the named networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.fabric.tables import FatTree, LeafSpine, Links, Star
from vermilion.scenario.errors import FieldError, did_you_mean

if TYPE_CHECKING:
    from vermilion.fabric.tables import Topology


@dataclass(frozen=True, slots=True)
class Graph:
    """A network by its names.

    Attributes:
        hosts: their names; a host's number is its place.
        switches: likewise, after the hosts.
        cables: numbers of two nodes, rate in bit/s and propagation in seconds.
    """

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    cables: tuple[tuple[int, int, float, float], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all nodes."""
        return self.hosts + self.switches

    @property
    def host_rate(self) -> float:
        """Rate of the hosts' links."""
        return next(
            rate for one, other, rate, _ in self.cables if min(one, other) < len(self.hosts)
        )


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{number}" for number in range(1, count + 1))


def graph_of(topology: Topology) -> Graph:
    """The network that a table describes.

    Raises:
        FieldError: a link to a node that there is not.
    """
    if isinstance(topology, LeafSpine):
        return _leaf_spine(topology)
    if isinstance(topology, FatTree):
        return _fat_tree(topology)
    if isinstance(topology, Star):
        hosts = topology.hosts
        cables = tuple((host, hosts, topology.rate, topology.delay) for host in range(hosts))
        return Graph(_numbered("host", hosts), ("switch1",), cables)
    return _links(topology)


def _leaf_spine(topology: LeafSpine) -> Graph:
    each, leaves = topology.hosts_per_leaf, topology.leaves
    hosts = each * leaves
    cables = [(host, hosts + host // each, topology.rate, topology.delay) for host in range(hosts)]
    cables += [
        (hosts + leaf, hosts + leaves + spine, topology.uplink_rate, topology.delay)
        for leaf in range(leaves)
        for spine in range(topology.spines)
    ]
    switches = _numbered("leaf", leaves) + _numbered("spine", topology.spines)
    return Graph(_numbered("host", hosts), switches, tuple(cables))


def _fat_tree(topology: FatTree) -> Graph:
    ports, half = topology.ports, topology.ports // 2
    hosts, each = ports * half * half, ports * half
    edge, aggregation, core = hosts, hosts + each, hosts + 2 * each
    ends = [(host, edge + host // half) for host in range(hosts)]
    for number in range(each):
        pod = number // half * half
        ends += [(edge + number, aggregation + pod + other) for other in range(half)]
        ends += [
            (aggregation + number, core + number % half * half + other) for other in range(half)
        ]
    cables = tuple((one, other, topology.rate, topology.delay) for one, other in ends)
    switches = _numbered("edge", each) + _numbered("aggregation", each)
    return Graph(_numbered("host", hosts), switches + _numbered("core", half * half), cables)


def _links(topology: Links) -> Graph:
    names = topology.hosts + topology.switches
    places = {name: place for place, name in enumerate(names)}
    if len(places) != len(names):
        raise FieldError("switches", list(topology.switches), "names that no host has")
    cables = []
    for number, (one, other, rate, delay) in enumerate(topology.links):
        for name in (one, other):
            if name not in places:
                raise FieldError(f"links.{number}", name, f"a node: {did_you_mean(name, names)}")
        cables.append((places[one], places[other], rate, delay))
    return Graph(topology.hosts, topology.switches, tuple(cables))
