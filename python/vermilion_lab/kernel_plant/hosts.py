"""The ends of flows: who sends over which links, and how far away it is.

Flows with the same way and the same round trip share a pair of addresses. All of a round trip that
is no waiting lies on the way back: a delay there holds acknowledgements only, and can neither drop
nor reorder data.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.scenario.core_network import DrawnRoundTrips
from vermilion.scenario.errors import FieldError
from vermilion_lab.kernel_plant.acceptance import HEADER_BYTES, MOST_HOSTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.core_network import CoreFlowGroup
    from vermilion.scenario.core_scenario import CoreScenario

_HOSTS_A_NET: Final = 250
_BITS_NS: Final = 8_000_000_000
_MOST_DRAWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Host:
    """A pair of addresses, and what lies between.

    Attributes:
        number: of the pair, from 0.
        path: the links that its data crosses, by number.
        return_path: the links that its acknowledgements cross.
        rtt_ns: base round trip without queueing and transmission, at the beginning.
        there_ns: the part of it that data would take, were not all of it on the way back.
        packet_bytes: of a full packet.
        ecn: whether its connections ask for ECN.
        initial_window: packets of the first flight; ``None`` for Linux's own.
        acknowledges_at_once: whether every packet is acknowledged.
    """

    number: int
    path: tuple[int, ...]
    return_path: tuple[int, ...]
    rtt_ns: int
    there_ns: int
    packet_bytes: int
    ecn: bool
    initial_window: int | None
    acknowledges_at_once: bool

    @property
    def source(self) -> str:
        """The address of its senders."""
        return self._address(1)

    @property
    def sink(self) -> str:
        """The address of its receivers."""
        return self._address(2)

    def _address(self, side: int) -> str:
        net, last = divmod(self.number, _HOSTS_A_NET)
        return f"10.{side}.{net}.{last + 1}"

    def delay_ns(
        self, rates_bit_per_s: Mapping[int, float], longer_ns: Mapping[int, int] | None = None
    ) -> int:
        """Delay to add on the return path so that the round trip is the scenario's.

        The shaper of Linux lets a packet go at the beginning of its turn, so that its transmission
        takes no time: it is added here.

        Args:
            rates_bit_per_s: of the links now.
            longer_ns: by how much links have become longer since the beginning.
        """
        sent = sum(self.packet_bytes * _BITS_NS / rates_bit_per_s[link] for link in self.path)
        sent += sum(HEADER_BYTES * _BITS_NS / rates_bit_per_s[link] for link in self.return_path)
        longer = sum(
            0 if longer_ns is None else longer_ns.get(link, 0)
            for link in (*self.path, *self.return_path)
        )
        return max(0, self.rtt_ns + longer + round(sent))


def hosts_of(scenario: CoreScenario, seed: int) -> tuple[list[Host], dict[str, list[int]]]:
    """Hosts, and for each group the number of the host of each of its flows.

    Raises:
        FieldError: there would be too many.
    """
    numbers = {link.name: number for number, link in enumerate(scenario.links)}
    hosts: dict[tuple[object, ...], Host] = {}
    members: dict[str, list[int]] = {}
    for group in scenario.flows:
        path = tuple(numbers[name] for name in group.path)
        back = tuple(numbers[name] for name in group.return_path)
        own = dict(group.sender.parameters) if group.sender is not None else {}
        window = own.get("initial_window")
        members[group.name] = []
        for rtt_ns in _round_trips(group, seed):
            what = (
                path,
                back,
                rtt_ns,
                _one_way_ns(scenario, group, rtt_ns),
                group.packet_size_bytes,
                own.get("ecn") is True,
                round(window) if isinstance(window, int | float) else None,
                own.get("delayed_acknowledgements") is False,
            )
            if what not in hosts:
                hosts[what] = Host(len(hosts), *what)
            members[group.name].append(hosts[what].number)
        if len(hosts) > MOST_HOSTS:
            accepted = f"at most {MOST_HOSTS} different round trips on the kernel"
            raise FieldError(f"flows.{group.name}.rtt", len(hosts), accepted)
    return list(hosts.values()), members


def _one_way_ns(scenario: CoreScenario, group: CoreFlowGroup, rtt_ns: int) -> int:
    """One-way delay of data: the links, and half of the round trip outside them."""
    delays = {link.name: link.delay_ns for link in scenario.links}
    there = sum(delays[name] for name in group.path)
    back = sum(delays[name] for name in group.return_path)
    return there + max(0, rtt_ns - there - back) // 2


def _round_trips(group: CoreFlowGroup, seed: int) -> list[int]:
    """The base round trip of each flow of a group, in ns."""
    trips = group.rtt_ns
    if isinstance(trips, DrawnRoundTrips):
        draw = random.Random(f"{seed}/{group.name}/round trips")  # noqa: S311 - no secret
        return [_draw_round_trip(trips, draw) for _ in range(group.count)]
    if isinstance(trips, tuple):
        return [trips[number % len(trips)] for number in range(group.count)]
    return [trips] * group.count


def _draw_round_trip(trips: DrawnRoundTrips, draw: random.Random) -> int:
    for _ in range(_MOST_DRAWS):
        if trips.distribution == "exponential":
            value = draw.expovariate(1.0 / (trips.mean_ns or 1))
        elif trips.distribution == "lognormal":
            value = (trips.median_ns or 1) * draw.lognormvariate(0.0, trips.sigma or 0.0)
        else:
            value = draw.uniform(trips.min_ns, trips.max_ns)
        if trips.min_ns <= value <= trips.max_ns:
            return round(value)
    return trips.min_ns
