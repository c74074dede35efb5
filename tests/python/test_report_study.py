"""The page about a study says what it holds, and what mattered as far as that can be known."""

import json
import re
import shutil
import sqlite3

import numpy as np
import pytest

from html_page import Page
from test_cli import refused, vermilion
from test_tuning_study import BUDGET, finished, scenario
from vermilion.report.study import study_report
from vermilion.report.study_outcome import FEWEST, kept, outcome_tables, shares
from vermilion.tuning import Study, read_studies, tune

__all__ = ["finished", "scenario", "vermilion"]


def check_page(text):
    """Well-formed, nothing fetched from elsewhere, no identifier twice."""
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    assert all(each.startswith("#") for each in page.references)
    return page


@pytest.fixture(scope="module")
def larger(scenario, tmp_path_factory):
    """A study with enough settings for shares, with a name that is no formula and no markup."""
    path = tmp_path_factory.mktemp("report") / "larger.study"
    with Study(path, "<b>$x_{</b>") as study:
        tune(scenario, budget=FEWEST + 4, fidelity="full", study=study)
    return path


@pytest.fixture(scope="module")
def page(larger):
    return study_report(read_studies(larger))


def additive(count, weights, seed):
    """Settings spread evenly, and an outcome that is a weighted sum of them."""
    columns = np.random.default_rng(seed).random((len(weights), count))
    return columns, np.asarray(weights) @ columns


def test_the_shares_of_a_sum_are_those_of_its_variances():
    # Of independent uniform numbers the variances are as the squares of the weights: 4 to 1 to 0.
    # The rank of 2 x + y keeps 3/4 to 5/6 of that; bins of a tenth lose 1 % of x's own variance.
    columns, told = additive(4000, (2.0, 1.0, 0.0), seed=1)
    large, small, none = shares(columns, told)
    assert large.share == pytest.approx(0.8, abs=0.04)
    assert small.share == pytest.approx(0.2, abs=0.04)
    assert none.share < 0.01
    assert none.low == 0.0


def test_a_valley_counts_though_no_correlation_sees_it():
    columns = np.random.default_rng(2).random((2, 2000))
    share, other = shares(columns, (columns[0] - 0.5) ** 2)
    assert share.share > 0.9
    assert abs(share.direction) < 0.1
    assert other.share < 0.02


@pytest.mark.evidence
def test_the_interval_covers_the_share_of_very_many_settings():
    [truth, *_] = shares(*additive(50_000, (2.0, 1.0, 1.0), seed=3))
    covered = 0
    for seed in range(100):
        [one, *_] = shares(*additive(120, (2.0, 1.0, 1.0), seed=100 + seed))
        covered += one.low <= truth.share <= one.high
    assert covered >= 88  # 87 or fewer of 95 expected have a probability of 0.15 %


def test_a_parameter_without_effect_gets_nothing_on_average():
    # With replacement, copies of a setting would lift it to about 0.1 with so few settings.
    found = [shares(*additive(60, (1.0, 0.0), seed=200 + seed))[1] for seed in range(60)]
    assert np.mean([each.share for each in found]) < 0.05
    assert np.mean([each.low == 0.0 for each in found]) > 0.9


def test_few_settings_or_equal_ones_have_no_shares():
    assert shares(*additive(FEWEST - 1, (1.0,), seed=1)) is None
    assert shares([np.arange(100.0)], np.full(100, np.inf)) is None


def test_the_page_is_one_file_that_fetches_nothing(page):
    check_page(page)
    for heading in ("The settings", "What they reach", "before and after", "race", "Slices"):
        assert heading in page
    # Queue, convergence, race, importance, slices, each for wide and for narrow pages.
    assert page.count("<svg") == 2 * 5


def test_the_page_says_what_the_study_holds(page, larger):
    [record] = read_studies(larger)
    outcome = record.recommendation
    text = re.sub(r"\s+", " ", page)
    assert "links.bottleneck.queue.max_threshold" in text
    assert f"{FEWEST + 4} settings of {FEWEST + 4}" in text
    best = outcome["objective"]["best"]
    cells = Page(page).row("queue-deviation (packets²)")
    assert float(cells[1].partition(" ±")[0]) == pytest.approx(best["mean"], rel=0.01)
    # The price has every metric that the recommendation has, and each link's wait in ms.
    columns = 2 + len(outcome["rivals"])
    assert len(Page(page).row("queueing delay, 95th percentile (ms)")) == columns
    assert "vermilion run scenario.toml" in text  # shortened, so not as shipped
    assert "95&nbsp;% intervals from 200 half-samples" in text


