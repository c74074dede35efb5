"""Flows of a model that are there already, beside flows that shake hands under its setting."""

import json
from dataclasses import replace
from statistics import fmean

import pytest

from test_online_model import POLICY, picture
from test_online_plan import task
from vermilion.online.model.network import build_model
from vermilion.online.model.senders import SenderBelief, SenderModel
from vermilion.online.model.traffic import Horizon, Traffic
from vermilion.online.plan.solve import solve
from vermilion.routers.base import LinkConfiguration
from vermilion.scenario import disciplines
from vermilion.simulate import run_many

CONFIGURATION = LinkConfiguration("bottleneck", "linux-red", 0.010)
FIRST = {name: row.default for name, row in disciplines()["linux-red"].parameters.items()} | {
    "limit": 100_000.0,
    "min_threshold": 15_000.0,
    "max_threshold": 45_000.0,
    "max_probability": 0.1,
    "weight_log": 9,
    "ecn": True,
}
SLOPE = FIRST | {
    "min_threshold": 21_560.0,
    "max_threshold": 86_250.0,
    "max_probability": 0.999,
    "weight_log": 3,
}
LINUX = SenderModel("sack", option_set="linux")
CROWD = picture(flows=60, base_rtts_s=(0.028,) * 60, marked_share=1.0, ecn_capable_share=1.0)
HORIZON = Horizon(5.0, 10.0)
OWN = replace(
    POLICY, parameters=("min_threshold", "max_threshold", "max_probability", "weight_log")
)


def model(in_force=SLOPE, seen=CROWD, **how):
    traffic = Traffic.of_picture(seen, OWN)
    return build_model(CONFIGURATION, in_force, traffic, LINUX, OWN, HORIZON, **how)


def senders(scenario):
    """(whether it can be marked, whether it shakes hands, and falls back) by group."""
    found = {}
    for group in json.loads(scenario.core_json())["flows"]:
        given = group["sender"]["parameters"]
        found[group["name"]] = (
            given["ecn"],
            given.get("handshake", True),
            # What an option set says need not be said.
            given.get("ecn_fallback"),
        )
    return found


def means(scenario):
    """Of the queue, and of the flows that starve."""
    [row] = run_many([scenario], range(1, 5))
    return (
        fmean(each.link("bottleneck").total["queue_packets"]["mean"] for each in row),
        fmean(sum(each.flows(name).total["starved"] for name in each.groups) for each in row),
    )


def test_flows_that_can_be_marked_have_shaken_hands_and_others_fare_as_ever():
    half = replace(CROWD, marked_share=0.5, ecn_capable_share=0.5)
    found = senders(model(seen=half))
    assert found == {"class-1": (False, True, None), "class-1-ecn": (True, False, False)}


def test_who_comes_shakes_hands():
    found = senders(model(joining=0.5))
    assert found == {"class-1-ecn": (True, False, False), "class-1-ecn-joining": (True, True, None)}
    assert senders(model(anew=True)) == {"class-1-ecn": (True, True, None)}


def test_no_setting_takes_marks_from_flows_that_are_there():
    """A kernel held 60 and 65 packets so; of flows that come under it many lose their marks."""
    there, starved = means(model())
    assert 60.0 < there < 75.0
    # Two packets of each that does not starve, less what the round trip holds.
    assert there == pytest.approx(2 * (60 - starved) - 35, abs=6.0)
    come, _ = means(model(anew=True))
    assert come < 45.0


def test_harm_is_what_the_first_setting_would_have_done_to_flows_that_came_under_it():
    """A kernel with that setting put back starves 23 of those that came under another."""
    _, with_those_there = means(model(FIRST))
    _, had_it_stayed = means(model(FIRST, anew=True))
    assert had_it_stayed + 10.0 < with_those_there
    answer = solve(
        task(
            configuration=CONFIGURATION,
            policy=OWN,
            picture=CROWD,
            in_force=SLOPE,
            original=FIRST,
            belief=SenderBelief({LINUX: 0.0}, {LINUX: 0.0}),
            evaluations=10,
        )
    ).answer
    assert answer.most_starved == pytest.approx(had_it_stayed + 1.0, abs=5.0)
