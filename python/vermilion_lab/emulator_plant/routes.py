"""Routes of the two ends of an emulated link; numbers of ``include/uapi/linux/rtnetlink.h``."""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Final

from vermilion.link.device import LinkError
from vermilion.routers import RouterError
from vermilion.routers.linux.message import CREATE, attribute_bytes
from vermilion.routers.linux.route_socket import RouteSocket

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEW_ROUTE: Final = 24
_DESTINATION, _OUT = 1, 4
_PREFERRED_SOURCE, _METRICS = 7, 8
_LOCAL_TABLE, _HOST_SCOPE, _LOCAL_KIND = 255, 254, 2
_MAIN_TABLE, _STATIC, _LINK_SCOPE, _UNICAST = 254, 4, 253, 1


def own_network(network: str) -> None:
    """Make every address of an IPv4 network local to this namespace.

    Raises:
        LinkError: the kernel refuses.
    """
    first = IPv4Network(network)
    kind = (0, 0, 0, _LOCAL_TABLE, _STATIC, _HOST_SCOPE, _LOCAL_KIND, 0)
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, first.prefixlen, *kind[1:])
    where = attribute_bytes(_DESTINATION, first.network_address.packed)
    where += attribute_bytes(_OUT, struct.pack("=I", socket.if_nametoindex("lo")))
    _add_route(head + where, network)


def route_to(address: str, interface: str, source: str, metrics: Mapping[int, int]) -> None:
    """Route an address through an interface, with metrics of TCP (``RTAX_...``).

    Raises:
        LinkError: the kernel refuses.
    """
    kind = (32, 0, 0, _MAIN_TABLE, _STATIC, _LINK_SCOPE, _UNICAST, 0)
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, *kind)
    way = attribute_bytes(_DESTINATION, IPv4Address(address).packed)
    way += attribute_bytes(_OUT, struct.pack("=I", socket.if_nametoindex(interface)))
    way += attribute_bytes(_PREFERRED_SOURCE, IPv4Address(source).packed)
    if metrics:
        inner = b"".join(
            attribute_bytes(key, struct.pack("=I", value)) for key, value in metrics.items()
        )
        way += attribute_bytes(_METRICS, inner)
    _add_route(head + way, address)


def _add_route(message: bytes, destination: str) -> None:
    try:
        with RouteSocket() as kernel:
            kernel.tell(_NEW_ROUTE, CREATE, message)
    except RouterError as error:
        problem = f"the way to {destination} cannot be set up: {error}"
        raise LinkError(problem) from None
