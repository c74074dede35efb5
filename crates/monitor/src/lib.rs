//! What a passive monitor can know: packets in, flows and round trips out.
//!
//! A [`Monitor`] is told of packets (when, how long, and as many of their bytes as were captured),
//! and tells a [`Listener`] of flows and round trips. It knows no clock, no device and no file: time
//! is that of the packets, so that a replay at any speed gives the same output. Its memory has a
//! bound that is stated ([`Monitor::most_memory`]), and no bytes make it panic.
//!
//! Whatever was seen and gave no result is counted by reason: [`NotTimed`], [`NotWhole`],
//! [`Undecoded`], [`NotTracked`].
//!
//! A handshake whose answer comes after 30 ms, and is answered after 1 ms:
//!
//! ```
//! use vermilion_monitor::{Captured, Configuration, Listener, LinkType, Monitor, RoundTrip};
//!
//! /// An IPv4 packet with a TCP header and nothing in it.
//! fn segment(from: u8, to: u8, sequence: u8, acknowledgement: u8, flags: u8) -> Vec<u8> {
//!     let internet = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
//!     let numbers = [0, 0, 0, sequence, 0, 0, 0, acknowledgement];
//!     [&internet[..], &[9, from, 9, to], &numbers, &[0x50, flags, 1, 0, 0, 0, 0, 0]].concat()
//! }
//!
//! struct Milliseconds(Vec<u64>);
//!
//! impl Listener for Milliseconds {
//!     fn round_trip(&mut self, round_trip: &RoundTrip) {
//!         self.0.push(round_trip.nanoseconds / 1_000_000);
//!     }
//! }
//!
//! let mut monitor = Monitor::new(Configuration::default()).expect("the usual bounds");
//! let mut found = Milliseconds(Vec::new());
//! let (syn, ack) = (0x02, 0x10);
//! let packets = [
//!     (0, segment(1, 2, 7, 0, syn)),
//!     (30, segment(2, 1, 5, 8, syn | ack)),
//!     (31, segment(1, 2, 8, 6, ack)),
//! ];
//! for (milliseconds, bytes) in &packets {
//!     let time = Some(milliseconds * 1_000_000);
//!     let packet = Captured { time, link: LinkType::RawInternet, bytes, original_length: 40 };
//!     monitor.observe(&packet, &mut found);
//! }
//! assert_eq!(found.0, [30, 31, 1]); // beyond the monitor, both ways together, and on this side of it
//! ```

mod capture;
mod configuration;
mod decode;
mod departures;
mod entrance;
mod flows;
mod histogram;
mod holes;
mod listener;
mod monitor;
mod round_trips;
mod sequence;
mod sizes;
mod summary;
mod tally;
mod totals;
mod volumes;

pub use capture::{CaptureError, CaptureReader, LARGEST_PACKET, Passage, read_ring_block};
pub use configuration::{Configuration, ConfigurationError};
pub use decode::{
    Address, Flags, Fragment, Headers, Internet, LinkType, Tcp, Timestamps, Transport, Udp,
    Undecoded,
};
pub use departures::{Departed, Departures, WholeRoundTrip};
pub use entrance::{Entrance, Stamped};
pub use flows::{
    BYTES_PER_FLOW, Direction, EcnNegotiation, End, Endpoint, FirstFlight, Flow, Key, Order,
    Protocol, STAGES, Sending, Stage, Traffic, flow_hash,
};
pub use histogram::{Durations, Histogram};
pub use listener::Listener;
pub use monitor::{Captured, Monitor};
pub use round_trips::{Durations as FlowDurations, Method, NotTimed, Path, RoundTrip, SLOTS};
pub use sizes::{BOUNDS as SIZE_BOUNDS, Sizes};
pub use summary::{
    DirectionSummary, EcnFields, EndSummary, FlowRoundTrips, FlowSummary, Largest, Merged,
    RoundTripSummary, SizeBin, SizeSummary, Summary, TrafficSummary,
};
pub use tally::{Reason, Tally};
pub use totals::{Amount, NotTracked, NotWhole, Totals};
pub use volumes::{Volume, Volumes};
