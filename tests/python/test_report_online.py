"""The report about networks that were kept tuned."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from fabricated_runs import fabricated_run
from vermilion.report import online_report
from vermilion.report.drawing import milliseconds_per_packet
from vermilion.report.phases import phases_of, responses_of
from vermilion.report.price_line import (
    OtherQueue,
    describe_delay,
    describe_price,
    format_span,
    price_lines,
    short_queue,
)
from vermilion.scenario import Change
from vermilion.simulate import Result

VOID_ELEMENTS = {"br", "link", "meta"}


@pytest.fixture(scope="module")
def runs():
    return [fabricated_run(seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def page(runs):
    return online_report([runs])


class Outline(HTMLParser):
    """Fails on elements that are closed in the wrong order; collects ids, links and texts."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.references, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, _tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in {"href", "src", "xlink:href"}:
                self.references.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)


def test_the_page_is_well_formed_and_no_identifier_appears_twice(runs):
    outline = Outline(online_report([runs, runs]))
    assert len(outline.ids) == len(set(outline.ids))


def test_the_page_fetches_nothing(page):
    assert all(reference.startswith("#") for reference in Outline(page).references)
    assert not re.search(r"<script|<link|@import|url\((?!#)", page)
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page).replace("http-equiv", "")


def test_every_reference_within_the_page_leads_somewhere(page):
    outline = Outline(page)
    wanted = {reference[1:] for reference in outline.references}
    wanted |= set(re.findall(r"url\(#([^)]*)\)", page))
    assert wanted <= set(outline.ids)


def test_the_figures_are_valid_xml_and_say_what_they_show(page):
    figures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(figures) == 6  # the queues, for wide and for narrow pages, and four parameters
    for figure in figures:
        assert ET.fromstring(figure).get("aria-label")  # noqa: S314 - our own text


@pytest.mark.evidence
def test_the_same_runs_give_the_same_bytes(runs, page):
    assert online_report([runs]) == page


@pytest.mark.evidence
def test_the_same_runs_give_the_same_bytes_in_another_process(page):
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from fabricated_runs import fabricated_run\n"
        "from vermilion.report import online_report\n"
        "page = online_report([[fabricated_run(seed) for seed in (1, 2, 3)]])\n"
        "sys.stdout.buffer.write(page.encode())"
    )
    again = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert again.decode() == page


def test_titles_and_reasons_cannot_put_markup_into_the_page():
    title = '<script>alert("1")</script> & more'
    run = fabricated_run(overrides=[f"title={title}"])
    page = online_report([[run]])
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert title in "".join(Outline(page).texts)


def test_the_figure_draws_left_alone_above_kept_tuned(page):
    # Titles are drawn as outlines; matplotlib leaves their words in comments.
    assert page.index("<!-- Left alone: ") < page.index("<!-- Kept tuned: ")


def test_everything_that_was_decided_is_on_the_page(runs, page):
    text = "".join(Outline(page).texts)
    for decision in runs[0].decisions:
        assert decision.reason in text


def test_a_run_without_any_event_is_drawn_all_the_same(runs):
    quiet = type(runs[0])(**{**vars(runs[0]), "decisions": runs[0].decisions[:1]})
    assert "<!-- change detected -->" not in online_report([[quiet]])


def test_a_hundred_decisions_are_folded_away_but_kept():
    run = fabricated_run(extra_decisions=100)
    page = online_report([[run]])
    assert "108 decisions" in page
    assert "extra 99" in page
    assert "<details open>" not in page


def test_intervals_cover_all_seeds(runs):
    phase = phases_of(runs)[0]
    values = [run.tuned.link("bottleneck").phases[0]["utilization"] for run in runs]
    assert phase.tuned["utilization"].mean == pytest.approx(sum(values) / 3)
    assert phase.tuned["utilization"].count == 3
    assert phase.tuned["utilization"].half_width > 0


def test_the_deviation_is_that_of_the_instantaneous_queue_from_the_target(runs):
    phase = phases_of(runs[:1])[1]
    queue = runs[0].reference.series("bottleneck")
    inside = (queue["time_s"] >= 25) & (queue["time_s"] < 80)
    expected = ((queue["queue_packets"][inside] - 30) ** 2).mean()
    assert phase.standard["goal"].mean == pytest.approx(expected)
    expected = ((queue["average_queue_packets"][inside] - 30) ** 2).mean()
    assert phase.standard["published"].mean == pytest.approx(expected)


def test_one_seed_has_no_interval_and_the_page_says_so(runs):
    page = online_report([runs[:1]])
    assert "one seed has no confidence interval" in page
    assert "±" not in page


def test_the_page_says_first_how_long_packets_wait(runs, page):
    queue = runs[0].reference.series("bottleneck")
    inside = (queue["time_s"] >= 25) & (queue["time_s"] < 80)
    # 1000 bytes at 10 Mbit/s take 0.8 ms.
    low, high = 0.8 * np.quantile(queue["queue_packets"][inside], (0.05, 0.95))
    phase = price_lines(runs[:1])[1]
    assert phase.waits_ms[0] == pytest.approx((low, high))
    assert format_span((low, high)) == f"{low:.0f} to {high:.0f}\N{NO-BREAK SPACE}ms"
    text = "".join(Outline(page).texts)
    assert text.index("packets wait") < text.index("The price") < text.index("squared deviation")


def test_squares_and_equations_are_folded_away(page):
    open_parts = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert "equation (1)" in page
    assert "²" in page
    assert "equation (1)" not in open_parts
    assert "Deviation of its average" not in open_parts
    assert "²" not in open_parts


