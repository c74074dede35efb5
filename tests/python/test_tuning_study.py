"""A study can be stopped at any moment, even killed, and goes on as if nothing had happened."""

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from test_cli import PROGRAM, SHORT, refused, strict, vermilion
from vermilion.cli.tune_session import report_to
from vermilion.scenario import load_scenario
from vermilion.simulate.statistics import Interval
from vermilion.tuning import (
    Study,
    StudyError,
    TuningProgress,
    read_studies,
    resume_study,
    tune,
)
from vermilion.tuning.study_file import open_to_write

__all__ = ["vermilion"]

BUDGET = 24
SHORTENED = [option.removeprefix("--set=") for option in SHORT if option.startswith("--set=")]


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load", SHORTENED)


@pytest.fixture(scope="module")
def uninterrupted(scenario):
    return numbers(tune(scenario, budget=BUDGET))


@pytest.fixture(scope="module")
def finished(scenario, tmp_path_factory):
    path = tmp_path_factory.mktemp("studies") / "finished.study"
    with Study(path) as study:
        tune(scenario, budget=BUDGET, study=study)
    return path


def numbers(recommendation):
    """All that a tuning has come to, but for how long it took."""
    document = json.loads(recommendation.to_json())
    del document["seconds"]
    return document


def execute(path, *statements):
    database = sqlite3.connect(path)
    with database:
        for statement in statements:
            database.execute(statement)
    database.close()


def wait_for_settings(path, count, process):
    """Until the search has used so many settings, as the file tells."""
    while process.poll() is None:
        try:
            if path.exists() and len(read_studies(path)[0].evaluations) >= count:
                return
        except (StudyError, IndexError):  # it is just being made
            pass
        time.sleep(0.02)
    pytest.fail("the tuning ended before it was to be stopped")


def test_a_study_changes_nothing_of_the_outcome(finished, uninterrupted):
    [record] = read_studies(finished)
    del (outcome := dict(record.recommendation))["seconds"]
    assert outcome == uninterrupted


@pytest.mark.evidence
@pytest.mark.parametrize("stop", [7])
def test_a_study_that_was_stopped_early_goes_on_exactly(scenario, uninterrupted, tmp_path, stop):
    for budget in (stop, BUDGET):
        with Study(tmp_path / "x.study") as study:
            outcome = tune(scenario, budget=budget, study=study)
    assert numbers(outcome) == uninterrupted


@pytest.mark.parametrize("search", ["cma-es", "gaussian-process"])
def test_so_does_every_kind_of_search(scenario, tmp_path, search):
    alone = {"search": search, "rivals": False, "robustness": False}
    for budget in (9, BUDGET):
        with Study(tmp_path / "x.study") as study:
            outcome = tune(scenario, budget=budget, study=study, **alone)
    assert numbers(outcome) == numbers(tune(scenario, budget=BUDGET, **alone))


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_whatever_part_of_the_simulations_is_known_the_outcome_is_the_same(
    finished, uninterrupted, tmp_path, share
):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    execute(
        path,
        f"CREATE TEMPORARY TABLE part AS SELECT {share} * count(*) AS known FROM simulation",  # noqa: S608 - the test's own number
        "DELETE FROM simulation WHERE id > (SELECT known FROM part)",
        "DELETE FROM evaluation",
        "UPDATE study SET recommendation = NULL, fidelity = NULL",
    )
    with Study(path) as study:
        assert numbers(resume_study(study, budget=BUDGET)) == uninterrupted


def test_what_is_known_is_not_simulated_again(scenario, tmp_path, monkeypatch):
    path = tmp_path / "x.study"
    with Study(path) as study:  # what stands beside the search is not kept
        tune(scenario, budget=BUDGET, study=study, rivals=False, robustness=False)

    def simulate(*_arguments, **_options):
        pytest.fail("it simulated what the study has")

    monkeypatch.setattr("vermilion.tuning.simulations.run_many", simulate)
    with Study(path) as study:
        tune(scenario, budget=BUDGET, study=study, rivals=False, robustness=False)


