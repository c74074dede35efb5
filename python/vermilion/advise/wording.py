"""Wording of an answer: headline, reason, price, warnings and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from vermilion.advise.caveats import undo_caveats, where_packets_wait
from vermilion.advise.commands import brings_by_shaper, is_as_fast, waits_elsewhere
from vermilion.advise.conditions import (
    PACKET_BYTES,
    around,
    grid,
    nominal,
    packet_time_s,
    probes,
)
from vermilion.advise.judgement import worst_p95_ms, worst_sparse_ms
from vermilion.advise.metrics import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER, SPARSE
from vermilion.advise.number_words import (
    capital,
    megabits,
    milliseconds,
    percent,
    percent_of_possible,
    rounded,
)
from vermilion.scenario import RATE, TIME, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.advise.advice import Advice, Compared
    from vermilion.advise.conditions import Condition
    from vermilion.advise.harms import Harm
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import QueueSetting

Answer = Literal["set", "keep", "not judged", "wrong place"]

_MS: Final = 1e3
_MOST_HARMS: Final = 2
_FEW_VALUES: Final = 2
_HEARD: Final = 0.02
"""Loss of a call's packets from which on it is heard: 7 of the 100 points of ITU-T G.107."""

_METRIC_WORDS: Final = {
    "goodput_bit_per_s": "goodput",
    "jain_index": "Jain's index of fairness",
    "starved_flows": "starved flows",
    "delay_p95_ms": "the queueing delay (p95)",
    "drop_rate": "the part of the packets that is dropped",
    SHORT_TRANSFER: "the time of a short transfer",
    CALL_DELAY: "the time that 95 % of a call's packets wait at most",
    CALL_LOSS: "the part of a call's packets that is lost",
    SPARSE: "points of a call or game",
}

_PRICES: Final = (
    ("jain_index", True, "fairness (Jain's index) where it is least", 1.0, ".2f", ""),
    ("starved_flows", False, "starved flows where they are most", 1.0, ".1f", ""),
    ("drop_rate", False, "drops where they are most", 100.0, ".2g", " % of the packets"),
    ("mark_rate", False, "marks where they are most", 100.0, ".2g", " % of the packets"),
)
"""Of each metric: whether the least of all conditions counts, in words, and how it is written."""


def answer(advice: Advice) -> Answer:
    """The kind of answer."""
    if not advice.keep:
        return "set"
    if not advice.settled:
        return "not judged"
    elsewhere = advice.present.known and waits_elsewhere(advice.question, advice.present)
    return "wrong place" if elsewhere else "keep"


def headline(advice: Advice) -> str:
    """The answer in one line."""
    kind = answer(advice)
    if kind == "set":
        where = ""
        if waits_elsewhere(advice.question, advice.present):
            rate = format_quantity(advice.question.rate_bit_per_s, RATE)
            shapes = advice.chosen.kind == "cake"
            where = f", at a rate of {rate}" if shapes else f", below a shaper at {rate}"
        return f"Set {setting_words(advice.chosen.kind, advice.chosen)}{where}."
    if kind == "not judged":
        return "Not judged: this line takes longer to simulate than there was time."
    own = present_words(advice)
    if kind == "wrong place":
        likely = "" if advice.question.interface_rate_bit_per_s else "most likely "
        rate = format_quantity(advice.question.rate_bit_per_s, RATE)
        return (
            f"Wrong place: packets {likely}wait in the modem, not here. Bring them here with a "
            f"shaper at {rate}, and keep {own}."
        )
    if not advice.present.improvable:
        return f"Keep {own}: leave Wi-Fi to its driver."
    return f"Keep {own}."


def present_words(advice: Advice) -> str:
    """Name of the present queue, with its limit where somebody has said so."""
    present, queue = advice.present, advice.before.queue
    plain = present.stated and present.known and queue.discipline == "drop-tail"
    return setting_words(present.words, queue) if plain else present.words


def setting_words(name: str, queue: QueueSetting) -> str:
    """A queue with the parameters that matter: "fq_codel, target 5 ms, interval 100 ms"."""
    readable = queue.readable()
    names = queue.tuned or tuple(each for each in ("limit", "limit_bytes") if each in readable)
    if queue.discipline != "drop-tail" and not queue.tuned:
        return f"{name}, with its defaults"
    plain = {each: each.removesuffix("_bytes").replace("_", " ") for each in names}
    return ", ".join([name, *(f"{plain[each]} {readable[each]}" for each in names)])


