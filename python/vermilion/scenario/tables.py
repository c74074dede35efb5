"""The tables of a scenario: every field with its unit, its bounds and its default.

Quantities are held in SI units (seconds, bit/s, bytes, packets). The rules that involve more than
one table are in :mod:`vermilion.scenario.structure`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    StrictStr,
    model_validator,
)

from vermilion.scenario import algorithms
from vermilion.scenario.codepoints import Codepoint
from vermilion.scenario.distributions import TimeDistribution
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean, printable
from vermilion.scenario.ports import Class, Shape, algorithm_of, parsed
from vermilion.scenario.quantities import (
    PACKETS,
    RATE,
    RATIO,
    SIZE,
    TIME,
    Quantity,
    QuantityError,
    QuantityRange,
    format_quantity,
)
from vermilion.scenario.round_trips import LONGEST_DELAY_S, RoundTrips
from vermilion.scenario.table import Table
from vermilion.scenario.traffic import Rate, Traffic

if TYPE_CHECKING:
    from vermilion.scenario.algorithms import Algorithm

_PROBABILITY: Final = Quantity(RATIO, minimum=0.0, maximum=1.0)

_LOSS_KEYS: Final = {
    "bernoulli": ("probability",),
    "gilbert-elliott": ("good_to_bad", "bad_to_good", "loss_in_good", "loss_in_bad"),
}


class Loss(Table):
    """``loss`` of a link: how its wire loses packets after their transmission.

    Attributes:
        model: each packet on its own, or a wire that is good or bad for a while.
        probability: of a loss, where each packet is on its own.
        good_to_bad: that a good wire turns bad before a packet.
        bad_to_good: that a bad wire turns good before a packet.
        loss_in_good: that a good wire loses a packet.
        loss_in_bad: that a bad wire loses a packet.
    """

    model: Literal["bernoulli", "gilbert-elliott"]
    probability: Annotated[float, _PROBABILITY] | None = None
    good_to_bad: Annotated[float, _PROBABILITY] | None = None
    bad_to_good: Annotated[float, _PROBABILITY] | None = None
    loss_in_good: Annotated[float, _PROBABILITY] | None = None
    loss_in_bad: Annotated[float, _PROBABILITY] | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: object) -> object:
        if not isinstance(value, dict):
            raise FieldError("", value, 'a table, like { model = "bernoulli", probability = 0.01 }')
        given = dict(value)
        if given.get("model") == "gilbert-elliott":
            # Gilbert's own model: a good wire loses nothing, a bad one everything.
            given = {"loss_in_good": 0.0, "loss_in_bad": 1.0, **given}
        model = given.get("model")
        if not isinstance(model, str) or model not in _LOSS_KEYS:
            shown = model if "model" in given else "a loss without a model"
            expected = did_you_mean(model if isinstance(model, str) else "", _LOSS_KEYS)
            raise FieldError("model" if "model" in given else "", shown, expected)
        keys = _LOSS_KEYS[model]
        for key in given:
            if key != "model" and key not in keys:
                expected = f"a key of {model}: {did_you_mean(key, ('model', *keys))}"
                raise FieldError(key, given[key], expected)
        for key in keys:
            if key not in given:
                raise FieldError(key, "nothing", _PROBABILITY.accepted())
        return given

    def to_core(self) -> dict[str, object]:
        """The loss as the core reads it."""
        return {"model": self.model} | {key: getattr(self, key) for key in _LOSS_KEYS[self.model]}


LONGEST_SCHEDULE: Final = 1_000_000
"""Steps."""

_STEP_TIME: Final = Quantity(TIME, minimum=0.0, maximum=1e6)
_STEP_RATE: Final = Quantity(RATE, minimum=0.0, maximum=1e13)


def _read_steps(value: object) -> tuple[tuple[float, float], ...]:
    example = 'a list like [["0 s", "10 Mbit/s"], ["20 s", "100 Mbit/s"]]'
    if not isinstance(value, list | tuple) or not 0 < len(value) <= LONGEST_SCHEDULE:
        raise FieldError("", value, f"{example}, of at most {LONGEST_SCHEDULE:,} steps")
    steps: list[tuple[float, float]] = []
    for index, step in enumerate(value):
        if not isinstance(step, list | tuple) or len(step) != 2:  # noqa: PLR2004 - a pair
            raise FieldError(str(index), step, 'a time and a rate, like ["20 s", "100 Mbit/s"]')
        try:
            time = float(_STEP_TIME.parse(step[0]))
            rate = float(_STEP_RATE.parse(step[1]))
        except QuantityError as error:
            raise FieldError(str(index), error.value, error.accepted) from None
        if index == 0 and time != 0:
            raise FieldError("0", step[0], 'a first step at "0 s"')
        if steps and time <= steps[-1][0]:
            raise FieldError(str(index), step[0], "a time after that of the step before")
        steps.append((time, rate))
    return tuple(steps)


Steps = Annotated[tuple[tuple[float, float], ...], PlainValidator(_read_steps)]
"""Seconds and bit/s, the first at 0 s."""


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


def one_line(text: str) -> str:
    """A title stands in tables and on terminals, which nothing in it may break or colour."""
    return printable("".join(" " if each.isspace() else each for each in text))


def names_are_plain(tables: dict[str, Any]) -> dict[str, object]:
    """Names appear in paths like ``links.NAME.rate``, so they hold no dots or blanks."""
    if not tables:
        raise FieldError("", "an empty table", "at least one")
    for name in tables:
        if not _NAME.fullmatch(name):
            accepted = f'a name of letters, digits, "_" and "-", at most {LONGEST_NAME} characters'
            raise FieldError("", name, accepted)
    return tables


def _check_unique(names: tuple[str, ...]) -> tuple[str, ...]:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise FieldError("", name, "each name only once")
    return names


def _is_list(value: object) -> object:
    if not isinstance(value, list | tuple):
        example = f', like ["{value}"]' if isinstance(value, str) and value.isprintable() else ""
        raise FieldError("", value, f"a list{example}")
    return value


Names = Annotated[tuple[StrictStr, ...], BeforeValidator(_is_list), AfterValidator(_check_unique)]


class Queue(Table):
    """``[links.NAME.queue]``: a discipline, or a scheduler and its classes; and parameters."""

    discipline: str = Field(description="the name of a queue discipline or a scheduler")
    parameters: dict[str, algorithms.ParameterValue] = Field(default_factory=dict)
    classes: Annotated[tuple[Class, ...], PlainValidator(tuple)] = ()

    @model_validator(mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Check the keys beside ``discipline`` against the discipline's own table."""
        found = parsed(value)
        if found is None:
            return {}
        shape, parameters = found
        return {
            "discipline": shape.discipline,
            "parameters": parameters,
            "classes": shape.classes,
        }

    @property
    def algorithm(self) -> Algorithm:
        """The discipline as the core describes it, or the scheduler with all its classes."""
        return algorithm_of(Shape(self.discipline, self.classes))


