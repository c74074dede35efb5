"""Conversion of a checked scenario to the core's integers in ns, bit/s and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario.core_network import (
    CoreChange,
    CoreFlowGroup,
    CoreLink,
    CoreQueue,
    CoreSender,
)
from vermilion.scenario.core_scenario import CoreScenario
from vermilion.scenario.errors import ScenarioError, errors_of
from vermilion.scenario.quantities import TIME, Quantity, QuantityError, format_quantity
from vermilion.scenario.round_trips import to_core
from vermilion.scenario.wire import nominal_rate, schedule_to_core, trace_to_core

if TYPE_CHECKING:
    from vermilion.scenario.core_network import CoreRoundTrips
    from vermilion.scenario.tables import FlowGroup, Line, Link
    from vermilion.scenario.written_scenario import WrittenScenario

SHORTEST_S: Final = 1e-6
"""The shortest interval of any series."""

MOST_POINTS: Final = 10_000_000
"""Points of a link's time series; each takes six numbers of eight bytes for every link."""

_USUAL_S: Final = 0.1
_LONG_S: Final = 1.0
_POINTS: Final = 100
"""Of a scenario that is shorter than that."""


def usual_interval_s(duration_s: float) -> float:
    """The interval where none was chosen: 0.1 s, or less where that gave under ten points.

    Of a scenario that is shorter than a second it is a hundredth.

    Args:
        duration_s: of the scenario.
    """
    return _USUAL_S if duration_s >= _LONG_S else duration_s / _POINTS


def shortest_interval_s(duration_s: float) -> float:
    """The shortest interval of links' time series in a scenario of this duration."""
    return max(SHORTEST_S, duration_s / MOST_POINTS)


def parse_interval(text: str, shortest_s: float, duration_s: float) -> float:
    """The seconds of an interval like "0.1 s".

    Raises:
        QuantityError: it is no time, or none from the shortest interval to the duration.
    """
    try:
        return float(Quantity(TIME, minimum=shortest_s, maximum=duration_s).parse(text))
    except QuantityError:
        low, high, example = (
            format_quantity(seconds, TIME)
            for seconds in (shortest_s, duration_s, usual_interval_s(duration_s))
        )
        accepted = f'an interval, a time from {low} to {high} (the duration), like "{example}"'
        raise QuantityError(text, accepted) from None


def accepted_seconds(shortest_s: float, duration_s: float) -> str:
    """Describe the accepted intervals, to follow "expected"."""
    return f"seconds from {shortest_s:g} to {duration_s:g}, the duration"


NANOSECONDS: Final = 1_000_000_000


def lowered(scenario: WrittenScenario, probe_interval_s: float | None = None) -> CoreScenario:
    """The scenario as the core reads it.

    Raises:
        ScenarioError: the probe's interval is not accepted.
    """
    probe = None if probe_interval_s is None else _probe_interval(scenario, probe_interval_s)
    return CoreScenario(
        duration_ns=_nanoseconds(scenario.duration),
        warm_up_ns=_nanoseconds(scenario.warm_up),
        settle_ns=_nanoseconds(scenario.settle),
        probe_interval_ns=probe,
        links=tuple(_link(scenario, name, link) for name, link in scenario.links.items()),
        flows=tuple(_flow_group(scenario, name, group) for name, group in scenario.flows.items()),
        changes=tuple(_change(scenario, index) for index in range(len(scenario.changes))),
        scripted_losses=tuple(
            script.to_core(scenario.flow_counts()) for script in scenario.scripted_losses
        ),
    )


def _probe_interval(scenario: WrittenScenario, interval_s: float) -> int:
    shortest = shortest_interval_s(scenario.duration)
    if not shortest <= interval_s <= scenario.duration:
        accepted = accepted_seconds(shortest, scenario.duration)
        raise ScenarioError("probe_interval_s", interval_s, accepted, scenario.origin)
    return _nanoseconds(interval_s)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


def _range(ends: tuple[float, float]) -> tuple[int, int]:
    return _nanoseconds(ends[0]), _nanoseconds(ends[1])


def _link(scenario: WrittenScenario, name: str, link: Link) -> CoreLink:
    with errors_of(scenario.origin):
        rate = max(1, round(nominal_rate(scenario, name)))
        trace = trace_to_core(scenario, name)
    return CoreLink(
        name=name,
        rate_bit_per_s=rate,
        delay_ns=_nanoseconds(link.delay),
        queue=CoreQueue(link.queue.discipline, link.queue.parameters, link.queue.classes),
        loss=None if link.loss is None else link.loss.to_core(),
        air=link.air(),
        rate_schedule=schedule_to_core(link),
        trace=trace,
        line=None if link.line is None else _line(link.line),
        rate_control=None if link.rate_control is None else link.rate_control.to_core(),
        books=link.books,
    )


def _line(line: Line) -> dict[str, object]:
    return {"kind": line.kind, "mean_bit_per_s": round(line.mean)}


def _flow_group(scenario: WrittenScenario, name: str, group: FlowGroup) -> CoreFlowGroup:
    sender = None
    if group.sender is not None:
        sender = CoreSender(group.sender.congestion_control, group.sender.parameters)
    return CoreFlowGroup(
        name=name,
        count=group.count,
        path=group.path,
        return_path=group.return_path,
        rtt_ns=_round_trip(scenario, group),
        access_rate_bit_per_s=None if group.access_rate is None else round(group.access_rate),
        sender=sender,
        packet_size_bytes=group.packet_size,
        header_size_bytes=group.header_size,
        ack_size_bytes=group.ack_size,
        colour=group.colour,
        dscp=group.dscp,
        source_host=group.source_host,
        destination_host=group.destination_host,
        # The transfers of a trace are in its file, which was read with the scenario.
        traffic={**group.traffic.core(), **scenario.transfers_of(name)},
        start_ns=_range(group.start),
        stop_ns=None if group.stop is None else _range(group.stop),
    )


def _round_trip(scenario: WrittenScenario, group: FlowGroup) -> CoreRoundTrips:
    if group.rtt is not None:
        return to_core(group.rtt)
    # An open-loop flow need not say one: then it has no access delay.
    crossed = (*group.path, *group.return_path)
    return sum(_nanoseconds(scenario.links[name].delay) for name in crossed)


def _change(scenario: WrittenScenario, index: int) -> CoreChange:
    change = scenario.changes[index]
    return CoreChange(
        at_ns=_nanoseconds(change.at),
        link=change.link,
        rate_bit_per_s=None if change.rate is None else round(change.rate),
        delay_ns=None if change.delay is None else _nanoseconds(change.delay),
        queue=scenario.change_parameters(index),
        loss=None if change.loss is None else change.loss.to_core(),
    )
