"""Wording of an answer: headline, reason, price, warnings and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.advise.caveats import (
    audible_call_losses,
    isolation_for_calls,
    refused_for_isolation,
    shared_queue_alternative,
    undo_caveats,
    where_packets_wait,
)
from vermilion.advise.commands import brings_by_shaper, brings_here, is_as_fast
from vermilion.advise.conditions import (
    PACKET_BYTES,
    around,
    most_goodput,
    nominal,
    packet_time_s,
    probes,
)
from vermilion.advise.harms import MARGINS, SLACK, widened
from vermilion.advise.judgement import worst_p95_ms
from vermilion.advise.margins import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER
from vermilion.advise.number_words import (
    capital,
    megabits,
    milliseconds,
    more_goodput,
    percent,
    percent_of_possible,
    rounded,
)
from vermilion.scenario import RATE, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.advise.advice import Advice, Compared
    from vermilion.advise.conditions import Condition
    from vermilion.advise.harms import Harm, Widened
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question


_MS: Final = 1e3
_MOST_HARMS: Final = 2
_NOTHING: Final = 1e-3
"""Of the goodput: what a queue lets through that has shut itself."""

_THROTTLED: Final = 0.8
"""Of the goodput that another queue has: whoever has less hears of it."""

_INTERNET_S: Final = 0.01
"""A round trip to somebody in another place: whoever has only shorter ones is in one building."""

_WITH_CODEL: Final = frozenset({"codel", "fq-codel"})

_METRIC_WORDS: Final = {
    "goodput_bit_per_s": "goodput",
    "jain_index": "Jain's index of fairness",
    "starved_flows": "starved flows",
    "delay_p95_ms": "the queueing delay (p95)",
    "drop_rate": "the part of the packets that is dropped",
    SHORT_TRANSFER: "the time of a short transfer",
    CALL_DELAY: "the time that 95 % of a call's packets wait at most",
    CALL_LOSS: "the part of a call's packets that is lost",
}


_PRICES: Final = (
    ("jain_index", True, "fairness (Jain's index) where it is least", 1.0, ".2f", ""),
    ("starved_flows", False, "starved flows where they are most", 1.0, ".1f", ""),
    ("drop_rate", False, "drops where they are most", 100.0, ".2g", " % of the packets"),
    ("mark_rate", False, "marks where they are most", 100.0, ".2g", " % of the packets"),
)
"""Of each metric: whether the least of all conditions counts, in words, and how it is written."""


def headline(advice: Advice) -> str:
    """The answer in one line."""
    if advice.keep:
        kept = f"Keep what you have: {setting_words(advice.present.words, advice, now=True)}."
        elsewhere = _packets_wait_elsewhere(advice)
        return f"{kept} But packets wait elsewhere now: bring them here." if elsewhere else kept
    return f"Set this: {setting_words(advice.chosen.kind, advice)}."


def _packets_wait_elsewhere(advice: Advice) -> bool:
    """Check whether packets are known to wait somewhere else than in the queue that is to stay."""
    known = advice.question.interface_rate_bit_per_s is not None
    return advice.keep and known and brings_here(advice.question, advice.present, keep=True)


def setting_words(name: str, advice: Advice, *, now: bool = False) -> str:
    """A queue with the parameters that matter: "fq_codel, target 9.18 ms, interval 14.7 ms"."""
    queue = advice.before.queue if now else advice.chosen
    readable = queue.readable()
    names = queue.tuned or tuple(each for each in ("limit", "limit_bytes") if each in readable)
    if now and not (advice.present.stated and advice.present.known):
        return name  # which says it all
    if queue.discipline != "drop-tail" and not queue.tuned:
        return f"{name}, with its defaults" if not now else name
    plain = {each: each.removesuffix("_bytes").replace("_", " ") for each in names}
    return ", ".join([name, *(f"{plain[each]} {readable[each]}" for each in names)])


def reason(advice: Advice) -> str:
    """Reason of the answer, in a few sentences."""
    bound = advice.question.bound_ms
    before, after = advice.before, advice.after
    known = advice.present.known
    worst_before, worst_after = worst_p95_ms(before), worst_p95_ms(after)
    where = (
        "once packets wait in what you have"
        if _packets_wait_elsewhere(advice)
        else "with what you have"
    )
    if not known:
        where = "in a queue of 1000 packets, assumed here"
    now = (
        f"{where}, 95 % of the packets wait at most {milliseconds(worst_before)} "
        f"in the worst case of your range ({worst_condition(before).name})"
    )
    asked = f"you asked for at most {bound:.4g} ms"
    if advice.keep:
        return _keep_reason(advice, now, asked)
    then = (
        f"with this, 95 % of the packets wait at most {milliseconds(worst_after)} in the worst "
        f"case of your range ({worst_condition(after).name})"
    )
    if not known:
        kept = "" if advice.bound_kept else f" {_nearest(advice)}"
        return f"{capital(then)}; how long they wait now is not known. {capital(asked)}.{kept}"
    if advice.verdict == "set: bound":
        kept = "" if advice.bound_kept else f" {_nearest(advice)}"
        was = f"now it is {milliseconds(worst_before)} ({worst_condition(before).name})"
        return f"{capital(then)}; {was}. {capital(asked)}.{kept}"
    if advice.verdict == "set: goodput":
        gain = more_goodput(advice, after)
        return f"It fills {gain:.1f} % more of the line. {capital(then)}; {asked}."
    return f"{capital(then)}; {now}. Both keep the bound; this is much shorter."


def _keep_reason(advice: Advice, now: str, asked: str) -> str:
    if advice.verdict == "keep: not settled":
        return _not_settled(advice, now, asked)
    if advice.verdict == "keep: harm":
        better = [each for each in advice.compared if each.judgement.by is not None]
        refused = [each for each in better if not refused_for_isolation(advice, each)]
        why = " ".join(
            [*(_refusal(advice, each) for each in refused[:1]), *shared_queue_alternative(advice)]
        )
        return f"{capital(now)}; {asked}. {why}"
    kept = worst_p95_ms(advice.before) <= advice.question.bound_ms
    why = "Nothing that was tried is noticeably better." if kept else _nearest(advice)
    return f"{capital(now)}; {asked}. {why}"


def price_lines(advice: Advice) -> list[str]:
    """Price of a change, a line for each metric: "drops where they are most: 5.1 -> 6 %"."""
    question, after = advice.question, advice.after
    rows = [advice.before, after] if advice.present.known else [after]
    of_line = " -> ".join(f"{percent_of_possible(advice, each):.1f}" for each in rows)
    worst = [min(each.goodput(at) for at in nominal(each.runs)) for each in rows]
    least = " -> ".join(megabits(each) for each in worst)
    said = [f"goodput: {of_line} % of what the line can carry (where it is least: {least})"]
    for name, least_of_all, words, factor, digits, unit in _PRICES:
        if name == "mark_rate" and not question.ecn:
            continue
        extreme = lowest if least_of_all else largest
        values = _known(extreme(each, name) for each in rows)
        if values:
            amounts = (rounded(factor * each, digits) for each in values)
            said.append(f"{words}: {' -> '.join(amounts)}{unit}")
    for at in after.runs:
        values = _known(each.mean(at, SHORT_TRANSFER) for each in rows)
        if values:
            times = " -> ".join(milliseconds(_MS * each) for each in values)
            said.append(f"a short transfer takes on average: {times} ({at.name})")
        values = _known(each.mean(at, CALL_DELAY) for each in rows)
        if values:
            times = " -> ".join(milliseconds(each) for each in values)
            lost = (percent(each.mean(at, CALL_LOSS) or 0.0) for each in rows)
            said.append(
                f"of a call's packets 95 % wait at most: {times}, and {' -> '.join(lost)} % are "
                f"lost ({at.name})"
            )
    return said


def _known(values: Iterable[float | None]) -> list[float]:
    """The values; none of them where one is missing."""
    found = list(values)
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else []


def warnings(advice: Advice) -> list[str]:
    """Warnings to read before acting, a sentence or two each."""
    question, present = advice.question, advice.present
    said = list(present.notes)
    if advice.interrupted:
        said.append("Ctrl-C ended it before everything was tried: this is the best so far.")
    elif advice.time_was_up and advice.deadline_s is not None:
        best = ": this is the best so far"
        said.append(
            f"Time was up, {format_quantity(advice.deadline_s, TIME)} of simulating, "
            f"before everything was tried{best if advice.settled else ''}. --deadline "
            "gives more."
        )
    said += where_packets_wait(question, present, keep=advice.keep)
    if question.device == "sonic" and not advice.keep:
        said += _switch_caveats(question, format_quantity(question.rate_bit_per_s, RATE))
    said += _simulation_limits(advice)
    said += _silent_queues(advice)
    said += _throttling(advice)
    said += audible_call_losses(advice)
    if advice.keep:
        said += isolation_for_calls(advice)
    else:
        said += shared_queue_alternative(advice)
        said += _costs_of_change(advice)
    if not advice.keep or brings_by_shaper(question, present, keep=True):
        said += undo_caveats(question, present)
    if question.device == "linux" and advice.chosen.discipline == "linux-red" and not advice.keep:
        said.append("Setting red empties the queue once: what waits is dropped.")
    return said


def _switch_caveats(question: Question, rate: str) -> list[str]:
    """Cases in which a SONiC switch does not do what the commands say."""
    said = [
        (
            "Releases from 2023 to early 2026 may refuse a new profile (Modification of "
            "WRED_PROFILE table is illegal), and change nothing."
        )
    ]
    if not is_as_fast(question):
        said.append(
            "The commands set no shaper. Packets wait in this queue only if it gets at "
            f"most {rate}."
        )
    return said


def _costs_of_change(advice: Advice) -> list[str]:
    """Losses that come with a change, whatever it gains."""
    said = []
    before, chosen = advice.before.queue, advice.chosen
    of_calls = isolation_for_calls(advice)
    if before.keeps_apart and not chosen.keeps_apart and not of_calls:
        said.append(
            f"Your {before.kind} keeps the flows apart; {chosen.kind} does not: a call "
            "waits as long as everybody, within the figures above."
        )
    said += of_calls
    if before.kind == "cake":
        said.append(
            f"cake also keeps hosts apart and has priorities; {chosen.kind} does not, "
            "which no figure shows."
        )
    if before.kind == "fq":
        said.append(
            "If this machine itself sends (a server), fq also paces its transfers; "
            f"{chosen.kind} does not. Linux then paces only BBR and what asks for it. No "
            "figure shows that."
        )
    if advice.present.known:
        lost = widened(advice.question, advice.before, advice.after)
        said += [_widened_sentence(each, advice) for each in lost]
    said += _short_interval(advice)
    if not advice.bound_kept:
        said.append("The bound is not kept everywhere; this is the nearest without harm.")
    if not advice.present.known:
        return said
    said += [
        f"With {each.condition.name}, {_METRIC_WORDS.get(each.what, each.what)} goes from "
        f"{_amount(each.what, each.before)} to {_amount(each.what, each.after)}."
        for each in advice.judgement.harms
    ]
    return said


def _silent_queues(advice: Advice) -> list[str]:
    """Compared queues that let nothing through: a red below a shaper after a burst."""
    least = _NOTHING * most_goodput(advice.question)
    found: dict[str, str] = {}
    for each in advice.compared:
        for at in nominal(each.measured.runs):
            if each.measured.goodput(at) < least:
                found.setdefault(each.measured.queue.label, at.name)
    return [f"{capital(label)}: nothing comes through with {at}." for label, at in found.items()]


def _throttling(advice: Advice) -> list[str]:
    """Warning that the recommended queue carries much less than another would."""
    rows = [each.measured for each in advice.compared]
    if not rows or not advice.settled or (advice.keep and not advice.present.known):
        return []
    best = max(rows, key=lambda each: percent_of_possible(advice, each))
    shares = [percent_of_possible(advice, each) for each in (advice.after, best)]
    if shares[0] >= _THROTTLED * shares[1]:
        return []
    subject = "What you have" if advice.keep else f"This {advice.chosen.kind}"
    said = (
        f"{subject} carries {shares[0]:.0f} % of what the line can. {capital(best.queue.label)} "
        f"would carry {shares[1]:.0f} %, and 95 % of the packets would wait at most "
        f"{milliseconds(worst_p95_ms(best))} in the worst case of your range."
    )
    return [said]


def _short_interval(advice: Advice) -> list[str]:
    """Warning that CoDel's interval is too short for longer round trips than given."""
    chosen, longest_s = advice.chosen, advice.question.round_trip_s[1]
    interval = chosen.parameters.get("interval")
    if chosen.discipline not in _WITH_CODEL or not isinstance(interval, float):
        return []
    if interval >= _INTERNET_S:
        return []
    said = (
        f"An interval of {milliseconds(_MS * interval)} suits round trips of up to "
        f"{milliseconds(_MS * longest_s)}, as you gave them. Transfers over longer ones "
        "get less goodput."
    )
    return [said]


