"""Every number in a sentence of the decision log is one of the numbers written beside it.

A sentence is read phrase by phrase. A phrase names the keys of ``details`` that its numbers come
from, and the factor between the two; what no phrase has read must not have a number. So a number
cannot be right by accident, and a new sentence with numbers needs a phrase, and details.
"""

import json
import math
import re
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import test_online_scripts
import test_online_set_scripts
from vermilion.objectives import Constraint
from vermilion.online import run_online
from vermilion.online.drive.real_router import _found
from vermilion.online.entries import Decision, DecisionKind, setting_in_words
from vermilion.online.events import Record
from vermilion.routers.base import HeldValues, LinkConfiguration
from vermilion.scenario import load_scenario

N = r"(?<![\w.^])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)"
"""A number; not the 95 of p95, nor the 2 of packets^2."""
NUMBER = re.compile(N)
READ = "\N{BLACK SQUARE}"
LIST = rf"{N}(?:, {N})*"

WITHOUT_NUMBERS = {
    DecisionKind.CALIBRATED,
    DecisionKind.QUIET,
    DecisionKind.UNREADABLE,  # but for those in what is wrong with it
    DecisionKind.RESTORED,
    DecisionKind.FELL_BACK,
    DecisionKind.REFUSED,  # but for those in the router's own words
    DecisionKind.LOST,  # likewise, and but for how long an answer was waited for
}
"""Kinds whose sentences have no numbers of the controller's."""


def cause(details):
    """The numbers of what has happened: of this decision, or of the one that it follows."""
    return details.get("cause", details)


def plain(*names, factor=1.0):
    """The numbers of a phrase under these names, in this order."""
    return lambda details, _match: [factor * details[name] for name in names]


def caused(*names, factor=1.0):
    return lambda details, _match: [factor * cause(details)[name] for name in names]


def flows_changed(details, _match):
    before, now = cause(details)["flows_before"], cause(details)["flows_now"]
    assert before != now
    return [before, now]


def round_trips_changed(details, _match):
    told = cause(details)
    trips = told["mean_round_trip_before_s"], told["mean_round_trip_now_s"]
    return [100.0 * told["round_trips_apart_share"], *(1e3 * each for each in trips)]


def drifted(details, match):
    told = cause(details)
    predicted, seen = told["predicted_mean_queue_packets"], told["mean_queue_packets"]
    assert match["side"] == ("above" if seen > predicted else "below")
    return [predicted, seen]


def set_by_others(details, match):
    changed = cause(details)["changed"]
    to = " to " if "has set" in match[0] else " "
    assert all(f"{name}{to}{value}" in match[0] for name, value in changed.items())
    return [value for value in changed.values() if isinstance(value, float)]


def picture(details, match):
    seen = details["picture"]
    rate = [] if seen["rate_bit_per_s"] is None else [seen["rate_bit_per_s"] / 1e6]
    trips = [
        value
        for each in seen["base_round_trips"]
        for value in (each["flows"], 1e3 * each["base_round_trip_s"])
    ]
    assert ("rate unknown" in match[0]) == (not rate)
    return [seen["flows"], *trips, *rate]


def set_picture(details, _match):
    seen = details["picture"]
    paths = [
        value
        for path in seen["paths"]
        for value in (path["flows"], *(1e3 * each for each in path["base_round_trips_s"]))
    ]
    rates = [rate / 1e6 for rate in seen["rates_bit_per_s"].values() if rate is not None]
    return [seen["flows"], *paths, *rates]


def trend(details, _match):
    shares = [100.0 * each for each in details["trend"].values() if each]
    return [*shares, details["ahead_s"]]


def bias(details, match):
    packets = details["bias_packets"]
    assert match["side"] == ("above" if packets > 0.0 else "below")
    return [abs(packets), details["internal_target"]]


