"""Ye's figure 8: what is read off the running network, and what the model knows of it."""

import json

import pytest

from vermilion import _core
from vermilion.objectives import flow_windows
from vermilion.scenario import load_scenario
from vermilion.search import Space
from vermilion.simulate import run
from vermilion_lab.papers.ye_2002 import four_queues


def network(duration):
    return load_scenario("four-red-queues").with_values({"duration": duration, "warm_up": "0 s"})


def variation(result):
    """Over the whole run, as the objective has it."""
    [window] = flow_windows(result, over="total")
    return window["goodput_cov"]


def test_a_window_is_what_the_objective_sees_of_it():
    scenario = network("50 s")
    watch = four_queues._Watch(_core.Simulation(scenario.core_json(), 3))
    watch.until(50)
    first = run(scenario.with_values({"duration": "25 s"}), seed=3)
    assert watch.variation[0] == pytest.approx(variation(first), rel=1e-9)
    # The second window is a run with the first one left out.
    second = run(scenario.with_values({"warm_up": "25 s"}), seed=3)
    assert watch.variation[1] == pytest.approx(variation(second), rel=1e-3)
    links = [second.link(name).total["utilization"] for name in four_queues.LINKS]
    assert watch.utilization[1] == pytest.approx(sum(links) / 4, abs=1e-4)


@pytest.mark.parametrize("reading", four_queues.READINGS)
def test_the_model_has_the_round_trips_that_were_seen(reading):
    scenario = network("30 s").with_values(four_queues.READINGS[reading])
    # Their names and numbers are in another order than those of results.
    running = _core.Simulation(scenario.core_json(), 1)
    running.advance(30_000_000_000)
    model = four_queues._model(scenario, running)
    real, seen = (json.loads(each.core_json())["flows"] for each in (scenario, model))
    for truth, group in zip(real, seen, strict=True):
        # A first packet of 40 bytes takes 32 us to be sent over each of up to four links.
        assert truth["rtt_ns"] <= group["rtt_ns"] <= truth["rtt_ns"] + 2_000_000


def test_a_setting_goes_to_the_links_that_it_names():
    scenario = network("30 s")
    space = Space.from_scenario(scenario)
    setting = space.values((0.5,) * len(space))
    by_link = four_queues._by_link(setting)
    assert tuple(by_link) == four_queues.LINKS
    running = _core.Simulation(scenario.core_json(), 1)
    for link, parameters in by_link.items():
        running.set_queue(link, json.dumps(parameters))
        in_force = json.loads(running.queue_parameters(link))
        for name, value in parameters.items():
            assert in_force[name] == pytest.approx(value, rel=1e-9)
            assert value == setting[f"links.{link}.queue.{name}"]
