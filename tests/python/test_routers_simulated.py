"""A simulated network behind the interface of a real router."""

import pytest

from vermilion.routers import ROUTER_KINDS, ManagedQueue, RouterError, router_class
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import load_scenario

CORE = load_scenario("varying-load").core_json(0.05)


@pytest.fixture
def router():
    return SimulatedRouter(CORE, "bottleneck", seed=1)


@pytest.mark.parametrize("kind", ROUTER_KINDS)
def test_every_registered_kind_is_a_managed_queue_of_that_name(kind):
    found = router_class(kind)
    assert issubclass(found, ManagedQueue)
    assert found.kind == kind


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(RouterError, match=r"expected one of: .*simulated"):
        router_class("cisco")


def test_an_unknown_link_is_refused_with_the_known_ones():
    with pytest.raises(RouterError, match='"backbone" is not accepted; expected one of'):
        SimulatedRouter(CORE, "backbone", seed=1)


def test_the_configuration_holds_nothing_of_the_traffic(router):
    configuration = router.configuration
    assert (configuration.link, configuration.discipline) == ("bottleneck", "red")
    assert configuration.delay_s == 0.010


def test_time_passes_only_by_waiting_and_never_back(router):
    assert router.read().time_s == 0.0
    router.wait(2.0)
    router.wait(1.0)
    assert router.read().time_s == 2.0


def test_counters_only_grow(router):
    before = router.read()
    router.wait(3.0)
    after = router.read()
    assert after.forwarded_packets > before.forwarded_packets
    assert after.drops >= before.drops
    assert router.active_flows() == 16


def test_round_trips_are_given_once_and_include_the_queue(router):
    router.wait(3.0)
    trips = router.rtt_samples()
    assert len(trips.flows) == len(trips.seconds) > 0
    assert trips.seconds.min() >= 0.028
    assert len(router.rtt_samples().seconds) == 0


def test_parameters_are_merged_over_those_in_force(router):
    before = router.parameters()
    router.apply({"weight": 0.05})
    assert router.parameters() == before | {"weight": 0.05}


def test_a_refused_set_of_parameters_changes_nothing_at_all(router):
    before = router.parameters()
    with pytest.raises(RouterError, match="max_threshold"):
        router.apply({"weight": 0.05, "min_threshold": 50.0, "max_threshold": 20.0})
    assert router.parameters() == before


def test_waiting_beyond_the_end_stops_at_the_end(router):
    router.wait(1e6)
    assert router.read().time_s == 80.0
