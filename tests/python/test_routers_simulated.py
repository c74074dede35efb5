"""A simulated network behind the interface of a real router."""

import pytest

from test_cli import refused, vermilion
from vermilion.objectives.windows import flow_windows
from vermilion.routers import ROUTER_KINDS, ManagedQueue, RouterError, router_at, router_class
from vermilion.routers.base import PushPrice
from vermilion.routers.conformance import RouterConformance
from vermilion.routers.linux import LinuxRouter
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import load_scenario, scenario_from_document
from vermilion.simulate.metric import bulk_flows
from vermilion.simulate.result import result_of

__all__ = ["vermilion"]

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


@pytest.mark.parametrize("address", ["cisco:eth0", "simulated:eth0", "eth0", "", "linux"])
def test_an_address_of_no_kind_is_refused_with_an_example_of_each(address):
    with pytest.raises(RouterError) as refused:
        router_at(address)
    for example in ("linux:INTERFACE", "snmp:HOST/INTERFACE", "link:NAME"):
        assert example in str(refused.value)


def test_a_kind_of_its_own_is_reached_by_its_address(monkeypatch, vermilion):
    # As CONTRIBUTING.md has it: a class, and a line in the registry.
    class Scratch(LinuxRouter):
        kind = "scratch"
        example = '"scratch:NAME"'

        @classmethod
        def reached(cls, address, reach):
            message = f"{address}: reached with a delay of {reach.delay_s} s"
            raise RouterError(message)

    monkeypatch.setitem(ROUTER_KINDS, "scratch", f"{__name__}:Scratch")
    monkeypatch.setitem(globals(), "Scratch", Scratch)
    message = refused(vermilion("online", "--router=scratch:x", "--for=1 s"))
    assert message == "vermilion: scratch:x: reached with a delay of 0.0 s\n"


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


def test_results_before_the_warm_up_is_over_have_no_goodput(router):
    router.wait(2.0)  # it lasts 5 s
    text, _ = router.result()
    assert "null" not in text
    outcome = result_of(text, seed=1, version="", timing={}, series={})
    [together] = flow_windows(outcome, over="total")
    assert together["flows"] == 16
    for window in (together, *(outcome.flows(name).total for name in outcome.groups)):
        assert not {"goodput_bit_per_s", "each", "starved", "jain_index"} & set(window)
    assert bulk_flows(outcome.flows(name).total for name in outcome.groups) == {}


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


# --- the promises of the interface ---------------------------------------------------------


class TestSimulatedRouter(RouterConformance):
    def make(self):
        return SimulatedRouter(CORE, "bottleneck", seed=1)

    def acceptable(self):
        return {"max_threshold": 40.0, "weight": 0.01}

    def unacceptable(self):
        return {"weight": 0.01, "min_threshold": 50.0, "max_threshold": 20.0}


class TestSimulatedRouterWithCountersOnly(TestSimulatedRouter):
    def make(self):
        return SimulatedRouter(CORE, "bottleneck", seed=1, knowledge="counters")


class TestSimulatedRouterThatCountsFlows(TestSimulatedRouter):
    def make(self):
        return SimulatedRouter(CORE, "bottleneck", seed=1, knowledge="flow count")


class TestSimulatedRouterAsLinuxHasIt(TestSimulatedRouter):
    """A change drops what waits: those packets are no flow's traffic."""

    def make(self):
        return SimulatedRouter(of_discipline("linux-red"), "bottleneck", seed=1)

    def acceptable(self):
        return {"max_probability": 0.05}


class TestSimulatedRouterThatDecidesAtDeparture(TestSimulatedRouter):
    def make(self):
        return SimulatedRouter(of_discipline("fq-codel"), "bottleneck", seed=1)

    def acceptable(self):
        return {"target": 0.010}

    def unacceptable(self):
        return {"target": -1.0}


def of_discipline(discipline, **parameters):
    """Eight flows and a constant 2 Mbit/s there and, over the same link, acknowledgements."""
    return scenario_from_document(
        {
            "title": "Any",
            "duration": "60 s",
            "warm_up": "5 s",
            "links": {
                "bottleneck": {
                    "rate": "10 Mbit/s",
                    "delay": "10 ms",
                    "queue": {"discipline": discipline, **parameters},
                }
            },
            "flows": {
                "bulk": {
                    "count": 8,
                    "path": ["bottleneck"],
                    "return_path": ["bottleneck"],
                    "rtt": "60 ms",
                    "sender": "newreno",
                    "packet_size": "1000 bytes",
                },
                "voice": {
                    "count": 1,
                    "path": ["bottleneck"],
                    "rtt": "60 ms",
                    "packet_size": "500 bytes",
                    "traffic": {"kind": "constant-rate", "rate": "2 Mbit/s"},
                },
            },
        },
        origin="test",
    ).core_json()


# --- what the monitor tells ----------------------------------------------------------------


