"""The commands to check, apply and undo a recommendation, in the device's own words.

Source: Cisco IOS quality of service command reference; for the others, see
:mod:`vermilion.advise.linux_commands` and :mod:`vermilion.advise.sonic`.

A queue forms only where packets come faster than they leave. Where the interface is faster than the
line behind it, the packets wait in the modem, and no queue here does anything. So the commands put
a shaper before the queue, unless there is one, or the interface is known to be no faster than the
line.

Linux' red lets its average fall only while it knows that nothing waits. Below a shaper it never
does, and one burst can shut it for long (``shaped`` of ``linux-red``, net/sched/sch_red.c).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.advise.command_lines import Commands
from vermilion.advise.conditions import on_device
from vermilion.advise.families import CISCO_QUEUE_PACKETS, cake_at_rate, families
from vermilion.advise.linux_commands import linux_commands
from vermilion.advise.question import ANY
from vermilion.advise.sonic import sonic_commands
from vermilion.profiles import PROFILES, Place

if TYPE_CHECKING:
    from vermilion.advise.families import Family
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question, QueueSetting


NAME: Final = "VERMILION"
"""Of the policies on a router, before their interface's name."""

_LONGEST_NAME: Final = 32
"""Of a policy map it is 40, of which "-SHAPER" needs some."""

_SAME_RATE: Final = 1.02
_ABOUT_THE_RATE: Final = 1.1
"""A shaper of that much more may still be the line's: ``--rate`` is to be a little below it."""

_INTERFACES: Final = {"linux": "eth0", "sonic": "Ethernet0", "cisco": "GigabitEthernet0/0"}


def needs_shaper(question: Question, present: Present) -> bool:
    """Check whether the bottleneck has to be brought to this machine, or may have to be."""
    if question.device == "sonic" or question.parent is not None or not present.improvable:
        return False
    if present.shaper is not None and present.shaper != "cake":
        return False
    return not is_as_fast(question)


def gets_the_rate(question: Question, present: Present, *, keep: bool) -> bool:
    """Check whether a shaper that is there has to get the line's rate, for packets to wait here.

    It has a higher one, or is a cake without any. A cake that is replaced takes its rate with it.
    """
    own = present.own_rate
    if question.device != "linux" or own is None or is_as_fast(question):
        return False
    rate = own.bit_per_s
    fast = rate is None or rate > _ABOUT_THE_RATE * question.rate_bit_per_s
    return fast and (keep or own.kind != "cake")


def brings_here(question: Question, present: Present, *, keep: bool) -> bool:
    """Check whether the commands bring packets to the queue that may wait somewhere else now."""
    by_rate = gets_the_rate(question, present, keep=keep)
    return by_rate or brings_by_shaper(question, present, keep=keep)


def brings_by_shaper(question: Question, present: Present, *, keep: bool) -> bool:
    """Check whether they do so by a shaper of their own."""
    if gets_the_rate(question, present, keep=keep):
        return False
    return needs_shaper(question, present) and not (keep and present.shaper is not None)


def is_as_fast(question: Question) -> bool:
    """Check whether the interface is known to be no faster than the line."""
    interface = question.interface_rate_bit_per_s
    return interface is not None and interface <= _SAME_RATE * question.rate_bit_per_s


_PORTS_BIT_PER_S: Final = tuple(
    1e6 * each for each in (10, 100, 1e3, 2.5e3, 5e3, 10e3, 25e3, 40e3, 50e3, 100e3, 200e3, 400e3)
)
_NEAR_PORT: Final = 0.9


def waits_elsewhere(question: Question, present: Present) -> bool:
    """Check whether packets most likely wait in the modem, as on most home lines.

    A rate near that of an Ethernet port is taken to be the port's, where it is not known.
    """
    if question.device != "linux" or not brings_here(question, present, keep=True):
        return False
    ports = [rate for rate in _PORTS_BIT_PER_S if rate >= question.rate_bit_per_s]
    is_port = bool(ports) and question.rate_bit_per_s >= _NEAR_PORT * ports[0]
    return question.interface_rate_bit_per_s is not None or not is_port


def not_restored(question: Question, present: Present) -> str | None:
    """Queue in force that undo does not put back; ``None`` for nothing."""
    return present.classes if needs_shaper(question, present) else None


