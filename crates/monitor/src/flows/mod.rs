//! Flows: which packets belong together, what is kept of them, and when they are forgotten.

mod connection;
mod direction;
mod flow;
mod key;
mod table;
mod whole_round_trips;

pub(crate) use connection::Segment;
pub use direction::{Direction, FirstFlight, Order, Sending};
pub use flow::{EcnNegotiation, End, Flow, STAGES, Stage, Traffic};
pub use key::{End as Endpoint, Key, Protocol, flow_hash};
pub use table::BYTES_PER_FLOW;
pub(crate) use table::{Place, Table};