@pytest.mark.parametrize("discipline", ["drop-tail", "red", "codel", "fq-codel"])
def test_each_flow_has_what_it_sent(discipline):
    router = SimulatedRouter(of_discipline(discipline), "bottleneck", seed=1)
    router.observe()
    router.wait(20.0)
    traffic = router.observe().traffic
    # Flows 0 to 7 are the bulk, their acknowledgements count from -1 down, 8 is the voice.
    assert set(traffic.flows.tolist()) == {*range(9), *range(-8, 0)}
    responsive = dict(zip(traffic.flows.tolist(), traffic.responsive.tolist(), strict=True))
    assert [flow for flow, answers in responsive.items() if answers] == list(range(8))
    sent = dict(zip(traffic.flows.tolist(), traffic.bytes.tolist(), strict=True))
    # 2 Mbit/s for 20 s, less what is dropped; a ninth of the link at least.
    assert 2.7e6 < sent[8] <= 5e6
    packets = dict(zip(traffic.flows.tolist(), traffic.packets.tolist(), strict=True))
    # Data of 1000 bytes after an opening of 40; an acknowledgement of 40 bytes for each.
    assert sent[0] == 1000 * packets[0] - 960
    assert sent[-1] == 40 * packets[-1]
    assert packets[-1] == pytest.approx(packets[0], rel=0.1)


def test_what_a_change_of_settings_drops_is_no_traffic():
    router = SimulatedRouter(of_discipline("linux-red"), "bottleneck", seed=1)
    before = router.observe().reading
    packets = 0
    for step in range(1, 41):
        router.wait(0.25 * step)
        router.apply({"max_probability": 0.02 + 0.001 * step})
        after = router.observe()
        packets += int(after.traffic.packets.sum())
    assert packets == after.reading.forwarded_packets - before.forwarded_packets
    assert after.reading.drops > 100


def test_a_poorer_monitor_tells_less():
    full, flows, counters = (
        SimulatedRouter(CORE, "bottleneck", 1, knowledge)
        for knowledge in ("full", "flow count", "counters")
    )
    for router in (full, flows, counters):
        router.wait(5.0)
    seen = [router.observe() for router in (full, flows, counters)]
    assert [one.reading == seen[0].reading for one in seen] == [True] * 3
    assert [one.active_flows for one in seen] == [16, 16, None]
    assert [one.round_trips is None for one in seen] == [False, True, True]
    assert [one.traffic is None for one in seen] == [False, True, True]


def test_watching_flows_changes_nothing_in_the_network():
    watched = SimulatedRouter(CORE, "bottleneck", 1)
    alone = SimulatedRouter(CORE, "bottleneck", 1, "counters")
    for router in (watched, alone):
        router.wait(30.0)
        router.observe()
        router.wait(60.0)
    assert watched.result()[0] == alone.result()[0]


def test_knowledge_that_there_is_not_is_refused_with_what_there_is():
    with pytest.raises(RouterError, match='"some" is not accepted; expected one of: full, flow'):
        SimulatedRouter(CORE, "bottleneck", 1, "some")


def test_what_a_change_costs_depends_on_the_discipline():
    assert SimulatedRouter(CORE, "bottleneck", 1).push_price == PushPrice()
    linux = SimulatedRouter(of_discipline("linux-red"), "bottleneck", 1)
    assert linux.push_price == PushPrice(flushes_queue=True, forgets_average=True)
    keeps = SimulatedRouter(of_discipline("linux-red", keep_packets=True), "bottleneck", 1)
    assert keeps.push_price == PushPrice(flushes_queue=False, forgets_average=True)


class CountersOnly(ManagedQueue):
    """The least that a router can be."""

    kind = "least"

    def __init__(self):
        self.network = SimulatedRouter(CORE, "bottleneck", 1)

    @property
    def configuration(self):
        return self.network.configuration

    def read(self):
        return self.network.read()

    def parameters(self):
        return self.network.parameters()

    def apply(self, parameters):
        self.network.apply(parameters)

    def wait(self, until_s):
        self.network.wait(until_s)


class TestTheLeastRouter(TestSimulatedRouter):
    def make(self):
        return CountersOnly()


def test_the_conformance_tests_find_what_is_broken():
    class Forgetful(CountersOnly):
        def apply(self, parameters):
            for name, value in parameters.items():
                self.network.apply({name: value})

    class Twice(SimulatedRouter):
        given = None

        def flow_traffic(self):
            traffic = super().flow_traffic()
            self.given = traffic if len(traffic.flows) else self.given
            return self.given

    class Broken(TestSimulatedRouter):
        made = None

        def make(self):
            return self.made

    test = Broken()
    test.made = Forgetful()
    with pytest.raises(AssertionError, match="in force in part"):
        test.test_refused_parameters_change_nothing_at_all()
    test.made = Twice(CORE, "bottleneck", 1)
    with pytest.raises(AssertionError, match="given twice"):
        test.test_the_traffic_of_flows_is_given_once_and_each_flow_at_most_once()
