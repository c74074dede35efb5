"""Comparisons: from a question to tables, intervals, a figure and a page."""

import json
import math
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vermilion
from html_page import Page
from vermilion.cli import main
from vermilion.report.comparison_figure import one_sigma_ellipse
from vermilion.scenario import (
    ScenarioError,
    disciplines,
    load_scenario,
    parse_scenario,
    scenario_from_document,
)

SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")

# https://jfly.uni-koeln.de/color/: black, orange, sky blue, green, yellow, blue, vermilion, purple.
OKABE_ITO = {
    *("#222222", "#E69F00", "#56B4E9", "#009E73"),  # black as the ink of all figures
    *("#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
}

TWO_LINKS = """
title = "<b>two</b> & one"
duration = "6 s"
warm_up = "1 s"
[links.wide]
rate = "12 Mbit/s"
delay = "5 ms"
[links.wide.queue]
discipline = "drop-tail"
limit = "50 packets"
[links.narrow]
rate = "4 Mbit/s"
delay = "5 ms"
[links.narrow.queue]
discipline = "red"
limit = "50 packets"
[flows.long]
count = 3
path = ["wide", "narrow"]
rtt = "40 ms"
sender = "reno"
[flows.short]
count = 2
path = ["wide"]
rtt = "20 ms"
sender = "reno"
"""


@pytest.fixture(scope="module")
def outcome():
    return vermilion.compare("varying-load", ["red", "drop-tail"], settings=SHORT, seeds=4)


@pytest.fixture(scope="module")
def two_links():
    return vermilion.compare(parse_scenario(TWO_LINKS), ["drop-tail", "red"], seeds=[3, 7])


# --- what is compared -------------------------------------------------------------------------


def test_a_scenario_keeps_its_own_discipline_as_it_is(outcome):
    assert outcome.names == ("red", "drop-tail")
    red, tail = outcome.scenarios
    written = load_scenario("varying-load", SHORT)
    assert red.links == written.links
    assert tail.links["bottleneck"].queue.discipline == "drop-tail"
    assert tail.get("links.bottleneck.queue.limit") == 100
    assert tail.flows == written.flows
    assert any("takes over from red: limit" in note for note in outcome.notes)


def test_a_discipline_may_have_parameters_of_its_own():
    comparison = vermilion.compare(
        "varying-load",
        ["red", "red:weight=0.01,min_threshold=10 packets", "drop-tail:limit=7 packets"],
        settings=SHORT,
        seeds=1,
    )
    values = [
        [scenario.get(f"links.bottleneck.queue.{name}") for name in ("limit", "weight")]
        for scenario in comparison.scenarios[:2]
    ]
    assert values == [[100, 0.002], [100, 0.01]]
    assert comparison.scenarios[1].get("links.bottleneck.queue.min_threshold") == 10
    assert comparison.scenarios[2].get("links.bottleneck.queue.limit") == 7


@pytest.mark.parametrize(
    ("discipline", "words"),
    [
        ("redd", 'did you mean "red"'),
        ("red:wieght=0.1", 'did you mean "weight"'),
        ("red:weight=5", r"links\.bottleneck\.queue\.weight: 5 is not accepted"),
        ("red:weight", "path=value"),
    ],
)
def test_a_discipline_that_is_none_is_refused(discipline, words):
    with pytest.raises(ScenarioError, match=words):
        vermilion.compare("varying-load", [discipline], seeds=2)


def test_senders_and_disciplines_make_a_grid_with_labels():
    comparison = vermilion.compare(
        "varying-load",
        ["red", "codel:target=10 ms=tight"],
        senders=["cubic=CUBIC", "cubic:hystart=false=plain", "bbr"],
        settings=SHORT,
        seeds=1,
    )
    assert comparison.names == tuple(
        f"{queue}, {sender}" for queue in ("red", "tight") for sender in ("CUBIC", "plain", "bbr")
    )
    plain = comparison.scenarios[4]
    assert plain.get("links.bottleneck.queue.target") == 0.01
    assert plain.get("flows.late.sender.hystart") is False
    assert "--sender cubic=CUBIC" in comparison.command
    with pytest.raises(ScenarioError, match='variants: "x" is not accepted'):
        vermilion.compare("varying-load", senders=["cubic=x", "bbr=x"], seeds=1)
    with pytest.raises(ScenarioError, match='did you mean "cubic"'):
        vermilion.compare("varying-load", senders=["cubik"], seeds=1)


def test_json_of_a_comparison_holds_what_it_takes_to_run_it_again(tmp_path, capsys):
    target = tmp_path / "compared.json"
    plugin = Path(__file__).parents[2] / "docs" / "examples" / "square_root_increase.py"
    shorter = [word for setting in SHORT for word in ("--set", setting)]
    options = ["--sender=cubic", "--sender=square-root-increase=mine", "--seeds=2", *shorter]
    scenarios = ["varying-load", "oscillating-red"]
    code = main(["compare", *scenarios[:1], f"--plugin={plugin}", *options, f"--json={target}"])
    vermilion.unregister_congestion_control("square-root-increase")
    capsys.readouterr()
    assert code == 0
    document = json.loads(target.read_text(encoding="utf-8"))
    assert document["plugins"][-1]["source"] == plugin.read_text(encoding="utf-8")
    assert f"--plugin {plugin}" in document["command"]
    first = document["variants"][0]
    again = scenario_from_document(first["scenario"], document["origin"])
    result = vermilion.run(again, document["seeds"][0])
    other = vermilion.run(again, document["seeds"][1])
    mean = sum(each.link("bottleneck").total["utilization"] for each in (result, other)) / 2
    assert mean == pytest.approx(first["links"]["bottleneck"]["total"]["utilization"]["mean"])


def test_a_plug_in_is_told_as_it_was_loaded_though_its_file_has_gone(tmp_path, capsys):
    source = Path(__file__).parents[2] / "docs" / "examples" / "square_root_increase.py"
    plugin, target = tmp_path / "mine.py", tmp_path / "compared.json"
    plugin.write_text(source.read_text())
    main(["senders", "square-root-increase", f"--plugin={plugin}"])
    plugin.unlink()
    options = ["--discipline=red", "--discipline=pie", "--seeds=2", f"--json={target}"]
    assert main(["compare", "varying-load", *(f"--set={each}" for each in SHORT), *options]) == 0
    vermilion.unregister_congestion_control("square-root-increase")
    capsys.readouterr()
    [told] = [
        each for each in json.loads(target.read_text())["plugins"] if each["file"] == str(plugin)
    ]
    assert told["source"] == source.read_text()


def test_several_scenarios_are_compared_one_by_one(tmp_path, capsys):
    target, figure = tmp_path / "all.json", tmp_path / "figure.svg"
    options = ["--sender=cubic", "--sender=bbr", "--seeds=2", "--set=duration=30 s"]
    names = ["varying-load", "oscillating-red"]
    assert main(["compare", *names, *options, f"--json={target}", f"--figure={figure}"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in names)
    document = json.loads(target.read_text(encoding="utf-8"))
    assert [each["origin"] for each in document["comparisons"]] == names
    assert {each.name for each in tmp_path.glob("*.svg")} == {
        f"figure-{name}.svg" for name in names
    }


def test_a_grid_over_disciplines_converts_as_a_comparison_does():
    scenario = load_scenario("varying-load", SHORT)
    disciplines = ["red", "drop-tail", "codel:target=10 ms"]
    variants = vermilion.grid(scenario, {"discipline": disciplines, "flows.early.count": [8]})
    assert list(variants) == [f"discipline={name}, flows.early.count=8" for name in disciplines]
    expected = vermilion.compare(scenario, disciplines, settings=["flows.early.count=8"], seeds=1)
    for variant, other in zip(variants.values(), expected.scenarios, strict=True):
        assert variant.core_json() == other.core_json()


def test_a_grid_may_give_links_different_disciplines():
    scenario = load_scenario("tcpeval-multiple-bottlenecks")
    first, second, *_ = scenario.links
    variants = vermilion.grid(
        scenario,
        {
            f"links.{first}.queue.discipline": ["drop-tail", "codel"],
            f"links.{second}.queue.discipline": ["red"],
        },
    )
    found = [
        [variant.links[name].queue.discipline for name in (first, second)]
        for variant in variants.values()
    ]
    assert found == [["drop-tail", "red"], ["codel", "red"]]
    everywhere = vermilion.grid(scenario, {"discipline": ["codel"]})["discipline=codel"]
    assert {link.queue.discipline for link in everywhere.links.values()} == {"codel"}


def test_all_in_a_grid_is_every_discipline_there_is():
    variants = vermilion.grid(load_scenario("varying-load"), {"discipline": ["all"]})
    assert [one.links["bottleneck"].queue.discipline for one in variants.values()] == list(
        disciplines()
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"discipline": "codel"}, 'discipline: "codel" is not accepted; expected a list'),
        ({"flows.early.count": 4}, r"flows\.early\.count: 4 is not accepted; expected a list"),
        ({"discipline": ["red", "redd"]}, 'did you mean "red"'),
        ({"discipline": ["codel:taget=5 ms"]}, 'did you mean "target"'),
    ],
)
def test_a_grid_that_cannot_be_made_is_refused_in_a_line(values, words):
    with pytest.raises(ScenarioError, match=words) as refusal:
        vermilion.grid(load_scenario("varying-load"), values)
    assert "\n" not in str(refusal.value)