def compared(details, match):
    """The comparison in the model; costs in bit/s are said in Mbit/s."""
    factor = 1e-6 if details["unit"] == "bit/s" else 1.0
    advantage, half_width = details["advantage"], details["advantage_half_width"]
    assert match["gain"] == ("better" if advantage >= 0.0 else "worse")
    assert (half_width is None) == ("+- unknown" in match[0])
    assert ("mean of" in match[0]) == (details["models"] > 1)
    assert ("for a push" in match[0]) or details["push_charge"] == 0.0
    found, stood = details["objective_found"], details["objective_in_force"]
    costs = [found, stood, abs(advantage), *([] if half_width is None else [half_width])]
    return [
        *([details["models"]] if details["models"] > 1 else []),
        *(factor * each for each in costs),
        details["fresh_seeds"],
        *([factor * details["push_charge"]] if "for a push" in match[0] else []),
        details["mean_queue_found_packets"],
        details["mean_queue_in_force_packets"],
    ]


def shown(match):
    """From a metric's own unit to the one that is said."""
    return {"%": 100.0, "Mbit/s": 1e-6}.get((match["unit"] or "").strip(), 1.0)


def bound_in_model(details, match):
    half_width, phase = details["bound_measured_half_width"], details["bound_phase"]
    values = [details["bound_measured"], *([] if half_width is None else [half_width])]
    factor = shown(match)
    return [
        *(factor * each for each in values),
        *([phase] if phase else []),
        factor * details["bound_limit"],
        *([factor * details["bound_limit_half_width"]] if match["width"] else []),
    ]


def bound_kept(details, match):
    """What surely keeps a bound."""
    measured, limit = details["bound_measured"], details["bound_limit"]
    kept = measured - limit if Constraint.parse(details["bound"]).at_least else limit - measured
    assert "the network keeps" in match.string
    assert kept > details["bound_measured_half_width"]
    return [shown(match) * each for each in (measured, limit)]


def bound_measured(details, match):
    """What breaks a bound: surely, as it seems, or as nobody knows."""
    measured, half_width = details["bound_measured"], details["bound_measured_half_width"]
    limit = details["bound_limit"]
    says = re.search(r"network (breaks|seems to break|may break)", match.string)
    if says:
        assert (limit is None) == (says[1] == "may break")
    if limit is not None:
        beyond = (limit - measured) if Constraint.parse(details["bound"]).at_least else 0.0
        beyond = beyond or measured - limit
        assert beyond > 0.0
        assert (beyond > half_width) == (not says or says[1] == "breaks")
    said = [measured, half_width] if "+-" in match[0] else [measured]
    return [shown(match) * each for each in said]


def mean_queue(details, match):
    before = {"model": "model_mean_queue_packets", "before": "mean_queue_before_packets"}
    return [details["mean_queue_packets"], details[before[match["stood"]]]]


def objective(details, match):
    old = {"before": "measured_before", "model of the old setting": "model_objective_before"}
    model = [details["model_objective"]] if "(model " in match[0] and ", " in match[0] else []
    return [details["measured"], *model, details[old[match["old"]]]]


def utilization(details, _match):
    before = details["utilization_before"]
    return [100.0 * each for each in (details["utilization"], before) if each is not None]


def figure(details, match):
    [found] = [each for each in details["figures"] if each["name"] == match["name"]]
    assert details[match["name"]] == [found["seen"], found["model"]]
    return [found["seen"], found["model"], found["noise"]]


def outage(details, match):
    left = [] if "none has left" in match[0] else [details["left_packets"]]
    return [details["waiting_packets"], *left, details["seconds"]]


def nothing_came(details, match):
    came = [details["came_packets"]] if "only" in match[0] else []
    assert bool(came) == (details["came_packets"] > 0)
    return [details["open_flows"], *came, details["seconds"]]


def carried(details, match):
    load = [100.0 * details["carried_share_of_rate"]] if "%" in match[0] else []
    return [details["carried_bit_per_s"] / 1e6, *load]


def starved(details, _match):
    return [
        details["stretches"],
        details["stretch_s"],
        *details["starved_flows"],
        100.0 * details["starved_below_share"],
        details["starved_flows_allowed"],
        details["starved_flows_by_chance"],
    ]


