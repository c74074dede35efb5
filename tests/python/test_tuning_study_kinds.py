"""Studies of fronts and of several scenarios: stopped, killed, gone on with, listed, reported."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from html import escape
from types import SimpleNamespace

import pytest

from html_page import Page
from test_cli import PROGRAM, SHORT, refused, strict, vermilion
from test_tuning_study import execute, wait_for_settings
from vermilion.objectives import objective_from_text
from vermilion.report.study import study_report
from vermilion.scenario import load_scenario
from vermilion.tuning import Study, StudyError, read_studies, resume_study, tune_front, tune_robust

__all__ = ["vermilion"]

BUDGET = 16
SHORTENED = [option.removeprefix("--set=") for option in SHORT if option.startswith("--set=")]
FASTER = [*SHORTENED, "links.bottleneck.rate=20 Mbit/s"]
KINDS = ("robust", "front")
USED = "links.bottleneck.utilization >= 0.9"


def tuned(kind, budget=BUDGET, **options):
    """One of both, with real simulations."""
    one, other = (load_scenario("varying-load", change) for change in (SHORTENED, FASTER))
    if kind == "front":
        return tune_front(one, budget=budget, **options)
    return tune_robust([one, other], budget=budget, **options)


def numbers(outcome):
    return json.loads(outcome.to_json())


@pytest.fixture(scope="module", params=KINDS)
def finished(request, tmp_path_factory):
    """A study of either kind, and the outcome of the same without a study."""
    path = tmp_path_factory.mktemp("studies") / f"{request.param}.study"
    with Study(path) as study:
        tuned(request.param, study=study)
    whole = numbers(tuned(request.param))
    return SimpleNamespace(kind=request.param, path=path, whole=whole)


@pytest.fixture
def copied(finished, tmp_path):
    shutil.copy(finished.path, path := tmp_path / "x.study")
    return SimpleNamespace(kind=finished.kind, path=path, whole=finished.whole)


def test_a_study_changes_nothing_of_the_outcome(finished):
    [record] = read_studies(finished.path)
    assert record.recommendation == finished.whole
    assert record.plan.kind == finished.kind


@pytest.mark.evidence
@pytest.mark.parametrize("stop", [7])
def test_a_study_that_was_begun_with_less_goes_on_exactly(finished, tmp_path, stop):
    for budget in (stop, BUDGET):
        with Study(tmp_path / "x.study") as study:
            outcome = tuned(finished.kind, budget, study=study)
    assert numbers(outcome) == finished.whole


def test_a_smaller_budget_leaves_what_a_study_has_come_to(copied):
    with Study(copied.path) as study, pytest.raises(StudyError, match="a budget of 7 is not"):
        resume_study(study, budget=7)
    [record] = read_studies(copied.path)
    assert record.recommendation == copied.whole


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_whatever_part_of_the_simulations_is_known_the_outcome_is_the_same(copied, share):
    execute(
        copied.path,
        f"CREATE TEMPORARY TABLE part AS SELECT {share} * count(*) AS known FROM simulation",  # noqa: S608 - the test's own number
        "DELETE FROM simulation WHERE id > (SELECT known FROM part)",
        "DELETE FROM evaluation",
        "UPDATE study SET recommendation = NULL",
    )
    with Study(copied.path) as study:
        assert numbers(resume_study(study, budget=BUDGET)) == copied.whole


def test_a_scenario_of_which_nothing_is_known_is_simulated_anew(copied):
    execute(copied.path, "DELETE FROM simulation WHERE scenario = 1")
    with Study(copied.path) as study:
        assert numbers(resume_study(study, budget=BUDGET)) == copied.whole


def test_what_is_known_is_not_simulated_again(copied, monkeypatch):
    def simulate(*_arguments, **_options):
        pytest.fail("it simulated what the study has")

    monkeypatch.setattr("vermilion.tuning.simulations.run_many", simulate)
    with Study(copied.path) as study:
        tuned(copied.kind, study=study)


@pytest.mark.evidence
@pytest.mark.parametrize("kind", ["front", pytest.param("robust", marks=pytest.mark.evidence)])
def test_a_killed_study_goes_on_exactly(vermilion, tmp_path, kind):
    path = tmp_path / "killed.study"
    tuning = ["tune", "varying-load", "--budget=40", "--seed=3"]
    tuning += ["--pareto"] if kind == "front" else ["varying-load", "--robust=mean"]
    with subprocess.Popen(
        [*PROGRAM, *tuning, f"--study={path}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        wait_for_settings(path, 10, process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    [record] = read_studies(path)
    assert record.state == "unfinished"
    assert record.recommendation is None
    known = [(each.setting, each.scenario, each.length, each.seed) for each in record.simulations]
    code, out, err = vermilion("tune", f"--study={path}", "--json=-")
    assert (code, err) == (0, "")
    assert strict(out) == strict(vermilion(*tuning, "--json=-")[1])
    [record] = read_studies(path)
    now = [(each.setting, each.scenario, each.length, each.seed) for each in record.simulations]
    assert now[: len(known)] == known
    assert len(set(now)) == len(now)


def test_the_study_of_another_kind_is_refused(copied):
    other = KINDS[copied.kind == "robust"]
    with Study(copied.path) as study, pytest.raises(StudyError, match="what is searched is"):
        tuned(other, study=study)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ["varying-load", "varying-load", "--robust=mean"],
            "is worst of 2 scenarios (relative to now) there and weighted",
        ),
        (["varying-load"] * 3 + ["--robust=worst"], "number of scenarios is 2 there and 3"),
        (
            [
                "varying-load",
                "varying-load",
                "--robust=worst",
                "--set=links.bottleneck.rate=8 Mbit/s",
            ],
            "scenario 1 differs: links.bottleneck.rate is 10 Mbit/s there",
        ),
        (["varying-load", "varying-load", "--robust=worst", "--seed=2"], "seed is 1 there"),
        (
            ["varying-load", "varying-load", "--robust=worst", f"--constraint={USED}"],
            "list of constraints",
        ),
        (["varying-load"], "what is searched is one setting for several scenarios there and one"),
    ],
)
def test_the_study_of_other_scenarios_is_refused(vermilion, tmp_path, change, words):
    path = tmp_path / "x.study"
    robust = ("tune", "varying-load", "varying-load", "--robust=worst", *SHORT)
    assert vermilion(*robust, "--budget=2", f"--study={path}")[0] == 0
    assert words in refused(vermilion("tune", *change, *SHORT, f"--study={path}"))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE study SET plan = json_set(plan, '$.given.kind', 'all')",
        "UPDATE study SET plan = json_set(plan, '$.given.kind', 'setting')",
        "UPDATE study SET plan = json_set(plan, '$.aims', json('[]'))",
        "UPDATE study SET plan = json_remove(plan, '$.aims[0].core')",
        "UPDATE study SET plan = json_remove(plan, '$.given.profile')",
        "UPDATE simulation SET constrained = '[]'",
        "UPDATE simulation SET objective = 'x'",
        "UPDATE evaluation SET told = told + 1",
        "PRAGMA user_version = 1",
    ],
)
def test_a_damaged_study_is_one_message(vermilion, copied, damage):
    execute(copied.path, damage)
    assert "x.study" in refused(vermilion("tune", f"--study={copied.path}"))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE study SET recommendation = '{}'",
        "UPDATE study SET recommendation = json_remove(recommendation, '$.seeds.comparison')",
        """UPDATE study SET recommendation = replace(recommendation, '"mean"', '"median"')""",
        "UPDATE study SET recommendation = json_set(recommendation, '$.parameters', 1)",
    ],
)
def test_a_damaged_outcome_is_one_message_and_no_page(vermilion, copied, damage):
    execute(copied.path, damage)
    refused(vermilion("report", str(copied.path)))
    assert not copied.path.with_suffix(".html").exists()


def test_studies_are_listed_with_what_they_are_of(vermilion, finished):
    [entry] = strict(vermilion("studies", str(finished.path), "--json=-")[1])
    assert entry["kind"] == finished.kind
    assert entry["budget"] == BUDGET
    if finished.kind == "robust":
        assert entry["scenarios"] == ["varying-load", "varying-load"]
        assert entry["objective"] == "worst of 2 scenarios (relative to now)"
        assert entry["best_so_far"] <= 1.0
    else:
        assert entry["state"] == f"front of {len(finished.whole['points'])} settings"
        assert "best_so_far" not in entry
    code, out, err = vermilion("studies", str(finished.path))
    assert (code, err) == (0, "")
    assert entry["state"].split()[0] in out


@pytest.mark.evidence
def test_the_page_says_what_the_study_holds(finished):
    text = study_report(read_studies(finished.path))
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    assert all(each.startswith("#") for each in page.references)
    assert study_report(read_studies(finished.path)) == text
    if finished.kind == "front":
        for number, point in enumerate(finished.whole["points"], start=1):
            assert page.row(str(number))[0].startswith(f"{point['values'][0]['mean']:.4g}")
        assert "--pareto" in text
    else:
        reached = finished.whole["objective"]
        assert reached["incumbent"]["mean"] == pytest.approx(1.0)
        [own] = {case["objective"]["name"] for case in finished.whole["scenarios"]}
        assert all(f"<strong>varying-load #{number}.</strong>" in text for number in (1, 2))
        assert text.count(f'<th scope="row">{own} (') == 2
        assert "--robust worst" in text
        assert text.count("<summary>The scenario") == 2


@pytest.mark.parametrize("keep", [5, 0])
def test_an_unfinished_study_has_a_page_too(vermilion, copied, keep):
    with sqlite3.connect(copied.path) as database:
        database.execute("UPDATE study SET recommendation = NULL")
        database.execute("DELETE FROM evaluation WHERE number > ?", (keep,))
    code, _, err = vermilion("report", str(copied.path))
    assert (code, err) == (0, "")
    text = copied.path.with_suffix(".html").read_text(encoding="utf-8")
    Page(text)
    assert "Unfinished." in text


@pytest.mark.evidence
def test_several_kinds_share_a_file_and_a_page(copied):
    other = KINDS[copied.kind == "robust"]
    with Study(copied.path, "the other") as study:
        tuned(other, 4, study=study)
    assert [record.plan.kind for record in read_studies(copied.path)] == [copied.kind, other]
    page = Page(study_report(read_studies(copied.path)))
    assert len(set(page.ids)) == len(page.ids)


def test_the_page_of_a_front_without_a_setting_says_why(tmp_path):
    impossible = "links.bottleneck.sojourn_ms.mean <= 0"
    scenario, path = load_scenario("varying-load", SHORTENED), tmp_path / "x.study"
    with Study(path) as study:
        found = tune_front(scenario, constraints=[impossible], budget=3, study=study)
    assert found.points == ()
    text = study_report(read_studies(path))
    assert text.count(f"No setting that was tried keeps: {escape(impossible)}") == 1
    assert "The nearest is min_threshold" in text
    for false in ("Every setting of the front keeps", "were confirmed", "Blue:"):
        assert false not in text


def test_a_front_of_objectives_from_python_goes_on_in_python_only(vermilion, tmp_path):
    scenario = load_scenario("varying-load", SHORTENED)
    pair = [objective_from_text(f"links.bottleneck.{name}", scenario)[0]
            for name in ("drop_rate", "utilization")]  # fmt: skip
    path = tmp_path / "x.study"
    for _ in range(2):
        with Study(path) as study:
            tune_front(scenario, pair, budget=2, study=study)
    assert "Python function" in refused(vermilion("tune", f"--study={path}"))