def _widened_sentence(each: Widened, advice: Advice) -> str:
    """Sentence on a wider margin that was used, and why."""
    place = f"With {each.condition.name}"
    if each.what == "delay_p95_ms":
        longest = (milliseconds(worst_p95_ms(one)) for one in (advice.before, advice.after))
        return (
            f"{place}, packets wait longer than now ({milliseconds(each.before)} -> "
            f"{milliseconds(each.after)}, p95). That is accepted, as the worst case gains "
            f"ten times as much ({' -> '.join(longest)})."
        )
    why = "because the present queue breaks the bound there"
    slack = 1.0
    if each.condition.robustness:
        slack, why = SLACK, f"{why} and you did not ask for that traffic"
    if each.what == "drop_rate":
        drops = f"{percent(each.before)} -> {percent(each.after)} % of the packets"
        most = 100.0 * MARGINS["drop_rate"]
        return (
            f"{place}, {drops} are dropped. Elsewhere at most {most:.0f} % more would do; "
            f"here drops have no margin, {why}: short windows are made by drops."
        )
    loss = 100.0 * (1.0 - each.after / each.before)
    usual = 100.0 * (1.0 - MARGINS["goodput_ratio"])
    most = 100.0 * slack * (1.0 - MARGINS["goodput_ratio_where_the_bound_was_broken"])
    return (
        f"{place}, goodput falls by {loss:.1f} % ({megabits(each.before)} -> "
        f"{megabits(each.after)}). Elsewhere {usual:.0f} % would be the most; here {most:.0f} % "
        f"is, {why}."
    )


