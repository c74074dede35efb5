"""The same network under slightly other conditions: more flows, longer trips, other senders.

Each function makes a checked copy in which one thing differs. A ``[tuning]`` table is left out:
it may speak of parameters that a copy does not have.
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.distributions import mean_of
from vermilion.scenario.load import scenario_from_document
from vermilion.scenario.quantities import TIME, exact_text
from vermilion.scenario.round_trips import RoundTripDistribution, smallest
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.scenario.core_scenario import CoreScenario
    from vermilion.scenario.model import Scenario
    from vermilion.scenario.tables import FlowGroup


def with_queues(scenario: Scenario, queues: Mapping[str, Mapping[str, object]]) -> Scenario:
    """A checked copy in which some links have other queues.

    What changes during the scenario about the queues that are gone, and a ``[tuning]`` table,
    speak of parameters that may be no more; both are left out.

    Args:
        scenario: itself.
        queues: by link, a table like ``{"discipline": "drop-tail", "limit": "31 packets"}``.

    Raises:
        ScenarioError: there is no such discipline, or it does not accept a value.
    """
    document = deepcopy(dict(scenario.document))
    for link, queue in queues.items():
        document["links"][link]["queue"] = dict(queue)
    document.pop("tuning", None)
    changes = [
        {key: value for key, value in change.items() if key != "queue"}
        if change["link"] in queues
        else change
        for change in document.get("changes", ())
    ]
    # A change of nothing but the queue has become a change of nothing.
    kept = [change for change in changes if change.keys() - {"at", "link"}]
    document.pop("changes", None)
    if kept:
        document["changes"] = kept
    return scenario_from_document(document, scenario.origin)


NANOSECONDS: Final = 1_000_000_000

MOST_WEB_LOAD: Final = 0.9
"""Of a link's rate, in data without headers. Transfers that arrive whatever the network does pile
up without end above 1, which is another network and not a neighbouring one."""

WEB_TRANSFER: Final = {
    "distribution": "bounded-pareto",
    "minimum": "3 kB",
    "maximum": "3 MB",
    "shape": 1.2,
}
"""Sizes of added web transfers, 13.5 kB on average: those of the scenarios after the common TCP
evaluation suite (``tcpeval-access-link``)."""


def with_flow_counts(scenario: Scenario, factor: float) -> Scenario:
    """Multiply the numbers of flows, keeping at least one in each group.

    Groups whose flows have a sender are scaled. Those that play a recorded trace are not, for it
    says itself how many there are; nor are sources of web transfers where that would offer a
    link more than :data:`MOST_WEB_LOAD` of its rate.
    """
    document = _copy(scenario)
    counts = {
        name: max(1, math.floor(factor * group.count + 0.5))
        for name, group in scenario.flows.items()
        if group.sender is not None and group.traffic.kind != "trace"
    }
    web = [name for name in counts if scenario.flows[name].traffic.kind == "web"]
    load = max(_web_load(scenario, link, counts) for link in scenario.links)
    if factor > 1.0 and load > MOST_WEB_LOAD:
        for name in web:
            del counts[name]
    for name, count in counts.items():
        document["flows"][name]["count"] = count
    return scenario_from_document(document, scenario.origin)


def with_round_trips(scenario: Scenario, factor: float) -> Scenario:
    """Scale the base round trips by a factor.

    Where the links' own delays would not fit into the shorter trips, they shrink as much.
    """
    document = _copy(scenario)
    for name, group in scenario.flows.items():
        if group.rtt is not None:
            document["flows"][name]["rtt"] = _scaled_trips(group.rtt, factor)
    if not all(
        _has_room_for_round_trips(scenario, group, factor) for group in scenario.flows.values()
    ):
        for name, link in scenario.links.items():
            document["links"][name]["delay"] = _scaled_delay(link.delay, factor)
        for table, change in zip(document.get("changes", ()), scenario.changes, strict=True):
            if change.delay is not None:
                table["delay"] = _scaled_delay(change.delay, factor)
    return scenario_from_document(document, scenario.origin)


def with_senders_of(scenario: Scenario, group: str) -> Scenario:
    """All senders like those of one group."""
    document = _copy(scenario)
    for name, each in scenario.flows.items():
        if each.sender is not None:
            document["flows"][name]["sender"] = deepcopy(document["flows"][group]["sender"])
    return scenario_from_document(document, scenario.origin)


def with_web_traffic(
    scenario: Scenario, links: Iterable[str], share: float
) -> tuple[Scenario, tuple[str, ...]]:
    """Add web transfers that offer a share of each link's rate.

    They arrive in a Poisson process with sizes as in :data:`WEB_TRANSFER`. Sender, round trip and
    packets are those of the largest group that crosses the link. A link that no sender's flows
    cross gets none, nor does one on which there would be more than :data:`MOST_WEB_LOAD` of them.

    Args:
        scenario: itself.
        links: that the transfers cross, each of them one link.
        share: of the link's rate, of data without headers.

    Returns:
        The scenario, and the names of the groups added.
    """
    document = _copy(scenario)
    added: list[str] = []
    for link in links:
        like = _largest_group(scenario, link)
        if like is None or _web_load(scenario, link, {}) + share > MOST_WEB_LOAD:
            continue
        kept = ("rtt", "sender", "packet_size", "header_size", "ack_size", "access_rate")
        group = {key: value for key, value in document["flows"][like].items() if key in kept}
        name = _new_name(document["flows"], len(added) + 1)
        group["path"] = [link]
        group["traffic"] = {"kind": "web", "mean_gap": "1 s", "size": dict(WEB_TRANSFER)}
        document["flows"][name] = group
        added.append(name)
    draft = scenario_from_document(document, scenario.origin)
    for name in added:
        rate = share * nominal_rate(draft, draft.flows[name].path[0])
        # Each transfer's size is as much traffic as the gap before it leaves room for.
        gap = 8.0 * _mean_transfer_bytes(draft.flows[name]) / rate
        document["flows"][name]["traffic"]["mean_gap"] = exact_text(gap, TIME)
    return scenario_from_document(document, scenario.origin), tuple(added)


def is_same_network(one: Scenario, other: Scenario) -> bool:
    """Return whether two scenarios simulate the same, however they are written."""
    return _complete_scenario(one) == _complete_scenario(other)


def _complete_scenario(scenario: Scenario) -> CoreScenario:
    """Scenario for the core, with the defaults of all senders written out."""
    core = scenario.core()
    return core.with_parameters(
        {
            f"flows.{group.name}.sender.{name}": value
            for group in core.flows
            if group.sender is not None
            for name, value in group.sender.complete().items()
        }
    )


def _copy(scenario: Scenario) -> dict[str, Any]:
    document = deepcopy(dict(scenario.document))
    document.pop("tuning", None)
    return document


def _scaled_trips(
    trips: float | tuple[float, ...] | RoundTripDistribution, factor: float
) -> object:
    """Round trips as a scenario spells them."""
    if isinstance(trips, RoundTripDistribution):
        table: dict[str, object] = {"distribution": trips.distribution}
        for key in ("min", "max", "mean", "median"):
            value = getattr(trips, key)
            if value is not None:
                table[key] = exact_text(factor * value, TIME)
        if trips.sigma is not None:
            table["sigma"] = trips.sigma
        return table
    if isinstance(trips, tuple):
        return [exact_text(factor * trip, TIME) for trip in trips]
    return exact_text(factor * trips, TIME)


def _has_room_for_round_trips(scenario: Scenario, group: FlowGroup, factor: float) -> bool:
    """Return whether the links that a group crosses leave room for its scaled round trips."""
    if group.rtt is None:
        return True
    crossed = sum(scenario.links[name].delay for name in (*group.path, *group.return_path))
    return factor * smallest(group.rtt) >= crossed


def _scaled_delay(delay_s: float, factor: float) -> str:
    """A delay in whole nanoseconds, rounded down: their sum must fit into a round trip."""
    return f"{math.floor(factor * round(delay_s * NANOSECONDS))} ns"


def _web_load(scenario: Scenario, link: str, counts: Mapping[str, int]) -> float:
    """Load offered by the web transfers that cross a link, as a fraction of its rate.

    Args:
        scenario: to which the link belongs.
        link: its name.
        counts: of sources, for groups that have others than the scenario says.
    """
    offered = math.fsum(
        counts.get(name, group.count) * 8.0 * _mean_transfer_bytes(group) / group.traffic.mean_gap
        for name, group in scenario.flows.items()
        if link in group.path and group.traffic.kind == "web" and group.traffic.mean_gap
    )
    return offered / nominal_rate(scenario, link)


def _mean_transfer_bytes(group: FlowGroup) -> float:
    return 0.0 if group.traffic.size is None else mean_of(group.traffic.size)


def _largest_group(scenario: Scenario, link: str) -> str | None:
    """Largest group of flows that have a sender and cross a link."""
    crossing = [
        name
        for name, group in scenario.flows.items()
        if link in group.path and group.sender is not None and group.rtt is not None
    ]
    return max(crossing, key=lambda name: scenario.flows[name].count, default=None)


def _new_name(known: Mapping[str, object], number: int) -> str:
    name = f"web-neighbour-{number}"
    while name in known:
        name += "x"
    return name
