"""A queue of another machine is the one below its interface, whatever number that has."""

import pytest

from fake_queues import FakeQueues, red_queue
from test_routers_snmp_router import PLACE, FakeAgent, router
from vermilion.routers.base import Reading, RouterSilent
from vermilion.routers.snmp.linux_queues import QueuePlace

OTHER = QueuePlace(4, PLACE.parent)


def two_interfaces():
    """An agent with a RED queue below each of two interfaces, which can be numbered otherwise."""
    return FakeAgent(FakeQueues(red_queue(), red_queue(place=OTHER, interface="lan0")))


def number_otherwise(agent, **more):
    agent.queues.there = {
        PLACE: red_queue(interface="lan0"),
        OTHER: red_queue(place=OTHER, **more),
    }


def thresholds(agent):
    return {each.interface: each.parameters["min_threshold"] for each in agent.queues.queues()}


def test_a_machine_that_numbers_its_interfaces_otherwise_is_followed_by_name():
    agent = two_interfaces()
    own = router(agent)
    number_otherwise(agent)
    own.apply({"min_threshold": 12_000})
    assert thresholds(agent) == {"wan0": 12_000, "lan0": 30_000}
    assert own.parameters()["min_threshold"] == 12_000


def test_a_queue_that_has_another_number_counts_anew():
    agent = two_interfaces()
    own = router(agent)
    agent.queues.there[PLACE] = red_queue(reading=Reading(12.5, 0, 0, 2**32 - 1, 2**40, 9, 0))
    own.read()
    number_otherwise(agent, reading=Reading(1.5, 3, 3000, 8, 2**41, 1, 0))
    now = own.read()
    assert (now.backlog_packets, now.forwarded_packets, now.drops) == (3, 8, 1)


def test_an_interface_that_comes_back_under_another_number_is_found_again():
    agent = FakeAgent()
    own = router(agent)
    del agent.queues.there[PLACE]
    with pytest.raises(RouterSilent, match="no longer shows the queue"):
        own.read()
    agent.queues.there[OTHER] = red_queue(place=OTHER)
    own.apply({"min_threshold": 12_000})
    assert own.parameters()["min_threshold"] == 12_000


def test_another_interface_at_its_number_is_left_alone_where_its_own_is_gone():
    agent = two_interfaces()
    own = router(agent)
    agent.queues.there = {PLACE: red_queue(interface="lan0")}
    with pytest.raises(RouterSilent, match="no longer shows the queue"):
        own.apply({"min_threshold": 12_000})
    with pytest.raises(RouterSilent, match="no longer shows the queue"):
        own.read()
    assert agent.sets == []


@pytest.mark.parametrize("fate", ["", "answer", "question"])
def test_where_the_numbers_change_under_a_change_nobody_claims_to_know(fate):
    agent = two_interfaces()
    own = router(agent)
    numbers_stand, loses = agent.set, [fate]

    def set_and_restart(values):
        agent.loses = loses
        try:
            numbers_stand(values)
        finally:
            number_otherwise(agent)

    agent.set = set_and_restart
    with pytest.raises(RouterSilent, match="another number during the change"):
        own.apply({"min_threshold": 12_000})
    assert len(agent.sets) == 1
