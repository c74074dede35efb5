"""A queue's present setting in tc's words, to be pasted when a change has to be undone by hand.

The words are those of the device profiles. What tc cannot say is the nearest that it can; it
prints to a shell, so that an interface's name is quoted.

Without a handle, tc's ``change`` makes another queue where one of another kind stands by then
(net/sched/sch_api.c, tc_modify_qdisc). With the handle of the queue, the kernel refuses that.
"""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING, Final

from vermilion.profiles import LINUX_PROFILES, Place
from vermilion.profiles.linux_red import (
    nearest_probability,
    packet_and_burst,
    smallest_bursts,
    tc_change,
)
from vermilion.routers.linux.discovery import handle_text, parent_text
from vermilion.routers.linux.fq import FQ_OFF_US
from vermilion.routers.linux.kinds import options_of
from vermilion.routers.linux.message import ROOT
from vermilion.routers.linux.options import CODEL_OFF_US
from vermilion.routers.linux.red_family import BITS
from vermilion.scenario import disciplines, scenario_from_document
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.discovery import QueueAddress

_LINK: Final = "queue"
_RATE_BIT_PER_S: Final = 10e6
"""What tc takes where nobody says a rate; it matters for RED's table of decay alone."""

_USUAL_PACKET: Final = 1000


def tc_command(
    address: QueueAddress,
    kind: str,
    handle: int,
    values: Mapping[str, ParameterValue],
    rate_bit_per_s: float | None,
) -> str | None:
    """The call of tc that sets a queue to these values; ``None`` where there is none.

    Args:
        address: of the queue.
        kind: the kernel's word.
        handle: of the queue; 0: it has none.
        values: every parameter, as the kernel has it.
        rate_bit_per_s: of the link; ``None``: not known.
    """
    parent = None if address.parent == ROOT else parent_text(address.parent)
    place = Place(device=shlex.quote(address.interface), parent=parent)
    if any(name not in values for name in options_of(kind).settable):
        return None  # the kernel does not say all of them
    writer = _WRITERS.get(kind, _profile_command)
    try:
        command = writer(kind, values, place, rate_bit_per_s or _RATE_BIT_PER_S)
    except ScenarioError:
        return None  # a setting that only the kernel knows
    if command is None or not handle:
        return command
    where = " ".join(tc_change(place))
    return f"{where} handle {handle_text(handle)}{command.removeprefix(where)}"


def rebuilt_tc_command(
    address: QueueAddress, parameters: Mapping[str, ParameterValue], recorded: str
) -> str | None:
    """The call of tc that sets a queue to a recorded setting; ``None`` where there is none.

    Args:
        address: of the queue.
        parameters: the recorded setting.
        recorded: a call of :func:`tc_command`, of which kind, handle and rate are taken.

    Raises:
        ValueError: a parameter has no such value; LookupError, TypeError too.
    """
    match = _RECORDED.match(recorded)
    discipline = options_of(match["kind"]).discipline if match else None
    if match is None or discipline is None:
        return None
    table = disciplines()[discipline].parameters
    if any(
        table[name].parse(table[name].exact_text(own)) != own for name, own in parameters.items()
    ):
        return None
    handle = int(match["handle"] or "0", 16) << 16
    rate = float(match["rate"]) if match["rate"] else None
    return tc_command(address, match["kind"], handle, parameters, rate)


_RECORDED: Final = re.compile(
    r"tc qdisc change dev \S+ (?:root|parent \S+) (?:handle (?P<handle>[0-9a-f]{1,4}): )?"
    r"(?P<kind>[a-z_]+) (?:.* bandwidth (?P<rate>[0-9]{1,15})bit )?"
)


def _profile_command(
    kind: str,
    values: Mapping[str, ParameterValue],
    place: Place,
    rate: float,
) -> str | None:
    discipline = options_of(kind).discipline
    if discipline is None:
        return None
    command = profile_command(discipline, values, place, rate)
    return command and " ".join([command, *_left_out(kind, values, command)])


