"""Simulated stand-in for the queue that tc shows.

What cannot be simulated has the nearest that can in its place, and that is said:

- pfifo_fast, and noqueue with a queue somewhere behind it, are drop-tail with the usual 1000
  packets.
- fq and sfq are fair queues that drop where a flow, or all, have as many packets as they may:
  FQ-CoDel with a target of 10 s. fq's pacing of what the machine itself sends is not simulated.
- cake has flows apart and one tin: hosts and codepoints of the traffic are not known. Its
  overhead makes the line slower by as much as it takes of a full packet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import PACKET_BYTES
from vermilion.advise.families import LINUX_FIFO_PACKETS
from vermilion.advise.options import check_word
from vermilion.advise.present import Present
from vermilion.advise.question import QueueSetting
from vermilion.advise.tc_cake import cake_framing
from vermilion.advise.tc_queue import TransmitQueue, TransmitQueues, shaper_rate
from vermilion.advise.tc_restore import restore_arguments
from vermilion.monitor.waits import waits_now
from vermilion.scenario import RATE, disciplines, format_quantity
from vermilion.scenario.errors import FieldError, ScenarioError, one_of
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.advise.question import Question
    from vermilion.advise.tc_cake import LineFraming
    from vermilion.advise.tc_queue import TcQueue
    from vermilion.scenario.algorithms import ParameterValue

    Values = dict[str, ParameterValue]

_SHAPERS: Final = frozenset({"htb", "tbf", "hfsc", "cake"})
_CLASSFUL: Final = frozenset({"htb", "tbf", "hfsc", "prio", "drr", "ets", "qfq"})
_PER_CORE: Final = frozenset({"mq", "mqprio"})
_WITH_DEFAULT: Final = frozenset({"htb", "hfsc"})
"""Shapers that say into which class what nobody has put elsewhere goes."""

_WITH_OWN_QUEUES: Final = _WITH_DEFAULT | {"prio", "ets"}
"""Kinds whose classes get a pfifo again when what stands there is deleted (``prio_graft`` and
``ets_class_graft`` of sch_prio.c and sch_ets.c)."""

_BY_KERNEL: Final = "0:"
"""The handle of what the kernel has put there by itself."""

_MINOR: Final = re.compile(r"[0-9a-f]{1,4}")
_NOT_MADE_AGAIN: Final = _CLASSFUL - _SHAPERS | {"mqprio"}
"""What has more than tc qdisc show tells, so that no command here brings it back."""

_NOT_OUTGOING: Final = frozenset({"ingress", "clsact"})
_NEVER_S: Final = 10.0
"""A target that no packet waits for."""

_UNLIMITED: Final = "unlimited"
_NUMBERS: Final = frozenset(
    {
        "limit", "rate", "bandwidth", "burst", "lat", "target", "interval", "ce_threshold", "flows",
        "quantum", "memory_limit", "drop_batch", "tupdate", "alpha", "beta", "ecn_prob", "min",
        "max", "ewma", "probability", "max_p", "rtt", "overhead", "mpu", "memlimit", "flow_limit",
        "depth", "direct_qlen",
    }
)  # fmt: skip
"""Options with a number, of all that are read here."""

_TOKENS_PER_BIT: Final = 8.0
_SIXTEENTHS: Final = 16.0
_PERCENT: Final = 100.0
_LEAST_SENT: Final = 1000.0
"""Packets: of fewer, nothing is said about how many were dropped."""

_USUAL_RED_PROBABILITY: Final = 0.02


def present_of(question: Question, queues: Sequence[TcQueue], option: str) -> Present:
    """Queue in force at the bottleneck, as tc shows it.

    Args:
        question: with the interface and the parent that are meant.
        queues: what tc shows.
        option: that it was given with, for messages.

    Raises:
        ScenarioError: it cannot be told which queue is meant, or it is none that can be judged.
    """
    own = _of_interface(question, queues, option)
    for each in own:  # whoever wrote the text, what stands in it may come back in a command
        for word in (each.device, each.parent, each.handle):
            check_word(option, word)
    root, queue = _leaf(question, own, option)
    for each in (root, queue):
        _check_numbers(each, option)
    rate = _first(root.number("rate"), root.number("bandwidth")) or None
    shapes = root.kind in _SHAPERS and (root.kind != "cake" or rate is not None)
    shaper = root.kind if shapes else None
    parent = None
    notes: list[str] = []
    if root.kind in _CLASSFUL:
        # A shaper without a queue of its own making has one that is not shown.
        named = question.parent is not None
        parent = queue.parent if queue is not root or named else _class_of(root, option)
        if queue is root and not named:
            notes.append(
                f"Nothing is shown below {root.kind}; its class is taken to be {parent}. "
                "If it is another, give --parent."
            )
    setting = _setting(queue, notes, option)
    per_core = root.kind in _PER_CORE
    if per_core:
        notes.append(
            f"The interface has several transmit queues ({root.kind}), each with its own "
            f"queue; one {queue.kind} for all is simulated, like the busiest."
        )
    notes += _statistics_notes(queue)
    notes += _waits_notes(queue, rate or question.rate_bit_per_s, own[0].device)
    by_kernel = queue.handle == _BY_KERNEL and (queue is root or per_core)
    back = restore_arguments(question, queue, setting)
    transmit_queues, missing = None, () if by_kernel else back.missing
    if per_core and question.parent is None:
        transmit_queues, missing = _transmit_queues(question, root, own, option)
    framing = cake_framing(queue) if queue.kind == "cake" else None
    if framing is not None:
        notes.append(_framing_words(question, framing))
    return Present(
        setting,
        setting.label
        if _is_wireless(queue)
        else f"{queue.kind}{f' below {root.kind}' if root is not queue else ''}",
        stated=True,
        interface=own[0].device,
        parent=parent,
        shaper=shaper,
        shaper_rate_bit_per_s=rate if shaper else None,  # htb's is its classes', not shown here
        own_rate=shaper_rate(root),
        tc_words=back.words,
        restore=None if by_kernel else back.words,
        changed_back=None if by_kernel else back.changed,
        of_class=queue.kind in _WITH_OWN_QUEUES,
        missing=missing,
        exact=queue.kind not in _STAND_INS,
        known=queue.kind != "noqueue" or _is_wireless(queue),
        improvable=not _is_wireless(queue),
        classes=(
            (root.kind if queue is root else f"{root.kind} with {queue.kind}")
            if root.kind in _NOT_MADE_AGAIN and question.parent is None
            else None
        ),
        handles=frozenset(each.handle.rstrip(":").lstrip("0").lower() for each in own),
        transmit_queues=transmit_queues,
        framing=framing,
        notes=tuple(notes),
    )


def _check_numbers(queue: TcQueue, option: str) -> None:
    """Refuses what should be a number and is none, which no default may stand in for."""
    for name in _NUMBERS & queue.options.keys():
        value = queue.options[name]
        if isinstance(value, str | bool) and value != _UNLIMITED:
            shown = f"{name} {value}" if isinstance(value, str) else name
            expected = 'a number as tc prints it, like "limit 1000p" or "target 5ms"'
            raise ScenarioError(option, shown, expected)


def _of_interface(question: Question, queues: Sequence[TcQueue], option: str) -> list[TcQueue]:
    """The queues of the interface that is meant."""
    outgoing = [each for each in queues if each.kind not in _NOT_OUTGOING]
    names = list(dict.fromkeys(each.device for each in outgoing if each.device is not None))
    wanted = question.interface
    if wanted is None and len(names) > 1:
        busy = {each.device for each in outgoing if each.kind != "noqueue"}
        if len(busy) != 1:
            shown = ", ".join(names[:8])
            raise ScenarioError(option, shown, "one interface; name it with --interface")
        [wanted] = busy
    if names and wanted is not None:
        outgoing = [each for each in outgoing if each.device == wanted]
    if not outgoing:
        expected = f"a queue of the interface {wanted}" if wanted else "a queue for what goes out"
        raise ScenarioError(option, ", ".join(names[:8]) or "what is shown", expected)
    return outgoing


def _leaf(question: Question, queues: Sequence[TcQueue], option: str) -> tuple[TcQueue, TcQueue]:
    """The queue at the root, and the one that packets wait in."""
    roots = [each for each in queues if each.parent is None]
    leaves = [each for each in queues if each.parent is not None and each.kind not in _CLASSFUL]
    root = roots[0] if roots else queues[0]
    if question.parent is not None:
        meant = [each for each in leaves if each.parent == question.parent]
        if meant:
            return root, meant[0]
        places = [each.parent for each in leaves if each.parent is not None]
        if places:
            raise ScenarioError("--parent", question.parent, f"one of: {', '.join(places[:12])}")
        return root, root
    if not leaves:
        return root, root
    if root.kind not in _SHAPERS:  # below mq, or bands without rates of their own
        known = [each for each in leaves if each.kind in _KINDS]
        busiest = max(known or leaves, key=lambda each: each.statistics.get("packets", 0.0))
        return root, busiest
    if len(leaves) > 1:
        places = [str(each.parent) for each in leaves]
        raise ScenarioError(
            option,
            f"{len(leaves)} queues",
            f"one of them, named with --parent: {', '.join(places[:12])}",
        )
    return root, leaves[0]


def _setting(queue: TcQueue, notes: list[str], option: str) -> QueueSetting:
    """The queue as the simulator has it; what is lost is added to the notes."""
    if _is_wireless(queue):
        notes.append(_WIRELESS)
        own: Values = {"dialect": "linux", "target": _WIRELESS_TARGET_S, "ecn": True}
        return QueueSetting("fq_codel of mac80211", "fq_codel", "fq-codel", own)
    if queue.kind not in _KINDS:
        known = one_of(sorted(_KINDS))
        raise ScenarioError(option, f"qdisc {queue.kind}", f"a queue that can be judged: {known}")
    discipline, translate = _KINDS[queue.kind]
    values = translate(queue, notes)
    table = disciplines()[discipline].parameters
    for name, value in values.items():
        try:
            table[name].parse(table[name].exact_text(value))
        except FieldError as error:
            raise ScenarioError(option, f"{queue.kind} {name} {value}", error.accepted) from None
    if (note := _STAND_INS.get(queue.kind)) is not None:
        notes.append(note)
    each_flow = _of_each_flow(queue)
    return QueueSetting(queue.kind, queue.kind, discipline, values, each_flow=each_flow)


def _pfifo(queue: TcQueue, _notes: list[str]) -> Values:
    return {"limit": _count(queue, "limit", LINUX_FIFO_PACKETS)}


def _bfifo(queue: TcQueue, _notes: list[str]) -> Values:
    return {"limit_bytes": _count(queue, "limit", LINUX_FIFO_PACKETS * PACKET_BYTES)}


def _class_default(queue: TcQueue, _notes: list[str]) -> Values:
    """Default queue of a class: as many packets as the interface's txqueuelen.

    htb tells that as direct_qlen (``htb_init`` of sch_htb.c, ``fifo_init`` of sch_fifo.c).
    """
    return {"limit": max(_count(queue, "direct_qlen", LINUX_FIFO_PACKETS), 1.0)}


def _is_wireless(queue: TcQueue) -> bool:
    """Check whether its interface has a name of those that send by radio."""
    return queue.kind == "noqueue" and (queue.device or "").startswith("wl")


def _tbf(queue: TcQueue, notes: list[str]) -> Values:
    """The buffer of tbf itself: what its rate sends within its latency, and a burst."""
    rate, latency = queue.number("rate"), queue.number("lat")
    limit, burst = queue.number("limit"), queue.number("burst") or 0.0
    if limit is None and rate is not None and latency is not None:
        limit = rate * latency / _TOKENS_PER_BIT + burst
    if limit is None:
        limit = float(LINUX_FIFO_PACKETS * PACKET_BYTES)
        notes.append("The size of tbf's buffer is not shown; it is taken to be 1000 packets.")
    return {"limit_bytes": float(round(max(limit, 1.0)))}


def _codel_times(queue: TcQueue) -> Values:
    values: Values = {
        "dialect": "linux",
        "target": _first(queue.number("target"), 0.005),
        "interval": _first(queue.number("interval"), 0.1),
        "ecn": queue.is_on("ecn"),
    }
    threshold = queue.number("ce_threshold")
    return values if threshold is None else {**values, "ce_threshold": threshold}


def _codel(queue: TcQueue, _notes: list[str]) -> Values:
    return {**_codel_times(queue), "limit": _count(queue, "limit", LINUX_FIFO_PACKETS)}


def _fq_codel(queue: TcQueue, _notes: list[str]) -> Values:
    return {
        **_codel_times(queue),
        "limit": _count(queue, "limit", 10_240),
        "flows": _count(queue, "flows", 1024),
        "quantum": max(_count(queue, "quantum", PACKET_BYTES), 256.0),
        "memory_limit": _count(queue, "memory_limit", 32 * 2**20),
        "drop_batch": _count(queue, "drop_batch", 64),
    }


def _pie_times(queue: TcQueue) -> Values:
    return {
        "target": _first(queue.number("target"), 0.015),
        "interval": _first(queue.number("tupdate"), 0.015),
        "alpha": _first(queue.number("alpha"), 2.0) / _SIXTEENTHS,
        "beta": _first(queue.number("beta"), 20.0) / _SIXTEENTHS,
        "ecn": queue.is_on("ecn"),
        "byte_mode": queue.is_on("bytemode"),
        "estimate_rate": queue.is_on("dq_rate_estimator"),
    }


def _pie(queue: TcQueue, _notes: list[str]) -> Values:
    return {**_pie_times(queue), "limit": _count(queue, "limit", LINUX_FIFO_PACKETS)}


def _fq_pie(queue: TcQueue, _notes: list[str]) -> Values:
    return {
        **_pie_times(queue),
        "limit": _count(queue, "limit", 10_240),
        "flows": _count(queue, "flows", 1024),
        "quantum": max(_count(queue, "quantum", PACKET_BYTES), 256.0),
        "mark_probability": _first(queue.number("ecn_prob"), 10.0) / _PERCENT,
    }


def _red(queue: TcQueue, notes: list[str]) -> Values:
    values: Values = {
        "limit": _count(queue, "limit", LINUX_FIFO_PACKETS * PACKET_BYTES),
        "max_probability": queue.number("probability") or queue.number("max_p"),
        "ecn": queue.is_on("ecn"),
        "drop_above_maximum": queue.is_on("harddrop"),
        "no_drop": queue.is_on("nodrop") and queue.is_on("ecn"),
        "adaptive": queue.is_on("adaptive"),
        "mean_packet_size": 1000.0,
    }
    for name, word in (("min_threshold", "min"), ("max_threshold", "max"), ("weight_log", "ewma")):
        number = queue.number(word)
        if number is not None:
            values[name] = number
    if values["max_probability"] is None:
        values["max_probability"] = _USUAL_RED_PROBABILITY
        notes.append(
            "tc shows red's probability and weight only with -d (tc -d -s qdisc show); "
            "they are taken to be 0.02 and tc's default."
        )
    return values


def _dualpi2(queue: TcQueue, _notes: list[str]) -> Values:
    """Its gains in Hz, and the shallow threshold of its queue for L4S: sch_dualpi2.c."""
    values: Values = {
        "limit": _count(queue, "limit", 10_000),
        "target": _first(queue.number("target"), 0.015),
        "interval": _first(queue.number("tupdate"), 0.016),
    }
    threshold = queue.number("step_thresh")
    return values if threshold is None else {**values, "step_delay": threshold}


def _fq(queue: TcQueue, notes: list[str]) -> Values:
    threshold = queue.number("ce_threshold")
    if queue.number("maxrate") is not None:
        notes.append("fq holds each flow to its maxrate, which is not simulated.")
    return {
        "limit": _count(queue, "limit", 10_000),
        "flow_limit": max(_count(queue, "flow_limit", 100), 1.0),
        "quantum": _count(queue, "quantum", 2 * PACKET_BYTES),
        "initial_quantum": _count(queue, "initial_quantum", 10 * PACKET_BYTES),
        **({} if threshold is None else {"ce_threshold": threshold}),
    }


def _sfq(queue: TcQueue, _notes: list[str]) -> Values:
    return {
        "dialect": "linux",
        "target": _NEVER_S,
        "interval": _NEVER_S,
        "ecn": False,
        "limit": _count(queue, "limit", 127),
        "drop_batch": 1.0,
    }


def _of_each_flow(queue: TcQueue) -> float | None:
    """Packets that may wait of one flow of sfq, which something else stands for: sch_sfq.c."""
    return max(_count(queue, "depth", 127), 1.0) if queue.kind == "sfq" else None


def _cake(queue: TcQueue, _notes: list[str]) -> Values:
    """Cake without what the traffic's hosts and codepoints would decide, which are not known."""
    own = {"rtt": _first(queue.number("rtt"), 0.1)}
    if (most := queue.number("memlimit")) is not None:
        own["memory_limit"] = most
    return {**own, "tins": "besteffort", "isolation": "flows"}


