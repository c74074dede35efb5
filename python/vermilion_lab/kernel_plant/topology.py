"""The network of a guest: namespaces, wires and queues, in the words of ``ip`` and ``tc``.

One namespace has all senders (``near``), one all receivers (``far``), and each link of the
scenario is a router: ``r0``, ``r1``, ... with a queue on its interface ``out``, below htb, which
has the link's rate. Data goes ``near`` -> router -> ``far``, and from there, if its path has more
links, into the next router; a rule on the interface of arrival comes before the receivers' own
addresses. Acknowledgements that cross no link go back over a wire of their own with the round
trip's delay (netem), through the routers of the path in reverse, past their queues: so a monitor
at a router sees both directions.

No address is asked for (ARP): requests would pass the queues, and where one is lost a host is gone.
Both ends of a wire have the same link address instead. Segments are not merged (the agent switches
offloading off), or a queue would see packets of 64 kB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Final

from vermilion_lab.kernel_plant.acceptance import LARGEST_PACKET_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion_lab.kernel_plant.hosts import Host

NEAR: Final = "near"
FAR: Final = "far"
OUT: Final = "out"
IN: Final = "in"
MANAGEMENT: Final = "management"
"""A namespace of its own beside all routers, and the interface that each has towards it."""

SHAPED_CLASS: Final = "1:10"
QUEUE_HANDLE: Final = "10:"
_LINK_ADDRESS: Final = "02:00:00:00:00:01"
_SENDERS: Final = "10.1.0.0/16"
_RECEIVERS: Final = "10.2.0.0/16"
_LOCAL_RULE: Final = 1000
_TRANSIT_RULE: Final = 100
_FIRST_TABLE: Final = 100
_PACKETS_ON_THE_WAY: Final = 1_000_000
_BURST_S: Final = 4e-6
"""How far behind htb may make up for. Its timer is late, by 256 ns for each time that anybody has
read a clock since. What it may not make up for is lost to the link, and with round trips that are
a whole number of transmissions a microsecond decides who comes first. With two packets' worth a
link that was idle sent three at once."""


def router(link: int) -> str:
    """The namespace of a link's router."""
    return f"r{link}"


def management_address(link: int) -> str:
    """Address of a link's router on the management network."""
    return f"192.168.{link}.2"


@dataclass
class SetUpLines:
    """Set-up of a network, in order: namespaces, then for each its ``ip`` and ``tc`` lines.

    Attributes:
        namespaces: their names.
        wires: lines of ``ip`` outside of any namespace.
        ip: lines of ``ip -batch`` by namespace.
        tc: lines of ``tc -batch`` by namespace.
    """

    namespaces: list[str]
    wires: list[str] = field(default_factory=list)
    ip: dict[str, list[str]] = field(default_factory=dict)
    tc: dict[str, list[str]] = field(default_factory=dict)


def rate_command(rate_bit_per_s: float, verb: str) -> str:
    """A line of ``tc`` that gives a router's interface a rate."""
    burst = ceil(rate_bit_per_s * _BURST_S / 8)
    return (
        f"class {verb} dev {OUT} parent 1: classid {SHAPED_CLASS} htb"
        f" rate {round(rate_bit_per_s)}bit burst {burst} cburst {burst}"
        f" quantum {LARGEST_PACKET_BYTES}"
    )


def delay_command(host: Host, delay_ns: int, verb: str) -> str:
    """A line of ``tc`` that gives the way back of a host a delay."""
    # Units of tc are whole microseconds at best where a number has a fraction of them.
    return (
        f"qdisc {verb} dev {_return_device(host)} root netem delay {delay_ns / 1e3:.3f}us"
        f" limit {_PACKETS_ON_THE_WAY}"
    )


