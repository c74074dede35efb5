"""What can go wrong on a simulated network; the long runs are `benches/chaos.py --simulated`."""

import random

import pytest

from online_chaos import FAULTY_S, Fault
from online_chaos_simulated import FaultyNetwork, SimulatedChaosRun, scenario_of
from vermilion.routers.base import RouterError, RouterSilent


def network(*faults):
    return FaultyNetwork(random.Random(1), list(faults), seed=1)


def test_changes_of_traffic_are_part_of_the_scenario():
    faults = [
        Fault(6.0, FAULTY_S, "flows"),
        Fault(10.0, 14.0, "outage"),
        Fault(12.0, FAULTY_S, "offset"),
        Fault(13.0, 13.2, "idle"),
    ]
    scenario = scenario_of(random.Random(1), faults)
    assert len(scenario.flows) == 2
    at = [change.at for change in scenario.changes]
    assert at == sorted(at)
    assert [change.rate for change in scenario.changes if change.at == 10.0] == [1_000]
    # One outage within another does not end it.
    assert scenario.changes[-1].at == 14.0
    assert scenario.changes[-1].rate >= 8e6


def test_a_restarted_router_counts_from_nothing_and_has_what_it_had_first():
    router = network(Fault(3.0, 4.0, "reboot"))
    router.wait(2.0)
    before = router.read().forwarded_packets
    router.apply({"max_threshold": 60.0})
    router.wait(3.2)
    assert 0 < router.read().forwarded_packets < before
    assert router.parameters()["max_threshold"] == 45.0


def test_a_change_can_arrive_in_part_or_without_an_answer():
    router = network(Fault(1.0, 2.0, "half"), Fault(2.0, 3.0, "lose"), Fault(3.0, 4.0, "refuse"))
    router.wait(1.5)
    with pytest.raises(RouterSilent):
        router.apply({"max_threshold": 60.0, "min_threshold": 20.0})
    in_force = router.parameters()
    assert (in_force["max_threshold"], in_force["min_threshold"]) == (60.0, 15.0)
    router.wait(2.5)
    with pytest.raises(RouterSilent):
        router.apply({"max_threshold": 50.0})
    router.wait(3.5)
    with pytest.raises(RouterError, match="busy"):
        router.apply({"max_threshold": 50.0})
    assert router.parameters()["max_threshold"] == 60.0


def test_a_network_that_was_made_worse_is_noticed(tmp_path):
    """The check of the end can fail: a queue that stands far off is worse than left alone."""
    run = SimulatedChaosRun(1, tmp_path / "journal.sqlite", faults=0, kills=0)
    run.policy = run.base_policy
    run.router.network.apply({"min_threshold": 90.0, "max_threshold": 99.0})
    run.router.wait(135.0)
    with pytest.raises(AssertionError, match="left alone it is"):
        run._check_outcome()
