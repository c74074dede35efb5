"""Four queues of a simulated network, controlled together; and what becomes of a killed run."""

import json
import sqlite3

import pytest
from typer.testing import CliRunner

from online_set_world import CONFIGURATION, JOINT_FIRST, POLICY, controller_of
from online_world import FIRST
from vermilion.cli.application import application
from vermilion.objectives.goodput_variation import GoodputVariation
from vermilion.objectives.knee import Knee
from vermilion.objectives.weighted_sum import WeightedSum
from vermilion.online import run_online
from vermilion.online.decide.controller import Controller
from vermilion.online.decide.states import Applying, Waiting
from vermilion.online.decide.step import step
from vermilion.online.entries import SettingInForce
from vermilion.online.events import Apply, Began
from vermilion.online.policy import stated_policy
from vermilion.online.record.journal import Journal
from vermilion.report.phases import responses_of
from vermilion.report.price_line import price_lines
from vermilion.scenario import (
    ScenarioError,
    disciplines,
    load_scenario,
    scenario_from_document,
)
from vermilion.simulate import run

FOUR = load_scenario("four-red-queues")
SHORT = FOUR.with_values({"duration": "16 s", "warm_up": "8 s"})
NAMES = ("first", "second", "third", "fourth")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A short run, and its journal."""
    path = tmp_path_factory.mktemp("set") / "journal.sqlite"
    scenario = SHORT.with_values({"tuning.harm": ["none"]})
    return (
        run_online(
            scenario,
            seed=10,  # in most runs as short as this one nothing is sure enough to be changed
            clock="fixed",
            evaluations=128,
            re_evaluations=1,
            comparisons=5,
            journal_path=path,
        ),
        path,
    )


# --- the policy ----------------------------------------------------------------------------------


def test_parameters_of_several_links_make_a_policy_for_a_set():
    policy = stated_policy(FOUR)
    assert policy.links == NAMES
    assert len(policy.parameters) == 16
    assert policy.path("third.weight") == "links.third.queue.weight"
    assert policy.of_queue("third").parameters == (
        "min_threshold",
        "max_threshold",
        "max_probability",
        "weight",
    )
    assert isinstance(policy.objective, GoodputVariation)
    assert policy.target_packets is None
    assert {bound.path.name for bound in policy.bounds} == {*NAMES, "*"}


def test_without_an_objective_it_is_the_knee_of_every_link():
    document = FOUR.document | {"tuning": {"parameters": list(FOUR.tuning.parameters)}}
    objective = stated_policy(scenario_from_document(document)).objective
    assert isinstance(objective, WeightedSum)
    assert [(type(each.objective), each.objective.link) for each in objective.parts] == [
        (Knee, link) for link in NAMES
    ]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tuning.constraints": ["flows.through.jain_index >= 0.5"]}, "or of all flows"),
        (
            {"tuning.objective": {"name": "goodput-variation", "flows": "through"}},
            "all flows",
        ),
        (
            {"tuning.parameters": ["links.first.queue.weight", "links.second.rate"]},
            "links.second.rate",
        ),
    ],
)
def test_what_a_controller_cannot_see_is_refused(values, words):
    with pytest.raises(ScenarioError, match=words):
        stated_policy(FOUR.with_values(values))


def test_paths_are_of_the_links_under_control():
    policy = stated_policy(FOUR)
    assert policy.with_paths([["second", "first"]]).paths == (("second", "first"),)
    for path in (["first", "fifth"], ["first", "first"], []):
        with pytest.raises(ScenarioError, match="each once"):
            policy.with_paths([path])
    with pytest.raises(ScenarioError, match="of several links"):
        run_online(load_scenario("varying-load"), paths=[["bottleneck"]])
    with pytest.raises(ScenarioError, match="for several queues"):
        run_online(SHORT, knowledge="flow count")


# --- the run -------------------------------------------------------------------------------------


def test_four_queues_are_set_together(kept):
    online, _ = kept
    kinds = [decision.kind for decision in online.decisions]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert "applied" in kinds
    built = next(each for each in online.decisions if each.kind == "model-built")
    assert "through first, second, third, fourth" in built.reason
    # Every queue has had a setting of its own, in one joint change.
    before, after = online.settings[0][1], online.settings[1][1]
    for link in NAMES:
        assert any(before[n] != after[n] for n in before if n.startswith(f"{link}."))
    assert online.links == NAMES
    first, *_ = online.by_queue
    assert first.link == "first"
    assert first.parameters == ("min_threshold", "max_threshold", "max_probability", "weight")
    assert first.settings[1][1]["weight"] == after["first.weight"]


def test_the_report_has_a_chapter_for_each_queue(kept):
    online, _ = kept
    for view in online.by_queue:
        [line] = price_lines([view])
        assert line.settings == ("left alone", "kept tuned")
        assert responses_of([view]) == (), "a scenario without changes has none to answer"


def test_the_network_left_alone_is_the_scenario_itself(kept):
    online, _ = kept
    assert online.reference.data["links"] == run(SHORT, seed=10).data["links"]


def test_the_same_call_gives_the_same_run():
    scenario = FOUR.with_values({"duration": "5 s", "warm_up": "1 s"})
    one, other = (
        run_online(scenario, seed=2, clock="fixed", evaluations=4, comparisons=3) for _ in range(2)
    )
    assert any(each.kind in {"tuned", "kept"} for each in one.decisions)
    assert one.decisions == other.decisions
    assert one.tuned.data["links"] == other.tuned.data["links"]


def test_the_journal_has_the_joint_settings_and_each_queue(kept):
    online, path = kept
    with sqlite3.connect(path) as database:
        [(link, ended)] = database.execute("SELECT link, ended FROM run").fetchall()
        settings = database.execute("SELECT parameters FROM setting ORDER BY id").fetchall()
        [(samples,)] = database.execute("SELECT count(*) FROM sample").fetchall()
        [(of_queues, unlike)] = database.execute(
            "SELECT count(*), sum(sample.backlog_packets != (SELECT sum(each.backlog_packets)"
            " FROM queue_sample AS each WHERE each.time_s = sample.time_s)) FROM sample"
            " JOIN queue_sample USING (run, time_s)"
        ).fetchall()
    database.close()
    assert (link, ended) == ("+".join(NAMES), 1)
    assert len(settings) == len(online.settings)
    assert json.loads(settings[-1][0])["fourth.weight"] == online.settings[-1][1]["fourth.weight"]
    assert samples == pytest.approx(160, abs=2)
    assert (of_queues, unlike) == (4 * samples, 0)


def test_what_stood_in_every_queue_can_be_undone(kept):
    _, path = kept
    told = CliRunner().invoke(application(), ["undo", str(path), "--json", "-"])
    [entry] = json.loads(told.output)
    assert entry["changed"]
    assert entry["original"]["second.min_threshold"] == 15.0
    assert len(entry["original"]) == 4 * len(disciplines()["red"].parameters)


# --- a run that was killed -----------------------------------------------------------------------


def journal_at(path):
    return Journal(
        path,
        version="test",
        title="two queues",
        router="set",
        link=POLICY.link,
        discipline="fake",
        target_packets=None,
    )


def test_a_killed_run_goes_on_with_its_joint_setting(tmp_path):
    """It was killed when one queue had its part of a change, and the other had not."""
    path = tmp_path / "journal.sqlite"
    wanted = {"near.level": 30.0, "far.level": 20.0}
    journal = journal_at(path)
    journal.keep(SettingInForce(0.0, JOINT_FIRST))
    journal.intend(3.0, Apply(1, wanted))
    journal._database.close()
    with journal_at(path) as again:
        controller = Controller.of(
            POLICY,
            CONFIGURATION,
            remembered=again.remembered(),
        )
    assert controller.original == JOINT_FIRST
    half = {**JOINT_FIRST, "near.level": 30.0}
    after, effects = step(controller, Began(half), 5.0)
    [back] = [each for each in effects if isinstance(each, Apply)]
    assert isinstance(after.state, Applying)
    assert back.parameters == JOINT_FIRST
    # Nobody has judged the whole of it either.
    whole, effects = step(controller, Began({**JOINT_FIRST, **wanted}), 5.0)
    [back] = [each for each in effects if isinstance(each, Apply)]
    assert isinstance(whole.state, Applying)
    assert back.parameters == JOINT_FIRST


def test_a_controller_of_a_set_begins_as_one_of_a_queue():
    controller, effects = step(controller_of(), Began(dict(JOINT_FIRST)), 0.0)
    assert isinstance(controller.state, Waiting)
    assert controller.original == JOINT_FIRST
    assert len(JOINT_FIRST) == 2 * len(FIRST)
    assert effects


def test_a_bound_of_a_link_that_never_queued_stops_no_search():
    """All flows go through all links, so that nothing waits behind the first: one is modelled."""
    through_all = {f"flows.only-{link}.path": list(NAMES) for link in NAMES}
    longer = {f"flows.only-{link}.rtt": "48 ms" for link in NAMES}
    run = run_online(
        SHORT.with_values({"duration": "10 s", "tuning.harm": ["none"]} | through_all | longer),
        clock="fixed",
        evaluations=8,
        re_evaluations=1,
        comparisons=4,
    )
    kinds = {each.kind for each in run.decisions}
    assert kinds & {"tuned", "kept"}
    assert "search-failed" not in kinds
