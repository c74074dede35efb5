"""How far undo brings back what stood there: a sentence or two for somebody who is about to act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.advise.commands import not_restored
from vermilion.advise.sonic_commands import is_named, may_be_lossless
from vermilion.advise.sonic_queue import profile_name

if TYPE_CHECKING:
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question

_DELETES = (
    "undo deletes what you set, and the kernel puts its own default there (sysctl "
    "net.core.default_qdisc; mq on interfaces with several transmit queues)."
)


def undo_words(question: Question, present: Present) -> list[str]:
    """What to know of the way back; nothing where undo restores all of it."""
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
        return [f"Undo puts your {kind} back, but not all that tc shows of it: {options}. {keep}"]
    if lost is not None:
        return [f"Your {lost} is not put back: {_DELETES} {keep}"]
    better = f"{keep} Better: give it with --now, and undo restores it."
    if question.parent is not None:
        said = (
            "You did not say what queue you have (--now), so undo puts a plain pfifo below the "
            f"shaper, as a class has it that nobody has given another. {better}"
        )
        return [said]
    return [f"Without --now, {_DELETES} {better}"]


def _sonic(question: Question, present: Present) -> list[str]:
    if present.sonic is not None:
        return []
    config = "--now-json FILE, a file that 'sonic-cfggen -d --print-data' has written"
    if not is_named(question):
        said = (
            "There are no commands yet, because you did not say which queue is meant. Name it as "
            "its table has it, like --interface 'Ethernet4|1'. Show the configuration too: "
            f"{config}."
        )
        return [said]
    key = f"{question.interface}|{question.parent}"
    if may_be_lossless(question, present):
        said = (
            f"There are no commands for {key}: queues 3 and 4 are lossless in SONiC's own "
            "configuration, and WRED drops. Name another queue. If yours is not lossless, show "
            f"it: {config}."
        )
        return [said]
    name = profile_name(question.interface or "", question.parent or "")
    said = (
        f"You did not show the configuration, so a WRED profile that {key} has already is "
        f"replaced. Undo rolls the whole configuration back to the checkpoint {name}-before, with "
        "whatever else was changed since. Take the checkpoint once, before you set anything. "
        f"Better: {config}. Then undo changes this queue alone."
    )
    return [said]


def _cisco(_question: Question, _present: Present) -> list[str]:
    said = (
        "What stands on the interface is not known, so undo takes the new policy off and puts "
        "nothing in its place. If the interface has a service-policy output already, the router "
        "refuses a second: take it off first, and put it back by its name after undo. If that "
        "policy has a class with priority (LLQ), its packets lose the priority meanwhile. Then "
        "leave it on, and put the lines random-detect and queue-limit into its class-default "
        "instead. A class with priority has a queue of its own, to which WRED does nothing. Advice "
        "does not simulate it, and what it carries is taken from the rate of the others."
    )
    return [said]
