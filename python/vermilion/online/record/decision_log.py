"""What the controller says of itself: decisions and settings, told, kept and written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.record.entries import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.online.record.journal import Journal
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue


class DecisionLog:
    """Every decision with its reason, and every setting, in order of time.

    Attributes:
        decisions: all so far.
        settings: (time in s, every parameter in force from then on).
        now_s: the network's time, at which the next entry is made.
    """

    def __init__(
        self, journal: Journal, on_event: Callable[[Decision], object] | None = None
    ) -> None:
        """Args: where everything is written down, and who is told of decisions."""
        self.decisions: list[Decision] = []
        self.settings: list[tuple[float, dict[str, ParameterValue]]] = []
        self.now_s = 0.0
        self._journal = journal
        self._on_event = on_event

    def sample(self, sample: Sample) -> None:
        """Write down a sample; it moves the time on."""
        self.now_s = sample.time_s
        self._journal.sample(sample)

    def decide(self, kind: str, reason: str, **details: object) -> None:
        """Enter a decision."""
        decision = Decision(self.now_s, kind, reason, details)
        self.decisions.append(decision)
        self._journal.decision(decision)
        if self._on_event is not None:
            self._on_event(decision)

    def setting(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Enter the parameters now in force."""
        self.settings.append((self.now_s, dict(parameters)))
        self._journal.setting(self.now_s, parameters)
