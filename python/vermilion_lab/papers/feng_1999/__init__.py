"""A self-configuring RED gateway: how aggressive should RED be, and can it find out by itself?

W. Feng, D. Kandlur, D. Saha, K. Shin, "A Self-Configuring RED Gateway", INFOCOM 1999. Loss of 64
connections with drop-tail, RED and ECN; the square-root law turned into a model of loss; RED too
aggressive for 8 sources and too conservative for 32; and the gateway that scales its maximum
probability when the average queue leaves the thresholds.

The slides that were available have no numbers; directions are judged. Left open are the round
trips (delays of 1, 5, 5, 5 and 100 ms, in an order that is not clear), the queue of the loss study,
and when the load changes.
"""

from __future__ import annotations

from vermilion_lab.papers.feng_1999.alternating import SCENARIO as ALTERNATING
from vermilion_lab.papers.feng_1999.alternating import (
    alternating_tables,
    draw_alternating,
    max_p_follows,
    measure_alternating,
    self_configuring_avoids,
    static_fail,
)
from vermilion_lab.papers.feng_1999.loss import SCENARIO as LOSS
from vermilion_lab.papers.feng_1999.loss import (
    draw_model,
    draw_sixty_four,
    ecn_loses_less,
    ecn_still_loses,
    loss_is_high,
    measure_model,
    measure_sixty_four,
    model_exponents,
    model_fits,
    sixty_four_tables,
)
from vermilion_lab.papers.feng_1999.static import SCENARIO as STATIC
from vermilion_lab.papers.feng_1999.static import (
    aggressive_empties,
    conservative_overflows,
    count_tables,
    draw_counts,
    draw_static,
    measure_counts,
    measure_static,
    no_setting_for_all,
    self_configuring_range,
    static_tables,
)
from vermilion_lab.papers.interface import Claim, Figure, Paper
from vermilion_lab.papers.verdict import Ruling

