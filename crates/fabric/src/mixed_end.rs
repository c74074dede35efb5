use crate::end::{Arrival, End, Reply, Then};
use crate::packet::Packet;
use crate::tcp_end::{Carried, TcpEnd};

/// Rate-based ends of one law and TCP beside each other, in several classes.
pub(crate) struct MixedEnd<E> {
    pub rate: E,
    pub tcp: TcpEnd,
}

/// A transfer of a [`MixedEnd`].
pub(crate) enum MixedFlow<F> {
    Rate(F),
    Tcp(<TcpEnd as End>::Flow),
}

/// The same for either kind.
macro_rules! either {
    ($self:ident, $flow:ident, $call:ident($value:expr $(, $more:expr)?)) => {
        match $flow {
            MixedFlow::Rate(flow) => $self.rate.$call(flow, $value $(, $more)?),
            MixedFlow::Tcp(flow) => $self.tcp.$call(flow, $value $(, $more)?),
        }
    };
}

impl<E: End<Load = Carried>> End for MixedEnd<E> {
    type Flow = MixedFlow<E::Flow>;
    type Load = Carried;

    const TELEMETRY: bool = E::TELEMETRY;

    fn begin(&self, sender: u8, packets: u32, last_payload: u32, now: u64) -> Self::Flow {
        if self.tcp.has(sender) {
            MixedFlow::Tcp(self.tcp.begin(sender, packets, last_payload, now))
        } else {
            MixedFlow::Rate(self.rate.begin(sender, packets, last_payload, now))
        }
    }

    fn on_packet(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Carried>) -> Reply {
        either!(self, flow, on_packet(at))
    }

    fn on_answer(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Carried>) -> Then {
        either!(self, flow, on_answer(at))
    }

    fn on_timer(&mut self, flow: &mut Self::Flow, now: u64) -> Option<Carried> {
        either!(self, flow, on_timer(now))
    }

    fn wants_turn(&self, flow: &mut Self::Flow, now: u64, free_at: u64) -> bool {
        either!(self, flow, wants_turn(now, free_at))
    }

    fn next(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(Packet, Carried)> {
        either!(self, flow, next(now))
    }

    fn deadline(&self, flow: &Self::Flow, now: u64) -> u64 {
        either!(self, flow, deadline(now))
    }

    fn on_silence(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(bool, u64)> {
        either!(self, flow, on_silence(now))
    }

    fn retransmissions(&self) -> u64 {
        self.rate.retransmissions() + self.tcp.retransmissions()
    }
}