_KINDS: Final[Mapping[str, tuple[str, Callable[[TcQueue, list[str]], Values]]]] = {
    "pfifo_fast": ("drop-tail", lambda _queue, _notes: {"limit": float(LINUX_FIFO_PACKETS)}),
    "noqueue": ("drop-tail", lambda _queue, _notes: {"limit": float(LINUX_FIFO_PACKETS)}),
    "pfifo": ("drop-tail", _pfifo),
    "bfifo": ("drop-tail", _bfifo),
    "pfifo_head_drop": (
        "drop-tail",
        lambda queue, notes: {**_pfifo(queue, notes), "drop": "head"},
    ),
    "htb": ("drop-tail", _class_default),
    "hfsc": ("drop-tail", _class_default),
    "prio": ("drop-tail", _class_default),
    "ets": ("drop-tail", _class_default),
    "tbf": ("drop-tail", _tbf),
    "codel": ("codel", _codel),
    "fq_codel": ("fq-codel", _fq_codel),
    "pie": ("pie", _pie),
    "fq_pie": ("fq-pie", _fq_pie),
    "red": ("linux-red", _red),
    "fq": ("fq", _fq),
    "dualpi2": ("dualpi2", _dualpi2),
    "netem": ("drop-tail", _pfifo),
    "sfq": ("fq-codel", _sfq),
    "cake": ("cake", _cake),
}
"""The simulator's discipline of each kind, and what makes its parameters."""

