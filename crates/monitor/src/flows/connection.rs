//! What a TCP segment tells about its connection.
//!
//! Sources: RFC 9293 (sequence numbers), RFC 7323 (timestamps: their order, section 5.2; which
//! echoes may be timed, section 4.1), P. Karn and C. Partridge, "Improving Round-Trip Time Estimates
//! in Reliable Transport Protocols", 1987 (which acknowledgements may be), RFC 3168 and RFC 9768
//! (ECN), RFC 2018 (what has arrived behind a hole). That a timestamp is timed from its first sight
//! to its first echo, and stays spent, is how K. Nichols's pping does it.

use super::direction::{FirstFlight, Order, Print};
use super::flow::{EcnNegotiation, Flow, Stage};
use crate::configuration::Configuration;
use crate::decode::{Fragment, Internet, Tcp};
use crate::holes::Filling;
use crate::listener::Listener;
use crate::round_trips::{Method, NotTimed, Path, RoundTrip, SLOTS};
use crate::sequence::ahead;
use crate::totals::{NotWhole, Totals};

/// Numbers that are further apart than any window is wide belong to different connections, or one
/// of them is a lie.
const WIDEST_WINDOW: u32 = 1 << 30;
/// Timestamps that are further apart (three days at a tick a millisecond) belong to different
/// connections, or one of them is a lie.
const WIDEST_TIMESTAMPS: u32 = 1 << 28;

/// The longest round trip is forgotten by such a part with each that is taken.
const FORGETTING: u64 = 64;

/// A segment on its way into a flow.
pub struct Segment<'a, L> {
    pub tcp: &'a Tcp,
    pub internet: &'a Internet,
    /// When it passed, if that is known.
    pub time: Option<u64>,
    /// True if it was sent by the initiator (0) or the responder (1).
    pub from: usize,
    /// True if it is several packets, captured as one.
    pub merged: bool,
    pub configuration: &'a Configuration,
    pub totals: &'a mut Totals,
    pub listener: &'a mut L,
}

