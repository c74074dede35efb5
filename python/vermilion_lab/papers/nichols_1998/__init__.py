"""RED Light: what is wrong with RED's average, and what a better filter does.

K. Nichols, "RED in a rose-coloured lens", the talk on V. Jacobson, K. Nichols, K. Poduri, "RED in a
Different Light", NANOG 13, 1998. The average of 1993 and RED Light's filter against the queue; the
table of one transfer at 1.5 Mbit/s; long transfers, alone and among web mice; densities of the
queue at three rates; and the claim that RED of 1993 mostly drops because it has to.

The law that RED Light drops by is not public; `vermilion_aqm`'s module has what is, and which
reading this is. Of the loads little is told, so they are run with few and many transfers.
"""

from __future__ import annotations

from functools import partial

from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.nichols_1998.example import (
    draw_example,
    example_tables,
    light_shorter,
    measure_example,
    near_the_table,
)
from vermilion_lab.papers.nichols_1998.filters import (
    average_late,
    average_stale,
    draw_filters,
    filter_closer,
    filter_tables,
    measure_mixed,
    measure_ramp,
)
from vermilion_lab.papers.nichols_1998.loads import (
    busier_when_fast,
    density_tables,
    draw_densities,
    draw_gaps,
    draw_reasons,
    fewer_by_gap,
    gap_tables,
    measure_densities,
    measure_gaps,
    measure_reasons,
    mostly_forced,
    persistent_queue,
    reason_tables,
    spread_evenly,
)
from vermilion_lab.papers.nichols_1998.network import LIGHT, MICE, ONE, RED, TRANSFERS
from vermilion_lab.papers.verdict import Ruling

