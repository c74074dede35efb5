"""SNMP in the guest: in every router snmpd and Vermilion's agent, and a network to ask them over.

The management network is a namespace with a wire to each router, on which nothing else is sent, so
that no question waits in a queue that it asks about. The host is at its end: a datagram that it
hands in (:meth:`Management.relay`) leaves from that namespace, and the answer is handed back.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion_lab.kernel_plant.errors import GuestError
from vermilion_lab.kernel_plant.guest_start import JOB
from vermilion_lab.kernel_plant.namespaces import inside, wake_on_time
from vermilion_lab.kernel_plant.topology import (
    MANAGEMENT,
    OUT,
    SHAPED_CLASS,
    management_address,
    router,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_PORT: Final = 161
_ANSWER_WITHIN_S: Final = 1.0
_READY_WITHIN_S: Final = 30.0
_LOOK_S: Final = 0.05
_LARGEST_DATAGRAM: Final = 65_535
_CONFIGURATION: Final = """
agentAddress udp:{address}:{port}
createUser {user} SHA-256 {authentication} AES {privacy}
rwuser {user} authpriv
master agentx
agentXSocket {socket}
"""


class Management:
    """The routers' agents.

    Args:
        links: whose routers have one.
        user: of SNMPv3, who may read and write.
        authentication: the user's pass phrase.
        privacy: the other one.

    Raises:
        GuestError: snmpd is not installed, or does not start.
    """

    def __init__(self, links: Sequence[int], user: str, authentication: str, privacy: str) -> None:
        program = shutil.which("snmpd")
        if program is None:
            message = "snmpd is not installed (Debian's package snmpd); without it there is no SNMP"
            raise GuestError(message)
        self._sockets: dict[int, socket.socket] = {}
        for link in links:
            folder = Path("/run/snmp") / router(link)
            folder.mkdir(parents=True)
            text = _CONFIGURATION.format(
                address=management_address(link),
                port=_PORT,
                user=user,
                authentication=authentication,
                privacy=privacy,
                socket=folder / "agentx",
            )
            (folder / "snmpd.conf").write_text(text, encoding="utf-8")
            _start_master(program, folder, link)
            _start_agent(folder, link)
            with inside(MANAGEMENT):
                asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            asking.connect((management_address(link), _PORT))
            asking.settimeout(_ANSWER_WITHIN_S)
            self._sockets[link] = asking
        time.sleep(1.0)  # the agents make themselves known to their masters

    def relay(self, link: int, datagram: bytes) -> bytes | None:
        """Ask a router's snmpd; ``None`` where no answer comes.

        Time passes only while nothing in the guest has anything to do for the answer.
        """
        asking = self._sockets[link]
        asking.settimeout(0.0)
        with suppress(OSError):  # of a question that nobody waits for any more
            while asking.recv(_LARGEST_DATAGRAM):
                pass
        asking.settimeout(_ANSWER_WITHIN_S)
        try:
            asking.send(datagram)
            return asking.recv(_LARGEST_DATAGRAM)
        except OSError:
            return None


def _start_master(program: str, folder: Path, link: int) -> None:
    """Start snmpd in a router's namespace.

    Raises:
        GuestError: it does not start.
    """
    with inside(router(link)):
        process = subprocess.Popen(
            [program, "-f", "-Lf", f"{folder}/log", "-C", "-c", f"{folder}/snmpd.conf"],
            env={
                "PATH": os.environ["PATH"],
                "MIBS": "",
                "SNMPCONFPATH": str(folder),
                "SNMP_PERSISTENT_DIR": f"{folder}/kept",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    until_s = time.monotonic() + _READY_WITHIN_S
    while not (folder / "agentx").exists():
        if process.poll() is not None or time.monotonic() > until_s:
            log = folder / "log"
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            message = f"snmpd does not start: {said.strip()[-500:]}"
            raise GuestError(message)
        time.sleep(_LOOK_S)


def _start_agent(folder: Path, link: int) -> None:
    """Run ``vermilion snmp-agent --allow`` as a process of its own in the router."""
    if os.fork() != 0:
        return
    try:
        wake_on_time()
        from vermilion.agentx.driver import SubagentDriver
        from vermilion.routers.linux import RouteSocket
        from vermilion.routers.snmp.linux_queues import LinuxQueues
        from vermilion.routers.snmp.queue_objects import queue_subagent

        with inside(router(link)), RouteSocket() as kernel:
            queues = LinuxQueues(kernel, (f"linux:{OUT}/{SHAPED_CLASS}",))
            SubagentDriver(
                str(folder / "agentx"),
                lambda: queue_subagent(queues, time.monotonic),
                say=lambda _: None,
                is_wanted=lambda: True,
            ).run()
    except BaseException:  # noqa: BLE001 - the host is told
        Path(JOB, "failure").write_text(traceback.format_exc(), encoding="utf-8")
    os._exit(1)
