"""What a user asks: which link, which traffic, how long a packet may wait, on which device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

DeviceName = Literal["linux", "sonic", "cisco"]

DEVICES: Final[tuple[DeviceName, ...]] = ("linux", "sonic", "cisco")
"""Kinds of devices that advice is given for."""

ANY: Final = "any"
"""In place of a discipline's name: whichever the device has."""


@dataclass(frozen=True, slots=True)
class Question:
    """A network in ranges, and a wish.

    Attributes:
        rate_bit_per_s: what the bottleneck carries, as its shaper counts it.
        round_trip_s: the shortest and the longest base round trip.
        flows: the fewest and the most long transfers at a time.
        bound_s: what 95 % of the packets may wait at most.
        device: what the queue stands on.
        interface: its name, for the commands; ``None`` for a placeholder.
        parent: the class below a shaper that is there, or another place for the queue; ``None``
            for the root.
        discipline: the one to be tried, in the device's or the simulator's words, or "any".
        ecn: whether the senders understand congestion marks.
        interface_rate_bit_per_s: of the interface itself; ``None`` where it is not known.
        seed: from which all random numbers derive.
        quick: less simulated time.
        harm: changes of what a recommendation may cost, "PATH=MARGIN" or "none" each.
        line_share: the part of the rate that is packets as the simulator counts them; less than 1
            where the line adds to them, like the cells of ATM.
    """

    rate_bit_per_s: float
    round_trip_s: tuple[float, float]
    flows: tuple[int, int]
    bound_s: float
    device: DeviceName = "linux"
    interface: str | None = None
    parent: str | None = None
    discipline: str = ANY
    ecn: bool = False
    interface_rate_bit_per_s: float | None = None
    seed: int = 1
    quick: bool = False
    harm: tuple[str, ...] = ()
    line_share: float = 1.0

    @property
    def bound_ms(self) -> float:
        """The bound in milliseconds."""
        return 1e3 * self.bound_s

    @property
    def simulated_rate_bit_per_s(self) -> float:
        """What is left of the rate for packets."""
        return self.rate_bit_per_s * self.line_share