def test_any_scenarios_can_be_compared_by_name():
    scenario = load_scenario("varying-load", SHORT)
    path = "links.bottleneck.queue.weight"
    variants = vermilion.grid(scenario, {path: [0.002, 0.01], "flows.early.count": [8, 16]})
    assert list(variants) == [
        f"{path}=0.002, flows.early.count=8",
        f"{path}=0.002, flows.early.count=16",
        f"{path}=0.01, flows.early.count=8",
        f"{path}=0.01, flows.early.count=16",
    ]
    last = variants[f"{path}=0.01, flows.early.count=16"]
    assert (last.get(path), last.flows["early"].count) == (0.01, 16)
    comparison = vermilion.compare(variants, seeds=2)
    assert comparison.names == tuple(variants)
    assert comparison.command == ""
    with pytest.raises(ValueError, match="as they are"):
        vermilion.compare(variants, ["red"])
    with pytest.raises(ValueError, match="at least one scenario"):
        vermilion.compare({})


def test_scenarios_with_other_links_are_not_compared():
    variants = {"one": load_scenario("varying-load"), "two": parse_scenario(TWO_LINKS)}
    with pytest.raises(ScenarioError, match=r'links: "wide, narrow".* first variant: bottleneck'):
        vermilion.compare(variants, seeds=2)


