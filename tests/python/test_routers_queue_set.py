"""Several queues managed as one: all of a change or none of it."""

import pytest

from online_world import FIRST, World
from vermilion.routers.base import (
    LinkConfiguration,
    ManagedQueue,
    PushPrice,
    RouterError,
    RouterSilent,
)
from vermilion.routers.conformance import RouterConformance
from vermilion.routers.queue_set import QueueSet, by_queue, joint_name
from vermilion.routers.simulated import SimulatedNetwork
from vermilion.scenario import load_scenario

LINKS = ("first", "second", "third", "fourth")
FOUR = load_scenario("four-red-queues").core()
WANTED = {"near.level": 30.0, "far.level": 20.0, "far.weight": 0.4}


class Queue(ManagedQueue):
    """A queue that fails as told.

    Attributes:
        fails: what happens at each further change: "refuse", "silent", "half" or "".
        deaf: whether it does not answer questions.
    """

    kind = "fake"

    def __init__(self, link, **price):
        self.world = World()
        self.link = link
        self.fails = []
        self.deaf = False
        self.told = []
        self.push_price = PushPrice(**price)

    @property
    def configuration(self):
        return LinkConfiguration(self.link, "fake", 0.01)

    def read(self):
        return self.observe().reading

    def observe(self):
        if self.deaf:
            message = "no answer"
            raise RouterSilent(message)
        return self.world.observe(1.0).observation

    def parameters(self):
        if self.deaf:
            message = "no answer"
            raise RouterSilent(message)
        return dict(self.world.in_force)

    def apply(self, parameters):
        self.told.append(dict(parameters))
        how = self.fails.pop(0) if self.fails else ""
        if how == "refuse":
            message = "busy"
            raise RouterError(message)
        items = list(parameters.items())
        self.world.in_force.update(items[:1] if how == "half" else items)
        if how == "silent":
            self.deaf = True
            self.parameters()

    def wait(self, until_s):
        pass


@pytest.fixture
def near():
    return Queue("near")


@pytest.fixture
def far():
    return Queue("far", forgets_average=True)


@pytest.fixture
def both(near, far):
    return QueueSet([near, far])


class TestSimulatedNetwork(RouterConformance):
    """Four links of one simulation keep every promise of a queue."""

    def make(self):
        return SimulatedNetwork(FOUR, LINKS, seed=1)

    def acceptable(self):
        return {"first.max_threshold": 50.0, "fourth.min_threshold": 10.0}

    def unacceptable(self):
        return {"first.max_threshold": 50.0, "third.min_threshold": 60.0}


def test_a_joint_setting_is_one_of_each_queue():
    assert by_queue(WANTED) == {"near": {"level": 30.0}, "far": {"level": 20.0, "weight": 0.4}}
    assert joint_name("near", "level") == "near.level"


def test_a_set_has_the_parameters_and_the_price_of_all(both):
    assert both.parameters() == {
        **{f"near.{name}": value for name, value in FIRST.items()},
        **{f"far.{name}": value for name, value in FIRST.items()},
    }
    assert both.push_price == PushPrice(forgets_average=True)
    assert both.configuration.link == "near+far"
    assert [each.link for each in both.configuration.queues] == ["near", "far"]


def test_names_that_cannot_be_told_apart_are_refused(near):
    for queues in ([], [near, Queue("near")], [Queue("eth0.1")]):
        with pytest.raises(RouterError, match="expected names that differ"):
            QueueSet(queues)


def test_a_change_reaches_every_queue_that_it_concerns(both, near, far):
    both.apply(WANTED)
    assert near.told == [{"level": 30.0}]
    assert far.told == [{"level": 20.0, "weight": 0.4}]
    both.apply({"near.level": 30.0, "far.level": 25.0})
    assert len(near.told) == 1, "a queue that has its setting already is not told again"
    with pytest.raises(RouterError, match='queue "middle" is not accepted'):
        both.apply({"middle.level": 1.0})


@pytest.mark.parametrize("how", ["refuse", "half"])
def test_what_one_queue_does_not_take_the_others_give_back(both, near, far, how):
    before = both.parameters()
    far.fails = [how]
    with pytest.raises(RouterError, match="the other queues are as they were") as refused:
        both.apply(WANTED)
    assert not isinstance(refused.value, RouterSilent)
    assert str(refused.value).startswith("far: ")
    assert both.parameters() == before
    assert near.told[-1] == {"level": FIRST["level"]}


def test_where_giving_back_fails_nobody_knows(both, near, far):
    near.fails = ["", "refuse"]
    far.fails = ["refuse"]
    with pytest.raises(RouterSilent, match="far: busy; and near could not be put back"):
        both.apply(WANTED)
    assert both.parameters()["near.level"] == 30.0  # in force in part: whoever asked has to read


def test_a_queue_that_falls_silent_while_it_is_told_leaves_all_unknown(both, far, near):
    far.fails = ["silent"]
    with pytest.raises(RouterSilent, match="far could not be put back"):
        both.apply(WANTED)
    assert near.world.in_force == FIRST, "what can be put back is"


def test_no_change_begins_while_one_queue_is_silent(both, near, far):
    far.deaf = True
    with pytest.raises(RouterError, match="no queue was changed") as refused:
        both.apply(WANTED)
    assert not isinstance(refused.value, RouterSilent)
    assert near.told == []


def test_a_set_is_silent_while_one_of_its_queues_is(both, far):
    assert set(both.observe().queues) == {"near", "far"}
    far.deaf = True
    for ask in (both.observe, both.parameters, both.read):
        with pytest.raises(RouterSilent, match=r"^far: no answer$"):
            ask()


def test_each_monitor_hears_only_the_flows_of_its_queue():
    network = SimulatedNetwork(FOUR, LINKS, seed=1)
    numbers, heard = {link: set() for link in LINKS}, {link: set() for link in LINKS}
    for tick in range(1, 40):
        network.wait(tick / 10)
        for link, seen in network.observe().queues.items():
            numbers[link] |= {int(flow) for flow in seen.traffic.flows}
            heard[link] |= {int(flow) for flow in seen.round_trips.flows}
    # Eight flows go through all, and eight more cross each; flows are numbered group by group.
    through = set.intersection(*numbers.values())
    assert len(through) == 8
    assert all(len(numbers[link]) == 16 for link in LINKS)
    assert all(heard[link] <= numbers[link] for link in LINKS)
    assert all(heard[link] & through for link in LINKS)


def test_a_count_of_flows_is_no_knowledge_of_several_queues():
    with pytest.raises(RouterError, match='expected "full" or "counters"'):
        SimulatedNetwork(FOUR, LINKS, 1, "flow count")
    seen = SimulatedNetwork(FOUR, LINKS, 1, "counters").observe()
    assert all(each.traffic is None and each.round_trips is None for each in seen.queues.values())
