"""Measurement of queues in the conditions, by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from vermilion.advise.conditions import (
    CALL,
    CALL_PACKET_BYTES,
    LINK,
    WEB,
    most_goodput,
    network,
)
from vermilion.advise.margins import METRICS as MARGIN_METRICS
from vermilion.advise.margins import margins_for
from vermilion.advise.metrics import (
    CALL_DELAY,
    CALL_LOSS,
    SHORT_TRANSFER,
    SPARSE,
    sparse_points,
)
from vermilion.advise.scaled_line import ScaledLine
from vermilion.advise.timekeeping import Timekeeper
from vermilion.simulate import metric_of
from vermilion.tuning.simulations import Batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.advise.conditions import Condition
    from vermilion.advise.question import Question, QueueSetting
    from vermilion.objectives.constraint import Constraint
    from vermilion.simulate import Result

Metrics = dict[str, float]
"""Of one run; a number that cannot be computed is absent."""

METRICS: Final[Mapping[str, str]] = {
    "delay_p50_ms": "ms",
    "delay_p95_ms": "ms",
    "delay_p99_ms": "ms",
    "goodput_bit_per_s": "bit/s",
    "jain_index": "",
    "starved_flows": "",
    "drop_rate": "",
    "mark_rate": "",
    "utilization": "",
    SHORT_TRANSFER: "s",
    CALL_DELAY: "ms",
    CALL_LOSS: "",
    SPARSE: "",
}
"""Metrics told of a condition, and their units. Short transfers are in one of them."""

WORK: Final[Mapping[str, float]] = {
    "drop-tail": 1.0,
    "linux-red": 0.9,
    "wred": 1.3,
    "codel": 1.5,
    "pie": 1.5,
    "fq": 1.8,
    "fq-codel": 1.8,
    "fq-pie": 1.8,
    "cake": 2.2,
}
"""What a packet costs in each queue, by the simplest: measured once, and part of the answer."""

_MOST_WORK: Final = 2.2

USUAL_WORK: Final[Mapping[str, float]] = {"linux": 1.6, "sonic": 1.3, "cisco": 1.3}
"""What it costs on average over what a device has, as plans are made."""


@dataclass(slots=True)
class Measured:
    """A queue on seeds, in each of some conditions.

    Attributes:
        queue: which.
        runs: for each condition the metrics with each seed.
    """

    queue: QueueSetting
    runs: dict[Condition, list[Metrics]] = field(default_factory=dict)

    def values(self, at: Condition, name: str) -> list[float]:
        """A metric with each seed that has it."""
        return [run[name] for run in self.runs[at] if name in run]

    def mean(self, at: Condition, name: str) -> float | None:
        """Its mean over the seeds; ``None`` where no run has it."""
        values = self.values(at, name)
        return math.fsum(values) / len(values) if values else None

    def p95_ms(self, at: Condition) -> float:
        """The 95th percentile of the queueing delay; without end where no packet came through."""
        value = self.mean(at, "delay_p95_ms")
        return math.inf if value is None else value

    def goodput(self, at: Condition) -> float:
        """Bits that arrived for good in a second, of all flows."""
        return self.mean(at, "goodput_bit_per_s") or 0.0

    def means(self, at: Condition) -> dict[str, float]:
        """The means of all metrics that were measured."""
        found = {name: self.mean(at, name) for name in METRICS}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def seeds(self) -> int:
        """Number of seeds that it has met in every condition."""
        return min(map(len, self.runs.values()), default=0)

    def first(self, count: int) -> Measured:
        """The same with so many seeds."""
        return self._with(slice(count))

    def only(self, number: int) -> Measured:
        """The same with one of the seeds, counted from 0."""
        return self._with(slice(number, number + 1))

    def _with(self, seeds: slice) -> Measured:
        return Measured(self.queue, {at: runs[seeds] for at, runs in self.runs.items()})

    def extend(self, other: Measured) -> None:
        """Takes in what further runs have shown."""
        for at, runs in other.runs.items():
            self.runs.setdefault(at, []).extend(runs)


@dataclass(slots=True)
class Laboratory:
    """Simulates, and keeps the account of it.

    Attributes:
        question: of which the networks are made.
        threads: runs at a time; ``None`` for one on each core.
        progress: told what part of the packets that are meant to be simulated is done.
        budget: these packets; of a queue that does more work than the simplest each counts more.
        spent: those so far.
        time: when to stop.
        batches: of its runs.
    """

    question: Question
    threads: int | None
    progress: Callable[[float], object] | None
    budget: float
    spent: float = 0.0
    time: Timekeeper = field(default_factory=Timekeeper)
    batches: Batches = field(init=False)

    def __post_init__(self) -> None:
        self.batches = Batches(self.threads, flow_delays=True, clock=self.time.clock)

    def measure(
        self,
        queues: Sequence[QueueSetting],
        conditions: Sequence[Condition],
        seeds: Sequence[int],
        length: float,
    ) -> list[Measured]:
        """Every queue in every condition, with as many of the seeds as there is time for.

        All have met the same ones, which are the first.

        Raises:
            ScenarioError: a queue that is not accepted.
        """
        places = [(queue, at) for queue in queues for at in conditions]
        texts = [self._text(queue, at, length) for queue, at in places]
        costs = [
            WORK.get(queue.discipline, _MOST_WORK) * at.cost(self.question, length)
            for queue, at in places
        ]
        each = math.fsum(costs) / max(len(costs), 1)

        def report(done: int) -> None:
            if self.progress is not None:
                self.progress(min((self.spent + done * each) / self.budget, 1.0))

        begun = self.time.clock()
        results = self.time.simulated(
            lambda until: self.batches.simulate_in_step(texts, seeds, until=until, progress=report)
        )
        met = min(map(len, results), default=0)
        spent = math.fsum(costs * met)
        self.time.count(self.time.clock() - begun, spent)
        self.spent += spent
        self.time.was_up = self.time.was_up or (bool(results) and met < len(seeds))
        besides = [
            each.bound
            for each in margins_for(self.question)
            if each.bound and each.metric not in MARGIN_METRICS.values()
        ]
        rows = iter(results)
        return [
            Measured(
                queue,
                {
                    at: [_metrics(result, self.question, at, besides) for result in row]
                    for at, row in zip(conditions, rows, strict=False)
                    if met
                },
            )
            for queue in queues
        ]

    def _text(self, queue: QueueSetting, at: Condition, length: float) -> str:
        core = network(self.question, at, queue, length).core()
        return replace(core, flow_delays=True).to_json()

    def cost(
        self, conditions: Iterable[Condition], length: float, queues: int, seeds: int
    ) -> float:
        """Cost of :meth:`measure`, estimated for the device's usual queues."""
        each = USUAL_WORK[self.question.device]
        once = math.fsum(at.cost(self.question, length) for at in conditions)
        return each * queues * seeds * once

    def length_for(
        self, conditions: Sequence[Condition], queues: int, seeds: int, packets: float
    ) -> float:
        """The greatest length from 0 to 1 at which a measurement costs at most so many packets.

        0, the least there is, may cost more than that.
        """
        if self.cost(conditions, 1.0, queues, seeds) <= packets:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(20):
            middle = 0.5 * (low + high)
            fits = self.cost(conditions, middle, queues, seeds) <= packets
            low, high = (middle, high) if fits else (low, middle)
        return low