def test_seeds_are_a_number_or_a_list(two_links):
    assert two_links.seeds == (3, 7)
    with pytest.raises(ScenarioError, match="at least one seed"):
        vermilion.compare("varying-load", seeds=0)


def test_the_goodput_of_a_link_is_that_of_the_flows_across_it(two_links):
    for variant, results in enumerate(two_links.results):
        goodput = {
            group: [result.flows(group).total["goodput_bit_per_s"]["total"] for result in results]
            for group in ("long", "short")
        }
        narrow = two_links.values(variant, "narrow", 0, "goodput_bit_per_s")
        wide = two_links.values(variant, "wide", 0, "goodput_bit_per_s")
        assert narrow == goodput["long"]
        assert wide == pytest.approx(
            [sum(pair) for pair in zip(goodput["long"], goodput["short"], strict=True)]
        )


def test_flows_are_compared_like_links(outcome):
    late = outcome.to_dict()["variants"][1]["flows"]["late"]
    assert "goodput_bit_per_s" not in late["phases"][0]  # they have not begun yet
    total = late["total"]["goodput_bit_per_s"]["total"]
    values = [
        result.flows("late").total["goodput_bit_per_s"]["total"] for result in outcome.results[1]
    ]
    assert total["mean"] == pytest.approx(sum(values) / 4)
    assert set(total) == {"mean", "low", "high", "replications", "difference"}
    json.dumps(outcome.to_dict(), allow_nan=False)


def test_a_distribution_is_the_mean_of_those_of_the_runs(outcome):
    percent, quantiles = outcome.distribution(0, "bottleneck", 2)
    medians = [
        result.link("bottleneck").total["sojourn_ms"]["p50"] for result in outcome.results[0]
    ]
    assert quantiles[percent.index(50)].mean == pytest.approx(sum(medians) / 4)
    assert quantiles[percent.index(50)].count == 4


def test_the_tables_as_text_name_the_phases_and_mark_what_differs(outcome):
    text = str(outcome)
    for words in ("link bottleneck", "flows late", "2 .. 4 s", "whole run", "goodput (Mbit/s)"):
        assert words in text
    assert re.search(r"queue mean \(pkt\) +\S+ ± \S+ +\S+ ± \S+ \*", text)
    assert "* differs significantly from 'red'" in text


def test_the_text_says_how_many_stars_chance_gives(outcome):
    """A star is a paired t test at 5 %, so of differences that are none one in twenty has one."""
    said = re.search(r"Chance alone gives (\S+) of these (\d+) differences a star", str(outcome))
    stars, count = float(said[1]), int(said[2])
    assert stars == pytest.approx(0.05 * count, abs=0.05)
    # Two columns of figures with intervals; those that no seed moves cannot have a star.
    shown = [line for line in str(outcome).splitlines() if line.count("±") == 2]
    unmoved = [line for line in shown if line.count(" ± 0.0") == 2]
    assert len(shown) - len(unmoved) <= count <= len(shown)


