"""What a link's wire does: losses, and rates that vary by a schedule or a recorded trace."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import PlainValidator, model_validator

from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.scenario.quantities import RATE, RATIO, TIME, Quantity, QuantityError
from vermilion.scenario.table import Table

if TYPE_CHECKING:
    from vermilion.scenario.model import Link, Scenario

NANOSECONDS: Final = 1_000_000_000

OPPORTUNITY_BYTES: Final = 1500
"""What an opportunity of a trace can deliver; Mahimahi's own 1504 include a header of 4 bytes."""

LONGEST_SCHEDULE: Final = 1_000_000
LARGEST_TRACE_BYTES: Final = 64 * 1024 * 1024
LONGEST_TRACE_MS: Final = 10**9

_PROBABILITY: Final = Quantity(RATIO, minimum=0.0, maximum=1.0)
_STEP_TIME: Final = Quantity(TIME, minimum=0.0, maximum=1e6)
_STEP_RATE: Final = Quantity(RATE, minimum=0.0, maximum=1e13)

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
    def _keys_fit_the_model(cls, value: object) -> object:
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


def check_rates(link: Link) -> None:
    """Refuses a link with two rates or none.

    Raises:
        FieldError: what is there and should not be, or the other way round.
    """
    from vermilion.scenario.errors import MISSING
    from vermilion.scenario.quantities import format_quantity

    given = [key for key in ("rate", "rate_schedule", "trace") if key in link.model_fields_set]
    if not given:
        accepted = f"{Quantity(RATE).accepted()}, a rate_schedule or a trace"
        raise FieldError("rate", MISSING, accepted)
    if len(given) > 1:
        raise FieldError(given[1], f"{given[1]} beside {given[0]}", "one of them")
    if link.repeat is None:
        return
    if link.rate_schedule is None:
        shown = format_quantity(link.repeat, TIME)
        raise FieldError("repeat", shown, "nothing where there is no rate_schedule")
    if link.repeat <= link.rate_schedule[-1][0]:
        last = format_quantity(link.rate_schedule[-1][0], TIME)
        shown = format_quantity(link.repeat, TIME)
        raise FieldError("repeat", shown, f"a time after the last step, {last}")


def nominal_rate(scenario: Scenario, name: str) -> float:
    """The one rate of a link, in bit/s: where it varies, the mean.

    The mean is over one repetition of a schedule or trace, or over the scenario's duration.

    Raises:
        FieldError: the trace cannot be read.
    """
    link = scenario.links[name]
    if link.rate_schedule is not None:
        end = link.repeat or max(scenario.duration, link.rate_schedule[-1][0])
        ends = [*(time for time, _ in link.rate_schedule[1:]), end]
        bits = sum(
            rate * (until - time)
            for (time, rate), until in zip(link.rate_schedule, ends, strict=True)
        )
        return bits / end
    if link.trace is not None:
        times = opportunities_ms(scenario, name)
        return len(times) * OPPORTUNITY_BYTES * 8e3 / times[-1]
    return link.rate


def opportunities_ms(scenario: Scenario, name: str) -> tuple[int, ...]:
    """The delivery opportunities of a link's trace, in ms.

    Raises:
        FieldError: the file cannot be read, or a line of it is not accepted.
    """
    field = f"links.{name}.trace"
    written = scenario.links[name].trace or ""
    path = Path(scenario.origin).parent / written
    try:
        status = path.stat()
        return _opportunities(path, status.st_mtime_ns, status.st_size)
    except FieldError as error:
        raise error.under(field) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        accepted = f"a file that can be read; {path} cannot ({reason})"
        raise FieldError(field, written, accepted) from None


@lru_cache(maxsize=16)
def _opportunities(path: Path, modified_ns: int, size: int) -> tuple[int, ...]:
    """Reads a trace; a file that was changed is read again."""
    import numpy as np

    del modified_ns
    if not path.is_file():  # a device may have no end
        raise FieldError("", str(path), "a file, and no directory or device")
    if size > LARGEST_TRACE_BYTES:
        raise FieldError("", str(path), "a file of at most 64 MiB")
    lines = path.read_bytes().splitlines()
    if not lines:
        raise FieldError("", str(path), "a file with a time in ms on each line")
    accepted = "a whole number of ms on each line, none below the one before"
    wrong = next(
        (number for number, line in enumerate(lines) if not (line.isdigit() and len(line) < 11)),  # noqa: PLR2004 - longer numbers are no times
        None,
    )
    times = np.array(lines[:wrong], dtype=np.int64)
    falls = np.flatnonzero(np.diff(times) < 0)
    if len(falls):
        wrong = int(falls[0]) + 1
    if wrong is not None:
        shown = lines[wrong][:40].decode("ascii", "replace")
        raise FieldError("", f"{path}, line {wrong + 1}: {shown}", accepted)
    if not 0 < times[-1] <= LONGEST_TRACE_MS:
        shown = f"{path}, line {len(lines)}: {times[-1]}"
        raise FieldError("", shown, f"a last time from 1 to {LONGEST_TRACE_MS} ms")
    return tuple(times.tolist())


def schedule_to_core(link: Link) -> dict[str, object] | None:
    """The schedule of a link's rates as the core reads it; ``None`` where it has none."""
    if link.rate_schedule is None:
        return None
    return {
        "steps": [[round(time * NANOSECONDS), round(rate)] for time, rate in link.rate_schedule],
        "repeat_ns": None if link.repeat is None else round(link.repeat * NANOSECONDS),
    }


def trace_to_core(scenario: Scenario, name: str) -> dict[str, object] | None:
    """The delivery opportunities of a link as the core reads them; ``None`` where it has no trace.

    Raises:
        FieldError: the trace cannot be read.
    """
    if scenario.links[name].trace is None:
        return None
    times = [time * 1_000_000 for time in opportunities_ms(scenario, name)]
    return {"opportunities_ns": times, "bytes": OPPORTUNITY_BYTES}
