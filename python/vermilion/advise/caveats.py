"""Caveats of an answer: where packets wait, shapers and the way back, a sentence or two each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.advise.commands import brings_here, gets_the_rate, interface_of, not_restored
from vermilion.advise.sonic import is_named, may_be_lossless
from vermilion.advise.sonic_queue import profile_name
from vermilion.advise.tc_cake import PTM_SHARE
from vermilion.scenario import RATE, format_quantity

if TYPE_CHECKING:
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question


def where_packets_wait(question: Question, present: Present, *, keep: bool) -> list[str]:
    """Warning that packets may wait elsewhere, and what brings them to this queue."""
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
        else (
            f"You did not give the rate of {name} (--interface-rate). If it is faster "
            f"than {rate}, packets wait"
        )
    )
    said.append(
        f"{faster} in the modem or whatever is behind it. {brings} them here. Give --rate "
        "95 % of what the line carries."
    )
    return said if own is not None else said + shaper_caveats(question, present, name)


def shaper_caveats(question: Question, present: Present, name: str) -> list[str]:
    """Caveats of a shaper before the queue of an interface of this name."""
    said = []
    if present.transmit_queues is not None:
        said.append(
            f"{name} has several transmit queues ({present.transmit_queues.kind}). The "
            "shaper replaces them by one, and all cores wait for one lock: check their "
            "load."
        )
    framing = present.framing
    if framing is None:
        return said
    if framing.htb_words():
        off = f"ethtool -K {name} gso off tso off gro off"
        said.append(
            f"The shaper uses cake's overhead ({framing.words()}). But htb adds it only "
            f"once to packets that the kernel has joined, so switch that off: {off}."
        )
    if framing.layer == "ptm":
        rate = format_quantity(float(f"{PTM_SHARE * question.rate_bit_per_s:.4g}"), RATE)
        said.append(
            "htb has no word for PTM (65 bytes for 64), so the shaper lets 1.6 % more "
            f"through. Change its rate and ceil to {rate}."
        )
    return said


_DELETES = (
    "undo deletes what you set; the kernel puts its default there (sysctl "
    "net.core.default_qdisc; mq on interfaces with several transmit queues)."
)


def undo_caveats(question: Question, present: Present) -> list[str]:
    """Limits of undo; nothing where it restores everything."""
    words = {"linux": _linux, "sonic": _sonic, "cisco": _cisco}[question.device]
    return words(question, present)


def _linux(question: Question, present: Present) -> list[str]:
    lost = not_restored(question, present)
    keep = "Keep what tc shows first, as the commands do."
    if present.stated and lost is None:
        if not present.missing:
            return []
        options = ", ".join(present.missing)
        kind = present.queue.kind
        return [f"Undo puts your {kind} back without {options}. {keep}"]
    if lost is not None:
        return [f"Your {lost} is not put back: {_DELETES} {keep}"]
    better = f"{keep} Better: give it with --now, and undo restores it."
    if question.parent is not None:
        said = (
            "You did not give your queue (--now), so undo puts a plain pfifo below the "
            f"shaper, the default of a class. {better}"
        )
        return [said]
    return [f"Without --now, {_DELETES} {better}"]


def _sonic(question: Question, present: Present) -> list[str]:
    if present.sonic is not None:
        return []
    config = "--now-json FILE, written by 'sonic-cfggen -d --print-data'"
    if not is_named(question):
        said = (
            "There are no commands without the queue's name. Give it, like --interface "
            f"'Ethernet4|1', and the configuration: {config}."
        )
        return [said]
    key = f"{question.interface}|{question.parent}"
    if may_be_lossless(question, present):
        said = (
            f"There are no commands for {key}: queues 3 and 4 are lossless in SONiC's own "
            "configuration, and WRED drops. If yours is not, give the configuration: "
            f"{config}."
        )
        return [said]
    name = profile_name(question.interface or "", question.parent or "")
    said = (
        f"You did not give the configuration, so a WRED profile of {key} is replaced. "
        f"Undo rolls the whole configuration back to the checkpoint {name}-before. "
        f"Better: {config}. Then undo changes this queue alone."
    )
    return [said]


def _cisco(_question: Question, _present: Present) -> list[str]:
    said = (
        "The present policy is not known, so undo only takes the new one off. If the "
        "interface has a service-policy output, the router refuses a second: take it off "
        "first, and put it back after undo. If that policy has a priority class (LLQ), "
        "leave it on, and put random-detect and queue-limit into its class-default. "
        "Priority classes have queues of their own, which are not simulated."
    )
    return [said]
