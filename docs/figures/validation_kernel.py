"""Writes docs/laboratory/validation-kernel.md: the simulator beside a Linux kernel, by cases.

    python docs/figures/validation_kernel.py --run [--cases PATTERN] [--seeds N]   # on the kernel
    python docs/figures/validation_kernel.py                                       # the page

Each case is one scenario, which runs on both. Only PIE's interval is longer by a tick in the
simulator, as it is in the kernel. What the kernel has given is kept in
``benches/results/kernel-validation.jsonl`` and not run again; the simulator is run anew for the
page, on twelve seeds. The rule is that of the other references: two means agree if they lie within
the larger of 5 % and three standard errors of their difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final

from vermilion import parse_scenario, run, run_many
from vermilion.simulate.metric import bulk_flows, slowest_share
from vermilion_lab.kernel_plant import run_on_kernel

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
sys.path.insert(0, str(ROOT / "benches"))
sys.path.insert(0, str(HERE))

from kernel_cases import CASES, PIE, PIE_IS_UPDATED_EVERY  # noqa: E402 - found by the path above
from provenance import drawn_by, made_by  # noqa: E402 - found by the path above

from reference_comparison import Comparison, Sample, Where, summary, table  # noqa: E402 - found by the path above

if TYPE_CHECKING:
    from vermilion.simulate import Result

SCRIPT: Final = "docs/figures/validation_kernel.py"
RESULTS: Final = ROOT / "benches" / "results" / "kernel-validation.jsonl"
PAGE: Final = ROOT / "docs" / "laboratory" / "validation-kernel.md"
SIMULATED_SEEDS: Final = range(1, 13)

HEAD: Final = """# Validation against a kernel

One scenario, two plants: the simulator, and a Linux 6.12 kernel's own TCP and queues in virtual
time ({doc}`kernel`). Every case is in `docs/figures/kernel_cases.py`;
`docs/figures/validation_kernel.py` makes the page. The kernel ran over SEEDS seeds, the simulator
over 12. Means are followed by standard deviations over
seeds. The rule is that of {doc}`validation`: the larger of 5 % and three standard errors of the
difference. Queues are in bytes. "Slowest" is the goodput of the slowest bulk flow over the mean;
"completion" the mean time that a transfer took, in seconds. BBR is version 1 on both sides
(`bbr1`).
"""


CAUSES: Final = """What does not, and why:

- **pfifo of 60 with one flow of Reno at 100 Mbit/s**: each time the queue is full, one or two
  packets are lost (one and a half on average on the kernel). Segments leave in bursts of nine,
  and where a burst begins decides. In the simulator all cycles are alike, and at a round trip of
  20 ms it is always two. At 19.95, 20.2 and 20.5 ms it loses 12, 12 and 8 packets in 20 s; the
  kernel 13 to 15, 8 or 9, and 8 to 10.
- **RED with 16 flows of paced Reno**: the draws of twelve seeds. With 48 others in the simulator
  the slowest flow has 0.875 of the mean, which is 4.0 % more than the kernel's.
- **pfifo of 1000 with four flows of Reno behind a flood**: the same. The first flow in has most of
  the link. With 24 other seeds on the kernel and 48 in the simulator the slowest has 0.24 and 0.32
  of the mean, with standard deviations of 0.13 and 0.14.
- **fq with 20 packets for each of 16 flows of Reno**: each flow is alone in a queue of its own,
  and the same decides as for one flow over pfifo. Each time its queue is full, a flow loses two
  packets on the kernel (ten in 20 s, all flows alike) and one in the simulator (five or six).
  The queue is 3 % longer in the simulator.

**pfifo of 100 with four flows of paced Reno** agrees only with these seeds. With 48 others the
queue is 54.9 kB, 9 % shorter than the kernel's. Each time the queue is full the flows lose one
packet in ten more than the kernel's (58 and 53 in 20 s), so more of them reduce at once. One flow
alone loses as many as there (3.3 and 3.2). Why four do not is not known.

