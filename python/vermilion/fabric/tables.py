"""The tables of a fabric: every field with its unit, its bounds and its default.

Quantities are held in SI units: seconds, bit/s, bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainValidator, ValidationError, model_validator

from vermilion.fabric.senders import fabric_sender, rate_based_senders
from vermilion.fabric.sizes import Points, size_distributions
from vermilion.scenario.distributions import TimeDistribution
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean, one_of
from vermilion.scenario.quantities import RATE, RATIO, SIZE, TIME, Quantity, QuantityError
from vermilion.scenario.table import Table

MOST_HOSTS: Final = 16_384
MOST_TRANSFERS: Final = 5_000_000
AUTOMATIC: Final = "automatic"

_RATE: Final = Quantity(RATE, 1e6, 1e13)
_DELAY: Final = Quantity(TIME, 0.0, 1.0)
_SIZE: Final = Quantity(SIZE, 0.0, 4e9, integer=True)
_PACKET: Final = Quantity(SIZE, 1.0, 20_000, integer=True)
_TRANSFER: Final = Quantity(SIZE, 1.0, 1e12, integer=True)
_INSTANT: Final = Quantity(TIME, 0.0, 1000.0)
_SPAN: Final = Quantity(TIME, 0.0, 1000.0, minimum_excluded=True)
_PART: Final = Quantity(RATIO, 0.0, 1.0)
_WEIGHT: Final = Quantity(RATIO, 0.01, 100.0)
_CLASS: Final = Quantity(RATIO, 0.0, 7.0, integer=True)
_COUNT: Final = Quantity(RATIO, 1.0, float(MOST_HOSTS), integer=True)
_SOURCE_RATE: Final = Quantity(RATE, 1.0, 1e13)
_LOAD: Final = Quantity(RATIO, 0.0, 2.0, minimum_excluded=True)


def first_problem(error: ValidationError, kind: type[Table]) -> FieldError:
    """The error to show: a misspelt key before the missing key that it stands for."""
    details = error.errors(include_url=False)
    unknown = [detail for detail in details if detail["type"] == "extra_forbidden"]
    detail = (unknown or details)[0]
    path = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "value_error":
        raised = detail["ctx"]["error"]
        if isinstance(raised, FieldError):
            return raised.under(path) if path else raised
    if detail["type"] == "extra_forbidden":
        keys = [each.alias or name for name, each in kind.model_fields.items()]
        accepted = f"a key of this table: {did_you_mean(path, keys)}"
        return FieldError(path, detail["input"], accepted)
    if detail["type"] == "missing":
        metadata = kind.model_fields[path].metadata if path in kind.model_fields else []
        quantities = [each.accepted() for each in metadata if isinstance(each, Quantity)]
        return FieldError(path, MISSING, quantities[0] if quantities else "a value")
    message = detail["msg"].removeprefix("Input should be ")
    return FieldError(path, detail["input"], message[:1].lower() + message[1:])


def read(kind: type[Table], value: object) -> Any:  # noqa: ANN401 - of that kind
    """A table, or a mapping with its keys.

    Raises:
        FieldError: the first thing that is wrong with it.
    """
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise FieldError("", value, "a table")
    try:
        return kind.model_validate(dict(value))
    except ValidationError as error:
        raise first_problem(error, kind) from None


def _reading(kind: type[Table]) -> PlainValidator:
    return PlainValidator(lambda value: read(kind, value))


def _automatic_or(quantity: Quantity) -> PlainValidator:
    """A quantity, or ``None`` where it is left to the rule that the documentation has."""

    def parse(value: object) -> float | None:
        if value is None or value == AUTOMATIC:
            return None
        try:
            return quantity.parse(value)
        except QuantityError as error:
            accepted = f'{error.accepted}, or "{AUTOMATIC}"'
            raise FieldError("", value, accepted) from None

    return PlainValidator(parse)


class LeafSpine(Table):
    """Leaves with hosts, each connected to every spine.

    Attributes:
        kind: "leaf-spine".
        leaves: how many.
        hosts_per_leaf: how many at each.
        spines: how many.
        rate: of a host's link.
        uplink_rate: of a link between leaf and spine.
        delay: propagation of each link, one way.
    """

    kind: Literal["leaf-spine"] = "leaf-spine"
    leaves: Annotated[int, _COUNT] = 4
    hosts_per_leaf: Annotated[int, _COUNT] = 8
    spines: Annotated[int, _COUNT] = 2
    rate: Annotated[float, _RATE] = 100e9
    uplink_rate: Annotated[float, _RATE] = 400e9
    delay: Annotated[float, _DELAY] = 1e-6


class FatTree(Table):
    """Equal switches of ``ports`` ports each, ``ports`` ** 3 / 4 hosts (Al-Fares, SIGCOMM 2008).

    Attributes:
        kind: "fat-tree".
        ports: of a switch, an even number.
        rate: of each link.
        delay: propagation of each link, one way.
    """

    kind: Literal["fat-tree"] = "fat-tree"
    ports: Annotated[int, Quantity(RATIO, 2.0, 40.0, integer=True)] = 4
    rate: Annotated[float, _RATE] = 100e9
    delay: Annotated[float, _DELAY] = 1e-6

    @model_validator(mode="after")
    def _check_even(self) -> FatTree:
        if self.ports % 2:
            raise FieldError("ports", self.ports, "an even number from 2 to 40")
        return self


class Star(Table):
    """Hosts at one switch.

    Attributes:
        kind: "star".
        hosts: how many.
        rate: of each link.
        delay: propagation of each link, one way.
    """

    kind: Literal["star"] = "star"
    hosts: Annotated[int, Quantity(RATIO, 2.0, 1024.0, integer=True)] = 17
    rate: Annotated[float, _RATE] = 100e9
    delay: Annotated[float, _DELAY] = 1e-6


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise FieldError("", value, 'a list of names, like ["host1", "host2"]')
    if len(set(value)) != len(value):
        raise FieldError("", value, "names that differ")
    return tuple(value)


def _cables(value: object) -> tuple[tuple[str, str, float, float], ...]:
    example = 'a list of links, like [["host1", "switch1", "100 Gbit/s", "1 us"]]'
    if not isinstance(value, list | tuple):
        raise FieldError("", value, example)
    cables = []
    for number, entry in enumerate(value):
        if not isinstance(entry, list | tuple) or len(entry) != 4:  # noqa: PLR2004 - as in the example
            raise FieldError(str(number), entry, "two names, a rate and a delay")
        one, other, rate, delay = entry
        try:
            cables.append(
                (str(one), str(other), float(_RATE.parse(rate)), float(_DELAY.parse(delay)))
            )
        except QuantityError as error:
            raise FieldError(str(number), error.value, error.accepted) from None
    return tuple(cables)


class Links(Table):
    """Any network of hosts, each at one switch, and of switches.

    Attributes:
        kind: "links".
        hosts: names.
        switches: names.
        links: two names, a rate and a delay each; a link is one in each direction.
    """

    kind: Literal["links"] = "links"
    hosts: Annotated[tuple[str, ...], PlainValidator(_names)]
    switches: Annotated[tuple[str, ...], PlainValidator(_names)]
    links: Annotated[tuple[tuple[str, str, float, float], ...], PlainValidator(_cables)]


Topology = LeafSpine | FatTree | Star | Links

_TOPOLOGIES: Final[dict[str, type[Table]]] = {
    "leaf-spine": LeafSpine, "fat-tree": FatTree, "star": Star, "links": Links,
}  # fmt: skip


def _topology(value: object) -> object:
    if isinstance(value, tuple(_TOPOLOGIES.values())):
        return value
    if not isinstance(value, Mapping):
        raise FieldError("", value, 'a table, like { kind = "leaf-spine", leaves = 4 }')
    kind = value.get("kind", MISSING)
    if not isinstance(kind, str) or kind not in _TOPOLOGIES:
        raise FieldError("kind", kind, one_of(_TOPOLOGIES))
    return read(_TOPOLOGIES[kind], value)


def _weights(value: object) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or not 0 < len(value) <= 8:  # noqa: PLR2004 - classes
        raise FieldError("", value, "a list of up to eight weights, that of class 0 first")
    try:
        return tuple(float(_WEIGHT.parse(each)) for each in value)
    except QuantityError as error:
        raise FieldError("", error.value, error.accepted) from None


class Switch(Table):
    """Memory, marking and pauses of every switch.

    Attributes:
        buffer: bytes that the ports of a switch share, with reserves and headrooms.
        pauses: whether its partners are paused (802.1Qbb) before it loses packets.
        reserve: bytes that each port has of its own.
        headroom: bytes of each port for what comes after a pause; automatic: 3 x rate x delay.
        alpha: factor of the dynamic threshold, alpha x (what is free).
        alpha_follows_rate: whether it doubles with each doubling of a port's rate above the hosts',
            up to 1.
        resume_offset: bytes below the threshold at which a pause ends.
        kmin: queue up to which nothing is marked.
        kmax: queue above which everything is marked.
        pmax: probability of a mark at ``kmax``.
        thresholds_at: rate that ``kmin`` and ``kmax`` are for; other ports have them in proportion.
            automatic: they are the same at every port.
        marks_at: whether a packet is marked as it leaves the queue, or as it joins it.
        scheduler: how classes take turns: "drr", by their weights in bytes, or "strict", the
            highest first.
        weights: of the classes 0, 1, ... in "drr"; 1 where the list ends.
    """

    buffer: Annotated[int, _SIZE] = 32 * 1024 * 1024
    pauses: bool = True
    reserve: Annotated[int, _SIZE] = 4096
    headroom: Annotated[float | None, _automatic_or(_SIZE)] = None
    alpha: Annotated[float, Quantity(RATIO, 0.0, 1024.0, minimum_excluded=True)] = 0.125
    alpha_follows_rate: bool = True
    resume_offset: Annotated[int, _SIZE] = 3072
    kmin: Annotated[int, _SIZE] = 100_000
    kmax: Annotated[int, _SIZE] = 400_000
    pmax: Annotated[float, _PART] = 0.2
    thresholds_at: Annotated[float | None, _automatic_or(_RATE)] = 25e9
    marks_at: Literal["departure", "arrival"] = "departure"
    scheduler: Literal["drr", "strict"] = "drr"
    weights: Annotated[tuple[float, ...], PlainValidator(_weights)] = (1.0,)

    @model_validator(mode="after")
    def _check_order(self) -> Switch:
        if self.kmin > self.kmax:
            raise FieldError("kmax", f"{self.kmax} bytes", f"at least kmin, {self.kmin} bytes")
        return self


class Sender(Table):
    """A rate-based end, or a sender of TCP, and what differs from its defaults.

    Attributes:
        congestion_control: its name.
        parameters: values by name, in the units of its table.
    """

    congestion_control: str
    parameters: dict[str, Any]

    @property
    def is_tcp(self) -> bool:
        """True if its ends are those of TCP."""
        return self.congestion_control not in rate_based_senders()


def _sender(value: object) -> Sender:
    if isinstance(value, Sender):
        return value
    given = {"congestion_control": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        accepted = 'a name, or a table like { congestion_control = "dcqcn-mellanox" }'
        raise FieldError("", value, accepted)
    given = dict(given)
    algorithm = fabric_sender(given.pop("congestion_control", MISSING))
    return Sender(congestion_control=algorithm.name, parameters=algorithm.parse(given))


_OWN_SENDER: Final = PlainValidator(lambda value: None if value is None else _sender(value))


class Receiver(Table):
    """Answers of every receiver.

    Attributes:
        acknowledgements: whether they go before data, neither marked nor paused, or with it.
        acknowledge_every: packets that share one.
        notification_interval: least time between two notifications (CNPs) of a flow; "none": marks
            are echoed by acknowledgements. automatic: 50 us for "dcqcn-paper", "none" for others.
    """

    acknowledgements: Literal["first", "data"] = "first"
    acknowledge_every: Annotated[int, Quantity(RATIO, 1.0, 1000.0, integer=True)] = 1
    notification_interval: Annotated[Any, Field()] = None

    @model_validator(mode="before")
    @classmethod
    def _read_interval(cls, value: object) -> object:
        if not isinstance(value, Mapping) or "notification_interval" not in value:
            return value
        given = value["notification_interval"]
        if given in {AUTOMATIC, None}:
            interval: object = None
        elif given == "none":
            interval = "none"
        else:
            try:
                interval = float(_INSTANT.parse(given))
            except QuantityError as error:
                accepted = f'{error.accepted}, "none" or "{AUTOMATIC}"'
                raise FieldError("notification_interval", given, accepted) from None
        return {**value, "notification_interval": interval}


class Packets(Table):
    """Sizes on the wire.

    Attributes:
        payload: of a full packet.
        header: of a packet.
        telemetry: added to packets of senders that read telemetry.
        acknowledgement: of an acknowledgement.
        notification: of a notification.
        pause: of the frame that pauses a link.
    """

    payload: Annotated[int, _PACKET] = 1000
    header: Annotated[int, _PACKET] = 48
    telemetry: Annotated[int, _PACKET] = 42
    acknowledgement: Annotated[int, _PACKET] = 60
    notification: Annotated[int, _PACKET] = 60
    pause: Annotated[int, _PACKET] = 64


def _sizes(value: object) -> Points:
    known = size_distributions()
    if isinstance(value, str) and value in known:
        return known[value]
    accepted = f'{one_of(known)}, or points like [["0 B", 0], ["10 kB", 0.5], ["1 MB", 1]]'
    if not isinstance(value, list | tuple) or len(value) < 2:  # noqa: PLR2004 - a line has two ends
        raise FieldError("", value, accepted)
    points: list[tuple[float, float]] = []
    for number, entry in enumerate(value):
        if not isinstance(entry, list | tuple) or len(entry) != 2:  # noqa: PLR2004 - a pair
            raise FieldError(str(number), entry, "a size and the part of transfers up to it")
        size = entry[0]
        try:
            points.append(
                (
                    float(size)
                    if isinstance(size, int | float)
                    else float(Quantity(SIZE, 0.0, 1e12).parse(size)),
                    float(_PART.parse(entry[1])),
                )
            )
        except QuantityError as error:
            raise FieldError(str(number), error.value, error.accepted) from None
        if len(points) > 1 and not (
            points[-2][0] <= points[-1][0] and points[-2][1] < points[-1][1]
        ):
            raise FieldError(str(number), entry, "points that rise")
    if points[0][1] != 0.0 or points[-1][1] != 1.0:
        raise FieldError("", value, "points from a part of 0 to a part of 1")
    return tuple(points)


class Poisson(Table):
    """Transfers at random instants from each host to any other.

    Attributes:
        sizes: "websearch", "hadoop", "alistorage", or points of a distribution.
        load: part of each host's rate that they ask for.
        start: when the first may begin.
        stop: when the last may begin; automatic: at the end of the run.
        sender: its ends, if others than those of the fabric.
        class_: its class, as switches pause it, 0 to 7; written ``class``.
    """

    sizes: Annotated[Points, PlainValidator(_sizes)]
    load: Annotated[float, _LOAD]
    start: Annotated[float, _INSTANT] = 0.0
    stop: Annotated[float | None, _automatic_or(_SPAN)] = None
    sender: Annotated[Sender | None, _OWN_SENDER] = None
    class_: Annotated[int, _CLASS] = Field(default=0, alias="class")


class Incast(Table):
    """Many hosts that send to one at once, once or again and again.

    Attributes:
        senders: how many.
        size: bytes from each.
        receiver: name of a host; automatic: one of all, at random.
        interval: mean time between two, at random instants; automatic: it happens once.
        load: part of all hosts' rate that they ask for, instead of an interval.
        start: when the first may begin.
        stop: when the last may begin; automatic: at the end of the run.
        sender: its ends, if others than those of the fabric.
        class_: its class, as switches pause it, 0 to 7; written ``class``.
    """

    senders: Annotated[int, _COUNT]
    size: Annotated[int, _TRANSFER]
    receiver: str | None = None
    interval: Annotated[float | None, _automatic_or(_SPAN)] = None
    load: Annotated[float | None, _automatic_or(_LOAD)] = None
    start: Annotated[float, _INSTANT] = 0.0
    stop: Annotated[float | None, _automatic_or(_SPAN)] = None
    sender: Annotated[Sender | None, _OWN_SENDER] = None
    class_: Annotated[int, _CLASS] = Field(default=0, alias="class")

    @model_validator(mode="after")
    def _check_one(self) -> Incast:
        if self.interval is not None and self.load is not None:
            raise FieldError("load", self.load, "an interval or a load, not both")
        return self


def _transfers(value: object) -> tuple[tuple[str | int, str | int, int, float], ...]:
    example = 'a list like [["host1", "host2", "20 MB", "0 s"]]'
    if not isinstance(value, list | tuple) or not 0 < len(value) <= MOST_TRANSFERS:
        raise FieldError("", value, f"{example}, of at most {MOST_TRANSFERS:,} transfers")
    rows = []
    for number, entry in enumerate(value):
        if not isinstance(entry, list | tuple) or len(entry) != 4:  # noqa: PLR2004 - as in the example
            raise FieldError(str(number), entry, "source, destination, size and start")
        source, destination, size, start = entry
        try:
            rows.append(
                (source, destination, int(_TRANSFER.parse(size)), float(_INSTANT.parse(start)))
            )
        except QuantityError as error:
            raise FieldError(str(number), error.value, error.accepted) from None
    return tuple(rows)


class Listed(Table):
    """Transfers as they are listed.

    Attributes:
        transfers: source, destination, size and start of each.
        sender: its ends, if others than those of the fabric.
        class_: its class, as switches pause it, 0 to 7; written ``class``.
    """

    transfers: Annotated[
        tuple[tuple[str | int, str | int, int, float], ...], PlainValidator(_transfers)
    ]
    sender: Annotated[Sender | None, _OWN_SENDER] = None
    class_: Annotated[int, _CLASS] = Field(default=0, alias="class")


class FromFile(Table):
    """Transfers from a CSV file with the columns source, destination, bytes and start_s.

    Attributes:
        file: its path, from where the scenario is.
        sender: its ends, if others than those of the fabric.
        class_: its class, as switches pause it, 0 to 7; written ``class``.
    """

    file: str
    sender: Annotated[Sender | None, _OWN_SENDER] = None
    class_: Annotated[int, _CLASS] = Field(default=0, alias="class")


class OpenLoop(Table):
    """Packets that are sent whatever the network does, and not acknowledged (UDP).

    Attributes:
        kind: "constant-rate", "poisson", or "on-off" with ``on`` and ``off``.
        rate: of each source, while it is on.
        packet_size: bytes on the wire; automatic: those of a full packet.
        source: name of a host; automatic: every host, each from a random part of a packet's time.
        destination: name of a host; automatic: for each source another host at random.
        on: length of an on time.
        off: length of an off time.
        ecn: whether packets are marked; otherwise they are dropped where others are marked.
        start: when it begins.
        stop: when it ends; automatic: at the end of the run.
        class_: its class, as switches pause it, 0 to 7; written ``class``.
    """

    kind: Literal["constant-rate", "poisson", "on-off"]
    rate: Annotated[float, _SOURCE_RATE]
    packet_size: Annotated[int | None, _automatic_or(_PACKET)] = None
    source: str | None = None
    destination: str | None = None
    on: TimeDistribution | None = None
    off: TimeDistribution | None = None
    ecn: bool = False
    start: Annotated[float, _INSTANT] = 0.0
    stop: Annotated[float | None, _automatic_or(_SPAN)] = None
    class_: Annotated[int, _CLASS] = Field(default=0, alias="class")

    @model_validator(mode="after")
    def _check_on_off(self) -> OpenLoop:
        for name, given in (("on", self.on), ("off", self.off)):
            if (given is None) == (self.kind == "on-off"):
                shown = MISSING if given is None else "a time"
                raise FieldError(name, shown, 'a time where kind is "on-off", and only there')
        return self

    def core(self) -> dict[str, object]:
        """When a source has packets, for the core."""
        source: dict[str, object] = {"kind": self.kind, "rate_bit_per_s": self.rate}
        if self.on is not None and self.off is not None:
            source |= {"on_ns": self.on.core(1e9), "off_ns": self.off.core(1e9)}
        return source


Traffic = Poisson | Incast | Listed | FromFile | OpenLoop

_TRAFFIC: Final[dict[str, type[Table]]] = {
    "sizes": Poisson, "senders": Incast, "transfers": Listed, "file": FromFile,
    "kind": OpenLoop,
}  # fmt: skip


def _traffic(value: object) -> tuple[Traffic, ...]:
    if isinstance(value, Mapping | Table):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise FieldError("", value, "a list of tables")
    parts: list[Any] = []
    for number, entry in enumerate(value):
        if isinstance(entry, tuple(_TRAFFIC.values())):
            parts.append(entry)
            continue
        kinds = [key for key in _TRAFFIC if isinstance(entry, Mapping) and key in entry]
        if len(kinds) != 1:
            accepted = f"a table with one of the keys {one_of(_TRAFFIC)}"
            raise FieldError(str(number), entry, accepted)
        try:
            parts.append(read(_TRAFFIC[kinds[0]], entry))
        except FieldError as error:
            raise error.under(str(number)) from None
    return tuple(parts)


class Watch(Table):
    """A queue that is watched.

    Attributes:
        link: its two nodes, like "leaf1-host2".
        start: since when.
        stop: until when; automatic: the end of the run.
    """

    link: str
    start: Annotated[float, _INSTANT] = 0.0
    stop: Annotated[float | None, _automatic_or(_SPAN)] = None


def _watches(value: object) -> tuple[Watch, ...]:
    if isinstance(value, Mapping | Watch):
        value = [value]
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise FieldError("", value, 'a list of tables, like [{ link = "leaf1-host2" }]')
    watches = []
    for number, entry in enumerate(value):
        try:
            watches.append(read(Watch, {"link": entry} if isinstance(entry, str) else entry))
        except FieldError as error:
            raise error.under(str(number)) from None
    return tuple(watches)


def _size_classes(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise FieldError("", value, 'a list of sizes, like ["30 kB", "1 MB"]')
    bounds: list[int] = []
    for number, entry in enumerate(value):
        try:
            size = entry if isinstance(entry, int) else int(_TRANSFER.parse(entry))
        except QuantityError as error:
            raise FieldError(str(number), error.value, error.accepted) from None
        if bounds and size <= bounds[-1]:
            raise FieldError(str(number), entry, "a size above the one before")
        bounds.append(size)
    return tuple(bounds)


class FabricTable(Table):
    """``[fabric]``: a fabric, its ends, its traffic and what is watched.

    Attributes:
        topology: ``kind`` and the keys of that kind.
        switch: memory, marking and pauses of every switch.
        sender: the ends of all transfers whose traffic names no others.
        receiver: how receivers answer.
        packets: sizes on the wire.
        traffic: a list of transfers, of random arrivals, of incasts, or of open-loop sources.
        watch: queues of which mean, deviation and percentiles are wanted.
        duration: when the run ends at the latest; before that it ends when all transfers are done
            and all open-loop sources have stopped.
        retransmission_timeout: time without progress after which a sender goes back.
        size_classes: bounds of the classes in the table of slowdowns.
    """

    topology: Annotated[Any, PlainValidator(_topology)]
    switch: Annotated[Switch, _reading(Switch)] = Field(default_factory=Switch)
    sender: Annotated[Sender, PlainValidator(_sender)] = Field(
        default_factory=lambda: _sender("dcqcn-mellanox")
    )
    receiver: Annotated[Receiver, _reading(Receiver)] = Field(default_factory=Receiver)
    packets: Annotated[Packets, _reading(Packets)] = Field(default_factory=Packets)
    traffic: Annotated[Any, PlainValidator(_traffic)]
    watch: Annotated[Any, PlainValidator(_watches)] = ()
    duration: Annotated[float, _SPAN] = 1.0
    retransmission_timeout: Annotated[float, _SPAN] = 0.01
    size_classes: Annotated[tuple[int, ...], PlainValidator(_size_classes)] = (
        30_000, 100_000, 300_000, 1_000_000, 3_000_000,
    )  # fmt: skip


class Document(Table):
    """A file with a fabric.

    Attributes:
        title: one line.
        fabric: the fabric.
    """

    title: str = ""
    fabric: Annotated[FabricTable, _reading(FabricTable)]