def _simulation_limits(advice: Advice) -> list[str]:
    """Limits of the simulation: packets longer than the bound, runs that are too short."""
    question = advice.question
    said = []
    packet_ms = 1e3 * packet_time_s(question)
    if packet_ms > question.bound_ms:
        said.append(
            f"One packet of {PACKET_BYTES} bytes takes {milliseconds(packet_ms)} on this "
            f"line, longer than the bound of {question.bound_ms:.4g} ms, so no queue can "
            "keep it."
        )
    conditions = nominal(advice.conditions)
    if not any(each.robustness for each in advice.conditions):
        names = "; ".join(each.name for each in conditions)
        said.append(f"Only some conditions could be simulated in time: {names}.")
    short = [
        each
        for each in conditions
        if each.warm_up(advice.length) + each.seconds(advice.length) < each.between_losses_s
    ]
    if short:
        at = max(short, key=lambda each: each.between_losses_s)
        seconds = at.warm_up(advice.length) + at.seconds(advice.length)
        said.append(
            f"With {at.name}, {seconds:.2g} s were simulated, and losses of a transfer "
            f"are about {at.between_losses_s:.2g} s apart: the figures show how transfers "
            "begin."
        )
    return said


def worst_condition(measured: Measured) -> Condition:
    """The nominal condition in which packets wait longest."""
    return max(nominal(measured.runs), key=measured.p95_ms)