**RED with ECN** agrees only because seeds differ so much: the kernel drops 3.9 % and the
simulator 2.7 %. What decides is when the flows begin. A lost SYN is sent again without ECN, and
the flow stays without; so it loses packets where the others are marked. In the kernel 6.3 of 16
flows lose their SYN (mean of twelve seeds), in the simulator 3.9. Before senders had bursts it was
3.5. With the starts of the kernel's seeds it was 4.3 (and 2.9 % of the packets), with slow
start as on the kernel (below) 5.7 (3.7 %).

## The link

In the kernel htb makes the link. It was allowed to send two packets in a burst. So a link that
had been idle sent three at once, and the queue was up to two packets shorter than behind a link.
Now of eight datagrams that arrive together the last waits for seven transmissions. RED at 200 ms
(7.8 % off), FQ-CoDel with 4 flows and transfers over pfifo agree since. Of 165 numbers two more
did, with the simulator as it was.

It may make up for four microseconds. htb's timer is late: each reading of a clock takes 256 ns.
What htb may not make up for is lost to the link. Allowed one byte, a link of 100 Mbit/s lost 0.3
% of its rate. One of 10 Mbit/s lost only 12 ns with each packet, half a microsecond in a round
trip. But 28 ms are a whole number of transmissions there, so that half a microsecond decides who
finds the last place in a queue free ({doc}`kernel`).

## What the packets showed

What was missing showed when packets at the senders were laid side by side: those of the guest,
captured in it, and those of `vermilion run --packets`. Each is in the kernel's source, and has a
test. By the first six, 155 of 165 numbers agreed instead of 147, with the link as it was. By the
seventh the numbers that are not BBR's lie nearer. On average they are 0.18 of what is
allowed apart, and were 0.22. Four of them have more than three quarters of it, where eight had.

- *A receiver acknowledges at once again* after a pause longer than its own timeout, a duplicate,
  or a first mark (`tcp_incr_quickack`, `tcp_enter_quickack_mode`). The simulator's did so at the
  beginning only. Over FQ-CoDel with 64 flows many round trips became 40 ms shorter.
- *Each repair of the first missing segment restarts the retransmission timer*
  (`tcp_xmit_retransmit_queue`). The simulator's ran from the first repair, so a timeout after the
  second one came 100 ms early.
- *A repair that arrives reveals what was sent before it*, also when nothing else is missing (RFC
  8985, section 6.2). The simulator looked only while something was reported. Over FQ-CoDel with
  64 flows 14 % of the repairs arrive now that an acknowledgement calls. On the kernel it is 15 %;
  it was 61 %.
- *Timers are on a wheel*: never early, up to an eighth late, and together with all others of
  their bucket (`calc_wheel_index`). PIE, which asks for 20 ms, is updated every 30. The simulator
  is told 30 here.
- *All senders of a host have one clock* (`shared_clock`). Repairs come in bunches, and a queue
  with room for one packet lets in one of them ({doc}`kernel`).
- *PIE begins after half a second, and its probability runs on beyond 1* (`dialect = "linux"`).
  When 64 flows begin, everything is dropped for a second, and a flow may be silent for the rest
  of the run.
- *How long a receiver waits for a second segment follows the pauses between segments*, and ends
  on a tick (`tcp_event_data_recv`, `tcp_send_delayed_ack`). With RED and 200 ms (one seed) the
  kernel has 2635 acknowledgements of one segment. Half of them come within 266 ms of its sending,
  and nine of ten within 283 ms. The simulator has 2320, within 270 and 286 ms; it had 3304,
  within 252 and 275.
- *A lost SYN says nothing of the network's load* (`tcp_init_metrics`, `tcp_init_transfer`). In the
  simulator it was a timeout like any other, after which slow start ends at two segments. Behind a
  flood that takes their SYNs four flows of Reno used 64 % of a link of 100 Mbit/s from 3 to 9 s,
  and their queue was 2.2 kB. Now they fill it, and keep 843 kB; the kernel's keep 840.
- *A report of what was sent before the repair times a round trip and restarts the timer*
  (`tcp_ack_update_rtt`, `tcp_clean_rtx_queue`). See the fast links below.

## Fast links

