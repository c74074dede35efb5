"""A picture after one command, and a scenario to begin with."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from test_cli import refused, vermilion
from test_report_online import Outline
from vermilion.report.run_figure import probe_interval_s, run_figure
from vermilion.scenario import ScenarioError, load_scenario, parse_scenario
from vermilion.scenario.library import scenario_names, scenario_text
from vermilion.simulate import run

__all__ = ["vermilion"]

SHORT = """
title = "Two links"
duration = "6 s"
warm_up = "1 s"
[links.a]
rate = "2 Mbit/s"
delay = "5 ms"
queue = { discipline = "red" }
[links.b]
rate = "1 Mbit/s"
delay = "5 ms"
queue = { discipline = "drop-tail", limit = "20 packets" }
[flows.long]
count = 3
path = ["a", "b"]
rtt = "40 ms"
sender = "sack"
[flows.short]
count = 2
path = ["a"]
rtt = "30 ms"
sender = "cubic"
start = "3 s"
"""


@pytest.fixture(scope="module")
def drawn():
    """A scenario and its run, with time series."""
    scenario = parse_scenario(SHORT, "two-links")
    return scenario, run(scenario, 1, probe_interval_s(scenario))


def test_the_panels_show_what_was_measured(drawn):
    scenario, result = drawn
    waiting, goodput, lost = run_figure(scenario, result).figure().axes
    series = result.series("b")  # packets wait longest there, and nothing is tuned
    [line] = [line for line in waiting.lines if line.get_label() == "queueing delay"]
    assert line.get_ydata() == pytest.approx(8e3 * series["queue_bytes"] / 1e6)
    p95 = result.link("b").total["sojourn_ms"]["p95"]
    assert any(np.allclose(line.get_ydata(), p95) for line in waiting.lines)
    lines = {line.get_label(): line.get_ydata() for line in goodput.lines}
    for group in ("long", "short"):
        phases = result.flows(group).phases
        heights = [
            window["goodput_bit_per_s"]["total"] / 1e6 for window in phases if window["flows"]
        ]
        drawn_at = sorted(set(lines[group][~np.isnan(lines[group])]))
        assert drawn_at == pytest.approx(sorted(heights))
    [dropped] = [patch for patch in lost.patches if patch.get_label() == "dropped"]
    arrived, drops = series["arrivals"].sum(), series["drops"].sum()
    assert 0 < 100 * drops / arrived < np.nanmax(dropped.get_data().values)
    assert [text.get_text() for text in waiting.texts] == ["phase 1", "phase 2"]


def test_a_short_phase_has_its_number_only_and_a_very_short_one_nothing():
    more = "".join(
        f'[flows.at{n}]\npath = ["a"]\nrtt = "30 ms"\nsender = "reno"\nstart = "3.{n} s"\n'
        for n in (4, 5)
    )
    short = SHORT.replace('warm_up = "1 s"', 'warm_up = "1 s"\nsettle = "20 ms"')
    scenario = parse_scenario(short + more, "short phases")
    figure = run_figure(scenario, run(scenario, 1, probe_interval_s(scenario))).figure()
    assert [text.get_text() for text in figure.axes[0].texts] == ["phase 1", "2", "phase 4"]


def test_a_link_whose_rate_varies_has_no_milliseconds():
    scenario = parse_scenario(
        SHORT + '[[changes]]\nat = "4 s"\nlink = "b"\nrate = "2 Mbit/s"\n', "varies"
    )
    result = run(scenario, 1, probe_interval_s(scenario))
    assert run_figure(scenario, result, "b").figure().axes[0].get_ylabel() == "packets that wait"
    assert run_figure(scenario, result, "a").figure().axes[0].get_ylabel() == "queueing delay (ms)"


def test_a_link_that_is_not_there_is_refused(drawn):
    with pytest.raises(ScenarioError, match='one of "a", "b"'):
        run_figure(*drawn, "c")


def test_many_groups_share_a_line():
    groups = "".join(
        f'[flows.g{number}]\ncount = 1\npath = ["a"]\nrtt = "30 ms"\nsender = "reno"\n'
        for number in range(20)
    )
    scenario = parse_scenario(SHORT + groups, "many")
    result = run(scenario, 1, probe_interval_s(scenario))
    lines = run_figure(scenario, result, "a").figure().axes[1].lines
    labels = [line.get_label() for line in lines if not line.get_label().startswith("_")]
    assert len(labels) == 12
    assert labels[-1] == "all others"


def test_the_page_is_whole_and_fetches_nothing(drawn):
    page = run_figure(*drawn).page()
    Outline(page)
    assert not re.search(r"<script|<link|@import|url\((?!#)", page)
    assert "Two links" in page
    assert "Jain" in page


@pytest.mark.evidence
def test_the_same_run_gives_the_same_bytes(drawn):
    figure = run_figure(*drawn)
    for kind in ("svg", "png", "html"):
        assert figure.rendered(kind) == figure.rendered(kind)


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_run_draws_what_it_has_run(vermilion, tmp_path, ending):
    scenario = tmp_path / "two-links.toml"
    scenario.write_text(SHORT, encoding="utf-8")
    target = tmp_path / f"figure.{ending}"
    code, out, err = vermilion("run", scenario, f"--figure={target}")
    assert (code, err) == (0, "")
    assert "utilisation" in out
    begin = target.read_bytes()[:5]
    assert begin == {"svg": b"<?xml", "png": b"\x89PNG\r", "html": b"<!DOC"}[ending]
    if ending == "svg":
        ET.parse(target)  # noqa: S314 - our own file


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--figure=out.gif"], "expected a name ending in .html, .svg, .png or .pdf"),
        (["--link=bottleneck"], "expected --figure FILE or --plot beside it"),
        (["--figure={folder}/f.svg", "--link=nowhere"], 'expected "bottleneck"'),
        (["--figure=-", "--json=-"], 'cannot both be "-"'),
        (["--figure=/nowhere/f.svg"], "cannot be written"),
    ],
)
def test_a_mistake_is_one_line_before_any_work(vermilion, tmp_path, options, words):
    options = [each.format(folder=tmp_path) for each in options]
    assert words in refused(vermilion("run", "varying-load", *options))
    assert list(tmp_path.iterdir()) == []


class TestNew:
    def test_it_can_be_run_and_says_what_to_do_next(self, vermilion, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        code, out, _ = vermilion("new", "mine")
        assert code == 0
        assert "vermilion tune mine.toml" in out
        scenario = load_scenario(tmp_path / "mine.toml")
        assert scenario.tuning is not None
        [limit] = scenario.tuning.parameters
        assert scenario.get(limit) == 256
        text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
        assert text.count("#") > 20
        assert "exists; expected" in refused(vermilion("new", "mine.toml"))
        assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == text

    def test_it_may_begin_with_a_shipped_one(self, vermilion, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert vermilion("new", "mine", "--like=varying-load")[0] == 0
        assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == scenario_text("varying-load")
        words = refused(vermilion("new", "other", "--like=varying-lod"))
        assert 'did you mean "varying-load"?' in words
        assert not (tmp_path / "other.toml").exists()

    @pytest.mark.parametrize("name", ["", ".toml", "folder/", "folder/.toml"])
    def test_a_file_has_a_name(self, vermilion, tmp_path, monkeypatch, name):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "folder").mkdir()
        assert f'NAME: "{name}" is not accepted' in refused(vermilion("new", name))
        assert [each.name for each in tmp_path.rglob("*")] == ["folder"]

    def test_what_it_says_to_do_next_can_be_pasted(self, vermilion, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "vermilion run 'my own.toml'" in vermilion("new", "my own")[1]

    def test_a_folder_that_is_not_there_is_one_line(self, vermilion):
        assert "cannot be written" in refused(vermilion("new", "/nowhere/mine"))


def test_a_shipped_scenario_is_printed_as_it_is(vermilion):
    name = scenario_names()[0]
    code, out, _ = vermilion("scenarios", name)
    assert (code, out) == (0, scenario_text(name))
    assert "--json" in refused(vermilion("scenarios", name, "--json=-"))
    assert 'NAME: "nowhere"' in refused(vermilion("scenarios", "nowhere"))
