"""What objectives of a queue's length have in common: a target, in packets or as a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from vermilion.objectives.fields import TARGET, QueueDelay
from vermilion.objectives.interface import LinkObjective
from vermilion.scenario.errors import FieldError
from vermilion.scenario.quantities import PACKETS, TIME, format_quantity
from vermilion.scenario.queue_target import in_both_units, packets_sent_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario import Scenario


@dataclass(frozen=True)
class QueueTargetObjective(LinkObjective):
    """An objective that holds a queue against a length.

    Attributes:
        target: the length, packets.
        target_delay_s: the time as which it was given, s; ``None`` where it was in packets.
    """

    measures: ClassVar[tuple[str, ...]] = ("queue_packets.mean",)

    target: float = field(metadata=TARGET)
    target_delay_s: float | None = field(default=None, kw_only=True)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], scenario: Scenario) -> Self:
        """The objective, with a target that is a time turned into packets of the link."""
        target = values["target"]
        if not isinstance(target, QueueDelay):
            return super().from_values(values, scenario)
        try:
            packets = packets_sent_in(scenario, values["link"], target.time_s)
        except FieldError as error:
            raise error.under("target") from None
        more = {"target": packets, "target_delay_s": target.time_s}
        return super().from_values({**values, **more}, scenario)

    @property
    def label(self) -> str:
        """The name, and the target where it was given as a time.

        Not the packets: they differ between links for which the same is wanted.
        """
        if self.target_delay_s is None:
            return self.name
        return f"{self.name} from {format_quantity(self.target_delay_s, TIME)}"

    @property
    def target_text(self) -> str:
        """The target in words: "30 packets", or "20 ms, about 25 packets"."""
        if self.target_delay_s is None:
            return format_quantity(self.target, PACKETS)
        return in_both_units(self.target_delay_s, self.target)
