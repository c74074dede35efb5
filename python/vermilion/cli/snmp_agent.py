"""``vermilion snmp-agent``: makes this machine's queues objects of its SNMP agent."""

import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli.endings import UserError
from vermilion.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from vermilion.routers.snmp.linux_queues import SeenTraffic

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def snmp_agent(
    *,
    socket: Annotated[
        str,
        typer.Option(metavar="PATH", help="AgentX address of snmpd (its agentXSocket)."),
    ] = "/var/agentx/master",
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help='Queue that may be changed, like linux:eth0/1:10, or "all". Repeatable. '
            "Default: none.",
            show_default=False,
        ),
    ] = None,
    monitor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INTERFACE",
            help="Monitor this interface for flows and round trips (CAP_NET_RAW). Repeatable.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve the queues of this machine to SNMP, through snmpd.

    Connects to the AgentX socket of a running snmpd, and again whenever that restarts. snmpd
    decides who may read and write; nothing is changed but what --allow names. Ctrl-C ends it.
    """
    from vermilion.agentx.driver import MasterRefused, SubagentDriver
    from vermilion.monitor import InterfaceError
    from vermilion.routers import RouterError
    from vermilion.routers.linux import RouteSocket
    from vermilion.routers.snmp.linux_queues import LinuxQueues
    from vermilion.routers.snmp.queue_objects import queue_subagent
    from vermilion.scenario.errors import printable

    def say(text: str) -> None:
        note(printable(text))

    def pause(seconds: float) -> None:
        stopped.wait(seconds)

    if allow:
        _check_privileges()
    stopped = threading.Event()
    try:
        with (
            _stopping(stopped),
            _listening(monitor or (), say) as traffic,
            RouteSocket() as kernel,
        ):
            queues = LinuxQueues(kernel, allow or (), traffic=traffic.of, say=say)
            driver = SubagentDriver(
                socket,
                lambda: queue_subagent(queues, time.monotonic),
                say=say,
                is_wanted=lambda: not stopped.is_set(),
                sleep=pause,
            )
            driver.run()
    except (MasterRefused, RouterError) as error:
        raise UserError(str(error)) from None
    except InterfaceError as error:
        message = f"--monitor: {error}"
        raise UserError(message) from None


@contextmanager
def _listening(
    interfaces: "Iterable[str]", say: "Callable[[str], object]"
) -> "Iterator[SeenTraffic]":
    """Monitors of the interfaces, which a thread empties; that they needed is given up.

    Raises:
        InterfaceError: one cannot be listened to.
    """
    from vermilion.monitor import InterfaceWatch
    from vermilion.monitor.privileges import CAP_NET_RAW, give_up
    from vermilion.routers.snmp.linux_queues import TAKE_IN_S, SeenTraffic

    with ExitStack() as opened:
        names = dict.fromkeys(interfaces)
        traffic = SeenTraffic(
            [opened.enter_context(InterfaceWatch(name, kept_flows=0)) for name in names], say=say
        )
        if not names:
            yield traffic
            return
        give_up((CAP_NET_RAW,))
        traffic.take_in()
        done = threading.Event()

        def listen() -> None:
            while not done.wait(TAKE_IN_S):
                traffic.take_in()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield traffic
        finally:
            done.set()
            thread.join()


@contextmanager
def _stopping(stopped: threading.Event) -> "Iterator[None]":
    """Ctrl-C, SIGTERM and SIGHUP end it in order; a second Ctrl-C ends it at once."""

    def stop(number: int, _frame: object) -> None:
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        stopped.set()

    before = {each: signal.signal(each, stop) for each in _STOPPING}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _check_privileges() -> None:
    """Check that queues may be changed.

    Raises:
        UserError: they may not; the message says what is missing and how to give it.
    """
    from pathlib import Path

    from vermilion.routers.linux.route_socket import HOW_TO_ALLOW
    from vermilion.routers.linux.router import may_change_queues

    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # the kernel will say it itself
    if may_change_queues(status) is False:
        message = (
            f"--allow: no queue can be changed: {HOW_TO_ALLOW}; without --allow none is needed"
        )
        raise UserError(message)
