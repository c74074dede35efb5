"""What a shaper in the commands changes besides the rate: a sentence or two for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.advise.line_framing import PTM_SHARE
from vermilion.scenario import RATE, format_quantity

if TYPE_CHECKING:
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question


def shaper_words(question: Question, present: Present, name: str) -> list[str]:
    """What to know before a shaper is put before the queue of an interface of this name."""
    said = []
    if present.transmit_queues is not None:
        said.append(
            f"{name} has several transmit queues ({present.transmit_queues.kind}). The shaper "
            "takes their place, for one alone can hold all traffic to a rate: all cores then wait "
            "for one lock. Look at their load afterwards."
        )
    framing = present.framing
    if framing is None:
        return said
    if framing.htb_words():
        off = f"ethtool -K {name} gso off tso off gro off"
        said.append(
            f"The shaper counts what your cake was told of the line ({framing.words()}). But where "
            "the kernel has joined packets, htb adds the overhead only once, and cake had split "
            f"them. So switch that off: {off}."
        )
    if framing.layer == "ptm":
        rate = format_quantity(float(f"{PTM_SHARE * question.rate_bit_per_s:.4g}"), RATE)
        said.append(
            "htb has no word for PTM, which sends 65 bytes for 64. So the shaper lets 1.6 % more "
            f"through than cake did at the same rate. Change its rate and ceil to {rate}."
        )
    return said
