"""RED against REM: does a queue have to grow with the number of sources?

S. Athuraliya, S. Low, "Simulation Comparison of RED and REM", 2000. Figure 4: the queue of RED
grows with the number of Reno sources, because the average queue is what tells the sources how many
they are. Figure 5: REM sources learn a price instead, and the queue stays small. Figure 6: the
shares of Reno sources depend on their propagation delay, those of REM sources do not.

What the paper leaves open is run in all readings: whether its propagation delay is that of the
round trip or one way; whether RED marks or drops, and as published in 1993 or as ns-2 spaces its
marks; REM's base phi; the sources' immediate or smoothed adjustment.
"""

from __future__ import annotations

from vermilion_lab.papers.athuraliya_2000.network import DELAYS, SOURCES, SPIKE_S
from vermilion_lab.papers.athuraliya_2000.queues import (
    draw_red,
    draw_rem,
    measure_red,
    measure_rem,
    red_delays,
    red_grows,
    rem_phi,
    rem_queue,
    rem_spikes,
    rem_utilization,
    tables,
)
from vermilion_lab.papers.athuraliya_2000.shares import (
    draw_shares,
    measure_shares,
    rem_fair,
    reno_unfair,
    share_tables,
)
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.verdict import Ruling

PAPER = Paper(
    name="athuraliya-2000",
    title="Simulation Comparison of RED and REM",
    authors="S. Athuraliya, S. Low",
    published="2000",
    story=(
        (
            "RED tells sources about congestion by the average length of the queue. RED must "
            "tell more sources more often, so its queue must be longer: congestion and delay are "
            "coupled. REM takes them apart. A link keeps a price that rises while more packets "
            "arrive than it can send, or packets wait, and falls otherwise. It marks with a "
            "probability that is exponential in the price. So the marks of a whole path tell the "
            "sum of its prices. Whatever the number of sources, the price finds the value at "
            "which the queue is nearly empty and the link is nearly full."
        ),
    ),
    open_questions=(
        "“Propagation delay of 20 ms”: of the round trip, or one way. Both are run.",
        (
            "Whether RED marked or dropped, and which RED it was: as published in 1993, or as in "
            "ns-2. That one leaves at least 1/p packets between two marks, so it gives a third "
            "as many. All four combinations are run."
        ),
        (
            "REM’s base phi. Prices are about as high as the number of sources, 10 to 40. A base "
            "of 1.03 to 1.05 turns them into probabilities that fifty acknowledgements can tell "
            "apart. Bases of 1.01 and 1.1 are run as well, and judged separately."
        ),
        (
            "The adjustment of REM sources (at once, or by a packet in a round trip), and their "
            "greatest and least rates: the link’s capacity, and a packet in a round trip."
        ),
    ),
    figures=(
        Figure(
            id="figure-4",
            place="figure 4",
            title="RED’s queue with 10, 20, 30 and 40 Reno sources",
            caption="Above: the queue over time under one seed, ten more sources joining at each "
            "dotted line. Below: means of the settled stretches over all seeds, with 95 % "
            "intervals; dashed where the propagation delay is read as one way.",
            settings="32 Mbit/s with packets of 1000 bytes (4 packets in a millisecond), buffer "
            "of 100 packets; thresholds 20 and 80 packets, maximum probability 0.1, weight "
            "0.002; Reno without a window cap, every packet acknowledged; 10 s after each join "
            "are left out.",
            scenarios=(SOURCES,),
            effort=10.0,
            measure=measure_red,
            draw=draw_red,
            tables=tables,
        ),
        Figure(
            id="figure-5",
            place="figure 5",
            title="REM’s queue and utilisation with 10, 20, 30 and 40 REM sources",
            caption="Above: the queue over time under one seed. Below: means of the settled "
            "stretches, immediate adjustment; the scale of the queue is a quarter of figure 4’s.",
            settings=(
                "The same link; gain 0.001, queue weight 0.1, weight of new arrivals 0.02, "
                "a price each millisecond, no target queue. Sources: the last 50 marks, "
                "weight of the utility 4000 packets/s, gain of the round trip 0.02."
            ),
            scenarios=(SOURCES,),
            effort=26.0,
            measure=measure_rem,
            draw=draw_rem,
            tables=tables,
        ),
        Figure(
            id="figure-6",
            place="figure 6",
            title="Shares of six sources, 10 to 60 ms away",
            caption="Share of the throughput against propagation delay; the grey line is an equal "
            "share. Solid where the delay is that of the round trip, dashed where it is one way.",
            settings="The same link, queues and sources; one source for each delay; 20 to 200 s.",
            scenarios=(DELAYS,),
            effort=18.0,
            measure=measure_shares,
            draw=draw_shares,
            tables=share_tables,
        ),
    ),
    claims=(
        Claim(
            id="red-grows",
            place="figure 4",
            says="The queue of RED grows with the number of sources.",
            measured="The mean queue grows with every ten sources that join: the interval of the "
            "differences, seed by seed, lies above zero.",
            figures=("figure-4",),
            checks=red_grows,
        ),
        Claim(
            id="red-20-ms",
            place="figure 4",
            says="With 40 sources RED queues for about 20 ms.",
            measured="The mean queue with 40 sources over the link’s 4 packets in a millisecond "
            "lies within a quarter of 20 ms.",
            figures=("figure-4",),
            checks=red_delays,
            remarks={
                Ruling.IN_PART: (
                    "The published delay comes out where RED marks instead of "
                    "dropping, spaces its marks as ns-2 does, and 20 ms is the "
                    "whole round trip. Then the queue approaches the upper "
                    "threshold of 80 packets, as in the paper. RED of 1993 signals "
                    "three times as often at the same average, so its queue "
                    "balances lower. Where packets are dropped, Reno loses several "
                    "in a window, waits for timeouts, and offers less; a longer "
                    "round trip needs fewer signals for the same rate."
                ),
            },
        ),
        Claim(
            id="rem-small-queue",
            place="figure 5",
            says="The queue of REM stays small whatever the number of sources.",
            measured=(
                "From 10 to 40 sources the mean queue grows by at most a tenth of what the "
                "least growing RED’s does at the same round trip. With 40 it is at most a "
                "tenth of the buffer."
            ),
            figures=("figure-5", "figure-4"),
            checks=rem_queue,
        ),
        Claim(
            id="rem-utilisation",
            place="figure 5",
            says="Utilisation is above 96 % with REM.",
            measured="The utilisation in each settled stretch, for phi from 1.03 to 1.05.",
            figures=("figure-5",),
            checks=rem_utilization,
            remarks={
                Ruling.IN_PART: (
                    "The price is a sum over excess arrivals and the queue, without "
                    "a target, so it rests where the link is nearly full and the "
                    "queue nearly empty. Whenever the sources’ estimates swing "
                    "down, the link idles. With ten sources each of them is a tenth "
                    "of the load and knows the price only from fifty marks, so the "
                    "swings are widest there; they average out among forty. With "
                    "ns-2’s target of 20 packets (the last rows of the tables) the "
                    "link is full, at the price of these 20 packets."
                )
            },
        ),
        Claim(
            id="rem-spikes",
            place="figure 5",
            says="When sources join, REM’s queue has a short spike.",
            measured=f"The largest queue in the {SPIKE_S:g} s after a join exceeds the mean "
            "largest queue of as long a time when all is settled by at least 5 packets (phi "
            "1.04).",
            figures=("figure-5",),
            checks=rem_spikes,
        ),
        Claim(
            id="rem-any-phi",
            place="figure 5",
            says="The base phi, which the paper does not give, does not decide the outcome.",
            measured="Utilisation above 96 % for a base of 1.01 and of 1.1, too. This is our "
            "question to the paper, not its claim.",
            figures=("figure-5",),
            checks=rem_phi,
            remarks={
                Ruling.IN_PART: "With 1.01, ten sources see a price of 10 as one mark in ten "
                "packets: five among the last fifty, give or take two, so that rates swing by "
                "almost a half. With 1.1 and 40 sources nearly every packet is marked (98 %), "
                "and the one in fifty that is not carries all the information.",
            },
        ),
        Claim(
            id="reno-shares",
            place="figure 6",
            says="The throughput of Reno sources over RED falls with their propagation delay.",
            measured="The nearest source (10 ms) gets at least twice as much as the farthest (60 "
            "ms).",
            figures=("figure-6",),
            checks=reno_unfair,
        ),
        Claim(
            id="rem-shares",
            place="figure 6",
            says="The throughput of REM sources does not depend on their propagation delay.",
            measured="The nearest source’s share is that of the farthest, within a quarter.",
            figures=("figure-6",),
            checks=rem_fair,
        ),
    ),
)