PHRASES = [
    (rf"{N} flows? ha(?:s|ve) become {N}", flows_changed),
    (
        rf"the service rate has gone from {N} to {N} Mbit/s",
        caused("rate_before_bit_per_s", "rate_now_bit_per_s", factor=1e-6),
    ),
    (rf"moved by {N}% of a round trip: mean {N} ms has become {N} ms", round_trips_changed),
    (
        (
            rf"drifted (?P<side>above|below) the {N} packets the model predicted, to {N} in the "
            "last second"
        ),
        drifted,
    ),
    (
        r"somebody else has set \S+ to [^\s,;)]+(?:, \S+ to [^\s,;)]+)*",
        set_by_others,
    ),
    (
        r"has (?:gone back to|put back) \S+ [^\s,;)]+(?:, \S+ [^\s,;)]+)*(?=, as before)",
        set_by_others,
    ),
    (
        (
            rf"{N} flows?, base round trips? (?:unknown|{N} x {N} ms(?: \+ {N} x {N} ms)*), "
            rf"(?:rate unknown|{N} Mbit/s)"
        ),
        picture,
    ),
    (rf"{N} flows?: .*(?:Mbit/s|unknown)", set_picture),
    (rf"target for the model {N} packets", plain("internal_target")),
    (rf"leave {N} packets or more in the queue", plain("least_queue_by_marks_packets")),
    (
        (
            rf"(?:flows|rate|round trips) {N}% a second(?:, (?:rate|round trips) {N}% a second)*, "
            rf"modelled as in {N} s"
        ),
        trend,
    ),
    (
        (
            rf"queue is {N} packets (?P<side>above|below) the model's value, so the model is tuned "
            rf"for {N}"
        ),
        bias,
    ),
    (rf"{N} settings? tried in {N} s", plain("evaluations", "took_s")),
    (rf"predicted to hold {N} \+- {N} packets", plain("predicted_mean", "predicted_sd")),
    (
        (
            rf"; in the (?:model|mean of {N} models), [^;]*? {N} instead of {N} [^;]*?"
            rf"\((?P<gain>better|worse) by {N} \+- (?:{N}|unknown) on {N} fresh seeds"
            rf"(?:, after {N} for a push that [a-z ]+)?\), mean queue {N} instead of {N} packets"
        ),
        compared,
    ),
    (
        rf"the gain of {N}[^;]*? is below the {N}[^;]*? from which a change pays",
        plain("advantage", "least_gain"),
    ),
    (
        (
            rf"[(:] ?{N}(?: \+- {N})?(?P<unit> [^\s,]+)?(?: in phase {N})?, "
            rf"bound {N}(?P<width> \+- {N})?"
        ),
        bound_in_model,
    ),
    (rf"\(measured {N}(?P<unit> [^\s)]+)?, bound {N}(?: [^\s)]+)?\)", bound_kept),
    (rf"\(measured {N}(?: \+- {N})?(?P<unit> [^\s)]+)?\)", bound_measured),
    (rf"mean queue {N} packets \((?P<stood>model|before) {N}\)", mean_queue),
    (
        rf", [^(),]+ {N}[^(),]* \((?:model {N}, )?(?P<old>before|model of the old setting) {N}\)",
        objective,
    ),
    (rf"utilisation {N}%(?: \(before {N}%\))?", utilization),
    (rf"every moment of {N} s", plain("seconds")),
    (rf"it is looked at again in {N} s", plain("looks_again_in_s")),
    (
        (
            rf"the mean queue is {N} packets and the model says {N}, too far apart to correct; the "
            rf"setting stays, and in {N} s"
        ),
        plain("mean_queue_packets", "model_mean_queue_packets", "looks_again_in_s"),
    ),
    (
        (
            rf"(?P<name>mean queue|deviation|signals|throughput) {N}[^;()]*? seen, {N} \+- {N} in "
            "the model"
        ),
        figure,
    ),
    (rf"in the model; [^;]*? {N}, promised {N}", plain("measured", "promised")),
    (rf"taken back unless it beats .*? {N}", plain("measured_before")),
    (rf"have changed {N} times within a minute", plain("changes_within_a_minute")),
    (rf"one setting for all {N} that were met", plain("conditions_met")),
    (rf"conditions have not changed for {N} s", plain("calm_s")),
    (rf"the last minute had {N} changes?", plain("changes_per_minute")),
    (
        rf"next try in {N} s",  # rounded up, so that nothing is promised too early
        lambda details, _match: [math.ceil(details["next_try_in_s"] - 1e-6)],
    ),
    (rf"given the queue back after {N} s", plain("after_s")),
    (rf"busy again after {N} s", plain("after_s")),
    (rf"the router has not answered for {N} s", plain("silent_s")),
    (rf"the router answers again after {N} s", plain("silent_s")),
    (rf"it has not answered for {N} s", plain("waited_s")),
    (rf"no answer within {N} s", plain("answer_within_s")),
    (rf"the setting applied at {N} s", plain("applied_s")),
    (rf"proposal {N}", plain("number")),
    (rf"the conditions of {N} s ago", plain("conditions_ago_s")),
    (rf"keep its queue at {N} packets?", plain("target_packets")),
    (rf"{N} packets? in the queue, and (?:none|{N}) ha(?:s|ve) left for {N} s", outage),
    (rf"{N} flows? open, and (?:only {N} packets?|no packet) came in {N} s", nothing_came),
    (rf"no packet came in {N} s", plain("seconds")),
    (rf"{N} packets? came in {N} s and none got through", plain("came_packets", "seconds")),
    (
        rf"been empty for {N} s, and every packet that came was dropped \({N} of them\)",
        plain("seconds", "dropped_packets"),
    ),
    (
        (
            rf"been empty for {N} s, and nearly every packet that came was dropped or marked "
            rf"\({N} and {N}\)"
        ),
        plain("seconds", "dropped_packets", "marked_packets"),
    ),
    (rf"the link carried {N} Mbit/s(?:, {N}% of its rate)?", carried),
    (
        rf"no packet waited at {N}% of the readings of {N} s",
        lambda details, _match: [100.0 * details["readings_empty_share"], details["seconds"]],
    ),
    (
        (
            rf"in {N} successive stretches of {N} s, {LIST} and {N} flows got less than {N} % of "
            rf"the mean share; the bound of harm allows {N}, and {N} more"
        ),
        starved,
    ),
    (rf"\. Run {N} of this journal", plain("left_behind_by_run")),
]