def test_data_that_do_not_fit_are_simulated_again(finished, uninterrupted, tmp_path):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    execute(path, "UPDATE simulation SET data = '{}' WHERE data IS NOT NULL")
    with Study(path) as study:
        assert numbers(resume_study(study, budget=BUDGET)) == uninterrupted


def test_a_killed_study_has_lost_only_the_batch_under_way(vermilion, tmp_path):
    path = tmp_path / "killed.study"
    tuning = ["tune", "varying-load", "--budget=60", "--fidelity=full", "--seed=3"]
    tuning += ["--no-rivals", "--no-robustness"]  # what stands beside it has tests of its own
    with subprocess.Popen(
        [*PROGRAM, *tuning, f"--study={path}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        wait_for_settings(path, 10, process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    [record] = read_studies(path)
    assert record.state == "unfinished"
    assert len(record.evaluations) >= 10
    known = len(record.simulations)
    code, out, err = vermilion("tune", f"--study={path}", "--json=-")
    assert (code, err) == (0, "")
    resumed, whole = strict(out), strict(vermilion(*tuning, "--json=-")[1])
    del resumed["seconds"], whole["seconds"]
    assert resumed == whole
    assert [each.seed for each in read_studies(path)[0].simulations][:known] == [
        each.seed for each in record.simulations
    ]


def test_a_study_holds_what_it_is_of(finished, scenario):
    [record] = read_studies(finished)
    assert record.plan.document == scenario.document
    assert record.plan.objective == "queue-deviation"
    assert list(record.plan.parameters) == list(scenario.tuning.parameters)
    assert [each.number for each in record.evaluations] == list(range(1, BUDGET + 1))
    made_for = {each.made_for for each in record.simulations}
    assert {"incumbent", "search", "re-evaluation", "comparison"} <= made_for
    assert record.recommendation["race"]["leaders"] == 6
    assert record.fidelity is not None


def test_several_studies_share_a_file_by_name(scenario, finished, tmp_path):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    with Study(path, "at random") as study:
        tune(scenario, search="random-search", budget=2, study=study)
    assert [record.name for record in read_studies(path)] == ["tuning", "at random"]
    with pytest.raises(StudyError, match="tuning, at random"):
        Study(path)
    with Study(path, "at random") as study:
        assert resume_study(study, budget=2).search == "random-search"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--set=links.bottleneck.rate=8 Mbit/s"], "links.bottleneck.rate is 10 Mbit/s there"),
        (["--objective=drop-rate"], "objective"),
        (["--objective={ name = 'queue-deviation', link = 'bottleneck', target = 9 }"], "table"),
        (["--constraint=links.bottleneck.utilization >= 0.9"], "list of constraints"),
        (["--parameter=links.bottleneck.queue.weight"], "list of tuned parameters"),
        (["--search=random-search"], "search is cma-es there and random-search here"),
        (["--seed=2"], "seed is 1 there and 2 here"),
        (["--fidelity=full"], "fidelity"),
        (["--profile=linux-red"], "profile"),
    ],
)
def test_the_study_of_another_tuning_is_refused(vermilion, finished, tmp_path, change, words):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    if change == ["--objective=drop-rate"]:
        change = ["--objective=minimise links.bottleneck.drop_rate"]
    message = refused(vermilion("tune", "varying-load", *SHORT, *change, f"--study={path}"))
    assert "--study" in message or "profile" in message
    assert words in message or "profile" in change[0]


def test_a_smaller_budget_leaves_what_a_study_has_come_to(vermilion, finished, tmp_path):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    (before,) = read_studies(path)
    for options in ([], ["varying-load", *SHORT]):
        message = refused(vermilion("tune", *options, f"--study={path}", "--budget=10"))
        assert f"a budget of 10 is not accepted; expected at least {BUDGET}" in message
    with Study(path) as study, pytest.raises(StudyError, match="a budget of 10 is not accepted"):
        resume_study(study, budget=10)
    (after,) = read_studies(path)
    assert (after.recommendation, after.budget) == (before.recommendation, BUDGET)
    assert after.state == before.state


