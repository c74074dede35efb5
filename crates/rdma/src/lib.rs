//! Rate-based ends of data-centre transports, as pure state machines.
//!
//! An end of this kind has no acknowledgement clock: it sends at a rate, which it learns from
//! notifications, marks or telemetry. [`RateBased`] is all that a network needs to know of one; each
//! is one file and one line of the [`registry`]. Nothing is due by itself: timers are caught up with when
//! the next packet, acknowledgement or notification asks.

mod dcqcn;
mod dctcp;
mod end;
mod hop;
mod hpcc;
mod receiver;
pub mod registry;
mod window;

pub use dcqcn::{
    Dcqcn, DcqcnMellanoxSettings, DcqcnPaperSettings, DcqcnRates, DcqcnState, Dialect,
};
pub use dctcp::{HardwareDctcp, HardwareDctcpSettings, HardwareDctcpState};
pub use end::{Acknowledgement, Nic, Paced, RateBased, Visit};
pub use hop::Hop;
pub use hpcc::{Hpcc, HpccSettings, HpccState};
pub use receiver::{Answer, Receiver};
pub use window::{Window, WindowKind, WindowSettings};
