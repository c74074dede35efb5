"""Queues of this machine's Linux kernel, read and changed by netlink.

Pure are the codecs (one file for each kind of queue, :mod:`.options` is what they have in common),
the plan of a change (:mod:`.change`) and the discovery (:mod:`.discovery`);
:mod:`.route_socket` talks to the kernel, and :mod:`.router` puts them together.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.routers.linux.discovery import FoundInterface, FoundQueue, discover
    from vermilion.routers.linux.route_socket import RouteSocket
    from vermilion.routers.linux.router import LinuxRouter

_WHERE = {
    "FoundInterface": "discovery",
    "FoundQueue": "discovery",
    "LinuxRouter": "router",
    "RouteSocket": "route_socket",
    "discover": "discovery",
}

__all__ = ["FoundInterface", "FoundQueue", "LinuxRouter", "RouteSocket", "discover"]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
