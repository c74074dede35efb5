//! What receivers that may wait answer in the end, without an event of their own where acknowledgements meet no queue.
//!
//! Such an answer is a timer that expires when it reaches the sender. At the same instant packets may arrive. Had the
//! answer been on a line of its own, it would have come after what was before it on that line, and before
//! what is on later lines. So it does here ([`crate::line_order`]).

use super::Simulation;
use super::observer::Observer;
use crate::delay_lines::FIRST_LINE;
use crate::flow::{ANSWER, Source};
use crate::headers;
use crate::route::Answers;
use crate::timers::flow_of;

impl Simulation {
    /// The first timer that is due now is an answer: whatever arrives now, and all answers, in their order.
    #[cold]
    #[inline(never)]
    pub(super) fn settle_answers<const STANDING: u8, O: Observer>(&mut self) {
        let mut answers = Vec::new();
        while self.timers.next_is_arrival_at(self.now) {
            let (flow, _) = flow_of(self.timers.next_timer());
            self.events += 1;
            let group = self.flows[flow as usize].group;
            // What is due may still be called off by what arrives.
            self.expire_timer();
            if let Answers::WithData { after } = self.groups[group as usize].route.answers {
                answers.push((after, flow));
            }
        }
        answers.sort_unstable();
        self.calendar.set(self.timers_source(), self.timers.next_time());
        for (line, flow) in answers {
            while let Some(source) = self.line_before(line) {
                self.events += 1;
                if let Some((end, packet)) = self.take_from_line::<STANDING>(source) {
                    let (times, rest) = packet.halves();
                    self.on_end::<O>(end, times, rest);
                }
            }
            if self.flows[flow as usize].deadline(ANSWER, &self.groups) == self.now {
                self.on_waited(flow);
            }
        }
    }

    /// The source of a packet that arrives now on this line or on one before it, counted from the first line.
    fn line_before(&self, line: u32) -> Option<usize> {
        let (source, time) = self.calendar.next();
        let source = source.checked_sub(FIRST_LINE)?;
        let arrives = time == self.now && source < self.lines.sources();
        (arrives && self.lines.first_line(source)? <= line).then_some(source)
    }

    /// A receiver has waited long enough for one more segment.
    #[cold]
    #[inline(never)]
    pub(super) fn on_waited(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        let Source::Window(connection) = &mut flow.source else {
            debug_assert!(false, "flow {number} has waited, and has no receiver");
            return;
        };
        let Some(answer) = connection.receiver.on_timer() else {
            debug_assert!(false, "the receiver of flow {number} has waited for nothing");
            return;
        };
        let group = flow.group;
        if self.groups[group as usize].route.answers.line().is_none() {
            if let Some(header) = headers::return_at_once(number) {
                connection.sender.read_header(header);
            }
            connection.sender.on_acknowledgement(self.now, &answer);
            return self.send(number);
        }
        let answer = self.answers.keep(&answer);
        flow.in_flight += 1;
        self.send_acknowledgement(number, group, answer);
    }
}