@pytest.mark.evidence
def test_a_study_that_is_named_beside_its_scenario_keeps_its_budget(vermilion, finished, tmp_path):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    assert vermilion("tune", "varying-load", *SHORT, f"--study={path}")[0] == 0
    (after,) = read_studies(path)
    assert (after.budget, len(after.evaluations)) == (BUDGET, BUDGET)


def test_a_study_whose_points_meant_other_settings_is_refused(vermilion, finished, tmp_path):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    execute(path, "UPDATE study SET plan = json_remove(plan, '$.space_edition')")
    message = refused(vermilion("tune", f"--study={path}"))
    assert (
        "edition of the box (how ordered parameters are counted) is 1 there and 2 here" in message
    )
    assert len(read_studies(path)[0].evaluations) == BUDGET  # and can still be read


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE study SET plan = 'x'",
        "UPDATE study SET plan = '{}'",
        "UPDATE study SET plan = '[]'",
        "UPDATE study SET plan = json_remove(plan, '$.given.seeds')",
        "UPDATE study SET plan = json_set(plan, '$.parameters', 3)",
        "UPDATE study SET plan = json_set(plan, '$.given.seeds', 3)",
        "UPDATE study SET budget = 'many'",
        "UPDATE study SET fidelity = '{}'",
        "UPDATE simulation SET constrained = '[]'",
        "UPDATE simulation SET constrained = 'x'",
        "UPDATE simulation SET objective = 'x'",
        "UPDATE simulation SET data = '7'",
        "UPDATE evaluation SET told = told + 1",
        "DROP TABLE simulation",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 7",
    ],
)
def test_a_damaged_study_is_one_message(vermilion, finished, tmp_path, damage):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    execute(path, damage)
    assert "x.study" in refused(vermilion("tune", f"--study={path}"))


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0", b"{}" * 5000])
def test_what_is_no_study_is_one_message(vermilion, tmp_path, content):
    path = tmp_path / "x.study"
    path.write_bytes(content)
    assert "x.study" in refused(vermilion("tune", f"--study={path}"))
    assert "x.study" in refused(vermilion("studies", str(path)))
    assert path.read_bytes() == content


def _open(path, together, told):
    together.wait()
    try:
        open_to_write(path).close()
        told.put("")
    except StudyError as error:
        told.put(str(error))


def test_tunings_that_begin_at_once_in_one_new_file_all_have_it(tmp_path):
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    for number in range(3):
        path = tmp_path / f"{number}.study"
        together = context.Barrier(4)
        begun = [context.Process(target=_open, args=(path, together, told)) for _ in range(4)]
        for each in begun:
            each.start()
        for each in begun:
            each.join()
        assert [told.get(timeout=60) for _ in begun] == [""] * 4
        assert read_studies(path) == []


def test_an_empty_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "x.study"
    execute(path, "PRAGMA application_id = 7")
    before = path.read_bytes()
    with pytest.raises(StudyError, match="of another program"):
        open_to_write(path)
    assert path.read_bytes() == before


