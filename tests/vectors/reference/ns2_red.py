"""RED as ns-2.35 runs it: the machine. Its cases are in `ns2_red_cases`.

The rules, for a packet that meets a queue of q (packets; bytes in byte mode):

- If the link is idle, m = whole packets of the mean size that it could have sent since it fell
  idle, otherwise m = 0: average <- (1 - weight)^m average. Then, always, average <-
  (1 - weight) average + weight q.
- The packet is counted, whatever the average. In byte mode thresholds and limit are multiplied by
  the mean packet size, and the count is bytes divided by the mean packet size, rounded down.
- Early drops only if average >= min_threshold and q > 1. Otherwise the discipline is out of its
  range and the probability is 0.
- The first packet in the range after one out of it is not tested; the count begins with it.
- p, the probability: in a line from 0 at min_threshold to max_probability at max_threshold; from
  there on 1; gentle: from max_threshold on (1 - m) / max_threshold average + 2 m - 1 with m the
  initial max_probability, but at most 1.
- Spaced, with c the count: p / (1 - c p), or 1 if c p >= 1; with wait 0 if c p < 1, p / (2 - c p)
  if c p < 2, otherwise 1. In byte mode what is below 1 is multiplied by the packet's size over the
  mean, and is at most 1. The packet is chosen if a coin is at most that; the count is then 0.
- A chosen packet is marked if ecn is on, it is ECN-capable and p is below mark_probability;
  otherwise it is dropped: forced if p is 1, early if it is less.
- A queue at its limit drops the packet whatever was decided; the count is then 0.

Automatic values, with C the packets of the mean size per second: weight 1 - exp(-1 / n) with n the
packets in ten round trips (a round trip is 3 (delay + 1 / C), at least 0.1 s), in a second, or in a
tenth of a second; min_threshold the larger of 5 and target_delay C / 2; max_threshold three times
min_threshold.
"""

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from exact import ONE, ZERO, Comparison, one_minus_exponential, power
from vector_file import Arrival, Link, Parameters

BILLION = Decimal(10) ** 9