def reason(advice: Advice) -> str:
    """Reason of the answer, in a few sentences."""
    if not advice.settled:
        needed = ""
        if advice.deadline_needed_s is not None:
            needed = (
                f" --deadline '{format_quantity(advice.deadline_needed_s, TIME)}' gives it enough."
            )
        at = max(
            grid(advice.question, 0.0),
            key=lambda each: each.warm_up_s + each.least_measured_s,
        )
        seconds = at.warm_up_s + at.least_measured_s
        return (
            f"With {at.name} it takes {seconds:.2g} s until transfers have settled and show how "
            f"the line stays. Nothing is said before that.{needed}"
        )
    asked = f"You asked for at most {advice.question.bound_ms:.4g} ms."
    after, before = advice.after, advice.before
    if advice.keep:
        return f"{capital(_sparse(after))}. {asked} {_keep_reason(advice)}".strip()
    now = f"; now {_sparse(before, short=True)}" if advice.present.known else ""
    kept = "" if advice.bound_kept else f" {_nearest(advice)}"
    if not advice.present.known:
        now = "; how long they wait now is not known"
    return f"With it {_sparse(after)}{now}. {asked}{kept}"


def _sparse(measured: Measured, *, short: bool = False) -> str:
    """Wait and losses of a sparse flow in the worst case of the range."""
    at = worst_condition(measured)
    lost = max((measured.mean(each, CALL_LOSS) or 0.0) for each in nominal(measured.runs))
    wait = milliseconds(worst_sparse_ms(measured))
    if short:
        return f"{wait}, {percent(lost)} %"
    return (
        f"95 % of the packets of a call or game wait at most {wait}, and {percent(lost)} % are "
        f"lost (worst case of your range: {at.name})"
    )


def _keep_reason(advice: Advice) -> str:
    if not advice.present.improvable:
        return ""
    if advice.verdict == "keep: harm":
        better = [each for each in advice.compared if each.judgement.by is not None]
        return _refusal(advice, better[0])
    if not advice.bound_kept:
        return _nearest(advice)
    return "Nothing that was tried is noticeably better."


def _nearest(advice: Advice) -> str:
    best = advice.nearest
    wait = worst_sparse_ms(best)
    if wait <= advice.question.bound_ms:
        return f"What would keep it ({best.queue.label}) does harm elsewhere."
    packet_ms = _MS * packet_time_s(advice.question)
    if packet_ms > advice.question.bound_ms:
        return (
            f"No queue can: a packet of {PACKET_BYTES} bytes takes {milliseconds(packet_ms)} here."
        )
    nearest = f"{capital(best.queue.label)} is nearest, with {milliseconds(wait)}"
    return f"Nothing that was tried keeps that. {nearest}."


def _refusal(advice: Advice, refused: Compared) -> str:
    harms = sorted(refused.judgement.harms, key=lambda each: -each.beyond)[:_MOST_HARMS]
    words = "; ".join(harm_words(each) for each in harms)
    label = refused.measured.queue.label
    if not harms:
        kind = advice.before.queue.kind
        return f"{capital(label)} is a little better, but lacks what {kind} does for hosts."
    return (
        f"{capital(label)} would be better by {refused.judgement.difference:.0f} points, but costs "
        f"too much: {words}. --harm changes what may be paid."
    )


def harm_words(harm: Harm) -> str:
    """Harm and its place: "Jain's index of fairness 0.99 -> 0.51 with 2 flows, 10 ms"."""
    name = _METRIC_WORDS.get(harm.what, harm.what)
    amounts = f"{_amount(harm.what, harm.before)} -> {_amount(harm.what, harm.after)}"
    return f"{name} {amounts} with {harm.condition.name}"


def _amount(what: str, value: float) -> str:
    if what == "goodput_bit_per_s":
        return megabits(value)
    if what in {"starved_flows", SPARSE}:
        return f"{value:.1f}"
    if what == SHORT_TRANSFER:
        return milliseconds(_MS * value)
    if what in {"delay_p95_ms", CALL_DELAY}:
        return milliseconds(value)
    return f"{value:.3g}"


def comparison_rows(advice: Advice) -> list[tuple[str, str, str, str, str]]:
    """A line for each queue that was compared: name, a call's wait and loss, goodput, delay of all.

    The worst of the conditions that were asked for, but the mean of the goodput.
    """
    rows = [(f"now: {present_words(advice)}", advice.before)] if advice.present.known else []
    for each in advice.compared:
        chosen = " (this)" if each.measured is advice.after else ""
        queue = each.measured.queue
        few = 0 < len(queue.tuned) <= _FEW_VALUES
        name = setting_words(queue.kind, queue) if few else queue.label
        rows.append((f"{name}{chosen}", each.measured))
    return [
        (
            name,
            milliseconds(worst_sparse_ms(row)),
            f"{percent(largest(row, CALL_LOSS) or 0.0)} %",
            f"{percent_of_possible(advice, row):.1f} %",
            milliseconds(worst_p95_ms(row)),
        )
        for name, row in rows
        if row.runs
    ]


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
    return [*said, *(harm_words(each) for each in advice.judgement.harms)]


def _known(values: Iterable[float | None]) -> list[float]:
    """The values; none of them where one is missing."""
    found = list(values)
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else []


