"""Scenario for the core: a user's scenario, lowered to integers and written as JSON.

This is the one description of the core's input on this side: whoever needs to know what is
simulated, or wants it with other parameters or in less time, asks it and reads no JSON. The rules
for what is accepted are not repeated here: those of parameters are in the tables of the
algorithms, and the core itself checks every scenario that it is given.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from vermilion.scenario.core_network import CoreChange, CoreFlowGroup, CoreLink, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.scenario.algorithms import ParameterValue

LEAST_ROUND_TRIPS: Final = 10
"""Of the longest base round trip; a sender reacts once in each, so fewer show no behaviour."""

_NANOSECONDS: Final = 1_000_000_000
_FIXED_TRAFFIC: Final = ("trace", "transfer")


class CannotShortenError(ValueError):
    """The scenario cannot be shortened; the message says why."""


@dataclass(frozen=True, slots=True)
class Shortening:
    """Times of events if only a fraction of each phase's measured time is left.

    Attributes:
        spans_ns: beginning and end of what is measured of each phase, ascending, in ns.
        fraction: of the measured time that is left, in (0, 1].
    """

    spans_ns: tuple[tuple[int, int], ...]
    fraction: float

    @classmethod
    def of_windows(cls, windows: Sequence[tuple[float, float]], fraction: float) -> Shortening:
        """Make it of beginnings and ends in seconds, as a result's phases have them."""
        spans = [(round(start * _NANOSECONDS), round(end * _NANOSECONDS)) for start, end in windows]
        return cls(tuple(spans), fraction)

    def moved(self, time_ns: int) -> int:
        """Return the time of an event in the shortened scenario, ns."""
        cut = sum(max(0, min(time_ns, end) - start) for start, end in self.spans_ns)
        return time_ns - round((1.0 - self.fraction) * cut)

    def both_moved(self, ends_ns: tuple[int, int]) -> tuple[int, int]:
        """The same of both ends of a range."""
        return self.moved(ends_ns[0]), self.moved(ends_ns[1])

    def check(self, links: Sequence[CoreLink], flows: Sequence[CoreFlowGroup]) -> None:
        """Refuse a network that would not be the same with less time.

        Raises:
            CannotShortenError: it has a time table, or a phase would be too short.
        """
        spans = self.spans_ns
        if not spans or any(one[1] > other[0] for one, other in pairwise(spans)):
            message = "it has no phases one after the other"
            raise CannotShortenError(message)
        for link in links:
            if link.varies:
                message = f"the rate of link {link.name} follows a time table"
                raise CannotShortenError(message)
        for group in flows:
            if group.traffic["kind"] in _FIXED_TRAFFIC:
                message = f"flows {group.name} have a time table or an end of their own"
                raise CannotShortenError(message)
        longest = max((group.longest_rtt_ns for group in flows), default=0)
        for number, (start, end) in enumerate(spans, start=1):
            left = self.fraction * (end - start)
            if left < LEAST_ROUND_TRIPS * longest:
                message = (
                    f"phase {number} would have {left / _NANOSECONDS:.2g} s, "
                    f"less than {LEAST_ROUND_TRIPS} round trips of {longest / 1e6:.3g} ms"
                )
                raise CannotShortenError(message)


