"""One run of the controller on one network: what it did, what it said, and what came of it.

All numbers are of the network, never of a model. Whatever is compared with the network left alone
has the same seed.
"""

from __future__ import annotations

import json
import math
import re
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import vermilion
from online_networks import sentences
from online_networks.network import LINK
from online_networks.placebo import placebo
from vermilion.objectives import NotMeasuredError, constraints_of, objective_of
from vermilion.objectives.constraint import relative_violation
from vermilion.objectives.harm import harm_bounds
from vermilion.objectives.price import price_of
from vermilion.online import run_online
from vermilion.scenario import ScenarioError
from vermilion.tuning.verdict import on_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from online_networks.network import Network
    from vermilion.objectives import Constraint
    from vermilion.online import Decision, OnlineRun
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

MINUTE_S = 60.0
NAMED_WITHIN_S = 10.0
"""How long after a phase the log may name a constraint that was broken in it."""
SHOWN = (
    "goodput_bit_per_s.total",
    "utilization",
    "drop_rate",
    "mark_rate",
    "sojourn_ms.p95",
    "jain_index",
    "slowest_share",
    "starved",
)
"""Of the price of a setting, what a row keeps."""

WORDS = {
    "utilization": r"utili[sz]ation|used less|idles?\b",
    "drop_rate": r"drop",
    "sojourn_ms": r"delay|wait|sojourn",
    "goodput_bit_per_s": r"goodput",
    "jain_index": r"jain|fair",
    "slowest_share": r"slowest|starv|fair",
    "starved": r"starv",
}
"""How a sentence may speak of a metric."""
BREAKING = (
    r"break|broke|violat|constraint|not kept|exceed|too (low|high|many|much)|cannot be (kept|met)"
)
"""How a sentence may say that a bound is not kept."""

IN_A_MODEL = "in the model"
"""What a sentence has that speaks of settings in a model."""


class TooSlowError(Exception):
    """A run took more processor time than it was given."""


def measure(
    network: Network,
    seed: int,
    evaluations: int,
    longest_cpu_s: float,
    *,
    by_placebo: bool = False,
) -> dict[str, Any]:
    """The row of one network and seed.

    Args:
        network: which.
        seed: of the network.
        evaluations: settings that each search may try.
        longest_cpu_s: processor time after which the run is given up.
        by_placebo: without a controller, with a change that does not matter (``placebo.py``).
    """
    row: dict[str, Any] = {
        "network": network.name,
        "seed": seed,
        "evaluations": evaluations,
        "version": vermilion.__version__,
    }
    scenario = network.scenario()
    said: list[Decision] = []
    begun = time.process_time()
    try:
        with _at_most(longest_cpu_s):
            run = (
                placebo(scenario, seed)
                if by_placebo
                else run_online(
                    scenario,
                    seed=seed,
                    clock="fixed",
                    evaluations=evaluations,
                    knowledge=network.knowledge,
                    on_event=said.append,
                )
            )
        row["outcome"] = "ran"
    except ScenarioError as refusal:
        run, row["outcome"], row["words"] = None, "refused", str(refusal)
    except TooSlowError as error:
        run, row["outcome"], row["words"] = None, "too slow", str(error)
    except Exception as error:  # noqa: BLE001 - that nothing escapes is what is measured
        run, row["outcome"] = None, "crashed"
        row["words"] = f"{type(error).__name__}: {error}"
    row["cpu_s"] = round(time.process_time() - begun, 2)
    alone = vermilion.run(scenario, seed=seed) if run is None else run.reference
    row |= _reached("alone", scenario, alone, alone)
    row |= _log(said, network)
    if run is not None:
        row |= _reached("tuned", scenario, run.tuned, alone)
        row |= _pushes(run)
        row |= _bounds(scenario, run)
        row |= sentences.silence(run)
        row |= sentences.replayed(network, run)
    return row


@contextmanager
def _at_most(cpu_s: float) -> Iterator[None]:
    """Ends what is within after so much processor time of this process."""

    def give_up(*_: object) -> None:
        message = f"given up after {cpu_s:g} s of processor time"
        raise TooSlowError(message)

    usual = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, usual)


def _reached(label: str, scenario: Scenario, result: Result, alone: Result) -> dict[str, Any]:
    """The objective and the price of an outcome."""
    objective = objective_of(scenario)
    if objective.needs_incumbent:
        objective = objective.relative_to([alone])
    try:
        value: float | None = objective.measure(result)
    except NotMeasuredError:
        value = None
    found: dict[str, Any] = {
        "objective": objective.name,
        "unit": objective.unit,
        "maximised": objective.maximised,
        label: value,
        f"{label}_price": {
            name: round(number, 6)
            for name, number in price_of(result, LINK).items()
            if name in SHOWN
        },
    }
    if label == "alone" and value is not None:
        found["noticed"] = objective.least_gain(value)
    return found