def profile_command(
    discipline: str,
    values: Mapping[str, ParameterValue],
    place: Place,
    rate_bit_per_s: float | None = None,
) -> str | None:
    """The call of tc for a discipline, by its device profile; ``None``: Linux has no such queue.

    Args:
        discipline: Vermilion's.
        values: its parameters; those that are left away are as tc has them.
        place: of the queue.
        rate_bit_per_s: of the link, which only RED's table of decay uses; ``None``: not known.

    Raises:
        ScenarioError: a value that is not accepted.
    """
    profile = LINUX_PROFILES.get(discipline)
    if profile is None:
        return None
    table = disciplines()[discipline].parameters
    own = {name: table[name].exact_text(value) for name, value in values.items()}
    link = {
        "rate": f"{rate_bit_per_s or _RATE_BIT_PER_S!r} bit/s",
        "delay": "0 s",
        "queue": {"discipline": discipline, **own},
    }
    flow = {
        "path": [_LINK],
        "rtt": "10 ms",
        "sender": "reno",
        "packet_size": f"{_USUAL_PACKET} bytes",
    }
    document = {"title": "one queue", "duration": "1 s", "links": {_LINK: link}}
    scenario = scenario_from_document({**document, "flows": {"any": flow}}, "linux")
    return profile(scenario, _LINK).command({}, place)


def _left_out(kind: str, values: Mapping[str, ParameterValue], command: str) -> list[str]:
    """Words of tc for what no profile tunes."""
    words = []
    if kind in {"pie", "fq_pie"}:
        words.append("bytemode" if values["byte_mode"] else "nobytemode")
        words.append("dq_rate_estimator" if values["estimate_rate"] else "no_dq_rate_estimator")
    off = {"codel": CODEL_OFF_US, "fq_codel": CODEL_OFF_US, "fq": FQ_OFF_US}.get(kind)
    if off is not None and " ce_threshold " not in command:
        threshold = values["ce_threshold"]
        known = round(1e6 * threshold) if isinstance(threshold, float) else off
        words.append(f"ce_threshold {known}us")
    return words


def _choke(
    kind: str,  # noqa: ARG001 - as of the others
    values: Mapping[str, ParameterValue],
    place: Place,
    rate: float,
) -> str | None:
    weight, low, high = (values[name] for name in ("weight", "min_threshold", "max_threshold"))
    if not (isinstance(weight, float) and isinstance(low, int) and isinstance(high, int)):
        return None
    wanted = round(-math.log2(weight))
    bursts = smallest_bursts(low * _USUAL_PACKET, _USUAL_PACKET)
    taken = [log for log in bursts if log + high.bit_length() <= BITS]  # the kernel refuses others
    if not taken:
        return None
    nearest = min(taken, key=lambda log: abs(log - wanted))
    words = [
        *tc_change(place),
        f"choke limit {values['limit']} min {low} max {high}",
        f"avpkt {_USUAL_PACKET} burst {bursts[nearest]} bandwidth {round(rate)}bit",
        f"probability {values['max_probability']!r}",
    ]
    return " ".join([*words, "ecn"] if values["ecn"] else words)


def _red(
    kind: str,  # noqa: ARG001 - as of the others
    values: Mapping[str, ParameterValue],
    place: Place,
    rate: float,
) -> str | None:
    low, high, log = values["min_threshold"], values["max_threshold"], values["weight_log"]
    share = values["max_probability"]
    if not (isinstance(low, int) and isinstance(high, int) and isinstance(log, int)):
        return None
    averaged = packet_and_burst(low, log, _USUAL_PACKET)
    if averaged is None or not isinstance(share, float):
        return None
    words = [
        *tc_change(place),
        f"red limit {values['limit']} min {low} max {high}",
        f"avpkt {averaged[0]} burst {averaged[1]} bandwidth {round(rate)}bit",
        f"probability {nearest_probability(low, high, share)!r}",
    ]
    return " ".join([*words, *(word for name, word in _RED_FLAGS.items() if values[name])])


def _fifo(
    kind: str,
    values: Mapping[str, ParameterValue],
    place: Place,
    rate: float,  # noqa: ARG001 - as of the others
) -> str:
    [limit] = options_of(kind).settable
    return " ".join([*tc_change(place), kind, f"limit {values[limit]}"])


_RED_FLAGS: Final = {
    "ecn": "ecn",
    "drop_above_maximum": "harddrop",
    "no_drop": "nodrop",
    "adaptive": "adaptive",
}
_WRITERS: Final[Mapping[str, Callable[..., str | None]]] = {
    "red": _red,
    "choke": _choke,
    "pfifo": _fifo,
    "bfifo": _fifo,
    "pfifo_head_drop": _fifo,
}