PAPER = Paper(
    name="feng-1999",
    title="A Self-Configuring RED Gateway",
    authors="W. Feng, D. Kandlur, D. Saha, K. Shin",
    published="IEEE INFOCOM 1999",
    story=(
        (
            "Each notification of congestion, a drop or a mark, makes one of N sources halve "
            "its rate, so it takes a 1/(2N) off the load. With many sources RED has to notify "
            "often, or the queue overflows and everybody loses packets; with few, the same "
            "would empty the queue and leave the link idle. No single setting is right for both."
        ),
        (
            "The paper’s gateway watches its average queue. When it falls below the lower "
            "threshold RED was too aggressive, and the maximum probability is divided by 3. When "
            "it rises above the upper one, RED was too conservative, and it is doubled."
        ),
    ),
    open_questions=(
        (
            "Round trips: links of 1, 5, 5, 5 and 100 ms, in an order that is not clear. Run "
            "are 32 ms (all but the long one, both ways), 14 to 212 ms (a site behind each of "
            "them), and 232 ms (all in a row)."
        ),
        (
            "The queue and the round trip of the study of loss: 80 KB with RED’s usual thresholds, "
            "20 and 100 ms."
        ),
        "When the load alternates, and max_p at the start: every 20 s here; 0.1 and 0.02.",
        (
            "Which RED: ns’s, whose marks are spaced by at least 1/p packets, without the gentle "
            "region; Reno sources, packets of 1000 bytes."
        ),
    ),
    figures=(
        Figure(
            id="loss-of-64",
            place="loss study",
            title="Loss of 64 connections",
            caption="Packets dropped at the bottleneck: drop-tail (grey), RED (blue) and RED "
            "with ECN (green) at three maximum probabilities.",
            settings="10 Mbit/s, access links of 100 Mbit/s, 80 KB, thresholds 20 and 80 KB; 10 "
            "to 60 s.",
            scenarios=(LOSS,),
            effort=3.0,
            measure=measure_sixty_four,
            draw=draw_sixty_four,
            tables=sixty_four_tables,
        ),
        Figure(
            id="loss-model",
            place="loss model",
            title="p = (N MSS C / (L R))² against simulation",
            caption="Each point is a combination of 4 to 64 sources, 20 to 200 ms, and 500 to "
            "1460 bytes. Left, R includes the measured waiting in the queue; right, it does "
            "not. Dotted: 2 %, above which timeouts rule.",
            settings="10 Mbit/s, RED with max_p 0.1, 80 KB; C = √1.5; 10 to 50 s.",
            scenarios=(LOSS,),
            effort=16.0,
            measure=measure_model,
            draw=draw_model,
        ),
        Figure(
            id="static",
            place="static settings",
            title="Aggressive and conservative RED with 8 and 32 ECN sources",
            caption="Ten seconds of the queue under one seed, 32 ms; dashed: where it overflows.",
            settings="45 Mbit/s, thresholds 20 and 80 KB, max_p 0.25 or 0.016; 10 to 60 s.",
            scenarios=(STATIC,),
            effort=14.0,
            measure=measure_static,
            draw=draw_static,
            tables=static_tables,
        ),
        Figure(
            id="alternating",
            place="adaptive",
            title="The load alternates between 8 and 32 sources",
            caption="The queue of one seed under each gateway, and max_p below; 32 sources "
            "between the first and second, and the third and fourth dotted line, 8 otherwise.",
            settings="45 Mbit/s, 120 KB, thresholds 20 and 80 KB; the load changes every 20 s; "
            "the first 5 s of each stretch, and the first stretch, are left out.",
            scenarios=(ALTERNATING,),
            effort=22.0,
            measure=measure_alternating,
            draw=draw_alternating,
            tables=alternating_tables,
        ),
        Figure(
            id="sources",
            place="number of sources",
            title="Loss and utilisation by the number of sources",
            caption="Each gateway with 8 to 64 ECN sources, over each reading of the path.",
            settings="45 Mbit/s, 120 KB, thresholds 20 and 80 KB; 10 to 60 s.",
            scenarios=(STATIC,),
            effort=28.0,
            measure=measure_counts,
            draw=draw_counts,
            tables=count_tables,
        ),
    ),
    claims=(
        Claim(
            id="loss-is-high",
            place="loss study",
            says="With 64 connections loss is alarmingly high, with drop-tail and with RED alike.",
            measured="At least 3 % of the packets are dropped.",
            figures=("loss-of-64",),
            checks=loss_is_high,
        ),
        Claim(
            id="ecn-loses-less",
            place="loss study",
            says="Notifying by marks instead of drops loses less.",
            measured="With ECN at most half as many packets are dropped as with the same RED "
            "without.",
            figures=("loss-of-64",),
            checks=ecn_loses_less,
            remarks={
                Ruling.IN_PART: "Marks help while the average stays between the thresholds. "
                "Where the highest probability is too small for 64 sources, the average passes "
                "the upper threshold, and there RED of that time drops every packet, whether "
                "its sender understands marks or not. That ECN needs a RED that suits the load "
                "is the paper’s point."
            },
        ),
        Claim(
            id="ecn-still-loses",
            place="loss study",
            says="ECN alone does not end loss, where RED is not parametrised for the load.",
            measured="With max_p 0.016 at least 0.5 % of the packets are dropped with ECN.",
            figures=("loss-of-64",),
            checks=ecn_still_loses,
        ),
        Claim(
            id="loss-model",
            place="loss model",
            says="The loss of N sources is (N MSS C / (L R))².",
            measured=(
                "Where the model foretells at most 2 %, the measured loss is within a "
                "factor of two of it (geometric mean over the grid)."
            ),
            figures=("loss-model",),
            checks=model_fits,
        ),
        Claim(
            id="loss-exponents",
            place="loss model",
            says="In practice loss grows between linearly and quadratically.",
            measured="The exponents of N, 1/R (with waiting) and MSS in a fit over the whole grid.",
            figures=("loss-model",),
            checks=model_exponents,
        ),
        Claim(
            id="aggressive-8",
            place="static settings",
            says="Aggressive RED empties the queue of 8 sources, and the link is not full.",
            measured="Utilisation is at most 98 %, and below that of conservative RED.",
            figures=("static",),
            checks=aggressive_empties,
        ),
        Claim(
            id="conservative-32",
            place="static settings",
            says="Conservative RED lets the queue of 32 sources overflow, with 80 and with 120 KB.",
            measured="At least 0.1 % of the packets are dropped though all sources understand "
            "marks, and more than by aggressive RED.",
            figures=("static",),
            checks=conservative_overflows,
            remarks={
                Ruling.IN_PART: "On the path of 232 ms 32 sources have windows of 43 packets, "
                "for which the square-root law asks for less than 0.1 % of marks: 1.6 % is not "
                "conservative there. Overflow as in the paper needs a path of some tens of "
                "milliseconds."
            },
        ),
        Claim(
            id="alternating-static",
            place="adaptive",
            says="When the load alternates each static setting fails in its turn.",
            measured="Aggressive: utilisation at most 98 % with 8 sources. Conservative: at "
            "least 0.1 % dropped with 32.",
            figures=("alternating",),
            checks=static_fail,
            remarks={
                Ruling.IN_PART: "On the path of 232 ms 32 sources have windows of 43 packets, "
                "for which the square-root law asks for less than 0.1 % of marks: 1.6 % is not "
                "conservative there. Overflow as in the paper needs a path of some tens of "
                "milliseconds."
            },
        ),
        Claim(
            id="alternating-adaptive",
            place="adaptive",
            says="The self-configuring gateway avoids both.",
            measured="With 8 sources it uses more of the link than aggressive RED and at least "
            "98 %; with 32 it drops less than conservative RED and at most 0.1 %.",
            figures=("alternating",),
            checks=self_configuring_avoids,
            remarks={
                Ruling.IN_PART: (
                    "On the mixed path, 14 to 212 ms, it does (right half of the figure). "
                    "Packets are dropped only in the first wave, until max_p is high enough, and "
                    "more when it starts from 0.02. With 32 ms for all, the sources swing "
                    "together, the average crosses both thresholds in each swing, and max_p goes "
                    "up and down without settling (left half). With 232 ms the path holds ten "
                    "times what the queue does, and a source needs 10 to 20 s to win back half a "
                    "window. The load stays the same only that long, so no gateway fills the "
                    "link there."
                )
            },
        ),
        Claim(
            id="max-p-follows",
            place="adaptive",
            says="max_p moves up and down with the load.",
            measured="At the ends of stretches with 32 sources max_p is at least twice what it "
            "is at the ends of those with 8.",
            figures=("alternating",),
            checks=max_p_follows,
            remarks={
                Ruling.IN_PART: "With 232 ms the average hardly ever rises above the upper "
                "threshold, so that max_p only falls."
            },
        ),
        Claim(
            id="no-setting-for-all",
            place="number of sources",
            says="No single setting of RED works well for all loads.",
            measured="With 8 sources conservative RED uses more of the link than aggressive "
            "RED; with 64 it loses more.",
            figures=("sources",),
            checks=no_setting_for_all,
        ),
        Claim(
            id="adaptive-range",
            place="number of sources",
            says="Self-configuring RED loses little and keeps utilisation high over a range of "
            "loads.",
            measured="From 8 to 64 sources at most 0.5 % is dropped, and utilisation is at "
            "least 95 %.",
            figures=("sources",),
            checks=self_configuring_range,
            remarks={
                Ruling.IN_PART: "It does on the mixed path but for a part of the seeds with 8 "
                "sources. With equal round trips of 32 ms the sources swing together, and the "
                "average crosses both thresholds in turn. With 232 ms the path holds ten times "
                "what the queue does, and neither static setting fills the link either."
            },
        ),
    ),
)
