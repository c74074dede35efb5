"""Conformance of managed queues, as tests to be inherited by whoever writes a kind of router.

Four lines in a file that pytest collects (it finds the inherited methods) test a kind of your own::

    from vermilion.routers.conformance import RouterConformance

    class TestMyRouter(RouterConformance):
        def make(self):
            return MyRouter(...)  # with traffic on it

        def acceptable(self):
            return {"max_threshold": 40.0}  # differs from what is in force

        def unacceptable(self):
            return {"min_threshold": 50.0, "max_threshold": 20.0}

Each test fails with an ``AssertionError`` that says which promise was broken. A router in real time
needs about ten seconds; ``step_s`` may be overridden.
"""

# ruff: noqa: D102 - the names of the tests say what they test

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import fields
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from vermilion.routers.base import ManagedQueue, PushPrice, Reading, RouterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue

_ROUNDED = 0.02  # devices round what they are set to


class RouterConformance:
    """The interface's promises; a test class for each kind of router inherits them.

    Attributes:
        step_s: time between two observations.
        counted_with_error: share of the packets by which a monitor beside a router may be off.
    """

    step_s: ClassVar[float] = 0.5
    counted_with_error: ClassVar[float] = 0.0

    @abstractmethod
    def make(self) -> ManagedQueue:
        """The queue under test, carrying traffic from now on."""

    @abstractmethod
    def acceptable(self) -> Mapping[str, ParameterValue]:
        """Parameters that it accepts and that differ from those in force."""

    @abstractmethod
    def unacceptable(self) -> Mapping[str, ParameterValue]:
        """Parameters that it refuses; better some good ones among them."""

    def pass_time(self, router: ManagedQueue, steps: int = 1) -> None:
        """Let so many steps of the network's time pass."""
        router.wait(router.read().time_s + steps * self.step_s)

    # --- what it is ------------------------------------------------------------------------

    def test_it_says_what_it_is(self) -> None:
        router = self.make()
        _require(isinstance(router, ManagedQueue), "it is no ManagedQueue")
        _require(bool(router.kind), "its kind has no name")
        _require(isinstance(router.push_price, PushPrice), "push_price is no PushPrice")

    def test_its_configuration_makes_sense_and_stays(self) -> None:
        router = self.make()
        before = router.configuration
        _require(bool(before.link and before.discipline), f"{before} has no names")
        _require(before.delay_s >= 0.0 and math.isfinite(before.delay_s), f"{before}: delay")
        self.pass_time(router)
        _require(router.configuration == before, "the configuration changed by itself")

    # --- time and counters -----------------------------------------------------------------

    def test_time_passes_by_waiting(self) -> None:
        router = self.make()
        until_s = router.read().time_s + self.step_s
        router.wait(until_s)
        _require(router.read().time_s >= until_s - 1e-6, "wait returned before its time")

    def test_time_never_goes_back(self) -> None:
        router = self.make()
        self.pass_time(router)
        now_s = router.read().time_s
        router.wait(now_s - self.step_s / 2.0)
        _require(router.read().time_s >= now_s, "time went back")

    def test_a_reading_is_made_of_whole_numbers_that_are_not_below_zero(self) -> None:
        router = self.make()
        self.pass_time(router)
        reading = router.read()
        for field in fields(Reading):
            value = getattr(reading, field.name)
            _require(math.isfinite(value) and value >= 0, f"{field.name} is {value}")
            _require(field.name == "time_s" or isinstance(value, int), f"{field.name}: {value!r}")

    def test_counters_are_cumulative(self) -> None:
        router = self.make()
        readings = []
        for _ in range(4):
            readings.append(router.read())
            self.pass_time(router)
        for before, after in pairwise(readings):
            for name in ("forwarded_packets", "forwarded_bytes", "drops", "marks"):
                grown = getattr(after, name) >= getattr(before, name)
                _require(grown, f"{name} fell though nothing restarted")
        passed = readings[-1].forwarded_packets > readings[0].forwarded_packets
        _require(passed, "no packet was forwarded: the queue to be tested needs traffic")

    # --- the monitor -----------------------------------------------------------------------

    def test_the_number_of_flows_is_a_number_or_unknown(self) -> None:
        router = self.make()
        self.pass_time(router, 2)
        flows = router.active_flows()
        _require(flows is None or (isinstance(flows, int) and flows >= 0), f"{flows!r} flows")

    def test_round_trips_are_given_once(self) -> None:
        import numpy as np

        router = self.make()
        router.rtt_samples()
        self.pass_time(router, 4)
        trips, again = router.rtt_samples(), router.rtt_samples()
        _require((trips is None) == (again is None), "round trips are known only now and then")
        if trips is None or again is None:
            return
        _require(len(trips.flows) == len(trips.seconds), "flows and samples differ in number")
        _require(bool(np.isfinite(trips.seconds).all()), "a round trip is not finite")
        _require(bool((trips.seconds > 0.0).all()), "a round trip is not above 0")
        _require(len(again.flows) == 0, "samples were given twice")

    def test_the_traffic_of_flows_is_given_once_and_each_flow_at_most_once(self) -> None:
        import numpy as np

        router = self.make()
        router.flow_traffic()
        self.pass_time(router, 4)
        traffic, again = router.flow_traffic(), router.flow_traffic()
        _require((traffic is None) == (again is None), "traffic is known only now and then")
        if traffic is None or again is None:
            return
        own = [field.name for field in fields(traffic) if field.name != "one_in"]
        columns = [getattr(traffic, name) for name in own]
        # Of selective acknowledgements nobody has to tell anything.
        sizes = {len(column) for column in columns if column is not None}
        _require(len(sizes) == 1, f"columns of different lengths: {sizes}")
        _require(len(np.unique(traffic.flows)) == len(traffic.flows), "a flow was given twice")
        _require(bool((traffic.bytes >= traffic.packets).all()), "packets of less than a byte")
        _require(bool((traffic.packets >= 0).all()), "packets below 0")
        _require(int(again.packets.sum()) == 0, "packets were given twice")

    def test_the_traffic_of_flows_adds_up_to_what_was_forwarded(self) -> None:
        router = self.make()
        before = router.observe().reading
        packets = sizes = 0
        for _ in range(4):
            self.pass_time(router)
            seen = router.observe()
            if seen.traffic is None:
                return
            packets += int(seen.traffic.packets.sum())
            sizes += int(seen.traffic.bytes.sum())
        after = seen.reading
        for name, by_flow, forwarded in (
            ("packets", packets, after.forwarded_packets - before.forwarded_packets),
            ("bytes", sizes, after.forwarded_bytes - before.forwarded_bytes),
        ):
            off = abs(by_flow - forwarded)
            _require(
                off <= self.counted_with_error * forwarded,
                f"{forwarded} {name} were forwarded, and the flows have {by_flow}",
            )

    def test_an_observation_is_what_the_single_methods_say(self) -> None:
        router = self.make()
        self.pass_time(router, 2)
        seen = router.observe()
        _require(seen.reading.time_s <= router.read().time_s, "the observation is from later")
        for name, single in (
            ("active_flows", router.active_flows()),
            ("round_trips", router.rtt_samples()),
            ("traffic", router.flow_traffic()),
        ):
            same = (getattr(seen, name) is None) == (single is None)
            _require(same, f"observe() and the single methods disagree whether {name} is known")

    # --- parameters ------------------------------------------------------------------------

    def test_parameters_have_names_and_stay_as_they_are(self) -> None:
        router = self.make()
        before = router.parameters()
        _require(all(isinstance(name, str) and name for name in before), "names are no names")
        self.pass_time(router)
        _require(router.parameters() == before, "parameters changed by themselves")

    def test_accepted_parameters_are_in_force_and_the_others_stay(self) -> None:
        router = self.make()
        before = router.parameters()
        wanted = self.acceptable()
        self.pass_time(router)
        router.apply(wanted)
        after = router.parameters()
        _require(set(after) == set(before), "parameters came or went")
        for name, value in after.items():
            if name not in wanted:
                _require(value == before[name], f"{name} was not named and is {value}")
                continue
            _require(_matches(value, wanted[name]), f"{name} is {value}, not {wanted[name]}")
            _require(not _matches(value, before[name]), f"acceptable() does not change {name}")

    def test_what_is_in_force_is_accepted(self) -> None:
        router = self.make()
        before = router.parameters()
        router.apply(self.acceptable())
        router.apply(before)
        for name, value in router.parameters().items():
            _require(_matches(value, before[name]), f"{name} does not come back: it is {value}")

    def test_refused_parameters_change_nothing_at_all(self) -> None:
        router = self.make()
        before = router.parameters()
        self._check_refused(router, self.unacceptable())
        _require(router.parameters() == before, "refused parameters are in force in part")

    def test_a_parameter_that_there_is_not_is_refused_with_the_good_ones_beside_it(self) -> None:
        router = self.make()
        before = router.parameters()
        self._check_refused(router, {**self.acceptable(), "no such parameter": 1.0})
        _require(router.parameters() == before, "refused parameters are in force in part")

    def test_traffic_goes_on_after_a_change(self) -> None:
        router = self.make()
        self.pass_time(router, 2)
        router.apply(self.acceptable())
        before = router.read()
        self.pass_time(router, 4)
        after = router.read()
        _require(after.forwarded_packets > before.forwarded_packets, "nothing passes any more")

    def _check_refused(
        self, router: ManagedQueue, parameters: Mapping[str, ParameterValue]
    ) -> None:
        try:
            router.apply(parameters)
        except RouterError as refusal:
            message = str(refusal)
            _require(bool(message) and "\n" not in message, f"no message of one line: {message!r}")
        else:
            _require(holds=False, broken=f"{dict(parameters)} was accepted")


def _matches(value: ParameterValue, wanted: ParameterValue) -> bool:
    """Return whether a parameter is what was wanted, up to a device's rounding."""
    if isinstance(value, (int, float)) and isinstance(wanted, (int, float)):
        return math.isclose(value, wanted, rel_tol=_ROUNDED)
    return value == wanted


def _require(holds: bool, broken: str) -> None:  # noqa: FBT001 - as in an assert statement
    if not holds:
        raise AssertionError(broken)
