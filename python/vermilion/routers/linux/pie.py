"""PIE of Linux (``pie``): the discipline ``pie`` of Vermilion.

Source: net/sched/sch_pie.c and include/net/pie.h (Linux 6.12), tc/q_pie.c (iproute2 6.1), tried
on a Linux 6.12 kernel. As :mod:`.pie_family`, and: it marks only up to a probability of 0.1.

What is read names no dialect. That of Linux differs where a queue begins and where all is dropped
for long. A live queue has begun long ago, but a model of it begins anew each time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from vermilion.routers.linux.attributes import AnswerError
from vermilion.routers.linux.options import refuse_fixed
from vermilion.routers.linux.pie_family import BUILT_IN, PieFamilyOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.linux.options import Parameters, Surroundings

_STATISTICS: Final = struct.Struct("=Q8I")
_COUNTERS: Final = (
    "probability",
    "delay_us",
    "departure_rate",
    "departure_rate_is_estimated",
    "packets_in",
    "dropped",
    "overlimit",
    "longest_queue",
    "ecn_mark",
)


@dataclass(frozen=True, kw_only=True)
class PieOptions(PieFamilyOptions):
    """The options of one ``pie``."""

    kind: ClassVar[str] = "pie"
    discipline: ClassVar[str | None] = "pie"
    built_in: ClassVar[Parameters] = {**BUILT_IN, "mark_probability": 0.1}
    numbers_sent: ClassVar[Mapping[str, int]] = {
        "limit": 2,
        "tupdate_us": 3,
        "target_us": 1,
        "alpha": 4,
        "beta": 5,
        "ecn": 6,
        "bytemode": 7,
        "dq_rate_estimator": 8,
    }

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        return super().request(refuse_fixed(changes, {"dialect": "linux"}, "it is Linux"), around)

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The probability (in units of 2^-64) and the counters; none of kernels before 5.0."""
        if len(told) % 4:
            what, wrong = "statistics of pie", f"{len(told)} bytes, which is no multiple of 4"
            raise AnswerError(what, wrong)
        if len(told) < _STATISTICS.size:
            return {}
        return dict(zip(_COUNTERS, _STATISTICS.unpack_from(told), strict=True))
