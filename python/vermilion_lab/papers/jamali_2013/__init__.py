"""VRED: does it help RED to look at how fast the queue grows?

S. Jamali, B. Alipasandi, N. Alipasandi, "VRED: An improvement over RED algorithm by using queue
length growth velocity", J. Advances in Computer Research 4(1), 2013. Table 1 and figures 5 to 8:
packets dropped and the use of a slow link with up to twenty sources, RED against VRED.

What the paper leaves open is run in several readings: which senders and which RED its ns-2 had, and
VRED's algorithm, which is in a figure that no public copy shows.
"""

from __future__ import annotations

from functools import partial

from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.jamali_2013.over_time import (
    STEP_S,
    below_all_along,
    busy_all_along,
    draw_over_time,
    measure_over_time,
    stretch_tables,
)
from vermilion_lab.papers.jamali_2013.settings import SCENARIOS
from vermilion_lab.papers.jamali_2013.totals import (
    busy,
    draw_totals,
    fewer,
    longer_queue,
    measure_totals,
    red_counts,
    saves,
    total_tables,
)
from vermilion_lab.papers.verdict import Ruling

_STAGED, _SUDDEN = SCENARIOS

_WHERE_IT_IS = (
    "The published saving and the published counts do not come out together. A saving of this "
    "size needs Reno of ns-2.35 over a RED that is not gentle, and a velocity at each change of "
    "a packet. Three quarters of RED’s drops are forced there: the average is above the upper "
    "threshold, and everything is dropped until it has fallen. VRED, stricter while the queue "
    "grows, makes most of them early ones (the table has the forced drops). A velocity at each 5 "
    "packets does so as well, and saves 5 to 7 %. What more the strong gains at each packet do "
    "has not been taken apart. But RED drops 5300 and 5600 packets there and not 2974 and 3333. "
    "Where its counts are the paper’s, VRED saves 8 % at most. The window of each of twenty "
    "sources is below a packet, and what is lost depends on how many packets the queue can hold "
    "(see the last claim about this table). The average stays where RED’s thresholds hold it. A "
    "gentle RED forces no drops, and VRED saves less than 5 %. The paper has one run of each "
    "queue; the tables also have the most favourable pair of our runs."
)