# --- the figure -------------------------------------------------------------------------------


HUNDREDTHS = st.integers(-5000, 5000).map(lambda number: number / 100)


@given(st.lists(st.tuples(HUNDREDTHS, HUNDREDTHS), min_size=3, max_size=20))
def test_every_point_of_the_contour_is_one_sigma_from_the_mean(points):
    cloud = np.array(points)
    covariance = (cloud - cloud.mean(axis=0)).T @ (cloud - cloud.mean(axis=0)) / len(points)
    line = np.array(one_sigma_ellipse(points)) - cloud.mean(axis=0)
    if np.linalg.cond(covariance) < 1e6:
        distances = np.einsum("ni,ij,nj->n", line, np.linalg.inv(covariance), line)
        np.testing.assert_allclose(distances, 1.0, rtol=1e-6)
    # The extent along each axis is the standard deviation of that coordinate.
    np.testing.assert_allclose(
        np.abs(line).max(axis=0), np.sqrt(np.diag(covariance)), rtol=2e-3, atol=1e-6
    )


def test_the_contour_of_a_gaussian_holds_39_percent_of_it():
    random = np.random.default_rng(7)
    cloud = random.multivariate_normal((3, 5), ((4, 1.5), (1.5, 1)), 20_000)
    from matplotlib.path import Path

    inside = Path(one_sigma_ellipse(cloud)).contains_points(cloud).mean()
    assert inside == pytest.approx(1 - math.exp(-0.5), abs=0.012)


def test_two_points_have_no_contour():
    assert one_sigma_ellipse([(1, 2), (3, 4)]) == []


def test_each_phase_has_a_row_and_all_rows_have_the_same_scales(outcome):
    figure = outcome.figure()
    left, right = figure.axes[::2], figure.axes[1::2]
    assert [axes.get_title(loc="left") for axes in left] == [
        "Phase 1: 2 .. 4 s",
        "Phase 2: 6 .. 8 s",
    ]
    for column in (left, right):
        assert len({axes.get_xlim() for axes in column}) == 1
        assert len({axes.get_ylim() for axes in column}) == 1
    assert right[0].get_ylim() == (0, 100)


def test_the_axes_say_what_they_show_in_which_unit(outcome):
    left, right = outcome.figure(phase=0).axes
    assert left.get_xlabel().startswith("mean queueing delay (ms, log)")
    assert left.get_ylabel() == "goodput (Mbit/s)"
    assert right.get_xlabel().startswith("queueing delay of a packet (ms")
    assert right.get_ylabel().endswith("(%)")
    assert left.get_title(loc="left") == "Whole run: 2 .. 8 s"


def test_less_delay_is_to_the_left_in_both_panels(outcome):
    left, right = outcome.figure(phase=0).axes
    first, last = left.get_xlim()
    assert 0 < first < last
    assert right.get_xlim()[0] < right.get_xlim()[1]
    assert left.get_xlabel().endswith("better: left and up")
    assert left.get_xscale() == "log"


def test_every_run_is_a_point_within_the_axes(outcome):
    left = outcome.figure(phase=0).axes[0]
    signs = [line.get_xydata() for line in left.lines if line.get_linestyle() == "None"]
    assert [len(sign) for sign in signs] == [4, 1, 4, 1]  # the runs of each, and their centre
    for variant, (cloud, centre) in enumerate(zip(signs[::2], signs[1::2], strict=True)):
        np.testing.assert_allclose(centre[0, 0], np.exp(np.log(cloud[:, 0]).mean()))
        np.testing.assert_allclose(centre[0, 1], cloud[:, 1].mean())
        delays = [
            result.link("bottleneck").total["sojourn_ms"]["mean"]
            for result in outcome.results[variant]
        ]
        np.testing.assert_allclose(cloud[:, 0], delays)
        assert (cloud[:, 0] > left.get_xlim()[0]).all()
        assert (cloud[:, 0] < left.get_xlim()[1]).all()
        assert (cloud[:, 1] > left.get_ylim()[0]).all()
        assert (cloud[:, 1] < left.get_ylim()[1]).all()