def test_a_torn_file_is_one_message(vermilion, finished, tmp_path):
    path = tmp_path / "x.study"
    content = bytearray(finished.read_bytes())
    content[4096:12288] = bytes(8192)
    path.write_bytes(content)
    for command in ("tune", "--study"), ("studies",):
        assert "x.study" in refused(vermilion(*command, str(path)))
    path.write_bytes(finished.read_bytes()[:9000])
    assert "x.study" in refused(vermilion("studies", str(path)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "SCENARIO is missing"),
        (["--study=/nowhere/x.study"], "no such directory"),
        (["--study=/"], "is a directory"),
        (["--study=new.study"], "expected a scenario"),
        (["--study-name=x"], "--study FILE"),
        (["varying-load", "--study=new.study", "--resume=x"], "expected one of them"),
        (["--study=new.study", "--search=random-search"], "the study sets search already"),
    ],
)
def test_a_mistake_is_one_line_and_makes_no_file(
    vermilion, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    assert words in refused(vermilion("tune", *arguments))
    assert not Path("new.study").exists()


def test_studies_are_listed(vermilion, finished):
    code, out, err = vermilion("studies", str(finished.parent))
    assert (code, err) == (0, "")
    assert f"{BUDGET} of {BUDGET}" in out
    [entry] = strict(vermilion("studies", str(finished), "--json=-")[1])
    assert entry["scenario"] == "varying-load"
    assert entry["evaluations"] == BUDGET
    assert entry["search"] == "cma-es"


def test_an_objective_in_python_goes_on_in_python_only(scenario, tmp_path, vermilion):
    def backlog(result):
        return result.link("bottleneck").total["queue_packets"]["mean"]

    path = tmp_path / "x.study"
    for _ in range(2):
        with Study(path) as study:
            tune(scenario, objective=backlog, budget=2, study=study)
    assert "Python function" in refused(vermilion("tune", f"--study={path}"))


@pytest.mark.evidence
def test_progress_tells_the_best_value_with_its_interval_and_the_incumbents(scenario):
    moments = []
    found = tune(scenario, budget=BUDGET, fidelity="full", progress=moments.append)
    last = [each for each in moments if each.stage == "search"][-1]
    assert last.feasible
    assert last.best == pytest.approx(last.interval.mean)
    assert last.interval.count == len(found.seeds.search)
    assert last.best < last.incumbent
    final = [each for each in moments if each.stage == "comparison"][-1]
    # The seeds of the search favoured it, so fresh ones may lie a little beside.
    assert final.interval.high > found.comparison.best.low
    assert found.comparison.best.high > final.interval.low
    assert final.incumbent == pytest.approx(found.comparison.incumbent.mean, rel=0.3)


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (TuningProgress("search", 3, 9, float("inf")), "search"),
        (
            TuningProgress("search", 3, 9, 4.719, Interval(4.719, 0.4, 3), 165.0, feasible=True),
            "search: best 4.719 +- 0.4 (3 seeds), now 165",
        ),
        (
            TuningProgress("search", 3, 9, 4.719, None, 165.0, feasible=True),
            "search: best 4.719, now 165",
        ),
        (
            TuningProgress("re-evaluation", 3, 9, float("inf"), None, 165.0),
            "re-evaluation: nothing keeps the constraints yet, now 165",
        ),
    ],
)
def test_the_bar_says_how_good_the_best_is(moment, words):
    class Bar:
        def callback(self, done):
            self.done = done

        def describe(self, text, total):
            self.said = text, total

    bar = Bar()
    report_to(bar)(moment)
    assert bar.said == (words, 9)
    assert bar.done == 3


def test_what_stands_beside_a_recommendation_is_told_of_and_simulated_once(
    scenario, tmp_path, monkeypatch
):
    moments, outcomes = [], []
    options = {"budget": 40, "harm": ["none"], "fidelity": "full"}
    for _ in range(2):
        with Study(tmp_path / "x.study") as study:
            outcomes.append(tune(scenario, study=study, progress=moments.append, **options))
        # Who goes on with it knows all of it.
        monkeypatch.setattr("vermilion.tuning.memory.run_many", None)
    first, second = outcomes
    assert first.accepted
    stages = list(dict.fromkeys(each.stage for each in moments))
    assert stages == ["search", "re-evaluation", "comparison", "neighbourhood", "rivals"]
    assert all(0 <= each.done <= each.total for each in moments)
    assert {"steep RED", "PIE", "drop-tail"} <= {
        each.label.partition(",")[0] for each in second.rivals
    }
    assert second.rivals == first.rivals
    assert second.robustness == first.robustness
    monkeypatch.undo()
    without = tune(scenario, **options)
    assert without.rivals == first.rivals
    assert without.robustness == first.robustness


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE beside SET data = x'00'",
        "UPDATE beside SET data = 'text'",
        "UPDATE beside SET data = 7",
    ],
)
def test_a_damaged_run_beside_a_recommendation_is_one_message(
    scenario, tmp_path, vermilion, damage
):
    path = tmp_path / "x.study"
    with Study(path) as study:
        tune(scenario, budget=2, study=study)
    execute(path, damage)
    assert "x.study" in refused(vermilion("tune", f"--study={path}"))
