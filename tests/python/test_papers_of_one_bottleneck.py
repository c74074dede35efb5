"""Papers since 2010: one quick figure of each, measured, drawn, tabled and judged."""

import pytest

from vermilion.scenario.plugins import registered_name
from vermilion_lab.papers import paper_named, reproduce
from vermilion_lab.papers.alizadeh_2010 import _foretold
from vermilion_lab.papers.arun_2018 import DefaultModeCopa
from vermilion_lab.papers.bottleneck import LINK, check, network, of_path, ratios
from vermilion_lab.papers.copa import Copa
from vermilion_lab.papers.registry import paper_names
from vermilion_lab.papers.workbench import Workbench

QUICK = {
    "alizadeh-2010": ("figure-18", {"no-timeouts", "fewer-timeouts"}),
    "nichols-2012": (
        "dynamic-rate", {"dynamic-below-tail-drop", "dynamic-better-than-red"}
    ),
    "pan-2013": ("loads", {"holds-reference", "busy", "low-latency"}),
    "cardwell-2016": ("figure-7", {"cubic-fills", "bbr-flat"}),
    "arun-2018": ("random-loss", {"robust"}),
    "hoeiland-jorgensen-2018": ("figure-4", {"tin-shares", "tins-lend"}),
    "li-2019": ("queue", {"near-zero"}),
    "rfc-9332": ("one-queue", {"starves-without"}),
}  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_figure_is_measured_drawn_and_judged(name):
    figure, claims = QUICK[name]
    outcome = reproduce(paper_named(name), (1, 2), figures=[figure])
    [shown] = outcome.figures
    numbers = outcome.numbers[figure]
    assert shown.draw(numbers).axes
    for table in shown.tables(numbers):
        assert all(len(row) == len(table.heads) for row in table.rows)
        assert table.rows
    assert {judged.claim.id for judged in outcome.claims} == claims
    for judged in outcome.claims:
        assert judged.checks
        assert all(each.interval is not None for each in judged.checks)


def test_a_path_finds_a_total_and_a_phase():
    case = network(
        "10 Mbit/s",
        {"discipline": "drop-tail", "limit": "50 packets"},
        {"bulk": {"rtt": "20 ms", "sender": "cubic"}},
        "4 s",
        "1 s",
        settle="0 s",
        changes=[{"at": "2 s", "link": LINK, "rate": "1 Mbit/s"}],
    )
    [result] = Workbench((1,)).run_many({"case": case})["case"]
    before, after = (of_path(result, f"links.{LINK}.{phase}.sojourn_ms.p50") for phase in (0, 1))
    assert before < of_path(result, f"links.{LINK}.sojourn_ms.max")
    assert before < after
    with pytest.raises(ValueError, match="average_queue_packets"):
        of_path(result, f"links.{LINK}.average_queue_packets.mean")


def test_checks_of_ratios():
    assert ratios([1.0, 2.0], [2.0, 0.0]) == [0.5, 2e6]
    assert check("x", [0.0, 0.0], high=0.0).outcome == "holds"
    assert check("x", [0.0, 1.0], high=0.0).outcome == "open"


def test_every_paper_since_2010_is_tried():
    old = {"ye-2002", "athuraliya-2000", "feng-1999", "jamali-2013", "nichols-1998"}
    assert set(paper_names()) - old == set(QUICK)


def test_copa_in_its_default_mode_keeps_the_queue_shorter():
    competing, default = (registered_name(each) for each in (Copa, DefaultModeCopa))
    mean = {}
    for sender in (competing, default):
        case = network(
            "24 Mbit/s",
            {"discipline": "drop-tail", "limit": "400 packets"},
            {"own": {"count": 8, "rtt": "40 ms", "sender": sender}},
            "12 s",
            "4 s",
        )
        [result] = Workbench((1,)).run_many({"case": case})["case"]
        mean[sender] = of_path(result, f"links.{LINK}.queue_packets.mean")
    assert mean[default] < mean[competing] / 2


def test_dctcp_queue_as_the_paper_derives_it():
    # N = 2, K = 40, C R = 10 Gbit/s x 400 us = 333 packets: 0.5 sqrt(2 N (C R + K)).
    most, extent = _foretold(2, 40)
    assert most == 42
    assert extent == pytest.approx(19.3, abs=0.1)