_OF_CLASS: Final = (
    "No queue is shown below {kind}; its classes then drop at the tail of {name} "
    "packets, taken to be 1000."
)
_WIRELESS_TARGET_S: Final = 0.02
_WIRELESS: Final = (
    "Wi-Fi has its queues in mac80211, behind this interface (noqueue): mostly fq_codel with a "
    "target of 20 ms. If the radio is slow, leave it: a shaper needs a constant rate. If the line "
    "behind the access point is, ask about the router's interface to it."
)
"""Sources: net/mac80211/sta_info.c (the target), ``ieee80211_txq_setup_flows`` of tx.c (6.12)."""

_STAND_INS: Final[Mapping[str, str]] = {
    "pfifo_fast": (
        "pfifo_fast has three bands and the limit txqueuelen; one band with "
        "1000 packets is simulated."
    ),
    "noqueue": (
        "The interface has no queue of its own (noqueue); packets wait behind it: "
        "below a bridge, a VLAN or a tunnel, or in a modem. How long is not "
        "known. Look there with tc -s qdisc show, and ask about that queue."
    ),
    "htb": _OF_CLASS.format(kind="htb", name="direct_qlen"),
    "hfsc": _OF_CLASS.format(kind="hfsc", name="txqueuelen"),
    "prio": _OF_CLASS.format(kind="prio", name="txqueuelen"),
    "ets": _OF_CLASS.format(kind="ets", name="txqueuelen"),
    "netem": "netem is judged as a queue of its limit; its delays and losses are not simulated.",
    "fq": "Pacing of this machine's own packets by fq is not simulated.",
    "sfq": (
        "sfq is judged as one buffer of its limit, shared by all flows; its depth for "
        "one flow is ignored."
    ),
    "cake": (
        "cake is simulated with all flows in one tin and from hosts of their own: hosts and "
        "codepoints of your traffic are not known."
    ),
}
"""What is said of kinds that something else stands for."""


