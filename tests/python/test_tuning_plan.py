"""One plan says what a tuning is: in keywords, options, a study's file, and its execution."""

import json
import shlex
from dataclasses import MISSING, fields, replace

import pytest

from test_cli import SHORT, refused, strict, vermilion
from test_tuning_study import execute as execute_in
from vermilion import ScenarioError, load_scenario, parse_scenario
from vermilion.objectives import objective_from_text
from vermilion.profiles import Device, Place
from vermilion.search import CountedFromBelow, Space
from vermilion.simulate import run_many
from vermilion.tuning import (
    AnswerFile,
    Seeds,
    Study,
    StudyError,
    TuningPlan,
    TuningSession,
    execute,
    read_studies,
    tune,
    tune_front,
    tune_robust,
)
from vermilion.tuning.execution import FrontOptions, RobustOptions, SettingOptions, planned
from vermilion.tuning.preparation import prepare

__all__ = ["vermilion"]

QUEUE = "links.bottleneck.queue"
SHORTENED = [option.removeprefix("--set=") for option in SHORT if option.startswith("--set=")]
QUICK = ("tune", "varying-load", *SHORT)
PLAIN = """
duration = "4 s"
warm_up = "1 s"
[links.first]
rate = "100 Mbit/s"
delay = "1 ms"
queue = { discipline = "drop-tail" }
[links.second]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "pie", limit = "100 packets" }
[flows.all]
count = 4
path = ["first", "second"]
rtt = "40 ms"
sender = "newreno"
"""


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load", SHORTENED)


@pytest.fixture(scope="module")
def plans(scenario):
    """One of each kind, with as much said as there is to say."""
    other = load_scenario("varying-load", [*SHORTENED, "links.bottleneck.rate=20 Mbit/s"])
    common = {"budget": 6, "seed": 4, "seeds": Seeds((4, 5), (6, 7, 8), (9, 10, 11))}
    start = {path: scenario.get(path) for path in scenario.tuning.parameters}
    return {
        "setting": TuningPlan(
            scenarios=(scenario,),
            objectives=("minimise links.bottleneck.sojourn_ms.p95",),
            constraints=("links.bottleneck.utilization >= 0.9",),
            boxes={f"{QUEUE}.weight": (0.001, 0.1)},
            profile="linux-red",
            place=Place("eth0"),
            warm_starts=({**start, f"{QUEUE}.weight": 0.01},),
            search="recursive-random-search",
            search_settings={"stop_side": 0.05},
            required_improvement=0.01,
            harm=("jain_index=0.1",),
            minimum_improvement=0.02,
            exactly=True,
            **common,
        ),
        "robust": TuningPlan(
            scenarios=(scenario, other),
            kind="robust",
            over="mean",
            weights=(2.0, 1.0),
            parameters=(f"{QUEUE}.weight",),
            shortlist=3,
            fidelity="full",
            **common,
        ),
        "front": TuningPlan(
            scenarios=(scenario,), kind="front", discipline="pie", points=4, **common
        ),
    }


def numbers(outcome):
    """All that a tuning has come to, but for how long it took."""
    document = json.loads(outcome.to_json())
    document.pop("seconds", None)
    return document


def test_every_keyword_is_an_attribute_and_every_attribute_a_keyword():
    said = {
        name
        for options in (SettingOptions, RobustOptions, FrontOptions)
        for name in options.__annotations__
    }
    of_plan = {each.name for each in fields(TuningPlan)}
    of_session = {each.name for each in fields(TuningSession)}
    assert not of_plan & of_session
    # Those that are arguments of their own, and the objectives, of which two kinds have one.
    assert said == (of_plan - {"scenarios", "kind", "over", "objectives"}) | of_session | {
        "objective",
        "robustness",  # until the next release: the opposite of exactly
    }


def test_all_kinds_have_the_same_defaults(scenario):
    pairs = [
        planned("setting", [scenario], {}),
        planned("robust", [scenario, scenario], {}),
        planned("front", [scenario], {}),
    ]
    for plan, session in pairs:
        assert session == TuningSession()
        for each in fields(plan):
            if each.default is not MISSING and each.name != "kind":
                assert getattr(plan, each.name) == each.default


