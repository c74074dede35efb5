"""What runs inside the guest: a controller of a RED queue that is killed again and again.

    python linux_guest_kills.py control JOURNAL       # the controller, until it is killed
    python linux_guest_kills.py restore JOURNAL       # the same, which ends in order after a change
    python linux_guest_kills.py kill JOURNAL TIMES SEED

Prints as JSON what stood in the queue after each kill: tc is asked, as a judge that shares no code.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, nullcontext
from pathlib import Path

from linux_guest_online import FedRouter
from linux_guest_snmp import LINK, WHERE, in_force
from red_oracle import LONG, SHORT, solve
from vermilion.online.drive.real_router import run_on_router
from vermilion.online.entries import DecisionKind
from vermilion.online.events import Command
from vermilion.online.router_policy import Freedom, ManagedLink, policy_for, read_policy

POLICY = """
[tuning]
objective = { name = "queue-deviation", target = "15 packets" }
parameters = ["min_threshold", "max_threshold", "max_probability", "weight_log"]
"""
LONGEST_S = 600.0
OFTEN = 60
VERDICTS = ("verified", "unproven", "rolled-back")
MOST_WAIT_S = 90.0
LATEST_S = 25.0
JUST_AFTER_S = 0.05
POLL_S = 0.002


def control(journal, *, at_exit="keep", until=()):
    """A controller that is free to change the queue as often as it likes."""
    router = FedRouter(f"linux:{WHERE}", LINK)
    link = ManagedLink(LINK, "linux-red", router.parameters(), router.settable)
    freedom = Freedom(mode="control", at_exit=at_exit, changes_per_minute=OFTEN)
    policy = policy_for(link, read_policy(POLICY), freedom, deadline_s=LONGEST_S)
    drivers = []

    def attend(driver):
        drivers.append(driver)
        return nullcontext()

    def hear(decision):
        sys.stdout.write(f"{decision.kind}: {decision.reason}\n")
        sys.stdout.flush()
        if decision.kind in until:
            drivers[0].commands.put(Command("stop"))

    run_on_router(
        router,
        policy,
        journal_path=journal,
        on_event=hear,
        attended=attend,
        for_s=LONGEST_S,
        solve=solve,
    )


class Controller:
    """That program, as a process; what it has said is at hand after its end."""

    started = 0

    def __init__(self, verb, journal):
        Controller.started += 1
        self.said = Path(f"{journal}.said-{Controller.started}")
        with self.said.open("wb") as out:
            command = [sys.executable, __file__, verb, str(journal)]
            self.process = subprocess.Popen(command, stdout=out, stderr=out)

    def lines(self):
        return self.said.read_text(encoding="utf-8", errors="replace").splitlines()

    def kinds(self):
        said = [line.partition(":")[0] for line in self.lines()]
        return [each for each in said if each in set(DecisionKind)]

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def rows(journal, query):
    """What a journal has; nothing while there is none."""
    if not journal.exists():
        return []
    with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True, timeout=5.0)) as database:
        try:
            return database.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []


def changes(journal):
    """How many changes the router has been told of."""
    return sum(count for (count,) in rows(journal, "SELECT count(*) FROM effect"))


def judged(journal):
    """Every setting that was in force when a run said that it does no harm."""
    query = (
        "SELECT (SELECT parameters FROM setting WHERE setting.run = decision.run AND"
        " setting.time_s <= decision.time_s ORDER BY id DESC LIMIT 1) FROM decision"
        " WHERE kind IN ('verified', 'unproven')"
    )
    found = [json.loads(text) for (text,) in rows(journal, query)]
    return [[round(each[name], 6) for name in SHORT] for each in found]


def wait_for(condition, process):
    """Whether it came true while the process lived."""
    ends = time.monotonic() + MOST_WAIT_S
    while time.monotonic() < ends and process.poll() is None:
        if condition():
            return True
        time.sleep(POLL_S)
    return False


def killed(journal, times, seed):
    """A controller killed at random moments, and each time what its next start makes of it.

    By turns it is killed at any moment, and shortly after it has written down what it is about to
    change. The next start is killed too, as soon as it has said what is to become of a setting.
    """
    draw = random.Random(seed)
    original = in_force()
    outcomes = []
    for number in range(times):
        before = changes(journal)
        first = Controller("control", journal)
        at_a_change = number % 2 == 1
        if at_a_change:
            wait_for(lambda before=before: changes(journal) > before, first.process)
            time.sleep(draw.uniform(0.0, JUST_AFTER_S))
        else:
            time.sleep(draw.uniform(0.0, LATEST_S))
        first.kill()
        found, made = in_force(), changes(journal)
        second = Controller("control", journal)
        settled = wait_for(
            lambda second=second: set(second.kinds()) & set(VERDICTS), second.process
        )
        second.kill()
        outcomes.append(
            {
                "killed": "at a change" if at_a_change else "at any moment",
                "after": next(reversed(first.kinds()), "the start of the program"),
                "in_force": found,
                "changes": made,
                "start": next((each for each in second.lines() if each.startswith("start:")), ""),
                "settled": settled,
                "then_in_force": in_force(),
                "judged": judged(journal),
                "said": second.lines()[-1:],
            }
        )
    last = Controller("restore", journal)
    last.process.wait()
    return {
        "original": original,
        "settings": [list(SHORT.values()), list(LONG.values())],
        "outcomes": outcomes,
        "in_the_end": in_force(),
        "said": last.lines(),
    }


def main():
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    verb, journal, *arguments = sys.argv[1:]
    if verb == "kill":
        outcome = killed(Path(journal), int(arguments[0]), int(arguments[1]))
        sys.stdout.write(json.dumps(outcome))
    elif verb == "restore":
        control(Path(journal), at_exit="restore", until=VERDICTS)
    else:
        control(Path(journal))


if __name__ == "__main__":
    main()
