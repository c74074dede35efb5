"""A fabric's tables as the core reads them: numbers instead of names, integers of SI units."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from vermilion.fabric.senders import fabric_sender
from vermilion.fabric.sizes import mean_size
from vermilion.fabric.tables import FromFile, Incast, Listed, OpenLoop, Poisson
from vermilion.fabric.topologies import graph_of
from vermilion.scenario.errors import FieldError, did_you_mean, errors_under

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from vermilion.fabric.tables import FabricTable, Sender, Traffic
    from vermilion.fabric.topologies import Graph

_PAPER_INTERVAL_S = 50e-6
"""Between notifications: Zhu et al., SIGCOMM 2015."""

_CLOCK_TICK_S = 1e-6
"""Clock of TCP senders, as Linux has it. By that of other networks they would pace over 10 ms."""


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def lowered(table: FabricTable, folder: Path) -> str:
    """The fabric as JSON for the core; ``folder`` is where its files are.

    Raises:
        FieldError: a name that is not there, or a file that cannot be used.
    """
    with errors_under("topology"):
        graph = graph_of(table.topology)
    switch = table.switch
    cables = []
    for one, other, rate, delay in graph.cables:
        factor = 1.0 if switch.thresholds_at is None else rate / switch.thresholds_at
        doublings = max(1.0, rate / graph.host_rate) if switch.alpha_follows_rate else 1.0
        headroom = 3 * rate * delay / 8 if switch.headroom is None else switch.headroom
        cables.append(
            {
                "a": one,
                "b": other,
                "rate_bit_per_s": rate,
                "delay_ns": _ns(delay),
                "kmin_bytes": min(round(switch.kmin * factor), 2**32 - 1),
                "kmax_bytes": min(round(switch.kmax * factor), 2**32 - 1),
                "pmax": switch.pmax,
                "alpha": max(switch.alpha, min(1.0, switch.alpha * doublings)),
                "headroom_bytes": round(headroom) if switch.pauses else 0,
            }
        )
    senders, places = _senders(table)
    core: dict[str, Any] = {
        "hosts": len(graph.hosts),
        "switches": [
            {
                "buffer_bytes": switch.buffer,
                "reserve_bytes": switch.reserve,
                "resume_offset_bytes": switch.resume_offset,
                "pauses": switch.pauses,
            }
        ]
        * len(graph.switches),
        "cables": cables,
        "packets": table.packets.model_dump(),
        "sender": senders[0],
        "further_senders": senders[1:],
        "traffic_senders": places,
        "traffic_classes": [part.class_ for part in table.traffic],
        "class_weights": switch.weights if switch.scheduler == "drr" else (),
        "feedback": {
            "acknowledgements_first": table.receiver.acknowledgements == "first",
            "acknowledge_every": table.receiver.acknowledge_every,
            "notification_interval_ns": _notification_interval(table),
        },
        "marks_at_departure": switch.marks_at == "departure",
        "retransmission_timeout_ns": _ns(table.retransmission_timeout),
        "duration_ns": _ns(table.duration),
        "traffic": list(_traffic(table, graph, folder)),
        "watched": list(_watched(table, graph)),
        "size_classes": list(table.size_classes),
    }
    return json.dumps(core)


def _senders(table: FabricTable) -> tuple[list[dict[str, Any]], list[int]]:
    """Every sender, that of the fabric first, and the place of each part of the traffic's."""
    every = [table.sender]
    places = []
    for part in table.traffic:
        sender = _sender_of(part, table)
        if sender not in every:
            every.append(sender)
        places.append(every.index(sender))
    rows = [{"algorithm": it.congestion_control, "parameters": _parameters(it)} for it in every]
    return rows, places


def _sender_of(part: Traffic, table: FabricTable) -> Sender:
    return (None if isinstance(part, OpenLoop) else part.sender) or table.sender


def _parameters(sender: Sender) -> dict[str, Any]:
    """Its parameters; round trips are counted in microseconds, unless it says otherwise."""
    says = not sender.is_tcp or sender.parameters.keys() & {"clock_tick", "option_set"}
    return sender.parameters if says else {**sender.parameters, "clock_tick": _CLOCK_TICK_S}


def notes(table: FabricTable) -> list[str]:
    """Notes before a run: which packets are dropped where others are marked."""
    open_loop = [part for part in table.traffic if isinstance(part, OpenLoop)]
    named = {
        it.congestion_control: it
        for it in (_sender_of(part, table) for part in table.traffic if part not in open_loop)
    }.values()
    tcp = sorted(
        (
            it.congestion_control,
            bool(fabric_sender(it.congestion_control).complete(it.parameters)["ecn"]),
        )
        for it in named
        if it.is_tcp
    )
    dropped = [f"data of {name} (without ECN)" for name, ecn in tcp if not ecn]
    if not all(part.ecn for part in open_loop):
        dropped.append("open-loop packets (without ecn)")
    if tcp and table.receiver.acknowledgements == "data":
        dropped.append("acknowledgements of " + ", ".join(name for name, _ in tcp))
    if not dropped:
        return []
    return [
        "fabric.switch will drop packets that are not ECN-capable where it marks others: "
        + ", ".join(dropped)
    ]


