//! TCP senders and receivers as pure state machines.
//!
//! A [`Sender`] knows no clock and no network: it is told of acknowledgements and of the time, and
//! asked for the next segment it may send. A [`Receiver`] is told of segments and answers with
//! acknowledgements. Segments are counted, not bytes: all of a flow's data segments have one size,
//! as in the simulators whose results are compared with.
//!
//! Three parts combine into a sender: how losses are noticed and repaired ([`Recovery`]), how the
//! window grows and shrinks (a [`WindowRule`], one file each under `rules/`), and when a segment may
//! leave (at once, or paced). Beside them stands the retransmission timer ([`RoundTripEstimator`]).
//! Adding a sender: its rule under `rules/` if that is new, one file under `senders/` with its
//! parameter table, one line in [`registry`].

pub mod delivery_rate;
pub mod foreign;
mod host_clock;
pub mod named;
mod numbers;
pub mod option_sets;
mod receiver;
mod recovery;
pub mod registry;
mod round_trip;
pub mod rule;
pub mod rules;
mod scoreboard;
mod segment;
mod sender;
pub mod senders;
pub mod sent;
mod table;
mod tick;
mod timer_wheel;
mod window;

pub use foreign::{ForeignRule, ForeignSenders};
pub use host_clock::HostClock;
pub use receiver::{AcknowledgementPolicy, LinuxReceiver, Receiver};
pub use recovery::{Recovery, RecoveryOptions, ReductionBound};
pub use round_trip::{RoundTripEstimator, TimeoutEstimator, TimeoutFloor, TimerRules};
pub use rule::WindowRule;
pub use rules::AnyRule;
pub use segment::{Acknowledgement, KeptAcknowledgement, MOST_BLOCKS, SackBlocks, Segment};
pub use sender::{
    Counters, Ecn, EcnOptions, HandshakeLoss, LossWindow, Sender, SenderOptions, SenderState,
};
pub use window::Window;