def test_lists_of_any_kind_are_taken_and_kept(scenario):
    paths = (path for path in scenario.tuning.parameters)
    [start] = starts = [dict.fromkeys(scenario.tuning.parameters, 1.0)]
    plan = TuningPlan(scenarios=[scenario], parameters=paths, warm_starts=iter(starts))
    start.clear()
    assert plan.parameters == scenario.tuning.parameters
    assert plan.warm_starts == (dict.fromkeys(scenario.tuning.parameters, 1.0),)
    assert plan == replace(plan)


@pytest.mark.parametrize("kind", ["setting", "robust", "front"])
def test_a_plan_survives_as_text(plans, kind):
    plan = plans[kind]
    again = TuningPlan.from_json(plan.to_json())
    assert again.to_json() == plan.to_json()
    without = [each.name for each in fields(plan) if each.name != "scenarios"]
    assert [getattr(again, name) for name in without] == [getattr(plan, name) for name in without]
    assert [each.core_json() for each in again.scenarios] == [
        each.core_json() for each in plan.scenarios
    ]


@pytest.mark.evidence
@pytest.mark.parametrize("kind", ["setting", "robust", "front"])
def test_the_plan_of_a_study_is_the_one_that_was_given(plans, tmp_path, kind):
    """And what a text has kept of it comes to the same."""
    plan = plans[kind]
    with Study(tmp_path / "x.study") as study:
        outcome = execute(plan, TuningSession(study=study))
    [record] = read_studies(tmp_path / "x.study")
    assert record.plan.plan().to_json() == plan.to_json()
    assert record.recommendation.keys() == json.loads(outcome.to_json()).keys()
    assert numbers(execute(TuningPlan.from_json(plan.to_json()))) == numbers(outcome)


@pytest.mark.evidence
def test_keywords_and_plan_come_to_the_same(plans, scenario):
    plan = plans["robust"]
    keywords = {
        name: getattr(plan, name)
        for name in ("weights", "parameters", "shortlist", "fidelity", "budget", "seed", "seeds")
    }
    assert numbers(tune_robust(list(plan.scenarios), "mean", **keywords)) == numbers(execute(plan))
    plan = TuningPlan(scenarios=(scenario,), budget=5)
    assert numbers(tune(scenario, budget=5)) == numbers(execute(plan))
    assert numbers(tune_front(scenario, budget=5)) == numbers(execute(replace(plan, kind="front")))


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"kind": "best"}, "kind"),
        ({"weights": (1.0,)}, "weights"),
        ({"over": "mean"}, "over"),
        ({"points": 3}, "points"),
        ({"kind": "front", "shortlist": 3}, "shortlist"),
        ({"kind": "front", "warm_starts": ({},)}, "warm_starts"),
        ({"kind": "front", "required_improvement": 0.1}, "required_improvement"),
        ({"kind": "front", "objectives": ("flows.*.jain_index",)}, "objectives"),
        ({"objectives": ("flows.*.jain_index",) * 2}, "objectives"),
        ({"kind": "robust"}, "scenarios"),
        ({"scenarios": ()}, "scenarios"),
        ({"minimum_improvement": 1.5}, "minimum_improvement"),
        ({"minimum_improvement": float("nan")}, "minimum_improvement"),
        ({"search": "luck"}, "search"),
        ({"budget": 0}, "budget"),
    ],
)
def test_what_no_scenario_could_make_sense_of_is_refused(scenario, said, field):
    with pytest.raises(ScenarioError) as error:
        TuningPlan(**{"scenarios": (scenario,), **said})
    assert error.value.field == field


def test_an_unknown_keyword_is_refused(scenario):
    with pytest.raises(TypeError, match="budgt"):
        tune(scenario, budgt=3)
    with pytest.raises(TypeError, match="objective"):
        tune_front(scenario, objective="flows.*.jain_index")


def test_what_does_not_go_with_a_session_is_refused(plans, scenario, tmp_path):
    answers = AnswerFile(tmp_path / "answers.json")
    with pytest.raises(ValueError, match="answers is of one scenario's best setting"):
        execute(plans["front"], TuningSession(answers=answers))
    with pytest.raises(ValueError, match="resume is of one scenario's best setting"):
        execute(plans["robust"], TuningSession(resume={}))
    with Study(tmp_path / "x.study") as study, pytest.raises(ValueError, match="has its own"):
        tune(scenario, study=study, resume={})
    assert not (tmp_path / "x.study").exists()


