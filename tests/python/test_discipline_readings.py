"""What the page on disciplines' readings claims, held against numbers from elsewhere.

Drops of RED in VRED's scenarios, and the queue under both REDs in the talk's example, are known;
see docs/laboratory/disciplines-readings.md for what does and does not come out. Of DualPI2 the page
explains Prague's share by an arithmetic, which is held against what the simulator does.
"""

import sys
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

import vermilion
from vermilion.simulate import run_many
from vermilion.simulate.sweeps import make_variants

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

import readings_dualpi2

pytestmark = pytest.mark.evidence

SEEDS = range(1, 13)
QUEUE = "links.bottleneck.queue"


def totals(scenario, disciplines, *settings):
    """The bottleneck's metrics in every run, for each discipline in turn."""
    variants, _ = make_variants(scenario, disciplines, settings)
    return [
        [result.link("bottleneck").total for result in results]
        for results in run_many(variants, SEEDS).values()
    ]


@pytest.mark.parametrize(
    ("scenario", "published"), [("vred-staged-load", 2974), ("vred-sudden-load", 3333)]
)
def test_red_drops_in_vreds_scenarios_what_the_paper_says(scenario, published):
    [windows] = totals(scenario, ["ns2-red"])
    assert fmean(window["drops"] for window in windows) == pytest.approx(published, rel=0.05)


@pytest.mark.parametrize("scenario", ["vred-staged-load", "vred-sudden-load"])
def test_vred_drops_no_more_than_red_and_uses_the_link_no_less(scenario):
    red, vred = totals(scenario, ["ns2-red", "vred"])
    drops = vermilion.simulate.mean_interval(
        after["drops"] - before["drops"] for before, after in zip(red, vred, strict=True)
    )
    busy = vermilion.simulate.mean_interval(
        after["utilization"] - before["utilization"]
        for before, after in zip(red, vred, strict=True)
    )
    assert drops.low < 0
    assert busy.low > 0


@pytest.mark.parametrize("scenario", ["vred-staged-load", "vred-sudden-load"])
def test_in_an_endless_dead_band_vred_is_ns2s_red_to_the_last_packet(scenario):
    for action in ("multiply", "integrate"):
        own = f"vred:growth_threshold=1e9 packets,action={action}"
        red, vred = totals(scenario, ["ns2-red", own])
        assert red == vred


def test_red_keeps_the_queue_that_the_talk_shows_and_a_full_buffer_drops_a_good_part():
    [windows] = totals("red-light-one-transfer", ["red"])
    assert {window["queue_packets"]["p50"] for window in windows} == {6.0}
    assert {window["queue_packets"]["p95"] for window in windows} == {10.0}
    tail = fmean(window["overflow_drops"] / window["drops"] for window in windows)
    assert 0.2 < tail < 0.4, "the talk has 32 %"


def test_red_light_comes_within_a_packet_of_the_talk_where_30_ms_are_its_share_of_a_round_trip():
    settings = ["flows.transfer.rtt=100 ms", f"{QUEUE}.limit=12 packets"]
    [windows] = totals("red-light-one-transfer", ["red-light"], *settings)
    assert fmean(window["queue_packets"]["p50"] for window in windows) == pytest.approx(1, abs=1)
    assert fmean(window["queue_packets"]["p95"] for window in windows) == pytest.approx(5, abs=1)
    assert sum(window["overflow_drops"] for window in windows) <= 0.01 * sum(
        window["drops"] for window in windows
    )


@cache
def pairs(flows):
    """So many flows of Prague beside as many of NewReno, 25 Mbit/s for each pair, 40 ms."""
    text = readings_dualpi2.network(25 * flows, flows, 40, "newreno")
    [results] = run_many([vermilion.parse_scenario(text, origin="pairs")], (1, 2), flow_delays=True)
    return [readings_dualpi2.share(result, 40, "newreno") for result in results]


def mean_of(cause, flows):
    return fmean(getattr(share, cause) for share in pairs(flows))


def test_pragues_steady_answer_solves_the_balance_that_the_page_states():
    for marked in (0.01, 0.05, 0.3):
        marks = 2 * readings_dualpi2.steady_answer(marked)
        assert marks**2 == pytest.approx(2 * (1 - marked) * (1 + marks))
    assert 2 * readings_dualpi2.steady_answer(0) == pytest.approx(1 + 3**0.5)


def test_where_p_stands_still_prague_answers_marks_by_that_balance_and_not_by_the_rfcs():
    for share in pairs(16):
        steady = readings_dualpi2.steady_answer(share.marked)
        assert steady > 1.25, "the RFC's arithmetic has 1"
        assert share.answer == pytest.approx(steady, rel=0.03)


def test_sixteen_pairs_share_by_round_trips_law_and_steady_answer():
    steady = fmean(readings_dualpi2.steady_answer(share.marked) for share in pairs(16))
    expected = mean_of("trips", 16) / readings_dualpi2.RENO * steady
    assert mean_of("ratio", 16) == pytest.approx(expected, rel=0.1)


def test_few_flows_make_p_unsteady_which_gives_prague_the_more():
    assert mean_of("unsteady", 1) > 1.2
    assert mean_of("unsteady", 16) < 1.1
    assert mean_of("ratio", 1) > 1.25 * mean_of("ratio", 16)