class Line(Table):
    """``line`` of a link: a kind of access whose rate is drawn from the seed."""

    kind: Literal["lte", "starlink", "docsis", "wifi"]
    mean: Rate = Field(description="bit/s")


class RateControl(Table):
    """``rate_control`` of a link: a law that sets the rate of its shaper while it runs."""

    law: str = Field(description="the name of a law, or oracle")
    probes: StrictStr = Field(description="open-loop flows over the shaper and the line")
    interval: Annotated[float, Quantity(TIME, minimum=1e-3, maximum=10.0)] = 0.02
    one_way: bool = False
    parameters: dict[str, algorithms.ParameterValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Check further keys against the law's own table."""
        if not isinstance(value, dict):
            example = '{ law = "service-curve", probes = "pings" }'
            raise FieldError("", value, f"a table, like {example}")
        keys = cls.model_fields.keys() - {"parameters"}
        own = {key: each for key, each in value.items() if key in keys}
        rest = {key: each for key, each in value.items() if key not in keys}
        known = algorithms.rate_laws()
        law = own.get("law", "service-curve")
        if law == "oracle":
            for key, each in rest.items():
                raise FieldError(key, each, "no parameters of an oracle")
            return {"law": law, **own}
        if not isinstance(law, str) or law not in known:
            expected = did_you_mean(law if isinstance(law, str) else "", [*known, "oracle"])
            raise FieldError("law", law, expected)
        if "direction" in rest:
            raise FieldError(
                "direction", rest["direction"], "nothing: the path of the probes says it"
            )
        return {"law": law, **own, "parameters": known[law].parse(rest)}

    def to_core(self) -> dict[str, object]:
        """The control as the core reads it."""
        return {
            "law": self.law,
            "parameters": self.parameters,
            "probes": self.probes,
            "interval_ns": round(self.interval * 1e9),
            "one_way": self.one_way,
        }


class Reordering(Table):
    """``reordering`` of a link: packets that take longer and are overtaken."""

    probability: Annotated[float, _PROBABILITY]
    delay: Annotated[float, Quantity(TIME, minimum=0.0, maximum=LONGEST_DELAY_S)]


class Link(Table):
    """``[links.NAME]``: a rate, a propagation delay after the queue, and the queue."""

    rate: Rate = Field(default=0.0, description="bit/s; 0 where it varies")
    rate_schedule: Steps | None = Field(default=None, description="times and rates")
    repeat: Seconds | None = Field(default=None, description="after which a schedule repeats, s")
    trace: StrictStr | None = Field(default=None, description="a file of delivery opportunities")
    line: Line | None = Field(default=None, description="a kind of access, drawn from the seed")
    delay: Delay = Field(description="one-way propagation delay after the queue, s")
    queue: Queue = Field(description='a table, like { discipline = "drop-tail" }')
    rate_control: RateControl | None = Field(default=None, description="a law of its rate")
    loss: Loss | None = None
    jitter: TimeDistribution | None = Field(
        default=None, description="by how much longer each packet takes, s; none overtakes another"
    )
    reordering: Reordering | None = None
    aggregation: Annotated[float, Quantity(TIME, minimum=1e-9, maximum=LONGEST_DELAY_S)] | None = (
        Field(default=None, description="packets arrive together at multiples of so many s")
    )
    books: Literal["full", "counters", "none"] = Field(
        default="full", description="how much is written down at the link"
    )

    def air(self) -> dict[str, object] | None:
        """Times on the way behind it, for the core; ``None`` if they are all the delay."""
        if self.jitter is None and self.reordering is None and self.aggregation is None:
            return None
        air: dict[str, object] = {"aggregation_ns": round((self.aggregation or 0.0) * 1e9)}
        if self.jitter is not None:
            air["jitter_ns"] = self.jitter.core(1e9)
        if self.reordering is not None:
            delay_ns = round(self.reordering.delay * 1e9)
            air["reordering"] = {
                "probability": self.reordering.probability,
                "delay_ns": delay_ns,
            }
        return air

    @model_validator(mode="after")
    def _check_rate(self) -> Link:
        """Refuse two rates, and none."""
        keys = ("rate", "rate_schedule", "trace", "line")
        given = [key for key in keys if key in self.model_fields_set]
        if not given:
            accepted = f"{Quantity(RATE).accepted()}, a rate_schedule, a trace or a line"
            raise FieldError("rate", MISSING, accepted)
        if len(given) > 1:
            raise FieldError(given[1], f"{given[1]} beside {given[0]}", "one of them")
        return self

    @model_validator(mode="after")
    def _check_control(self) -> Link:
        if self.rate_control is not None and self.varies:
            raise FieldError("rate_control", "a law", "nothing where the rate varies by itself")
        return self

    @property
    def varies(self) -> bool:
        """True if its rate follows a schedule, a trace or a drawn line."""
        return bool(self.rate_schedule or self.trace or self.line)

    @model_validator(mode="after")
    def _check_repeat(self) -> Link:
        if self.repeat is None:
            return self
        if self.rate_schedule is None:
            shown = format_quantity(self.repeat, TIME)
            raise FieldError("repeat", shown, "nothing where there is no rate_schedule")
        if self.repeat <= self.rate_schedule[-1][0]:
            last = format_quantity(self.rate_schedule[-1][0], TIME)
            shown = format_quantity(self.repeat, TIME)
            raise FieldError("repeat", shown, f"a time after the last step, {last}")
        return self


class Sender(Table):
    """``sender`` of a flow group: a congestion control and its parameters."""

    congestion_control: str = Field(description="the name of a sender")
    parameters: dict[str, algorithms.ParameterValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Accept the name alone, and check further keys against the sender's own table."""
        if isinstance(value, str):
            algorithm = algorithms.sender(value, field="")
            return {"congestion_control": algorithm.name}
        if not isinstance(value, dict):
            raise FieldError("", value, "the name of a sender or a table with congestion_control")
        given = dict(value)
        if "congestion_control" not in given:
            known = list(algorithms.senders())
            named = [key for key, each in given.items() if each in known]
            if not named:
                return {}
            accepted = f'the name of a sender (did you mean it by "{named[0]}"?)'
            raise FieldError("congestion_control", MISSING, accepted)
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
    dscp: Codepoint = 0
    source_host: StrictStr | None = Field(default=None, description="that sends its data")
    destination_host: StrictStr | None = Field(default=None, description="that receives its data")
    start: SecondsRange = (0.0, 0.0)
    stop: SecondsRange | None = None


class Change(Table):
    """``[[changes]]``: something about a link or its queue changes at a time.

    ``queue`` holds the discipline's parameters as written; which discipline that is, only the
    scenario knows (:meth:`.WrittenScenario.change_parameters`).
    """

    at: Seconds = Field(description="s")
    link: StrictStr = Field(description="the name of a link")
    rate: Rate | None = None
    delay: Delay | None = None
    queue: dict[str, Any] | None = None
    loss: Loss | None = None