def commands(question: Question, present: Present, chosen: QueueSetting, *, keep: bool) -> Commands:
    """The commands of a recommendation.

    Args:
        question: with the device, the interface and the parent.
        present: what stands there now.
        chosen: what is recommended.
        keep: whether that is what stands there.
    """
    write = {"linux": _linux, "sonic": _sonic, "cisco": _cisco}[question.device]
    return write(question, present, chosen, keep=keep)


def interface_of(question: Question, present: Present) -> str:
    """The interface's name, or a usual one in its place."""
    return question.interface or present.interface or _INTERFACES[question.device]


def _linux(question: Question, present: Present, chosen: QueueSetting, *, keep: bool) -> Commands:
    name = interface_of(question, present)
    shaper = needs_shaper(question, present)
    rate = gets_the_rate(question, present, keep=keep)
    return linux_commands(question, present, chosen, name, shaper=shaper, rate=rate, keep=keep)


def _sonic(question: Question, present: Present, chosen: QueueSetting, *, keep: bool) -> Commands:
    name = interface_of(question, present)
    return sonic_commands(question, present, chosen, name, keep=keep)


def _cisco(question: Question, present: Present, chosen: QueueSetting, *, keep: bool) -> Commands:
    name = interface_of(question, present)
    check = f"show policy-map interface {name}"
    shaper = needs_shaper(question, present)
    if keep and not shaper:
        return Commands(check)
    if chosen.discipline == "drop-tail":
        lines = [f"queue-limit {chosen.parameters.get('limit', CISCO_QUEUE_PACKETS):.0f} packets"]
    else:
        profile = on_device(PROFILES["cisco"], question, chosen)
        lines = profile.command({}, Place()).splitlines()
    own_name = re.sub(r"[^A-Za-z0-9_-]", "-", f"{NAME}-{name}")[:_LONGEST_NAME]
    # WRED and queue limits need a bandwidth or a shaper in their class.
    own = ["bandwidth percent 100"] if shaper else []
    apply = [
        f"policy-map {own_name}",
        " class class-default",
        *(f"  {each}" for each in own + lines),
    ]
    if shaper:
        apply = [
            *apply,
            f"policy-map {own_name}-SHAPER",
            " class class-default",
            f"  shape average {question.rate_bit_per_s:.0f}",
            f"  service-policy {own_name}",
        ]
    top = f"{own_name}-SHAPER" if shaper else own_name
    apply += [f"interface {name}", f" service-policy output {top}"]
    undo = [f"interface {name}", f" no service-policy output {top}"]
    undo += [f"no policy-map {own_name}-SHAPER"] if shaper else []
    undo += [f"no policy-map {own_name}"]
    save = f"show running-config interface {name}"
    return Commands(
        check,
        apply="" if keep else "\n".join(apply),
        undo="\n".join(undo),
        if_elsewhere="\n".join(apply) if keep else "",
        shaper=shaper and not keep,
        save=save,
    )


def is_shaped(question: Question, present: Present) -> bool:
    """Check whether the queue stands below a shaper, present or set by the commands.

    A class that was named is one of a shaper, unless tc shows that there is none.
    """
    if present.shaper == "cake":  # goes when another queue comes, and its shaper with it
        return needs_shaper(question, present)
    if question.parent is not None:
        return present.shaper is not None or not present.stated
    return present.shaper is not None or needs_shaper(question, present)


def candidate_families(question: Question, present: Present) -> list[Family]:
    """Kinds of queues that may be tried here.

    A cake is its own shaper, so it stands at the root, where no other one is; one that is there
    keeps the options that somebody has given it.

    Raises:
        ScenarioError: the device has no such discipline.
    """
    own = present.queue.kind == "cake"
    at_root = question.parent is None and present.parent is None and not present.transmit_queues
    cake = not own and (needs_shaper(question, present) or at_root or question.discipline != ANY)
    return families(question, shaped=is_shaped(question, present), cake=cake)


def as_it_stands(question: Question, present: Present) -> QueueSetting:
    """The queue in force, as it is simulated in its place.

    Where the line is slower than the interface, that is below the shaper that packets would have to
    wait at, or there would be no queue to judge.
    """
    queue = present.queue
    if queue.discipline == "cake":
        return replace(queue, parameters=cake_at_rate(question, queue.parameters))
    if queue.discipline != "linux-red":
        return queue
    own = {**queue.parameters, "shaped": is_shaped(question, present)}
    return replace(queue, parameters=own)