def _transmit_queues(
    question: Question, root: TcQueue, queues: Sequence[TcQueue], option: str
) -> tuple[TransmitQueues, tuple[str, ...]]:
    """Queues below mq, and the options that undo does not bring back."""
    major = root.handle.rstrip(":")
    below = [
        each
        for each in queues
        if each.parent is not None and (each.parent.partition(":")[0] or "0") == major
    ]
    found, missing = [], dict[str, None]()
    for each in below:
        minor = str(each.parent).partition(":")[2]
        if each.kind in _CLASSFUL or _MINOR.fullmatch(minor) is None:
            shown = f"{each.kind} at {each.parent}"
            expected = f"queues without classes below {root.kind}; or name one: --parent"
            raise ScenarioError(option, shown, expected)
        back = restore_arguments(question, each, _setting(each, [], option))
        missing.update(dict.fromkeys(back.missing))
        found.append(TransmitQueue(minor, back.words, back.changed, each.handle == _BY_KERNEL))
    if not found:
        expected = f"queues directly below {root.kind}; or name one: --parent"
        raise ScenarioError(option, f"{root.kind} {root.handle}", expected)
    found.sort(key=lambda each: int(each.minor, 16))
    queues_of = TransmitQueues(root.kind, root.handle, tuple(found))
    return queues_of, () if queues_of.by_kernel else tuple(missing)


