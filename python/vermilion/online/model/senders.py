"""Models of senders, and belief in them.

No router exports how its senders react to loss. The kinds that are told apart are listed here, each
with the odds it has before there is evidence; :mod:`vermilion.online.model.explanation` weighs them
by what is seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue

_TEMPER = 0.5  # observations of one window are far from independent: a comparison counts for half
_FADE = 0.8  # older comparisons count for less
_HALF_LIFE_S = 30.0  # of evidence that nothing confirms
_WITHOUT_SELECTIVE = ("tahoe", "reno", "newreno")
_ALWAYS_CAPABLE = ("dctcp", "prague")  # without marks they are Reno
_HOPELESS = 15.0  # log odds behind the best from which on a kind is no longer simulated
_NEARLY_ALL = 0.9  # of the flows: the rest may have lost nothing yet
_TOLD_APART = 0.95  # how likely a kind must be before the log says that it is this one


@dataclass(frozen=True, slots=True)
class SenderModel:
    """Assumed behaviour of senders.

    Attributes:
        congestion_control: name of a sender.
        parameters: its parameters in their tables' units, where not the defaults.
        option_set: whose defaults those are; ``None`` for the standards'.
        beside: how half of the senders behave, where not all are alike.
        unresponsive_share: the part of the link's rate that comes whatever is lost, beyond what
            a monitor has told apart.
        two_sizes: whether half of the flows send packets three times as large as the others'.
    """

    congestion_control: str
    parameters: tuple[tuple[str, ParameterValue], ...] = ()
    option_set: str | None = None
    beside: SenderModel | None = None
    unresponsive_share: float = 0.0
    two_sizes: bool = False

    def describe(self) -> str:
        """Describe the senders for logs: "newreno (window_cap 20) senders"."""
        words = f"{self.name()} senders"
        if self.beside is not None:
            words = f"{self.name()} and {self.beside.name()} senders, half of each"
        if self.two_sizes:
            words += ", with packets of two sizes"
        if self.unresponsive_share > 0.0:
            words += f", beside {100.0 * self.unresponsive_share:.0f} % that no loss slows down"
        return words

    def may_be(self, *, marked: bool, selective: bool) -> bool:
        """Check whether this kind is plausible.

        Marks make a window of the standards alone smaller than any of Linux gets. So behind a queue
        that marks, a kind of theirs explains a queue that flows have been shut out of, and promises
        what Linux's senders cannot do. Who acknowledges selectively is a system of today.

        Args:
            marked: whether flows are marked.
            selective: whether nearly all of them are acknowledged selectively.
        """
        if self.needs_marks:
            return marked
        return self.option_set is not None or not (marked and selective)

    @property
    def needs_marks(self) -> bool:
        """True where the kind requires marks."""
        return self.always_capable or (self.beside is not None and self.beside.always_capable)

    @property
    def always_capable(self) -> bool:
        """True for congestion controls that always use ECN."""
        return self.congestion_control in _ALWAYS_CAPABLE

    @property
    def selective(self) -> bool:
        """True where all senders use selective acknowledgements."""
        mine = self.congestion_control not in _WITHOUT_SELECTIVE
        return mine and (self.beside is None or self.beside.selective)

    def is_called_alike(self, other: SenderModel) -> bool:
        """Check whether this kind's name in a log also fits the other kind.

        Who is named with what is not usual is only this one; a plain name is that of all dialects.
        """
        if self != SenderModel(self.congestion_control):
            return self == other
        return self.congestion_control == other.congestion_control and other.beside is None

    def name(self) -> str:
        """Congestion control and unusual parameters: "newreno (window_cap 20)"."""
        given = [name if value is True else f"{name} {value}" for name, value in self.parameters]
        if self.option_set is not None:
            given.insert(0, f"as in {self.option_set}")
        return (
            f"{self.congestion_control} ({', '.join(given)})" if given else self.congestion_control
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

SELECTIVE: dict[SenderModel, float] = {
    SenderModel("cubic", option_set="linux"): 0.0,
    SenderModel("sack", option_set="linux"): -0.5,
    SenderModel("sack", (("window_cap", 20),), "linux"): -4.0,
}
"""What is told apart instead where selective acknowledgements have been seen, with the log odds
before there is other evidence. NewReno without them explains the same counters in some conditions,
and does otherwise under other settings: it stalls where a burst is lost. Who has them is a system
of today, so that the rest of its behaviour is Linux's too; by the standards alone, for one, marks
make a window smaller than any of Linux gets."""

_CUBIC = SenderModel("cubic", option_set="linux")
_BBR = SenderModel("bbr", option_set="linux")
_BBR1 = SenderModel("bbr1", option_set="linux")
_DCTCP = SenderModel("dctcp", option_set="linux")
_PRAGUE = SenderModel("prague", option_set="linux")
_SACK = SenderModel("sack", option_set="linux")

WIDER: dict[SenderModel, float] = {
    SenderModel("sack", option_set="linux"): -3.0,
    SenderModel("newreno", option_set="linux"): -4.0,
    SenderModel("reno", option_set="linux"): -4.0,
    SenderModel("cubic"): -4.0,
    _DCTCP: -4.0,
    SenderModel("dctcp"): -5.0,
    _BBR1: -3.5,
    _BBR: -4.0,
    replace(_CUBIC, beside=SenderModel("newreno", option_set="linux")): -5.0,
    replace(_CUBIC, beside=_BBR1): -4.5,
    replace(_CUBIC, beside=_BBR): -5.0,
    replace(_CUBIC, beside=_DCTCP): -5.0,
    _PRAGUE: -4.5,
    replace(_CUBIC, beside=_PRAGUE): -5.0,
    replace(_SACK, beside=_BBR1): -5.5,
    replace(_SACK, beside=_BBR): -5.5,
    replace(_CUBIC, two_sizes=True): -5.0,
    SenderModel("newreno", two_sizes=True): -5.5,
    replace(_CUBIC, unresponsive_share=0.3): -5.0,
    replace(_CUBIC, unresponsive_share=0.6): -5.5,
    SenderModel("newreno", unresponsive_share=0.3): -5.5,
    SenderModel("newreno", unresponsive_share=0.6): -6.0,
}
"""What is thought of as well where none of :data:`SENDER_MODELS` explains what is seen."""


@dataclass(frozen=True, slots=True)
class SenderBelief:
    """Belief in the kinds of senders, from all comparisons so far.

    A value: what teaches it returns the next one.

    Attributes:
        priors: the log odds of each kind before there is evidence.
        evidence: what comparisons have added, 0 for the kind that explains most.
        selective: whether selective acknowledgements have been seen of nearly all flows, so that no
            kind without them is thought of.
    """

    priors: Mapping[SenderModel, float] = field(default_factory=lambda: SENDER_MODELS)
    evidence: Mapping[SenderModel, float] = field(default_factory=dict)
    selective: bool = False

    @property
    def best(self) -> SenderModel:
        """The kind that explains most."""
        return max(self.priors, key=self.log_odds)

    @property
    def tells_apart(self) -> bool:
        """True where the likeliest kind is surely right, as the log names it."""
        best = self.best
        most = self.log_odds(best)
        odds = {kind: math.exp(self.log_odds(kind) - most) for kind in self.priors}
        alike = math.fsum(each for kind, each in odds.items() if best.is_called_alike(kind))
        return alike >= _TOLD_APART * math.fsum(odds.values())

    @property
    def plausible(self) -> list[SenderModel]:
        """The kinds still worth a simulation."""
        return self.within(_HOPELESS)

    def within(self, log_odds: float) -> list[SenderModel]:
        """The kinds at most so far behind the best, in the order of the priors."""
        enough = self.log_odds(self.best) - log_odds
        return [kind for kind in self.priors if self.log_odds(kind) > enough]

    def log_odds(self, kind: SenderModel) -> float:
        """Log odds of a kind, up to a common constant."""
        return self.priors[kind] + self.evidence.get(kind, 0.0)

    def aged(self, seconds: float) -> SenderBelief:
        """After so long without a comparison: who sends may be others by now."""
        if not self.evidence or seconds <= 0.0:
            return self
        kept = 0.5 ** (seconds / _HALF_LIFE_S)
        return replace(self, evidence={kind: kept * each for kind, each in self.evidence.items()})

    def after_seeing(self, selective_share: float) -> SenderBelief:
        """After a look at the flows' acknowledgements.

        That is no likelihood, which fades: a sender has them or not. The other way round nothing
        follows; who has lost nothing has had no reason to show them.

        Args:
            selective_share: the share of the flows of which they have been seen to be selective.
        """
        if (selective_share >= _NEARLY_ALL) == self.selective:
            return self
        if self.selective:
            return replace(self, priors={**self.priors, **SENDER_MODELS}, selective=False)
        kept = {kind: odds for kind, odds in self.priors.items() if kind.selective}
        return replace(self, priors={**kept, **SELECTIVE}, selective=True)

    def widened(self, kinds: Mapping[SenderModel, float]) -> SenderBelief:
        """Add plausible kinds that have no evidence yet."""
        may_be = {
            kind: odds for kind, odds in kinds.items() if kind.selective or not self.selective
        }
        return replace(self, priors={**may_be, **self.priors})

    def learned(self, likelihoods: Mapping[SenderModel, float]) -> SenderBelief:
        """After one comparison; kinds left out of it explain it as badly as the worst."""
        best, worst = max(likelihoods.values()), min(likelihoods.values())
        evidence = {
            kind: _FADE * self.evidence.get(kind, 0.0)
            + _TEMPER * (likelihoods.get(kind, worst) - best)
            for kind in self.priors
        }
        return replace(self, evidence=evidence)