def _notification_interval(table: FabricTable) -> int | None:
    interval = table.receiver.notification_interval
    if interval == "none":
        return None
    if interval is None:
        is_paper = table.sender.congestion_control == "dcqcn-paper"
        return _ns(_PAPER_INTERVAL_S) if is_paper else None
    return _ns(interval)


def _traffic(table: FabricTable, graph: Graph, folder: Path) -> Iterable[dict[str, Any]]:
    for number, part in enumerate(table.traffic):
        with errors_under(f"traffic.{number}"):
            yield _one_traffic(part, table, graph, folder)


def _one_traffic(part: Traffic, table: FabricTable, graph: Graph, folder: Path) -> dict[str, Any]:
    hosts = {name: place for place, name in enumerate(graph.hosts)}
    if isinstance(part, FromFile):
        rows = _rows(folder / part.file)
        return {"kind": "list", "transfers": [_transfer(row, hosts) for row in rows]}
    if isinstance(part, Listed):
        return {"kind": "list", "transfers": [_transfer(row, hosts) for row in part.transfers]}
    stop = table.duration if part.stop is None else part.stop
    if stop <= part.start:
        raise FieldError("stop", f"{stop} s", f"a time after the start, {part.start} s")
    span = {"from_ns": _ns(part.start), "until_ns": _ns(stop)}
    if isinstance(part, OpenLoop):
        return _open_loop(part, table, hosts, span)
    if isinstance(part, Poisson):
        expected = part.load * graph.host_rate / 8 / mean_size(part.sizes) * len(hosts) * stop
        if expected > 1e7:  # noqa: PLR2004 - ten million transfers
            raise FieldError("stop", f"{stop} s", "fewer than ten million transfers until then")
        return {"kind": "poisson", "sizes": part.sizes, "load": part.load, **span}
    return _incast(part, graph, hosts, span)


def _open_loop(
    part: OpenLoop, table: FabricTable, hosts: dict[str, int], span: dict[str, int]
) -> dict[str, Any]:
    source, destination = (
        None if name is None else _host(name, hosts, field)
        for field, name in (("source", part.source), ("destination", part.destination))
    )
    if source is not None and source == destination:
        raise FieldError("destination", part.destination, "another host than the source")
    full = table.packets.payload + table.packets.header
    return {
        "kind": "open_loop",
        "source": part.core(),
        "packet_size": full if part.packet_size is None else part.packet_size,
        "ecn": part.ecn,
        "from": source,
        "to": destination,
        **span,
    }


def _incast(
    part: Incast, graph: Graph, hosts: dict[str, int], span: dict[str, int]
) -> dict[str, Any]:
    interval = None if part.interval is None else part.interval * 1e9
    if part.load is not None:
        capacity = part.load * graph.host_rate * len(hosts)
        interval = part.senders * part.size * 8e9 / capacity
    receiver = None
    if part.receiver is not None:
        receiver = _host(part.receiver, hosts, "receiver")
    return {
        "kind": "incast",
        "senders": part.senders,
        "bytes": part.size,
        "interval_ns": interval,
        "receiver": receiver,
        **span,
    }


def _host(name: object, hosts: dict[str, int], field: str) -> int:
    if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(hosts):
        return name
    if isinstance(name, str) and name in hosts:
        return hosts[name]
    raise FieldError(field, name, f"a host: {did_you_mean(str(name), hosts)}")


def _transfer(
    row: tuple[str | int, str | int, int, float], hosts: dict[str, int]
) -> tuple[int, int, int, int]:
    source, destination, size, start = row
    ends = _host(source, hosts, "source"), _host(destination, hosts, "destination")
    if ends[0] == ends[1]:
        raise FieldError("destination", destination, "another host than the source")
    return (*ends, size, _ns(start))


def _rows(path: Path) -> list[tuple[str | int, str | int, int, float]]:
    accepted = "a CSV file with the columns source, destination, bytes and start_s"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            return [
                (row["source"], row["destination"], int(row["bytes"]), float(row["start_s"]))
                for row in reader
            ]
    except OSError as error:
        raise FieldError("file", f"{path} ({error.strerror})", accepted) from None
    except (KeyError, ValueError, TypeError, UnicodeDecodeError) as error:
        raise FieldError("file", f"{path} ({error})", accepted) from None


def _watched(table: FabricTable, graph: Graph) -> Iterable[dict[str, int]]:
    names = graph.names
    places = {name: place for place, name in enumerate(names)}
    ends = {
        f"{names[one]}-{names[other]}": (one, other)
        for cable in graph.cables
        for one, other in (cable[:2], cable[1::-1])
    }
    for number, watch in enumerate(table.watch):
        if watch.link not in ends:
            accepted = f"a link: {did_you_mean(watch.link, ends)}"
            raise FieldError(f"watch.{number}.link", watch.link, accepted)
        one, other = ends[watch.link]
        if one < len(graph.hosts):
            accepted = f'the queue of a switch, like "{names[other]}-{names[one]}"'
            raise FieldError(f"watch.{number}.link", watch.link, accepted)
        stop = table.duration if watch.stop is None else watch.stop
        yield {
            "from": places[names[one]],
            "to": places[names[other]],
            "from_ns": _ns(watch.start),
            "until_ns": _ns(stop),
        }
