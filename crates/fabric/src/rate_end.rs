use std::marker::PhantomData;

use vermilion_rdma::{Acknowledgement, Paced, RateBased, Receiver};

use crate::end::{Arrival, End, Reply, Then};
use crate::packet::{Kind, Packet};
use crate::scenario::{Feedback, Scenario};
use crate::slots::NEVER;

/// Ends that send at a rate, under one law; their packets carry nothing, in a table of `L`.
pub(crate) struct RateEnd<R, L = ()> {
    law: R,
    payload: u32,
    header: u32,
    feedback: Feedback,
    timeout: u64,
    retransmissions: u64,
    load: PhantomData<L>,
}

/// A transfer of a [`RateEnd`].
pub(crate) struct RateFlow<S> {
    state: S,
    /// Next packet to be sent, first not acknowledged, all of them.
    next: u32,
    unacknowledged: u32,
    total: u32,
    last_payload: u32,
    /// Time of the next packet, the part of a nanosecond after that, and whether just that is waited for.
    next_at: u64,
    fraction: f64,
    is_timed: bool,
    /// Size of the packet sent last.
    last_size: u32,
    /// When an acknowledgement last brought something new.
    progress_at: u64,
    receiver: Receiver,
}

impl<R: RateBased, L> RateEnd<R, L> {
    pub(crate) fn new(law: R, scenario: &Scenario) -> Self {
        let sizes = scenario.packets.on_wire(R::TELEMETRY);
        Self {
            law,
            payload: sizes.payload,
            header: sizes.header,
            feedback: scenario.feedback,
            timeout: scenario.retransmission_timeout_ns,
            retransmissions: 0,
            load: PhantomData,
        }
    }

    /// True if all is sent, or the window is full.
    #[inline]
    fn is_blocked(&self, flow: &mut RateFlow<R::State>, now: u64) -> bool {
        let in_flight = u64::from(flow.next - flow.unacknowledged) * u64::from(self.payload);
        flow.next == flow.total || in_flight >= self.law.window(&mut flow.state, now)
    }

    fn go_back(&mut self, flow: &mut RateFlow<R::State>) {
        self.retransmissions += u64::from(flow.next - flow.unacknowledged);
        flow.next = flow.unacknowledged;
    }
}

impl<R: RateBased + Send, L: Copy + Default + Send> End for RateEnd<R, L> {
    type Flow = RateFlow<R::State>;
    type Load = L;

    const TELEMETRY: bool = R::TELEMETRY;
    const PLAIN: bool = true;

    fn begin(&mut self, _: u8, total: u32, last_payload: u32, now: u64) -> Self::Flow {
        RateFlow {
            state: self.law.start(),
            next: 0,
            unacknowledged: 0,
            total,
            last_payload,
            next_at: now,
            fraction: 0.0,
            is_timed: false,
            last_size: 0,
            progress_at: now,
            receiver: Receiver::default(),
        }
    }

    #[inline]
    fn on_packet(&mut self, flow: &mut Self::Flow, at: Arrival<'_, L>) -> Reply {
        let answer = flow.receiver.on_packet(
            at.now,
            (at.packet.number, at.packet.flag),
            at.packet.marked,
            self.feedback.notification_interval_ns,
            self.feedback.acknowledge_every,
        );
        let acknowledgement = answer.acknowledges.then_some(Packet {
            number: flow.receiver.expected,
            marked: answer.echoes,
            flag: answer.goes_back,
            ..Packet::default()
        });
        Reply { acknowledgement, notifies: answer.notifies }
    }

    #[inline]
    fn on_answer(&mut self, flow: &mut Self::Flow, at: Arrival<'_, L>) -> Then {
        let Arrival { now, packet, hops, .. } = at;
        if packet.kind == Kind::Notification {
            self.law.on_notification(&mut flow.state, now);
            return Then::Nothing;
        }
        if packet.number > flow.unacknowledged {
            flow.unacknowledged = packet.number;
            flow.progress_at = now;
            if flow.unacknowledged == flow.total {
                flow.is_timed = false;
                return Then::Done;
            }
        }
        if packet.flag {
            self.go_back(flow);
        }
        let ack = Acknowledgement {
            now,
            upto: packet.number,
            sent: flow.next.max(flow.unacknowledged),
            marked: packet.marked,
        };
        if !flow.is_timed {
            self.law.on_acknowledgement(&mut flow.state, &ack, hops);
            return Then::Settle;
        }
        let gap = |state: &mut R::State| Paced::gap(flow.last_size, self.law.rate(state, now));
        let old = if R::RETIMES { gap(&mut flow.state) } else { 0.0 };
        self.law.on_acknowledgement(&mut flow.state, &ack, hops);
        let new = if R::RETIMES { gap(&mut flow.state) } else { 0.0 };
        if old == new {
            return Then::Nothing;
        }
        flow.next_at = flow.next_at.saturating_add_signed((new - old).round() as i64);
        Then::Retime
    }

    #[inline]
    fn on_timer(&mut self, flow: &mut Self::Flow, _: u64) -> Option<L> {
        flow.is_timed = false;
        None
    }

    #[inline]
    fn wants_turn(&self, flow: &mut Self::Flow, now: u64, free_at: u64) -> bool {
        if self.is_blocked(flow, now) {
            flow.is_timed = false;
            return false;
        }
        // The NIC would not look before it is free.
        flow.is_timed = flow.next_at > now.max(free_at) + 1;
        !flow.is_timed
    }

    #[inline]
    fn next(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(Packet, L)> {
        if self.is_blocked(flow, now) {
            return None;
        }
        let number = flow.next;
        let is_last = number + 1 == flow.total;
        let size = if is_last { flow.last_payload } else { self.payload } + self.header;
        flow.next += 1;
        let gap = self.law.next_gap(&mut flow.state, now, size);
        let exact = gap + if flow.next_at + 1 >= now { flow.fraction } else { 0.0 };
        flow.next_at = now + exact as u64;
        flow.fraction = exact.fract();
        flow.last_size = size;
        let size = size as u16;
        Some((Packet { number, size, flag: is_last, ..Packet::default() }, L::default()))
    }

    #[inline]
    fn deadline(&self, flow: &Self::Flow, _: u64) -> u64 {
        if flow.is_timed { flow.next_at } else { NEVER }
    }

    fn on_silence(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(bool, u64)> {
        if flow.progress_at + self.timeout > now {
            return Some((false, flow.progress_at + self.timeout));
        }
        let goes_back = flow.next > flow.unacknowledged;
        if goes_back {
            self.go_back(flow);
            flow.progress_at = now;
        }
        Some((goes_back && !flow.is_timed, now + self.timeout))
    }

    fn retransmissions(&self) -> u64 {
        self.retransmissions
    }
}
