"""How senders are assumed to behave, and what is believed of that.

No router exports how its senders react to loss. The kinds that are told apart are listed here, each
with the odds it has before there is evidence; :mod:`vermilion.online.model.calibration` weighs them
by what is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue

_TEMPER = 0.5  # observations of one window are far from independent: a comparison counts for half
_FADE = 0.8  # older comparisons count for less
_HOPELESS = 15.0  # log odds behind the best from which on a kind is no longer simulated


@dataclass(frozen=True, slots=True)
class SenderModel:
    """How senders are assumed to behave.

    Attributes:
        congestion_control: name of a sender.
        parameters: its parameters in their tables' units, where not the defaults.
        option_set: whose defaults those are; ``None`` for the standards'.
    """

    congestion_control: str
    parameters: tuple[tuple[str, ParameterValue], ...] = ()
    option_set: str | None = None

    def in_words(self) -> str:
        """A name for logs: "newreno (window_cap 20)"."""
        given = [name if value is True else f"{name} {value}" for name, value in self.parameters]
        if self.option_set is not None:
            given.insert(0, f"as in {self.option_set}")
        return (
            f"{self.congestion_control} ({', '.join(given)})"
            if given
            else (self.congestion_control)
        )


SENDER_MODELS: dict[SenderModel, float] = {
    SenderModel("cubic", option_set="linux"): 0.0,
    SenderModel("newreno"): -0.5,
    SenderModel("reno"): -1.5,
    SenderModel("newreno", (("delayed_acknowledgements", True),)): -2.0,
    SenderModel("reno", (("delayed_acknowledgements", True),)): -3.5,
    SenderModel("newreno", (("window_cap", 20),)): -4.0,
    SenderModel("reno", (("window_cap", 20),)): -5.0,
    SenderModel("newreno", (("minimum_timeout", 1.0),)): -4.0,
}
"""The kinds that are told apart, with the log odds each has before there is evidence. A kind
that behaves like a likelier one in present conditions (a window cap no window reaches) must
not win by chance, for it will behave differently in others. Whether senders understand marks
is no question of kind: it is seen (:mod:`vermilion.online.model.traffic`)."""


@dataclass(frozen=True, slots=True)
class SenderBelief:
    """What is believed of the senders, from all comparisons so far.

    A value: what teaches it returns the next one.

    Attributes:
        priors: the log odds of each kind before there is evidence.
        evidence: what comparisons have added, 0 for the kind that explains most.
    """

    priors: Mapping[SenderModel, float] = field(default_factory=lambda: SENDER_MODELS)
    evidence: Mapping[SenderModel, float] = field(default_factory=dict)

    @property
    def best(self) -> SenderModel:
        """The kind that explains most."""
        return max(self.priors, key=self.log_odds)

    @property
    def plausible(self) -> list[SenderModel]:
        """The kinds still worth a simulation."""
        return self.within(_HOPELESS)

    def within(self, log_odds: float) -> list[SenderModel]:
        """The kinds at most so far behind the best, in the order of the priors."""
        enough = self.log_odds(self.best) - log_odds
        return [kind for kind in self.priors if self.log_odds(kind) > enough]

    def log_odds(self, kind: SenderModel) -> float:
        """What speaks for a kind, up to a common constant."""
        return self.priors[kind] + self.evidence.get(kind, 0.0)

    def learned(self, likelihoods: Mapping[SenderModel, float]) -> SenderBelief:
        """After one comparison; kinds left out of it explain it as badly as the worst."""
        best, worst = max(likelihoods.values()), min(likelihoods.values())
        evidence = {
            kind: _FADE * self.evidence.get(kind, 0.0)
            + _TEMPER * (likelihoods.get(kind, worst) - best)
            for kind in self.priors
        }
        return SenderBelief(self.priors, evidence)