PAPER = Paper(
    name="jamali-2013",
    title="VRED: An improvement over RED algorithm by using queue length growth velocity",
    authors="S. Jamali, B. Alipasandi, N. Alipasandi",
    published="Journal of Advances in Computer Research 4(1), 2013",
    story=(
        (
            "RED judges congestion by the average length of the queue. VRED also looks at how fast "
            "the queue grows: when it grows, the drop probability is raised, by more the faster "
            "it grows; when it shrinks, the probability is lowered. RED should then react sooner "
            "to a load that rises, and more gently when there is little. The paper lets 5, then "
            "15, then 20 sources, and 5, then 20, use a link of 2 Mbit/s for 100 s, and counts."
        ),
    ),
    open_questions=(
        (
            "The algorithm: published are a threshold of 5 packets of growth, several levels of "
            "velocity, and changes in per cent. Run are a velocity each 0.1 s, at each change of "
            "5 packets, and at each change of a packet with three sets of gains, which "
            "multiplies RED’s probability. One more, at each change of a packet, changes the "
            "maximum probability itself. More readings are in the page about the disciplines’ "
            "readings."
        ),
        (
            "Which senders and which “default RED” its ns-2 had: Tahoe as before 2001 (a clock "
            "of 100 ms, timeouts of at least 1 s) or Reno of ns-2.35 (10 ms, 0.2 s). Thresholds "
            "of 5 and 15 packets and not gentle, or automatic thresholds in bytes and gentle. "
            "All four combinations are run."
        ),
        "Whether a count is of one run. Here it is a mean over the seeds.",
    ),
    figures=(
        Figure(
            id="table-1",
            place="table 1",
            title="Packets dropped by RED and by VRED in 100 s",
            caption="Above: drops with four settings that ns-2 can have had, in both scenarios; "
            "dashed: the paper’s counts. Below: VRED’s drops against RED’s. Means over all seeds "
            "with 95 % intervals.",
            settings=(
                "2 Mbit/s, round trip of 10 ms, edge links of 10 Mbit/s, buffer of 50 "
                "packets (in byte mode 25 kB), maximum probability 0.1, weight 0.002. The "
                "starts of sources that join together are drawn over a second."
            ),
            scenarios=tuple(SCENARIOS.values()),
            effort=2.2,
            measure=measure_totals,
            draw=draw_totals,
            tables=total_tables,
        ),
        Figure(
            id="figures-5-to-8",
            place="figures 5 to 8",
            title="Drops and utilisation over time",
            caption=f"Above: packets dropped in a second, below: utilisation, each over {STEP_S:g} "
            "s; means over all seeds with 95 % intervals. At the dotted lines sources join.",
            settings="The setting under which RED drops what the paper’s does: Tahoe as before "
            "2001, thresholds of 5 and 15 packets. Drawn are RED, VRED as it is by default, and "
            "the reading that drops least.",
            scenarios=tuple(SCENARIOS.values()),
            effort=0.4,
            measure=measure_over_time,
            draw=draw_over_time,
            tables=stretch_tables,
        ),
    ),
    claims=(
        Claim(
            id="red-drops",
            place="table 1",
            says="RED drops 2974 and 3333 packets.",
            measured="RED’s mean count lies within a tenth of the paper’s.",
            figures=("table-1",),
            checks=red_counts,
            remarks={
                Ruling.IN_PART: (
                    "It tells which ns-2 it was: one whose senders wait a second or "
                    "more at a timeout. With Reno of ns-2.35, which waits 0.2 s, "
                    "RED drops two thirds more. The simulator ns-2.35 itself drops "
                    "3022 and 3209 with the settings of the first row, and 5012 and "
                    "5349 with those of the last one."
                ),
            },
        ),
        Claim(
            id="staged-saving",
            place="table 1",
            says="VRED drops 2511 packets when sources join in two stages, 15.6 % less than RED.",
            measured="The change of the drops, seed by seed, lies within a quarter of that.",
            figures=("table-1",),
            checks=partial(saves, load=_STAGED),
            remarks={Ruling.FAILS: _WHERE_IT_IS, Ruling.IN_PART: _WHERE_IT_IS},
        ),
        Claim(
            id="sudden-saving",
            place="table 1",
            says="VRED drops 2747 packets when fifteen sources join at once, 17.6 % less than RED.",
            measured="The change of the drops, seed by seed, lies within a quarter of that.",
            figures=("table-1",),
            checks=partial(saves, load=_SUDDEN),
            remarks={Ruling.FAILS: _WHERE_IT_IS, Ruling.IN_PART: _WHERE_IT_IS},
        ),
        Claim(
            id="fewer-drops",
            place="table 1",
            says="VRED drops fewer packets than RED.",
            measured="The change of the drops lies below zero, under the setting in which RED "
            "drops what the paper’s does.",
            figures=("table-1",),
            checks=fewer,
            remarks={
                Ruling.IN_PART: "A velocity at every change of a packet with strong gains saves "
                "5 to 8 %. What the other readings do is too little for so few seeds: on forty "
                "that had no part in its choice the default drops about 1 % less (see the "
                "disciplines’ readings).",
            },
        ),
        Claim(
            id="utilisation",
            place="figures 5 to 8, in total",
            says="The link is not used less with VRED.",
            measured="The utilisation is at most half a percentage point below RED’s.",
            figures=("table-1",),
            checks=busy,
            remarks={
                Ruling.IN_PART: "It is lower by half to eight tenths of a percentage point only "
                "with Reno over the RED that is not gentle, a velocity at every packet and the "
                "milder gains.",
            },
        ),
        Claim(
            id="room-in-the-queue",
            place="ours, on table 1",
            says="What is lost here depends on how many packets the queue can hold.",
            measured="Drop-tail with the same buffer drops fewer packets than RED by more than the "
            "paper’s VRED does.",
            figures=("table-1",),
            checks=longer_queue,
        ),
        Claim(
            id="drops-over-time",
            place="figures 5 to 8",
            says="VRED drops fewer packets than RED throughout.",
            measured="The difference of the drops in a second lies below zero with each number of "
            "sources.",
            figures=("figures-5-to-8",),
            checks=below_all_along,
            remarks={
                Ruling.IN_PART: "The reading that drops least does so with 15 and 20 sources; "
                "with 5 it gains nothing, and the default’s difference is too small for so few "
                "seeds.",
            },
        ),
        Claim(
            id="utilisation-over-time",
            place="figures 5 to 8",
            says="The link is not used less with VRED throughout.",
            measured="The utilisation is at most half a percentage point below RED’s with each "
            "number of sources.",
            figures=("figures-5-to-8",),
            checks=busy_all_along,
        ),
    ),
)
