"""A queue of a real machine from its address on the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from vermilion.cli.endings import UserError
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from pathlib import Path

    from vermilion.monitor import InterfaceWatch
    from vermilion.online.policy import Mode
    from vermilion.online.router_policy import PolicyFile
    from vermilion.routers.base import OperatedRouter


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
        credentials: a file with a user of the agent; of a kind that has users alone.
        watch: what is heard of the queue's interface, where somebody listens.

    Raises:
        UserError: there is no such queue, or it cannot be controlled.
    """
    from vermilion.routers import Reach, RouterError, router_at

    try:
        kind = router_at(address)
        if credentials is not None and not kind.takes_credentials:
            message = '--credentials needs a router of the kind "snmp"'
            raise UserError(message)
        reach = Reach(
            credentials,
            os.environ,
            watch,
            rate_bit_per_s=None if file is None else file.rate_bit_per_s,
            delay_s=0.0 if file is None else file.delay_s or 0.0,
        )
        return kind.reached(address, reach)
    except RouterError as error:
        raise UserError(str(error)) from None


def takes_credentials(address: str) -> bool:
    """Return whether a queue of such an address asks for a user.

    Raises:
        UserError: there is no such kind of router.
    """
    from vermilion.routers import RouterError, router_at

    try:
        return router_at(address).takes_credentials
    except RouterError as error:
        raise UserError(str(error)) from None


def check_privileges(router: OperatedRouter, address: str, mode: Mode) -> None:
    """Check that the queue may be changed.

    Raises:
        UserError: it may not; the message says what is missing and how to give it.
    """
    reason = router.why_not_changed()
    if reason is not None:
        message = f'--mode: "{mode}" cannot change {printable(address)}: {reason}; or use "observe"'
        raise UserError(message)