def commands(
    rates_bit_per_s: Sequence[float],
    queues: Sequence[str],
    hosts: Sequence[Host],
    *,
    managed: bool = False,
) -> SetUpLines:
    """Return the commands that set the network up.

    Args:
        rates_bit_per_s: of each link.
        queues: of each link, in the words of ``tc``.
        hosts: all pairs of addresses.
        managed: whether there is a management network.
    """
    names = [NEAR, FAR, *(router(link) for link in range(len(queues)))]
    names += [MANAGEMENT] * managed
    made = SetUpLines(names, ip={name: ["link set lo up"] for name in names})
    made.tc = {name: [] for name in names}
    for link, (rate, queue) in enumerate(zip(rates_bit_per_s, queues, strict=True)):
        _router(made, link, rate, queue)
        if managed:
            _management_wire(made, link)
    wires = _wires(hosts)
    for (one, device), (other, peer) in wires:
        _wire(made, one, device, other, peer)
    made.ip[NEAR] += [f"route add local {_SENDERS} dev lo"]
    made.ip[FAR] += [f"rule add pref {_LOCAL_RULE} lookup local", "rule del pref 0"]
    made.ip[FAR] += [f"route add local {_RECEIVERS} dev lo"]
    rates = dict(enumerate(rates_bit_per_s))
    for host in hosts:
        _routes(made, host)
        made.tc[FAR].append(delay_command(host, host.delay_ns(rates), "add"))
    return made


def _router(made: SetUpLines, link: int, rate: float, queue: str) -> None:
    name = router(link)
    _wire(made, name, OUT, FAR, f"from{link}")
    made.ip[name].append(f"route add {_RECEIVERS} dev {OUT}")
    made.ip[FAR].append(
        f"rule add pref {_TRANSIT_RULE} iif from{link} lookup {_FIRST_TABLE + link}"
    )
    made.tc[name] += [
        f"qdisc add dev {OUT} root handle 1: htb default 10",
        rate_command(rate, "add"),
        f"qdisc add dev {OUT} parent {SHAPED_CLASS} handle {QUEUE_HANDLE} {queue}",
    ]


def _management_wire(made: SetUpLines, link: int) -> None:
    device = f"to{link}"
    _wire(made, MANAGEMENT, device, router(link), MANAGEMENT)
    made.ip[MANAGEMENT].append(f"addr add 192.168.{link}.1/30 dev {device}")
    made.ip[router(link)].append(f"addr add {management_address(link)}/30 dev {MANAGEMENT}")


Wire = tuple[tuple[str, str], tuple[str, str]]


def _wires(hosts: Sequence[Host]) -> list[Wire]:
    """Every wire but those from the routers' queues: its two ends as namespace and interface."""
    found: dict[Wire, None] = {}
    for host in hosts:
        first, last = host.path[0], host.path[-1]
        found[(NEAR, f"to{first}"), (router(first), NEAR)] = None
        found[(FAR, _return_device(host)), (router(last), _return_device(host))] = None
        for link in (*host.path[1:], *host.return_path):
            found[(FAR, f"to{link}"), (router(link), IN)] = None
        for one, following in zip(host.path, host.path[1:], strict=False):
            found[(router(following), f"back{one}"), (router(one), f"from{following}")] = None
    return list(found)


def _wire(made: SetUpLines, one: str, device: str, other: str, peer: str) -> None:
    made.wires.append(
        f"link add {device} netns {one} address {_LINK_ADDRESS} type veth"
        f" peer name {peer} netns {other} address {_LINK_ADDRESS}"
    )
    made.ip[one].append(f"link set {device} arp off up")
    made.ip[other].append(f"link set {peer} arp off up")


def _routes(made: SetUpLines, host: Host) -> None:
    wanted = " features ecn" if host.ecn else ""
    if host.initial_window is not None:
        wanted += f" initcwnd {host.initial_window}"
    made.ip[NEAR].append(f"route add {host.sink} dev to{host.path[0]} src {host.source}{wanted}")
    for link, following in zip(host.path, host.path[1:], strict=False):
        table = _FIRST_TABLE + link
        made.ip[FAR].append(f"route add {host.sink} dev to{following} table {table}")
        made.ip[router(following)].append(f"route add {host.source} dev back{link}")
    made.ip[router(host.path[0])].append(f"route add {host.source} dev {NEAR}")
    at_once = " quickack 1" if host.acknowledges_at_once else ""
    ways = [*host.return_path, None]
    made.ip[FAR].append(f"route add {host.source} {_output_device(host, ways[0])}{at_once}")
    for link, next_link in zip(host.return_path, ways[1:], strict=True):
        table = _FIRST_TABLE + link
        made.ip[FAR].append(
            f"route add {host.source} {_output_device(host, next_link)} table {table}"
        )
        made.ip[router(link)].append(f"route replace {host.source} dev {OUT}")


def _output_device(host: Host, link: int | None) -> str:
    return f"dev {_return_device(host)}" if link is None else f"dev to{link}"


def _return_device(host: Host) -> str:
    """The interface over which a host's acknowledgements go back."""
    return f"b{host.number}"