def _metrics(
    result: Result, question: Question, at: Condition, besides: Sequence[Constraint] = ()
) -> Metrics:
    """Metrics of a run.

    More than the line carries can arrive for good in a window: what came before it, and waited at a
    receiver until a lost packet was repaired. It is no gain, and is not counted.
    """
    model = ScaledLine.of(at.flows, question.scale)
    link = result.link(LINK).total
    flows = {name: result.flows(name).total for name in result.groups}
    found: dict[str, float | None] = {
        "delay_p50_ms": metric_of(link, "sojourn_ms.p50"),
        "delay_p95_ms": metric_of(link, "sojourn_ms.p95"),
        "delay_p99_ms": metric_of(link, "sojourn_ms.p99"),
        "goodput_bit_per_s": min(
            math.fsum(
                metric_of(group, "goodput_bit_per_s.total") or 0.0 for group in flows.values()
            ),
            most_goodput(question) / model.scale,
        ),
        "drop_rate": metric_of(link, "drop_rate"),
        "mark_rate": metric_of(link, "mark_rate"),
        "utilization": metric_of(link, "utilization"),
    }
    if WEB in flows:
        found[SHORT_TRANSFER] = metric_of(flows[WEB], "completion_time_s.mean")
    wait = _waiting_ms(flows[CALL], question, at)
    lost = metric_of(flows[CALL], "packet_loss_rate")
    lost = None if lost is None else lost / model.windows
    found |= {
        CALL_DELAY: wait,
        CALL_LOSS: lost,
        SPARSE: sparse_points(wait, lost, question.bound_ms),
    }
    long = [group for name, group in flows.items() if "jain_index" in group and name != CALL]
    found["jain_index"] = _jain_index(long)
    if long and all("starved" in group for group in long):
        found["starved_flows"] = math.fsum(group["starved"] for group in long)
    found = model.measured(found)
    for each in besides:
        [window] = each.path.windows(result, "total")
        found[str(each.path)] = each.path.value(window)
    return {name: value for name, value in found.items() if value is not None}


def _waiting_ms(call: Mapping[str, Any], question: Question, at: Condition) -> float | None:
    """95th percentile of the wait of a call's packets that arrive, ms."""
    delay = metric_of(call, "delay_ms.p95")
    on_the_way_s = (
        0.5 * at.round_trip_s + 8.0 * CALL_PACKET_BYTES / question.simulated_rate_bit_per_s
    )
    return None if delay is None else max(delay - 1e3 * on_the_way_s, 0.0)


def _jain_index(groups: Sequence[Mapping[str, Any]]) -> float | None:
    """Jain's index of all flows of some groups: (sum x)^2 / (n sum x^2).

    Of a group with n flows that get S together and have the index J, the squares add up to
    S^2 / (n J).
    """
    sums = [metric_of(group, "goodput_bit_per_s.total") or 0.0 for group in groups]
    counts = [int(group["flows"]) for group in groups]
    squares = math.fsum(
        each**2 / (count * group["jain_index"])
        for each, count, group in zip(sums, counts, groups, strict=True)
        if each > 0.0 and count > 0
    )
    return math.fsum(sums) ** 2 / (sum(counts) * squares) if squares > 0.0 else None
