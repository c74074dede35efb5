"""A fast line in little: fewer flows, each with fewer packets, and the queue to suit.

Many flows on a part of the rate have the same windows, queueing delays and shares of packets lost
(R. Pan et al., "SHRiNK", INFOCOM 2003). Where few are left, each keeps a part b of its packets
instead: its window grows by b packets in a round trip, CUBIC's C becomes b C, and queues drop as
often in time, so with p / b of the packets. Delays stay as they are, lengths shrink with the rate,
and averages over packets forget as fast in time. CoDel counts drops in time, so that it stays as
it is.

docs/figures/advise_scaled.txt shows how well that agrees with the whole line. PIE's probability
grows by steps that depend on it: its models agree down to a quarter only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from vermilion.advise.question import QueueSetting
    from vermilion.scenario.algorithms import ParameterValue

MOST_SCALE_OF_PIE: Final = 4
_FEWEST_FLOWS: Final = 16
_FEWEST_PACKETS: Final = 8.0
_PACKET_BYTES: Final = 1514.0
_CUBIC_SCALING: Final = 0.4
_NO_LENGTHS: Final = frozenset(
    {"mean_packet_size", "maximum_packet_size", "quantum", "initial_quantum", "burst", "drop_batch"}
)


@dataclass(frozen=True, slots=True)
class ScaledLine:
    """How a condition is simulated in little.

    Attributes:
        flows: so many times fewer flows.
        windows: so many times fewer packets of each.
    """

    flows: int = 1
    windows: int = 1

    @classmethod
    def of(cls, flows: int, scale: int) -> ScaledLine:
        """The model of so many flows on a line that is so many times slower; a power of two."""
        fewer = 1
        while fewer < scale and flows // (2 * fewer) >= _FEWEST_FLOWS:
            fewer *= 2
        return cls(fewer, scale // fewer)

    @property
    def scale(self) -> int:
        """How many times less the line carries."""
        return self.flows * self.windows

    def senders(self, name: str) -> dict[str, Any]:
        """Parameters of senders whose windows are smaller."""
        if self.windows == 1:
            return {}
        slower = {"linear_increase": f"{1.0 / self.windows!r} packets"}
        if name == "cubic":
            return {**slower, "cubic_scaling": _CUBIC_SCALING / self.windows, "dialect": "rfc9438"}
        return slower

    def suits(self, queue: QueueSetting) -> bool:
        """Check whether lengths of a queue still mean some packets in little."""
        table = disciplines()[queue.discipline].parameters
        lengths = [
            float(value) / (1.0 if table[name].unit == "packets" else _PACKET_BYTES)
            for name, value in queue.parameters.items()
            if table[name].unit in {"packets", "bytes"}
            and name not in _NO_LENGTHS
            and isinstance(value, int | float)
        ]
        return self.scale == 1 or all(each >= _FEWEST_PACKETS * self.scale for each in lengths)

    def queue(self, queue: QueueSetting) -> QueueSetting:
        """The queue in little."""
        if self.scale == 1:
            return queue
        table = disciplines()[queue.discipline].parameters

        def value_of(name: str, value: ParameterValue) -> ParameterValue:
            if value is None or isinstance(value, bool | str):
                return value
            if name == "weight":
                return -math.expm1(self.scale * math.log1p(-value)) if value < 1.0 else 1.0
            if name == "weight_log":
                return max(float(round(value - math.log2(self.scale))), 0.0)
            if table[name].unit == "probability":
                return min(1.0, value * self.windows)
            if table[name].unit in {"packets", "bytes"} and name not in _NO_LENGTHS:
                least = 2.0 if table[name].unit == "packets" else 3028.0
                return max(float(round(value / self.scale)), least)
            return value

        own = {name: value_of(name, value) for name, value in queue.parameters.items()}
        return replace(queue, parameters=own)

    def measured(self, metrics: dict[str, float | None]) -> dict[str, float | None]:
        """Metrics of the model in those of the line."""
        factors = {
            "goodput_bit_per_s": float(self.scale),
            "starved_flows": float(self.flows),
            "drop_rate": 1.0 / self.windows,
            "mark_rate": 1.0 / self.windows,
        }
        return {
            name: None if value is None else value * factors.get(name, 1.0)
            for name, value in metrics.items()
        }
