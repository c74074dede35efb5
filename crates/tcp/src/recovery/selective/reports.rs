//! What an acknowledgement reports of single segments: filed where it is new.

use super::Selective;
use crate::Acknowledgement;
use crate::recovery::judge::Judge;

impl<J: Judge> Selective<J> {
    /// Files the reports of an acknowledgement. How many segments are newly known to have arrived; and the first of
    /// those that are reported and were sent once.
    pub(super) fn file(
        &mut self,
        now: u64,
        answer: &Acknowledgement<'_>,
        first: u32,
        highest: u32,
    ) -> (u32, Option<u32>) {
        let Self { judge, board, filed, sent, rate, .. } = self;
        let (mut delivered, mut first_report) = (0, None);
        let tracked = J::WATCHES || rate.is_some();
        let mut note = |sequence: u32, again: bool| {
            if let Some(rate) = rate {
                let Some(sent) = sent.get(sequence) else {
                    debug_assert!(false, "segment {sequence} arrives and was not outstanding");
                    return;
                };
                rate.note_delivered(now, sent);
                judge.note_arrival(now, sequence, again, sent.time);
            } else {
                judge.note_delivered(now, sequence, again);
            }
        };
        let acknowledged = answer.next_expected;
        // Linux's order, on which RACK's round trip depends: first the reports, by sequence, then what is
        // acknowledged cumulatively (tcp_sacktag_write_queue, tcp_clean_rtx_queue).
        let mut report = |begin: u32, after: u32| {
            let (begin, after) = (begin.max(acknowledged), after.min(highest));
            if begin + 1 == after {
                if let Some(again) = board.report_one(begin) {
                    delivered += 1;
                    first_report = first_report.or((!again).then_some(begin));
                    note(begin, again);
                }
                return;
            }
            board.report(begin, after, |sequence, again| {
                delivered += 1;
                first_report = first_report.or((!again).then_some(sequence));
                note(sequence, again);
            });
        };
        if let Some(&(begin, after)) = answer.blocks.first() {
            // As a rule the first block has grown, and the others are as they were reported before.
            let known = filed.as_slice();
            if let Some((first, others)) = known.split_first()
                && (first.0, others) == (begin, &answer.blocks[1..])
                && first.1 <= after
            {
                report(first.1, after);
                filed.extend_first(after);
            } else {
                if answer.blocks[1..].iter().all(|block| known.contains(block)) {
                    let same = known.first().filter(|block| block.0 == begin && block.1 <= after);
                    report(same.map_or(begin, |block| block.1), after);
                } else {
                    let mut from = 0;
                    while let Some(&(begin, after)) = answer
                        .blocks
                        .iter()
                        .filter(|block| block.1 > from)
                        .min_by_key(|block| block.0)
                    {
                        report(begin.max(from), after);
                        from = after;
                    }
                }
                filed.replace(answer.blocks);
            }
        }
        if acknowledged > first {
            if tracked {
                for sequence in first..acknowledged {
                    if !board.has_arrived(sequence) {
                        note(sequence, board.is_sent_again(sequence));
                    }
                }
            }
            delivered += board.acknowledge(acknowledged);
        }
        if tracked && acknowledged > first {
            if rate.is_some() {
                sent.acknowledge(acknowledged);
            }
            judge.forget_before(acknowledged);
        }
        (delivered, first_report)
    }
}
