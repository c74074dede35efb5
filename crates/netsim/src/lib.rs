//! Packet-by-packet simulation of the queues that matter and the flows that cross them.
//!
//! A network is a set of links (a rate, a propagation delay, a queue discipline) and of flows (a
//! path through links, a base round-trip time, a sender). Whatever never queues is pure delay and
//! costs no event: see [`simulation`] for what that makes possible.
//!
//! Nothing here reads files, prints, or asks for the time of day. On one platform the same
//! scenario and seed give bit-identical results on any number of threads.

// Tests of private parts use the tools of the tests of public ones.
#[cfg(test)]
extern crate self as vermilion_netsim;

mod access;
mod acknowledgement_pool;
mod air;
mod any_link;
mod arrival_link;
pub mod batch;
mod calendar;
mod completions;
mod control;
mod delay_line;
mod delay_lines;
mod departure_link;
mod flow;
mod flow_delays;
mod flow_traffic;
mod generated_line;
mod group;
mod headers;
mod histogram;
mod lazy_queue;
mod limits;
mod line_order;
mod link_books;
mod link_window;
pub mod loss;
mod occupied;
mod packet;
mod packet_window;
pub mod pcapng;
mod phases;
mod probe;
mod propagation;
mod quantiles;
mod queue_record;
pub mod random;
mod record;
pub mod results;
mod ring;
pub mod round_trip;
mod route;
pub mod scenario;
pub mod scripted_losses;
mod shaper;
pub mod simulation;
mod timers;
pub mod trace;
mod traffic;
mod transfer_books;
mod transfer_log;
pub mod transmitter;
pub mod turn_link;
pub mod variate;
mod ways;
mod wheel;

pub use histogram::Distribution;
pub use link_books::Ledger;
pub use link_window::{LARGEST_AVERAGE, LinkWindow};
pub use phases::Span;
pub use probe::{Series, State};
pub use record::{GroupRecord, LinkRecord, Record, ShortSummary};
pub use results::Results;
pub use scenario::Scenario;
pub use simulation::{Interrupted, Simulation};
pub use traffic::OpenLoop;
pub use transfer_log::TransferRow;
