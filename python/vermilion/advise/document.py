"""An answer as one object for ``--json``. Keys are added, never renamed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.advise.advice import Advice, Compared, price
from vermilion.advise.commands import commands
from vermilion.advise.conditions import nominal
from vermilion.advise.harms import Harm, is_broken
from vermilion.advise.judgement import (
    NOTICEABLE,
    goodput_share,
    keeps,
    total_points,
    worst_p95_ms,
    worst_sparse_ms,
)
from vermilion.advise.margins import METRICS, SPARSE_POINTS, margins_for
from vermilion.advise.metrics import CALL_LOSS
from vermilion.advise.wording import (
    answer,
    harm_words,
    headline,
    largest,
    limits,
    lowest,
    not_tried,
    reason,
    warnings,
    worst_condition,
)
from vermilion.files.document import as_json, package_version
from vermilion.files.document import document as json_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.advise.command_lines import Commands
    from vermilion.advise.conditions import Condition
    from vermilion.advise.measuring import Measured


def document(advice: Advice) -> dict[str, Any]:
    """The answer with everything that it rests on."""
    found: dict[str, Any] = as_json(advice)
    return found


@json_document(
    "name=at.name flows=at.flows rtt_ms=at.round_trip_ms traffic=at.traffic"
    " robustness=at.robustness bound_kept before after"
)
@dataclass(frozen=True, slots=True)
class AdviseCondition:
    """Both settings under one condition."""

    at: Condition
    bound_kept: bool
    before: dict[str, float]
    after: dict[str, float]


def _conditions(
    advice: Advice, places: Iterable[Condition], before: Measured, after: Measured
) -> list[AdviseCondition]:
    return [
        AdviseCondition(
            at, not is_broken(advice.question, after, at), before.means(at), after.means(at)
        )
        for at in places
    ]


def inside(advice: Advice) -> list[AdviseCondition]:
    """Both settings in the range that was asked for."""
    return _conditions(advice, advice.conditions, advice.before, advice.after)


def outside(advice: Advice) -> list[AdviseCondition]:
    """Both settings around it."""
    return _conditions(advice, advice.around_after.runs, advice.around_before, advice.around_after)


@json_document(
    "call_delay_p95_ms? call_loss_rate? points?"
    " worst_delay_p95_ms? worst_condition bound_kept goodput_bit_per_s goodput_bit_per_s_least"
    " goodput_of_possible jain_index_worst? starved_flows_worst? drop_rate_worst?"
)
@dataclass(frozen=True, slots=True)
class AdviseSummary:
    """A setting over all conditions."""

    call_delay_p95_ms: float | None
    call_loss_rate: float | None
    points: float | None
    worst_delay_p95_ms: float | None
    worst_condition: str
    bound_kept: bool
    goodput_bit_per_s: float
    goodput_bit_per_s_least: float
    goodput_of_possible: float
    jain_index_worst: float | None
    starved_flows_worst: float | None
    drop_rate_worst: float | None


def _summary(advice: Advice, measured: Measured) -> AdviseSummary | None:
    places = nominal(measured.runs)
    if not places:
        return None
    goodputs = [measured.goodput(at) for at in places]
    return AdviseSummary(
        _finite(worst_sparse_ms(measured)),
        largest(measured, CALL_LOSS),
        _finite(total_points(advice.question, measured)),
        _finite(worst_p95_ms(measured)),
        worst_condition(measured).name,
        keeps(measured, advice.question.bound_ms),
        math.fsum(goodputs) / len(goodputs),
        min(goodputs),
        goodput_share(advice.question, measured),
        lowest(measured, "jain_index"),
        largest(measured, "starved_flows"),
        largest(measured, "drop_rate"),
    )


def summary_before(advice: Advice) -> AdviseSummary | None:
    """The queue in force."""
    return _summary(advice, advice.before)


def summary_after(advice: Advice) -> AdviseSummary | None:
    """The recommended one."""
    return _summary(advice, advice.after)


def price_of(advice: Advice) -> dict[str, float]:
    """The price of the change."""
    return price(advice.before, advice.after, advice.question)


def commands_of(advice: Advice) -> Commands:
    """The commands to paste."""
    return commands(advice.question, advice.present, advice.chosen, keep=advice.keep)


def refused(advice: Advice) -> list[Compared]:
    """Settings that were compared and are not recommended."""
    return [each for each in advice.compared if each.measured is not advice.after]


def worst_delay_p95_ms(compared: Compared) -> float | None:
    """The longest 95th percentile; ``None`` where no packet came through."""
    return _finite(worst_p95_ms(compared.measured))


def call_delay_p95_ms(compared: Compared) -> float | None:
    """The longest that 95 % of a call's packets wait; ``None`` where none came through."""
    return _finite(worst_sparse_ms(compared.measured))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def margins(advice: Advice) -> dict[str, str]:
    """The margins that held for this question."""
    names = {metric: name for name, metric in METRICS.items()}
    return {
        names.get(each.metric, each.metric): (
            f"<= reference + {SPARSE_POINTS:g}" if each.bound is None else str(each.bound.text)
        )
        for each in margins_for(advice.question)
    }


def own_margins(advice: Advice) -> list[str]:
    """Margins that the user has given."""
    return [
        str(each.bound.text) for each in margins_for(advice.question) if each.own and each.bound
    ]


def noticeable(_advice: Advice) -> dict[str, float]:
    """The least difference that anyone would notice, points."""
    return {"points": NOTICEABLE}


json_document("condition=condition.name metric=what before after words=harm_words", harm_words)(
    Harm
)
json_document(
    "discipline=measured.queue.kind simulated_as=measured.queue.discipline"
    " parameters=measured.queue.parameters parameters_text=measured.queue.readable"
    " call_delay_p95_ms? worst_delay_p95_ms? better_by?=judgement.by"
    " points_gained=judgement.difference harms=judgement.harms",
    call_delay_p95_ms,
    worst_delay_p95_ms,
)(Compared)
json_document(
    "goal.device=question.device goal.rate_bit_per_s=question.rate_bit_per_s"
    " goal.rtt_ms=question.round_trip_ms goal.flows=question.flows"
    " goal.delay_at_most_ms=question.bound_ms"
    " goal.percentile=question.percentile goal.ecn=question.ecn goal.quick=question.quick"
    " goal.discipline=question.discipline goal.harm=question.harm"
    " keep verdict answer headline reason bound_kept"
    " discipline=chosen.kind simulated_as=chosen.discipline parameters=chosen.parameters"
    " parameters_text=chosen.readable before?=summary_before after?=summary_after price=price_of"
    " conditions=inside outside"
    " outside_not_tried=not_tried limits warnings commands=commands_of"
    " now.stated=present.stated now.words=present.words now.exact=present.exact"
    " now.known=present.known now.discipline=before.queue.kind"
    " now.simulated_as=before.queue.discipline now.parameters=before.queue.parameters"
    " now.parameters_text=before.queue.readable"
    " refused tried margins own_margins noticeable seed=question.seed seeds simulations"
    " scale=question.scale"
    " deadline_s? time_was_up interrupted settled deadline_needed_s? version=package_version",
    *(
        answer,
        headline,
        reason,
        summary_before,
        summary_after,
        price_of,
        inside,
        outside,
        not_tried,
    ),
    *(limits, warnings, package_version),
    *(commands_of, refused, margins, own_margins, noticeable),
)(Advice)
