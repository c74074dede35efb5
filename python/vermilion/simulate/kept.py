"""A network that is kept while it runs: extended, forked, changed and measured on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Self, cast

from vermilion.scenario.errors import FieldError, ScenarioError, did_you_mean, from_core
from vermilion.scenario.quantities import RATE, TIME, Quantity
from vermilion.scenario.tables import LONGEST_DURATION_S
from vermilion.simulate.accepted import check_seed, given_scenario
from vermilion.simulate.result import Result, result_of
from vermilion.simulate.runs import warn_if_not_optimised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from vermilion._core import Kept
    from vermilion.scenario import Scenario
    from vermilion.scenario.algorithms import Algorithm, ParameterValue

_NANOSECONDS: Final = 1_000_000_000
_STRETCH: Final = Quantity(TIME, minimum=0.0, maximum=LONGEST_DURATION_S)
_RATE: Final = Quantity(RATE, minimum=1.0, maximum=1e13)


class Simulation:
    """A network in motion that stands still between calls.

    A warmed-up network is kept and forked under other settings, and a run goes on instead of
    starting again. Pieces of a run add up to the whole: after ``extend(2.0)`` and ``extend(3.0)``
    :meth:`result` is that of a :func:`run` of 5 s, to the last bit, and a fork without a change
    goes on as the run that it was taken from. Each is used by one thread at a time.

        >>> network = vermilion.Simulation("varying-load", seed=1).extend("10 s")
        >>> trial = network.fork().set_queue("bottleneck", max_probability=0.2).extend("2 s")
        >>> trial.record()["links.bottleneck.queue_packets.mean"]

    Attributes:
        scenario: that is simulated. Its duration ends nothing here, and what it says of tuning and
            of time series has no effect.
        seed: from which every random stream derives.
    """

    __slots__ = ("_core", "scenario", "seed")

    def __init__(self, scenario: Scenario | str | Path, seed: int = 1) -> None:
        """A network at 0 s.

        Args:
            scenario: what to simulate, or the name or the path from which it is loaded.
            seed: 0 .. 2^64 - 1.

        Raises:
            ScenarioError: a scenario or a seed that is not accepted.
        """
        from vermilion import _core

        warn_if_not_optimised()
        self.scenario = given_scenario(scenario)
        self.seed = check_seed(seed, self.scenario.origin)
        try:
            self._core: Kept = _core.Kept(self.scenario.core_json(), self.seed)
        except _core.ParameterError as error:
            raise from_core(error, self.scenario.origin) from None

    @property
    def now_s(self) -> float:
        """Simulated seconds so far: everything earlier has happened, and nothing else."""
        return self._core.now_ns / _NANOSECONDS

    def extend(self, duration: float | str) -> Self:
        """Simulate so much more time.

        Args:
            duration: seconds, or a time like "2 s".

        Raises:
            ScenarioError: no time, or more than any run may last.
            KeyboardInterrupt: at Ctrl-C; the network stands where it has come to.
        """
        seconds = self._quantity("duration", duration, _STRETCH, "s")
        return self._tell("extend", self._core.now_ns + round(seconds * _NANOSECONDS))

    def step(self, seconds: float) -> dict[str, float]:
        """Simulate so many seconds, and return the :meth:`record` of them alone.

        Raises:
            KeyboardInterrupt: at Ctrl-C.
        """
        core = self._core
        core.mark()
        core.extend(core.now_ns + round(seconds * _NANOSECONDS))
        return core.record()

    def fork(self) -> Simulation:
        """Return a copy that goes on by itself, and whose :meth:`record` begins here."""
        fork = object.__new__(type(self))
        fork.scenario, fork.seed, fork._core = self.scenario, self.seed, self._core.fork()
        return fork

    def set_queue(self, link: str, **parameters: object) -> Self:
        """Replace parameters of a link's queue now; those not named stay.

        Args:
            link: its name.
            parameters: by name, as the scenario has them, ``limit="50 packets"``, or numbers in the
                units of the discipline's table.

        Raises:
            ScenarioError: a link, a parameter or a value that is not accepted; nothing has changed.
        """
        self._check_link(link)
        algorithm = self.scenario.links[link].queue.algorithm
        try:
            values = {name: _parsed(algorithm, name, each) for name, each in parameters.items()}
            algorithm.check_order({**self.queue(link), **values})
        except FieldError as error:
            raise self._refused(f"links.{link}.queue.{error.field}", error) from None
        return self._tell("set_queue", link, json.dumps(values))

    def set_numbers(self, link: str, values: Mapping[str, float]) -> Self:
        """Replace parameters of a queue by numbers in their table's units, in microseconds.

        Raises:
            ScenarioError: what the core does not accept; nothing has changed.
        """
        return self._tell("set_queue", link, json.dumps(values))

    def set_rate(self, link: str, rate: float | str) -> Self:
        """Change the rate of a link now; what is in transmission goes on at the new one.

        Args:
            link: its name.
            rate: bit/s, or a rate like "8 Mbit/s".

        Raises:
            ScenarioError: a link or a rate that is not accepted, or a link whose rate follows a
                schedule or a trace.
        """
        self._check_link(link)
        bit_per_s = self._quantity(f"links.{link}.rate", rate, _RATE, "bit/s")
        return self._tell("set_rate", link, round(bit_per_s))

    def queue(self, link: str) -> dict[str, ParameterValue]:
        """Every parameter in force of a link's queue, in the units of its discipline's table.

        Raises:
            ScenarioError: there is no such link.
        """
        self._check_link(link)
        values: dict[str, ParameterValue] = json.loads(self._core.queue_parameters(link))
        return values

    def mark(self) -> Self:
        """Let :meth:`record` begin here."""
        return self._tell("mark")

    def record(self) -> dict[str, float]:
        """A few figures of what was measured since the fork or the last :meth:`mark`, by path.

        ``start_s`` and ``end_s``; of links with books ``utilization``, ``arrivals``,
        ``packets_forwarded``, ``drops``, ``marks``, ``drop_rate`` and ``mark_rate``, with full ones
        ``queue_packets`` and ``sojourn_ms``, each with ``mean``, ``p50``, ``p95`` and ``p99``; of
        groups ``goodput_bit_per_s.total``, ``jain_index``, ``timeouts`` and ``retransmissions``.
        ``links.bottleneck.queue_packets.mean`` is such a path. They mean what those of a
        :class:`Result` do, and what could not be computed is absent. It takes microseconds.

        Returns:
            Nothing without a fork and without a mark.
        """
        return self._core.record()

    def result(self) -> Result:
        """Everything measured so far, as of a :func:`run` that ends here.

        Raises:
            KeyboardInterrupt: at Ctrl-C.
        """
        from vermilion import _core

        return result_of(
            self._core.result(), seed=self.seed, version=_core.VERSION, timing={}, series={}
        )

    def _tell(self, method: str, *arguments: object) -> Self:
        """Have the core do something, and translate its refusal."""
        from vermilion import _core

        try:
            getattr(self._core, method)(*arguments)
        except _core.ParameterError as error:
            raise from_core(error, self.scenario.origin) from None
        return self

    def _check_link(self, link: str) -> None:
        if link not in self.scenario.links:
            accepted = f"a link of this scenario: {did_you_mean(link, self.scenario.links)}"
            raise ScenarioError("link", link, accepted, self.scenario.origin)

    def _quantity(self, field: str, value: object, accepted: Quantity, unit: str) -> float:
        """A number in this unit, or a quantity as a text."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        try:
            return float(accepted.parse(f"{value!r} {unit}" if is_number else value))
        except FieldError as error:
            accepted_too = f"{error.accepted}, or a number of {unit}"
            raise ScenarioError(field, value, accepted_too, self.scenario.origin) from None

    def _refused(self, field: str, error: FieldError) -> ScenarioError:
        return ScenarioError(field, error.value, error.accepted, self.scenario.origin)


def _parsed(algorithm: Algorithm, name: str, value: object) -> ParameterValue:
    """A value in its table's unit, from a number of that unit or a text.

    Raises:
        FieldError: an unknown name or a value that is not accepted.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or name not in algorithm.parameters:
        return algorithm.parse_one(name, value)
    try:
        return algorithm.parse_one(
            name, algorithm.parameters[name].exact_text(cast("float", value))
        )
    except FieldError as error:
        raise FieldError(name, value, error.accepted) from None