PAPER = Paper(
    name="nichols-1998",
    title="RED in a rose-coloured lens",
    authors="K. Nichols (with V. Jacobson and K. Poduri)",
    published="talk on “RED in a Different Light”, NANOG 13, 1998",
    story=(
        (
            "RED is meant to tell a queue that persists from one that only holds a burst. It is "
            "to drop a few packets early, at random, instead of many when the buffer is full. "
            "The talk looks at the average by which RED of 1993 does this. It has a time "
            "constant of 500 packets, so on a slow link it lags behind the queue by seconds. It "
            "is still low when the buffer overflows, and still high when the queue has drained. "
            "RED Light samples the queue by time, follows it down at once and averages it only "
            "upwards, and derives its settings from the rate of the link."
        ),
    ),
    open_questions=(
        (
            "RED Light’s control law: not public. Ours is exponential, 1 % at the threshold and "
            "100 % at four times the threshold; other readings are in the page about the "
            "disciplines’ readings."
        ),
        (
            "Round trip and buffer of the one transfer, and what “tail drops” are a share of. "
            "Run are 16, 31, 50 and 100 ms with 11, 12 and 25 packets; the share is that of all "
            "drops that came from a full buffer."
        ),
        (
            "How many long transfers and mice there are. Run are few, more and many transfers, "
            "with round trips of 80 to 120 ms; the mice offer 30 % of the link in transfers of 12 "
            "kB on average. Buffers are a bandwidth-delay product of 100 ms."
        ),
        (
            "What “forced” is, and of which RED: here all drops that are not early, whether the "
            "buffer is full or the average above the upper threshold (the table parts the two). "
            "Run with the talk’s settings, with twice the buffer, and with a maximum probability "
            "of 0.02, as in the paper of 1993."
        ),
    ),
    figures=(
        Figure(
            id="ramp",
            place="the average of 1993",
            title="One transfer ramps up: queue, average, and RED Light’s filter",
            caption="Ten seconds under the first seed at three places (round trip, buffer); "
            "dotted: RED’s lower threshold. The filter is worked out from the same queue, which "
            "RED governs: samples of 1 ms, gain 1/16.",
            settings="1.5 Mbit/s, packets of 1500 bytes (8 ms), one Reno transfer; thresholds 5 "
            "and 20 packets, maximum probability 0.1, weight 0.002.",
            scenarios=(ONE,),
            effort=0.3,
            measure=measure_ramp,
            draw=draw_filters,
            tables=filter_tables,
        ),
        Figure(
            id="table",
            place="the table",
            title="One transfer at 1.5 Mbit/s in numbers",
            caption="Dashed: the talk’s numbers. Means over all seeds with 95 % intervals.",
            settings="As above for 300 s, and RED Light with its defaults (threshold 30 ms).",
            scenarios=(ONE,),
            effort=0.8,
            measure=measure_example,
            draw=draw_example,
            tables=example_tables,
        ),
        Figure(
            id="mixed",
            place="mixed traffic",
            title="Both filters on mixed traffic at 10 Mbit/s",
            caption="Ten seconds under the first seed; dotted: RED’s lower threshold. The filter "
            "has samples of 1 ms and a gain of 1/64, by the talk’s rule for 100 ms.",
            settings="Long Reno transfers and web mice that offer 30 % of the link; RED of 1993, "
            "buffer of 83 packets.",
            scenarios=(MICE,),
            effort=0.4,
            measure=measure_mixed,
            draw=draw_filters,
            tables=filter_tables,
        ),
        Figure(
            id="long-and-mice",
            place="long transfers, and long transfers with mice",
            title="Queue and packets between drops over ten seconds",
            caption="Under the first seed; each point is a drop, its height how many packets "
            "have arrived since the drop before.",
            settings="10 Mbit/s, 25 long transfers, buffer of 83 packets.",
            scenarios=(TRANSFERS, MICE),
            effort=0.6,
            measure=measure_gaps,
            draw=draw_gaps,
            tables=gap_tables,
        ),
        Figure(
            id="densities",
            place="densities of the queue",
            title="How long the queue has each size at 1.5, 10 and 45 Mbit/s",
            caption="Means over all seeds, shaded: 95 % intervals; dotted: RED’s upper threshold. "
            "Each panel ends at its buffer.",
            settings="4, 25 and 100 long transfers; buffers of 12, 83 and 375 packets.",
            scenarios=(TRANSFERS, MICE),
            effort=1.4,
            measure=measure_densities,
            draw=draw_densities,
            tables=density_tables,
        ),
        Figure(
            id="forced-drops",
            place="forced drops",
            title="Why RED of 1993 drops packets",
            caption="Shares of all drops; the rest of each row, to 100 %, are early drops. "
            "Means over all seeds, whiskers: 95 % intervals of the whole bar.",
            settings="As before, with few, more and many transfers.",
            scenarios=(TRANSFERS, MICE),
            effort=4.4,
            measure=measure_reasons,
            draw=draw_reasons,
            tables=reason_tables,
        ),
    ),
    claims=(
        Claim(
            id="average-late",
            place="the average of 1993",
            says="The average of 1993 lags behind a queue that builds up.",
            measured="From the queue’s first 5 packets until the average has 5, more than ten "
            "round trips pass.",
            figures=("ramp",),
            checks=average_late,
        ),
        Claim(
            id="average-stale",
            place="the average of 1993",
            says="The average of 1993 stays high while the queue drains.",
            measured="While no packet or one waits, the average is more than a packet above the "
            "queue.",
            figures=("ramp", "mixed"),
            checks=average_stale,
        ),
        Claim(
            id="filter-follows",
            place="RED Light’s filter",
            says="RED Light’s filter follows the queue better when one transfer ramps up.",
            measured="Its mean distance from the queue is less than the average’s.",
            figures=("ramp",),
            checks=partial(filter_closer, figure="ramp"),
        ),
        Claim(
            id="filter-follows-mixed",
            place="mixed traffic",
            says="RED Light’s filter follows the queue better with mixed traffic.",
            measured="Its mean distance from the queue is less than the average’s.",
            figures=("mixed",),
            checks=partial(filter_closer, figure="mixed"),
        ),
        Claim(
            id="red-numbers",
            place="the table",
            says="Under RED of 1993 the queue’s median is 6 and its 95th percentile 10 packets, "
            "and 32 % are tail drops.",
            measured="Within a packet, and within ten percentage points.",
            figures=("table",),
            checks=partial(near_the_table, queue=RED),
            remarks={
                Ruling.IN_PART: (
                    "The buffer decides how many of the drops are tail drops. With "
                    "11 packets all three numbers come out at 31 and at 50 ms, with "
                    "12 at 100 ms. With 25 the buffer is never full once the "
                    "transfer has ramped up."
                ),
            },
        ),
        Claim(
            id="light-numbers",
            place="the table",
            says="Under RED Light they are 1 and 5 packets and 1 %.",
            measured="Within a packet, and within ten percentage points.",
            figures=("table",),
            checks=partial(near_the_table, queue=LIGHT),
            remarks={
                Ruling.IN_PART: "They come out at 100 ms, of which the talk’s threshold of 30 ms "
                "is 30 %. At shorter round trips the same threshold leaves a queue of some "
                "packets; the tail drops vanish everywhere.",
            },
        ),
        Claim(
            id="light-shorter",
            place="the table",
            says="RED Light has the shorter queue and next to no tail drops.",
            measured="Median and 95th percentile are below RED’s, and at most 1 % of the drops "
            "come from a full buffer.",
            figures=("table",),
            checks=light_shorter,
            remarks={
                Ruling.HOLDS: (
                    "It is paid for with the link. Its use falls from 88 to 97 % down "
                    "to 82 to 89 %, because Reno waits for its timer when two drops "
                    "fall into one window. With SACK there is no such price at short "
                    "round trips (see the disciplines’ readings)."
                ),
            },
        ),
        Claim(
            id="drops-apart",
            place="ours, on long transfers and mice",
            says="RED Light drops less often.",
            measured="More packets arrive between two drops than with RED of 1993.",
            figures=("long-and-mice",),
            checks=fewer_by_gap,
            remarks={
                Ruling.HOLDS: "Its queue is longer here, by a factor of about three, so that the "
                "round trips are longer and the same rate needs fewer drops.",
            },
        ),
        Claim(
            id="drops-regular",
            place="ours, on long transfers and mice",
            says="RED Light drops more regularly.",
            measured="The coefficient of variation of the packets between drops is below RED’s.",
            figures=("long-and-mice",),
            checks=spread_evenly,
            remarks={
                Ruling.FAILS: (
                    "RED spaces its drops evenly by count while its average hardly "
                    "moves. RED Light’s filter moves with the queue. Below the "
                    "threshold it drops nothing at all, and above it the probability "
                    "grows exponentially. With 25 transfers whose round trips are "
                    "alike the queue swings through both, about once a second. This "
                    "is of our reading of the control law, which is not public."
                ),
            },
        ),
        Claim(
            id="persistent-queue",
            place="densities of the queue",
            says="With its settings from the rate alone RED Light keeps the persistent queue "
            "below 30 % of a bandwidth-delay product at every rate.",
            measured="The median is at most that, and the link is used to 90 %.",
            figures=("densities",),
            checks=persistent_queue,
            remarks={
                Ruling.IN_PART: (
                    "The link is full, and the queue scales with the rate, but with "
                    "this many transfers it rests above the threshold (20 % of 100 "
                    "ms, 30 % below 4 Mbit/s). They need 4 to 6 % of their packets "
                    "dropped, and our law has 1 % at the threshold. At 1.5 Mbit/s "
                    "two packets, which are always let through, are a sixth of the "
                    "product."
                ),
            },
        ),
        Claim(
            id="packets-do-not-scale",
            place="ours, on the densities",
            says="Thresholds of 5 and 20 packets do not fit faster links.",
            measured="At 10 and 45 Mbit/s the link is used more with RED Light.",
            figures=("densities",),
            checks=busier_when_fast,
        ),
        Claim(
            id="mostly-forced",
            place="forced drops",
            says="RED of 1993 does mostly forced drops.",
            measured="More than half of its drops are not early ones: the average is above the "
            "upper threshold, or the buffer is full.",
            figures=("forced-drops",),
            checks=mostly_forced,
            remarks={
                Ruling.IN_PART: (
                    "It depends on the maximum probability and on the buffer. With 0.1 most "
                    "drops are early ones even where a fifth of the packets is dropped. Only at "
                    "1.5 Mbit/s are most of them forced. There the buffer of 12 packets is "
                    "shorter than the upper threshold, and full before the average has noticed. "
                    "With 0.02, the value of the paper of 1993, the claim holds at every rate "
                    "with more than a transfer for each 2 Mbit/s. There 62 % of the drops and "
                    "more are forced."
                ),
            },
        ),
    ),
)
