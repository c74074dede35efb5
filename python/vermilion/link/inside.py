"""The program within the link's namespaces: sets them up, runs the command, and takes it along.

It is the first process of a namespace of processes. When it ends, the kernel ends all others there,
and then nothing holds the namespaces, the devices and their routes any more. It ends when the
command has ended and has been reported, when its own parent ends (however: by the kernel's
``PR_SET_PDEATHSIG``), and when the channel to it is closed.

It is forked, not started: what it needs has been loaded. It tells what it does in messages of JSON
over the channel, each with descriptors where it has some.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.link import kernel
from vermilion.link.device import Ends, LinkError, name_of, open_device, put_up, set_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

INTERFACE: Final = "link0"
"""Names of the link's devices in their own namespaces."""

EXIT_NOT_FOUND: Final = 127
EXIT_NOT_EXECUTABLE: Final = 126
_SIGNALLED: Final = 128
_SIGNALS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_LARGEST_MESSAGE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Orders:
    """Setup and command for the child.

    Attributes:
        user_namespace: whether namespaces need one of users before them: not for root.
        inner: the addresses of the command's end and of the other one, IPv4 and IPv6.
        isolated: whether the other end gets a namespace too.
        peer: a command for that one, if any.
        mtu: bytes of the largest packet.
        offload: whether kernels may hand over many segments in one.
        command: what is run.
        program: in place of the command, something of this program's own, with the namespaces of
            the command's end and of the other one: it returns an exit code.
    """

    user_namespace: bool
    inner: tuple[Ends, ...]
    isolated: bool
    peer: Sequence[str] | None
    mtu: int
    offload: bool
    command: Sequence[str]
    program: Callable[[int, int], int] | None = None


def fork_inside(orders: Orders, channel: socket.socket) -> int:
    """Start it; return the number of a process that ends as it does.

    Args:
        orders: what it is to do.
        channel: a socket of packets, of which this process keeps the other end.
    """
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _leave_and_run(orders, channel, parent)
        finally:
            os._exit(1)
    return child


def _leave_and_run(orders: Orders, channel: socket.socket, parent: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, _ignore_signal)
    try:
        kernel.die_with(parent)
        _leave_namespaces(orders)
        # Who takes another identity is not killed with the parent any more, unless asked for again.
        kernel.die_with(parent)
    except ProcessLookupError:
        return
    except (OSError, LinkError) as error:
        _send_message(channel, {"error": _error_message(error)})
        return
    first = os.fork()
    if first:
        channel.close()
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    kernel.die_with(_no_parent())
    _run_init(orders, channel)
    os._exit(0)


def _no_parent() -> int:
    """A parent outside of the namespace of processes has no number in it."""
    return 0


