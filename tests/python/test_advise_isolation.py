"""A queue for each flow is not given up for one for all, unless that is asked for or fills more."""

from dataclasses import replace

import pytest

from vermilion.advise import Advice, advise, assumed, read_question
from vermilion.advise import advice as engine
from vermilion.advise.advice import Compared
from vermilion.advise.candidates import Selector
from vermilion.advise.conditions import grid
from vermilion.advise.document import document
from vermilion.advise.harms import MARGINS, harms
from vermilion.advise.judgement import gives_up_isolation, judge
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.question import QueueSetting
from vermilion.advise.wording import reason, warnings

ASKED = {"rate": "50 Mbit/s", "rtt": "10 ms .. 60 ms", "flows": "2 .. 40", "delay_at_most": "20 ms"}
MOST = 50e6 * 1448 / 1514
FQ_CODEL = QueueSetting("fq_codel, the kernel's defaults", "fq_codel", "fq-codel")
FQ_PIE = QueueSetting("fq_pie, defaults", "fq_pie", "fq-pie")
CODEL = QueueSetting("codel, rule of thumb", "codel", "codel")
PFIFO = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": 1000.0})


def question(**changes):
    return read_question(**{**ASKED, "quick": True, **changes})


def rows(asked, queue, delay_ms=18.0, share=0.97, call=None, **metrics):
    """Hand-made figures, the same in all conditions, but for a little by seed."""
    usual = {"delay_p95_ms": delay_ms, "goodput_bit_per_s": share * MOST, "jain_index": 0.99,
             "starved_flows": 0.0, "drop_rate": 0.01, **metrics}  # fmt: skip
    runs = {
        at: [
            {name: value * (1.0 + 1e-6 * seed) for name, value in usual.items()}
            for seed in range(5)
        ]
        for at in grid(asked, 0.0)
    }
    for at, found in runs.items():
        if call is not None and at.traffic == "web":
            for run in found:
                run["call_delay_p95_ms"], run["call_loss_rate"] = call
    return Measured(queue, runs)


def judged(asked, before, *candidates):
    """A case in which these were compared."""
    case = engine._Case(asked, Laboratory(asked, None, None, 1e9), [], [], before.queue)
    case._judge(before, candidates)
    return case


class TestWhatIsTaken:
    @pytest.mark.parametrize(
        ("now", "discipline", "share", "taken"),
        [
            (FQ_CODEL, "any", 0.97, False),
            (FQ_CODEL, "any", 0.985, False),  # 1.5 % more of the line
            (FQ_CODEL, "any", 0.995, True),  # 2.5 %
            (FQ_CODEL, "codel", 0.97, True),  # asked for by name
            (FQ_PIE, "any", 0.97, False),
            (PFIFO, "any", 0.97, True),  # nothing to give up
            (CODEL, "any", 0.97, True),
        ],
    )
    def test_a_queue_for_all_that_keeps_a_bound(self, now, discipline, share, taken):
        asked = question(discipline=discipline)
        shared = replace(CODEL, parameters={"target": 0.008})
        case = judged(asked, rows(asked, now, 25.0), rows(asked, shared, 16.0, share))
        assert case.compared[0].judgement.by == "bound"
        assert bool(case.promising) == taken
        assert (engine._recommended(asked, case.compared) is not None) == taken

    @pytest.mark.parametrize(("fair_share", "taken"), [(0.94, True), (0.98, False)])
    def test_another_queue_for_each_flow_that_fills_as_much_is_looked_at_too(
        self, fair_share, taken
    ):
        asked = question()
        now = rows(asked, FQ_CODEL, 25.0, 0.94)
        shared, fair = (
            rows(asked, CODEL, 16.0, 0.99),
            rows(asked, FQ_PIE, 30.0, fair_share),
        )
        assert gives_up_isolation(asked, now, [shared, fair], shared) != taken
        assert not gives_up_isolation(asked, now, [shared, fair], fair)
        case = judged(asked, now, shared, fair)
        assert (engine._recommended(asked, case.compared) is not None) == taken

    def test_a_queue_for_each_flow_that_comes_nearer_is(self):
        asked = question()
        now = rows(asked, FQ_CODEL, 25.0)
        case = judged(asked, now, rows(asked, CODEL, 16.0), rows(asked, FQ_PIE, 21.0))
        taken = engine._recommended(asked, case.compared)
        assert taken is case.compared[1]

    def test_a_search_takes_it_for_what_it_fills_and_not_for_a_bound(self):
        asked = question()
        now = rows(asked, FQ_CODEL, 25.0, 0.94)
        fair, shared = (
            rows(asked, FQ_PIE, 24.0, 0.94),
            rows(asked, CODEL, 16.0, 0.95),
        )
        much = rows(asked, CODEL, 16.0, 0.97)
        own = Selector(asked, Laboratory(asked, None, None, 1.0), [], FQ_CODEL, [])
        assert not own._preferred(now, fair, shared)
        assert own._preferred(now, fair, much)
        # Where one queue for all stands there, the bound decides as before.
        other = replace(now, queue=PFIFO)
        bare = Selector(asked, Laboratory(asked, None, None, 1.0), [], PFIFO, [])
        assert bare._preferred(other, fair, shared)