def test_robust_tunings_and_fronts_take_what_a_search_can_be_told(plans, scenario):
    """And refuse what it cannot."""
    found = tune_front(scenario, budget=3, search_settings={"stop_side": 0.1})
    assert found.evaluations == 3
    with pytest.raises(ScenarioError, match='"stop_sight" is not accepted; expected a setting of'):
        tune_robust(plans["robust"].scenarios, budget=3, search_settings={"stop_sight": 0.1})


# Another discipline


def test_another_discipline_takes_over_and_its_own_box_is_searched(scenario):
    [case] = prepare(TuningPlan(scenarios=(scenario,), discipline="codel")).cases
    assert case.scenario.links["bottleneck"].queue.discipline == "codel"
    # The limit is what RED and CoDel have in common; RFC 8289 recommends 5 ms and 100 ms.
    assert case.scenario.get(f"{QUEUE}.limit") == scenario.get(f"{QUEUE}.limit") == 100
    assert case.incumbent == {f"{QUEUE}.target": 0.005, f"{QUEUE}.interval": 0.1}
    assert case.objective.label == "queue-deviation"
    assert [each.text for each in case.stated] == list(scenario.tuning.constraints)


def phases_of(result):
    link = result.link("bottleneck")
    return link.phases or [link.total]


def test_another_discipline_is_judged_against_the_queue_that_stands(scenario):
    least = "minimise links.bottleneck.sojourn_ms.p99"
    found = tune(
        scenario,
        discipline="codel",
        objective=least,
        constraints=["links.bottleneck.utilization >= 0.9 of reference"],
        harm=["none"],
        fidelity="full",
        budget=12,
    )
    # Measured apart, with nothing of the tuning: RED as the scenario has it, on its seeds.
    count = found.comparison.incumbent.count
    seeds = [*found.seeds.comparison, *found.seeds.further(count)][:count]
    [now] = run_many([scenario], seeds)
    objective, _ = objective_from_text(least, scenario)
    reached = [objective.measure(result) for result in now]
    assert found.comparison.incumbent.mean == pytest.approx(sum(reached) / count)
    [held] = found.comparison.best_verdicts
    used = [min(phase["utilization"] for phase in phases_of(result)) for result in now]
    assert held.bound == pytest.approx(0.9 * sum(used) / count, rel=0.02)
    assert found.incumbent == {
        f"{QUEUE}.{name}": scenario.get(f"{QUEUE}.{name}")
        for name in scenario.links["bottleneck"].queue.parameters
    }
    assert found.readable[f"{QUEUE}.discipline"] == ("red", "codel")
    # The new one with its defaults stands beside as one more row.
    assert found.rivals[0].label == "CoDel, not tuned"
    assert found.rivals[0].parameters == {f"{QUEUE}.target": 0.005, f"{QUEUE}.interval": 0.1}


def test_the_discipline_that_a_queue_has_keeps_its_list(scenario):
    tuning = prepare(TuningPlan(scenarios=(scenario,), discipline="red"))
    assert tuning.space.names == scenario.tuning.parameters
    assert tuning.carried_over == ()


def test_parameters_of_the_new_discipline_can_be_named(scenario):
    plan = TuningPlan(
        scenarios=(scenario,),
        discipline="drop-tail",
        parameters=[f"{QUEUE}.limit"],
        boxes={f"{QUEUE}.limit": (5.0, 90.0)},
    )
    tuning = prepare(plan)
    assert tuning.space.names == (f"{QUEUE}.limit",)
    assert tuning.cases[0].scenario.links["bottleneck"].queue.discipline == "drop-tail"


def test_boxes_of_the_old_discipline_are_left_behind():
    boxed = load_scenario("varying-load", [f"tuning.space.{QUEUE}.weight=[0.001, 0.01]"])
    tuning = prepare(TuningPlan(scenarios=(boxed,), discipline="codel"))
    assert tuning.space.names == (f"{QUEUE}.target", f"{QUEUE}.interval")


