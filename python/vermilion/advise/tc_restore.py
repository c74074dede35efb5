"""The words of tc that put a queue back as tc has shown it.

Sources: ``print_opt`` and ``parse_opt`` of each tc/q_*.c of iproute2 6.1 to 7.1. Most options are
taken in the words in which they are printed. Whatever is shown and is not among them is named, so
that nobody has to find out later that it is gone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import on_device
from vermilion.advise.tc_cake import cake_words
from vermilion.advise.tc_queue import restore_red
from vermilion.profiles import PROFILES, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from vermilion.advise.question import Question, QueueSetting
    from vermilion.advise.tc_queue import TcQueue

    Writer = Callable[[TcQueue, str], str | None]


@dataclass(frozen=True, slots=True)
class Restored:
    """A queue to be put back.

    Attributes:
        words: for tc, like "fq_codel limit 10240 ...", where another kind stands by then.
        changed: the same where one of its kind does, which tc then only changes: without what
            cannot be changed.
        missing: options that are shown and do not come back, in tc's words.
    """

    words: str
    changed: str
    missing: tuple[str, ...] = ()


def restore_arguments(question: Question, queue: TcQueue, setting: QueueSetting) -> Restored:
    """Command arguments that put a queue back.

    Args:
        question: with the rate, which red's words have.
        queue: as tc shows it.
        setting: as it is simulated.
    """
    if queue.kind in _WRITERS:
        return _written(queue, _WRITERS[queue.kind])
    told: Collection[str] = queue.options  # of a shaper, which stays where it is
    if queue.kind == "cake":
        words, told = cake_words(queue)
    elif queue.kind == "red":
        words, told = restore_red(queue, _red(question, setting), _OF_RED)
    elif queue.kind in {"htb", "hfsc"}:
        words = f"pfifo limit {setting.parameters['limit']:.0f}"  # what a class has of its own
    elif queue.kind == "tbf":
        words = f"bfifo limit {setting.parameters['limit_bytes']:.0f}"  # likewise
    else:
        words, told = queue.kind, _OF_BANDS
    return Restored(words, words, _missing(queue, told))


def _missing(queue: TcQueue, told: Collection[str]) -> tuple[str, ...]:
    """The options that are shown, but neither told again nor switched off."""
    return tuple(
        name
        for name, value in queue.options.items()
        if value is not False and name not in told and _OPTION.fullmatch(name)
    )


def _written(queue: TcQueue, writers: Mapping[str, Writer]) -> Restored:
    """A kind whose options are taken as they are printed."""
    texts = {name: text for name, write in writers.items() if (text := write(queue, name))}
    changed = [text for name, text in texts.items() if name not in _MADE_WITH]
    told = {"offloaded", "bands", *texts}
    return Restored(
        " ".join([queue.kind, *texts.values()]),
        " ".join([queue.kind, *changed]),
        _missing(queue, told),
    )


def _number(queue: TcQueue, name: str) -> str | None:
    """Packets, bytes or whatever else is a number without a unit."""
    number = queue.number(name)
    return None if number is None else f"{name} {number:.0f}"


def _time(queue: TcQueue, name: str) -> str | None:
    """Time rounded to whole milliseconds where units of 1.024 us have missed them."""
    seconds = queue.number(name)
    if seconds is None:
        return None
    whole = round(_MILLISECONDS * seconds)
    near = abs(seconds - whole / _MILLISECONDS) < _KERNEL_UNIT_S
    return f"{name} {1000 * whole if near and whole else round(1e6 * seconds)}us"


def _short_time(queue: TcQueue, name: str) -> str | None:
    seconds = queue.number(name)
    return None if seconds is None else f"{name} {1e9 * seconds:.0f}ns"


def _rate(queue: TcQueue, name: str) -> str | None:
    rate = queue.number(name)
    return None if rate is None else f"{name} {rate:.0f}bit"


def _switch(queue: TcQueue, name: str) -> str | None:
    return name if queue.is_on(name) else None


def _ecn(queue: TcQueue, name: str) -> str:
    """Option for ECN on or off: kernel defaults differ by kind."""
    return name if queue.is_on(name) else f"no{name}"


def _pacing(queue: TcQueue, name: str) -> str | None:
    """Option of fq's pacing: "pacing" in JSON, "nopacing" in text."""
    off = queue.is_on("nopacing") or queue.options.get("pacing") is False
    return name if off else None


