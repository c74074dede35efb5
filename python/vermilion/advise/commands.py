"""The commands to check, apply and undo a recommendation, in the device's own words.

Sources: tc(8), tc-htb(8) of iproute2 6.1, tried on a Linux 6.12 kernel; SONiC's command reference
("config apply-patch", tables WRED_PROFILE and QUEUE); Cisco IOS quality of service command
reference.

A queue forms only where packets come faster than they leave. Where the interface is faster than the
line behind it, the packets wait in the modem, and no queue here does anything. So the commands put
a shaper before the queue, unless there is one, or the interface is known to be no faster than the
line.

What the kernel accepts decides how they are put: below a shaper no handle is given, for tc refuses
to replace a queue by one of another kind under the same handle; and htb has "quantum", for it warns
of the one that it would derive from a high rate.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import LINK, PACKET_BYTES, condition, network
from vermilion.advise.families import CISCO_QUEUE_PACKETS, LINUX_FIFO_PACKETS
from vermilion.profiles import PROFILES, Place

if TYPE_CHECKING:
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question
    from vermilion.advise.queue_setting import QueueSetting

NAME: Final = "VERMILION"
"""Of the profile or policy on a switch or router."""

_SAME_RATE: Final = 1.02
_SONIC_QUEUE: Final = "3"
_INTERFACES: Final = {"linux": "eth0", "sonic": "Ethernet0", "cisco": "GigabitEthernet0/0"}
_LINUX_PROFILES: Final = {
    "fq-codel": "linux-fq-codel",
    "fq-pie": "linux-fq-pie",
    "codel": "linux-codel",
    "pie": "linux-pie",
    "linux-red": "linux-red",
    "drop-tail": "linux-fifo",
}


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines to be pasted.

    Attributes:
        check: shows what stands there, before and after.
        apply: sets what is recommended; empty where nothing is to be set.
        undo: brings back what stood there before; empty likewise.
        if_elsewhere: where the queue is to stay as it is: what brings the bottleneck to it, if
            packets now wait in something behind it; empty where that cannot be or is not known.
        shaper: whether the commands put a shaper before the queue.
    """

    check: str
    apply: str = ""
    undo: str = ""
    if_elsewhere: str = ""
    shaper: bool = False


def needs_shaper(question: Question, present: Present) -> bool:
    """Whether the bottleneck has to be brought to this machine, or may have to be."""
    if question.device == "sonic" or question.parent is not None:
        return False
    if present.shaper is not None and present.shaper != "cake":
        return False
    interface = question.interface_rate_bit_per_s
    return interface is None or interface > _SAME_RATE * question.rate_bit_per_s


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
    at = f"parent {parent}" if parent else "root"
    if present.restore is not None:
        undo = f"tc qdisc replace dev {name} {at} {present.restore}"
    elif parent:
        # Deleting a queue below tbf would leave it one that drops everything.
        undo = f"tc qdisc replace dev {name} {at} pfifo limit {LINUX_FIFO_PACKETS}"
    else:
        undo = f"tc qdisc del dev {name} root"
    return Commands("\n".join(check), "\n".join(apply), undo, shaper=shaper)


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
    queue = f"{name}|{question.parent or _SONIC_QUEUE}"
    check = f"show wredprofile\nshow queue counters {name}\nshow queue watermark unicast"
    if keep:
        return Commands(check)
    low = condition(question, question.flows[0], question.round_trip_s[0], "bulk", 0.0)
    profile = PROFILES["sonic"](network(question, low, chosen), LINK)
    members = json.loads(profile.command({}, Place(device=NAME)))
    table = {each["path"].rpartition("/")[2]: each["value"] for each in members}
    own = _pointer(queue)
    apply: list[dict[str, object]] = [
        {"op": "add", "path": f"/WRED_PROFILE/{NAME}", "value": table},
        {"op": "add", "path": f"/QUEUE/{own}/wred_profile", "value": NAME},
    ]
    undo: list[dict[str, object]] = [
        {"op": "remove", "path": f"/QUEUE/{own}/wred_profile"},
        {"op": "remove", "path": f"/WRED_PROFILE/{NAME}"},
    ]
    return Commands(check, _patch("vermilion.json", apply), _patch("vermilion-undo.json", undo))


def _pointer(key: str) -> str:
    """A key as RFC 6901 writes it in a path."""
    return key.replace("~", "~0").replace("/", "~1")


def _patch(file: str, patch: list[dict[str, object]]) -> str:
    body = json.dumps(patch, indent=1)
    return f"cat > {file} <<'END'\n{body}\nEND\nsudo config apply-patch {file}"


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
    # WRED and queue limits need a bandwidth or a shaper in their class.
    own = ["bandwidth percent 100"] if shaper else []
    apply = [f"policy-map {NAME}", " class class-default", *(f"  {each}" for each in own + lines)]
    if shaper:
        apply = [
            *apply,
            f"policy-map {NAME}-SHAPER",
            " class class-default",
            f"  shape average {question.rate_bit_per_s:.0f}",
            f"  service-policy {NAME}",
        ]
    top = f"{NAME}-SHAPER" if shaper else NAME
    apply += [f"interface {name}", f" service-policy output {top}"]
    undo = [f"interface {name}", f" no service-policy output {top}"]
    undo += [f"no policy-map {NAME}-SHAPER"] if shaper else []
    undo += [f"no policy-map {NAME}"]
    return Commands(check, "\n".join(apply), "\n".join(undo), shaper=shaper)
