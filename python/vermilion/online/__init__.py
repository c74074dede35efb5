"""On-line control: keep a queue at its target while the traffic changes.

:func:`run_online` controls a simulated network; :class:`vermilion.online.controller.Controller`
controls any :class:`vermilion.routers.ManagedQueue`. docs/online.md tells how it works.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.online.record import Decision, OnlineRun
    from vermilion.online.run import run_online

_HOMES = {"Decision": "record", "OnlineRun": "record", "run_online": "run"}

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