def rounds_to(value, said):
    """Whether a number is said within the rounding of its printed digits."""
    mantissa, _, exponent = said.partition("e")
    digits = len(mantissa.partition(".")[2])
    step = 10.0 ** (int(exponent or 0) - digits)
    return math.isclose(value, float(said), rel_tol=1e-9, abs_tol=0.5 * step * (1.0 + 1e-6))


def check(reason, details, configuration):
    """Every number of the sentence is in the details, where its phrase says.

    Raises:
        AssertionError: one is not.
        KeyError: the details lack a key that the phrase names.
    """
    rest = reason
    # Texts of the operator's, and of the router's, stand in both places as they were written.
    for text in (details.get("bound"), details.get("goal"), *_words_of_others(details)):
        if text and not (text == details.get("goal") and details.get("target_packets")):
            rest = rest.replace(text, READ)
    if details.get("bound") and details.get("bound_limit") is not None:
        written = details["bound"].partition(" with ")[0]
        if "reference" not in written:
            assert Constraint.parse(written).bound == pytest.approx(details["bound_limit"])
    for name in ("setting", "parameters"):
        if isinstance(details.get(name), dict):
            known = {key: value for key, value in details[name].items() if value is not None}
            rest = rest.replace(setting_in_words(known, configuration), READ)
    for pattern, numbers in PHRASES:
        while match := re.search(pattern, rest):
            said, known = NUMBER.findall(match[0]), numbers(details, match)
            assert len(said) == len(known), (match[0], known)
            for text, value in zip(said, known, strict=True):
                assert value is not None, (text, match[0])
                assert rounds_to(value, text), (text, value, match[0])
            rest = rest[: match.start()] + READ + rest[match.end() :]
    assert not NUMBER.findall(rest), rest


def _words_of_others(details):
    own = "waited_s" in details
    return (*details.get("picture", {}).get("unknown", ()), "" if own else details.get("because"))


# --- what is said --------------------------------------------------------------------------------