class TestCallLoss:
    def test_it_costs_two_of_the_scale_and_not_a_class_of_satisfaction(self):
        # ITU-T G.107, 7.5: Ie,eff = Ie + (95 - Ie) P / (P / BurstR + Bpl), with G.711 and its
        # concealment Ie 0 and Bpl 25.1 (G.113, appendix I), losses at random.
        percent = 100.0 * MARGINS["call_loss_rate"]
        assert 95.0 * percent / (percent + 25.1) == pytest.approx(1.9, abs=0.05)

    @pytest.mark.parametrize(("lost", "harmed"), [(0.004, False), (0.006, True), (0.013, True)])
    def test_half_a_percent_more_is_what_it_may_be(self, lost, harmed):
        asked = question()
        before, after = (
            rows(asked, PFIFO, 25.0, call=(9.0, 0.0)),
            rows(asked, CODEL, 16.0, call=(16.0, lost)),
        )
        assert [each.what for each in harms(asked, before, after)] == ["call_loss_rate"] * harmed


class TestWords:
    SAID = (
        "One queue for all (codel, rule of thumb) would come to 16.0 ms, but mix the flows. "
        "Of a call's packets 95 % would wait at "
        "most 16.4 ms instead of 702 µs, and 1.3 % would be lost instead of 0 %. To have it all "
        "the same: --discipline codel --harm call_loss=none."
    )

    def answer(self, asked, after=None, lost=0.013):
        now = rows(asked, FQ_CODEL, 25.0, call=(0.702, 0.0))
        shared = rows(asked, CODEL, 16.0, call=(16.4, lost))
        compared = judged(asked, now, shared, *([after] if after else [])).compared
        verdict = "set: bound" if after else "keep: harm"
        judgement = judge(asked, now, after or shared)
        around = Measured(FQ_CODEL)
        return Advice(asked, assumed(asked), verdict, now, after or now, judgement, compared,
                      around, around)  # fmt: skip

    def test_who_keeps_what_there_is_hears_what_the_other_would_do(self):
        asked = question()
        said = reason(self.answer(asked))
        assert said.endswith(f"you asked for at most 20 ms. {self.SAID}")
        assert "costs too much" not in said

    def test_whoever_gets_another_queue_for_each_flow_hears_it_too(self):
        asked = question()
        nearer = rows(asked, FQ_CODEL, 21.5, call=(0.702, 0.0))
        assert self.SAID in warnings(self.answer(asked, nearer))
        # If that keeps the bound, the other would be no better.
        kept = rows(asked, FQ_CODEL, 17.0, call=(0.702, 0.0))
        assert not any("One queue for all" in each for each in warnings(self.answer(asked, kept)))

    def test_what_it_costs_is_what_has_to_be_allowed(self):
        asked = question()
        said = reason(self.answer(asked, lost=0.001))
        assert said.endswith("To have it all the same: --discipline codel.")

    def test_the_json_has_it(self):
        asked = question()
        [refused] = document(self.answer(asked))["refused"]
        assert refused["gives_up_isolation"] is True
        assert refused["better_by"] == "bound"

    def test_a_refused_queue_for_each_flow_is_named_beside_it(self):
        asked = question()
        answer = self.answer(asked)
        dear = rows(asked, FQ_PIE, 15.0, jain_index=0.5)
        own = Compared(dear, judge(asked, answer.before, dear), keeps_bound=True)
        said = reason(replace(answer, compared=[own, *answer.compared]))
        assert "The best of the others (fq_pie, defaults) would come to 15.0 ms" in said
        assert said.endswith(self.SAID)


@pytest.mark.evidence
def test_a_home_line_keeps_its_queue_for_each_flow():
    # 24 ms of 20 are a transfer behind itself. A pie would bring that to 13 ms, a call's packets
    # from 0.7 ms to 19, and lose 0.9 % of them.
    asked = question(rate="20 Mbit/s", rtt="15 ms .. 80 ms", flows="1 .. 20")
    answer = advise(asked, assumed(asked))
    assert answer.chosen.keeps_apart
    [web] = [at for at in answer.conditions if at.traffic == "web"]
    assert answer.after.mean(web, "call_delay_p95_ms") < 2.0
    assert answer.after.mean(web, "call_loss_rate") < 0.001
