"""Reading of a question from the texts of the command's options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from vermilion.advise.margins import margins_for
from vermilion.advise.question import ANY, DEVICES, Question
from vermilion.advise.sonic_queue import queue_numbers
from vermilion.scenario import RATE, RATIO, TIME, QuantityError, ScenarioError
from vermilion.scenario.errors import did_you_mean
from vermilion.scenario.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

AnyWord = TypeVar("AnyWord", bound=str)

_RATE: Final = Quantity(RATE, 10e3, 1e12)
_ROUND_TRIP: Final = Quantity(TIME, 10e-6, 10.0)
_BOUND: Final = Quantity(TIME, 1e-6, 10.0)
_FLOWS: Final = Quantity(RATIO, 1, 10_000, integer=True)
_RANGES: Final = {
    "--rtt": "10 ms .. 60 ms",
    "--flows": "2 .. 40",
    "--rate": "5 Mbit/s .. 20 Mbit/s",
}
_WORD: Final = re.compile(r"[A-Za-z0-9:][A-Za-z0-9_.:@/-]{0,63}")
"""Names of interfaces and classes: they are printed in commands that somebody pastes, so there is
nothing in them that a shell would take for more than a letter. The classes of the kernel's own mq
begin with a colon."""


def read_question(
    *,
    rate: str,
    rtt: str,
    flows: str,
    delay_at_most: str,
    device: str = "linux",
    interface: str | None = None,
    parent: str | None = None,
    discipline: str = ANY,
    ecn: str = "off",
    interface_rate: str | None = None,
    seed: int = 1,
    quick: bool = False,
    harm: Sequence[str] = (),
) -> Question:
    """A question from texts with units, as the options of the command have them.

    Raises:
        ScenarioError: naming the option that is not accepted.
    """
    low, high = read_range("--flows", flows)
    kind = _choice("--device", device, DEVICES, device.strip().lower())
    if kind == "sonic":
        interface, parent = _sonic_queue(interface, parent)
    question = Question(
        rate_bit_per_s=_one("--rate", rate, _RATE),
        round_trip_s=read_range("--rtt", rtt),
        flows=(int(low), int(high)),
        bound_s=_one("--delay-at-most", delay_at_most, _BOUND),
        device=kind,
        interface=check_word("--interface", interface),
        parent=check_word("--parent", parent),
        discipline=discipline.strip() or ANY,
        ecn=_choice("--ecn", ecn, ("off", "on"), ecn) == "on",
        interface_rate_bit_per_s=_interface_rate(interface_rate, rate),
        seed=seed,
        quick=quick,
        harm=tuple(harm),
    )
    margins_for(question)
    return question


def read_range(option: str, text: str) -> tuple[float, float]:
    """The ends of "10 ms .. 60 ms" or "2 .. 40"; a single value is both.

    Args:
        option: ``--rtt``, ``--flows`` or ``--rate``.
        text: what was given.

    Raises:
        ScenarioError: it is not a range of that kind.
    """
    quantity = {"--rtt": _ROUND_TRIP, "--flows": _FLOWS, "--rate": _RATE}[option]
    unit = _RANGES[option]
    ends = text.split("..") if text.count("..") == 1 else [text]
    numbers = [_plain_number(end) if option == "--flows" else end for end in ends]
    try:
        first, last = quantity.parse(numbers[0]), quantity.parse(numbers[-1])
    except QuantityError:
        accepted = f'{quantity.accepted()}, or a range like "{unit}"'
        raise ScenarioError(option, text, accepted) from None
    if first > last:
        raise ScenarioError(option, text, f'the smaller end first, like "{unit}"')
    return float(first), float(last)


def check_option(option: str, text: str) -> None:
    """Refuses the text of one of the four options that a dialogue asks for.

    Raises:
        ScenarioError: it is not accepted.
    """
    if option in {"--rtt", "--flows"}:
        read_range(option, text)
    else:
        _one(option, text, {"--rate": _RATE, "--delay-at-most": _BOUND}[option])


def _one(option: str, text: str, quantity: Quantity) -> float:
    try:
        return float(quantity.parse(text))
    except QuantityError as error:
        raise ScenarioError(option, text, error.accepted) from None


def _interface_rate(text: str | None, rate: str) -> float | None:
    """Rate of the interface, no less than the bottleneck's.

    Raises:
        ScenarioError: it is less: then the bottleneck is the interface, and has its rate.
    """
    if text is None:
        return None
    found = _one("--interface-rate", text, _RATE)
    if found < _one("--rate", rate, _RATE):
        accepted = (
            f"at least the {rate} of --rate. If the interface is slower than the line, "
            f"give --rate '{text}'"
        )
        raise ScenarioError("--interface-rate", text, accepted)
    return found


def _plain_number(text: str) -> object:
    """A text of digits as its number; whatever else there is as it is, to be refused."""
    stripped = text.strip()
    return int(stripped) if re.fullmatch(r"[0-9]{1,9}", stripped) else stripped


def check_word(option: str, text: str | None) -> str | None:
    """The text, if it may stand in a command.

    Raises:
        ScenarioError: a shell could take it for more than a name.
    """
    if text is None or _WORD.fullmatch(text):
        return text
    raise ScenarioError(option, text, "a name of letters, digits and . : / _ - @, like eth0")


def _sonic_queue(interface: str | None, parent: str | None) -> tuple[str | None, str | None]:
    """The interface and the queue's number, also where both are in one word: "Ethernet4|1".

    Raises:
        ScenarioError: it is not the number of a queue, or there are two.
    """
    option, index = "--parent", parent
    if interface is not None and "|" in interface:
        name, _, own = interface.partition("|")
        if parent not in {None, own}:
            raise ScenarioError("--parent", str(parent), f"the queue of --interface, {own}")
        option, interface, index = "--interface", name, own
    if index is not None and queue_numbers(index) is None:
        shown = index if option == "--parent" else f"{interface}|{index}"
        example = "1, or 0-2" if option == "--parent" else "Ethernet4|1, or Ethernet4|0-2"
        raise ScenarioError(option, shown, f"a queue as the table QUEUE has it, like {example}")
    return interface, index


def _choice(option: str, text: str, choices: Sequence[AnyWord], word: str) -> AnyWord:
    """The choice that a word names.

    Raises:
        ScenarioError: with the text as it was given.
    """
    for each in choices:
        if word == each:
            return each
    raise ScenarioError(option, text, did_you_mean(text, choices))
