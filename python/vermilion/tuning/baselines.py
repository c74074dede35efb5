"""Baselines: the simplest queues that might do what a tuned setting does, on the same seeds.

A tuned discipline is worth its trouble only beside what anybody could have set by hand:

- *Drop-tail with its best limit* for the same objective under the same constraints, found by the
  same search (:func:`vermilion.tuning.model_search.search_best`). Several tuned links share
  one number, their buffers' length in time (:mod:`vermilion.tuning.baselines`).
- *PIE told the target or bound*, and nothing else (:mod:`vermilion.tuning.baselines`); at
  its default where the objective and its constraints ask for no delay. Left out where the device
  does not have it.

Both keep the buffer that is in force, the limit that is searched apart. They are shown and not
recommended, so nothing is asked of them beyond the constraints that are given: what they cost is
to be read off their results. The limit is searched from 2 packets to the largest of the buffer in
force, twice the bandwidth-delay product (no sender fills a link better for more) and four times
the target.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.objectives import NotMeasuredError, feasible_first
from vermilion.profiles import PROFILES, Device
from vermilion.scenario.algorithms import discipline
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.scenario.quantities import PACKETS, SIZE, TIME, format_quantity
from vermilion.scenario.variation import with_queues
from vermilion.scenario.wire import nominal_rate
from vermilion.search import Dimension, Space
from vermilion.simulate.runs import run_many
from vermilion.tuning.earlier_answers import conditions_of
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.model_search import search_best
from vermilion.tuning.simulations import needs_flow_delays
from vermilion.tuning.verdict import mean_violation, on_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.search import Point
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.evaluation import Seeds
    from vermilion.tuning.memory import Runner
    from vermilion.tuning.model_search import SearchOutcome
    from vermilion.tuning.state import ProgressReport


def told_delay(
    scenario: Scenario, link: str, objective: Objective, constraints: Sequence[Constraint]
) -> float | None:
    """Return the delay that PIE would be told at one link, in seconds.

    - An objective with a target in packets: as long as they take to send at the link's rate.
    - A bound on a link's queueing delay or queue ("links.bottleneck.sojourn_ms.p95 <= 20"): the
      bound itself, the tightest of several. That is generous to a percentile, because the
      discipline holds its mean there; a half of it would be a guess.

    Args:
        scenario: gives the rate and the packets.
        link: whose queue it is.
        objective: whose target counts before any bound.
        constraints: among which there may be bounds.

    Returns:
        ``None`` where nothing asks for a delay.
    """
    for part in _summands(objective):
        target = getattr(part, "target", None)
        if link in part.links and isinstance(target, int | float) and target > 0.0:
            return float(target) * packet_seconds(scenario, link)
    return min(_bounds(scenario, link, constraints), default=None)


def packet_seconds(scenario: Scenario, link: str) -> float:
    """Transmission time of a data packet of mean size on a link, in seconds."""
    return 8.0 * mean_packet_bytes(scenario, link) / nominal_rate(scenario, link)


def mean_packet_bytes(scenario: Scenario, link: str) -> float:
    """The mean size of the data packets that cross a link, over its flows; 1000 if none does."""
    groups = [group for group in scenario.flows.values() if link in group.path]
    flows = sum(group.count for group in groups)
    return sum(group.count * group.packet_size for group in groups) / flows if flows else 1000.0


def _summands(objective: Objective) -> Iterator[Objective]:
    """The objective itself, or those that it is a sum of."""
    parts: Iterable[object] = getattr(objective, "parts", ())
    inner = [each for part in parts if (each := getattr(part, "objective", None)) is not None]
    if not inner:
        yield objective
    for each in inner:
        yield from _summands(each)


def _bounds(scenario: Scenario, link: str, constraints: Sequence[Constraint]) -> Iterator[float]:
    """Bounds on a link's delay or queue, in seconds."""
    for constraint in constraints:
        path = constraint.path
        upper = not (constraint.at_least or constraint.of_reference)
        if not upper or (path.room, path.name) != ("links", link) or constraint.bound <= 0.0:
            continue
        if path.metric.startswith("sojourn_ms."):
            yield constraint.bound / 1e3
        elif path.metric.startswith("queue_packets."):
            yield constraint.bound * packet_seconds(scenario, link)


