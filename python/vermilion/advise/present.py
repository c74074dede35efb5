"""Queue in force at the bottleneck, as far as it is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vermilion.advise.families import device_default

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.question import Question, QueueSetting
    from vermilion.advise.sonic_queue import SonicQueue
    from vermilion.advise.tc_cake import LineFraming
    from vermilion.advise.tc_queue import ShaperRate, TransmitQueues


@dataclass(frozen=True, slots=True)
class Present:
    """The queue in force.

    Attributes:
        queue: as it is simulated.
        words: what it is, in the device's words.
        stated: whether somebody said so, or it is what the device has unless told otherwise.
        interface: where tc says that it stands; ``None`` where that is not known.
        parent: the place of the queue below a shaper, as tc says it; ``None`` at the root.
        shaper: what holds the traffic to a rate before it, like "htb"; ``None`` for nothing.
        shaper_rate_bit_per_s: its rate, where that is shown.
        own_rate: how the rate of the root is changed, if that is a cake, which may have none, or a
            tbf; ``None`` elsewhere.
        tc_words: tc's words for the queue, as it is shown; ``None`` where nobody has shown it.
        restore: the same, to be put back; ``None`` where it is the kernel's own, which comes back
            when another is deleted.
        changed_back: the same where one of its kind is set in its place: tc then only changes it.
        of_class: whether it is the one that a class has by itself, which comes back when another is
            deleted there.
        missing: options of the queue that are shown and not among these words.
        exact: whether the simulated queue is of the same kind.
        known: whether it is known in which queue packets wait now. If not, what is simulated in its
            place is a guess, and no figure of it is shown.
        classes: what stands there and does not come back when a shaper takes its place, like "prio
            with pfifo"; ``None`` for nothing.
        handles: those that are in use on the interface, like "8001".
        transmit_queues: those of the interface, if it has several that can be set; ``None`` for
            one, or where that is not known.
        framing: what packets take on the line, as cake was told; ``None`` where that is not known.
        sonic: what a SONiC switch's configuration says of the queue; ``None`` where nobody has
            shown it.
        improvable: whether another queue could do anything; not on Wi-Fi, whose driver has its own.
        notes: what is lost on the way to the simulation, or worth knowing; a sentence each.
    """

    queue: QueueSetting
    words: str
    stated: bool
    interface: str | None = None
    parent: str | None = None
    shaper: str | None = None
    shaper_rate_bit_per_s: float | None = None
    own_rate: ShaperRate | None = None
    tc_words: str | None = None
    restore: str | None = None
    changed_back: str | None = None
    of_class: bool = False
    missing: tuple[str, ...] = ()
    exact: bool = True
    known: bool = True
    classes: str | None = None
    handles: frozenset[str] = frozenset()
    transmit_queues: TransmitQueues | None = None
    framing: LineFraming | None = None
    sonic: SonicQueue | None = None
    improvable: bool = True
    notes: Sequence[str] = field(default_factory=tuple)


def assumed(question: Question) -> Present:
    """The device's default, where nobody says what there is."""
    queue = device_default(question)
    note = {
        "linux": (
            "You did not give your queue (--now). It is taken to be fq_codel with "
            "the kernel's defaults. A bare kernel has pfifo_fast with 1000 packets; "
            "then the gain is much larger."
        ),
        "sonic": (
            "Your switch is taken to have tail drop with about 1 MB for the queue. "
            "If it has a WRED profile, give it with --now-json."
        ),
        "cisco": (
            "Your router is taken to have tail drop with 64 packets, the usual "
            "queue-limit of a class."
        ),
    }[question.device]
    return Present(queue, queue.label, stated=False, notes=(note,))
