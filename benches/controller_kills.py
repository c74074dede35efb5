"""Kills a controller (``kill -9``) at random moments while it changes a kernel's RED.

    VERMILION_KERNEL=/path/to/linux .venv/bin/python benches/controller_kills.py [TIMES] [SEED]

Runs the guest of the tests in real time, because in virtual time nothing is ever killed half-way.
A controller with a stand-in search, which answers at once and always with another setting, is
killed TIMES times (25 unless told otherwise): by turns at any moment of its first 25 s, and within
50 ms of having written down what it is about to change. Then tc is asked what is in force: the
setting of the beginning or one that was to be put in force, as a whole. The next start has to go on
with the run, and to judge the setting that it finds or another; then it is killed as well. In the
end a controller that may end in order has to bring back what stood in the beginning. About
half a minute for each.
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests" / "kernel"
sys.path[:0] = [str(TESTS), str(TESTS.with_name("python"))]

from linux_guest import GuestInRealTime, run_in_guest  # noqa: E402 - the tests' own guest
from test_online_linux_kernel import program  # noqa: E402 - found by the path above
from test_routers_snmp_kernel import SHAPED  # noqa: E402 - found by the path above

LONGEST_S = 6 * 3600


def main() -> int:
    """Prints what became of it; 1 where something was left in pieces or not gone on with."""
    times = sys.argv[1] if len(sys.argv) > 1 else "25"
    seed = sys.argv[2] if len(sys.argv) > 2 else "1"  # noqa: PLR2004 - the second argument
    journal = "/run/journal.sqlite"
    run = program(str(TESTS / "linux_guest_kills.py"), "kill", journal, times, seed)
    *_, told = run_in_guest([*SHAPED, run], kind=GuestInRealTime, longest_s=LONGEST_S)
    if told.get("code") != 0:
        sys.stderr.write(json.dumps(told, indent=1))
        return 1
    return told_as_a_table(json.loads(told["out"]))


def told_as_a_table(told: dict[str, Any]) -> int:
    """Prints how often what has happened; 1 where it should not have."""
    original = told["original"]
    whole = [original, *([*each, original[-1]] for each in told["settings"])]
    counted: collections.Counter[str] = collections.Counter()
    wrong = []
    for each in told["outcomes"]:
        safe = [original[:-1], *each["judged"]]
        goes_on = each["start"].startswith("start: an earlier run did not end in order")
        checks = {
            "whole": each["in_force"] in whole,
            "gone on with": goes_on == (each["changes"] > 0),
            "judged or as before in the end": each["settled"]
            and each["then_in_force"][:-1] in safe,
        }
        failed = [name for name, is_so in checks.items() if not is_so]
        wrong += [{"not": failed, **each}] if failed else []
        counted[f"killed {each['killed']}, after {each['after']}"] += 1
    for words, count in sorted(counted.items()):
        sys.stdout.write(f"{count:4d}  {words}\n")
    restored = told["in_the_end"] == original
    sys.stdout.write(
        f"{len(wrong)} of {len(told['outcomes'])} not whole, not gone on with, or not judged\n"
        f"the setting of the beginning {'is' if restored else 'IS NOT'} in force in the end\n"
    )
    for each in wrong:
        sys.stdout.write(json.dumps(each) + "\n")
    return int(bool(wrong) or not restored)


if __name__ == "__main__":
    sys.exit(main())
