"""An answer as one object for ``--json``. Keys are added, never renamed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.advise.advice import price
from vermilion.advise.commands import commands
from vermilion.advise.conditions import nominal
from vermilion.advise.harms import MARGINS, absolute_ms
from vermilion.advise.judgement import NOTICEABLE, goodput_share, keeps, worst_p95_ms
from vermilion.advise.margins import CALL_LOSS, SHORT_TRANSFER, margins_for
from vermilion.advise.measuring import METRICS
from vermilion.advise.wording import (
    harm_words,
    headline,
    limits,
    not_tried,
    reason,
    warnings,
    worst_condition,
)

if TYPE_CHECKING:
    from vermilion.advise.advice import Advice, Compared
    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured
    from vermilion.advise.question import Question, QueueSetting

_MS: Final = 1e3

_METRIC_OF_MARGIN: Final = {
    "goodput_ratio": "goodput_bit_per_s",
    "goodput_ratio_where_the_bound_was_broken": "goodput_bit_per_s",
    "jain_index": "jain_index",
    "starved_flows": "starved_flows",
    "starved_share": "starved_flows",
    "drop_rate": "drop_rate",
    "delay_ratio": "delay_p95_ms",
    "delay_ms": "delay_p95_ms",
    "delay_part_of_gain": "delay_p95_ms",
    "short_transfer_ratio": SHORT_TRANSFER,
    "call_loss_rate": CALL_LOSS,
    "call_loss_rate_where_the_bound_was_broken": CALL_LOSS,
    "call_loss_rate_heard": CALL_LOSS,
}


def document(advice: Advice) -> dict[str, Any]:
    """The answer with everything that it rests on; docs/advise.md lists the keys."""
    from vermilion import _core

    question = advice.question
    own = commands(question, advice.present, advice.chosen, keep=advice.keep)
    return {
        "goal": {
            "device": question.device,
            "rate_bit_per_s": question.rate_bit_per_s,
            "rtt_ms": [_MS * end for end in question.round_trip_s],
            "flows": list(question.flows),
            "delay_at_most_ms": question.bound_ms,
            "percentile": 95,
            "ecn": question.ecn,
            "discipline": question.discipline,
            "quick": question.quick,
            "harm": list(question.harm),
        },
        "keep": advice.keep,
        "verdict": advice.verdict,
        "headline": headline(advice),
        "reason": reason(advice),
        "bound_kept": advice.bound_kept,
        **_queue(advice.chosen),
        "before": _summary(advice, advice.before),
        "after": _summary(advice, advice.after),
        "price": price(advice.before, advice.after, question),
        "conditions": [
            _condition(at, advice.before, advice.after, question.bound_ms)
            for at in advice.conditions
        ],
        "outside": [
            _condition(at, advice.around_before, advice.around_after, question.bound_ms)
            for at in advice.around_after.runs
        ],
        "outside_not_tried": not_tried(advice),
        "limits": limits(advice),
        "warnings": warnings(advice),
        "commands": {
            "check": own.check,
            "apply": own.apply,
            "undo": own.undo,
            "if_elsewhere": own.if_elsewhere,
            "shaper": own.shaper,
            "save": own.save,
        },
        "now": {
            "stated": advice.present.stated,
            "words": advice.present.words,
            "exact": advice.present.exact,
            "known": advice.present.known,
            **_queue(advice.before.queue),
        },
        "refused": [
            _refused(each) for each in advice.compared if each.measured is not advice.after
        ],
        "tried": dict(advice.tried),
        "margins": {
            name: _in_force(question, name, value)
            for name, value in MARGINS.items()
            if _METRIC_OF_MARGIN[name] in margins_for(question).usual
        },
        "own_margins": [str(each.bound.text) for each in margins_for(question).own],
        "noticeable": {
            name: _in_force(question, name, value) for name, value in NOTICEABLE.items()
        },
        "seed": question.seed,
        "seeds": list(advice.seeds),
        "simulations": advice.simulations,
        **({} if advice.deadline_s is None else {"deadline_s": advice.deadline_s}),
        "time_was_up": advice.time_was_up,
        "interrupted": advice.interrupted,
        "settled": advice.settled,
        **(
            {}
            if advice.deadline_needed_s is None
            else {"deadline_needed_s": advice.deadline_needed_s}
        ),
        "version": _core.VERSION,
    }


def _in_force(question: Question, name: str, value: float) -> float:
    """A margin as it was used for this question."""
    return absolute_ms(question, value) if name.endswith("_ms") else value


def _queue(queue: QueueSetting) -> dict[str, Any]:
    return {
        "discipline": queue.kind,
        "simulated_as": queue.discipline,
        "parameters": dict(queue.parameters),
        "parameters_text": queue.readable(),
    }


def _refused(each: Compared) -> dict[str, Any]:
    found = {
        **_queue(each.measured.queue),
        "worst_delay_p95_ms": _finite(worst_p95_ms(each.measured)),
        "better_by": each.judgement.by,
        "gives_up_isolation": each.gives_up_isolation,
        "harms": [
            {
                "condition": harm.condition.name,
                "metric": harm.what,
                "before": harm.before,
                "after": harm.after,
                "words": harm_words(harm),
            }
            for harm in each.judgement.harms
        ],
    }
    return {name: value for name, value in found.items() if value is not None}


def _summary(advice: Advice, measured: Measured) -> dict[str, Any]:
    places = nominal(measured.runs)
    goodputs = [measured.goodput(at) for at in places]
    found = {
        "worst_delay_p95_ms": _finite(worst_p95_ms(measured)),
        "worst_condition": worst_condition(measured).name,
        "bound_kept": keeps(measured, advice.question.bound_ms),
        "goodput_bit_per_s": math.fsum(goodputs) / len(goodputs),
        "goodput_bit_per_s_least": min(goodputs),
        "goodput_of_possible": goodput_share(advice.question, measured),
    }
    for name, worst in (("jain_index", min), ("starved_flows", max), ("drop_rate", max)):
        values = [value for at in places if (value := measured.mean(at, name)) is not None]
        if values:
            found[f"{name}_worst"] = worst(values)
    return {name: value for name, value in found.items() if value is not None}


def _condition(at: Condition, before: Measured, after: Measured, bound_ms: float) -> dict[str, Any]:
    return {
        "name": at.name,
        "flows": at.flows,
        "rtt_ms": _MS * at.round_trip_s,
        "traffic": at.traffic,
        "robustness": at.robustness,
        "bound_kept": after.p95_ms(at) <= bound_ms,
        "before": _metrics(at, before),
        "after": _metrics(at, after),
    }


def _metrics(at: Condition, measured: Measured) -> dict[str, float]:
    means = {name: measured.mean(at, name) for name in METRICS}
    return {name: value for name, value in means.items() if value is not None}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