def test_variants_differ_in_colour_line_and_marker_and_the_colours_are_okabe_and_itos():
    from vermilion.report import comparison_figure

    looks = [comparison_figure.line_style(variant) for variant in range(8)]
    assert {look["color"].upper() for look in looks} <= OKABE_ITO
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 8
    assert len({str(look["linestyle"]) for look in looks[:4]}) == 4
    assert len({comparison_figure.marker(variant) for variant in range(5)}) == 5


def test_a_single_seed_is_drawn_without_ellipse_and_shade():
    single = vermilion.compare("varying-load", settings=SHORT, seeds=1)
    left, right = single.figure(phase=0).axes
    assert [line.get_linestyle() for line in left.lines] == ["None", "None"]  # no contour
    assert right.lines
    assert "Seed 1 alone" in single.page()


def test_a_queue_that_is_always_empty_is_drawn_on_a_linear_axis():
    # Packets of one flow that come at a tenth of the link's rate never wait.
    idle = TWO_LINKS.partition("[flows.long]")[0] + (
        '[flows.clock]\npath = ["wide"]\n'
        'traffic = { kind = "constant-rate", rate = "1.2 Mbit/s" }\n'
    )
    left, right = (
        vermilion.compare(parse_scenario(idle), ["drop-tail"], seeds=3).figure("wide").axes
    )
    assert left.get_xscale() == right.get_xscale() == "linear"
    assert left.get_xlim()[0] < 0 < left.get_xlim()[1]
    assert right.get_xlim()[0] < 0 < right.get_xlim()[1]
    assert left.lines[0].get_xdata().tolist() in ([0.0] * 3, [0.0] * 121)


@pytest.fixture(scope="module")
def everything():
    return vermilion.compare("varying-load", ["red", "all"], settings=SHORT, seeds=2)


def test_all_means_every_discipline_once(everything):
    assert everything.names[0] == "red"
    assert sorted(everything.names) == sorted(disciplines())


def test_many_variants_have_a_line_each_with_what_was_measured(everything):
    rows = everything.figure().axes
    assert len(rows) == 3 * 2
    delay, goodput, dropped = rows[:3]
    assert [label.get_text() for label in delay.get_yticklabels()] == list(everything.names)
    for variant in range(len(everything.names)):
        medians = [line for line in delay.lines if list(line.get_ydata()) == [variant]]
        expected = everything.interval(variant, "bottleneck", 0, "sojourn_ms.p50").mean
        assert [list(line.get_xdata()) for line in medians] == [[pytest.approx(expected)]]
        rate = everything.interval(variant, "bottleneck", 0, "drop_rate").mean
        (shown,) = [line for line in dropped.lines if list(line.get_ydata()) == [variant]]
        assert list(shown.get_xdata()) == [pytest.approx(100 * rate)]
    assert goodput.get_xlabel() == "goodput (Mbit/s)"


def caption(comparison):
    return re.search(r"<figcaption>\s*(.*?)\s*</figcaption>", comparison.page(), re.DOTALL)[1]


@pytest.mark.evidence
def test_the_caption_says_what_is_drawn(everything, outcome):
    clouds = caption(outcome)
    assert "each point is one run" in clouds
    assert "ellipse" in clouds
    lines = caption(everything)
    assert lines.startswith("Link bottleneck. Each variant has a line.")
    for absent in ("ellipse", "shade", "each point is one run", "wait no longer"):
        assert absent not in lines
    for panel in ("median", "goodput", "dropped"):
        assert panel in lines
    alternative = re.search(r'aria-label="([^"]*)"', everything.page())[1]
    assert "distribution" not in alternative
    assert "dropped" in alternative


@pytest.mark.evidence
def test_the_caption_of_few_seeds_promises_neither_ellipse_nor_interval():
    for seeds, words in ((2, ("ellipse",)), (1, ("ellipse", "shade", "interval"))):
        comparison = vermilion.compare("varying-load", ["red"], settings=SHORT, seeds=seeds)
        assert not [word for word in words if word in caption(comparison)]


def test_many_variants_stand_one_below_the_other_in_the_tables(everything, outcome):
    many, few = everything.tables()[0], outcome.tables()[0]
    assert [label for label, _ in many.sections[0].rows] == list(everything.names)
    column = list(many.headings).index("queue p95 (pkt)")
    assert many.headings == [label.strip() for label, _ in few.sections[0].rows]
    turned_back = many.turned("-").sections[0].rows[column]
    assert turned_back[1] == tuple(cells[column] for _, cells in many.sections[0].rows)


