"""Whether the model of a first answer shows what is seen under the setting in force.

A first answer is for conditions of which nothing has been compared with a model yet: how the
senders behave is only believed. But while it was searched, the network went on under the setting in
force, and the model has a word on that one too. Where the two are apart by more than chance and the
model's usual errors, its word on another setting is worth nothing.

Two figures can be told from a second or so. The mean queue strays by what a second's mean does in
the model. The share of packets lost or marked strays between the model's runs, and over a shorter
time by the root of the ratio more.
"""

from __future__ import annotations

import math
from statistics import fmean, pvariance
from typing import TYPE_CHECKING, Final

from vermilion.online.model.explanation import MEAN_FLOOR, SIGNALS_FLOOR, Figure
from vermilion.online.sense.sampler import mean_and_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.plan.answer import Answer
    from vermilion.online.sense.sampler import Sample

FEWEST_SAMPLES: Final = 3
"""Samples without which nothing is compared."""


def before_silence(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Without the last samples in which packets waited and none left.

    An outage is one only when it has lasted for a while. What begins as one tells nothing of
    senders, though everything that arrives may be dropped in it.
    """
    end = len(samples)
    while end and samples[end - 1].packets == 0 and samples[end - 1].backlog_packets > 0:
        end -= 1
    return samples[:end]


def misfits(
    answer: Answer, seen: Sequence[Sample], scale: float, bias: float
) -> tuple[Figure, ...]:
    """What was seen under the setting in force and is not as the answer's model has it.

    Args:
        answer: whose model is compared.
        seen: settled samples under the setting that was in force when the search began.
        scale: what counts as a long queue, packets.
        bias: how much higher the network is known to stand than its model, packets.
    """
    if len(seen) < FEWEST_SAMPLES:
        return ()
    mean, seconds = mean_and_seconds(seen)
    signals = sum(sample.drops + sample.marks for sample in seen)
    arrivals = sum(sample.packets + sample.drops for sample in seen)
    rates = [outcome.signal_rate for outcome in answer.incumbent.outcomes]
    share, least = SIGNALS_FLOOR
    by_chance = pvariance(rates) * answer.starved_over_s / seconds
    figures = (
        Figure(
            "mean queue",
            "packets",
            mean,
            answer.incumbent.mean.mean + bias,
            math.hypot(answer.incumbent_noise / math.sqrt(seconds), MEAN_FLOOR * scale),
        ),
        Figure(
            "signals",
            "% of packets",
            100.0 * signals / max(1, arrivals),
            100.0 * fmean(rates),
            100.0 * math.hypot(math.sqrt(by_chance), share * fmean(rates) + least),
        ),
    )
    return tuple(figure for figure in figures if not figure.explained)
