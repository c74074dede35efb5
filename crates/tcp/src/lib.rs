//! TCP senders and receivers as pure state machines.
//!
//! A [`Sender`] knows no clock and no network: it is told of acknowledgements and of the time, and
//! asked for the next segment it may send. A [`Receiver`] is told of segments and answers with
//! acknowledgements. Segments are counted, not bytes: all of a flow's data segments have one size,
//! as in the simulators whose results are compared with.
//!
//! Three parts combine into a sender: loss recovery ([`Recovery`], one file each), window growth
//! ([`growth`]) and the retransmission timer ([`RoundTripEstimator`]). Adding a recovery: one file
//! under `recovery/`, one line in [`registry`].

pub mod growth;
mod receiver;
mod recovery;
pub mod registry;
mod round_trip;
mod segment;
mod sender;

pub use receiver::{AcknowledgementPolicy, Receiver};
pub use recovery::Recovery;
pub use round_trip::{RoundTripEstimator, TimerRules};
pub use segment::{Acknowledgement, Segment};
pub use sender::{Counters, Sender, SenderOptions};
