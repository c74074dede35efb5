"""A queue of a real machine from its address on the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from vermilion.cli.user_error import UserError
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from vermilion.monitor import InterfaceWatch
    from vermilion.online.policy import Mode
    from vermilion.online.router_policy import PolicyFile
    from vermilion.routers.base import OperatedRouter

SNMP = "snmp:"
LINK = "link:"


def real_router(
    address: str,
    file: PolicyFile | None,
    credentials: Path | None,
    watch: InterfaceWatch | None = None,
) -> OperatedRouter:
    """The queue.

    Args:
        address: like "linux:eth0/1:10" or "snmp:192.0.2.1/eth0".
        file: what the operator has written of the link.
        credentials: a file with a user of the agent; of the kind "snmp" alone.
        watch: what is heard of the queue's interface, where somebody listens.

    Raises:
        UserError: there is no such queue, or it cannot be controlled.
    """
    from vermilion.routers import RouterError

    delay_s = 0.0 if file is None else file.delay_s or 0.0
    try:
        if address.startswith(SNMP):
            from vermilion.routers.snmp.address import parse_remote_address
            from vermilion.routers.snmp.credentials import credentials_file, read_credentials
            from vermilion.routers.snmp.router import SnmpRouter

            host = parse_remote_address(address).host
            known = read_credentials(credentials_file(os.environ, credentials), host)
            return SnmpRouter(address, known, delay_s=delay_s)
        if address.startswith(LINK):
            from vermilion.routers.emulated import EmulatedRouter

            return EmulatedRouter(address)
        if credentials is not None:
            message = '--credentials is for a router of the kind "snmp"'
            raise UserError(message)
        from vermilion.routers.linux import LinuxRouter
        from vermilion.routers.linux.packet_monitor import PacketMonitor

        return LinuxRouter(
            address,
            monitor=None if watch is None else PacketMonitor(watch),
            rate_bit_per_s=None if file is None else file.rate_bit_per_s,
            delay_s=delay_s,
        )
    except RouterError as error:
        raise UserError(str(error)) from None


def check_privileges(router: OperatedRouter, address: str, mode: Mode) -> None:
    """Whether the queue may be changed.

    Raises:
        UserError: it may not; the message says what is missing and how to give it.
    """
    if address.startswith(LINK):
        return  # the emulator answers its own user
    from vermilion.routers.linux.privileges import may_change_queues
    from vermilion.routers.linux.route_socket import HOW_TO_ALLOW

    if address.startswith(SNMP):
        if getattr(router, "may_change", False):
            return  # whether this user may write, the agent says to the first change alone
        message = (
            f'--mode: "{mode}" cannot change {printable(address)}: vermilion snmp-agent there was '
            'not told to let it be changed; expected its option --allow; or use "observe"'
        )
        raise UserError(message)
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # the kernel will say it itself
    if may_change_queues(status) is False:
        message = (
            f'--mode: "{mode}" cannot change {printable(address)}: {HOW_TO_ALLOW}; '
            'or use "observe", which needs none'
        )
        raise UserError(message)
