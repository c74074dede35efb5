"""Traffic of a flow group: its kinds, and the keys of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, StrictBool, StrictStr, model_validator

from vermilion.scenario.distributions import Size, SizeDistribution, Time, TimeDistribution
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean, one_of
from vermilion.scenario.quantities import RATE, TIME, Quantity
from vermilion.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection

LARGEST_RATE_BIT_PER_S: Final = 1e13
"""bit/s; beyond 10 Tbit/s a small packet's transmission would round to 0 ns."""

Rate = Annotated[float, Quantity(RATE, minimum=1.0, maximum=LARGEST_RATE_BIT_PER_S)]

_Segment: Final = Quantity(TIME, minimum=0.001, maximum=1e6)

_MOST_RATES: Final = 100

# The keys that a kind needs, and an example with all of them.
_OPEN_ON_OFF: Final = (
    ("rate", "on", "off"),
    '{ kind = "on-off", rate = "1 Mbit/s", on = "500 ms", off = "500 ms" }',
)
_SENDER_ON_OFF: Final = (
    ("size", "off"),
    '{ kind = "on-off", size = "100 kB", off = "500 ms" }',
)
_FORMS: Final = {
    "bulk": ((), '{ kind = "bulk" }'),
    "transfer": (("size",), '{ kind = "transfer", size = "1 MB" }'),
    "web": (("mean_gap", "size"), '{ kind = "web", mean_gap = "50 ms", size = "30 kB" }'),
    "on-off": _SENDER_ON_OFF,
    "requests": (
        ("size", "think"),
        '{ kind = "requests", size = "30 kB", think = "100 ms" }',
    ),
    "video": (
        ("rates", "segment", "buffer"),
        '{ kind = "video", rates = ["1 Mbit/s", "4 Mbit/s"], segment = "4 s", buffer = "30 s" }',
    ),
    "trace": (("file",), '{ kind = "trace", file = "flows.csv" }'),
    "constant-rate": (("rate",), '{ kind = "constant-rate", rate = "1 Mbit/s" }'),
    "poisson": (("rate",), '{ kind = "poisson", rate = "1 Mbit/s" }'),
}
_OPTIONAL: Final = {"poisson": ("packet_size",), "requests": ("barrier",), "video": ("rule",)}
TRAFFIC_KINDS: Final = tuple(_FORMS)


def _keys_and_example(kind: str, given: Collection[str]) -> tuple[tuple[str, ...], str]:
    """Keys that traffic needs, and an example with all of them.

    Args:
        kind: of the traffic.
        given: the keys that are written, which tell the two forms of "on-off" apart.
    """
    if kind == "on-off" and ("rate" in given or "on" in given):
        return _OPEN_ON_OFF
    return _FORMS[kind]


def _written_form(traffic: object) -> tuple[str, tuple[str, ...], str] | None:
    """Kind, keys and example of traffic as written; ``None`` where it is none."""
    given = {"kind": traffic} if isinstance(traffic, str) else traffic
    if not isinstance(given, Mapping):
        return None
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in TRAFFIC_KINDS:
        return None
    return kind, *_keys_and_example(kind, given)


def keys_of(traffic: object) -> tuple[str, ...] | None:
    """Keys that traffic of its kind may have; ``None`` if the kind is unknown.

    Args:
        traffic: as it is written, a table or the name of a kind.
    """
    form = _written_form(traffic)
    return None if form is None else ("kind", *form[1], *_OPTIONAL.get(form[0], ()))


def example_of(traffic: object) -> str:
    """Example of traffic of the same kind; "" if the kind is unknown."""
    form = _written_form(traffic)
    return "" if form is None else form[2]


def sends_by_itself(traffic: object) -> bool:
    """Return whether traffic as written is open-loop, and has no sender."""
    form = _written_form(traffic)
    return form is not None and "rate" in form[1]


