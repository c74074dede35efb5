"""Conformance tests to be inherited by every congestion control in Python.

A class of your own is tested against the interface's promises with three lines in a file that
pytest collects (it finds the inherited methods); it need not be registered::

    from vermilion.simulate.congestion_control_testing import CongestionControlConformance

    class TestMyControl(CongestionControlConformance):
        own = MyControl

Each test fails with an ``AssertionError`` that says which promise was broken. They simulate some
ten minutes in all, which takes a second or two.
"""

# ruff: noqa: D102 - the names of the tests say what they test

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.scenario.algorithms import senders
from vermilion.scenario.load import scenario_from_document
from vermilion.scenario.own_congestion_control import (
    register_congestion_control,
    unregister_congestion_control,
)
from vermilion.simulate.runs import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vermilion.scenario import Scenario
    from vermilion.scenario.algorithms import Parameter
    from vermilion.scenario.own_congestion_control import CongestionControl
    from vermilion.simulate.result import Result

_SECONDS: Final = 10
_LEAST_USE: Final = 0.2
"""Of a link, by two flows with a buffer of two bandwidth-delay products: anything that sends."""
_MOST_LOSS: Final = 0.3
"""Of the packets: two flows that answered no loss would lose more."""


class CongestionControlConformance:
    """The interface's promises; a test class for each congestion control inherits them.

    Attributes:
        own: the class under test.
        parameters: values other than the defaults under which it is to be tested.
    """

    own: ClassVar[type[CongestionControl]]
    parameters: ClassVar[Mapping[str, object]] = {}

    def test_its_table_is_accepted_and_says_what_it_is(self) -> None:
        with self._registration():
            algorithm = senders()[self.own.name]
        _require(bool(algorithm.summary), "it has no summary")
        for row in self.own.parameters:
            known = algorithm.parameters[row.name]
            _require(known == row, f"its parameter {row.name} comes back as {known}")

    def test_the_same_seed_gives_the_same_run(self) -> None:
        first, second = self._run(), self._run()
        _require(_numbers(first) == _numbers(second), "two runs with one seed differ")

    def test_it_uses_the_link_and_backs_off(self) -> None:
        link = self._run().link("bottleneck").total
        _require(link["utilization"] >= _LEAST_USE, f"it uses {link['utilization']:.1%} of a link")
        _require(
            link["drop_rate"] <= _MOST_LOSS, f"it loses {link['drop_rate']:.1%} of its packets"
        )

    def test_it_works_with_every_recovery(self) -> None:
        with self._registration():
            recoveries = senders()[self.own.name].parameters["recovery"].choices or ()
        for recovery in recoveries:
            self._check_books(self._run(sender={"recovery": recovery}))

    def test_it_survives_heavy_losses(self) -> None:
        for loss in ("5 %", "30 %"):
            result = self._run(link={"loss": {"model": "bernoulli", "probability": loss}})
            self._check_books(result)

    def test_it_answers_marks(self) -> None:
        queue = {"discipline": "codel", "limit": "500 packets", "ecn": True}
        result = self._run(link={"queue": queue}, sender={"ecn": True})
        self._check_books(result)
        link = result.link("bottleneck").total
        _require(link["marks"] > 0 or link["sojourn_ms"]["mean"] < 5, "it is never marked")  # noqa: PLR2004 - the target

    def test_it_works_paced_and_with_delayed_acknowledgements(self) -> None:
        self._check_books(self._run(sender={"pacing": True, "delayed_acknowledgements": True}))
        self._check_books(self._run(sender={"option_set": "linux"}))

    def test_it_carries_short_transfers(self) -> None:
        traffic = {"kind": "transfer", "size": "30 kB"}
        result = self._run(flows={"traffic": traffic, "count": 20, "start": "0 s .. 5 s"})
        done = result.flows("all").total["goodput_bit_per_s"]["total"]
        _require(done > 0, "not one of twenty short transfers arrives")

    def test_a_run_in_steps_is_the_same_run(self) -> None:
        with self._registration():
            scenario = self._scenario()
            whole, stepped = run(scenario), run(scenario, progress=lambda _: None)
        _require(_numbers(whole) == _numbers(stepped), "looking at a run changes it")

    def test_every_end_of_its_parameters_can_be_simulated(self) -> None:
        for row in self.own.parameters:
            for value in _extreme_values(row):
                self._check_books(self._run(sender={row.name: value}))

    @contextmanager
    def _registration(self) -> Iterator[None]:
        """Register the class for the time of a test, unless it is registered."""
        known = self.own.name in senders()
        if not known:
            register_congestion_control(self.own)
        try:
            yield
        finally:
            if not known:
                unregister_congestion_control(self.own.name)

    def _scenario(
        self,
        link: Mapping[str, object] | None = None,
        sender: Mapping[str, object] | None = None,
        flows: Mapping[str, object] | None = None,
    ) -> Scenario:
        """Two flows over a bottleneck of 10 Mbit/s, a round trip of 40 ms."""
        name = {"congestion_control": self.own.name}
        document: dict[str, Any] = {
            "title": "conformance",
            "duration": f"{_SECONDS} s",
            "links": {
                "bottleneck": {
                    "rate": "10 Mbit/s",
                    "delay": "10 ms",
                    "queue": {"discipline": "drop-tail", "limit": "100 packets"},
                    **(link or {}),
                }
            },
            "flows": {
                "all": {
                    "count": 2,
                    "path": ["bottleneck"],
                    "rtt": "40 ms",
                    "sender": {**name, **self.parameters, **(sender or {})},
                    "start": "0 s .. 1 s",
                    **(flows or {}),
                }
            },
        }
        return scenario_from_document(document, "conformance")

    def _run(self, **other: Mapping[str, object]) -> Result:
        with self._registration():
            return run(self._scenario(**other))

    def _check_books(self, result: Result) -> None:
        link = result.link("bottleneck").total
        left = link["packets_forwarded"] + link["drops"]
        change = link["queued_at_end"] - link["queued_at_start"]
        _require(link["arrivals"] == left + change, "packets were lost from the books")
        _require(result.flows("all").total["goodput_bit_per_s"]["total"] > 0, "nothing arrives")


def _extreme_values(row: Parameter) -> list[object]:
    """Ends of a parameter's search range, or all its values."""
    if row.kind == "switch":
        return [False, True]
    if row.kind == "choice":
        return list(row.choices or ())
    ends = row.search or ()
    return [row.exact_text(int(end) if row.integer else end) for end in ends]


def _numbers(result: Result) -> dict[str, object]:
    return {name: value for name, value in result.data.items() if not name.endswith("_s")}


def _require(condition: bool, message: str) -> None:  # noqa: FBT001 - like the statement assert
    # Not the statement ``assert``, which ``python -O`` leaves out.
    if not condition:
        raise AssertionError(message)
