"""Figures that papers have: sizes, text, curves of flows, and time to fairness."""

import math
import re

import numpy as np
import pytest

import vermilion
from test_cli import refused
from test_cli import vermilion as command
from vermilion.report import drawing, figures
from vermilion.report.run_figure import probe_interval_s, run_figure
from vermilion.scenario import ScenarioError, parse_scenario
from vermilion.simulate.flow_curves import curves_of, jain_over_time, time_to_fairness
from vermilion.simulate.statistics import mean_interval

__all__ = ["command"]

SHARED = """
title = "Two share a line"
duration = "12 s"
warm_up = "1 s"
[links.line]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "drop-tail", limit = "50 packets" }
[flows.first]
path = ["line"]
rtt = "30 ms"
sender = "cubic"
[flows.second]
path = ["line"]
rtt = "30 ms"
sender = "cubic"
start = "4 s"
"""


@pytest.fixture(scope="module")
def drawn():
    scenario = parse_scenario(SHARED, "shared")
    instruments = [vermilion.FlowSeries(interval_s=0.05)]
    return scenario, vermilion.run(scenario, 1, probe_interval_s(scenario), instruments=instruments)


def test_curves_hold_what_the_flows_delivered(drawn):
    _, result = drawn
    for curve in curves_of(result.flow_series):
        rows = result.flow_series.of(curve.name)
        step = 12 / len(curve.time_s)
        there = ~np.isnan(curve.goodput_bit_per_s)
        assert curve.goodput_bit_per_s[there].sum() * step == pytest.approx(
            np.nansum(rows["goodput_bit_per_s"]) * 0.05, rel=0.01
        )
    first, second = curves_of(result.flow_series)
    assert np.isnan(second.goodput_bit_per_s[second.time_s < 3.9]).all()
    assert not np.isnan(first.goodput_bit_per_s[first.time_s > 0.2]).any()


def test_a_group_has_the_sum_of_its_flows():
    scenario = parse_scenario(SHARED.replace("[flows.second]", "[flows.second]\ncount = 8"), "s")
    result = vermilion.run(scenario, 1, instruments=[vermilion.FlowSeries(interval_s=0.1)])
    groups = {each.name: each for each in curves_of(result.flow_series)}
    single = curves_of(result.flow_series, each=True)
    assert list(groups) == ["first", "second"]
    assert len(single) == 9
    total = np.nansum([each.goodput_bit_per_s for each in single[1:]], axis=0)
    late = groups["second"].time_s > 4.5
    assert total[late] == pytest.approx(groups["second"].goodput_bit_per_s[late], rel=1e-6)


def test_fairness_over_time_is_jains_index():
    columns = {
        "time_s": np.repeat(np.arange(1.0, 7.0), 2),
        "group": np.zeros(12, dtype=int),
        "flow": np.tile([0, 1], 6),
        "goodput_bit_per_s": np.array([9, 1, 8, 2, 7, 3, 5, 5, 5, 5, 5, 5], dtype=float),
        "window_packets": np.ones(12),
        "smoothed_rtt_ms": np.ones(12),
    }
    from vermilion.simulate.instruments.flow_series import FlowSeriesData

    ends, jain = jain_over_time(FlowSeriesData(columns, ("g",), complete=True, seed=1), 1.0)
    assert list(ends) == [1, 2, 3, 4, 5, 6]
    assert jain == pytest.approx([100 / 164, 100 / 136, 100 / 116, 1, 1, 1])
    assert time_to_fairness(ends, jain, 0.5, level=0.9) == 3.5
    assert time_to_fairness(ends, jain, 0.5, level=0.8) == 2.5
    assert time_to_fairness(ends, jain, 5.0) is None