impl<L: Listener> Segment<'_, L> {
    /// Takes the segment in.
    pub fn enter(mut self, flow: &mut Flow) {
        self.totals.segments += 1;
        self.choose_method(flow);
        if self.tcp.flags.rst() {
            flow.reset = true;
            flow.stage = Stage::Closed;
            self.not_timed(flow, NotTimed::Reset);
            return;
        }
        self.negotiate_ecn(flow);
        let opens = self.shake_hands(flow);
        if self.tcp.flags.ack() {
            self.acknowledge(flow);
        }
        self.echo_marks(flow);
        self.carry(flow);
        self.advance_stage(flow, opens);
        self.renew_timestamp(flow);
    }

    fn not_timed(&mut self, flow: &mut Flow, reason: NotTimed) {
        self.not_timed_many(flow, reason, 1);
    }

    fn not_timed_many(&mut self, flow: &mut Flow, reason: NotTimed, count: u64) {
        flow.not_timed.add_many(reason, count);
        self.totals.not_timed.add_many(reason, count);
    }

    pub(super) fn taken(
        &mut self,
        flow: &Flow,
        path: Path,
        from: usize,
        time: u64,
        nanoseconds: u64,
    ) {
        self.totals.round_trips[path as usize].add(nanoseconds);
        self.listener.round_trip(&RoundTrip {
            flow: flow.number,
            path,
            from_initiator: from == 0,
            time,
            nanoseconds,
        });
    }

    /// Timestamps are used if both SYNs have them (RFC 7323, section 1.3).
    fn choose_method(&mut self, flow: &mut Flow) {
        if self.tcp.flags.rst() {
            return; // many have no options
        }
        let method = match self.tcp.timestamps {
            Some(_) => Method::Timestamps,
            None => Method::SequenceNumbers,
        };
        let declined =
            self.tcp.flags.syn() && method == Method::SequenceNumbers && !self.tcp.options_cut;
        if flow.method == Method::Unknown {
            flow.method = method;
        } else if declined && flow.method == Method::Timestamps {
            flow.method = method;
            for side in 0..2 {
                let waiting = flow.directions[side].slots.clear();
                self.not_timed_many(flow, NotTimed::NoTimestamp, waiting);
            }
        }
    }

    fn negotiate_ecn(&mut self, flow: &mut Flow) {
        let flags = self.tcp.flags;
        if !flags.syn() {
            return;
        }
        let bits = flags.ecn_bits();
        if !flags.ack() {
            flow.handshake.offer = Some(bits);
            if bits != 0b111 && bits != 0b011 {
                flow.ecn = EcnNegotiation::NotOffered;
            }
            return;
        }
        flow.ecn = match (flow.handshake.offer, bits) {
            (None, _) => EcnNegotiation::Unknown,
            // RFC 9768, section 3.1.1: these four answer that the SYN came with that ECN field.
            (Some(0b111), 0b010 | 0b011 | 0b100 | 0b110) => EcnNegotiation::Accurate,
            (Some(0b111 | 0b011), 0b001 | 0b101) => EcnNegotiation::Classic,
            (Some(0b111 | 0b011), _) => EcnNegotiation::Refused,
            (Some(_), _) => EcnNegotiation::NotOffered,
        };
    }

    /// Follows the handshake; whether this segment is a SYN that was not seen before.
    fn shake_hands(&mut self, flow: &mut Flow) -> bool {
        let (tcp, from) = (self.tcp, self.from);
        let behind = tcp.sequence.wrapping_add(1);
        if tcp.flags.syn() {
            let again = flow.directions[from].initial.is_some();
            let side = &mut flow.directions[from];
            side.initial = Some(tcp.sequence);
            if let Some(size) = tcp.largest_segment {
                side.largest_segment = size;
            }
            let handshake = &mut flow.handshake;
            handshake.repeated |= again;
            handshake.permits_selective[from] = tcp.selective;
            if tcp.flags.ack() {
                if handshake.permits_selective == [true; 2] {
                    flow.acknowledged_selectively = [true; 2];
                }
                handshake.awaited = Some(behind);
            } else if !again {
                handshake.syn = self.time;
            }
            return !again && !tcp.flags.ack();
        }
        if flow.handshake.over || from != 0 || !tcp.flags.ack() {
            return false;
        }
        let Some(awaited) = flow.handshake.awaited else { return false };
        flow.handshake.over = true;
        let handshake = &flow.handshake;
        if let (false, true, Some(start), Some(now)) =
            (handshake.repeated, tcp.acknowledgement == awaited, handshake.syn, self.time)
            && let Some(nanoseconds) = now.checked_sub(start)
        {
            flow.handshake.nanoseconds = Some(nanoseconds);
            self.taken(flow, Path::Handshake, from, now, nanoseconds);
        }
        false
    }

    /// Statement of the segment about the other direction's data.
    fn acknowledge(&mut self, flow: &mut Flow) {
        let other = 1 - self.from;
        let acknowledgement = self.tcp.acknowledgement;
        let side = &mut flow.directions[other];
        let mut new = true;
        if let Some(next) = side.next {
            let beyond = ahead(acknowledgement, next);
            if beyond.unsigned_abs() > WIDEST_WINDOW {
                return;
            }
            flow.acknowledged_selectively[other] |= self.tcp.selective && !self.tcp.flags.syn();
            if beyond > 0 {
                side.acknowledged_unseen += 1;
                self.totals.acknowledged_unseen += 1;
                side.next = Some(acknowledgement);
            }
            if let Some(before) = side.acknowledged {
                new = ahead(acknowledgement, before) > 0;
            }
            if new {
                side.acknowledged = Some(acknowledgement);
                if beyond >= 0 {
                    side.holes.clear();
                } else {
                    side.holes.close_before(acknowledgement);
                }
            }
            if let Some(initial) = side.initial {
                side.first_flight.over |= ahead(acknowledgement, initial.wrapping_add(1)) > 0;
            }
        }
        let named = match (flow.method, self.tcp.timestamps) {
            (Method::Timestamps, Some(timestamps)) => timestamps.echo,
            (Method::SequenceNumbers, _) => acknowledgement,
            _ => return,
        };
        let side = &mut flow.directions[other];
        // An echo of what was never sent is no answer.
        if flow.method == Method::Timestamps
            && side.newest.is_none_or(|newest| ahead(named, newest) > 0)
        {
            return;
        }
        let answered = side.slots.answer(named);
        if answered.overtaken > 0 {
            // Where only every second segment is answered, and an answer sets off the next two, all
            // that are taken might be those that are never answered. A coin gets out of step.
            side.tosses = answered.since.is_none();
            self.not_timed_many(flow, NotTimed::Overtaken, answered.overtaken);
        }
        if let Some(since) = answered.since {
            self.answered(flow, since, new);
        }
        self.acknowledge_selectively(flow, answered.since.is_none());
    }

    /// Segment that has arrived behind a hole. The receiver answers it at once, but echoes the timestamp of
    /// what came before the hole, so that only the bytes tell which segment it is.
    fn acknowledge_selectively(&mut self, flow: &mut Flow, names_nothing_else: bool) {
        let side = &mut flow.directions[1 - self.from];
        let (Method::Timestamps, Some((start, end)), Some(next)) =
            (flow.method, self.tcp.arrived, side.next)
        else {
            return;
        };
        if ahead(end, next) > 0 || ahead(next, start).unsigned_abs() > WIDEST_WINDOW {
            return;
        }
        let mut answered = side.slots.arrived(start, end);
        if !names_nothing_else && answered.since.take().is_some() {
            answered.overtaken += 1; // one answer makes one round trip
        }
        self.not_timed_many(flow, NotTimed::Overtaken, answered.overtaken);
        if let Some(since) = answered.since {
            self.answered(flow, since, true);
        }
    }

    /// The segment answers one of the other direction that had passed at `since`.
    fn answered(&mut self, flow: &mut Flow, since: u64, new: bool) {
        let other = 1 - self.from;
        if !new {
            return self.not_timed(flow, NotTimed::NothingNew);
        }
        let Some(now) = self.time else {
            return self.not_timed(flow, NotTimed::NoTime);
        };
        let Some(nanoseconds) = now.checked_sub(since) else {
            return self.not_timed(flow, NotTimed::TimeBackwards);
        };
        let side = &mut flow.directions[other];
        side.beyond.add(nanoseconds);
        side.longest = nanoseconds.max(side.longest - side.longest / FORGETTING);
        self.taken(flow, Path::Beyond, other, now, nanoseconds);
        self.answer_passed(flow, since, now, nanoseconds);
    }

    /// ECE and CWR mean something else in handshakes and under accurate ECN.
    fn echo_marks(&mut self, flow: &mut Flow) {
        let flags = self.tcp.flags;
        if flags.syn() || flow.ecn == EcnNegotiation::Accurate {
            return;
        }
        let side = &mut flow.directions[self.from];
        side.ece += u64::from(flags.ece());
        side.cwr += u64::from(flags.cwr());
        self.totals.ece += u64::from(flags.ece());
        self.totals.cwr += u64::from(flags.cwr());
    }

    /// The segment's own data.
    fn carry(&mut self, flow: &mut Flow) {
        let (tcp, flags) = (self.tcp, self.tcp.flags);
        let length =
            tcp.payload.wrapping_add(u32::from(flags.syn())).wrapping_add(u32::from(flags.fin()));
        if length == 0 {
            return self.not_timed(flow, NotTimed::PureAcknowledgement);
        }
        let order = self.order(flow, length);
        self.totals.order.add(order);
        let side = &mut flow.directions[self.from];
        side.order.add(order);
        side.payload += u64::from(tcp.payload);
        side.print = self.print();
        if let Some(bytes) = side.in_flight() {
            side.most_in_flight = side.most_in_flight.max(bytes);
        }
        if tcp.payload > 0 {
            flow.last_data = self.time.unwrap_or(flow.last);
            self.first_flight(flow, order);
            self.close_chain(flow, order);
        }
        if order != Order::New {
            let (start, slots) = (tcp.sequence, &mut flow.directions[self.from].slots);
            slots.sent_again(start, start.wrapping_add(length));
        }
        if let Err(reason) = self.wait(flow, order, length) {
            self.not_timed(flow, reason);
        }
    }

    fn print(&self) -> Print {
        let timestamps = self.tcp.timestamps;
        Print {
            sequence: self.tcp.sequence,
            acknowledgement: self.tcp.acknowledgement,
            payload: self.tcp.payload,
            value: timestamps.map_or(0, |timestamps| timestamps.value),
            echo: timestamps.map_or(0, |timestamps| timestamps.echo),
        }
    }

    /// Kind of the segment, by what was seen before it.
    fn order(&mut self, flow: &mut Flow, length: u32) -> Order {
        let end = self.tcp.sequence.wrapping_add(length);
        let least = flow.handshake.nanoseconds;
        let print = self.print();
        let time = self.time;
        let side = &mut flow.directions[self.from];
        let gap = side.next.map_or(0, |next| ahead(self.tcp.sequence, next));
        if gap.unsigned_abs() > WIDEST_WINDOW {
            // Not this connection's numbers: begin anew with them.
            side.next = Some(end);
            side.acknowledged = None;
            side.holes.clear();
            let waiting = side.slots.clear();
            self.not_timed_many(flow, NotTimed::Reordered, waiting);
            return Order::New;
        }
        if gap >= 0 {
            if gap > 0
                && let Some(next) = side.next
            {
                side.holes.open(next, self.tcp.sequence);
                side.hole_time = time.unwrap_or(0);
            }
            side.next = Some(end);
            return Order::New;
        }
        if gap == -1 && self.tcp.payload == 1 && length == 1 {
            return Order::KeepAlive;
        }
        if side.next.is_some_and(|next| ahead(end, next) > 0) {
            side.next = Some(end);
        }
        let filling = side.holes.fill(self.tcp.sequence, end);
        let Some((timestamps, newest)) = self.tcp.timestamps.zip(side.newest) else {
            // Nobody can have noticed a loss and repaired it in less than a round trip.
            let waited = time.map(|time| time.saturating_sub(side.hole_time));
            return match (filling, waited.zip(least)) {
                (Filling::Nothing, _) => Order::SentAgain,
                (Filling::Hole, Some((waited, least))) if waited < least => Order::Reordered,
                (Filling::Hole, Some(_)) => Order::SentAgainUnseen,
                _ => Order::Doubtful,
            };
        };
        match (ahead(timestamps.value, newest), filling) {
            (..0, Filling::Nothing) => Order::Copy,
            (..0, _) => Order::Reordered,
            (0, Filling::Nothing) if print == side.print => Order::Copy,
            (_, Filling::Nothing) => Order::SentAgain,
            (1.., Filling::Hole) => Order::SentAgainUnseen,
            _ => Order::Doubtful,
        }
    }

    /// Puts the segment into a slot, or says why not.
    fn wait(&mut self, flow: &mut Flow, order: Order, length: u32) -> Result<(), NotTimed> {
        let value = match flow.method {
            Method::Timestamps => self.rising_timestamp(flow)?,
            Method::SequenceNumbers => self.end_of_new_data(flow, order, length)?,
            Method::Unknown => return Err(NotTimed::NoTimestamp),
        };
        if self.internet.fragment != Fragment::None {
            return Err(NotTimed::Fragment);
        }
        let time = self.time.ok_or(NotTimed::NoTime)?;
        let spacing = flow.directions[self.from].longest / SLOTS as u64;
        let side = &mut flow.directions[self.from];
        // Of a few, all are taken. Were they spread, the last of them would hardly ever be, because it
        // comes shortly after others; and for its answer the receiver may wait 40 ms for one more.
        let few = side.in_flight().is_some_and(|bytes| bytes / length.max(1) <= SLOTS as u32);
        let soon = time.saturating_sub(side.waited) < spacing;
        if !few && !side.slots.is_empty() && soon {
            return Err(NotTimed::Enough);
        }
        if side.tosses && coin(value) {
            return Err(NotTimed::OutOfStep);
        }
        if side.slots.len() == SLOTS {
            let old = time.saturating_sub(self.configuration.answer_time_ns);
            let forgotten = side.slots.forget_before(old);
            self.not_timed_many(flow, NotTimed::Unanswered, forgotten);
        }
        let side = &mut flow.directions[self.from];
        if !side.slots.wait(value, time) {
            return Err(NotTimed::SlotsBlocked);
        }
        if order == Order::New {
            side.slots.last_ends_before(self.tcp.sequence.wrapping_add(length));
        }
        side.waited = time;
        side.tosses = false;
        Ok(())
    }

    /// The segment's timestamp, if this is the first sight of it.
    fn rising_timestamp(&mut self, flow: &mut Flow) -> Result<u32, NotTimed> {
        let Some(timestamps) = self.tcp.timestamps else {
            return Err(if self.tcp.options_cut {
                NotTimed::CutOptions
            } else {
                NotTimed::NoTimestamp
            });
        };
        let Some(newest) = flow.directions[self.from].newest else {
            // What begins a connection is the first with its timestamp. In the middle of one, others
            // may have gone before with the same, and the echo may be theirs.
            return if self.tcp.flags.syn() {
                Ok(timestamps.value)
            } else {
                Err(NotTimed::SameTimestamp)
            };
        };
        let step = ahead(timestamps.value, newest);
        if step.unsigned_abs() > WIDEST_TIMESTAMPS {
            let waiting = flow.directions[self.from].slots.clear();
            self.not_timed_many(flow, NotTimed::Reordered, waiting);
            return Ok(timestamps.value);
        }
        match step {
            ..0 => Err(NotTimed::Reordered),
            0 => Err(NotTimed::SameTimestamp),
            1.. => Ok(timestamps.value),
        }
    }

    /// The number that acknowledges the segment, if it is sent for the first time. Else nothing
    /// that waits for a higher number can be timed any more: its answer may have been held up.
    fn end_of_new_data(
        &mut self,
        flow: &mut Flow,
        order: Order,
        length: u32,
    ) -> Result<u32, NotTimed> {
        match order {
            Order::New => return Ok(self.tcp.sequence.wrapping_add(length)),
            Order::KeepAlive => return Err(NotTimed::Retransmission),
            _ => {}
        }
        let reason = match order {
            Order::Reordered => NotTimed::Reordered,
            _ => NotTimed::Retransmission,
        };
        let waiting = flow.directions[self.from].slots.forget_ahead_of(self.tcp.sequence);
        self.not_timed_many(flow, reason, waiting);
        Err(reason)
    }

    /// Remembers the segment's timestamp as seen.
    fn renew_timestamp(&mut self, flow: &mut Flow) {
        let Some(timestamps) = self.tcp.timestamps else { return };
        let newest = &mut flow.directions[self.from].newest;
        let step = newest.map_or(1, |newest| ahead(timestamps.value, newest));
        let anew = step.unsigned_abs() > WIDEST_TIMESTAMPS;
        if step > 0 || anew {
            *newest = Some(timestamps.value);
        }
        if anew {
            let forgotten = flow.directions[1 - self.from].chain.clear();
            self.totals.not_whole.add_many(NotWhole::Overtaken, forgotten);
        }
    }

    /// Counts data that is sent before any was acknowledged.
    fn first_flight(&mut self, flow: &mut Flow, order: Order) {
        let side = &mut flow.directions[self.from];
        let flight: &mut FirstFlight = &mut side.first_flight;
        if flight.over || side.initial.is_none() {
            return;
        }
        let Some(now) = self.time else {
            flight.spoilt = true;
            return;
        };
        flight.spoilt |= self.merged || order != Order::New || now < flight.last;
        if flight.packets == 0 {
            flight.first = now;
        } else {
            flight.widest = flight.widest.max(now.saturating_sub(flight.last));
        }
        flight.packets += 1;
        flight.bytes = flight.bytes.saturating_add(self.tcp.payload);
        flight.last = now;
    }

    fn advance_stage(&mut self, flow: &mut Flow, opens: bool) {
        self.totals.openings += u64::from(opens);
        let side = &mut flow.directions[self.from];
        side.fin |= self.tcp.flags.fin();
        let data = self.tcp.payload > 0;
        flow.stage = match flow.stage {
            _ if flow.directions.iter().all(|side| side.fin) => Stage::Closed,
            Stage::Opening if data => Stage::Connected,
            stage => stage,
        };
    }
}

/// A coin that shows the same each time that it is tossed for a number.
fn coin(number: u32) -> bool {
    // The golden ratio's multiples, whose highest bits have no pattern that segments keep in step with.
    number.wrapping_mul(0x9e37_79b1) >> 31 == 0
}