def _framing_words(question: Question, framing: LineFraming) -> str:
    """Note that the line counts more than the packets, and what it leaves for them."""
    on_line = framing.bytes_of(PACKET_BYTES)
    rates = (question.rate_bit_per_s, question.rate_bit_per_s * PACKET_BYTES / on_line)
    whole, packets = (format_quantity(float(f"{each:.3g}"), RATE) for each in rates)
    return (
        f"Your line takes {on_line} bytes for a packet of {PACKET_BYTES} "
        f"({framing.words()}). So of {whole}, {packets} are left for packets and "
        "simulated."
    )


def _class_of(root: TcQueue, option: str) -> str:
    """The class of a shaper in which packets wait that nobody has put elsewhere.

    Raises:
        ScenarioError: there is none: htb lets such packets pass at once, hfsc drops them.
    """
    default = root.options.get("default")
    text = f"{default:.0f}" if isinstance(default, float) else str(default or 0)
    minor = text.removeprefix("0x").lstrip("0")  # hexadecimal, whether tc says so or not
    if not minor and (root.kind == "hfsc" or (root.kind == "htb" and default is not None)):
        shown = f"{root.kind} without a default class"
        expected = "the class in which packets wait: --parent (tc class show)"
        raise ScenarioError(option, shown, expected)
    if root.kind not in _WITH_DEFAULT or _MINOR.fullmatch(minor) is None:
        minor = "1"
    return f"{root.handle}{minor}"


