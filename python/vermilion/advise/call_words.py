"""What a queue for all and a queue for each flow would do for a call, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.call_quality import cost_of_loss
from vermilion.advise.harms import MARGINS
from vermilion.advise.judgement import judge, keeps, worst_p95_ms
from vermilion.advise.margins import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER, margin_name
from vermilion.advise.number_words import (
    milliseconds,
    more_goodput,
    percent,
    percent_of_possible,
)

if TYPE_CHECKING:
    from vermilion.advise.advice import Advice, Compared
    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured

_MUCH_SHORTER: Final = 0.5
_OF_OWN_PACKETS: Final = frozenset({"delay_p95_ms", "drop_rate"})
"""What a queue for each flow makes worse for the long transfers, and not for a call beside them."""


def for_a_call(advice: Advice) -> list[str]:
    """What a queue that keeps flows apart would do for a call, where none is recommended."""
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
    if advice.keep and _is_well(advice, calls[0]):
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
            f"But of all packets together 95 % wait up to {milliseconds(worst_p95_ms(nearest))} "
            f"there, and you asked for {bound:.4g} ms"
        )
    wish = f"If calls matter more to you: --discipline {kind}."
    if advice.keep or not free:
        # With it nothing would be set: it was refused for what it does to other packets.
        read = nearest.queue.readable()
        setting = ", ".join(
            f"{each.replace('_', ' ')} {read[each]}" for each in nearest.queue.tuned
        )
        what = f"{kind} ({setting})" if setting else kind
        wish = f"{_longer_transfers(advice, nearest, calls[0])}If calls matter more to you than "
        wish += f"{'that' if advice.keep else 'this bound'}, set {what} instead."
    said = (
        f"{kind} keeps the flows apart: 95 % of a call's packets would wait at most "
        f"{milliseconds(there)} with it, instead of {milliseconds(here)}.{losses} {but}. "
        f"{wish}"
    )
    return [said]


def _is_well(advice: Advice, at: Condition) -> bool:
    """Whether a call waits no longer than the bound, and loses no more than what is not heard."""
    wait, lost = (advice.after.mean(at, each) or 0.0 for each in (CALL_DELAY, CALL_LOSS))
    return wait <= advice.question.bound_ms and lost <= MARGINS["call_loss_rate_heard"]


def _longer_transfers(advice: Advice, measured: Measured, at: Condition) -> str:
    """That short transfers take longer with a queue than a margin allows; else nothing."""
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


def lost_of_calls(advice: Advice) -> list[str]:
    """That a call loses so much with what is recommended that it is heard."""
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
        f"With {at.name}, {percent(losses[at])} % of a call's packets are lost{than_now}, which is "
        f"heard: it costs {cost_of_loss(losses[at]):.0f} of 100 points (ITU-T G.107, G.711)."
    )
    return [said]


def refused_for_isolation(advice: Advice, each: Compared) -> bool:
    """Whether it is a queue for all that would be better, but for the flows that it mixes."""
    if not each.gives_up_isolation:
        return False
    return judge(advice.question, advice.after, each.measured).by is not None


def for_all(advice: Advice) -> list[str]:
    """What the best queue for all would do, what a call would pay, and how to ask for it."""
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
        f"One queue for all ({measured.queue.label}) would {gain}, but mix the flows: with "
        f"{advice.chosen.kind} a transfer waits mostly behind itself. {pays} To have it all the "
        f"same: {wanted}."
    )
    return [said]
