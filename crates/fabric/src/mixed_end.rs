use crate::end::{Arrival, End, Reply, Then};
use crate::open_loop_end::OpenLoopEnd;
use crate::packet::Packet;
use crate::results::OpenLoopResult;
use crate::tcp_end::{Carried, TcpEnd};

/// Rate-based ends of one law, TCP and open-loop sources beside each other, in several classes.
pub(crate) struct MixedEnd<E> {
    pub rate: E,
    pub tcp: TcpEnd,
    pub open: OpenLoopEnd,
}

/// A transfer of a [`MixedEnd`].
pub(crate) enum MixedFlow<F> {
    Rate(F),
    Tcp(<TcpEnd as End>::Flow),
    Open(<OpenLoopEnd as End>::Flow),
}

/// The same for each kind.
macro_rules! each {
    ($self:ident, $flow:ident, $call:ident($($value:expr),*)) => {
        match $flow {
            MixedFlow::Rate(flow) => $self.rate.$call(flow $(, $value)*),
            MixedFlow::Tcp(flow) => $self.tcp.$call(flow $(, $value)*),
            MixedFlow::Open(flow) => $self.open.$call(flow $(, $value)*),
        }
    };
}

impl<E: End<Load = Carried>> End for MixedEnd<E> {
    type Flow = MixedFlow<E::Flow>;
    type Load = Carried;

    const TELEMETRY: bool = E::TELEMETRY;

    fn begin(&mut self, sender: u8, packets: u32, last_payload: u32, now: u64) -> Self::Flow {
        if self.open.has(sender) {
            MixedFlow::Open(self.open.begin(sender, packets, last_payload, now))
        } else if self.tcp.has(sender) {
            MixedFlow::Tcp(self.tcp.begin(sender, packets, last_payload, now))
        } else {
            MixedFlow::Rate(self.rate.begin(sender, packets, last_payload, now))
        }
    }

    fn on_packet(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Carried>) -> Reply {
        each!(self, flow, on_packet(at))
    }

    fn on_answer(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Carried>) -> Then {
        each!(self, flow, on_answer(at))
    }

    fn on_timer(&mut self, flow: &mut Self::Flow, now: u64) -> Option<Carried> {
        each!(self, flow, on_timer(now))
    }

    fn wants_turn(&self, flow: &mut Self::Flow, now: u64, free_at: u64) -> bool {
        each!(self, flow, wants_turn(now, free_at))
    }

    fn next(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(Packet, Carried)> {
        each!(self, flow, next(now))
    }

    fn deadline(&self, flow: &Self::Flow, now: u64) -> u64 {
        each!(self, flow, deadline(now))
    }

    fn on_silence(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(bool, u64)> {
        each!(self, flow, on_silence(now))
    }

    fn retransmissions(&self) -> u64 {
        self.rate.retransmissions() + self.tcp.retransmissions()
    }

    fn on_loss(&mut self, flow: &mut Self::Flow) {
        each!(self, flow, on_loss());
    }

    fn is_over(&self, flow: &Self::Flow) -> bool {
        each!(self, flow, is_over())
    }

    fn open_loop(&self, now: u64) -> Vec<OpenLoopResult> {
        self.open.open_loop(now)
    }
}
