"""Inference of which flows cross which of several queues.

Where a monitor stands beside each queue this is seen: a flow crosses the queues at which its
packets pass. What is not seen is in which order; that is the operator's, or the order in which the
links are configured. Where there are only counters nobody can tell a flow that crosses two queues
from two flows. Then each queue is taken to have flows of its own, or, where the operator has said
which paths there are, as many flows are put on each path as make up what the queues report: the
least squares solution with no number below 0 (Lawson and Hanson, *Solving Least Squares Problems*,
1974), and of many that do equally well the one that spreads them most evenly.

Everything that was seen of several queues, and what it adds up to.

Each queue is sensed by itself (:class:`~vermilion.online.sense.senses.Senses`), from its own
counters and its own monitor. What none of them can know alone is put together here: which flows
cross which queues, and their base round trips, which are what was sampled less the waiting in all
the queues of their path.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.online.sense.flow_activity import is_among
from vermilion.online.sense.link_state import Blackout, WaitingPlace, blackout_of
from vermilion.online.sense.round_trips import BaseRoundTrips
from vermilion.online.sense.sampler import SetSample
from vermilion.online.sense.senses import (
    COUNTED_DOUBT,
    HISTORY_S,
    LONGEST_LEARNT_S,
    MEASURED_DOUBT,
    UNHEARD_DOUBT,
    Senses,
)
from vermilion.online.sense.stretch import STARVED_SHARE, Stretch
from vermilion.online.sense.traffic_estimate import (
    PathTraffic,
    SetEstimate,
    rounded_to_total,
    set_estimate,
)
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.online.sense.flow_activity import FlowActivity, FlowShares
    from vermilion.online.sense.link_state import LinkKind, LinkState
    from vermilion.online.sense.sampler import Sample
    from vermilion.online.sense.traffic_estimate import TrafficEstimate
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
    import numpy as np

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
    import numpy as np
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
class SetActivity:
    """Deliveries to the flows of several queues.

    Attributes:
        flows: the numbers of those that are there.
        history: what was delivered, oldest first.
    """

    flows: tuple[NDArray[np.int64], ...]
    history: tuple[SetSample, ...]

    @property
    def open_flows(self) -> int | None:
        """Number of flows present; ``None`` without monitors."""
        return sum(len(each) for each in self.flows) if self.flows else None

    def starved_newcomers(self) -> tuple[int, int] | None:
        """None: flows of different paths are not compared."""
        return None

    def turnover(self) -> tuple[int, int]:
        """None: of which path newcomers will be is not foreseen."""
        return 0, 0

    def starved_since(self, time_s: float) -> int | None:
        """Number of flows below :data:`STARVED_SHARE` of the mean since then.

        ``None`` where nobody looks at packets, or what was seen so long ago is forgotten.
        """
        import numpy as np

        stretch = self.history[bisect_right(self.history, time_s + 1e-6, key=_end_s) :]
        if not self.flows or not stretch:
            return None
        if stretch[0].time_s - 2.0 * stretch[0].interval_s > time_s + 1e-6:
            return None
        numbers = np.sort(np.concatenate(self.flows))
        got = np.zeros(len(numbers))
        for sample in stretch:
            if sample.delivered is None:
                return None
            flows, sizes = sample.delivered
            there = is_among(flows, numbers)
            np.add.at(got, np.searchsorted(numbers, flows[there]), sizes[there])
        return int((got < STARVED_SHARE * got.mean()).sum()) if got.any() else None


@dataclass(frozen=True, slots=True, eq=False)
class SetSenses:
    """Knowledge of several queues and their traffic; a value.

    Attributes:
        parts: what is known of each queue, by its link.
        trips: base round trips of the flows of each path.
        flows: the numbers of the flows of each path.
        configured: paths that the operator knows.
        history: the samples of the last :data:`HISTORY_S`, oldest first.
        silent_s: when they have seemed silent last.
    """

    parts: Mapping[str, Senses]
    trips: Mapping[Path, BaseRoundTrips]
    flows: Mapping[Path, NDArray[np.int64]]
    configured: tuple[Path, ...]
    history: tuple[SetSample, ...]
    silent_s: float
    _picture: SetEstimate | None

    @classmethod
    def begin(cls, links: Sequence[str], configured: Sequence[Path] = ()) -> SetSenses:
        """Nothing has been seen.

        Args:
            links: whose queues are managed.
            configured: paths that the operator knows.
        """
        parts = {link: Senses.begin() for link in links}
        return cls(parts, {}, {}, tuple(configured), (), -math.inf, None)

    def restarted(self, observation: Observation) -> frozenset[str]:
        """The links of the queues whose counters have fallen since they were last read."""
        return frozenset(
            link
            for link, senses in self.parts.items()
            if senses.restarted(observation.queues[link])
        )

    def after(self, observation: Observation) -> tuple[SetSenses, SetSample | None]:
        """Return the senses after an observation, and the sample that it ends.

        There is a sample where every queue has one: what only some of them saw is not compared.
        """
        parts: dict[str, Senses] = {}
        samples: list[Sample] = []
        for link, senses in self.parts.items():
            parts[link], sample = senses.after(observation.queues[link])
            if sample is not None:
                samples.append(sample)
        if len(samples) < len(parts):
            return replace(self, parts=parts), None
        flows: Mapping[Path, NDArray[np.int64]] = {}
        trips: Mapping[Path, BaseRoundTrips] = {}
        delivered = None
        if all(each.traffic is not None for each in observation.queues.values()):
            at = {link: alive(senses.activity) for link, senses in parts.items()}
            flows = seen_paths(at, self.configured)
            trips = {
                path: self._update_round_trips(path, numbers, parts, samples, observation)
                for path, numbers in flows.items()
            }
            delivered = _delivered(flows, observation)
        sample = _added(tuple(parts), samples, delivered)
        oldest_s = sample.time_s - HISTORY_S
        begin = bisect_right(self.history, oldest_s + 1e-6, key=lambda kept: kept.time_s)
        after = SetSenses(
            parts=parts,
            trips=trips,
            flows=flows,
            configured=self.configured,
            history=(*self.history[begin:], sample),
            silent_s=self.silent_s,
            _picture=None,
        )
        silent_s = sample.time_s if after.seems_silent else self.silent_s
        return replace(after, silent_s=silent_s, _picture=after._estimate()), sample

    @property
    def activity(self) -> SetActivity:
        """Deliveries to the flows."""
        return SetActivity(tuple(self.flows.values()), self.history)

    @property
    def latest(self) -> SetSample | None:
        """The last sample taken."""
        return self.history[-1] if self.history else None

    @property
    def place(self) -> WaitingPlace:
        """Unknown: behind one queue there may be another one of the set."""
        return WaitingPlace()

    @property
    def link_state(self) -> LinkState:
        """State of the links: cut off, or busy, if one of them is.

        Where packets wait at one link and none leave, what the others see is no normal state
        either. A link that nothing waits for is no outage, however many flows there are elsewhere.
        """
        states = {link: _state_of(senses) for link, senses in self.parts.items()}
        link, state = min(states.items(), key=lambda each: _TOLD_FIRST.index(each[1].kind))
        return replace(
            state, words=f"{link}: {state.words}", details={"link": link, **state.details}
        )

    @property
    def seems_silent(self) -> bool:
        """True if a link with a backlog is silent, or all links are."""
        return self._are_cut_off([each.seems_silent for each in self.parts.values()])

    @property
    def may_be_silent(self) -> bool:
        """True if that holds now; it may be an outage."""
        return self._are_cut_off([each.may_be_silent for each in self.parts.values()])

    def _are_cut_off(self, silent: Sequence[bool]) -> bool:
        """Check whether a silent queue has a backlog, or all are silent."""
        waiting = [
            each.latest is not None and each.latest.backlog_packets > 0
            for each in self.parts.values()
        ]
        cut_off = any(each and holds for each, holds in zip(silent, waiting, strict=True))
        return cut_off or all(silent)

    @property
    def blackouts(self) -> Mapping[str, Blackout]:
        """The queues that drop every packet although none waits, by their links."""
        found = {link: blackout_of(senses.history) for link, senses in self.parts.items()}
        return {link: each for link, each in found.items() if each is not None}

    def since(self, time_s: float) -> tuple[SetSample, ...]:
        """The samples whose interval ended after ``time_s``, oldest first."""
        return self.history[bisect_right(self.history, time_s, key=lambda each: each.time_s) :]

    def samples_since_silence(self, time_s: float) -> tuple[SetSample, ...]:
        """Samples since then and since the last silence."""
        return self.since(max(time_s, self.silent_s))

    def picture(self) -> SetEstimate | None:
        """The traffic as it looks now; ``None`` before the first sample."""
        return self._picture

    def stretch(self, time_s: float) -> Stretch | None:
        """Measurements since then; ``None`` where they are too few."""
        rates = {link: part.rate_bit_per_s for link, part in (self._picture or _NOTHING).queues}
        numbers = list(self.flows.values())
        return Stretch.of_set(self.since(time_s), rates, numbers)

    def flow_shares(self) -> tuple[FlowShares, ...]:
        """Recent sharing of each queue among its flows, where monitored.

        Flows of different paths are not compared across queues: nothing makes them share.
        """
        return tuple(
            shares for link, senses in self.parts.items() for shares in senses.flow_shares(link)
        )

    # --- what a sample adds up to ------------------------------------------------------------

    def _update_round_trips(
        self,
        path: Path,
        numbers: NDArray[np.int64],
        parts: Mapping[str, Senses],
        samples: Sequence[Sample],
        observation: Observation,
    ) -> BaseRoundTrips:
        """Update the round trips of a path's flows.

        The queues of the path stand as one, in which a packet waits as long as in all of them.
        """
        of_link = dict(zip(parts, samples, strict=True))
        waiting_s = sending_s = 0.0
        for link in path:
            rate, sample = parts[link].rate.bit_per_s, of_link[link]
            if rate is None:
                continue
            waiting_s += 8.0 * sample.backlog_bytes / rate
            if sample.packets > 0:
                sending_s += 8.0 * sample.bytes / sample.packets / rate
        bytes_of = NOMINAL_BIT_PER_S / 8.0
        now_s, interval_s = of_link[path[0]].time_s, of_link[path[0]].interval_s
        trips = self.trips.get(path, BaseRoundTrips.begin()).with_backlog(
            now_s, waiting_s * bytes_of
        )
        heard = observation.queues[path[0]].round_trips
        if heard is None or interval_s > LONGEST_LEARNT_S:
            return trips
        return trips.updated(
            now_s, interval_s, _only(heard, numbers), NOMINAL_BIT_PER_S, sending_s * bytes_of
        )

    def _estimate(self) -> SetEstimate:
        pictures: dict[str, TrafficEstimate] = {}
        for link, senses in self.parts.items():
            picture = senses.picture()
            if picture is None:  # it has just given a sample
                message = f"{link} has a sample and no picture"
                raise AssertionError(message)
            pictures[link] = picture
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


def _end_s(sample: Sample) -> float:
    return sample.time_s


_NOTHING = SetEstimate(0.0, 0, (), None, None, None)


def _state_of(senses: Senses) -> LinkState:
    """Return the state of one of several links."""
    state, latest = senses.link_state, senses.latest
    if state.kind == "outage" and latest is not None and latest.backlog_packets == 0:
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
    flows: Mapping[Path, NDArray[np.int64]], observation: Observation
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes that left the last queue of each flow's path."""
    import numpy as np

    numbers, sizes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for path, mine in flows.items():
        traffic = observation.queues[path[-1]].traffic
        if traffic is not None:
            there = is_among(traffic.flows, mine)
            numbers.append(traffic.flows[there])
            sizes.append(traffic.bytes[there])
    return np.concatenate(numbers), np.concatenate(sizes)


def _added(
    links: tuple[str, ...],
    samples: Sequence[Sample],
    delivered: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
) -> SetSample:
    """The samples of one interval, added up."""

    def total(name: str) -> int:
        return sum(getattr(each, name) for each in samples)

    return SetSample(
        time_s=max(each.time_s for each in samples),
        interval_s=max(each.interval_s for each in samples),
        backlog_before_packets=total("backlog_before_packets"),
        backlog_packets=total("backlog_packets"),
        backlog_bytes=total("backlog_bytes"),
        packets=total("packets"),
        bytes=total("bytes"),
        drops=total("drops"),
        marks=total("marks"),
        active_flows=None,
        heard_flows=None,
        rtt_samples=None,
        mean_rtt_s=None,
        links=links,
        queues=tuple(samples),
        delivered=delivered,
    )
