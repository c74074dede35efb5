"""Question of a user (link, traffic, bound, device), and the setting of a queue."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from vermilion.files.document import document
from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.algorithms import ParameterValue


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
        scale: how many times slower the line is that is simulated in its place; a power of two.
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
    scale: int = 1

    @property
    def bound_ms(self) -> float:
        """The bound in milliseconds."""
        return 1e3 * self.bound_s

    @property
    def percentile(self) -> int:
        """Part of the packets that the bound is for, percent."""
        return 95

    @property
    def round_trip_ms(self) -> tuple[float, float]:
        """The round trips in milliseconds."""
        return 1e3 * self.round_trip_s[0], 1e3 * self.round_trip_s[1]

    @property
    def packet_rate_bit_per_s(self) -> float:
        """Rate that is left for packets, bit/s."""
        return self.rate_bit_per_s * self.line_share

    @property
    def simulated_rate_bit_per_s(self) -> float:
        """The same of the line that is simulated."""
        return self.packet_rate_bit_per_s / self.scale


@document("discipline=kind simulated_as=discipline parameters parameters_text=readable")
@dataclass(frozen=True, slots=True)
class QueueSetting:
    """Queue discipline with those of its parameters that are given.

    Attributes:
        label: what it is called: the device's word for its kind, and where it comes from.
        kind: the device's word alone, like "fq_codel" or "wred".
        discipline: the simulator's name.
        parameters: in their tables' units; those left out have their defaults.
        tuned: names of those that a search has chosen.
        each_flow: packets that may wait of one flow; ``None`` for as many as the buffer holds.
    """

    label: str
    kind: str
    discipline: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    tuned: tuple[str, ...] = ()
    each_flow: float | None = None

    def table(self) -> dict[str, Any]:
        """Table of a scenario, which reads back as the same numbers."""
        table = disciplines()[self.discipline].parameters
        own = {name: table[name].exact_text(value) for name, value in self.parameters.items()}
        return {"discipline": self.discipline, **own}

    def readable(self) -> dict[str, str]:
        """The parameters given, as a person would write them: fractions with four digits."""
        table = disciplines()[self.discipline].parameters
        return {
            name: table[name].readable(_short(value)) for name, value in self.parameters.items()
        }

    @property
    def keeps_apart(self) -> bool:
        """True if each flow has a queue of its own."""
        return self.discipline == "cake" or self.discipline.startswith("fq")

    @property
    def same_as(self) -> tuple[str, tuple[tuple[str, ParameterValue], ...], float | None]:
        """Key that is equal for settings that behave alike, whatever their names."""
        table = disciplines()[self.discipline].complete(self.parameters)
        return self.discipline, tuple(table.items()), self.each_flow

    def among(self, flows: int) -> QueueSetting:
        """The same with so many flows: a limit of each bounds what all of them can fill.

        A fair queue that is full drops from the flow with most packets. So flows that all fill
        their parts have equal ones, as if each had that limit.
        """
        if self.each_flow is None:
            return self
        most = self.each_flow * flows
        limit = self.parameters.get("limit")
        fewest = most if limit is None else min(float(limit), most)
        return replace(self, parameters={**self.parameters, "limit": fewest})


def _short(value: ParameterValue) -> ParameterValue:
    return float(f"{value:.4g}") if isinstance(value, float) and value % 1.0 else value
