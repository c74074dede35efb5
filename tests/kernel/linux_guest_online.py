"""What runs inside the guest: a queue controlled on line, with a search that answers at once.

A program of its own, because the process that searches starts by reading the program again.
"""

from __future__ import annotations

import json
import socket
import sys
from contextlib import nullcontext
from pathlib import Path

from codel_oracle import solve
from vermilion.online.drive.real_router import run_on_router
from vermilion.online.events import Command
from vermilion.online.router_policy import Freedom, ManagedLink, policy_for, read_policy
from vermilion.routers.linux import LinuxRouter

POLICY = """
[tuning]
objective = { name = "queue-deviation", target = "30 packets" }
parameters = ["target"]
"""
LONGEST_S = 120.0
FRAMES_A_LOOK = 8
FRAME_BYTES = 1000


class FedRouter(LinuxRouter):
    """With frames for nobody sent into its queue before every look at it."""

    def __init__(self, address, device):
        super().__init__(address)
        self._raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._raw.bind((device, 0x88B5))

    def observe(self):
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x88\xb5"
        for _ in range(FRAMES_A_LOOK):
            self._raw.send(frame + bytes(FRAME_BYTES - len(frame)))
        return super().observe()


def main():
    address, device, mode, until, journal = sys.argv[1:]
    router = FedRouter(address, device)
    link = ManagedLink(device, "codel", router.parameters(), router.settable)
    policy = policy_for(
        link, read_policy(POLICY), Freedom(mode=mode, at_exit="restore"), deadline_s=LONGEST_S
    )
    drivers, in_force = [], []

    def attend(driver):
        drivers.append(driver)
        return nullcontext()

    def hear(decision):
        in_force.append((decision.kind, router.parameters()["target"]))
        if decision.kind == until:
            drivers[0].commands.put(Command("stop"))

    run = run_on_router(
        router,
        policy,
        journal_path=Path(journal),
        on_event=hear,
        attended=attend,
        for_s=LONGEST_S,
        solve=solve,
    )
    sys.stdout.write(json.dumps({"in_force": in_force, "undo": run.undo, "missed": run.missed}))


if __name__ == "__main__":
    main()
