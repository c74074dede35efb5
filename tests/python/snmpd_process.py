"""net-snmp's snmpd for tests: a process of its own on the loopback, in a folder of its own.

Debian's ``snmpd`` and ``snmp`` have what is needed; without them tests are skipped, saying so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from vermilion.routers.snmp.credentials import CommunityCredentials, UserCredentials

if TYPE_CHECKING:
    from pathlib import Path

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
READY_S = 20.0
"""Longest wait for a process that is starting; a failure, not a measurement."""

USER = UserCredentials("writer", "right-auth-1", "right-priv-1")
READER = UserCredentials("reader", "right-auth-1", "right-priv-1")
PARTIAL = UserCredentials("partial", "right-auth-1", "right-priv-1")
COMMUNITY = CommunityCredentials("hidden-away")

CONFIGURATION = """
agentAddress udp:127.0.0.1:{port}
createUser writer SHA-256 right-auth-1 AES right-priv-1
createUser reader SHA-256 right-auth-1 AES right-priv-1
createUser partial SHA-256 right-auth-1 AES right-priv-1
rwuser writer authpriv
rouser reader authpriv
view some included .1
view some excluded .1.3.6.1.4.1.8072.9999.9999.2002.1.2.1.5
rouser partial authpriv -V some
rocommunity hidden-away 127.0.0.1
master agentx
agentXSocket {socket}
agentXTimeout 2
"""


def program_or_skip(name, package):
    """The path of a program of Debian; skips where it is not installed, saying so."""
    found = shutil.which(name, path=PATH)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian's package {package})")
    return found


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(is_so, what):
    """Returns when something is so; a failure where that takes too long."""
    until = time.monotonic() + READY_S
    while not is_so():
        assert time.monotonic() < until, f"in vain: {what}"
        time.sleep(0.02)


class Snmpd:
    """A master agent that can be stopped, killed and started again."""

    def __init__(self, folder: Path):
        self.program = program_or_skip("snmpd", "snmpd")
        self.folder = folder
        self.socket = str(folder / "agentx")
        self.port = free_port()
        self.process = None
        text = CONFIGURATION.format(port=self.port, socket=self.socket)
        (folder / "snmpd.conf").write_text(text, encoding="utf-8")
        self.start()

    def start(self):
        folder = str(self.folder)
        self.process = subprocess.Popen(
            [self.program, "-f", "-Lf", f"{folder}/log", "-C", "-c", f"{folder}/snmpd.conf"],
            env={
                "PATH": PATH,
                "MIBS": "",
                "SNMPCONFPATH": folder,
                "SNMP_PERSISTENT_DIR": f"{folder}/kept",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers, "snmpd opens its AgentX socket")

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text(encoding="utf-8")
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.connect(self.socket)
            return True
        return False

    def end(self, *, hard=False):
        if self.process is not None and self.process.poll() is None:
            self.process.kill() if hard else self.process.terminate()
            self.process.wait(READY_S)

    def tool(self, name, *arguments):
        """What a tool of net-snmp says as the user who may write."""
        words = ["-v3", "-l", "authPriv", "-u", USER.user, "-a", "SHA-256", "-x", "AES", "-On"]
        secrets = ["-A", USER.authentication_password, "-X", USER.privacy_password]
        done = subprocess.run(
            [program_or_skip(name, "snmp"), *words, *secrets, f"127.0.0.1:{self.port}", *arguments],
            env={
                "PATH": PATH,
                "MIBS": "",
                "HOME": os.devnull,
                # Else it makes folders of the machine's, and tells of that in between.
                "SNMP_PERSISTENT_DIR": str(self.folder / "kept-by-tools"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=READY_S,
        )
        said = done.stdout + done.stderr
        lines = said.splitlines(keepends=True)
        return done.returncode, "".join(
            line for line in lines if not line.startswith("Created directory: ")
        )
