"""From a checked scenario to the JSON that the core reads: integers in ns, bit/s and bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.errors import FieldError, ScenarioError
from vermilion.scenario.round_trips import to_core
from vermilion.scenario.wire import rates_to_core

if TYPE_CHECKING:
    from vermilion.scenario.model import Change, FlowGroup, Link, Scenario

NANOSECONDS: Final = 1_000_000_000

MOST_POINTS: Final = 10_000_000
"""Points of a time series; each takes six numbers of eight bytes for every link."""


def core_json(scenario: Scenario, probe_interval_s: float | None = None) -> str:
    """The scenario as the core reads it.

    Raises:
        ScenarioError: the probe's interval is not accepted.
    """
    probe = None if probe_interval_s is None else _probe_interval(scenario, probe_interval_s)
    document = {
        "duration_ns": _nanoseconds(scenario.duration),
        "warm_up_ns": _nanoseconds(scenario.warm_up),
        "settle_ns": _nanoseconds(scenario.settle),
        "probe_interval_ns": probe,
        "links": [_link(scenario, name, link) for name, link in scenario.links.items()],
        "flows": [_flow_group(scenario, name, group) for name, group in scenario.flows.items()],
        "changes": [_change(scenario, index) for index in range(len(scenario.changes))],
    }
    return json.dumps(document, allow_nan=False)


def _probe_interval(scenario: Scenario, interval_s: float) -> int:
    shortest = max(1e-6, scenario.duration / MOST_POINTS)
    if not shortest <= interval_s <= scenario.duration:
        accepted = f"an interval from {shortest:g} s to the duration, {scenario.duration:g} s"
        raise ScenarioError("probe", interval_s, accepted, scenario.origin)
    return _nanoseconds(interval_s)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


def _range(ends: tuple[float, float]) -> list[int]:
    return [_nanoseconds(end) for end in ends]


def _link(scenario: Scenario, name: str, link: Link) -> dict[str, Any]:
    try:
        rates = rates_to_core(scenario, name)
    except FieldError as error:
        raise error.at(scenario.origin) from None
    return {
        "name": name,
        **rates,
        "delay_ns": _nanoseconds(link.delay),
        "queue": {"discipline": link.queue.discipline, "parameters": link.queue.parameters},
        "loss": None if link.loss is None else link.loss.to_core(),
    }


def _flow_group(scenario: Scenario, name: str, group: FlowGroup) -> dict[str, Any]:
    sender = None
    if group.sender is not None:
        sender = {
            "congestion_control": group.sender.congestion_control,
            "parameters": group.sender.parameters,
        }
    return {
        "name": name,
        "count": group.count,
        "path": list(group.path),
        "return_path": list(group.return_path),
        "rtt_ns": _round_trip(scenario, group),
        "access_rate_bit_per_s": None if group.access_rate is None else round(group.access_rate),
        "sender": sender,
        "packet_size_bytes": group.packet_size,
        "header_size_bytes": group.header_size,
        "ack_size_bytes": group.ack_size,
        "colour": group.colour,
        # The transfers of a trace are in its file, which was read with the scenario.
        "traffic": group.traffic.core() | scenario._traces.get(name, {}),  # noqa: SLF001
        "start_ns": _range(group.start),
        "stop_ns": None if group.stop is None else _range(group.stop),
    }


def _round_trip(scenario: Scenario, group: FlowGroup) -> int | list[int] | dict[str, Any]:
    if group.rtt is not None:
        return to_core(group.rtt)
    # An open-loop flow need not say one: then it has no access delay.
    crossed = (*group.path, *group.return_path)
    return sum(_nanoseconds(scenario.links[name].delay) for name in crossed)


def _change(scenario: Scenario, index: int) -> dict[str, Any]:
    change: Change = scenario.changes[index]
    return {
        "at_ns": _nanoseconds(change.at),
        "link": change.link,
        "rate_bit_per_s": None if change.rate is None else round(change.rate),
        "delay_ns": None if change.delay is None else _nanoseconds(change.delay),
        "queue": scenario.change_parameters(index),
        "loss": None if change.loss is None else change.loss.to_core(),
    }
