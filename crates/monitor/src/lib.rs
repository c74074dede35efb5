//! What a passive monitor can know: packets in, flows and round trips out.
//!
//! A [`Monitor`] is told of packets (when, how long, and as many of their bytes as were captured),
//! and tells a [`Listener`] of flows and round trips. It knows no clock, no device and no file: time
//! is that of the packets, so that a replay at any speed gives the same output. Its memory has a
//! bound that is stated ([`Monitor::most_memory`]), and no bytes make it panic.
//!
//! Whatever was seen and gave no result is counted by reason: [`NotTimed`], [`NotWhole`],
//! [`Undecoded`], [`NotTracked`].

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
    Address, Flags, Fragment, Headers, Internet, LinkType, Tcp, Timestamps, Transport,
    UNDECODED_CASES, Udp, Undecoded,
};
pub use departures::{Departed, Departures, WholeRoundTrip};
pub use entrance::{Entrance, Stamped};
pub use flows::{
    BYTES_PER_FLOW, Direction, END_CASES, EcnNegotiation, End, Endpoint, FirstFlight, Flow, Key,
    ORDER_CASES, Order, Protocol, STAGES, Sending, Stage, TRAFFIC_CASES, Traffic,
};
pub use histogram::{Durations, Histogram};
pub use listener::Listener;
pub use monitor::{Captured, Monitor};
pub use round_trips::{
    Durations as FlowDurations, Method, NOT_TIMED_CASES, NotTimed, Path, RoundTrip, SLOTS,
};
pub use sizes::{BOUNDS as SIZE_BOUNDS, Sizes};
pub use summary::{
    DirectionSummary, EcnFields, EndSummary, FlowRoundTrips, FlowSummary, Largest, Merged,
    RoundTripSummary, SizeBin, SizeSummary, Summary, TrafficSummary,
};
pub use tally::{Reason, Tally};
pub use totals::{Amount, NOT_TRACKED_CASES, NOT_WHOLE_CASES, NotTracked, NotWhole, Totals};
pub use volumes::{Volume, Volumes};
