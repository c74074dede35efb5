"""What a notebook shows: the numbers that matter, with units, and nothing unescaped."""

from pathlib import Path

import pytest

import vermilion
from html_page import Page
from vermilion.scenario import load_scenario
from vermilion.simulate import Result, run
from vermilion.simulate.tables import Section, ShownTable

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")


@pytest.fixture(scope="module")
def result():
    return run(load_scenario("varying-load", SHORT), 3)


def test_a_result_shows_links_and_groups_with_units(result):
    page = Page(result._repr_html_())
    assert "seed 3" in "".join(page.texts)
    headings = [cells for cells in page.rows if "whole run" in cells]
    assert headings == [["", "2 .. 4 s", "6 .. 8 s", "whole run"]] * 2
    for title in ("link bottleneck", "flows early", "flows late"):
        assert [title] in page.rows
    total = result.link("bottleneck").total
    assert page.row("queueing delay, mean (ms)")[-1] == f"{total['sojourn_ms']['mean']:.2f}"
    assert page.row("queue, mean (packets)")[-1] == f"{total['queue_packets']['mean']:.1f}"
    goodput = result.flows("early").total["goodput_bit_per_s"]["total"]
    assert page.row("goodput (Mbit/s)")[-1] == f"{goodput / 1e6:.3f}"


def test_what_could_not_be_computed_is_a_dash_and_never_zero(result):
    page = Page(result._repr_html_())
    late = page.rows[page.rows.index(["flows late"]) :]
    assert next(cells for cells in late if cells[0].startswith("Jain"))[1] == "–"
    assert not any(cells[0].startswith("completion") for cells in page.rows)


def test_every_text_is_escaped(result):
    window = {"start_s": 0.0, "end_s": 1.0, "utilization": 0.5}
    link = {"total": window, "phases": [], "ledger": {}}
    flows = {"total": {**window, "flows": 1}, "phases": []}
    evil = '<script>alert("x")</script>'
    text = Result({"seed": 1, "version": evil, "links": {evil: link}, "flows": {evil: flows}})
    html = text._repr_html_()
    Page(html)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 3
    assert "<b>" not in ShownTable("<b>", ["<b>"], [Section("<b>", [("<b>", ["<b>"])])]).html()
    assert result._repr_html_() == result._repr_html_()


def test_a_table_as_text_is_aligned():
    table = ShownTable("t", ["a", "long"], [Section("s", [("x", ["1", "2"]), ("yy", ["10", "3"])])])
    assert str(table).splitlines() == [
        "t",
        "       a  long",
        "s",
        "  x    1     2",
        "  yy  10     3",
    ]


@pytest.mark.evidence
def test_a_recommendation_shows_its_decision_and_both_settings():
    scenario = load_scenario("varying-load", SHORT)
    recommendation = vermilion.tune(scenario, budget=12)
    page = Page(recommendation._repr_html_())
    text = "".join(page.texts)
    assert recommendation.reason.replace("+-", "±") in text
    path = "links.bottleneck.queue.min_threshold"
    assert page.row(path) == [*recommendation.readable[path]]
    assert page.row(path)[0] == "15 packets"
    if recommendation.comparison is not None:
        assert "±" in page.row("queue-deviation (packets^2)")[0]
        assert "±" in page.row("starved flows")[0]


@pytest.mark.evidence
def test_a_bound_that_is_asked_for_twice_stands_there_once_and_rivals_that_miss_one_are_marked():
    text = (Path(vermilion.scenario.__file__).parent / "starter.toml").read_text()
    recommendation = vermilion.tune(vermilion.parse_scenario(text), budget=10, robustness=False)
    page = Page(recommendation._repr_html_())
    # The knee asks for 98 % of the goodput, and so does the rule of no harm.
    asked = [line for line in page.texts if line.startswith("flows.*.goodput_bit_per_s.total >=")]
    assert len(asked) == 1
    missing = [rival.label for rival in recommendation.rivals if rival.missed]
    assert missing
    assert {f"{label}*" for label in missing} <= set(page.texts)


def test_one_setting_for_several_scenarios_shows_what_it_reaches_in_each():
    paths = [load_scenario("varying-load", (*SHORT, f"flows.early.count={n}")) for n in (12, 16)]
    found = vermilion.tune_robust(paths, budget=8, robustness=False)
    page = Page(found._repr_html_())
    assert found.reason.replace("+-", "±") in "".join(page.texts)
    for path, text in found.readable.items():
        assert page.row(path) == [text]
    [_, *comparisons] = [cells for cells in page.rows if "best found" in cells]
    assert len(comparisons) == 2
    assert "±" in page.row("queue-deviation (packets^2)")[0]


def test_a_front_shows_its_settings_and_the_one_in_force():
    front = vermilion.tune_front(load_scenario("varying-load", SHORT), budget=12)
    page = Page(front._repr_html_())
    settings = [cells for cells in page.rows if cells[0].isdigit()]
    assert len(settings) == len(front.points) > 0
    assert page.row("now")[-4:] == front.parameter_cells(front.incumbent.parameters)
    assert "seeds" in "".join(page.texts)
    assert str(front).splitlines()[0] in "".join(page.texts)


@pytest.mark.evidence
def test_a_run_on_line_shows_its_decisions_and_what_it_came_to():
    run = vermilion.run_online(load_scenario("varying-load", SHORT), clock="fixed", evaluations=8)
    text, page = str(run), "".join(Page(run._repr_html_()).texts)
    for decision in run.decisions:
        assert f"{decision.kind.value}" in text
        assert decision.reason in text
        assert decision.reason in page
    reached = f"{run.objective.measure(run.tuned):.4g} packets^2 kept tuned"
    assert reached in text.splitlines()[-1]
    assert reached in page
    assert len(repr(run)) < 300