def _not_settled(advice: Advice, now: str, asked: str) -> str:
    """Sentence that steady state was not reached, and what would help."""
    if advice.settled:
        promising = next(each for each in advice.compared if each.accepted)
        return (
            f"{capital(now)}; {asked}. {capital(promising.measured.queue.label)} seemed "
            "better, but its figures were still changing. So nothing is recommended."
        )
    at = max(nominal(advice.conditions), key=lambda each: each.settled().warm_up(0.0))
    seconds = at.warm_up(advice.length) + at.seconds(advice.length)
    settling = at.settled().warm_up(0.0) + at.settled().seconds(0.0)
    enough = ""
    if advice.deadline_needed_s is not None:
        needed = format_quantity(advice.deadline_needed_s, TIME)
        enough = f" Enough is about --deadline '{needed}'."
    return (
        f"There was not enough time for the transfers to settle: with {at.name}, that "
        f"takes {settling:.2g} s, and {seconds:.2g} s were simulated. So nothing is "
        f"recommended.{enough} While transfers begin, {now}; {asked}."
    )


def _nearest(advice: Advice) -> str:
    best = advice.best_for_delay
    at = worst_condition(best)
    beyond = best.p95_ms(at) - advice.question.bound_ms
    if beyond <= 0.0:
        found = next((each for each in advice.compared if each.measured is best), None)
        harms = [] if found is None else found.judgement.harms
        if not harms:
            return "What would keep it does harm elsewhere."
        most = harm_words(max(harms, key=lambda each: each.beyond))
        return f"What would keep it ({best.queue.label}) does harm elsewhere: {most}."
    harm = "" if best is advice.after else " (but does harm)"
    return (
        f"Nothing that was tried keeps that everywhere: the nearest, {best.queue.label}{harm}, "
        f"comes to {milliseconds(best.p95_ms(at))} with {at.name}, {milliseconds(beyond)} too much."
    )


