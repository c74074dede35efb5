use crate::Hop;

/// Facts about the network interface of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nic {
    /// Rate of the line, in bit/s.
    pub line_rate: f64,
    /// Round trip of the empty network, in nanoseconds.
    pub base_round_trip: u64,
}

impl Nic {
    /// Bytes in flight that fill the line for one empty round trip.
    #[must_use]
    pub fn bandwidth_delay_product(&self) -> u64 {
        (self.line_rate * self.base_round_trip as f64 / 8e9) as u64
    }
}

/// An acknowledgement as its sender sees it. Packets are numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// When it arrived, in nanoseconds.
    pub now: u64,
    /// Packets that have arrived in order.
    pub upto: u32,
    /// Packets that have been sent.
    pub sent: u32,
    /// The packet that it answers carried a mark, and the receiver says so.
    pub marked: bool,
}

/// A rate-based end, all of whose flows have these settings.
///
/// The end has the constants, a `State` belongs to each flow. Times are nanoseconds, rates bit/s.
pub trait RateBased {
    /// What is known of one flow.
    type State: Clone + std::fmt::Debug + Send;

    /// Packets collect telemetry at each hop.
    const TELEMETRY: bool = false;
    /// A new rate moves a packet that already waits for its time.
    const RETIMES: bool = false;

    /// A flow that begins.
    fn start(&self) -> Self::State;

    /// An acknowledgement has arrived, with the telemetry of each hop of its packet.
    fn on_acknowledgement(&self, state: &mut Self::State, ack: &Acknowledgement, hops: &[Hop]);

    /// A notification (CNP) has arrived.
    fn on_notification(&self, state: &mut Self::State, now: u64);

    /// Nanoseconds from the packet of so many bytes on the wire that is sent now to the next.
    fn next_gap(&self, state: &mut Self::State, now: u64, bytes: u32) -> f64;

    /// Rate now.
    fn rate(&self, state: &mut Self::State, now: u64) -> f64;

    /// Bytes that may be in flight; `u64::MAX` without a limit.
    fn window(&self, state: &mut Self::State, now: u64) -> u64;
}

/// Has something done with an end whose kind the compiler knows.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<R: RateBased + Send + Sync + 'static>(self, end: R) -> Self::Output;
}

/// Nanoseconds that so many bytes take at a rate.
#[derive(Clone, Copy, Debug)]
pub struct Paced;

impl Paced {
    /// The same as a number.
    #[inline]
    #[must_use]
    pub fn gap(bytes: u32, rate: f64) -> f64 {
        f64::from(bytes) * 8e9 / rate
    }
}
