"""The scenario as a model: every field with its unit, its bounds and its default.

Quantities are held in SI units (seconds, bit/s, bytes, packets); what the user wrote stays in
the scenario's document, for printing and for making changed copies. The rules that involve
more than one field are in :mod:`vermilion.scenario.structure`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    StrictStr,
    model_validator,
)

from vermilion.scenario import algorithms
from vermilion.scenario.errors import FieldError
from vermilion.scenario.quantities import (
    PACKETS,
    RATIO,
    SIZE,
    TIME,
    Quantity,
    QuantityRange,
)
from vermilion.scenario.queue_target import target_delay
from vermilion.scenario.round_trips import LONGEST_DELAY_S, RoundTrips
from vermilion.scenario.table import Table
from vermilion.scenario.traffic import Rate, Traffic
from vermilion.scenario.wire import Loss, Steps, check_rates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.algorithms import Algorithm, Parameter
    from vermilion.scenario.core_scenario import CoreScenario

LONGEST_DURATION_S: Final = 1e6
"""Seconds; 10^15 ns leave a factor of 9000 before a 64-bit count of nanoseconds overflows."""


LARGEST_PACKET_BYTES: Final = 65_535
"""The largest IP packet (RFC 791)."""

LARGEST_FLOW_COUNT: Final = 1_000_000
"""Flows of one scenario, all groups together; more would not fit into a machine's memory."""

LONGEST_NAME: Final = 64
_NAME: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")

Duration = Annotated[float, Quantity(TIME, minimum=1e-3, maximum=LONGEST_DURATION_S)]
Delay = Annotated[float, Quantity(TIME, minimum=0.0, maximum=LONGEST_DELAY_S)]
Seconds = Annotated[float, Quantity(TIME, minimum=0.0, maximum=LONGEST_DURATION_S)]
SecondsRange = Annotated[
    tuple[float, float],
    QuantityRange(Quantity(TIME, minimum=0.0, maximum=LONGEST_DURATION_S)),
]
PacketSize = Annotated[int, Quantity(SIZE, minimum=1.0, maximum=LARGEST_PACKET_BYTES, integer=True)]
HeaderSize = Annotated[int, Quantity(SIZE, minimum=0.0, maximum=LARGEST_PACKET_BYTES, integer=True)]
FlowCount = Annotated[int, Quantity(RATIO, minimum=1.0, maximum=LARGEST_FLOW_COUNT, integer=True)]
Packets = Annotated[float, Quantity(PACKETS, minimum=0.0, maximum=1e9)]
Share = Annotated[float, Quantity(RATIO, minimum=0.0, maximum=1.0)]


def _names_are_plain(tables: dict[str, Any]) -> dict[str, object]:
    """Names appear in paths like ``links.NAME.rate``, so they hold no dots or blanks."""
    if not tables:
        raise FieldError("", "an empty table", "at least one")
    for name in tables:
        if not _NAME.fullmatch(name):
            accepted = f'a name of letters, digits, "_" and "-", at most {LONGEST_NAME} characters'
            raise FieldError("", name, accepted)
    return tables


def _names_differ(names: tuple[str, ...]) -> tuple[str, ...]:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise FieldError("", name, "each name only once")
    return names