Until 26 November 2026 all cases had 10 Mbit/s, and a fault of the simulator went unnoticed. The
five cases of 100 and 400 Mbit/s are there since. Over FQ-CoDel the first flows have large windows
when the others begin, and their share falls thirtyfold. So their packets wait for seconds. The
simulator's timer did not hear of that while losses were repaired. It expired, and everything was
sent again while it was on its way. With 32 flows of CUBIC the mean queue was 8.6 times as long as
the kernel's, and the drop rate 4.2 times as high. With 8 flows of Reno it was 4.6 and 2.7 times.

The rule had let that pass. The seeds differed so much (1.2 ± 1.5 MB where the kernel has 0.144 ±
0.025) that three standard errors covered it. Read the spread as well as the verdict.

## Bursts

In the cases of 10 Mbit/s windows have a few segments. With ten and more the kernel's queue was
longer. Over pfifo of 60 packets at 100 Mbit/s 20 flows of Reno kept 61.6 kB there and 50.4
here. A kernel that was told to do without bursts (`net.ipv4.tcp_min_tso_segs` of 1, six seeds)
kept 51.1. A host hands segments over in bursts, and waits to make them enough ({doc}`../senders`).
So flows lose at different times. The simulator does that since, and kept 60.0 kB (62.5 with what
follows). Over FQ-CoDel at 200 Mbit/s two flows kept 12 kB where the kernel has 21, and keep 21 now.

The rule about the next acknowledgement came to stable kernels in October 2025. Older ones wait
more often.

## Reports that wait

Two cases of CUBIC at 100 Mbit/s had disagreed, and nobody knew why. The state of each flow was
asked a thousand times a second (`TCP_INFO`): on the kernel, episodes of loss begin more slowly.
And of the acknowledgements that reached senders 8.6 % told of no progress; in the simulator it
was 19 %. While something is missing, a receiver of Linux reports three arrivals at once and those
after them together ({doc}`../senders`).

With that, 20 flows of CUBIC over pfifo of 60 packets lose 1.22 % of their packets instead of
1.28; the kernel's lose 1.22. Over RED the mean queue is 52.6 kB instead of 50.3, where the kernel
has 53.1. Its standard deviation over time is 23.0 kB instead of 26.8, where the kernel has 22.8.
Over pfifo 20 flows of Reno keep 62.5 kB instead of 60.0, the kernel's 61.6. A kernel that was
told to report all at once (`net.ipv4.tcp_comp_sack_nr` of 0, three seeds) had nearly what the
simulator had: 1.26 %, 51.4 kB, 25.6 kB and 61.0 kB.

What waits lies in two blocks at most. Without that rule (`tcp_sack_new_ofo_skb`), blocks were
forgotten that an acknowledgement has no room for, and at 5 % of random loss 6 % of the repairs
were in vain.

## What a timeout makes CUBIC forget

Over FQ-CoDel at 2 Mbit/s, 16 flows of CUBIC had a queue that was 13.5 % shorter than the
kernel's, and lost 8.1 % more. Windows are two and three packets there. What each did from one
loss to the next was counted, on both sides. With Reno the fourteen commonest courses came equally
often. With CUBIC they did not: after a timeout the simulator's window was three at once, the
kernel's only after another loss. The kernel forgets the plateau at every timeout, also while
losses are repaired (`tcp_enter_loss` calls `bictcp_state`). The simulator's rule heard of a
timeout only where it reduced the window. Now the courses come equally often, the queue is within
1 %, and so are the drops.

## BBR

Until the simulator had version 1 (`bbr1`), the cases of BBR compared two versions of it: the
kernel's lost 17 % of its packets over pfifo and version 3 here 4.5 %. Two things around the model
proved to matter as much as the model. Who could not send for a while makes up for it with half of
the spacing (`tcp_update_skb_after_send`): without that 16 flows over RED lost 18.7 % instead of
19.6. And what a millisecond carries leaves at once, at least two segments from 1.2 Mbit/s on:
without that 8 flows over FQ-CoDel kept 19.2 kB instead of 24.7; the kernel's keep 24.8.

## Pacing

