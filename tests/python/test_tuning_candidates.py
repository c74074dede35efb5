"""Candidates are the scenario with other numbers, and nothing else."""

import json

import pytest

from vermilion import load_scenario, parse_scenario
from vermilion.tuning import Candidates

QUEUE = "links.bottleneck.queue"

TWO_LINKS = """
duration = "10 s"
[links.first]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "red", weight = 0.01 }
[links.second]
rate = "8 Mbit/s"
delay = "5 ms"
queue = { discipline = "ns2-red" }
[flows.all]
path = ["first", "second"]
rtt = "40 ms"
sender = "reno"
"""


def test_a_candidate_is_the_scenario_with_these_values():
    scenario = load_scenario("varying-load")
    setting = {f"{QUEUE}.weight": 0.0123, f"{QUEUE}.min_threshold": 12.5}
    candidates = Candidates(scenario, setting)
    expected = json.loads(scenario.with_values(setting).core_json())
    assert json.loads(candidates.text(setting)) == expected


def test_values_that_are_not_given_stay():
    scenario = load_scenario("varying-load")
    candidates = Candidates(scenario, scenario.tuning.parameters)
    assert json.loads(candidates.text({})) == json.loads(scenario.core_json())
    changed = candidates.text({f"{QUEUE}.weight": 0.5})
    assert json.loads(candidates.text({})) == json.loads(scenario.core_json()) != changed


def test_parameters_of_several_queues_and_senders_vary_together():
    scenario = parse_scenario(TWO_LINKS)
    sender = "flows.all.sender.window_limit"
    parameter = next(iter(scenario.flows["all"].sender.algorithm.parameters.values()))
    sender = f"flows.all.sender.{parameter.name}"
    value = scenario.get(sender)
    setting = {
        sender: value,
        "links.second.queue.min_threshold": 7.0,
        "links.first.queue.weight": 0.02,
        "links.second.queue.max_threshold": 21.0,
    }
    document = json.loads(Candidates(scenario, setting).text(setting))
    first, second = (link["queue"]["parameters"] for link in document["links"])
    assert first == {"weight": 0.02}
    assert second == {"min_threshold": 7.0, "max_threshold": 21.0}
    assert document["flows"][0]["sender"]["parameters"] == {parameter.name: value}


def test_a_text_of_the_core_is_as_good_as_a_scenario():
    scenario = load_scenario("varying-load")
    paths = scenario.tuning.parameters
    setting = {f"{QUEUE}.weight": 0.01}
    from_text = Candidates(scenario.core_json(), paths).text(setting)
    assert from_text == Candidates(scenario, paths).text(setting)


@pytest.mark.parametrize("path", ["links.nowhere.queue.weight", "links.bottleneck.rate", "weight"])
def test_a_path_to_nothing_is_refused(path):
    with pytest.raises(ValueError, match=f"{path} leads to no parameter"):
        Candidates(load_scenario("varying-load"), [path])
