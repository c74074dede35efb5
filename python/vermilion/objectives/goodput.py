"""Goodput: the flows' data that arrives, each byte counted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from vermilion.objectives.interface import FlowsObjective
from vermilion.objectives.noticeable import SHARE_OF_GOODPUT


@dataclass(frozen=True)
class Goodput(FlowsObjective):
    """Goodput of all flows that are meant together, bit/s; maximised."""

    name: ClassVar[str] = "goodput"
    summary: ClassVar[str] = "data delivered to the receivers of some flows; maximised"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "maximise"
    noticeable: ClassVar[float] = 0.0
    noticeable_share: ClassVar[float] = SHARE_OF_GOODPUT
    metric: ClassVar[str] = "goodput_bit_per_s.total"