class Ns2Red:
    """The reference; `adapt` is where the disciplines built on it differ."""

    DEFAULTS: ClassVar[Parameters] = {
        "limit": 100.0,
        "min_threshold": None,
        "max_threshold": None,
        "max_probability": 0.1,
        "weight": None,
        "automatic_weight": "round-trip",
        "gentle": True,
        "wait": True,
        "byte_mode": False,
        "mean_packet_size": 1000.0,
        "ecn": True,
        "mark_probability": 0.1,
        "target_delay": 0.005,
    }

    def __init__(self, parameters: Parameters, link: Link, comparison: Comparison) -> None:
        self.compare = comparison
        self.average = ZERO
        self._probability = ZERO
        self._count = 0
        self._count_bytes = 0
        self._in_range = False
        self._settled: str | None = None
        self._given_probability = ZERO
        self.reconfigure(parameters, link)

    def reconfigure(self, parameters: Parameters, link: Link) -> None:
        self._drop = parameters.get("drop", "tail")
        number = {
            name: Decimal(str(value))
            for name, value in parameters.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        self._on = {name for name, value in parameters.items() if value is True}
        self._mean_size = number["mean_packet_size"]
        pace = link.packets_per_second(self._mean_size)
        self._pace = pace
        weight = number.get("weight")
        if weight is None:
            packets = {
                "round-trip": 10 * max(Decimal("0.1"), 3 * (link.delay + 1 / pace)) * pace,
                "second": pace,
                "tenth-second": pace / 10,
            }[str(parameters["automatic_weight"])]
            weight = one_minus_exponential(1 / packets)
        self._weight = weight
        low = number.get("min_threshold")
        if low is None:
            low = max(Decimal(5), number["target_delay"] * pace / 2)
        high = number.get("max_threshold", 3 * low)
        unit = self._mean_size if "byte_mode" in self._on else ONE
        self.low, self.high, self._limit = low * unit, high * unit, number["limit"] * unit
        # What an adaptation has learnt stays, unless the setting itself is a new one.
        if number["max_probability"] != self._given_probability:
            self.max_probability = self._given_probability = number["max_probability"]
        self._mark_probability = number["mark_probability"]
        self._line_from_high = (
            (ONE - self._given_probability) / self.high,
            2 * self._given_probability - ONE,
        )

    def adapt(self, now_ns: int) -> None:
        """Moves `max_probability` after each change of the average; here not at all."""

    def arrive(self, arrival: Arrival, coin: Callable[[], Decimal]) -> tuple[str, str | None]:
        if self._settled is not None:
            # Another packet went for this one.
            settled, self._settled = self._settled, None
            return settled, None
        queue = arrival.queue_bytes if "byte_mode" in self._on else arrival.queue_packets
        self._measure(arrival, queue)
        self.adapt(arrival.time_ns)
        self._count += 1
        self._count_bytes += arrival.size_bytes
        answer = self._decide(arrival, queue, coin)
        if queue >= self._limit:
            self._restart(0, 0)
            return self._overflow(arrival, coin, "mark" if answer[0] == "mark" else "accept")
        return answer

    def _overflow(
        self, arrival: Arrival, coin: Callable[[], Decimal], otherwise: str
    ) -> tuple[str, str | None]:
        """Who goes of the packets that wait (from place 0) and the one that arrives (last place).

        From the front it is place 1, or 0 if that is all there is. Who arrives then joins, marked
        if that had been its lot.
        """
        waiting = arrival.queue_packets
        place = {"front": min(1, waiting), "random": None}.get(self._drop, waiting)
        if place is None:
            place = int(coin() * (waiting + 1))
        if place == waiting:
            return "drop", "overflow"
        self._settled = otherwise
        return f"make-room {place}", "overflow"

    def figures(self) -> dict[str, Decimal | None]:
        unit = self._mean_size if "byte_mode" in self._on else ONE
        return {
            "average_queue_packets": self.average / unit,
            "drop_probability": self._probability,
        }

    def _measure(self, arrival: Arrival, queue: int) -> None:
        if arrival.idle_since_ns is not None:
            idle = (arrival.time_ns - arrival.idle_since_ns) * self._pace / BILLION
            self.average *= power(ONE - self._weight, Decimal(self.compare.whole_part(idle)))
        self.average = (ONE - self._weight) * self.average + self._weight * queue

    def _decide(
        self, arrival: Arrival, queue: int, coin: Callable[[], Decimal]
    ) -> tuple[str, str | None]:
        if self.compare.below(self.average, self.low) or queue <= 1:
            self._in_range = False
            self._probability = ZERO
            return "accept", None
        if not self._in_range:
            self._in_range = True
            self._restart(1, arrival.size_bytes)
            return "accept", None
        self._probability = self._line()
        if not self.compare.at_most(coin(), self._spaced(arrival.size_bytes)):
            return "accept", None
        self._restart(0, 0)
        markable = "ecn" in self._on and arrival.ecn_capable
        # A probability of 1 is exact, and below no bound.
        rare = self._probability != ONE and self.compare.below(
            self._probability, self._mark_probability
        )
        if markable and rare:
            return "mark", None
        return "drop", "forced" if self._probability == ONE else "early"

    def _restart(self, packets: int, octets: int) -> None:
        self._count = packets
        self._count_bytes = octets

    def _line(self) -> Decimal:
        if self.compare.below(self.average, self.high):
            return self.max_probability * (self.average - self.low) / (self.high - self.low)
        if "gentle" not in self._on:
            return ONE
        slope, offset = self._line_from_high
        line = slope * self.average + offset
        return line if self.compare.below(line, ONE) else ONE

    def _spaced(self, size: int) -> Decimal:
        p = self._probability
        count = self._count_bytes // self._mean_size if "byte_mode" in self._on else self._count
        passed = count * p
        # With p = 1 these are whole numbers, exact in every arithmetic.
        below = operator.lt if p == ONE else self.compare.below
        if "wait" not in self._on:
            spaced = p / (ONE - passed) if below(passed, ONE) else ONE
        elif below(passed, ONE):
            spaced = ZERO
        else:
            spaced = p / (2 - passed) if below(passed, Decimal(2)) else ONE
        if "byte_mode" in self._on and spaced < ONE:
            spaced *= size / self._mean_size
        return min(spaced, ONE)
