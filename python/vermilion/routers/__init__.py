"""Managed queues: one interface, one module and one registry line per kind of router.

To add a kind: implement :class:`vermilion.routers.base.ManagedQueue` in a module of this
package and add its line to :data:`ROUTER_KINDS`. One that has addresses, like "linux:eth0", is an
:class:`vermilion.routers.base.OperatedRouter`; its addresses begin with its kind.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from vermilion.files.sqlite import NONSENSE
from vermilion.routers.base import (
    LinkConfiguration,
    ManagedQueue,
    OperatedRouter,
    ParameterValue,
    Reach,
    Reading,
    RouterError,
    RttSamples,
)
from vermilion.scenario.errors import printable, value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUTER_KINDS: Mapping[str, str] = {
    "linux": "vermilion.routers.linux.router:LinuxRouter",
    "snmp": "vermilion.routers.snmp.router:SnmpRouter",
    "emulated": "vermilion.routers.emulated:EmulatedRouter",
    "simulated": "vermilion.routers.simulated:SimulatedRouter",
}
"""Kind of router -> where its class is (imported only when it is used)."""

_SCHEMES: Final[Mapping[str, str]] = {"link": "emulated"}
"""Kinds whose addresses begin with another word."""


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


def router_at(address: str) -> type[OperatedRouter]:
    """The class of the queues whose addresses look like this one.

    Raises:
        RouterError: there is none.
    """
    scheme = address.partition(":")[0]
    kind = _SCHEMES.get(scheme, scheme)
    if ":" in address and kind in ROUTER_KINDS:
        found = router_class(kind)
        if issubclass(found, OperatedRouter):
            return found
    known = map(router_class, ROUTER_KINDS)
    examples = [each.example for each in known if issubclass(each, OperatedRouter)]
    shown = printable(value_text(address))
    message = f"router: {shown} is not accepted; expected {' or '.join(examples)}"
    raise RouterError(message)


def rebuilt_undo_command(
    address: str, parameters: Mapping[str, ParameterValue], recorded: object
) -> str | None:
    """The undo command of a journal that may say anything, made again; ``None``: it has none.

    Args:
        address: of the queue.
        parameters: the setting that the command restores.
        recorded: the command as it is in the journal.
    """
    if not isinstance(recorded, str):
        return None
    try:
        return router_at(address).rebuild_undo_command(address, parameters, recorded)
    except (RouterError, *NONSENSE):
        return None


__all__ = [
    "ROUTER_KINDS",
    "LinkConfiguration",
    "ManagedQueue",
    "OperatedRouter",
    "ParameterValue",
    "Reach",
    "Reading",
    "RouterError",
    "RttSamples",
    "rebuilt_undo_command",
    "router_at",
    "router_class",
]
