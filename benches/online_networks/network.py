"""What a network of the benchmark is, and the few pieces of which all are made.

Each network is one link under control, `bottleneck`, whose queue is to stand at a target; the rest
is what the traffic and the world do to it. The controller sees nothing of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.scenario import scenario_from_document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.routers.base import Knowledge
    from vermilion.scenario import Scenario

LINK = "bottleneck"
QUEUE = f"links.{LINK}.queue"
RED_KNOBS = ("min_threshold", "max_threshold", "max_probability", "weight")
USUAL_WAIT_S = 0.024
"""Where a queue is wanted unless a network says otherwise: 30 packets at 10 Mbit/s."""


@dataclass(frozen=True)
class Network:
    """One network of the benchmark.

    Attributes:
        name: short, for tables and patterns.
        kind: the family that it belongs to.
        about: what happens, in a line.
        document: the scenario, as a TOML file would have it.
        knowledge: what this network's monitor tells.
    """

    name: str
    kind: str
    about: str
    document: Mapping[str, Any]
    knowledge: Knowledge = "full"

    def scenario(self, changes: Sequence[Mapping[str, Any]] = ()) -> Scenario:
        """The scenario, with further changes if any are given."""
        document = dict(self.document)
        if changes:
            document["changes"] = [*document.get("changes", ()), *changes]
        return scenario_from_document(document, self.name)

    @property
    def congestion_controls(self) -> set[str]:
        """The senders that this network really has."""
        senders = [group.get("sender") for group in self.document["flows"].values()]
        return {
            each if isinstance(each, str) else each["congestion_control"]
            for each in senders
            if each is not None
        }


def bulk(
    count: int,
    rtt: Any = "28 ms",  # noqa: ANN401 - whatever the scenario language takes
    *,
    sender: Any = "newreno",  # noqa: ANN401 - a name or a table
    start: str = "0 s .. 1 s",
    **more: Any,  # noqa: ANN401 - likewise
) -> dict[str, Any]:
    """Flows that always have something to send."""
    return {
        "count": count,
        "path": [LINK],
        "rtt": rtt,
        "sender": sender,
        "packet_size": "1000 bytes",
        "start": start,
        **more,
    }


def jump(before: int, more: int) -> dict[str, Any]:
    """Flows that others join at 25 s."""
    return {"early": bulk(before), "late": bulk(more, start="25 s .. 26 s")}


def web(arrivals_per_s: float, mean_kb: float = 30.0, start: str = "0 s") -> dict[str, Any]:
    """Short transfers that arrive whatever becomes of earlier ones."""
    sources = 5
    return bulk(
        sources,
        "20 ms .. 80 ms",
        start=start,
        traffic={
            "kind": "web",
            "mean_gap": f"{1e3 * sources / arrivals_per_s:g} ms",
            "size": {"distribution": "pareto", "mean": f"{mean_kb:g} kB", "shape": 1.5},
        },
    )


def unresponsive(count: int, mbit_each: float, size: int = 1000, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - further keys of a group, as the scenario language has them
    """Open-loop traffic that does not care about losses."""
    return {
        "count": count,
        "path": [LINK],
        "packet_size": f"{size} bytes",
        "start": "0 s .. 1 s",
        "traffic": {"kind": "poisson", "rate": f"{mbit_each:g} Mbit/s"},
        **more,
    }


def red(target: float, discipline: str = "red") -> dict[str, Any]:
    """RED as published, its thresholds in proportion to the target."""
    scale = target / 30.0
    return {
        "discipline": discipline,
        "limit": f"{math.ceil(100 * scale)} packets",
        "min_threshold": f"{15 * scale:g} packets",
        "max_threshold": f"{45 * scale:g} packets",
        "max_probability": 0.1,
        "weight": 0.002,
    }


def network(
    name: str,
    kind: str,
    about: str,
    flows: Mapping[str, Any],
    *,
    mbit: float = 10.0,
    size: int = 1000,
    wait_s: float = USUAL_WAIT_S,
    seconds: float = 60.0,
    warm_up: str = "5 s",
    settle: str = "4 s",
    link: Mapping[str, Any] | None = None,
    links: Mapping[str, Any] | None = None,
    changes: Sequence[Mapping[str, Any]] = (),
    queue: Callable[[float], dict[str, Any]] = red,
    parameters: Sequence[str] = RED_KNOBS,
    tuning: Mapping[str, Any] | None = None,
    knowledge: Knowledge = "full",
) -> Network:
    """A network around one link under control.

    Args:
        name: of it.
        kind: its family.
        about: what happens.
        flows: its groups.
        mbit: the link's rate, and where it varies, its usual one.
        size: of the packets for which the target is meant, bytes.
        wait_s: how long packets are to wait; the target is that many packets.
        seconds: how long it runs.
        warm_up: what is not measured at the beginning.
        settle: what is not measured after each change.
        link: what the link has besides or instead of its rate.
        links: further links.
        changes: what happens when.
        queue: from the target to the queue as it is found.
        parameters: the controller's to change.
        tuning: what the `[tuning]` table has besides or instead.
        knowledge: what the monitor tells.
    """
    target = max(10, round(wait_s * mbit * 1e6 / (8.0 * size)))
    bottleneck = {"delay": "5 ms", "queue": queue(target), **(link or {})}
    if "rate_schedule" not in bottleneck:
        bottleneck.setdefault("rate", f"{mbit:g} Mbit/s")
    document: dict[str, Any] = {
        "title": name,
        "duration": f"{seconds:g} s",
        "warm_up": warm_up,
        "settle": settle,
        "links": {LINK: bottleneck, **(links or {})},
        "flows": dict(flows),
        "tuning": {
            "parameters": [f"{QUEUE}.{each}" for each in parameters],
            "objective": {
                "name": "queue-deviation",
                "link": LINK,
                "target": f"{target} packets",
            },
            **(tuning or {}),
        },
    }
    if changes:
        document["changes"] = [dict(each) for each in changes]
    return Network(name, kind, about, document, knowledge)


def at(second: float, **what: Any) -> dict[str, Any]:  # noqa: ANN401 - what the language takes
    """A change of the link under control, or of another."""
    return {"at": f"{second:g} s", "link": LINK, **what}
