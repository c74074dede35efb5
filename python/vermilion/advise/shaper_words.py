"""Where packets wait, and what a shaper in the commands changes besides that: in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.advise.commands import brings_here, gets_the_rate, interface_of
from vermilion.advise.line_framing import PTM_SHARE
from vermilion.scenario import RATE, format_quantity

if TYPE_CHECKING:
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question


def where_packets_wait(question: Question, present: Present, *, keep: bool) -> list[str]:
    """That packets may wait where no queue of the user's is, and what brings them here."""
    name = interface_of(question, present)
    rate = format_quantity(question.rate_bit_per_s, RATE)
    said = []
    if present.shaper and present.shaper_rate_bit_per_s is not None:
        shaped = present.shaper_rate_bit_per_s
        if not 0.9 * question.rate_bit_per_s <= shaped <= 1.1 * question.rate_bit_per_s:
            said.append(
                f"Your {present.shaper} holds the traffic to {format_quantity(shaped, RATE)}, and "
                f"you asked about {rate}."
            )
    if not brings_here(question, present, keep=keep):
        return said
    brings = "The shaper in the commands brings"
    own = present.own_rate if gets_the_rate(question, present, keep=keep) else None
    if own is not None:
        brings = f"The commands give your {own.kind} the line's rate, which brings"
        if own.bit_per_s is None:
            said.append("Your cake has no rate (bandwidth unlimited), so it holds nothing back.")
    faster = (
        f"{name} is faster than the line. So packets wait"
        if question.interface_rate_bit_per_s is not None
        else f"You did not say how fast {name} itself is (--interface-rate). If it is faster "
        f"than {rate}, packets wait"
    )
    said.append(
        f"{faster} in the modem or whatever is behind it, where no queue of yours has any effect. "
        f"{brings} them here. Give --rate a little below what the line carries (95 %), so that "
        "none wait there."
    )
    return said if own is not None else said + shaper_words(question, present, name)


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