def test_a_rival_stands_beside_both_networks_with_what_it_changes(runs):
    # The same network, its flows slower by a tenth: a tenth less goodput in every seed.
    slower = []
    for run in runs:
        data = copy.deepcopy(run.reference.data)
        for group in data["flows"].values():
            for window in group["phases"]:
                for key in window.get("goodput_bit_per_s", {}):
                    window["goodput_bit_per_s"][key] *= 0.9
        slower.append(Result(data))
    [_, line] = price_lines(runs, [OtherQueue("drop-tail, limit 30", tuple(slower))])
    cells = {row.metric: cells for row, cells in line.rows}
    alone, _, rival = cells["goodput_bit_per_s.total"]
    assert alone.difference is None
    assert rival.interval.mean == pytest.approx(0.9 * alone.interval.mean)
    assert rival.changed
    assert not cells["sojourn_ms.p95"][2].changed  # it waits as long as before
    page = online_report([runs], [[OtherQueue("drop-tail, limit 30", tuple(slower))]])
    assert "Drop-tail, limit 30" in "".join(Outline(page).texts)


def test_one_seed_tells_no_change_from_chance(runs):
    assert "cannot tell" in describe_price(price_lines(runs[:1])[0])
    assert "No sure change" in describe_price(price_lines(runs)[0])


def test_what_nobody_measured_is_left_out_of_the_price(runs):
    blind = []
    for run in runs:
        data = copy.deepcopy(run.tuned.data)
        for window in data["links"]["bottleneck"]["phases"]:
            del window["sojourn_ms"]
        blind.append(
            replace(run, tuned=Result(data, {"bottleneck": run.tuned.series("bottleneck")}))
        )
    line = price_lines(blind)[0]
    assert line.waits_ms[1] is None
    assert describe_delay(line) == ""
    assert not any(row.metric.startswith("sojourn_ms") for row, _ in line.rows)
    assert "packets wait" not in online_report([blind])


@pytest.mark.parametrize(
    ("span", "words"),
    [((0.0, 37.1), "0 to 37 ms"), ((8.43, 9.96), "8.4 to 10 ms"), ((4.0, 68.6), "4 to 69 ms")],
)
def test_milliseconds_have_two_digits(span, words):
    assert format_span(span).replace("\N{NO-BREAK SPACE}", " ") == words


def test_a_queue_has_no_time_scale_where_the_rate_changes(runs):
    # 1000 bytes at 10 Mbit/s
    assert milliseconds_per_packet(runs[0].scenario, runs[0].link) == pytest.approx(0.8)
    slower = {"at": "40 s", "link": "bottleneck", "rate": "5 Mbit/s"}
    scenario = runs[0].scenario
    changed = scenario.model_copy(update={"changes": (Change.model_validate(slower),)})
    assert milliseconds_per_packet(changed, runs[0].link) is None


def test_a_short_queue_drops_what_comes_after_its_limit(runs):
    rival = short_queue(runs[:2])
    assert rival.name == "drop-tail, limit 30"
    assert [result.data["seed"] for result in rival.results] == [1, 2]
    for result in rival.results:
        assert max(w["queue_packets"]["max"] for w in result.link("bottleneck").phases) == 30


def test_flows_of_the_same_round_trip_are_counted_together(runs):
    assert [phase.traffic.replace("\N{NO-BREAK SPACE}", " ") for phase in phases_of(runs)] == [
        "16 flows of 28 ms",
        "64 flows of 28 ms",
    ]


def test_a_discipline_without_an_average_leaves_gaps_instead_of_zeros():
    run = fabricated_run(has_average=False)
    assert phases_of([run])[0].tuned["published"] is None
    assert 'data-label="Deviation of its average (packets²)">–</td>' in online_report([[run]])


def test_the_answer_to_a_change_is_timed_from_the_change(runs):
    (response,) = responses_of(runs)
    assert response.at_s == 20.0
    assert response.detected.mean == pytest.approx(1.2)
    assert response.applied.mean == pytest.approx(2.9)
    assert response.applied.count == 3


def test_a_change_that_was_never_noticed_has_no_delay(runs):
    deaf = [
        type(run)(**{**vars(run), "decisions": run.decisions[:5], "settings": run.settings[:2]})
        for run in runs
    ]
    (response,) = responses_of(deaf)
    assert response.detected is None
    assert response.applied is None
    assert "0 of 3" in online_report([deaf])


def test_a_tuned_network_that_did_worse_is_said_to_have_done_worse(runs):
    swapped = [
        type(run)(**{**vars(run), "tuned": run.reference, "reference": run.tuned}) for run in runs
    ]
    page = online_report([swapped])
    assert "larger" in page
    assert "smaller (" not in page


def test_a_shipped_scenario_is_shown_with_its_comments_and_repeated_by_its_name(page):
    from vermilion.scenario.library import scenario_text

    assert scenario_text("varying-load") in "".join(Outline(page).texts)
    assert "vermilion online varying-load --seeds 3" in page


def test_a_changed_scenario_is_shown_as_it_was_run():
    import tomllib

    run = fabricated_run(overrides=["links.bottleneck.delay=7 ms"])
    page = online_report([[run]])
    text = "".join(Outline(page).texts)
    assert "vermilion online scenario-1.toml" in page
    shown = text[text.index('title = "') : text.index("What the numbers mean")]
    assert tomllib.loads(shown) == run.scenario.document


def test_nothing_to_report_is_refused():
    with pytest.raises(ValueError, match="at least one scenario"):
        online_report([])
    with pytest.raises(ValueError, match="at least one run"):
        online_report([[]])