def test_a_paper_has_throughput_round_trip_window_and_queue(drawn):
    figure = run_figure(*drawn, look="paper").figure()
    assert figure.get_figwidth() == pytest.approx(3.3)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == [
        "Goodput (Mbit/s)",
        "Round trip (ms)",
        "Window (packets)",
        "Queueing delay (ms)",
    ]
    names = [line.get_label() for line in figure.axes[0].lines]
    assert names == ["first", "second"]


def test_the_text_of_a_vector_picture_is_text(drawn):
    drawing_of = run_figure(*drawn, panels=["throughput"], look="paper")
    svg = drawing_of.rendered("svg").decode()
    assert "Goodput (Mbit/s)</text>" in svg
    assert re.search(r'width="237.6pt"', svg)
    pdf = drawing_of.rendered("pdf")
    assert pdf.startswith(b"%PDF")
    assert b"/Type0" in pdf or b"/TrueType" in pdf
    assert pdf == drawing_of.rendered("pdf")


def test_an_unknown_panel_or_look_is_refused(drawn):
    with pytest.raises(ScenarioError, match='panels: "speed" is not accepted'):
        run_figure(*drawn, panels=["speed"])
    with pytest.raises(ScenarioError, match='style: "poster" is not accepted'):
        run_figure(*drawn, look="poster")


@pytest.mark.parametrize("look", drawing.LOOKS)
def test_every_figure_has_the_width_of_its_look(look):
    distribution = ([0.0, 50.0, 100.0], [0.1, 2.0, 9.0])
    size_class = {
        "above_bytes": 0,
        "up_to_bytes": None,
        "completion_time_s": {"p50": 0.1, "p99": 0.3},
        "slowdown": None,
    }
    means = mean_interval([1.0, 1.1])
    made = [
        figures.duel(["a", "b"], {("a", "b"): 0.25}, look=look),
        figures.delays({"a": distribution, "b": distribution}, look=look),
        figures.completion({"a": [size_class]}, look=look),
        figures.plane({"a": [(1.0, 9.0), (1.2, 9.1), (1.1, 8.9)]}, look=look),
        figures.fairness({"a": ([1.0, 2.0], [0.5, 0.95])}, reached={"a": 2.0}, look=look),
        figures.lines({"a": [(1, means), (2, means)]}, labels=("x", "y"), look=look),
        figures.bars(["one"], {"a": [means], "b": [None]}, label="y", look=look),
    ]
    for figure in made:
        wide = figure.get_figwidth()
        assert wide in {drawing.LOOKS[look].width_in, drawing.NARROW_IN}
        for kind in ("svg", "pdf", "png"):
            assert drawing.picture(figure, kind, look)


def test_a_map_of_duels_leaves_out_what_was_not_held():
    figure = figures.duel(["a", "b"], {("a", "b"): 0.25, ("b", "a"): 0.75})
    shown = [each.get_text() for each in figure.axes[0].texts]
    assert shown == ["0.25", "0.75"]
    assert math.isnan(figure.axes[0].images[0].get_array().filled(math.nan)[0][0])


def test_the_commands_draw_for_papers(command, tmp_path):
    target = tmp_path / "run.pdf"
    file = tmp_path / "shared.toml"
    file.write_text(SHARED, encoding="utf-8")
    code, _, err = command("run", file, f"--figure={target}", "--style=paper")
    assert (code, err) == (0, "")
    assert target.read_bytes().startswith(b"%PDF")
    compared = tmp_path / "compared.svg"
    code, _, _ = command("compare", file, "--seeds=2", f"--figure={compared}", "--style=paper-wide")
    assert code == 0
    assert 'width="504pt"' in compared.read_text(encoding="utf-8")
    for options, words in (
        (["--style=paper"], "--style needs --figure FILE"),
        (["--panels=queue"], "--panels needs --figure FILE"),
        ([f"--figure={target}", "--panels=speed"], '--panels: "speed" is not accepted'),
        ([f"--figure={tmp_path}/x.html", "--style=paper"], "not accepted for .html"),
    ):
        assert words in refused(command("run", file, *options))
