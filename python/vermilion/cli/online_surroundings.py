"""Monitors, metrics and log lines around a controller of a real router.

Sockets are opened first; then what was needed to open them is given up.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from vermilion.cli.endings import UserError
from vermilion.cli.output import say

if TYPE_CHECKING:
    from contextlib import ExitStack

    from vermilion.monitor import InterfaceWatch
    from vermilion.online.entries import Decision
    from vermilion.online.policy import Policy
    from vermilion.online.router_policy import Service
    from vermilion.routers.base import OperatedRouter
    from vermilion.status.metrics import ControllerMetrics


def open_watch(address: str, service: Service, opened: ExitStack) -> InterfaceWatch:
    """Listens to the interface of a queue, and gives up what that has needed.

    Raises:
        UserError: there is no such interface, or it may not be listened to.
    """
    from vermilion.monitor import InterfaceError, InterfaceWatch
    from vermilion.monitor.privileges import CAP_NET_RAW, give_up
    from vermilion.routers import RouterError
    from vermilion.routers.linux.discovery import parse_address

    try:
        interface = parse_address(address).interface
        watch = opened.enter_context(InterfaceWatch(interface, entrances=service.entrances or ()))
        # Now, while there is one thread: capabilities belong to threads.
        give_up([CAP_NET_RAW])
    except RouterError as error:
        raise UserError(str(error)) from None
    except (InterfaceError, OSError) as error:
        message = f"--monitor: {error}"
        raise UserError(message) from None
    return watch


def controller_metrics(
    service: Service, router: OperatedRouter, policy: Policy, watch: InterfaceWatch | None
) -> ControllerMetrics | None:
    """Numbers for Prometheus, where something is served."""
    if service.listen is None and service.metrics is None:
        return None
    from vermilion import _core
    from vermilion.status.metrics import ControllerMetrics

    return ControllerMetrics(
        str(router.address),
        router.configuration.discipline,
        policy.mode,
        _core.VERSION,
        wall=time.time,
        listening=None if watch is None else watch.listening,
    )


def show_as_json(decision: Decision, router: str, *, to_stderr: bool) -> None:
    """A line for a collector of logs; whoever reads along may have gone."""
    from vermilion.status import log_line

    with contextlib.suppress(OSError):
        say(log_line(decision, router, time.time()), err=to_stderr)
