"""Disciplines and senders under names that other systems have for them, and some that are missing.

Who asks for ``cake`` is not helped by the name that looks most like it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import likeliest, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SAME: Final[Mapping[str, str]] = {
    "pfifo": "drop-tail",
    "bfifo": "drop-tail",
    "pfifo_fast": "drop-tail",
    "fifo": "drop-tail",
    "droptail": "drop-tail",
    "taildrop": "drop-tail",
    "tail-drop": "drop-tail",
    "ared": "adaptive-red",
    "gred": "wred",
    "fqcodel": "fq-codel",
    "fqpie": "fq-pie",
    "l4s": "dualpi2",
    "dctcp-step": "step",
    "step-marking": "step",
    "bbrv1": "bbr1",
    "bbr2": "bbr",
    "bbr3": "bbr",
    "bbrv3": "bbr",
    "new-reno": "newreno",
    "tcp-prague": "prague",
}
"""What Vermilion calls the same thing."""

_MISSING: Final[Mapping[str, str]] = {
    "cake": 'CAKE as a whole is not there; its parts are "fq-codel" for the queues of flows and '
    '"cobalt" for what is dropped, and the link\'s rate for its shaper',
    "sfb": 'SFB is not there; "blue" is what it does within one queue',
    "sfq": 'SFQ is not there; "fq" also serves flows in turn and drops at the tail of each',
    "htb": "HTB is a shaper and no discipline: give the link its rate",
    "tbf": "TBF is a shaper and no discipline: give the link its rate",
    "vegas": 'Vegas is not there; "ledbat" also backs off when it has to wait',
    "compound": 'Compound is not there; "cubic" and "newreno" are nearest',
}
"""What is not simulated, and what comes near it."""


def accepted_algorithm(given: str, known: Iterable[str]) -> str:
    """What is accepted in place of a name that is not there, the likeliest first or last.

    Args:
        given: the name.
        known: those that are there.
    """
    names = list(known)
    plain = given.lower().replace("_", "-")
    same = plain if plain in names else _SAME.get(given.lower(), _SAME.get(plain, ""))
    if same in names:
        return f'{one_of(names)} (here it is called "{same}")'
    missing = _MISSING.get(plain)
    if missing is not None:
        return f"{one_of(names)} ({missing})"
    return f"{one_of(names)}{likeliest(given, names)}"
