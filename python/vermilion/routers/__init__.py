"""Managed queues: one interface, one module and one registry line per kind of router.

To add a kind: implement :class:`vermilion.routers.base.ManagedQueue` in a module of this
package and add its line to :data:`ROUTER_KINDS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from vermilion.routers.base import (
    LinkConfiguration,
    ManagedQueue,
    ParameterValue,
    Reading,
    RouterError,
    RttSamples,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUTER_KINDS: Mapping[str, str] = {
    "linux": "vermilion.routers.linux.router:LinuxRouter",
    "snmp": "vermilion.routers.snmp.router:SnmpRouter",
    "simulated": "vermilion.routers.simulated:SimulatedRouter",
}
"""Kind of router -> where its class is (imported only when it is used)."""


def router_class(kind: str) -> type[ManagedQueue]:
    """The class that manages a queue of this kind of router.

    Raises:
        RouterError: there is no such kind.
    """
    if kind not in ROUTER_KINDS:
        known = ", ".join(sorted(ROUTER_KINDS))
        message = f'router kind "{kind}" is not accepted; expected one of: {known}'
        raise RouterError(message)
    module, name = ROUTER_KINDS[kind].split(":")
    found = getattr(import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, ManagedQueue)):
        message = f"{ROUTER_KINDS[kind]} is not a ManagedQueue"
        raise TypeError(message)
    return found


__all__ = [
    "ROUTER_KINDS",
    "LinkConfiguration",
    "ManagedQueue",
    "ParameterValue",
    "Reading",
    "RouterError",
    "RttSamples",
    "router_class",
]
