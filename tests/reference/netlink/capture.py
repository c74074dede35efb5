"""Writes ``answers.json``: what a Linux kernel says of queues, beside what tc reads in it.

    VERMILION_KERNEL=.../linux python tests/reference/netlink/capture.py

The queues are made by tc and read by tc; nothing of Vermilion's decoders takes part.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "kernel"))

from linux_guest import run_in_guest  # noqa: E402 - its folder has to be on the path first

QUEUES = (
    "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10Mbit probability 0.02",
    (
        "red limit 120000 min 20000 max 80000 avpkt 1000 burst 41 bandwidth 45Mbit probability 0.25"
        " ecn nodrop"
    ),
    (
        "red limit 80000 min 20000 max 60000 avpkt 1500 burst 30 bandwidth 100Mbit"
        " probability 0.016 ecn harddrop"
    ),
    "red limit 1000000 min 30000 max 35000 avpkt 1500 burst 20 bandwidth 100mbit probability 1",
    "pie",
    "pie limit 1234 target 15001us tupdate 31ms alpha 3 beta 21 ecn bytemode",
    "pie target 5s dq_rate_estimator",
    "codel",
    "codel limit 1000 target 5ms interval 100ms ecn",
    "codel target 12345us interval 99999us ce_threshold 1ms",
    "fq_codel",
    (
        "fq_codel limit 5000 flows 256 target 20ms interval 300ms quantum 100 ce_threshold 2500us"
        " memory_limit 4Mb drop_batch 32 noecn"
    ),
    "fq_pie",
    (
        "fq_pie limit 500 flows 64 target 20ms tupdate 10ms alpha 1 beta 10 quantum 300"
        " memory_limit 1Mb ecn_prob 20 ecn bytemode dq_rate_estimator"
    ),
    "fq",
    (
        "fq limit 5000 flow_limit 50 quantum 1514 initial_quantum 3028 refill_delay 20ms"
        " orphan_mask 511 ce_threshold 2500us maxrate 100mbit"
    ),
    "choke limit 1000 min 83 max 250 avpkt 1000 burst 139 bandwidth 10mbit probability 0.02 ecn",
    "pfifo limit 321",
    "bfifo limit 65432",
    "pfifo_head_drop limit 77",
    "sfq",
    (
        "sfq limit 100 depth 20 headdrop perturb 10 redflowlimit 60000 min 8000 max 30000"
        " probability 0.2 ecn"
    ),
    "cake bandwidth 10mbit besteffort dual-srchost rtt 50ms",
    "cake diffserv4 wash ack-filter",
    "htb default 1",
    "tbf rate 1mbit burst 10k limit 20k",
)


def main() -> None:
    """Captures and writes."""
    steps = [["kernel"], ["call", "tc", "-V"], ["call", "ip", "link", "set", "dummy0", "up"]]
    for queue in QUEUES:
        words = ["tc", "qdisc", "replace", "dev", "dummy0", "root", "handle", "1:", *queue.split()]
        # Packets pass it, so that counters are not all zero.
        steps += [["call", *words], ["send", "dummy0", 7, 500], ["dump", "dummy0"]]
        steps += [["show", "dummy0"], ["call", "tc", "qdisc", "del", "dev", "dummy0", "root"]]
    kernel, tool, _, *outcomes = run_in_guest(steps)
    answers = []
    for at, queue in enumerate(QUEUES):
        made, _, payload, shown, _ = outcomes[5 * at : 5 * at + 5]
        if made["code"]:
            message = f"tc does not make {queue}: {made['error']}"
            raise SystemExit(message)
        answers.append({"queue": queue, "payload": payload, "tc": shown[0]})
    document = {
        "made_by": f"Linux {kernel['release']} (User-Mode Linux, x86_64, HZ=100)",
        "tool": tool["out"].strip(),
        "note": "payload: the message RTM_NEWQDISC after its nlmsghdr, from RTM_GETQDISC, queue at "
        "the root of dummy0 with handle 1:; tc: what tc -s -d -j qdisc show prints of it",
        "answers": answers,
    }
    text = json.dumps(document, indent=1)
    (HERE / "answers.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