def _refusal(advice: Advice, refused: Compared) -> str:
    measured = refused.measured
    harms = sorted(refused.judgement.harms, key=lambda each: -each.beyond)[:_MOST_HARMS]
    words = "; ".join(harm_words(each) for each in harms)
    better = f"come to {milliseconds(worst_p95_ms(measured))}"
    if refused.judgement.by == "goodput":
        better = f"fill {more_goodput(advice, measured):.1f} % more of the line"
    if not harms:
        kind = advice.before.queue.kind
        return (
            f"The best of the others ({measured.queue.label}) would {better}. But it does "
            f"not do all that {kind} does (hosts, priorities), so only a bound that "
            f"{kind} breaks is worth a change."
        )
    return (
        f"The best of the others ({measured.queue.label}) would {better}, but it costs "
        f"too much: {words}. --harm changes what may be paid."
    )


def harm_words(harm: Harm) -> str:
    """Harm and its place: "Jain's index of fairness 0.99 -> 0.51 with 2 flows, 10 ms"."""
    if harm.what == "goodput_bit_per_s" and harm.after < _NOTHING * harm.before:
        return f"nothing comes through with {harm.condition.name}"
    name = _METRIC_WORDS.get(harm.what, harm.what)
    amounts = f"{_amount(harm.what, harm.before)} -> {_amount(harm.what, harm.after)}"
    return f"{name} {amounts} with {harm.condition.name}"


def _amount(what: str, value: float) -> str:
    if what == "goodput_bit_per_s":
        return megabits(value)
    if what == "starved_flows":
        return f"{value:.1f}"
    if what == SHORT_TRANSFER:
        return milliseconds(_MS * value)
    if what in {"delay_p95_ms", CALL_DELAY}:
        return milliseconds(value)
    return f"{value:.3g}"


def lowest(measured: Measured, name: str) -> float | None:
    """The lowest mean of a metric in a nominal condition."""
    values = [measured.mean(at, name) for at in nominal(measured.runs)]
    known = [value for value in values if value is not None]
    return min(known) if known else None


def largest(measured: Measured, name: str) -> float | None:
    """The largest mean of a metric in a nominal condition."""
    values = [measured.mean(at, name) for at in nominal(measured.runs)]
    known = [value for value in values if value is not None]
    return max(known) if known else None


def limits(advice: Advice) -> list[str]:
    """Conditions in which the answer stops being true, a sentence each."""
    question = advice.question
    bound = question.bound_ms
    said = [
        _beside(advice, at)
        for at in advice.after.runs
        if advice.settled and at.robustness and advice.after.p95_ms(at) > bound
    ]
    held = []
    for at in advice.around_after.runs:
        before, after = advice.around_before.p95_ms(at), advice.around_after.p95_ms(at)
        had, has = advice.around_before.goodput(at), advice.around_after.goodput(at)
        if after > bound:
            now = f"; now {milliseconds(before)}" if _compares(advice) else ""
            said.append(
                f"Outside your range, with {at.name}, it is {milliseconds(after)} (p95){now}."
            )
        elif _compares(advice) and has < 0.95 * had:
            said.append(
                f"Outside your range, with {at.name}, goodput falls to {megabits(has)} "
                f"from {megabits(had)}."
            )
        else:
            held.append(at.name)
    tried = advice.around_after.runs
    why = "time was up" if advice.time_was_up else "that takes too long on this line"
    if not tried:
        said.append(f"Half and twice of what you gave was not tried: {why}.")
        return said
    if held:
        said.append(f"It still holds with {'; '.join(held)}.")
    if left_out := not_tried(advice):
        said.append(f"Not tried, because {why}: {'; '.join(left_out)}.")
    return said


def not_tried(advice: Advice) -> list[str]:
    """Conditions around the range that were not tried: "twice the round trip (3 flows, 120 ms)"."""
    known = {(at.flows, at.round_trip_s) for at in advice.around_after.runs}
    places = zip(around(advice.question), probes(advice.question, 0.0), strict=True)
    return [
        f"{words} ({at.name})" for words, at in places if (at.flows, at.round_trip_s) not in known
    ]


def _compares(advice: Advice) -> bool:
    """Check whether what is there now is told beside what is to be then."""
    return not advice.keep and advice.present.known


def _beside(advice: Advice, at: Condition) -> str:
    after, before = (milliseconds(each.p95_ms(at)) for each in (advice.after, advice.before))
    now = f"; now {before}" if _compares(advice) else ""
    return f"With {at.name}, packets wait up to {after} (p95){now}."
