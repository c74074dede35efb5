"""The commands to check, apply and undo a recommendation, in the device's own words.

Sources: tc(8), tc-htb(8) of iproute2 6.1, tried on a Linux 6.12 kernel; Cisco IOS quality of
service command reference; of SONiC, see :mod:`vermilion.advise.sonic_commands`.

A queue forms only where packets come faster than they leave. Where the interface is faster than the
line behind it, the packets wait in the modem, and no queue here does anything. So the commands put
a shaper before the queue, unless there is one, or the interface is known to be no faster than the
line.

What the kernel accepts decides how they are put: below a shaper no handle is given, for tc refuses
to replace a queue by one of another kind under the same handle; and htb has "quantum", for it warns
of the one that it would derive from a high rate.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from vermilion.advise.command_lines import Commands
from vermilion.advise.conditions import LINK, PACKET_BYTES, condition, network
from vermilion.advise.families import CISCO_QUEUE_PACKETS, LINUX_FIFO_PACKETS
from vermilion.advise.sonic_commands import sonic_commands
from vermilion.profiles import PROFILES, Place

if TYPE_CHECKING:
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question
    from vermilion.advise.queue_setting import QueueSetting

NAME: Final = "VERMILION"
"""Of the policies on a router, before their interface's name."""

_LONGEST_NAME: Final = 32
"""Of a policy map it is 40, of which "-SHAPER" needs some."""

_SAME_RATE: Final = 1.02
_INTERFACES: Final = {"linux": "eth0", "sonic": "Ethernet0", "cisco": "GigabitEthernet0/0"}
_LINUX_PROFILES: Final = {
    "fq-codel": "linux-fq-codel",
    "fq-pie": "linux-fq-pie",
    "codel": "linux-codel",
    "pie": "linux-pie",
    "linux-red": "linux-red",
    "drop-tail": "linux-fifo",
}


def needs_shaper(question: Question, present: Present) -> bool:
    """Whether the bottleneck has to be brought to this machine, or may have to be."""
    if question.device == "sonic" or question.parent is not None:
        return False
    if present.shaper is not None and present.shaper != "cake":
        return False
    return not is_as_fast(question)


def is_as_fast(question: Question) -> bool:
    """Whether the interface is known to be no faster than the line."""
    interface = question.interface_rate_bit_per_s
    return interface is not None and interface <= _SAME_RATE * question.rate_bit_per_s


def not_restored(question: Question, present: Present) -> str | None:
    """What stands there and undo does not put back, as far as it is known; ``None`` for nothing."""
    if present.classes is not None and needs_shaper(question, present):
        return present.classes  # the shaper takes their place
    return present.replaced


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
    parent = question.parent or present.parent
    shaper = needs_shaper(question, present)
    check = [f"tc -s -d qdisc show dev {name}"]
    check += [f"tc -s class show dev {name}"] if shaper or parent else []
    place = Place(device=name, parent="1:1" if shaper else parent, verb="replace")
    apply = [*(_htb(question, name) if shaper else []), _tc(question, chosen, place)]
    if keep:
        elsewhere = "\n".join(apply) if shaper and present.shaper is None else ""
        return Commands("\n".join(check), if_elsewhere=elsewhere)
    lost = not_restored(question, present) is not None
    at = f"parent {parent}" if parent else "root"
    if lost:
        undo = f"tc qdisc del dev {name} root"
    elif present.restore is not None:
        undo = f"tc qdisc replace dev {name} {at} {present.restore}"
    elif parent:
        # Deleting a queue below tbf would leave it one that drops everything.
        undo = f"tc qdisc replace dev {name} {at} pfifo limit {LINUX_FIFO_PACKETS}"
    else:
        undo = f"tc qdisc del dev {name} root"
    save = "" if present.stated and not lost else f"{check[0]} > queue-of-{name}-before.txt"
    return Commands("\n".join(check), "\n".join(apply), undo, shaper=shaper, save=save)


def _htb(question: Question, name: str) -> list[str]:
    rate = f"{question.rate_bit_per_s:.0f}bit"
    shaped = f"htb rate {rate} ceil {rate} quantum {PACKET_BYTES}"
    return [
        f"tc qdisc replace dev {name} root handle 1: htb default 1",
        f"tc class replace dev {name} parent 1: classid 1:1 {shaped}",
    ]


def _tc(question: Question, chosen: QueueSetting, place: Place) -> str:
    low = condition(question, question.flows[0], question.round_trip_s[0], "bulk", 0.0)
    profile = PROFILES[_LINUX_PROFILES[chosen.discipline]]
    return profile(network(question, low, chosen), LINK).command({}, place)


def _sonic(question: Question, present: Present, chosen: QueueSetting, *, keep: bool) -> Commands:
    name = interface_of(question, present)
    return sonic_commands(question, present, chosen, name, keep=keep)


def _cisco(question: Question, present: Present, chosen: QueueSetting, *, keep: bool) -> Commands:
    name = interface_of(question, present)
    check = f"show policy-map interface {name}"
    if keep:
        return Commands(check)
    low = condition(question, question.flows[0], question.round_trip_s[0], "bulk", 0.0)
    if chosen.discipline == "drop-tail":
        lines = [f"queue-limit {chosen.parameters.get('limit', CISCO_QUEUE_PACKETS):.0f} packets"]
    else:
        profile = PROFILES["cisco"](network(question, low, chosen), LINK)
        lines = profile.command({}, Place()).splitlines()
    shaper = needs_shaper(question, present)
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
    return Commands(check, "\n".join(apply), "\n".join(undo), shaper=shaper, save=save)