LEAST_PACKETS: Final = 2
"""The shortest queue that is tried: one packet waiting is less than a sender's first burst."""


class SharedBuffer(Space):
    """The box of a buffer's length in time, searched by its logarithm.

    Args:
        packet_s: seconds that one packet takes on each link, by the path of the queue's limit.
        longest_s: the upper end, seconds. Where it is less than the lower end, which is
            :data:`LEAST_PACKETS` on the fastest link, it is raised above that.

    Attributes:
        names: the paths of the limits.
    """

    def __init__(self, packet_s: Mapping[str, float], longest_s: float) -> None:
        shortest = LEAST_PACKETS * min(packet_s.values())
        longest = max(longest_s, 2.0 * shortest)
        super().__init__([Dimension("buffer", shortest, longest, log=True)])
        self._packet_s = dict(packet_s)
        self.names = tuple(packet_s)

    def values(self, point: Point) -> dict[str, float]:
        """The limits in whole packets, by path."""
        [coordinate] = point
        seconds = self.dimensions[0].value(coordinate)
        return {
            path: float(max(round(seconds / packet), LEAST_PACKETS))
            for path, packet in self._packet_s.items()
        }

    def point(self, values: Mapping[str, float]) -> Point:
        """The point of the first limit, which the others follow."""
        path, packet = next(iter(self._packet_s.items()))
        return (self.dimensions[0].coordinate(values[path] * packet),)


BASELINE_BUDGET: Final = 24
"""Limits that the search of drop-tail may try: it has one coordinate, and few whole numbers."""

_DROP_TAIL: Final = "drop-tail"
_PIE: Final = "pie"
_PRODUCTS: Final = 2.0
_TARGETS: Final = 4.0


@dataclass(frozen=True, slots=True)
class Baseline:
    """A simple queue with all its results on the seeds of the comparison.

    Attributes:
        name: label for a table: "drop-tail, limit 31 packets".
        parameters: its setting, by path.
        scenario: with it in place of what is tuned.
        results: one for each seed of the comparison, in order.
    """

    name: str
    parameters: Setting
    scenario: Scenario
    results: tuple[Result, ...]


