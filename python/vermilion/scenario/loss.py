"""How a link's wire loses packets: each with one probability, or by a good and a bad state."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import model_validator

from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.scenario.quantities import RATIO, Quantity
from vermilion.scenario.table import Table

_PROBABILITY: Final = Quantity(RATIO, minimum=0.0, maximum=1.0)

_LOSS_KEYS: Final = {
    "bernoulli": ("probability",),
    "gilbert-elliott": ("good_to_bad", "bad_to_good", "loss_in_good", "loss_in_bad"),
}


class Loss(Table):
    """``loss`` of a link: how its wire loses packets after their transmission.

    Attributes:
        model: each packet on its own, or a wire that is good or bad for a while.
        probability: of a loss, where each packet is on its own.
        good_to_bad: that a good wire turns bad before a packet.
        bad_to_good: that a bad wire turns good before a packet.
        loss_in_good: that a good wire loses a packet.
        loss_in_bad: that a bad wire loses a packet.
    """

    model: Literal["bernoulli", "gilbert-elliott"]
    probability: Annotated[float, _PROBABILITY] | None = None
    good_to_bad: Annotated[float, _PROBABILITY] | None = None
    bad_to_good: Annotated[float, _PROBABILITY] | None = None
    loss_in_good: Annotated[float, _PROBABILITY] | None = None
    loss_in_bad: Annotated[float, _PROBABILITY] | None = None

    @model_validator(mode="before")
    @classmethod
    def _keys_fit_the_model(cls, value: object) -> object:
        if not isinstance(value, dict):
            raise FieldError("", value, 'a table, like { model = "bernoulli", probability = 0.01 }')
        given = dict(value)
        if given.get("model") == "gilbert-elliott":
            # Gilbert's own model: a good wire loses nothing, a bad one everything.
            given = {"loss_in_good": 0.0, "loss_in_bad": 1.0, **given}
        model = given.get("model")
        if not isinstance(model, str) or model not in _LOSS_KEYS:
            shown = model if "model" in given else "a loss without a model"
            expected = did_you_mean(model if isinstance(model, str) else "", _LOSS_KEYS)
            raise FieldError("model" if "model" in given else "", shown, expected)
        keys = _LOSS_KEYS[model]
        for key in given:
            if key != "model" and key not in keys:
                expected = f"a key of {model}: {did_you_mean(key, ('model', *keys))}"
                raise FieldError(key, given[key], expected)
        for key in keys:
            if key not in given:
                raise FieldError(key, "nothing", _PROBABILITY.accepted())
        return given

    def to_core(self) -> dict[str, object]:
        """The loss as the core reads it."""
        return {"model": self.model} | {key: getattr(self, key) for key in _LOSS_KEYS[self.model]}
