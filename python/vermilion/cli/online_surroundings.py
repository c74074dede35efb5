"""What stands around a controller of a real router: eyes on its interface, metrics, log lines.

Sockets are opened first; then what was needed to open them is given up.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vermilion.cli.user_error import UserError

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
    from vermilion.routers.linux.address import parse_address

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


def open_metrics(
    service: Service,
    router: OperatedRouter,
    policy: Policy,
    watch: InterfaceWatch | None,
    opened: ExitStack,
) -> ControllerMetrics | None:
    """Serves metrics, where they are asked for.

    Raises:
        UserError: they cannot be served there, or not like this.
    """
    if service.metrics is None:
        for value, name in (
            (service.metrics_from_outside, "--metrics-from-outside"),
            (service.metrics_token, "--metrics-token"),
        ):
            if value:
                message = f"{name} is about metrics; expected --metrics beside it"
                raise UserError(message)
        return None
    from vermilion import _core
    from vermilion.monitor.privileges import CAP_NET_BIND_SERVICE, give_up
    from vermilion.status.listener import ListenerError, listener_of, read_token
    from vermilion.status.metrics import ControllerMetrics
    from vermilion.status.metrics_server import MetricsServer

    metrics = ControllerMetrics(
        str(router.address),
        router.configuration.discipline,
        policy.mode,
        _core.VERSION,
        wall=time.time,
        listening=None if watch is None else watch.listening,
    )
    try:
        token = None if service.metrics_token is None else read_token(Path(service.metrics_token))
        listener = listener_of(
            service.metrics, from_outside=bool(service.metrics_from_outside), token=token
        )
        server = MetricsServer(listener, metrics.registry())
        opened.callback(server.close)
        with contextlib.suppress(OSError):
            give_up([CAP_NET_BIND_SERVICE])
    except ListenerError as error:
        raise UserError(str(error)) from None
    server.start()
    return metrics


def show_as_json(decision: Decision, router: str, *, to_stderr: bool) -> None:
    """A line for a collector of logs; whoever reads along may have gone."""
    from vermilion.status import log_line

    with contextlib.suppress(OSError):
        typer.echo(log_line(decision, router, time.time()), err=to_stderr)
