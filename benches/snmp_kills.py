"""Kills snmpd and ``vermilion snmp-agent`` at random moments while a kernel's RED is set over SNMP.

    VERMILION_KERNEL=/path/to/linux .venv/bin/python benches/snmp_kills.py [TIMES] [SEED]

Runs the guest of the tests in real time, because in virtual time nothing is ever killed half-way:
half of the TIMES (25 unless told otherwise) snmpd is killed (SIGKILL), half of them the agent, each
0 to 0.6 s after a manager has begun to change thresholds. Then tc is asked what is in force: the
setting of before or one of those that were sent, as a whole, and everything else untouched. About
ten seconds for each; needs Debian's snmpd and snmp.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests" / "kernel"
sys.path[:0] = [str(TESTS), str(TESTS.with_name("python"))]

from linux_guest import GuestInRealTime, run_in_guest  # noqa: E402 - the tests' own guest
from test_online_linux_kernel import program  # noqa: E402 - found by the path above
from test_routers_snmp_kernel import SHAPED  # noqa: E402 - found by the path above

LONGEST_S = 3600
WHOLE = {(30_000, 90_000), (12_000, 36_000), (24_000, 72_000)}


def main() -> int:
    """Prints what became of it; 1 where a setting was left in pieces."""
    times = sys.argv[1] if len(sys.argv) > 1 else "25"
    seed = sys.argv[2] if len(sys.argv) > 2 else "1"  # noqa: PLR2004 - the second argument
    run = program(str(TESTS / "linux_guest_snmp.py"), "killed", times, seed)
    steps = [*SHAPED, ["send", "v0", 30, 1000], run]
    *_, told = run_in_guest(steps, kind=GuestInRealTime, longest_s=LONGEST_S)
    if told["code"]:
        sys.stderr.write(told["error"])
        return 1
    counted: collections.Counter[str] = collections.Counter()
    for number, (said, _, rest, pair) in enumerate(json.loads(told["out"])["outcomes"]):
        victim = "agent" if number % 2 else "snmpd"
        whole = rest and tuple(pair) in WHOLE
        counted[f"{victim} killed, {said.split(':')[0]}, {'whole' if whole else 'IN PIECES'}"] += 1
    for words, count in sorted(counted.items()):
        sys.stdout.write(f"{count:4d}  {words}\n")
    return int(any("PIECES" in each for each in counted))


if __name__ == "__main__":
    sys.exit(main())
