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
//!
//! Both ends of a connection without a network, whose round trip is 50 ms:
//!
//! ```
//! use vermilion_parameters::Packets;
//! use vermilion_tcp::registry::Profile;
//! use vermilion_tcp::senders::CubicSettings;
//!
//! let mut cubic = CubicSettings::default();
//! cubic.common.window.initial_window = Packets(10);
//! let profile = Profile::new(cubic)?;
//! let (mut sender, mut receiver) = profile.ends(0);
//! sender.start(&profile.sender);
//! let mut flights = Vec::new();
//! for now in (0..4).map(|round| round * 50_000_000) {
//!     let flight: Vec<_> = std::iter::from_fn(|| sender.next_segment(now)).collect();
//!     for segment in &flight {
//!         if let Some(answer) = receiver.on_segment(now + 25_000_000, segment, sender.clock()) {
//!             sender.on_acknowledgement(now + 50_000_000, &answer);
//!         }
//!     }
//!     flights.push(flight.len());
//! }
//! assert_eq!(flights, [1, 10, 20, 40]); // the handshake, and slow start
//! # Ok::<(), vermilion_parameters::ParameterError>(())
//! ```
//!
//! What every sender can be told is [`CommonSettings`], of which each part stands with what it is about. By names and
//! values, as a scenario has them, a sender is made with [`registry::Profile::from_values`].
//!
//! Adding a sender: its rule and that one's settings under `rules/` if it is new, one file under `senders/` that puts
//! settings together, one line in [`registry`].

pub mod delivery_rate;
pub mod foreign;
mod host_clock;
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
mod tick;
mod timer_wheel;
mod window;

pub use foreign::{ForeignRule, ForeignSenders};
pub use host_clock::HostClock;
pub use receiver::{Receiver, ReceiverSettings};
pub use recovery::{Recovery, RecoveryDialect, RecoverySettings, ReductionBound};
pub use round_trip::{RoundTripEstimator, TimeoutEstimator, TimeoutFloor, TimerSettings};
pub use rule::{GrowthSettings, LossWindow, WindowRule};
pub use rules::AnyRule;
pub use segment::{Acknowledgement, KeptAcknowledgement, MOST_BLOCKS, SackBlocks, Segment};
pub use sender::{
    CommonSettings, Counters, Ecn, EcnFeedback, HandshakeLoss, HandshakeSettings, MarkSettings,
    Sender, SenderOptions, SenderState, SendingSettings,
};
pub use window::{Window, WindowSettings};