Whoever paces on Linux still hands over two segments at least, and spaces what is handed over. The
simulator spaced each segment of all but BBR. So the queue over FQ-CoDel at 20 Mbit/s was a quarter
too short: 12.3 kB, where the kernel's has 16.3. Over CoDel it was 14.1 where the kernel has 16.0,
and RED dropped 8.5 % in place of 9.0. Now it is 16.2 kB, 16.2 kB and 9.1 %.

## Slow links

Where a thousand packets wait at 2 Mbit/s, round trips grow by seconds. By RFC 6298, with a
sample for every second segment, the timeout followed too closely and came for nothing. So the
slowest of eight flows of CUBIC had 0.39 of the mean; the kernel's has 0.70. With Linux's
estimate it has 0.72.

## Slow start

One difference that was found is not modelled. While the receive window grows, Linux acknowledges
every segment at once (`tcp_grow_window`), so most of slow start. Of the first flow's segments the
kernel acknowledges 21 one by one, ten of the next 14 in pairs, and then 78 one by one; the
simulator 16, and pairs after that. With a model of that window one flow of Reno over pfifo
dropped as many packets in its first ten seconds as the kernel, 184 instead of 187. But as many
numbers of this page agreed, and they lay further apart (0.20 of what is allowed). Over PIE flows
that begin together were silent for longer than on the kernel. So it was left out.

## FQ-CoDel with many flows of Reno

The hash is drawn in each run, there as here. At 16 flows of Reno and 28 ms the drop rate depends
on how the senders notice a loss. Windows are three to five packets, and receivers acknowledge
every second one. So the acknowledgement that first reports an arrival beyond a loss mostly covers,
at last, a packet sent a round trip before. RFC 8985 (section 6.2, step 2) lets every segment that
arrives set the round trip of RACK, and does not say in which order. Linux looks at the reports
first and at what is acknowledged cumulatively last, and so does the simulator. The old one's,
twice as long, is then in force, and the loss must wait for the reordering timer. In the meantime
two more packets leave.
"""
CYCLES: Final = """At 16 flows so small a thing moves the drop rate. Each flow has a queue of one or
two packets to itself, and goes round in a cycle of a few packets from drop to drop. Such cycles
have whole lengths, and other small things move it as well. In the simulator:
"""


PROMISES: Final = """## What the model promised, and what came

The controller on the kernel ({doc}`kernel`) judges each setting that it has put in force: what it
measured beside what its model had promised. From the journals of `benches/kernel_online.py`, by
`docs/figures/kernel_predictions.py`. The objective is the mean squared distance of the queue from
30 packets over RED, else the 95th percentile of delay:

```{include} figures/kernel_predictions.txt
```

- How long the queue is on average is foretold well: 3 % off in the median, and less than an eighth
  in eight judgements of ten.
- How much it moves is foretold within a factor of 1.5 in six judgements of ten.
- Where the setting of before could be measured in the same conditions, half of the changes gained
  three tenths of the objective or more. Fifteen of a hundred and ten made it worse.
"""


def measure(result: Result) -> dict[str, float]:
    """What is compared of one run."""
    found: dict[str, float] = {}
    several = len(result.links) > 1
    for name in result.links:
        window = result.link(name).total
        end = f" ({name})" if several else ""
        found[f"mean queue{end}"] = window["queue_bytes"]["mean"]
        found[f"drop rate{end}"] = window["drop_rate"]
        found[f"utilisation{end}"] = window["utilization"]
        if window["marks"] > 0:
            found[f"mark rate{end}"] = window["mark_rate"]
    groups = [result.flows(name).total for name in result.groups]
    flows = bulk_flows(groups)
    if not several and "jain_index" in flows:
        found["Jain's index"] = flows["jain_index"]
        found["slowest"] = slowest_share(flows) or 0.0
    for group in groups:
        if "completion_time_s" in group:
            found["completion"] = group["completion_time_s"]["mean"]
    return found


def load() -> list[dict[str, Any]]:
    """What the kernel has given so far."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines() if line]


