"""Everything that was seen of the queues under control, and what it adds up to.

:class:`Senses` is a value: an observation makes the next one of it, and the one before stays as it
was. Nothing else tells the controller about the network. One queue is a set of one.

Each queue is sensed by itself (:class:`~vermilion.online.sense.queue_senses.QueueSenses`), from its
own counters and its own monitor. What none of several can know alone is put together here: which
flows cross which queues, and their base round trips, which are what was sampled less the waiting in
all the queues of their path.

Where a monitor stands beside each queue the paths are seen: a flow crosses the queues at which its
packets pass. What is not seen is in which order; that is the operator's, or the order in which the
links are configured. Where there are only counters nobody can tell a flow that crosses two queues
from two flows. Then each queue is taken to have flows of its own, or, where the operator has said
which paths there are, as many flows are put on each path as make up what the queues report: the
least squares solution with no number below 0 (Lawson and Hanson, *Solving Least Squares Problems*,
1974), and of many that do equally well the one that spreads them most evenly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from vermilion.online.sense.flow_activity import flow_shares, is_among
from vermilion.online.sense.link_state import Blackout, WaitingPlace, blackout_of
from vermilion.online.sense.queue_senses import (
    COUNTED_DOUBT,
    LONGEST_LEARNT_S,
    MEASURED_DOUBT,
    UNHEARD_DOUBT,
    QueueSenses,
)
from vermilion.online.sense.round_trips import BaseRoundTrips
from vermilion.online.sense.sampler import Sample, lengthened, since
from vermilion.online.sense.stretch import STARVED_SHARE, Stretch, batches_of, goodputs_of
from vermilion.online.sense.traffic_estimate import PathTraffic, rounded_to_total, set_estimate
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from vermilion.online.sense.flow_activity import FlowActivity
    from vermilion.online.sense.link_state import LinkKind, LinkState
    from vermilion.online.sense.sampler import FlowShares
    from vermilion.online.sense.traffic_estimate import SetEstimate, TrafficEstimate
    from vermilion.routers.base import Observation, RttSamples


Path = tuple[str, ...]
"""The names of the links that a flow crosses, in its order."""

_EVENLY = 1e-2  # how much spreading flows evenly counts beside what queues report


def alive(activity: FlowActivity) -> NDArray[np.int64]:
    """The flows that a queue has carried lately and that are there still, ascending.

    Here a flow is a flow, however little of it gets through: whoever crosses several queues is
    dropped from at each, and is not to be forgotten for that.
    """
    there = activity.responsive & (activity.kept_bytes > 0) & (activity.flows >= 0)
    if activity.now_s > activity.fell_s + activity.lately_s:
        there = there & (activity.last_s > activity.fell_s)
    return activity.flows[there]


def seen_paths(
    alive_at: Mapping[str, NDArray[np.int64]], configured: Sequence[Path]
) -> dict[Path, NDArray[np.int64]]:
    """The flows, by the queues that they cross.

    Args:
        alive_at: the flows at each queue, in the order in which the links are configured.
        configured: paths whose order the operator knows.
    """
    links = list(alive_at)
    flows = np.unique(np.concatenate(list(alive_at.values())))
    crossed = np.array([is_among(flows, each) for each in alive_at.values()])
    orders = {frozenset(path): path for path in configured}
    found: dict[Path, NDArray[np.int64]] = {}
    for pattern in np.unique(crossed, axis=1).T if len(flows) else ():
        names = tuple(link for link, crosses in zip(links, pattern, strict=True) if crosses)
        path = orders.get(frozenset(names), names)
        found[path] = flows[(crossed == pattern[:, None]).all(axis=0)]
    return dict(sorted(found.items(), key=lambda each: (-len(each[0]), links.index(each[0][0]))))


def flows_on_paths(flows_at: Mapping[str, float], configured: Sequence[Path]) -> dict[Path, float]:
    """Estimate the number of flows on each path from those at each queue.

    Args:
        flows_at: flows at each queue, by its counters.
        configured: the paths there are; where there are none, each queue is one.
    """
    from scipy.optimize import nnls

    paths = list(configured)
    covered = {link for path in paths for link in path}
    paths += [(link,) for link in flows_at if link not in covered]
    crosses = np.array([[float(link in path) for path in paths] for link in flows_at])
    evenly = _EVENLY * np.eye(len(paths))
    wanted = np.concatenate([np.array(list(flows_at.values())), np.zeros(len(paths))])
    found, _ = nnls(np.vstack([crosses, evenly]), wanted)
    return dict(zip(paths, found.tolist(), strict=True))


NOMINAL_BIT_PER_S = 1e9
"""Of the one queue that stands for all of a path: what waits in each is as much time in it."""

_ORDER_INFERRED = "the order of queues along a path is not seen; the configuration's is assumed"
_PATHS_UNKNOWN = (
    "counters do not tell which flows cross several queues; each queue is assumed to have its own"
)
_PATHS_CONFIGURED = (
    "counters do not tell how many flows take which path; fitting numbers are assumed"
)
_TOLD_FIRST: tuple[LinkKind, ...] = ("outage", "busy", "unknown", "elsewhere", "idle")


@dataclass(frozen=True, slots=True)
class Senses:
    """Knowledge of the queues under control and their traffic; a value.

    Attributes:
        parts: what is known of each queue, by its link; of the only one by "".
        configured: paths that the operator knows.
        history: the samples of the last two minutes, oldest first.
        silent_s: when they have seemed silent last.
        trips: of several queues, base round trips of the flows of each path.
        flows: of several, the numbers of the flows of each path.
    """

    parts: Mapping[str, QueueSenses]
    configured: tuple[Path, ...] = ()
    history: tuple[Sample, ...] = ()
    silent_s: float = -math.inf
    trips: Mapping[Path, BaseRoundTrips] = field(default_factory=dict)
    flows: Mapping[Path, NDArray[np.int64]] = field(default_factory=dict, compare=False)
    _picture: TrafficEstimate | None = None

    @classmethod
    def begin(
        cls, links: Sequence[str] = (), configured: Sequence[Path] = (), discipline: str = ""
    ) -> Senses:
        """Nothing has been seen.

        Args:
            links: whose queues are managed, where these are several.
            configured: paths that the operator knows.
            discipline: of the only queue.
        """
        parts = {link: QueueSenses.begin() for link in links}
        return cls(parts or {"": QueueSenses.begin(discipline)}, tuple(configured))

    @property
    def _only(self) -> QueueSenses | None:
        """What is known of the only queue; ``None`` where there are several."""
        return self.parts.get("")

    def restarted(self, observation: Observation) -> frozenset[str]:
        """The links of the queues whose counters have fallen since they were last read."""
        seen = observation.queues or {"": observation}
        return frozenset(
            link for link, part in self.parts.items() if part.has_restarted(seen[link])
        )

    def after(self, observation: Observation) -> tuple[Senses, Sample | None]:
        """Return the senses after an observation, and the sample that it ends.

        There is a sample where every queue has one: what only some of them saw is not compared.
        """
        seen = observation.queues or {"": observation}
        looks = {link: part.after(seen[link]) for link, part in self.parts.items()}
        parts = {link: part for link, (part, _) in looks.items()}
        samples = {link: sample for link, (_, sample) in looks.items() if sample is not None}
        if len(samples) < len(parts):
            return replace(self, parts=parts), None
        flows: Mapping[Path, NDArray[np.int64]] = {}
        trips: Mapping[Path, BaseRoundTrips] = {}
        if self._only is not None:
            sample = samples[""]
        elif any(each.traffic is None for each in seen.values()):
            sample = _added(samples, None)
        else:
            at = {link: alive(part.activity) for link, part in parts.items()}
            flows = seen_paths(at, self.configured)
            trips = {
                path: self._update_round_trips(path, numbers, parts, samples, seen)
                for path, numbers in flows.items()
            }
            sample = _added(samples, _delivered(flows, seen))
        after = Senses(
            parts,
            self.configured,
            lengthened(self.history, sample),
            self.silent_s,
            trips,
            flows,
        )
        silent_s = sample.time_s if after.seems_silent else self.silent_s
        return replace(after, silent_s=silent_s, _picture=after._estimate()), sample

    @property
    def latest(self) -> Sample | None:
        """The last sample taken."""
        return self.history[-1] if self.history else None

    @property
    def place(self) -> WaitingPlace:
        """Where packets wait; unknown of several queues: behind one there may be another."""
        return WaitingPlace() if self._only is None else self._only.place

    @property
    def link_state(self) -> LinkState:
        """State of the link; only a busy one may be judged or learned from.

        Of several links: cut off, or busy, if one of them is. Where packets wait at one link and
        none leave, what the others see is no normal state either. A link that nothing waits for is
        no outage, however many flows there are elsewhere.
        """
        if self._only is not None:
            return self._only.watch.state
        states = {link: _state_of(part) for link, part in self.parts.items()}
        link, state = min(states.items(), key=lambda each: _TOLD_FIRST.index(each[1].kind))
        return replace(
            state, words=f"{link}: {state.words}", details={"link": link, **state.details}
        )

    @property
    def seems_silent(self) -> bool:
        """True if a link with a backlog has been silent lately, perhaps briefly, or all have."""
        return self._are_cut_off([each.watch.seems_silent for each in self.parts.values()])

    @property
    def may_be_silent(self) -> bool:
        """True if nothing leaves these now; it may be an outage."""
        return self._are_cut_off([each.watch.may_be_silent for each in self.parts.values()])

    def _are_cut_off(self, silent: Sequence[bool]) -> bool:
        """Check whether a silent queue has a backlog, or all are silent."""
        waiting = [
            bool(each.history) and each.history[-1].backlog_packets > 0
            for each in self.parts.values()
        ]
        return all(silent) or any(map(all, zip(silent, waiting, strict=True)))

    @property
    def blackouts(self) -> Mapping[str, Blackout]:
        """The queues that drop every packet although none waits, by their links."""
        found = {link: blackout_of(part.history) for link, part in self.parts.items()}
        return {link: each for link, each in found.items() if each is not None}

    def since(self, time_s: float) -> tuple[Sample, ...]:
        """The samples whose interval ended after ``time_s``, oldest first."""
        return since(self.history, time_s)

    def samples_since_silence(self, time_s: float) -> tuple[Sample, ...]:
        """Samples since then and since the last silence."""
        return self.since(max(time_s, self.silent_s))

    def picture(self) -> TrafficEstimate | None:
        """The traffic as it looks now; ``None`` before the first sample."""
        return self._picture

    def stretch(self, time_s: float) -> Stretch | None:
        """Measurements since then; ``None`` where they are too few."""
        samples, only = self.since(time_s), self._only
        if only is not None:
            goodput = only.activity.goodputs_since(time_s)
            return Stretch.of(samples, only.rate.bit_per_s, goodput)
        pictures = () if self._picture is None else self._picture.parts
        rates = {
            link: each.rate_bit_per_s for link, each in zip(self.parts, pictures, strict=False)
        }
        return Stretch.of(
            samples,
            sum(rate or 0.0 for rate in rates.values()),
            goodputs_of(samples, list(self.flows.values())),
            rates,
        )

    def moments(self, time_s: float, length_s: float) -> Stretch | None:
        """The same in batches that are shorter than seconds; ``None`` of several queues."""
        rate = None if self._only is None else self._only.rate.bit_per_s
        return Stretch(tuple(batches_of(self.since(time_s), rate, length_s))) if rate else None

    def flow_shares(self) -> tuple[FlowShares, ...]:
        """Recent sharing of each queue among its flows, where monitored.

        Flows of different paths are not compared across queues: nothing makes them share.
        """
        shares = [flow_shares(part.activity, link) for link, part in self.parts.items()]
        return tuple(each for each in shares if each is not None)

    # --- what flows got ----------------------------------------------------------------------

    @property
    def open_flows(self) -> int | None:
        """Number of flows present; ``None`` where nobody counts them."""
        if self._only is not None:
            return self._only.activity.open_flows
        return sum(len(each) for each in self.flows.values()) if self.flows else None

    def starved_newcomers(self) -> tuple[int, int] | None:
        """(starved, all) of the flows that came lately; ``None`` where too little is known.

        Nothing of several queues: flows of different paths are not compared.
        """
        return None if self._only is None else self._only.activity.starved_newcomers()

    def turnover(self) -> tuple[int, int]:
        """Flows that have come and that have gone within a minute; none where only once.

        None of several queues: of which path newcomers will be is not foreseen.
        """
        return (0, 0) if self._only is None else self._only.activity.turnover()

    def starved_since(self, time_s: float) -> int | None:
        """Number of flows that got less than :data:`STARVED_SHARE` of the mean since then.

        ``None`` where that is not known, or what was seen so long ago is forgotten.
        """
        if self._only is not None:
            return self._only.activity.starved_since(time_s)
        stretch = self.since(time_s + 1e-6)
        if not self.flows or not stretch:
            return None
        if stretch[0].time_s - 2.0 * stretch[0].interval_s > time_s + 1e-6:
            return None
        numbers = np.sort(np.concatenate(list(self.flows.values())))
        got = np.zeros(len(numbers))
        for sample in stretch:
            if sample.delivered is None:
                return None
            flows, sizes = sample.delivered
            there = is_among(flows, numbers)
            np.add.at(got, np.searchsorted(numbers, flows[there]), sizes[there])
        return int((got < STARVED_SHARE * got.mean()).sum()) if got.any() else None

    # --- what a sample adds up to ------------------------------------------------------------

    def _update_round_trips(
        self,
        path: Path,
        numbers: NDArray[np.int64],
        parts: Mapping[str, QueueSenses],
        samples: Mapping[str, Sample],
        seen: Mapping[str, Observation],
    ) -> BaseRoundTrips:
        """Update the round trips of a path's flows.

        The queues of the path stand as one, in which a packet waits as long as in all of them.
        """
        waiting_s = sending_s = 0.0
        for link in path:
            rate, sample = parts[link].rate.bit_per_s, samples[link]
            if rate is None:
                continue
            waiting_s += 8.0 * sample.backlog_bytes / rate
            if sample.packets > 0:
                sending_s += 8.0 * sample.bytes / sample.packets / rate
        bytes_of = NOMINAL_BIT_PER_S / 8.0
        now_s, interval_s = samples[path[0]].time_s, samples[path[0]].interval_s
        trips = self.trips.get(path, BaseRoundTrips.begin()).with_backlog(
            now_s, waiting_s * bytes_of
        )
        heard = seen[path[0]].round_trips
        if heard is None or interval_s > LONGEST_LEARNT_S:
            return trips
        return trips.updated(
            now_s, interval_s, _only(heard, numbers), NOMINAL_BIT_PER_S, sending_s * bytes_of
        )

    def _estimate(self) -> TrafficEstimate:
        pictures: dict[str, TrafficEstimate] = {}
        for link, part in self.parts.items():
            if part.picture is None:  # it has just given a sample
                message = f"{link} has a sample and no picture"
                raise AssertionError(message)
            pictures[link] = part.picture
        if self._only is not None:
            return pictures[""]
        return self._from_monitors(pictures) if self.flows else self._from_counters(pictures)

    def _from_monitors(self, pictures: Mapping[str, TrafficEstimate]) -> SetEstimate:
        """Estimate from monitors beside all queues."""
        paths = [
            PathTraffic(
                links=path,
                flows=len(numbers),
                base_rtts_s=tuple(self.trips[path].estimates(len(numbers), numbers)),
                packet_bytes=_mean([pictures[link].packet_bytes for link in path]),
            )
            for path, numbers in self.flows.items()
        ]
        paths, left_out = _with_round_trips(paths)
        corrected = {
            link: _of_paths(picture, [path for path in paths if link in path.links])
            for link, picture in pictures.items()
        }
        unknown = []
        if any(len(path.links) > 1 and path.links not in self.configured for path in paths):
            unknown.append(_ORDER_INFERRED)
        if left_out:
            unknown.append(f"{how_many(left_out, 'flow')} left out, with no known round trip")
        return set_estimate(corrected, paths, unknown)

    def _from_counters(self, pictures: Mapping[str, TrafficEstimate]) -> SetEstimate:
        """Estimate from counters alone."""
        counted = flows_on_paths(
            {link: float(picture.flows) for link, picture in pictures.items()}, self.configured
        )
        whole = rounded_to_total(list(counted.values()), round(sum(counted.values())))
        paths = [
            PathTraffic(
                links=path,
                flows=number,
                base_rtts_s=_usual_trips([pictures[link] for link in path], number),
                packet_bytes=_mean([pictures[link].packet_bytes for link in path]),
            )
            for path, number in zip(counted, whole, strict=True)
            if number > 0
        ]
        unknown = _PATHS_CONFIGURED if self.configured else _PATHS_UNKNOWN
        return set_estimate(pictures, paths, (unknown,))


def _state_of(part: QueueSenses) -> LinkState:
    """Return the state of one of several links."""
    state = part.watch.state
    if state.kind == "outage" and part.history and part.history[-1].backlog_packets == 0:
        return replace(state, kind="idle")
    return state


def _with_round_trips(paths: Sequence[PathTraffic]) -> tuple[list[PathTraffic], int]:
    """The paths of which a round trip is known, and how many flows are on none of them.

    A flow that has been seen at some of the queues of a path is probably on its way to the others,
    or next to nothing of it gets there: it counts with those that go all the way.
    """
    known = {path.links: path for path in paths if path.base_rtts_s}
    left_out = 0
    for path in paths:
        if path.base_rtts_s:
            continue
        longer = [links for links in known if set(path.links) <= set(links)]
        if longer:
            with_it = known[min(longer, key=len)]
            known[with_it.links] = replace(with_it, flows=with_it.flows + path.flows)
        else:
            left_out += path.flows
    return list(known.values()), left_out


def _of_paths(picture: TrafficEstimate, paths: Sequence[PathTraffic]) -> TrafficEstimate:
    """A queue's picture with what only all queues together know."""
    flows = sum(path.flows for path in paths)
    trips = tuple(sorted(trip for path in paths for trip in path.base_rtts_s))
    unheard = 1.0 - len(trips) / max(1, flows)
    return replace(
        picture,
        flows=flows,
        base_rtts_s=trips,
        flows_doubt=COUNTED_DOUBT,
        rtts_doubt=MEASURED_DOUBT + UNHEARD_DOUBT * unheard,
        knowledge="full",
    )