def interval(mean, half=1.0):
    return {"mean": mean, "low": mean - half, "high": mean + half, "count": 10}


OUTCOME = {
    "accepted": True,
    "verdict": "better",
    "refused": False,
    "reason": "significantly better",
    "warnings": ["with <half> as many flows it loses"],
    "parameters": {},
    "objective": {"name": "stillness", "unit": "packets^2", "best": interval(20.0),
                  "incumbent": interval(200.0)},
    "constraints": {"best": [{"constraint": "links.bottleneck.sojourn_ms.p95 <= 20 ms",
                              "holds": "met", "value": interval(12.0), "bound": 20.0}]},
    "harm": [{"constraint": "flows.*.goodput_bit_per_s.total >= 0.98 of reference", "phase": 2,
              "holds": "broken", "value": interval(8e6, 1e5), "bound": 9.8e6}],
    "metrics": {"drop_rate": {"best": interval(0.02, 0.001), "incumbent": interval(0.01, 0.001)},
                "mark_rate": {"best": interval(0.0, 0.0), "incumbent": interval(0.0, 0.0)},
                "sojourn_ms.p95": {"best": interval(12.0), "incumbent": interval(30.0)},
                "of_old": {"best": interval(1.0), "incumbent": interval(2.0)}},
    "rivals": [{"name": "drop-tail, limit 9 packets", "objective": interval(10.0),
                "metrics": {"sojourn_ms.p95": interval(9.0)},
                "missed": ["flows.*.starved: broken"]},
               {"name": "PIE, target 5 ms", "objective": interval(30.0), "metrics": {},
                "missed": []}],
    "robustness": {"holds": False, "narrow": False, "margin": 0.05, "seeds": [1, 2, 3],
                   "conditions": [
                       {"key": "a", "condition": "twice as many flows", "verdict": "worse",
                        "reason": "r", "best": interval(40.0), "incumbent": interval(30.0)},
                       {"key": "b", "condition": "ECN", "verdict": "not measured", "reason": "r"}],
                   "untried": ["Reno senders alone"], "warnings": []},
}  # fmt: skip


def test_rivals_stand_beside_both_settings_and_what_they_break_is_said():
    [table] = outcome_tables(OUTCOME, "x", "", several=False)
    assert table["columns"] == [
        "incumbent", "best found", "drop-tail, limit 9 packets *", "PIE, target 5 ms",
    ]  # fmt: skip
    assert table["missed"] == [("drop-tail, limit 9 packets", ["flows.*.starved: broken"])]
    rows = dict(table["rows"])
    # Times come before all other prices, in ms; shares are in per cent; nothing is marked.
    assert list(rows) == [
        "stillness (packets²)", "queueing delay, 95th percentile (ms)", "packets dropped (%)",
        "of_old",
    ]  # fmt: skip
    assert [cell.split(" ")[0] for cell in rows["stillness (packets²)"]] == [
        "200.0", "20.0", "10.0", "30.0",
    ]  # fmt: skip
    assert rows["packets dropped (%)"] == ["1.00 ± 0.10", "2.00 ± 0.10", "–", "–"]


def test_bounds_of_harm_are_told_from_constraints_and_have_units():
    asked, harm = kept(OUTCOME, several=False)
    assert (asked["kind"], asked["bound"], asked["holds"]) == ("asked for", "20 ms", "met")
    assert harm["meaning"] == "at most 2 % less goodput, all flows together"
    assert (harm["kind"], harm["bound"], harm["where"]) == ("no harm", "9.8 Mbit/s", "phase 2")
    assert harm["value"].startswith("8.0")
    assert harm["value"].endswith(" Mbit/s")


def with_outcome(finished, tmp_path, outcome):
    """The page of a study whose recommendation is another."""
    shutil.copy(finished, path := tmp_path / "x.study")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE study SET recommendation = ?", (json.dumps(outcome),))
    text = study_report(read_studies(path))
    return check_page(text), re.sub(r"\s+", " ", text)


@pytest.mark.evidence
def test_warnings_harm_and_the_neighbourhood_are_on_the_page(finished, tmp_path):
    [record] = read_studies(finished)
    page, text = with_outcome(finished, tmp_path, {**record.recommendation, **OUTCOME})
    assert text.index("with &lt;half&gt; as many flows it loses") < text.index("What they reach")
    assert page.row("twice as many flows")[-1] == "worse"
    assert page.row("ECN") == ["–", "–", "not measured"]
    assert "* drop-tail, limit 9 packets does not keep: <code>flows.*.starved: broken" in text
    assert re.search(r'class="bad">broken<', text)