def measure_on_kernel(pattern: str, seeds: int) -> None:
    """Runs what is missing."""
    known = {(row["case"], row["seed"]) for row in load()}
    for seed in range(1, seeds + 1):
        for case, text in CASES.items():
            if (case, seed) in known or not fnmatchcase(case, pattern):
                continue
            result = run_on_kernel(parse_scenario(text, origin=case), seed)
            row = {"case": case, "seed": seed, "metrics": measure(result)}
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(row)}\n")
            print(case, seed, flush=True)  # noqa: T201 - progress


def compared(rows: list[dict[str, Any]]) -> list[Comparison]:
    """Every number of every case that both have."""
    found = []
    for case, text in CASES.items():
        theirs = [row["metrics"] for row in rows if row["case"] == case]
        if len(theirs) < 2:  # noqa: PLR2004 - no standard deviation of one
            continue
        scenario = parse_scenario(text, origin=case)
        if PIE in text:
            scenario = scenario.with_values(PIE_IS_UPDATED_EVERY)
        (results,) = run_many([scenario], SIMULATED_SEEDS)
        ours = [measure(result) for result in results if result is not None]
        for metric in theirs[0]:
            if not all(metric in each for each in (*ours, *theirs)):
                continue
            where = Where(case, "", (0, 0), metric)
            found.append(
                Comparison(
                    where,
                    _sample([each[metric] for each in ours]),
                    _sample([each[metric] for each in theirs]),
                )
            )
    return found


def _sample(values: list[float]) -> Sample:
    return Sample(fmean(values), stdev(values), len(values))


def page(rows: list[dict[str, Any]]) -> str:
    """The page."""
    found = compared(rows)
    counts = [sum(row["case"] == case for row in rows) for case in CASES]
    seeds = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} or {max(counts)}"
    return "\n".join(
        [
            HEAD.replace("SEEDS", seeds),
            f"{summary(found)} {CAUSES}",
            CYCLES,
            f"{_cycles()}\n\n{made_by(SCRIPT)}\n\n{PROMISES}",
            f"## Every number\n\nThe worst first.\n\n{_rows(found)}\n",
            f"{made_by(SCRIPT)}\n\nWhat it was compared with:\n\n{drawn_by(SCRIPT, RESULTS)}\n",
        ]
    )


def _rows(found: list[Comparison]) -> str:
    """Comparisons as a table, without the time that they are over."""
    text = table(found, "Linux 6.12").replace(" seconds |", "", 1).replace("|---" * 7, "|---" * 6)
    return text.replace(" | 0 .. 0 | ", " | ")


def _cycles() -> str:
    """What moves the drop rate of the simulator's 16 Reno flows over FQ-CoDel."""
    base = parse_scenario(CASES["FQ-CoDel, 16 Reno, 28 ms"])
    own = "flows.bulk.sender"
    variants: dict[str, dict[str, Any]] = {
        f"a round trip of {rtt} ms": {"flows.bulk.rtt": f"{rtt} ms"}
        for rtt in (26, 28, 30, 32, 34, 36)
    }
    variants |= {
        "every packet acknowledged at once": {f"{own}.quick_acknowledgements": "1e6 packets"},
        "acknowledgements wait 20 ms at most": {f"{own}.acknowledgement_delay": "20 ms"},
        "an interval of 90 ms": {"links.link.queue.interval": "90 ms"},
    }
    lines = ["| | drop rate | mean queue (bytes) |", "|---|---|---|"]
    for name, changes in variants.items():
        results = [run(base.with_values(changes), seed) for seed in SIMULATED_SEEDS]
        windows = [result.link("link").total for result in results]
        drops = _sample([100 * window["drop_rate"] for window in windows])
        queue = fmean(window["queue_bytes"]["mean"] for window in windows)
        lines.append(f"| {name} | {drops.mean:.2f} ± {drops.sd:.2f} % | {queue:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Runs the kernel, or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", action="store_true", help="run what is missing on the kernel")
    parser.add_argument("--cases", default="*", help="a pattern of names")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    if given.run:
        measure_on_kernel(given.cases, given.seeds)
    else:
        PAGE.write_text(page(load()), encoding="utf-8")


if __name__ == "__main__":
    main()