class Traffic(Table):
    """``traffic`` of a flow group.

    "bulk" always has data. "transfer" has a number of bytes, once. "web", "on-off" with a size
    and "trace" begin transfers while the network runs; those of "requests" and "video" share one
    connection. All these need a sender;
    "constant-rate", "poisson" and "on-off" with a rate are open-loop (UDP): they send at their
    own rate whatever the network does, and have none.
    """

    kind: Literal[
        "bulk",
        "transfer",
        "web",
        "on-off",
        "requests",
        "video",
        "trace",
        "constant-rate",
        "poisson",
    ] = Field(description=one_of(TRAFFIC_KINDS))
    rate: Rate | None = Field(default=None, description="bit/s of each flow, open-loop kinds only")
    packet_size: Literal["constant", "exponential"] | None = Field(
        default=None, description='of "poisson": "constant" (default) or "exponential"'
    )
    size: SizeDistribution | None = Field(default=None, description="bytes of a transfer")
    mean_gap: Annotated[float, Time] | None = Field(
        default=None, description='of "web": mean time between the arrivals of one source, s'
    )
    on: TimeDistribution | None = Field(default=None, description="length of an on time, s")
    off: TimeDistribution | None = Field(default=None, description="length of an off time, s")
    think: TimeDistribution | None = Field(
        default=None, description='of "requests": from one transfer to the next, s'
    )
    barrier: StrictBool | None = Field(
        default=None, description='of "requests": all flows of the group wait for each other'
    )
    rates: tuple[Rate, ...] | None = Field(
        default=None, description='of "video": bit/s in which there are segments, ascending'
    )
    segment: Annotated[float, _Segment] | None = Field(
        default=None, description='of "video": playing time of a segment, s'
    )
    buffer: Annotated[float, _Segment] | None = Field(
        default=None, description='of "video": playing time that is kept at most, s'
    )
    rule: Literal["buffer", "throughput"] | None = Field(
        default=None,
        description='of "video": rule for the rate, "buffer" (default) or "throughput"',
    )
    file: StrictStr | None = Field(default=None, description="a CSV file of starts and sizes")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        field = "kind"
        if isinstance(value, str):
            field, value = "", {"kind": value}
        if not isinstance(value, dict):
            raise FieldError("", value, "the name of a kind of traffic or a table with kind")
        kind = value.get("kind", "bulk")
        if kind not in TRAFFIC_KINDS:
            given = kind if isinstance(kind, str) else ""
            raise FieldError(field, kind, did_you_mean(given, TRAFFIC_KINDS))
        return value

    @model_validator(mode="after")
    def _check_keys(self) -> Traffic:
        given = {key: getattr(self, key) for key in type(self).model_fields if key != "kind"}
        given = {key: value for key, value in given.items() if value is not None}
        required, example = _keys_and_example(self.kind, given)
        for key in required:
            if key not in given:
                accepted = f"a table, like {example}"
                raise (
                    FieldError(key, MISSING, accepted)
                    if given
                    else FieldError("", self.kind, accepted)
                )
        for key, value in given.items():
            if key not in {*required, *_OPTIONAL.get(self.kind, ())}:
                shown = "a distribution" if isinstance(value, Table) else value
                raise FieldError(key, shown, f"no {key} here: {self.kind} traffic is {example}")
        if self.kind == "video":
            self._check_video()
        if self.kind == "transfer" and self.size is not None and self.size.value is None:
            raise FieldError("size", self.size.distribution, Size.accepted())
        return self

    def _check_video(self) -> None:
        rates, segment, buffer = self.rates or (), self.segment or 0.0, self.buffer or 0.0
        if not 1 <= len(rates) <= _MOST_RATES or list(rates) != sorted(set(rates)):
            raise FieldError("rates", list(rates), f"1 to {_MOST_RATES} rates that ascend")
        if buffer < segment:
            raise FieldError("buffer", f"{buffer:g} s", f"at least a segment, {segment:g} s")

    @property
    def is_open_loop(self) -> bool:
        """True if it sends whatever the network does."""
        return self.rate is not None

    def core(self) -> dict[str, object]:
        """Return it for the core; the file of a trace is read elsewhere."""
        if self.kind == "transfer" and self.size is not None:
            return {"kind": "transfer", "size_bytes": round(self.size.value or 0.0)}
        kind = "bursts" if self.kind == "on-off" and not self.is_open_loop else self.kind
        lowered: dict[str, object] = {"kind": kind}
        if self.rate is not None:
            lowered["rate_bit_per_s"] = round(self.rate)
        if self.kind == "poisson":
            lowered["packet_size"] = self.packet_size or "constant"
        if self.mean_gap is not None:
            lowered["mean_gap_ns"] = self.mean_gap * 1e9
        if self.kind == "video":
            lowered["rates_bit_per_s"] = list(self.rates or ())
            lowered["segment_ns"] = round((self.segment or 0.0) * 1e9)
            lowered["buffer_ns"] = round((self.buffer or 0.0) * 1e9)
            lowered["rule"] = self.rule or "buffer"
        if self.think is not None:
            lowered["think_ns"] = self.think.core(1e9)
            lowered["barrier"] = self.barrier or False
        if self.size is not None:
            lowered["size"] = self.size.core(1.0)
        if self.on is not None:
            lowered["on_ns"] = self.on.core(1e9)
        if self.off is not None:
            lowered["off_ns"] = self.off.core(1e9)
        return lowered
