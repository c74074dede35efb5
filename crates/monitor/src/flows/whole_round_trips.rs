//! Whole round trips: from data to its answer, and on to what the answer makes the data's sender send.

use super::connection::Segment;
use super::direction::Order;
use super::flow::Flow;
use crate::listener::Listener;
use crate::round_trips::{Method, Path, SLOTS};
use crate::sequence::ahead;
use crate::totals::NotWhole;

const MICROSECOND: u64 = 1000;

/// True if what names an answer was set off by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chained {
    Certain,
    /// The sender may have had nothing under way any more.
    Doubted,
}

impl<L: Listener> Segment<'_, L> {
    /// An answer to what had passed at `since` passes now, after `nanoseconds`.
    pub(super) fn answer_passed(
        &mut self,
        flow: &mut Flow,
        since: u64,
        now: u64,
        nanoseconds: u64,
    ) {
        let other = 1 - self.from;
        let chained = self.chain(flow, since, nanoseconds);
        if chained == Ok(Chained::Certain) {
            return; // what it sets off will be timed
        }
        let side = &mut flow.directions[other];
        match (side.reactions.latest(now), chained) {
            (Some(reaction), chained) => {
                if chained.is_ok() {
                    side.chain.settle_last();
                }
                self.whole(flow, other, now, nanoseconds.saturating_add(reaction));
            }
            (None, Err(reason)) => self.totals.not_whole.add(reason),
            (None, Ok(_)) => {}
        }
    }

    /// A whole round trip of the data of side `from`.
    fn whole(&mut self, flow: &mut Flow, from: usize, now: u64, nanoseconds: u64) {
        flow.directions[from].whole.add(nanoseconds);
        self.taken(flow, Path::Whole, from, now, nanoseconds);
    }

    /// Lets the answer, which took so long, wait for the sender to name it in turn.
    fn chain(&mut self, flow: &mut Flow, since: u64, beyond: u64) -> Result<Chained, NotWhole> {
        let (Method::Timestamps, Some(timestamps)) = (flow.method, self.tcp.timestamps) else {
            return Err(NotWhole::SequenceNumbers);
        };
        // Of answers with one timestamp the first may have set the sender off.
        let newest = flow.directions[self.from].newest;
        if newest.is_some_and(|newest| ahead(timestamps.value, newest) <= 0) {
            return Err(NotWhole::SameTimestamp);
        }
        let side = &mut flow.directions[1 - self.from];
        if side.chain.len() == SLOTS {
            let old = self.time.unwrap_or(0).saturating_sub(self.configuration.answer_time_ns);
            let forgotten = side.chain.forget_before(old);
            self.totals.not_whole.add_many(NotWhole::Unanswered, forgotten);
        }
        if !side.chain.wait(timestamps.value, since) {
            return Err(NotWhole::SlotsBlocked);
        }
        side.chain.note_last(microseconds(beyond));
        // Beyond the monitor nothing is under way any more. Whether there is something between the
        // sender and the monitor, in a queue for one, what comes next will tell.
        if side.in_flight().is_none_or(|bytes| bytes == 0) {
            side.chain.doubt_last();
            return Ok(Chained::Doubted);
        }
        Ok(Chained::Certain)
    }

    /// Ends a whole round trip if the segment names the answer that it waited for.
    pub(super) fn close_chain(&mut self, flow: &mut Flow, order: Order) {
        let Some(timestamps) = self.tcp.timestamps else { return };
        let answered = flow.directions[self.from].chain.answer(timestamps.echo);
        self.totals.not_whole.add_many(NotWhole::Overtaken, answered.overtaken);
        if order == Order::New {
            // It was sent before the answers that it does not know yet came, so the sender had
            // something under way when they came.
            flow.directions[self.from].chain.trust_ahead_of(timestamps.echo);
        }
        let Some(since) = answered.since else { return };
        let Some((now, nanoseconds)) =
            self.time.and_then(|now| Some((now, now.checked_sub(since)?)))
        else {
            return self.not_whole(answered.settled, NotWhole::TimeBackwards);
        };
        let reason = match order {
            Order::New => answered.doubted.then_some(NotWhole::Idle),
            _ => Some(NotWhole::Retransmission),
        };
        let reaction = nanoseconds.saturating_sub(u64::from(answered.note) * MICROSECOND);
        let reactions = &mut flow.directions[self.from].reactions;
        let taken = reactions.take(now, reaction, reason.is_none());
        match reason {
            Some(reason) if !taken => self.not_whole(answered.settled, reason),
            _ if answered.settled => {}
            _ => self.whole(flow, self.from, now, nanoseconds),
        }
    }

    fn not_whole(&mut self, settled: bool, reason: NotWhole) {
        if !settled {
            self.totals.not_whole.add(reason);
        }
    }
}

/// Of nanoseconds; an hour and more are as many as there is room for.
fn microseconds(nanoseconds: u64) -> u32 {
    u32::try_from(nanoseconds / MICROSECOND).unwrap_or(u32::MAX)
}