def _log(said: Sequence[Decision], network: Network) -> dict[str, Any]:
    """What the log holds, by kind, and the sentences that this benchmark looks for."""
    kinds: dict[str, int] = {}
    for each in said:
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
    verified = [each for each in said if each.kind == "verified"]
    named = [
        name
        for each in said
        if each.kind == "calibrated" and (name := sentences.named_sender(each.reason)) is not None
    ]
    return {
        "decisions": kinds,
        "quiet": sorted({each.reason for each in said if each.kind == "quiet"}),
        "not_explained": sum(sentences.says_not_explained(each) for each in said),
        "verified_without_predecessor": sum(
            not sentences.has_predecessor(each) for each in verified
        ),
        "senders_named": len(named),
        "senders_named_falsely": sum(name not in network.congestion_controls for name in named),
    }


def _pushes(run: OnlineRun) -> dict[str, Any]:
    """How often the router was changed."""
    times = [time_s for time_s, _ in run.settings[1:]]
    most = max(
        (sum(begin <= each < begin + MINUTE_S for each in times) for begin in times), default=0
    )
    return {"pushes": len(times), "most_in_a_minute": most}


def _bounds(scenario: Scenario, run: OnlineRun) -> dict[str, Any]:
    """Constraints and bounds of harm on the network's phases, and whether the log names them."""
    objective = objective_of(scenario)
    constraints = constraints_of(scenario, objective, links=[LINK])
    harm = harm_bounds(scenario, [LINK], objectives=[objective], constraints=constraints)
    return {
        "constraints": [
            entry
            for each in constraints
            if (entry := _kept(each, run, scenario.settle))["phases"] > 0
        ],
        "harm": [
            entry for each in harm if (entry := _kept(each, run, scenario.settle))["phases"] > 0
        ],
    }


def _kept(constraint: Constraint, run: OnlineRun, settle_s: float) -> dict[str, Any]:
    """In how many phases a bound was broken, tuned and alone, and in how many the log says so."""
    known = on_known(constraint, [run.reference])
    margins = known.margins(known.values(run.tuned))
    bounds = known.bounds(known.values(run.tuned))
    windows = constraint.path.windows(run.tuned)
    alone = known.margins(known.values(run.reference))
    broken = [number for number, margin in enumerate(margins) if margin is not None and margin < 0]
    worst = max(
        (relative_violation(margins[each] or 0.0, bounds[each] or 0.0) for each in broken),
        default=0.0,
    )
    entry: dict[str, Any] = {
        "text": constraint.text,
        "phases": sum(margin is not None for margin in margins),
        "margins": [
            None if margin is None or math.isinf(margin) else float(f"{margin:.4g}")
            for margin in margins
        ],
        "broken": len(broken),
        "broken_alone": sum(margin is not None and margin < 0 for margin in alone),
        "worst": round(worst, 4),
    }
    if not constraint.of_harm:
        said = [
            names(
                constraint,
                run.decisions,
                windows[each]["start_s"] - settle_s,
                windows[each]["end_s"] + NAMED_WITHIN_S,
            )
            for each in broken
        ]
        entry["named"], entry["named_in_model"] = said.count("network"), said.count("model")
    return entry


def names(
    constraint: Constraint, decisions: Sequence[Decision], begin_s: float, end_s: float
) -> Literal["network", "model", ""]:
    """Whether a decision of that time says that the constraint is not kept, and where.

    By the constraint as it is written, or by a word for its metric and one for a broken bound. What
    is said of a setting in a model, met or not, does not say that the network keeps to it.
    """
    metric = constraint.path.metric.partition(".")[0]
    word = WORDS.get(metric, metric)
    found: Literal["model", ""] = ""
    for each in decisions:
        if not begin_s <= each.time_s <= end_s:
            continue
        text = f"{each.reason} {json.dumps(each.details, default=str)}"
        if constraint.text not in text and not (
            re.search(word, each.reason, re.IGNORECASE)
            and re.search(BREAKING, each.reason, re.IGNORECASE)
        ):
            continue
        if IN_A_MODEL not in each.reason:
            return "network"
        if constraint.text in text:
            found = "model"
    return found
