"""Fabrics put together in Python, and parts of their traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vermilion.fabric.load import Fabric, fabric_from_document
from vermilion.fabric.tables import Switch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Part = dict[str, Any]


def _built(topology: Part, title: str, settings: dict[str, object]) -> Fabric:
    switch = {name: settings.pop(name) for name in list(settings) if name in Switch.model_fields}
    table: dict[str, Any] = {"topology": topology, **settings}
    if switch:
        table["switch"] = switch
    document: dict[str, Any] = {"title": title} if title else {}
    return fabric_from_document({**document, "fabric": table})


def leaf_spine(
    leaves: int = 4,
    hosts_per_leaf: int = 8,
    spines: int = 2,
    *,
    rate: str = "100 Gbit/s",
    uplink_rate: str = "400 Gbit/s",
    delay: str = "1 us",
    title: str = "",
    **settings: object,
) -> Fabric:
    """Leaves with hosts, each connected to every spine.

    Args:
        leaves: how many; they are called leaf1, leaf2, ...
        hosts_per_leaf: how many at each; host1, host2, ...
        spines: how many; spine1, spine2, ...
        rate: of a host's link.
        uplink_rate: of a link between leaf and spine.
        delay: propagation of each link.
        title: one line.
        settings: ``traffic``, ``sender``, ``duration`` and other keys of the fabric, and those of
            its switches: ``kmin``, ``kmax``, ``pmax``, ``alpha``, ``buffer``, ``pauses``, ...

    Raises:
        ScenarioError: a value that is not accepted.
    """
    topology = {
        "kind": "leaf-spine",
        "leaves": leaves,
        "hosts_per_leaf": hosts_per_leaf,
        "spines": spines,
        "rate": rate,
        "uplink_rate": uplink_rate,
        "delay": delay,
    }
    return _built(topology, title, settings)


def fat_tree(
    ports: int = 4,
    *,
    rate: str = "100 Gbit/s",
    delay: str = "1 us",
    title: str = "",
    **settings: object,
) -> Fabric:
    """Fat tree of switches with ``ports`` ports each, and ``ports`` ** 3 / 4 hosts.

    Args:
        ports: of a switch, an even number; 16 make 1024 hosts.
        rate: of each link.
        delay: propagation of each link.
        title: one line.
        settings: as for :func:`leaf_spine`.

    Raises:
        ScenarioError: a value that is not accepted.
    """
    return _built(
        {"kind": "fat-tree", "ports": ports, "rate": rate, "delay": delay}, title, settings
    )


def star(
    hosts: int = 17,
    *,
    rate: str = "100 Gbit/s",
    delay: str = "1 us",
    title: str = "",
    **settings: object,
) -> Fabric:
    """Hosts at one switch, switch1.

    Args:
        hosts: how many.
        rate: of each link.
        delay: propagation of each link.
        title: one line.
        settings: as for :func:`leaf_spine`.

    Raises:
        ScenarioError: a value that is not accepted.
    """
    return _built({"kind": "star", "hosts": hosts, "rate": rate, "delay": delay}, title, settings)


def links(
    hosts: Sequence[str],
    switches: Sequence[str],
    connections: Iterable[tuple[str, str, str, str]],
    *,
    title: str = "",
    **settings: object,
) -> Fabric:
    """Any network of hosts, each at one switch, and of switches.

    Args:
        hosts: their names.
        switches: their names.
        connections: two names, a rate and a delay each.
        title: one line.
        settings: as for :func:`leaf_spine`.

    Raises:
        ScenarioError: a value that is not accepted.
    """
    topology = {
        "kind": "links",
        "hosts": list(hosts),
        "switches": list(switches),
        "links": [list(each) for each in connections],
    }
    return _built(topology, title, settings)


def poisson(
    sizes: str | Sequence[Sequence[object]],
    load: float,
    *,
    start: str = "0 s",
    stop: str = "automatic",
    sender: object = None,
    class_: int = 0,
) -> Part:
    """Transfers at random instants from each host to any other.

    Args:
        sizes: "websearch", "hadoop", "alistorage", or points (size, part of transfers up to it).
        load: part of each host's rate that they ask for.
        start: when the first may begin.
        stop: when the last may begin (the end of the run).
        sender: its ends, if others than those of the fabric.
        class_: as switches pause it, 0 to 7.
    """
    return {"sizes": sizes, "load": load, "start": start, "stop": stop, **_of(sender, class_)}


def incast(
    senders: int,
    size: str,
    *,
    receiver: str | None = None,
    interval: str = "automatic",
    load: float | str = "automatic",
    start: str = "0 s",
    stop: str = "automatic",
    sender: object = None,
    class_: int = 0,
) -> Part:
    """Many hosts that send to one at once: once, or again and again at random instants.

    Args:
        senders: how many.
        size: from each.
        receiver: name of a host (one of all, at random).
        interval: mean time between two.
        load: part of all hosts' rate that they ask for, instead of an interval.
        start: when the first may begin.
        stop: when the last may begin (the end of the run).
        sender: its ends, if others than those of the fabric.
        class_: as switches pause it, 0 to 7.
    """
    part: Part = {"senders": senders, "size": size, "interval": interval, "load": load}
    if receiver is not None:
        part["receiver"] = receiver
    return {**part, "start": start, "stop": stop, **_of(sender, class_)}


def transfers(
    rows: Iterable[tuple[object, object, str, str]], *, sender: object = None, class_: int = 0
) -> Part:
    """Transfers as they are listed: source, destination, size and start of each.

    Args:
        rows: the transfers.
        sender: their ends, if others than those of the fabric.
        class_: as switches pause it, 0 to 7.
    """
    return {"transfers": [list(row) for row in rows], **_of(sender, class_)}


def transfers_file(path: str, *, sender: object = None, class_: int = 0) -> Part:
    """Transfers from a CSV file with the columns source, destination, bytes and start_s.

    Args:
        path: of the file.
        sender: their ends, if others than those of the fabric.
        class_: as switches pause it, 0 to 7.
    """
    return {"file": path, **_of(sender, class_)}


def open_loop(
    kind: str,
    rate: str,
    *,
    packet_size: str = "automatic",
    source: str | None = None,
    destination: str | None = None,
    on: object = None,
    off: object = None,
    ecn: bool = False,
    start: str = "0 s",
    stop: str = "automatic",
    class_: int = 0,
) -> Part:
    """Packets that are sent whatever the network does, and not acknowledged (UDP).

    Args:
        kind: "constant-rate", "poisson", or "on-off" with ``on`` and ``off``.
        rate: of each source, while it is on.
        packet_size: bytes on the wire (those of a full packet).
        source: name of a host (every host).
        destination: name of a host (for each source another one at random).
        on: length of an on time, a time or a distribution.
        off: length of an off time.
        ecn: whether packets are marked; otherwise they are dropped where others are marked.
        start: when it begins.
        stop: when it ends (the end of the run).
        class_: as switches pause it, 0 to 7.
    """
    part: Part = {"kind": kind, "rate": rate, "packet_size": packet_size, "ecn": ecn}
    named = {"source": source, "destination": destination, "on": on, "off": off}
    part |= {name: value for name, value in named.items() if value is not None}
    return {**part, "start": start, "stop": stop, **_of(None, class_)}


def _of(sender: object, class_: int) -> Part:
    part: Part = {} if sender is None else {"sender": sender}
    return part if class_ == 0 else {**part, "class": class_}
