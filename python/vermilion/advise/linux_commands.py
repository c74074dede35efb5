"""The commands for a Linux interface, for tc.

Sources: tc(8), tc-htb(8) of iproute2 6.1, net/sched/sch_api.c and sch_mq.c; tried on a Linux 6.12
kernel.

What the kernel accepts decides how they are put:

- It refuses to replace a queue by one of another kind under the same handle. So a root of our own
  has a handle that nobody else uses, and below it no handle is given. Undo deletes the root by this
  handle: where the commands were refused, it deletes nothing.
- htb has "quantum", for tc warns of the one that it would derive from a high rate.
- Nothing can be attached to the mq that the kernel has made by itself (handle ``0:``). One with a
  handle takes its place. What is deleted below mq leaves a queue that drops everything, so undo
  puts back what was shown, never deletes there.
- What is deleted below a class of htb or hfsc leaves the pfifo that the class had by itself
  (``htb_graft``, ``hfsc_graft_class``), as long as the interface's txqueuelen says.
- A shell stops at the first command that fails: they are joined by "&&".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.command_lines import Commands
from vermilion.advise.conditions import PACKET_BYTES, on_device
from vermilion.advise.families import LINUX_FIFO_PACKETS
from vermilion.profiles import LINUX_PROFILES, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.present import Present
    from vermilion.advise.question import Question, QueueSetting
    from vermilion.advise.tc_queue import TransmitQueues

_HANDLE: Final = 0x7E51
"""Of a root that the commands make; tc itself counts from 8001 on, and people from 1."""


def linux_commands(
    question: Question,
    present: Present,
    chosen: QueueSetting,
    name: str,
    *,
    shaper: bool,
    rate: bool,
    keep: bool,
) -> Commands:
    """The commands of a recommendation.

    Args:
        question: with the rate and the parent.
        present: what stands there now.
        chosen: what is recommended.
        name: of the interface.
        shaper: whether a shaper has to stand before the queue.
        rate: whether a shaper that is there has to get the line's rate.
        keep: whether what is recommended stands there.
    """
    parent = question.parent or present.parent
    look = f"tc -s -d qdisc show dev {name}"
    check = [look, *([f"tc -s class show dev {name}"] if shaper or parent else [])]
    change, back = _rates(question, present, name) if rate else ([], [])
    if keep and rate:
        return Commands("\n".join(check), undo=_joined(back), if_elsewhere=_joined(change))
    if keep and not (shaper and present.shaper is None):
        return Commands("\n".join(check))
    own = _free_handle(present)
    queues = present.transmit_queues
    if shaper and chosen.kind == "cake":
        apply = [_cake(question, present, chosen, Place(name, f"{own}", "replace"))]
    elif shaper:
        leaf = _queue(question, present, chosen, Place(name, f"{own}1", "replace"), keep=keep)
        apply = [*_htb(question, present, name, own), leaf]
    elif queues is not None:
        apply = _below_mq(question, queues, chosen, name, own)
    else:
        apply = [*change, _tc(question, chosen, Place(name, parent, "replace"))]
    # Below a shaper of our own it is made, elsewhere one of the same kind is only changed.
    changed = not shaper and chosen.kind == present.queue.kind
    undo = _undo(present, name, own, parent=parent, shaper=shaper, changed=changed) + back
    known = present.stated and not present.missing and not (shaper and present.classes)
    return Commands(
        "\n".join(check),
        apply="" if keep else _joined(apply),
        undo=_joined(undo),
        if_elsewhere=_joined(apply) if keep else "",
        shaper=shaper and not keep,
        save="" if known else f"{look} > queue-of-{name}-before.txt",
    )


def _joined(lines: Sequence[str]) -> str:
    return " &&\n".join(lines)


def _rates(question: Question, present: Present, name: str) -> tuple[list[str], list[str]]:
    """Commands that give the present shaper the line's rate, and that take it back."""
    own = present.own_rate
    if own is None:
        return [], []
    rates = (question.rate_bit_per_s, own.bit_per_s)
    change, back = (f"tc qdisc change dev {name} root {own.words(each)}" for each in rates)
    return [change], [back]