@cache
def said():
    """(kind, sentence, details, configuration) of every script, and of two runs."""
    found = []
    for module, kind in (
        (test_online_scripts, test_online_scripts.Script),
        (test_online_set_scripts, test_online_set_scripts.SetScript),
    ):
        for path in sorted(module.SCRIPTS.glob("*.txt")):
            found += _of_script(path, kind())
    short = ["duration=12 s", "warm_up=4 s", "settle=4 s", "flows.late.start=6 s .. 7 s"]
    quickly = {"clock": "fixed", "re_evaluations": 1, "comparisons": 3}
    scenario = load_scenario("varying-load", short)
    run = run_online(scenario, seed=4, evaluations=6, **quickly)
    one = LinkConfiguration("bottleneck", "red", 0.01)
    found += [(each.kind, each.reason, each.details, one) for each in run.decisions]
    policy = SimpleNamespace(mode="observe", changes_per_minute=6, at_exit="keep")
    red = {"min_threshold": 12.5, "weight": 0.0021, "max_threshold": None}
    words = partial(setting_in_words, configuration=one)
    killed = SimpleNamespace(run=7, original={"weight": 0.5}, command=None)
    told = _found(0.0, "linux:eth0", red, words, None, killed, policy, HeldValues())
    found.append((told.kind, told.reason.partition(". In the beginning")[0], told.details, one))
    return found


def _of_script(path: Path, script):
    heard = []
    carry_out = script._carry_out

    def listen(effect):
        if isinstance(effect, Record) and isinstance(effect.entry, Decision):
            entry = effect.entry
            heard.append((entry.kind, entry.reason, entry.details, script.controller.configuration))
        carry_out(effect)

    script._carry_out = listen
    test_online_scripts.played(path.read_text(encoding="utf-8"), script)
    return heard


def test_every_number_of_a_sentence_is_in_its_details():
    for kind, reason, details, configuration in said():
        try:
            check(reason, details, configuration)
        except (AssertionError, KeyError) as error:
            error.add_note(f"{kind}: {reason}\n{details}")
            raise


def test_a_wrong_number_is_noticed_wherever_it_stands():
    """Each number of each sentence is changed by three of its last digit."""
    changed = 0
    for reason, (details, configuration) in _different().items():
        for number in NUMBER.finditer(reason):
            last = number.end() - 1
            digit = str((int(reason[last]) + 3) % 10)
            wrong = reason[:last] + digit + reason[last + 1 :]
            with pytest.raises((AssertionError, KeyError)):
                check(wrong, details, configuration)
            changed += 1
    assert changed > 500


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("better by", "worse by"),
        ("above", "below"),
        ("the network breaks", "the network seems to break"),
        ("seems to break", "may break"),
        ("(model ", "(before "),
        ("model of the old setting", "before"),
    ],
)
def test_a_wrong_word_beside_a_number_is_noticed(word, other):
    pattern = re.compile(rf"(?<!\w){re.escape(word)}")  # not the one in drop_above_maximum
    told = {reason: rest for reason, rest in _different().items() if pattern.search(reason)}
    assert told
    for reason, (details, configuration) in told.items():
        with pytest.raises((AssertionError, KeyError)):
            check(pattern.sub(other, reason), details, configuration)


def test_every_kind_that_says_numbers_was_met():
    met = {kind for kind, reason, _, _ in said() if NUMBER.search(reason)}
    assert set(DecisionKind) - met - WITHOUT_NUMBERS == set()


def test_every_phrase_was_met():
    """Phrases that nothing says any more go from the list."""
    sentences = [reason for _, reason, _, _ in said()]
    unmet = [
        pattern for pattern, _ in PHRASES if not any(re.search(pattern, each) for each in sentences)
    ]
    assert unmet == []


def test_details_are_json_without_what_is_no_number():
    for _, _, details, _ in said():
        assert json.loads(json.dumps(details, allow_nan=False)).keys() == details.keys()


@cache
def _different():
    """Sentences of one kind that differ in their numbers are told apart; those alike are not."""
    return {reason: (details, configuration) for _, reason, details, configuration in said()}