def warnings(advice: Advice) -> list[str]:
    """Warnings that a user can do something about, a sentence or two each."""
    question, present = advice.question, advice.present
    said = []
    if advice.interrupted:
        said.append("Ctrl-C ended it before everything was tried: this is the best so far.")
    elif advice.time_was_up and advice.deadline_s is not None:
        said.append(
            f"Time was up, {format_quantity(advice.deadline_s, TIME)} of simulating, before "
            "everything was tried. --deadline gives more."
        )
    if advice.settled and question.scale > 1:
        said.append(
            f"The line was simulated {question.scale} times slower, with as much less of all but "
            "delays (docs/advise.md shows how well that agrees)."
        )
    elif advice.settled and not any(each.robustness for each in advice.conditions):
        names = "; ".join(each.name for each in advice.conditions)
        said.append(f"Only some conditions could be simulated in time: {names}.")
    said += where_packets_wait(question, present, keep=advice.keep)
    said += present.notes
    if question.device == "sonic" and not advice.keep:
        said.append(
            "Releases from 2023 to early 2026 may refuse a new profile (Modification of "
            "WRED_PROFILE table is illegal), and change nothing."
        )
        if not is_as_fast(question):
            said.append(
                "The commands set no shaper. Packets wait in this queue only if it gets at most "
                f"{format_quantity(question.rate_bit_per_s, RATE)}."
            )
    said += _losses_heard(advice)
    if not advice.keep:
        said += _lost_with_the_queue(advice)
    if not advice.keep or brings_by_shaper(question, present, keep=True):
        said += undo_caveats(question, present)
    if question.device == "linux" and advice.chosen.discipline == "linux-red" and not advice.keep:
        said.append("Setting red empties the queue once: what waits is dropped.")
    return said


def _losses_heard(advice: Advice) -> list[str]:
    """Warning that a call's losses with the recommended queue are heard."""
    losses = {at: advice.after.mean(at, CALL_LOSS) or 0.0 for at in advice.after.runs}
    at = max(losses, key=lambda each: losses[each], default=None)
    if at is None or losses[at] <= _HEARD:
        return []
    return [f"With {at.name}, a call loses {percent(losses[at])} % of its packets, which is heard."]


def _lost_with_the_queue(advice: Advice) -> list[str]:
    """Warning about what the present queue does and no figure shows."""
    before, chosen = advice.before.queue, advice.chosen
    if before.kind == "cake":
        return [f"cake also keeps hosts apart and has priorities; {chosen.kind} does not."]
    if before.kind == "fq":
        paces = "If this machine itself sends (a server), fq also paces its transfers"
        return [f"{paces}; {chosen.kind} does not."]
    return []


def worst_condition(measured: Measured) -> Condition:
    """The nominal condition in which a sparse flow is worst off."""
    return max(nominal(measured.runs), key=lambda at: measured.mean(at, SPARSE) or 0.0)


def lowest(measured: Measured, name: str) -> float | None:
    """The lowest mean of a metric in a nominal condition."""
    values = [measured.mean(at, name) for at in nominal(measured.runs)]
    return min((value for value in values if value is not None), default=None)


def largest(measured: Measured, name: str) -> float | None:
    """The largest mean of a metric in a nominal condition."""
    values = [measured.mean(at, name) for at in nominal(measured.runs)]
    return max((value for value in values if value is not None), default=None)


def limits(advice: Advice) -> list[str]:
    """Conditions in which the answer stops being true, a sentence each."""
    if not advice.settled:
        return []
    bound = advice.question.bound_ms
    said, held = [], []
    places = [(at, advice.before, advice.after) for at in advice.after.runs if at.robustness]
    places += [(at, advice.around_before, advice.around_after) for at in advice.around_after.runs]
    compares = not advice.keep and advice.present.known
    for at, before, after in places:
        waits = [each.mean(at, CALL_DELAY) or 0.0 for each in (before, after)]
        if waits[1] > bound:
            now = f"; now {milliseconds(waits[0])}" if compares else ""
            said.append(f"With {at.name}, a call waits {milliseconds(waits[1])} (p95){now}.")
        elif compares and after.goodput(at) < 0.95 * before.goodput(at):
            goodput = [megabits(each.goodput(at)) for each in (before, after)]
            said.append(f"With {at.name}, goodput falls from {goodput[0]} to {goodput[1]}.")
        else:
            held.append(at.name)
    if held:
        said.append(f"It holds with {'; '.join(held)}.")
    if left_out := not_tried(advice):
        said.append(f"Not tried: {'; '.join(left_out)}.")
    return said


def not_tried(advice: Advice) -> list[str]:
    """Conditions around the range that were not tried: "twice the round trip (3 flows, 120 ms)"."""
    known = {(at.flows, at.round_trip_s) for at in advice.around_after.runs}
    places = zip(around(advice.question), probes(advice.question, 0.0), strict=True)
    return [
        f"{words} ({at.name})" for words, at in places if (at.flows, at.round_trip_s) not in known
    ]