@pytest.mark.parametrize(
    ("discipline", "words"),
    [("codell", 'did you mean "codel"'), ("drop-tail", "has a box to search")],
)
def test_a_discipline_that_cannot_be_tuned_is_refused(vermilion, discipline, words):
    assert words in refused(vermilion(*QUICK, f"--discipline={discipline}"))


@pytest.mark.evidence
def test_a_discipline_is_tuned_and_the_command_shows_it(vermilion):
    least = "minimise links.bottleneck.sojourn_ms.p99"
    options = ("--budget=30", "--discipline=codel", "--harm=none", f"--objective={least}")
    code, out, err = vermilion(*QUICK, *options)
    assert code == 0
    assert err.startswith("note: codel on bottleneck takes over from red: limit; not known to it")
    assert f"{QUEUE}.target" in out
    command = shlex.split(out.rstrip().splitlines()[-1].removeprefix("to see it: "))
    assert command[:3] == ["vermilion", "run", "varying-load"]
    settings = [word.removeprefix("--set=") for word in command[3:]]
    shown = load_scenario("varying-load", settings)
    document = strict(vermilion(*QUICK, *options, "--json=-")[1])
    assert shown.links["bottleneck"].queue.discipline == "codel"
    assert {path: shown.get(path) for path in document["parameters"]} == document["parameters"]
    assert shown.get(f"{QUEUE}.limit") == 100


# Without a [tuning] table


def test_without_a_list_the_first_queue_with_a_box_is_searched():
    """Drop-tail has nothing to search; of PIE there is a box for these (RFC 8033's own gains)."""
    space = Space.from_scenario(parse_scenario(PLAIN))
    assert space.names == tuple(
        f"links.second.queue.{name}" for name in ("target", "alpha", "beta")
    )
    found = tune(
        parse_scenario(PLAIN),
        objective="minimise links.second.sojourn_ms.mean",
        budget=3,
        fidelity="full",
    )
    assert set(found.incumbent) == set(space.names)


def test_without_a_box_it_is_said_what_is_missing():
    text = PLAIN.replace('"pie", limit = "100 packets"', '"drop-tail"')
    with pytest.raises(ScenarioError, match="no parameter of drop-tail has a box") as error:
        Space.from_scenario(parse_scenario(text))
    assert error.value.field == "tuning.parameters"


# Harm and relevance, as the scenario or the plan says


def test_harm_and_the_least_improvement_are_the_plan_s_or_the_scenario_s():
    own = load_scenario("varying-load", ['tuning.harm=["none"]', "tuning.minimum_improvement=3 %"])
    plan = TuningPlan(scenarios=(own,))

    def bounded(case):
        return [str(each.path) for each in case.constraints if each.of_harm]

    usual = [
        "flows.*.goodput_bit_per_s.total",
        "flows.*.jain_index",
        "flows.*.starved",
        "links.bottleneck.drop_rate",
    ]
    [case] = prepare(plan).cases
    assert (bounded(case), case.minimum_improvement) == ([], 0.03)
    [case] = prepare(replace(plan, harm=("drop_rate=none",), minimum_improvement=0.0)).cases
    assert (bounded(case), case.minimum_improvement) == (usual[:-1], 0.0)
    [case] = prepare(TuningPlan(scenarios=(load_scenario("varying-load"),))).cases
    assert (bounded(case), case.minimum_improvement) == (usual, None)
    # Of 100 packets^2, 5 % are noticed unless the scenario or the plan says otherwise.
    assert case.least_gain(100.0) == pytest.approx(5.0)
    assert replace(case, minimum_improvement=0.03).least_gain(100.0) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("setting", "field"),
    [("minimum_improvement=120 %", "minimum_improvement"), ("harm=none", "harm")],
)
def test_a_scenario_s_harm_and_least_improvement_are_checked(setting, field):
    with pytest.raises(ScenarioError) as error:
        load_scenario("varying-load", [f"tuning.{setting}"])
    assert error.value.field == f"tuning.{field}"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--discipline=codel", "the discipline is not set there and codel here"),
        ("--harm=none", "what a change may cost is"),
        ("--set=tuning.harm=['none']", "what a change may cost is"),
        ("--minimum-improvement=5 %", "the least improvement is not set there and 0.05 here"),
        ("--exactly", "exactly is false there and true here"),
    ],
)
def test_a_study_of_another_plan_is_refused(vermilion, tmp_path, option, words):
    path = tmp_path / "x.study"
    assert vermilion(*QUICK, "--budget=1", f"--study={path}")[0] == 0
    code, out, err = vermilion(*QUICK, "--budget=1", f"--study={path}", option)
    assert (code, out) == (2, "")
    assert words in err.splitlines()[-1]


