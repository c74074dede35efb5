"""Caveats of an answer: calls, shapers and the way back, a sentence or two each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.commands import brings_here, gets_the_rate, interface_of, not_restored
from vermilion.advise.harms import MARGINS, cost_of_loss
from vermilion.advise.judgement import judge, keeps, worst_p95_ms
from vermilion.advise.margins import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER, margin_name
from vermilion.advise.number_words import milliseconds, more_goodput, percent, percent_of_possible
from vermilion.advise.sonic import is_named, may_be_lossless
from vermilion.advise.sonic_queue import profile_name
from vermilion.advise.tc_cake import PTM_SHARE
from vermilion.scenario import RATE, format_quantity

if TYPE_CHECKING:
    from vermilion.advise.advice import Advice, Compared
    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured
    from vermilion.advise.present import Present
    from vermilion.advise.question import Question


_MUCH_SHORTER: Final = 0.5
_OF_OWN_PACKETS: Final = frozenset({"delay_p95_ms", "drop_rate"})
"""Metrics that a queue for each flow worsens for long transfers, not for a call beside them."""


def isolation_for_calls(advice: Advice) -> list[str]:
    """Gain of a call from a queue for each flow, where none is recommended."""
    calls = [at for at, runs in advice.after.runs.items() if any(CALL_DELAY in run for run in runs)]
    apart = [each for each in advice.compared if each.measured.queue.keeps_apart]
    free = [each for each in apart if all(harm.excusable for harm in each.judgement.harms)]
    told = [
        each
        for each in apart
        if all(harm.excusable or harm.what in _OF_OWN_PACKETS for harm in each.judgement.harms)
    ]
    fair = [each.measured for each in free or told]
    if not calls or not fair or advice.chosen.keeps_apart:
        return []
    if advice.keep and _call_is_fine(advice, calls[0]):
        return []
    nearest = min(fair, key=worst_p95_ms)
    there, here = (each.mean(calls[0], CALL_DELAY) for each in (nearest, advice.after))
    lost = [each.mean(calls[0], CALL_LOSS) or 0.0 for each in (nearest, advice.after)]
    loses_less = lost[1] - lost[0] > MARGINS["call_loss_rate"]
    if there is None or here is None or not (loses_less or there <= _MUCH_SHORTER * here):
        return []
    losses = ""
    if loses_less:
        losses = f" Of these packets {percent(lost[0])} % would be lost, not {percent(lost[1])} %."
    kind, bound = nearest.queue.kind, advice.question.bound_ms
    if keeps(nearest, bound):
        shares = (percent_of_possible(advice, each) for each in (nearest, advice.after))
        but = "It carries {:.1f} % of what the line can, where this carries {:.1f}".format(*shares)
    else:
        but = (
            "But of all packets together 95 % wait up to "
            f"{milliseconds(worst_p95_ms(nearest))} there; your bound is {bound:.4g} ms"
        )
    wish = f"If calls matter more to you: --discipline {kind}."
    if advice.keep or not free:
        # With it nothing would be set: it was refused for what it does to other packets.
        read = nearest.queue.readable()
        setting = ", ".join(
            f"{each.replace('_', ' ')} {read[each]}" for each in nearest.queue.tuned
        )
        what = f"{kind} ({setting})" if setting else kind
        wish = f"{_transfer_clause(advice, nearest, calls[0])}If calls matter more to you than "
        wish += f"{'that' if advice.keep else 'this bound'}, set {what} instead."
    said = (
        f"{kind} keeps the flows apart: 95 % of a call's packets would wait at most "
        f"{milliseconds(there)}, instead of {milliseconds(here)}.{losses} {but}. {wish}"
    )
    return [said]


def _call_is_fine(advice: Advice, at: Condition) -> bool:
    """Check whether a call keeps the bound and its losses are inaudible."""
    wait, lost = (advice.after.mean(at, each) or 0.0 for each in (CALL_DELAY, CALL_LOSS))
    return wait <= advice.question.bound_ms and lost <= MARGINS["call_loss_rate_heard"]


def _transfer_clause(advice: Advice, measured: Measured, at: Condition) -> str:
    """Clause on short transfers that take longer than a margin allows; empty otherwise."""
    harms = judge(advice.question, advice.before, measured).harms
    if not any(each.what == SHORT_TRANSFER for each in harms):
        return ""
    there, here = (
        1e3 * (each.mean(at, SHORT_TRANSFER) or 0.0) for each in (measured, advice.after)
    )
    return (
        f"Short transfers would take {milliseconds(there)} on average, instead of "
        f"{milliseconds(here)}. "
    )


def audible_call_losses(advice: Advice) -> list[str]:
    """Warning that a call's losses under the recommended queue are audible."""
    losses = {
        at: lost
        for at in advice.after.runs
        if (lost := advice.after.mean(at, CALL_LOSS)) is not None
        and lost > MARGINS["call_loss_rate_heard"]
    }
    if not losses:
        return []
    at = max(losses, key=lambda each: losses[each])
    now = advice.before.mean(at, CALL_LOSS)
    than_now = "" if advice.keep or now is None else f" ({percent(now)} % now)"
    said = (
        f"With {at.name}, {percent(losses[at])} % of a call's packets are lost{than_now}: "
        f"it costs {cost_of_loss(losses[at]):.0f} of 100 points (ITU-T G.107, G.711)."
    )
    return [said]


def refused_for_isolation(advice: Advice, each: Compared) -> bool:
    """Check whether it is a queue for all that would be better, but for the flows that it mixes."""
    if not each.gives_up_isolation:
        return False
    return judge(advice.question, advice.after, each.measured).by is not None


def shared_queue_alternative(advice: Advice) -> list[str]:
    """Gain and price of the best queue for all, and how to ask for it."""
    better = [each for each in advice.compared if refused_for_isolation(advice, each)]
    if not better:
        return []
    other = better[0]
    measured, kind = other.measured, other.measured.queue.kind
    gain = f"come to {milliseconds(worst_p95_ms(measured))}"
    if judge(advice.question, advice.after, measured).by == "goodput":
        gain = f"fill {more_goodput(advice, measured):.1f} % more of the line"
    pays = "A call would then wait as long as everybody."
    for at in measured.runs:
        waits = [each.mean(at, CALL_DELAY) for each in (advice.after, measured)]
        lost = [percent(each.mean(at, CALL_LOSS) or 0.0) for each in (advice.after, measured)]
        if waits[0] is not None and waits[1] is not None:
            pays = (
                f"Of a call's packets 95 % would wait at most {milliseconds(waits[1])} instead of "
                f"{milliseconds(waits[0])}, and {lost[1]} % would be lost instead of {lost[0]} %."
            )
    names = dict.fromkeys(margin_name(each.what) for each in other.judgement.harms)
    wanted = " ".join([f"--discipline {kind}", *(f"--harm {each}=none" for each in names)])
    said = (
        f"One queue for all ({measured.queue.label}) would {gain}, but mix the flows. "
        f"{pays} To have it all the same: {wanted}."
    )
    return [said]


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