def _free_handle(present: Present) -> str:
    number = _HANDLE
    while f"{number:x}" in present.handles:
        number += 1
    return f"{number:x}:"


def _htb(question: Question, present: Present, name: str, own: str) -> list[str]:
    rate = f"{question.rate_bit_per_s:.0f}bit"
    shaped = f"htb rate {rate} ceil {rate} quantum {PACKET_BYTES}"
    framing = [] if present.framing is None else present.framing.htb_words()
    return [
        f"tc qdisc replace dev {name} root handle {own} htb default 1",
        " ".join([f"tc class replace dev {name} parent {own} classid {own}1 {shaped}", *framing]),
    ]


def _below_mq(
    question: Question, queues: TransmitQueues, chosen: QueueSetting, name: str, own: str
) -> list[str]:
    root = own if queues.by_kernel else queues.handle
    places = [Place(name, f"{root}{each.minor}", "replace") for each in queues.each]
    return [
        *([f"tc qdisc replace dev {name} root handle {own} mq"] if queues.by_kernel else []),
        *(_tc(question, chosen, place) for place in places),
    ]


def _queue(
    question: Question, present: Present, chosen: QueueSetting, place: Place, *, keep: bool
) -> str:
    """A queue below the shaper: also what stands there, if that is to be kept."""
    words = present.tc_words
    if keep and not present.exact and words is not None and words != "noqueue":
        return f"tc qdisc replace dev {place.device} parent {place.parent} {words}"
    return _tc(question, chosen, place)


def _cake(question: Question, present: Present, chosen: QueueSetting, place: Place) -> str:
    """A cake at the root, which is the shaper too."""
    words = [f"tc qdisc replace dev {place.device} root handle {place.parent} cake"]
    words += [f"bandwidth {question.rate_bit_per_s:.0f}bit", *_rtt(chosen)]
    words += [] if present.framing is None else [present.framing.words()]
    return " ".join(words)


def _rtt(cake: QueueSetting) -> list[str]:
    return [f"rtt {1e6 * float(cake.parameters['rtt'] or 0.0):.0f}us"] if cake.tuned else []


def _tc(question: Question, chosen: QueueSetting, place: Place) -> str:
    if chosen.kind == "cake":
        at, rate = "root", f"bandwidth {question.rate_bit_per_s:.0f}bit"
        if place.parent:
            at, rate = f"parent {place.parent}", "unlimited"
        return " ".join([f"tc qdisc replace dev {place.device} {at} cake {rate}", *_rtt(chosen)])
    profile = LINUX_PROFILES[chosen.discipline]
    return on_device(profile, question, chosen).command({}, place)


def _undo(
    present: Present, name: str, own: str, *, parent: str | None, shaper: bool, changed: bool
) -> list[str]:
    delete = f"tc qdisc del dev {name} root"
    replace = f"tc qdisc replace dev {name}"
    queues = present.transmit_queues
    own_mq = queues is not None and queues.by_kernel
    if own_mq or (shaper and present.classes is not None):
        return [f"{delete} handle {own}"]
    if queues is not None:
        back = [f"{replace} root handle {queues.handle} mq"] if shaper else []
        return back + [
            f"{replace} parent {queues.handle}{each.minor} "
            f"{each.changed_back if changed else each.restore}"
            for each in queues.each
            if not (shaper and each.by_kernel)  # the new mq has these by itself
        ]
    if parent and present.of_class:
        return [f"tc qdisc del dev {name} parent {parent}"]
    at = f"parent {parent}" if parent else "root"
    if present.restore is not None:
        return [f"{replace} {at} {present.changed_back if changed else present.restore}"]
    if parent:
        # Deleting a queue below tbf would leave it one that drops everything.
        return [f"{replace} {at} pfifo limit {LINUX_FIFO_PACKETS}"]
    return [f"{delete} handle {own}" if shaper else delete]