def _list(queue: TcQueue, name: str) -> str | None:
    value = queue.options.get(name)
    return f"{name} {value}" if isinstance(value, str) and _LIST.fullmatch(value) else None


def _priorities(queue: TcQueue, name: str) -> str | None:
    """Option of fq's priomap; tc wants the number of bands before it."""
    numbers = _list(queue, name)
    return None if numbers is None else f"bands 3 {numbers}"


_MILLISECONDS: Final = 1e3
_KERNEL_UNIT_S: Final = 2e-6
_MADE_WITH: Final = frozenset({"flows", "divisor"})
"""What the kernel refuses to change while a queue is in use."""

_OPTION: Final = re.compile(r"[A-Za-z][a-z_-]{0,30}")
_LIST: Final = re.compile(r"[0-9]{1,10}( [0-9]{1,10}){0,31}")

_CODEL: Final[Mapping[str, Writer]] = {
    "limit": _number,
    "target": _time,
    "ce_threshold": _time,
    "interval": _time,
    "ecn": _ecn,
}
_PIE: Final[Mapping[str, Writer]] = {
    "limit": _number,
    "target": _time,
    "tupdate": _time,
    "alpha": _number,
    "beta": _number,
    "ecn": _ecn,
    "bytemode": _switch,
    "dq_rate_estimator": _switch,
}
_WRITERS: Final[Mapping[str, Mapping[str, Writer]]] = {
    "pfifo": {"limit": _number},
    "bfifo": {"limit": _number},
    "pfifo_head_drop": {"limit": _number},
    "codel": _CODEL,
    "fq_codel": {
        "limit": _number,
        "flows": _number,
        "quantum": _number,
        **{name: write for name, write in _CODEL.items() if name not in {"limit", "ecn"}},
        "memory_limit": _number,
        "ecn": _ecn,
        "drop_batch": _number,
    },
    "pie": _PIE,
    "fq_pie": {
        "limit": _number,
        "flows": _number,
        **_PIE,
        "quantum": _number,
        "memory_limit": _number,
        "ecn_prob": _number,
    },
    "fq": {
        "limit": _number,
        "flow_limit": _number,
        "buckets": _number,
        "orphan_mask": _number,
        "nopacing": _pacing,
        "priomap": _priorities,
        "weights": _list,
        "quantum": _number,
        "initial_quantum": _number,
        "maxrate": _rate,
        "low_rate_threshold": _rate,
        "refill_delay": _time,
        "ce_threshold": _time,
        "timer_slack": _short_time,
        "horizon": _time,
        "horizon_cap": _switch,
        "horizon_drop": _switch,
        "offload_horizon": _time,
    },
    "sfq": {
        "limit": _number,
        "quantum": _number,
        "depth": _number,
        "headdrop": _switch,
        "flows": _number,
        "divisor": _number,
        "perturb": _number,
    },
}
"""How the options of each kind are written, in the order of tc's own."""

_OF_RED: Final = frozenset(
    {
        "limit", "min", "max", "ecn", "harddrop", "nodrop", "adaptive", "ewma", "probability",
        "max_p", "Scell_log", "offloaded",
    }
)  # fmt: skip
"""What the words of the profile have, or follows from them."""

_OF_BANDS: Final = frozenset({"bands", "priomap", "multiqueue", "offloaded"})
"""Of pfifo_fast: they are always the same."""


def _red(question: Question, setting: QueueSetting) -> str:
    """By the profile: what tc takes is no weight, but a burst from which it makes one."""
    profile = on_device(PROFILES["linux-red"], question, setting)
    return profile.command({}, Place(verb="replace")).partition(" root ")[2]
