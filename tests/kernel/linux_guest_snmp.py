"""What runs inside the guest: snmpd, ``vermilion snmp-agent``, and a queue set over SNMP.

Prints as JSON what came of it; tc is asked beside it, as a judge that shares no code.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from snmpd_process import USER, Snmpd, wait_until
from vermilion.routers import RouterError
from vermilion.routers.base import RouterSilent
from vermilion.routers.snmp.mib import QUEUE_ENTRY
from vermilion.routers.snmp.router import SnmpRouter
from vermilion.routers.snmp.session import SnmpSession

LINK = "v0"
WHERE = f"{LINK}/1:10"
LOW, HIGH = 12_000, 24_000
FIRST = {"min_threshold": 12_000, "max_threshold": 36_000, "max_probability": 0.05, "weight_log": 9}
WRONG = {"max_probability": 0.07, "min_threshold": 99_000}


class Agent:
    """The command, as an operator starts it."""

    def __init__(self, snmpd):
        self.log = (snmpd.folder / "agent").open("ab")
        self.process = subprocess.Popen(
            [
                *[sys.executable, "-m", "vermilion", "snmp-agent"],
                *["--socket", snmpd.socket, "--allow", f"linux:{WHERE}", "--monitor", LINK],
            ],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait()
        self.log.close()


def tc():
    """What tc says of the queue."""
    done = subprocess.run(
        ["/usr/bin/env", "tc", "-s", "-d", "-j", "qdisc", "show", "dev", LINK],
        capture_output=True,
        text=True,
        check=True,
    )
    [found] = [each for each in json.loads(done.stdout) if each["kind"] == "red"]
    return found


def in_force():
    own = tc()["options"]
    return [own["min"], own["max"], own["probability"], own["ewma"], own["limit"]]


def router(snmpd, **patience):
    agent = SnmpSession("127.0.0.1", snmpd.port, USER, **patience)
    return SnmpRouter(f"snmp:127.0.0.1:{snmpd.port}/{WHERE}", agent=agent)


def found(snmpd):
    """A router, as soon as the agent serves one."""
    made = []

    def is_there():
        try:
            made.append(router(snmpd))
        except RouterError:
            return False
        return True

    wait_until(is_there, "the queue is served")
    return made[0]


def once(snmpd):
    """A change, a refusal and the way back."""
    agent = Agent(snmpd)
    queue = found(snmpd)
    outcome = {"before": in_force(), "parameters": queue.parameters()}
    undo = queue.undo_command().split()
    queue.apply(FIRST)
    outcome["first"] = in_force()
    outcome["read"] = {name: queue.parameters()[name] for name in FIRST}
    try:
        queue.apply(WRONG)
    except RouterError as refusal:
        outcome["refusal"] = str(refusal)
    outcome["refused"] = in_force()
    reading = queue.read()
    outcome["drops"] = [reading.drops, tc()["drops"]]
    outcome["sent"] = [reading.forwarded_bytes, tc()["bytes"]]
    outcome["backlog"] = [reading.backlog_packets, tc()["qlen"]]
    for number, name in ((16, "flows"), (17, "round trips"), (19, "traffic known")):
        column = ".".join(str(each) for each in (*QUEUE_ENTRY, number))
        outcome[name] = snmpd.tool("snmpwalk", column)[1].rpartition(" ")[2].strip()
    # The very command that is kept before a change, with this user's secrets.
    outcome["undo"] = snmpd.tool("snmpset", *undo[7:])
    outcome["after"] = in_force()
    queue.close()
    agent.end()
    outcome["agent"] = (snmpd.folder / "agent").read_text()
    return outcome


def killed(snmpd, times, seed):
    """The agent and snmpd killed at random moments while settings change; what is in force then."""
    draw = random.Random(seed)
    original = in_force()
    outcomes = []
    for number in range(times):
        agent = Agent(snmpd)
        queue = found(snmpd)
        victim = agent.process if number % 2 else snmpd.process
        delay = draw.uniform(0.0, 0.6)
        killer = subprocess.Popen(["/bin/sh", "-c", f"sleep {delay}; kill -9 {victim.pid}"])
        wanted = HIGH if number % 4 < 2 else LOW
        said = "applied"
        try:
            for each in range(40):
                wanted = LOW if wanted == HIGH else HIGH
                queue.apply({"min_threshold": wanted, "max_threshold": 3 * wanted})
                if killer.poll() is not None and each > 2:
                    break
        except RouterSilent:
            said = "silent"
        except RouterError as error:
            said = f"refused: {error}"
        killer.wait()
        own = in_force()
        outcomes.append([said, own, own[2:] == original[2:], [own[0], own[1]]])
        queue.close()
        if victim is snmpd.process:
            snmpd.process.wait()
            snmpd.start()
        agent.end(signal.SIGKILL)
    return {"original": original, "outcomes": outcomes}


def main():
    folder = Path("/run/snmpd")
    folder.mkdir()
    subprocess.run(["/usr/bin/env", "ip", "link", "set", "lo", "up"], check=True)
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    snmpd = Snmpd(folder)
    try:
        verb, *arguments = sys.argv[1:]
        if verb == "once":
            outcome = once(snmpd)
        else:
            outcome = killed(snmpd, int(arguments[0]), int(arguments[1]))
    finally:
        snmpd.end()
    sys.stdout.write(json.dumps(outcome))


if __name__ == "__main__":
    main()