def _is_list(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise FieldError("", value, "a list")
    return value


Names = Annotated[tuple[StrictStr, ...], BeforeValidator(_is_list), AfterValidator(_names_differ)]


class Queue(Table):
    """``[links.NAME.queue]``: a discipline and its parameters."""

    discipline: str = Field(description="the name of a queue discipline")
    parameters: dict[str, algorithms.ParameterValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Checks the keys beside ``discipline`` against the discipline's own table."""
        if not isinstance(value, dict):
            raise FieldError("", value, 'a table, like { discipline = "drop-tail" }')
        given = dict(value)
        if "discipline" not in given:
            return {}
        algorithm = algorithms.discipline(given.pop("discipline"))
        return {"discipline": algorithm.name, "parameters": algorithm.parse(given)}

    @property
    def algorithm(self) -> Algorithm:
        """The discipline as the core describes it."""
        return algorithms.discipline(self.discipline)


class Link(Table):
    """``[links.NAME]``: a rate, a propagation delay after the queue, and the queue."""

    rate: Rate = Field(default=0.0, description="bit/s; 0 where it varies")
    rate_schedule: Steps | None = Field(default=None, description="times and rates")
    repeat: Seconds | None = Field(default=None, description="when a schedule begins anew, s")
    trace: StrictStr | None = Field(default=None, description="a file of delivery opportunities")
    delay: Delay = Field(description="one-way propagation delay after the queue, s")
    queue: Queue = Field(description='a table, like { discipline = "drop-tail" }')
    loss: Loss | None = None

    @model_validator(mode="after")
    def _has_one_rate(self) -> Link:
        check_rates(self)
        return self


class Sender(Table):
    """``sender`` of a flow group: a congestion control and its parameters."""

    congestion_control: str = Field(description="the name of a sender")
    parameters: dict[str, algorithms.ParameterValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Accepts the name alone, and checks further keys against the sender's own table."""
        if isinstance(value, str):
            algorithm = algorithms.sender(value, field="")
            return {"congestion_control": algorithm.name}
        if not isinstance(value, dict):
            raise FieldError("", value, "the name of a sender or a table with congestion_control")
        given = dict(value)
        if "congestion_control" not in given:
            return {}
        algorithm = algorithms.sender(given.pop("congestion_control"))
        return {"congestion_control": algorithm.name, "parameters": algorithm.parse(given)}

    @property
    def algorithm(self) -> Algorithm:
        """The sender as the core describes it."""
        return algorithms.sender(self.congestion_control)


class FlowGroup(Table):
    """``[flows.NAME]``: a number of like flows."""

    count: FlowCount = 1
    path: Names = Field(description='a list of link names, like ["bottleneck"]')
    return_path: Names = ()
    rtt: RoundTrips | None = Field(default=None, description="base round trip without queueing, s")
    access_rate: Rate | None = Field(default=None, description="of each flow's own links, bit/s")
    sender: Sender | None = None
    traffic: Traffic = Traffic(kind="bulk")
    packet_size: PacketSize = 1000
    header_size: HeaderSize = 0
    ack_size: PacketSize = 40
    colour: Literal["green", "yellow", "red"] = "green"
    start: SecondsRange = (0.0, 0.0)
    stop: SecondsRange | None = None


class Change(Table):
    """``[[changes]]``: something about a link or its queue changes at a time.

    ``queue`` holds the discipline's parameters as written; which discipline that is, only the
    scenario knows (:meth:`Scenario.change_parameters`).
    """

    at: Seconds = Field(description="s")
    link: StrictStr = Field(description="the name of a link")
    rate: Rate | None = None
    delay: Delay | None = None
    queue: dict[str, Any] | None = None
    loss: Loss | None = None


class TuningObjective(Table):
    """What a tuner minimises; the names of objectives belong to the room above.

    So do the fields that only some of them have: they are kept as written.
    """

    model_config = ConfigDict(extra="allow")

    name: StrictStr | None = Field(
        default=None, description='the name of an objective, like "queue-deviation"'
    )
    link: StrictStr | None = Field(default=None, description="the name of a link")
    target: Packets | None = Field(
        default=None, description="the queue length wanted, packets; or the time it takes to send"
    )
    over: Literal["phases", "total"] | None = Field(
        default=None, description='the mean of all "phases" (default) or the "total"'
    )

    _statement: str | None = PrivateAttr(default=None)
    _target_delay_s: float | None = PrivateAttr(default=None)

    @property
    def statement(self) -> str | None:
        """The short form, like "minimise links.bottleneck.sojourn_ms.p99", where it was one."""
        return self._statement

    @property
    def target_delay_s(self) -> float | None:
        """The target as a time, seconds, where it was given as one; ``target`` has its packets."""
        return self._target_delay_s

    @model_validator(mode="wrap")
    @classmethod
    def _a_text_is_a_statement(
        cls, value: object, handler: ModelWrapValidatorHandler[Self]
    ) -> Self:
        if isinstance(value, str):
            objective = handler({"name": "metric"})
            objective._statement = value  # noqa: SLF001 - of its own class
            return objective
        if not isinstance(value, dict) or "target" not in value:
            return handler(value)
        try:
            delay = target_delay(value["target"])
        except FieldError as error:
            raise error.under("target") from None
        if delay is None:
            return handler(value)
        # How many packets that are, only the whole scenario knows: see queue_target.
        objective = handler({key: entry for key, entry in value.items() if key != "target"})
        objective._target_delay_s = delay  # noqa: SLF001
        return objective


class Tuning(Table):
    """``[tuning]``: what may be changed, and what it is changed for.

    ``space`` replaces the box that a parameter's table proposes: a lower and an upper end, in
    the parameter's unit. ``harm`` says what a recommendation may not worsen, and by how much;
    ``minimum_improvement`` which fraction of the objective it has to gain.
    """

    parameters: Names = Field(description='a list of paths, like ["links.bottleneck.queue.weight"]')
    objective: TuningObjective = Field(
        default_factory=TuningObjective,
        description='a table, like { name = "queue-deviation", link = "bottleneck", '
        'target = "30 packets" }, or a text like "minimise links.bottleneck.sojourn_ms.p99"',
    )
    constraints: tuple[StrictStr, ...] | None = None
    harm: tuple[StrictStr, ...] | None = None
    minimum_improvement: Share | None = Field(
        default=None, description='a fraction of the objective, like "5 %"'
    )
    space: dict[str, object] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a scenario comes from.

    Attributes:
        document: what the user wrote, overrides included.
        origin: the file, or the name in the library.
    """

    document: Mapping[str, Any]
    origin: str


class Scenario(Table):
    """A network, its traffic, what changes in it, and optionally what to tune.

    Made by :func:`vermilion.load_scenario` or :func:`vermilion.parse_scenario`, which also
    check the rules between fields; a scenario made in another way has not been checked.
    """

    title: StrictStr = ""
    description: StrictStr = ""
    duration: Duration = Field(description="s")
    warm_up: Seconds = 0.0
    settle: Seconds = 0.0
    links: Annotated[dict[str, Link], AfterValidator(_names_are_plain)] = Field(
        description="a table [links.NAME] for each link"
    )
    flows: Annotated[dict[str, FlowGroup], AfterValidator(_names_are_plain)] = Field(
        description="a table [flows.NAME] for each group of flows"
    )
    changes: tuple[Change, ...] = ()
    tuning: Tuning | None = None

    _source: Source = PrivateAttr(default_factory=lambda: Source({}, "scenario"))
    _transfers: dict[str, dict[str, list[int]]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _settle_follows_warm_up(cls, value: object) -> object:
        if isinstance(value, dict) and "settle" not in value and "warm_up" in value:
            return {**value, "settle": value["warm_up"]}
        return value

    def model_post_init(self, context: object, /) -> None:
        """Remembers where it comes from: the context of its validation, if that is a source."""
        if isinstance(context, Source):
            self._source = context

    def read_transfers(self) -> None:
        """Reads the files of those groups whose traffic is a trace.

        Raises:
            FieldError: a file that cannot be read or holds something else.
        """
        from vermilion.scenario.traces import read_traces

        self._transfers = read_traces(self.flows, self.origin)

    def transfers_of(self, group: str) -> Mapping[str, list[int]]:
        """What the file of a group's traffic says, as the core reads it; empty without one."""
        return self._transfers.get(group, {})

    @property
    def document(self) -> Mapping[str, Any]:
        """What the user wrote, overrides included: TOML as nested dictionaries."""
        return self._source.document

    @property
    def origin(self) -> str:
        """The file, or the name in the library, for messages."""
        return self._source.origin

    @property
    def notes(self) -> list[str]:
        """What is accepted but probably not meant, a sentence each."""
        from vermilion.scenario.structure import notes

        return notes(self)

    def core(self, probe_interval_s: float | None = None) -> CoreScenario:
        """The scenario as the core reads it: whole nanoseconds, bit/s and bytes.

        Args:
            probe_interval_s: seconds between the points of the time series; ``None`` for none.

        Raises:
            ScenarioError: the interval is not accepted.
        """
        from vermilion.scenario.lowering import lowered

        return lowered(self, probe_interval_s)

    def core_json(self, probe_interval_s: float | None = None) -> str:
        """The same as JSON, which is what the core is given.

        Args:
            probe_interval_s: seconds between the points of the time series; ``None`` for none.

        Raises:
            ScenarioError: the interval is not accepted.
        """
        return self.core(probe_interval_s).to_json()

    def get(self, path: str) -> Any:  # noqa: ANN401 - as many types as there are fields
        """The value at a path like ``links.bottleneck.queue.weight``, in SI units.

        A parameter that the scenario does not set has its default; ``None`` is "automatic".

        Raises:
            ScenarioError: there is no such path.
        """
        from vermilion.scenario.paths import value_at

        return value_at(self, path)

    def parameter(self, path: str) -> Parameter:
        """The table row of a discipline's or sender's parameter.

        Args:
            path: like ``links.bottleneck.queue.weight`` or ``flows.early.sender.ecn``.

        Raises:
            ScenarioError: the path names no such parameter.
        """
        from vermilion.scenario.paths import parameter_at

        return parameter_at(self, path)

    def with_values(self, values: Mapping[str, object]) -> Scenario:
        """A checked copy with other values.

        Args:
            values: by path; numbers are in SI units, texts as in a scenario ("8 Mbit/s"), and
                ``None`` is "automatic". A discipline, at ``links.NAME.queue.discipline``, replaces
                the one there is: of its parameters those stay that the new one has too, with the
                same unit; parameters of its own follow a colon ("codel:target=10 ms") or stand
                beside it under their own paths. A ``[tuning]`` table is then left out.

        Raises:
            ScenarioError: an unknown path or a value that is not accepted.
        """
        from vermilion.scenario.overrides import with_values

        return with_values(self, values)

    def change_parameters(self, index: int) -> dict[str, algorithms.ParameterValue] | None:
        """The discipline parameters that a change sets, in the table's units.

        Raises:
            FieldError: a parameter that the link's discipline does not have or accept.
        """
        change = self.changes[index]
        if change.queue is None:
            return None
        if "discipline" in change.queue:
            accepted = "parameters of the link's discipline, which itself stays"
            raise FieldError("discipline", change.queue["discipline"], accepted)
        algorithm = self.links[change.link].queue.algorithm
        return {name: algorithm.parse_one(name, value) for name, value in change.queue.items()}
