"""Whether a model explains what is seen, before it is believed about what could be.

A model that does not reproduce the network under the setting in force has no word on other
settings. What it has to reproduce is what every router can tell: the mean queue, its deviation, the
share of packets lost or marked, and the throughput.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, as it was seen and as the model has it.

    Attributes:
        name: in words: "mean queue", "deviation", "signals", "throughput".
        unit: of both.
        seen: on the network.
        model: the mean over the model's windows of the same length.
        noise: the standard deviation between such windows, the model's own error included.
    """

    name: str
    unit: str
    seen: float
    model: float
    noise: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """How well the best model found explains a stretch of settled observation.

    Attributes:
        senders: the kind of senders that explains most, in words.
        explained: whether every figure lies within the model's noise.
        figures: what was compared.
        predicted_mean: mean queue of the model under the setting in force, packets.
        noise: how far a second's mean strays from it in the model, packets.
    """

    senders: str
    explained: bool
    figures: tuple[Figure, ...]
    predicted_mean: float
    noise: float