def _leave_namespaces(orders: Orders) -> None:
    if orders.user_namespace:
        users, groups = os.geteuid(), os.getegid()
        kernel.leave(kernel.NEW_USER)
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny", encoding="ascii")
        (own / "uid_map").write_text(f"0 {users} 1", encoding="ascii")
        (own / "gid_map").write_text(f"0 {groups} 1", encoding="ascii")
    kernel.leave(kernel.NEW_PROCESSES | kernel.NEW_MOUNTS)


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal meant for the command; ignoring would be inherited by it."""


def _run_init(orders: Orders, channel: socket.socket) -> None:
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _ignore_signal)
    inner = orders.inner
    namespaces: list[int] = []
    devices: list[int] = []
    try:
        if orders.isolated:
            outer = tuple(Ends(each.other, each.own) for each in inner)
            devices.append(_open_end(orders, outer, namespaces))
        devices.append(_open_end(orders, inner, namespaces))
    except (OSError, LinkError) as error:
        _send_message(channel, {"error": _error_message(error)})
        return
    with suppress(OSError):
        # Within some containers it is not allowed; then they show those outside.
        kernel.show_own_namespaces()
    _send_message(channel, {"devices": len(devices)}, devices)
    for device in devices:
        os.close(device)
    if not channel.recv(_LARGEST_MESSAGE):
        return
    if orders.peer:
        kernel.enter(namespaces[0])
        _start(orders.peer, inner[0].other, inner[0].own)
        kernel.enter(namespaces[-1])
    if orders.program is not None:
        code = _await_exit_code(_fork(orders.program, namespaces), channel, woken)
    else:
        command = _start(orders.command, inner[0].own, inner[0].other)
        code = (
            command if isinstance(command, int) else _await_exit_code(command.pid, channel, woken)
        )
    if code is None:
        return
    counts = [_counts(namespace) for namespace in reversed(namespaces)]
    _send_message(channel, {"exit_code": code, "interfaces": counts})
    channel.recv(_LARGEST_MESSAGE)


def _open_end(orders: Orders, ends: tuple[Ends, ...], namespaces: list[int]) -> int:
    """A fresh network namespace with a device: its descriptor."""
    kernel.leave(kernel.NEW_NETWORK)
    namespaces.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
    put_up("lo")
    with suppress(OSError):
        # So that a link within this one can lead out of it.
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
    device = open_device(INTERFACE, offload=orders.offload)
    set_up(name_of(device), ends, orders.mtu, default_route=True)
    return device


def _start(command: Sequence[str], own: object, other: object) -> subprocess.Popen[bytes] | int:
    """Start a program; return the shell's exit code if it cannot be started."""
    environment = {
        **os.environ,
        "VERMILION_LINK_ADDRESS": str(own),
        "VERMILION_LINK_PEER": str(other),
    }
    try:
        return subprocess.Popen(list(command), env=environment)
    except FileNotFoundError:
        sys.stderr.write(f'vermilion: there is no command "{command[0]}"\n')
        return EXIT_NOT_FOUND
    except OSError as error:
        sys.stderr.write(f'vermilion: "{command[0]}" cannot be run ({error.strerror})\n')
        return EXIT_NOT_EXECUTABLE


def _fork(program: Callable[[int, int], int], namespaces: Sequence[int]) -> int:
    """Run a function as the command; return its process number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = program(namespaces[-1], namespaces[0])
        except BaseException:  # noqa: BLE001 - whatever it was, it is told here, and nothing goes on
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def _await_exit_code(command: int, channel: socket.socket, woken: int) -> int | None:
    """Wait for the command's exit code, as a shell has it; ``None`` if nobody waits any more."""
    watched: list[socket.socket | int] = [channel, woken]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if woken in ready:
            with suppress(BlockingIOError):
                os.read(woken, 4096)
        if channel in ready:
            message = channel.recv(_LARGEST_MESSAGE)
            if not message:
                return None
            with suppress(ProcessLookupError):
                os.kill(command, int(json.loads(message)["signal"]))
        code = _reap_children(command)
        if code is not None:
            return code


def _reap_children(command: int) -> int | None:
    """Reap all ended processes; return the exit code of the command, if it is among them."""
    code = None
    while True:
        try:
            number, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if number == 0:
            return code
        if number == command:
            exit_code = os.waitstatus_to_exitcode(status)
            code = exit_code if exit_code >= 0 else _SIGNALLED - exit_code


def _counts(namespace: int) -> dict[str, int]:
    """Read the kernel's counters of a device; packets not read in time count as dropped."""
    kernel.enter(namespace)
    for line in Path("/proc/thread-self/net/dev").read_text(encoding="ascii").splitlines():
        name, colon, numbers = line.partition(":")
        if colon and name.strip() == INTERFACE:
            fields = [int(each) for each in numbers.split()]
            return {"received": fields[1], "sent": fields[9], "dropped": fields[3] + fields[11]}
    return {}


def _send_message(
    channel: socket.socket, message: dict[str, object], files: Sequence[int] = ()
) -> None:
    with suppress(OSError):
        socket.send_fds(channel, [json.dumps(message).encode()], list(files))


def _error_message(error: Exception) -> str:
    if isinstance(error, LinkError):
        return str(error)
    return (
        f"the link's namespaces cannot be made ({error}): expected root, or user "
        "namespaces (check: unshare -Urn true), in a container too"
    )