@dataclass(frozen=True)
class CoreScenario:
    """A network, its traffic, and what happens to it; times are integer nanoseconds.

    Attributes:
        duration_ns: simulated time.
        warm_up_ns: excluded from metrics at the beginning.
        settle_ns: excluded from a phase's metrics after each change.
        probe_interval_ns: between the points of the time series; ``None`` for none.
        links: in the order of the scenario; :meth:`link` has one by its name.
        flows: the groups, in the order of the scenario.
        changes: what changes while the network runs.
        scripted_losses: packets that are dropped or marked whatever the queues say.
        flow_delays: whether delay, jitter and loss of flows' packets are measured in any run of it.
    """

    duration_ns: int
    warm_up_ns: int
    settle_ns: int
    probe_interval_ns: int | None
    links: tuple[CoreLink, ...]
    flows: tuple[CoreFlowGroup, ...]
    changes: tuple[CoreChange, ...]
    scripted_losses: tuple[Mapping[str, object], ...] = ()
    flow_delays: bool = False

    def link(self, name: str) -> CoreLink:
        """The link of this name.

        Raises:
            KeyError: there is none.
        """
        return self.links[self._places["links", name]]

    def group(self, name: str) -> CoreFlowGroup:
        """The group of flows of this name.

        Raises:
            KeyError: there is none.
        """
        return self.flows[self._places["flows", name]]

    def instants(self) -> list[int]:
        """Times at which conditions change between beginning and end, ascending, in ns.

        That is when flows of a group begin to start or to stop, and when something is changed.
        """
        instants = {change.at_ns for change in self.changes}
        instants |= {group.start_ns[0] for group in self.flows}
        instants |= {group.stop_ns[0] for group in self.flows if group.stop_ns is not None}
        return [instant for instant in sorted(instants) if 0 < instant < self.duration_ns]

    def flows_across(self, link: str) -> list[tuple[CoreFlowGroup, float]]:
        """The groups that cross a link, each with its flows on average over the measured time."""
        begin, end = self.warm_up_ns, self.duration_ns
        return [
            (group, group.count * group.share_of(begin, end))
            for group in self.flows
            if group.crosses(link)
        ]

    def mean_round_trip(self, link: str) -> float | None:
        """The mean base round trip of the flows across a link, in seconds.

        Flows count by the part of the measured time in which they are there.

        Returns:
            ``None`` if nothing crosses the link in that time.
        """
        flows, seconds = 0.0, 0.0
        for group, count in self.flows_across(link):
            flows += count
            seconds += count * group.mean_rtt_ns / 1e9
        return seconds / flows if flows > 0.0 else None

    def with_parameters(self, values: Mapping[str, ParameterValue]) -> CoreScenario:
        """The same scenario with other values of some parameters of its queues and senders.

        Nothing is checked but that the paths lead somewhere: whether the values are accepted, the
        core says.

        Args:
            values: by path, like ``links.bottleneck.queue.weight``, in the units of the tables;
                ``None`` is "automatic".

        Raises:
            ValueError: a path that leads to no queue and no sender.
        """
        links, flows = list(self.links), list(self.flows)
        for (room, number), parameters in self._by_part(values).items():
            if room == "links":
                links[number] = links[number].with_parameters(parameters)
            else:
                flows[number] = flows[number].with_parameters(parameters)
        return replace(self, links=tuple(links), flows=tuple(flows))

    def check_paths(self, paths: Iterable[str]) -> None:
        """Refuse paths that :meth:`with_parameters` could not set.

        Raises:
            ValueError: a path that leads to no queue and no sender.
        """
        for path in paths:
            self._place_of(path)

    def shortened(self, windows: Sequence[tuple[float, float]], fraction: float) -> CoreScenario:
        """The same scenario with less simulated time: every phase shorter, none lost.

        Args:
            windows: beginning and end of what is measured of each phase, ascending, seconds: the
                ``start_s`` and ``end_s`` of a result's phases.
            fraction: of the measured time that is left, in (0, 1].

        Raises:
            CannotShortenError: it would not be the same scenario with less time.
        """
        shortening = Shortening.of_windows(windows, fraction)
        if self.scripted_losses:
            message = "it scripts losses of single packets"
            raise CannotShortenError(message)
        shortening.check(self.links, self.flows)
        return replace(
            self,
            duration_ns=shortening.moved(self.duration_ns),
            flows=tuple(
                replace(
                    group,
                    start_ns=shortening.both_moved(group.start_ns),
                    stop_ns=None if group.stop_ns is None else shortening.both_moved(group.stop_ns),
                )
                for group in self.flows
            ),
            changes=tuple(
                replace(change, at_ns=shortening.moved(change.at_ns)) for change in self.changes
            ),
        )

    def to_json(self) -> str:
        """The scenario in the core's own words."""
        return self.text_with({})

    def text_with(self, values: Mapping[str, ParameterValue]) -> str:
        """Return the text of :meth:`with_parameters` with the same values.

        It takes microseconds, because a tuning does it for each of its candidates: only the
        parameters are written anew.

        Raises:
            ValueError: a path that leads to no queue and no sender.
        """
        links = [link.text for link in self.links]
        flows = [group.text for group in self.flows]
        for (room, number), parameters in self._by_part(values).items():
            if room == "links":
                links[number] = self.links[number].text_with(parameters)
            else:
                flows[number] = self.flows[number].text_with(parameters)
        head, tail = self._ends
        return f'{head}"links": [{", ".join(links)}], "flows": [{", ".join(flows)}]{tail}'

    @classmethod
    def from_json(cls, text: str) -> CoreScenario:
        """The inverse of :meth:`to_json`.

        Raises:
            ValueError: the text is something else.
        """
        try:
            rest = json.loads(text)
            return cls(
                links=tuple(map(CoreLink.from_data, rest.pop("links"))),
                flows=tuple(map(CoreFlowGroup.from_data, rest.pop("flows"))),
                changes=tuple(CoreChange(**change) for change in rest.pop("changes")),
                scripted_losses=tuple(rest.pop("scripted_losses", ())),
                **rest,
            )
        except (AttributeError, KeyError, TypeError) as error:
            message = f"this is no scenario as Scenario.core_json() writes it: {error}"
            raise ValueError(message) from None

    def _by_part(
        self, values: Mapping[str, ParameterValue]
    ) -> dict[tuple[str, int], dict[str, ParameterValue]]:
        """Values by room and number of the link or group to which they belong."""
        parts: dict[tuple[str, int], dict[str, ParameterValue]] = {}
        for path, value in values.items():
            room, number, parameter = self._known_paths.get(path) or self._place_of(path)
            parts.setdefault((room, number), {})[parameter] = value
        return parts

    def _place_of(self, path: str) -> tuple[str, int, str]:
        """Room of a parameter, number of its link or group, and its name.

        Raises:
            ValueError: a path that leads to no queue and no sender.
        """
        room, _, rest = path.partition(".")
        name, _, inner = rest.partition(".")
        holder, _, parameter = inner.partition(".")
        number = self._places.get((room, name))
        known = number is not None and (
            holder == "queue"
            if room == "links"
            else holder == "sender" and self.flows[number].sender is not None
        )
        if number is None or not known:
            message = f"{path} leads to no parameter of a queue or a sender of the scenario"
            raise ValueError(message)
        self._known_paths[path] = found = (room, number, parameter)
        return found

    @cached_property
    def _known_paths(self) -> dict[str, tuple[str, int, str]]:
        """Cache of the parameters at each path: room, number, name."""
        return {}

    @cached_property
    def _places(self) -> dict[tuple[str, str], int]:
        """Numbers of links and groups, by room and name."""
        return {
            **{("links", link.name): number for number, link in enumerate(self.links)},
            **{("flows", group.name): number for number, group in enumerate(self.flows)},
        }

    @cached_property
    def _ends(self) -> tuple[str, str]:
        """The text before the links and after the groups of flows."""
        head = members(
            {
                "duration_ns": self.duration_ns,
                "warm_up_ns": self.warm_up_ns,
                "settle_ns": self.settle_ns,
                "probe_interval_ns": self.probe_interval_ns,
            }
        )
        rest: dict[str, object] = {"changes": [asdict(change) for change in self.changes]}
        if self.scripted_losses:
            rest["scripted_losses"] = list(self.scripted_losses)
        if self.flow_delays:
            rest["flow_delays"] = True
        return f"{{{head}, ", f", {members(rest)}}}"


Window = tuple[int, int]
"""Beginning and end, ns."""


def windows(scenario: CoreScenario) -> tuple[Window, list[Window]]:
    """The whole measured time, and that of each phase of which something is left."""
    instants = {change.at_ns for change in scenario.changes}
    for group in scenario.flows:
        for begin, end in (group.start_ns, *([group.stop_ns] if group.stop_ns else [])):
            instants.add(begin)
            if end - begin > scenario.settle_ns:
                instants.add(end)
    inner = sorted(each for each in instants if 0 < each < scenario.duration_ns)
    phases = []
    for begin, end in pairwise([0, *inner, scenario.duration_ns]):
        settled = 0 if begin == 0 else begin + scenario.settle_ns
        measured = max(settled, scenario.warm_up_ns)
        if measured < end:
            phases.append((measured, end))
    return (scenario.warm_up_ns, scenario.duration_ns), phases