def _usual_trips(pictures: Sequence[TrafficEstimate], flows: int) -> tuple[float, ...]:
    """The base round trip that the queues of a path take their flows to have."""
    known = [trip for picture in pictures for trip in picture.base_rtts_s[:1]]
    return (sum(known) / len(known),) * flows if known else ()


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def _only(samples: RttSamples, numbers: NDArray[np.int64]) -> RttSamples:
    """The samples of these flows."""
    mine = is_among(samples.flows, numbers)
    return replace(samples, flows=samples.flows[mine], seconds=samples.seconds[mine])


def _delivered(
    flows: Mapping[Path, NDArray[np.int64]], seen: Mapping[str, Observation]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes that left the last queue of each flow's path."""
    numbers, sizes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for path, mine in flows.items():
        traffic = seen[path[-1]].traffic
        if traffic is not None:
            there = is_among(traffic.flows, mine)
            numbers.append(traffic.flows[there])
            sizes.append(traffic.bytes[there])
    return np.concatenate(numbers), np.concatenate(sizes)


_LATEST = ("time_s", "interval_s")
_TOTALS = (
    *("backlog_before_packets", "backlog_packets", "backlog_bytes"),
    *("packets", "bytes", "drops", "marks"),
)


def _added(
    samples: Mapping[str, Sample], delivered: tuple[NDArray[np.int64], NDArray[np.int64]] | None
) -> Sample:
    """The samples of one interval, added up."""
    parts = tuple(samples.values())
    return Sample(
        **{name: max(getattr(each, name) for each in parts) for name in _LATEST},
        **{name: sum(getattr(each, name) for each in parts) for name in _TOTALS},
        links=tuple(samples),
        queues=parts,
        delivered=delivered,
    )
