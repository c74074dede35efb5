"""On-line control: keep a queue at its goal while the traffic changes.

:func:`run_online` controls a simulated network. docs/online.md tells how it works. The rooms, in
the order in which a decision passes through them:

- ``sense``: from counters to a picture of the traffic;
- ``model``: from a picture to a network that can be simulated, if it explains what is seen;
- ``plan``: from a model to a better setting;
- ``decide``: what to do with it, as a pure state machine;
- ``record``: what was seen, decided and done;
- ``drive``: routers, clocks and searches; the only room that touches anything.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.online.drive.run import run_online
    from vermilion.online.entries import Decision, OnlineRun

_HOMES = {"Decision": "entries", "OnlineRun": "entries", "run_online": "drive.run"}

__all__ = ["Decision", "OnlineRun", "run_online"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
