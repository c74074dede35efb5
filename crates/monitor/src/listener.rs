//! Who is told what happens while it happens.

use crate::entrance::Stamped;
use crate::flows::{End, Flow};
use crate::round_trips::RoundTrip;

/// Is told of events. Each method does nothing unless it is implemented.
pub trait Listener {
    /// The first packet of a flow has passed.
    fn flow_began(&mut self, _flow: &Flow) {}
    /// A packet of a flow has passed, which counts for so many on the link; `bytes` from the IP
    /// header on.
    fn packet(&mut self, _flow: &Flow, _from_initiator: bool, _packets: u32, _bytes: u32) {}
    /// A TCP segment of a flow with timestamps passes; told before the round trips that it ends.
    fn segment(&mut self, _flow: &Flow, _from_initiator: bool, _segment: &Stamped) {}
    /// A TCP segment of a flow with timestamps was seen before the queue ([`Monitor::sees_enter`]).
    ///
    /// [`Monitor::sees_enter`]: crate::Monitor::sees_enter
    fn entered(&mut self, _flow: &Flow, _from_initiator: bool, _segment: &Stamped) {}
    /// A round trip has ended.
    fn round_trip(&mut self, _round_trip: &RoundTrip) {}
    /// A flow is no longer followed.
    fn flow_ended(&mut self, _flow: &Flow, _why: End) {}
}

/// Whom nothing concerns.
impl Listener for () {}

/// Two who are told of everything, the first one first.
impl<A: Listener, B: Listener> Listener for (A, B) {
    fn flow_began(&mut self, flow: &Flow) {
        self.0.flow_began(flow);
        self.1.flow_began(flow);
    }
    fn packet(&mut self, flow: &Flow, from_initiator: bool, packets: u32, bytes: u32) {
        self.0.packet(flow, from_initiator, packets, bytes);
        self.1.packet(flow, from_initiator, packets, bytes);
    }
    fn segment(&mut self, flow: &Flow, from_initiator: bool, segment: &Stamped) {
        self.0.segment(flow, from_initiator, segment);
        self.1.segment(flow, from_initiator, segment);
    }
    fn entered(&mut self, flow: &Flow, from_initiator: bool, segment: &Stamped) {
        self.0.entered(flow, from_initiator, segment);
        self.1.entered(flow, from_initiator, segment);
    }
    fn round_trip(&mut self, round_trip: &RoundTrip) {
        self.0.round_trip(round_trip);
        self.1.round_trip(round_trip);
    }
    fn flow_ended(&mut self, flow: &Flow, why: End) {
        self.0.flow_ended(flow, why);
        self.1.flow_ended(flow, why);
    }
}