@pytest.mark.evidence
def test_a_condition_under_which_a_bound_is_broken_is_not_called_worse(finished, tmp_path):
    [record] = read_studies(finished)
    known = OUTCOME["robustness"]
    broken = {"constraint": "links.bottleneck.drop_rate <= 0.02", "figures": "3 %, bound 2 %"}
    conditions = [{**known["conditions"][0], "breaks": broken}]
    outcome = {**OUTCOME, "robustness": {**known, "conditions": conditions}}
    page, _ = with_outcome(finished, tmp_path, {**record.recommendation, **outcome})
    assert page.row("twice as many flows")[-1] == "breaks a bound"


@pytest.mark.evidence
def test_a_study_of_before_all_that_is_shown_without_it(finished, tmp_path):
    [record] = read_studies(finished)
    new = ("verdict", "refused", "warnings", "harm", "rivals", "robustness")
    old = {key: value for key, value in record.recommendation.items() if key not in new}
    old["objective"] = {
        key: value for key, value in old["objective"].items() if key not in {"unit", "least_gain"}
    }
    page, text = with_outcome(finished, tmp_path, old)
    assert old["reason"].partition(":")[0] in text
    assert "Around these conditions" not in text
    assert "Warning" not in text
    assert len(page.row("queue-deviation (packets²)")) == 2


@pytest.mark.evidence
def test_the_target_that_the_plan_holds_is_drawn_in_its_own_unit(scenario, tmp_path):
    """1250 bytes take 1 ms of 10 Mbit/s; the scenario's packets are of 1000 bytes, so 25 in 20."""
    objective = '{ name = "queue-deviation", link = "bottleneck", target = "20 ms" }'
    with Study(path := tmp_path / "x.study") as study:
        tune(scenario, budget=4, objective=objective, rivals=False, robustness=False, study=study)
    page = study_report(read_studies(path))
    assert "target: 20 ms, about 25 packets" in page
    assert "target: 30 packets" not in page


def test_names_are_text(page):
    assert "<b>$x" not in page
    assert "&lt;b&gt;$x_{&lt;/b&gt;" in page


@pytest.mark.evidence
def test_the_same_study_gives_the_same_page(page, larger):
    assert study_report(read_studies(larger)) == page


def test_an_unfinished_study_has_a_page_too(finished, tmp_path, vermilion):
    path = tmp_path / "x.study"
    for keep in (5, 0):
        shutil.copy(finished, path)
        with sqlite3.connect(path) as database:
            database.execute("UPDATE study SET recommendation = NULL")
            database.execute("DELETE FROM evaluation WHERE number > ?", (keep,))
        code, out, err = vermilion("report", str(path))
        assert (code, err) == (0, "")
        assert "x.html" in out
        text = (tmp_path / "x.html").read_text(encoding="utf-8")
        check_page(text)
        assert "Unfinished." in text


def test_the_command_says_where_the_page_is(finished, vermilion, tmp_path):
    target = tmp_path / "page.html"
    code, out, err = vermilion("report", str(finished), f"--output={target}")
    assert (code, out.strip(), err) == (0, f"wrote {target}", "")
    assert f"{BUDGET} settings of {BUDGET}" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE study SET recommendation = '{}'",
        "UPDATE study SET recommendation = json_set(recommendation, '$.metrics.x', 1)",
        "UPDATE study SET recommendation = json_set(recommendation, '$.objective.best', 'x')",
        "UPDATE study SET recommendation = json_remove(recommendation, '$.seeds.comparison')",
        "UPDATE study SET recommendation = json_set(recommendation, '$.parameters.x', 1)",
        "UPDATE study SET plan = json_set(plan, '$.document.links', 3)",
        "UPDATE study SET plan = json_set(plan, '$.space', json('[]'))",
        "UPDATE evaluation SET setting = '[1]'",
        "UPDATE evaluation SET told = 'x'",
        "DELETE FROM study",
    ],
)
def test_a_damaged_study_is_one_message_and_no_page(finished, tmp_path, vermilion, damage):
    path = tmp_path / "x.study"
    shutil.copy(finished, path)
    with sqlite3.connect(path) as database:
        database.execute(damage)
    refused(vermilion("report", str(path)))
    assert not (tmp_path / "x.html").exists()


def test_an_unknown_study_is_refused_with_those_that_there_are(finished, vermilion):
    message = refused(vermilion("report", str(finished), "--study-name=nightly"))
    assert "expected one of: tuning" in message
    assert json.dumps("nightly") in message
