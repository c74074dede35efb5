//! Every sender by name, and the parameters they have in common.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Settings, Values};

use crate::receiver::AcknowledgementPolicy;
use crate::recovery::{NEWRENO, RENO};
use crate::sender::{LossWindow, SenderOptions};
use crate::{Recovery, TimerRules};

/// Every sender, in the order in which they are listed to users.
pub static SENDERS: &[&Recovery] = &[&RENO, &NEWRENO];

/// What every window-based sender can be told. The defaults are those of ns-2.35, except for the
/// window's cap, which ns-2 sets to 20 segments and everybody raises.
pub const COMMON: &[Parameter] = &[
    Parameter::number("window_cap", "packets", Some(10_000.0), 1.0, 1e6)
        .whole()
        .described("largest window the receiver allows", "ns-2.35 has 20"),
    Parameter::number("initial_window", "packets", Some(2.0), 1.0, 1e4)
        .whole()
        .described("window after the connection is open", "ns-2.35 (since 2001); RFC 5681"),
    Parameter::number("minimum_timeout", "seconds", Some(0.2), 0.0, 60.0)
        .described("least retransmission timeout before backing off", "ns-2.35; RFC 6298 has 1 s"),
    Parameter::number("initial_timeout", "seconds", Some(3.0), 1e-3, 60.0)
        .described("retransmission timeout before any round trip is known", "ns-2.35; RFC 2988"),
    Parameter::number("maximum_timeout", "seconds", Some(60.0), 1e-3, 3600.0)
        .described("greatest retransmission timeout", "RFC 6298"),
    Parameter::number("clock_tick", "seconds", Some(0.01), 1e-9, 1.0)
        .described("granularity in which round trips are timed", "ns-2.35 (since 2002)"),
    Parameter::choice("loss_window", "congestion-window", &["congestion-window", "flight-size"])
        .described(
            "what is halved when a loss is noticed: the window, or what is really outstanding",
            "ns-2.35; RFC 5681 has the flight size",
        ),
    Parameter::switch("limited_transmit", true)
        .described("the first two duplicate acknowledgements each release a segment", "RFC 3042"),
    Parameter::switch("ecn", false)
        .described("data is sent ECN-capable and marks halve the window", "RFC 3168"),
    Parameter::switch("handshake", true)
        .described("a 40-byte exchange (SYN) precedes the data", "ns-2.35: syn_"),
    Parameter::switch("delayed_acknowledgements", false)
        .described("the receiver acknowledges every second segment", "RFC 5681; ns-2.35 has false"),
    Parameter::number("acknowledgement_delay", "seconds", Some(0.1), 1e-6, 0.5)
        .described("longest wait of a delayed acknowledgement", "ns-2.35"),
];

/// A sender and its receiver, ready to be made once for each flow.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Options of the sender.
    pub sender: SenderOptions,
    /// When the receiver acknowledges.
    pub acknowledgements: AcknowledgementPolicy,
}

impl Profile {
    /// Looks up the sender called `name` and checks a user's `values`.
    ///
    /// # Errors
    /// An unknown name (field `congestion_control`) or a value its table refuses.
    pub fn from_values(name: &str, values: &Values) -> Result<Self, ParameterError> {
        let Some(&recovery) = SENDERS.iter().find(|sender| sender.algorithm.name == name) else {
            let names: Vec<_> = SENDERS.iter().map(|sender| sender.algorithm.name).collect();
            return Err(ParameterError::new(
                "congestion_control",
                format!("\"{name}\""),
                format!("one of {}", names.join(", ")),
            ));
        };
        let settings = Settings::resolve(&recovery.algorithm, values)?;
        let nanoseconds = |name: &str| (settings.number(name) * 1e9).round() as u64;
        Ok(Self {
            sender: SenderOptions {
                recovery,
                window_cap: settings.number("window_cap"),
                initial_window: settings.number("initial_window"),
                timer: TimerRules {
                    minimum_timeout: nanoseconds("minimum_timeout"),
                    initial_timeout: nanoseconds("initial_timeout"),
                    maximum_timeout: nanoseconds("maximum_timeout"),
                    tick: nanoseconds("clock_tick"),
                },
                loss_window: if settings.is("loss_window", "flight-size") {
                    LossWindow::FlightSize
                } else {
                    LossWindow::CongestionWindow
                },
                limited_transmit: settings.switch("limited_transmit"),
                ecn: settings.switch("ecn"),
                handshake: settings.switch("handshake"),
            },
            acknowledgements: if settings.switch("delayed_acknowledgements") {
                AcknowledgementPolicy::Delayed { wait: nanoseconds("acknowledgement_delay") }
            } else {
                AcknowledgementPolicy::EverySegment
            },
        })
    }

    /// Every sender's description, in the order in which they are listed to users.
    pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
        SENDERS.iter().map(|sender| &sender.algorithm)
    }
}
