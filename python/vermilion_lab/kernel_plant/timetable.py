"""Scheduled changes of a scenario, as the guest's agent receives them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario.errors import FieldError
from vermilion_lab.kernel_plant.topology import FAR, delay_command, rate_command, router

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.scenario.core_scenario import CoreScenario
    from vermilion_lab.kernel_plant.hosts import Host

_MOST_STEPS: Final = 20_000


@dataclass
class _Change:
    """Changes at one moment on one link."""

    at_ns: int
    link: int
    rate_bit_per_s: float | None = None
    delay_ns: int | None = None
    queue: Mapping[str, ParameterValue] = field(default_factory=dict)


def rate_at_start(scenario: CoreScenario, link: int) -> float:
    """The rate of a link at the beginning, bit/s."""
    schedule: Any = scenario.links[link].rate_schedule
    if schedule is not None:
        return float(schedule["steps"][0][1])
    return float(scenario.links[link].rate_bit_per_s)


def rates_over_time(scenario: CoreScenario, link: int) -> list[tuple[int, float]]:
    """Start of each rate of a link, ascending: ns and bit/s."""
    found = [(0, rate_at_start(scenario, link))]
    found += [
        (each.at_ns, each.rate_bit_per_s)
        for each in _changes(scenario)
        if each.link == link and each.rate_bit_per_s is not None
    ]
    return found


def timetable(scenario: CoreScenario, hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """The agent's orders, in order of time.

    Raises:
        FieldError: there are too many of them.
    """
    numbers = range(len(scenario.links))
    rates = {link: rate_at_start(scenario, link) for link in numbers}
    longer_ns = dict.fromkeys(numbers, 0)
    orders = []
    for change in _changes(scenario):
        lines: dict[str, list[str]] = {}
        if change.rate_bit_per_s is not None:
            rates[change.link] = change.rate_bit_per_s
            lines[router(change.link)] = [rate_command(change.rate_bit_per_s, "change")]
        if change.delay_ns is not None:
            longer_ns[change.link] = change.delay_ns - scenario.links[change.link].delay_ns
        if change.rate_bit_per_s is not None or change.delay_ns is not None:
            lines[FAR] = [
                delay_command(host, host.delay_ns(rates, longer_ns), "change")
                for host in hosts
                if change.link in (*host.path, *host.return_path)
            ]
        orders.append(
            {
                "at_ns": change.at_ns,
                "link": change.link,
                "tc": lines,
                "parameters": dict(change.queue),
            }
        )
    return orders


def _changes(scenario: CoreScenario) -> list[_Change]:
    numbers = {link.name: number for number, link in enumerate(scenario.links)}
    found = [
        _Change(
            each.at_ns, numbers[each.link], each.rate_bit_per_s, each.delay_ns, each.queue or {}
        )
        for each in scenario.changes
    ]
    for number, link in enumerate(scenario.links):
        schedule: Any = link.rate_schedule
        if schedule is None:
            continue
        steps, repeat_ns = schedule["steps"], schedule.get("repeat_ns")
        begun_ns = 0
        while begun_ns < scenario.duration_ns:
            for at_ns, rate in steps:
                if 0 < begun_ns + at_ns < scenario.duration_ns:
                    found.append(_Change(begun_ns + at_ns, number, float(rate)))
            if repeat_ns is None:
                break
            begun_ns += repeat_ns
            if len(found) > _MOST_STEPS:
                accepted = f"at most {_MOST_STEPS} changes on the kernel"
                raise FieldError(f"links.{link.name}.rate_schedule", len(found), accepted)
    return sorted(found, key=lambda each: each.at_ns)