def test_a_link_or_a_phase_that_is_not_there_is_named(outcome):
    with pytest.raises(ScenarioError, match='link: "x" is not accepted; expected "bottleneck"'):
        outcome.figure("x")
    with pytest.raises(ScenarioError, match=r"phase: 3 .*1 \(2 .. 4 s\), 2 \(6 .. 8 s\)"):
        outcome.figure(phase=3)


# --- files and pages --------------------------------------------------------------------------


def test_the_end_of_the_name_chooses_the_format(outcome, tmp_path):
    for name, begin in (("x.svg", b"<?xml"), ("x.PNG", b"\x89PNG"), ("x.html", b"<!DOCTYPE html>")):
        outcome.save_figure(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begin)
    with pytest.raises(ValueError, match=r"x\.gif.*\.html, \.svg, \.png or \.pdf"):
        outcome.save_figure(tmp_path / "x.gif")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.PNG", "x.html", "x.svg"]


@pytest.mark.evidence
def test_the_same_comparison_gives_the_same_bytes():
    first, second = (
        vermilion.compare("varying-load", settings=SHORT, seeds=2, threads=threads)
        for threads in (1, 2)
    )
    assert first.rendered("html") == second.rendered("html")


def test_a_page_is_well_formed_fetches_nothing_and_tells_how_to_repeat_it(outcome):
    text = outcome.page()
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert not re.search(r"<script|<link|@import|url\((?!#)", text)
    command = "vermilion compare varying-load --discipline red --discipline drop-tail"
    assert any(command in line for line in page.texts)
    cells = page.row("queue mean (pkt)")
    assert "±" in cells[0]
    assert cells[1].rstrip().endswith("*")


def test_a_page_and_a_notebook_escape_every_text(two_links):
    for text in (two_links.page(), two_links._repr_html_()):
        Page(text)
        assert "<b>two" not in text
    assert "&lt;b&gt;two&lt;/b&gt; &amp; one" in two_links.page()
    assert two_links.command == ""  # seeds 3 and 7 cannot be asked for


def test_a_notebook_shows_the_figure_and_the_tables(outcome):
    text = outcome._repr_html_()
    page = Page(text)
    assert text.count("<svg") == 1
    assert "link bottleneck" in page.texts
    assert "±" in page.row("goodput (Mbit/s)")[0]


def test_two_comparisons_on_one_page_share_no_identifier(outcome, two_links):
    first, second = (Page(each._repr_html_()).ids for each in (outcome, two_links))
    assert not set(first) & set(second)


# --- the command ------------------------------------------------------------------------------


def test_the_command_is_the_function(tmp_path, capsys, outcome):
    target, figure = tmp_path / "x.json", tmp_path / "x.svg"
    options = [f"--set={setting}" for setting in SHORT]
    arguments = ["compare", "varying-load", "--discipline=red", "--discipline=drop-tail"]
    outputs = ["--seeds=4", f"--json={target}", f"--figure={figure}"]
    assert main([*arguments, *options, *outputs]) == 0
    document = json.loads(target.read_text())
    assert document.pop("notes") == list(outcome.notes)
    to_repeat = {name: document.pop(name) for name in ("origin", "command", "plugins")}
    assert to_repeat["command"] == outcome.command
    assert document.pop("flow_delays") is False
    assert document == json.loads(json.dumps(outcome.to_dict()))
    assert figure.read_bytes() == outcome.rendered("svg")
    assert "means over 4 seeds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--figure=x.gif"], ".html, .svg, .png or .pdf"),
        (["--figure=x"], ".html, .svg, .png or .pdf"),
        (["--figure=/nowhere/x.svg"], "cannot be written"),
        (["--phase=1"], "--figure FILE"),
        (["--figure=x.svg", "--link=x"], '"bottleneck"'),
        (["--figure=x.svg", "--phase=9"], "0 for the whole run"),
        (["--figure=x.svg", "--phase=-1"], "--phase"),
    ],
)
def test_a_mistake_leaves_nothing_behind(tmp_path, capsys, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    settings = [f"--set={setting}" for setting in SHORT]
    assert main(["compare", "varying-load", "--seeds=2", *settings, *options]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


def test_drawing_leaves_the_users_settings_alone(outcome):
    before = dict(mpl.rcParams)
    outcome.rendered("svg")
    assert dict(mpl.rcParams) == before


def test_a_seed_that_is_there_twice_is_refused():
    with pytest.raises(ScenarioError, match="1, which is there twice,"):
        vermilion.compare(parse_scenario(TWO_LINKS), ["drop-tail"], seeds=[1, 2, 1])