def simple_baselines(
    scenario: Scenario,
    objective: Objective,
    constraints: Sequence[Constraint] = (),
    *,
    links: Sequence[str],
    seeds: Seeds,
    budget: int = BASELINE_BUDGET,
    device: str | None = None,
    search_seed: int = 1,
    threads: int | None = None,
    workers: Runner | None = None,
    deadline_s: float | None = None,
    progress: ProgressReport | None = None,
) -> tuple[Baseline, ...]:
    """The simple queues in place of what is tuned, each at its best for the objective.

    Args:
        scenario: with the setting in force, to which constraints "of reference" refer.
        objective: the one of the tuning.
        constraints: as the user gave them; the search of drop-tail's limit keeps them.
        links: whose queues are tuned; at least one.
        seeds: those of the tuning: the same for the search, and the same fresh ones.
        budget: limits that the search of drop-tail may try.
        device: a device profile ("linux-red") or a family of them ("linux"); ``None`` for a
            device that has everything.
        search_seed: of the search's random points.
        threads: simulations at a time; ``None`` for one on each core.
        workers: do the longer simulations; ``None`` for this machine.
        deadline_s: wall seconds for all of it.
        progress: called now and then while drop-tail is searched.

    Returns:
        Drop-tail, then PIE; without those that the device does not have, that the objective
        cannot judge (drop-tail has no average queue), or for which time was up.

    Raises:
        ScenarioError: there is no such device.
        NotMeasuredError: the setting in force lacks what the objective is relative to.
    """
    until = None if deadline_s is None else time.monotonic() + deadline_s
    profile = None if device is None else _family_profile(_PIE, device)
    needed = any(needs_flow_delays(each) for each in (objective, *constraints))
    run = _Runs(threads, workers, until, flow_delays=needed)
    in_force: list[Result] = []
    if objective.needs_incumbent or any(each.of_reference for each in constraints):
        in_force = run(scenario, seeds.search)
        if not in_force:
            return ()
    if objective.needs_incumbent:
        objective = objective.relative_to(in_force)
    match = _Match(scenario, objective, constraints, links, seeds)
    pie = None
    if device is None or profile is not None:
        pie = match.pie(run, profile)
    box, starts = match.limits()
    queue = with_queues(
        scenario, {link: {"discipline": _DROP_TAIL, **match.buffer(link)} for link in links}
    )
    held = [on_known(constraint, in_force) for constraint in constraints]
    try:
        outcome = search_best(
            queue,
            box,
            objective,
            held,
            incumbent={path: float(queue.get(path)) for path in box.names},
            seeds=seeds,
            budget=budget,
            deadline_s=run.seconds_left,
            warm_starts=starts,
            search_seed=search_seed,
            threads=threads,
            workers=workers,
            progress=progress,
        )
    except NotMeasuredError:
        drop_tail = None
    else:
        drop_tail = match.drop_tail(queue, outcome, held)
    return tuple(each for each in (drop_tail, pie) if each is not None)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Simulates a scenario while there is time."""

    threads: int | None
    workers: Runner | None
    until: float | None
    flow_delays: bool

    @property
    def seconds_left(self) -> float | None:
        """Wall seconds; ``None`` without a deadline."""
        return None if self.until is None else max(0.0, self.until - time.monotonic())

    def __call__(self, scenario: Scenario, seeds: Sequence[int]) -> list[Result]:
        """Return all results, or none if time was up."""
        if self.seconds_left == 0.0:
            return []
        run = run_many if self.workers is None else self.workers.run_many
        [row] = run(
            [scenario.core_json()],
            seeds,
            threads=self.threads,
            deadline_s=self.seconds_left,
            flow_delays=self.flow_delays,
        )
        results = [result for result in row if result is not None]
        return results if len(results) == len(seeds) else []


@dataclass(frozen=True, slots=True)
class _Match:
    """Arguments of :func:`simple_baselines` that all baselines share."""

    scenario: Scenario
    objective: Objective
    constraints: Sequence[Constraint]
    links: Sequence[str]
    seeds: Seeds

    def pie(self, run: _Runs, profile: str | None) -> Baseline | None:
        """PIE told what is wanted; ``None`` if time was up.

        Args:
            run: simulates.
            profile: of the device that is to have it; ``None`` for any.
        """
        delays = {link: self.delay(link) for link in self.links}
        queue = with_queues(
            self.scenario,
            {
                link: {"discipline": _PIE, **self.buffer(link), **_pie_target(told)}
                for link, told in delays.items()
            },
        )
        paths = [f"links.{link}.queue.target" for link in self.links]
        values = {path: float(queue.get(path)) for path in paths}
        if profile is not None:
            values = Device(profile, queue, paths).nearest(values)
            queue = queue.with_values(values)
        results = run(queue, self.seeds.comparison)
        if not results:
            return None
        times = _ends([format_quantity(value, TIME) for value in sorted(values.values())])
        return Baseline(f"PIE, target {times}", values, queue, tuple(results))

    def drop_tail(
        self, queue: Scenario, outcome: SearchOutcome, held: Sequence[Constraint]
    ) -> Baseline | None:
        """Drop-tail as found, or with the buffer in force where that is better.

        Args:
            queue: drop-tail with that buffer.
            outcome: of its search.
            held: the constraints that it was searched under.
        """
        incumbent = self.evaluation(outcome.incumbent, outcome.incumbent_results, held)
        scale = self.objective.size_of(incumbent.objective) or 1.0

        def value(results: Sequence[Result]) -> float:
            evaluation = self.evaluation({}, results, held)
            violation = mean_violation(held, evaluation, incumbent)
            return feasible_first(evaluation.objective, violation, scale)

        met = [
            (setting, results)
            for setting, results in (
                (outcome.best, outcome.best_results),
                (outcome.incumbent, outcome.incumbent_results),
            )
            if setting is not None and results
        ]
        if not met:
            return None
        setting, results = min(met, key=lambda each: value(each[1]))
        name = f"drop-tail, limit {_ends(self._limits(setting))}"
        return Baseline(name, setting, queue.with_values(setting), tuple(results))

    def evaluation(
        self, setting: Setting, results: Sequence[Result], constraints: Sequence[Constraint]
    ) -> Evaluation:
        """Evaluate results of the first seeds of the comparison."""
        evaluation = Evaluation(setting)
        for seed, result in zip(self.seeds.comparison, results, strict=False):
            evaluation.add(seed, result, self.objective, constraints)
        return evaluation

    def delay(self, link: str) -> float | None:
        """Delay to tell PIE at a link, in seconds."""
        return told_delay(self.scenario, link, self.objective, self.constraints)

    def buffer(self, link: str) -> dict[str, str]:
        """The buffer in force as a queue's table says it, in packets; none where it has none."""
        packets = self._current_buffer(link)
        return {} if packets is None else {"limit": f"{packets} packets"}

    def limits(self) -> tuple[SharedBuffer, list[dict[str, float]]]:
        """The box in which drop-tail's limit is searched, and where to begin."""
        packet_s = {
            f"links.{link}.queue.limit": packet_seconds(self.scenario, link) for link in self.links
        }
        longest = 0.0
        starts = []
        conditions = conditions_of(
            self.scenario, [f"links.{link}.queue" for link in self.links], self.objective
        )
        for (path, packet), link in zip(packet_s.items(), self.links, strict=True):
            at_hand = conditions.links[link]
            in_force = (self._current_buffer(link) or 0) * packet
            wanted = self.delay(link) or 0.0
            trip = at_hand.round_trip_s
            longest = max(longest, in_force, _PRODUCTS * trip, _TARGETS * wanted)
            # What is asked for, what many flows need to fill the link (G. Appenzeller, I. Keslassy
            # and N. McKeown, "Sizing Router Buffers", SIGCOMM 2004), and what one needs.
            guesses = (wanted, trip / math.sqrt(max(at_hand.flows, 1.0)), trip)
            starts += [(path, guess / packet) for guess in guesses if guess > 0.0]
        box = SharedBuffer(packet_s, longest)
        first = box.names[0]
        points = [
            box.values(box.point({first: packets * packet_s[path] / packet_s[first]}))
            for path, packets in starts
        ]
        return box, points

    def _current_buffer(self, link: str) -> int | None:
        """The buffer in force in packets; ``None`` where the discipline has no limit."""
        queue = self.scenario.links[link].queue
        values = queue.algorithm.complete(queue.parameters)
        sizes = []
        for name in ("limit", "limit_bytes"):
            value = values.get(name)
            if isinstance(value, int | float):
                in_bytes = queue.algorithm.parameters[name].dimension is SIZE
                sizes.append(value / mean_packet_bytes(self.scenario, link) if in_bytes else value)
        return max(round(min(sizes)), 1) if sizes else None

    @staticmethod
    def _limits(setting: Setting) -> list[str]:
        limits = sorted(value for value in setting.values() if value is not None)
        return [format_quantity(value, PACKETS) for value in limits]


def _pie_target(delay_s: float | None) -> dict[str, str]:
    """Return PIE's table entry for a delay."""
    if delay_s is None:
        return {}
    parameter = discipline(_PIE).parameters["target"]
    most = math.inf if parameter.maximum is None else parameter.maximum
    return {"target": str(parameter.exact_text(min(delay_s, most)))}


def _ends(texts: Sequence[str]) -> str:
    """The first and the last, or the only one."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def _family_profile(name: str, device: str) -> str | None:
    """The profile of a device's family that can set a discipline; ``None`` if it has none.

    Raises:
        ScenarioError: there is no such profile or family.
    """
    family = [each for each in PROFILES if _family(each) == _family(device)]
    if not family or device not in {*family, _family(device)}:
        known = did_you_mean(device, {*PROFILES, *map(_family, PROFILES)})
        raise ScenarioError("device", device, known)
    return next((each for each in family if name in PROFILES[each].settable), None)


def _family(profile: str) -> str:
    """The kind of device: "linux" of "linux-red"."""
    return profile.partition("-")[0]