def _statistics_notes(queue: TcQueue) -> list[str]:
    """Note of what the counters show, if anything."""
    sent = queue.statistics.get("packets", 0.0)
    if sent < _LEAST_SENT:
        return []
    said = []
    packets = how_many(round(sent), "packet", grouped=True)
    dropped = queue.statistics.get("dropped", 0.0)
    share = _PERCENT * dropped / (sent + dropped)
    said.append(
        f"Since its counters began, it has sent {packets} and dropped {share:.2g} % of what came."
        if dropped
        else (
            f"Since its counters began, it has sent {packets} and dropped none: the "
            "traffic never filled it, or packets wait elsewhere."
        )
    )
    marked = queue.statistics.get("marked", 0.0)
    if marked:
        said.append(
            f"It has marked {_PERCENT * marked / sent:.2g} % of them: some senders use ECN."
        )
    return said


def _waits_notes(queue: TcQueue, rate_bit_per_s: float, device: str | None) -> list[str]:
    """Note of where packets wait: what tc shows is one moment of this queue, and nothing else."""
    backlog = queue.statistics.get("backlog_bytes")
    if backlog is None:
        return []
    finding = waits_now(8.0 * backlog / rate_bit_per_s, ())
    if finding.place == "here":
        return [f"When this was shown, {finding.words()}."]
    name = device or "eth0"
    elsewhere = (
        "No packet of note waited here when this was shown. Where else they wait tc cannot tell: "
        f"vermilion monitor --interface {name} sees it, or vermilion control linux:{name} --line "
        "auto on that machine."
    )
    return [elsewhere]


def _count(queue: TcQueue, name: str, usual: float) -> float:
    number = queue.number(name)
    return float(round(usual if number is None else number))


def _first(*values: float | None) -> float:
    """The first that is known, else 0."""
    return next((value for value in values if value is not None), 0.0)