def test_a_wrong_share_is_one_line(vermilion):
    assert 'like 0.05 or "5 %"' in refused(vermilion(*QUICK, "--minimum-improvement=much"))


def test_a_study_of_the_format_before_is_refused_in_one_line(vermilion, scenario, tmp_path):
    path = tmp_path / "x.study"
    with Study(path) as study:
        tune(scenario, budget=1, study=study)
    execute_in(path, "PRAGMA user_version = 2")
    assert "of format 2; this Vermilion reads and writes format 3" in refused(
        vermilion("tune", f"--study={path}")
    )
    with pytest.raises(StudyError, match="of format 2"):
        read_studies(path)


# Exit codes


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--budget=60"], 0, marks=pytest.mark.evidence),
        # Only what is in force has been tried.
        (["--budget=1"], 10),
        # Sixty-four flows in 10 Mbit/s lose packets with any setting of RED.
        (["--budget=12", "--constraint=links.bottleneck.drop_rate <= 0"], 11),
        (["varying-load", "--robust=mean", "--budget=1"], 10),
        (
            [
                "varying-load",
                "--robust=mean",
                "--budget=12",
                "--constraint=links.bottleneck.drop_rate <= 0",
            ],
            11,
        ),
    ],
)
def test_the_exit_code_tells_the_decision_where_it_is_asked_for(vermilion, tmp_path, options, code):
    assert vermilion(*QUICK, *options, "--json=-")[0] == 0
    path = tmp_path / "x.study"
    assert vermilion(*QUICK, *options, "--json=-", "--exit-code", f"--study={path}")[0] == code
    assert vermilion("tune", f"--study={path}", "--json=-", "--exit-code")[0] == code
    assert vermilion("tune", f"--study={path}", "--json=-")[0] == 0


def test_a_front_has_no_decision_to_tell(vermilion, scenario, tmp_path):
    assert "needs a recommendation" in refused(vermilion(*QUICK, "--pareto", "--exit-code"))
    path = tmp_path / "x.study"
    with Study(path) as study:
        tune_front(scenario, budget=2, study=study)
    assert "needs a recommendation" in refused(vermilion("tune", f"--study={path}", "--exit-code"))


@pytest.mark.parametrize("profile", [None, "linux-red"])
@pytest.mark.parametrize(
    ("kind", "searched", "other"),
    [("setting", Space, CountedFromBelow), ("front", CountedFromBelow, Space)],
)
def test_the_searches_of_a_front_count_an_ordered_pair_from_below(kind, searched, other, profile):
    scenario = load_scenario("varying-load")
    plan = TuningPlan(scenarios=(scenario,), kind=kind, profile=profile)
    tuning = prepare(plan)
    usual, unusual = (each.from_scenario(scenario) for each in (searched, other))
    near = (
        (lambda values: values)
        if profile is None
        else Device(profile, scenario, usual.names).nearest
    )
    point = (0.7, 0.4, 0.5, 0.5)
    assert tuning.space.edition == searched.edition
    assert tuning.space.values(point) == near(usual.values(point)) != near(unusual.values(point))
    assert tuning.space.point(usual.values(point)) == pytest.approx(point)


def test_settings_of_a_search_choose_one_that_has_them(scenario):
    for settings, search in (
        ({}, "gaussian-process"),
        ({"at_once": 4}, "gaussian-process"),
        ({"stop_side": 0.1}, "localised-recursive-random-search"),
        ({"first_side": 0.4}, "localised-recursive-random-search"),
    ):
        assert tune_front(scenario, budget=3, search_settings=settings).search == search
    with pytest.raises(ScenarioError, match='"at_once" is not accepted; expected a setting of cma'):
        tune(scenario, budget=3, search_settings={"at_once": 4})
