//! Every sender by name.

use vermilion_parameters::{Algorithm, ParameterError, Settings, Values};

use crate::foreign::ForeignSenders;
use crate::named::Named;
use crate::receiver::{AcknowledgementPolicy, LinuxHabits, LinuxReceiver};
use crate::recovery::{RecoveryOptions, ReductionBound};
use crate::rule::WindowRule;
use crate::sender::{Ecn, EcnOptions, HandshakeLoss, LossWindow, SenderOptions};
use crate::senders::{BBR, BBR1, CUBIC, DCTCP, LEDBAT, NEWRENO, PRAGUE, REM, RENO, SACK, TAHOE};
use crate::{
    AnyRule, HostClock, Receiver, Recovery, Sender, TimeoutEstimator, TimeoutFloor, TimerRules,
    option_sets,
};

/// Every sender, in the order in which they are listed to users.
pub static SENDERS: &[&Named] =
    &[&TAHOE, &RENO, &NEWRENO, &SACK, &CUBIC, &DCTCP, &PRAGUE, &REM, &LEDBAT, &BBR, &BBR1];

/// A sender and its receiver, ready to be made once for each flow.
#[derive(Clone, Debug)]
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
    /// An unknown name (field `congestion_control`), a value its table refuses, or classic feedback
    /// for a sender that answers every mark.
    pub fn from_values(name: &str, values: &Values) -> Result<Self, ParameterError> {
        let Some(&named) = SENDERS.iter().find(|sender| sender.algorithm.name == name) else {
            let names: Vec<_> = SENDERS.iter().map(|sender| sender.algorithm.name).collect();
            return Err(ParameterError::new(
                "congestion_control",
                format!("\"{name}\""),
                format!("one of {}", names.join(", ")),
            ));
        };
        let algorithm = &named.algorithm;
        let settings = Settings::resolve(algorithm, &option_sets::complete(algorithm, values))?;
        let rule = (named.rule)(&settings);
        Self::of(name, &settings, rule, named.recovery, named.scalable)
    }

    /// The same of a sender whose rule `factory` makes.
    ///
    /// # Errors
    /// A value that its table or the rule itself refuses, or classic feedback for a rule that answers
    /// every mark.
    pub fn from_foreign(
        factory: &dyn ForeignSenders,
        values: &Values,
    ) -> Result<Self, ParameterError> {
        let algorithm = factory.algorithm();
        let settings = Settings::resolve(algorithm, &option_sets::complete(algorithm, values))?;
        let rule = AnyRule::Foreign(factory.rule(&settings)?);
        Self::of(algorithm.name, &settings, rule, None, factory.is_scalable())
    }

    /// The options that `settings` ask for.
    fn of(
        name: &str,
        settings: &Settings,
        rule: AnyRule,
        named_recovery: Option<Recovery>,
        scalable: bool,
    ) -> Result<Self, ParameterError> {
        let nanoseconds = |name: &str| (settings.number(name) * 1e9).round() as u64;
        // The option set's way of doing the same.
        let of_linux = settings.is("option_set", "linux");
        let named_recovery =
            named_recovery.map(|named| if of_linux { named.of_linux() } else { named });
        let recovery = named_recovery.unwrap_or_else(|| {
            let chosen = Recovery::CHOICES.iter().find(|choice| settings.is("recovery", choice));
            chosen.and_then(|name| Recovery::named(name)).expect("every choice has its recovery")
        });
        let accurate = settings.is("ecn_feedback", "accurate");
        let feedback = match (settings.switch("ecn"), accurate) {
            (false, _) => Ecn::Off,
            (true, false) => Ecn::Classic,
            (true, true) if scalable => Ecn::Scalable,
            (true, true) => Ecn::Accurate,
        };
        if feedback == Ecn::Classic && rule.answers_marks() {
            return Err(ParameterError::new(
                "ecn_feedback",
                "\"classic\"",
                format!("accurate, because {name} answers every mark"),
            ));
        }
        // BBR 1 has bursts of its own; BBR 3 and Prague space every segment.
        let spaces_itself = settings.switch("pacing") && (rule.governs_window() || scalable);
        let wait = nanoseconds("acknowledgement_delay");
        Ok(Self {
            sender: SenderOptions {
                rule,
                recovery: recovery_options(recovery, settings, spaces_itself),
                window_cap: settings.number("window_cap"),
                initial_window: settings.number("initial_window"),
                slow_start_threshold: settings
                    .automatic("initial_slow_start_threshold")
                    .unwrap_or_else(|| settings.number("window_cap")),
                timer: TimerRules {
                    minimum_timeout: nanoseconds("minimum_timeout"),
                    floor: if settings.is("timeout_floor", "variation") {
                        TimeoutFloor::Variation
                    } else {
                        TimeoutFloor::Timeout
                    },
                    estimator: if settings.is("timeout_estimator", "linux") {
                        TimeoutEstimator::Linux
                    } else {
                        TimeoutEstimator::Rfc6298
                    },
                    initial_timeout: nanoseconds("initial_timeout"),
                    maximum_timeout: nanoseconds("maximum_timeout"),
                    tick: nanoseconds("clock_tick"),
                    timer_tick: nanoseconds("timer_tick"),
                    shared_clock: settings.switch("shared_clock"),
                },
                loss_window: if settings.is("loss_window", "flight-size") {
                    LossWindow::FlightSize
                } else if settings.is("loss_window", "pipe") {
                    LossWindow::Pipe
                } else {
                    LossWindow::CongestionWindow
                },
                byte_counting: settings.switch("byte_counting"),
                window_validation: settings.switch("window_validation"),
                timestamps: settings.switch("timestamps"),
                handshake: settings.switch("handshake"),
                handshake_loss: if settings.is("handshake_loss", "rfc5681") {
                    HandshakeLoss::OneSegment
                } else if settings.is("handshake_loss", "linux") {
                    HandshakeLoss::OneSegmentFromSecond
                } else {
                    HandshakeLoss::Timeout
                },
                linear_handshake_timeouts: settings.number("linear_handshake_timeouts") as u8,
                ecn: EcnOptions {
                    feedback,
                    capable_retransmissions: settings.switch("ecn_capable_retransmissions"),
                    capable_handshake: settings.switch("ecn_capable_handshake"),
                    fallback: settings.switch("ecn_fallback"),
                },
                pacing: settings.switch("pacing"),
            },
            acknowledgements: if settings.switch("delayed_acknowledgements") {
                let quick = settings.number("quick_acknowledgements") as u32;
                let timer_tick = nanoseconds("timer_tick");
                let habits = LinuxHabits {
                    renewed: settings.switch("quick_acknowledgements_renewed"),
                    adaptive: settings.switch("adaptive_acknowledgement_delay") && timer_tick > 0,
                    compressed: settings.switch("compressed_acknowledgements"),
                };
                let linux = habits
                    .any()
                    .then(|| LinuxReceiver::new(habits, &HostClock::new(timer_tick, 0), wait));
                AcknowledgementPolicy::Delayed { wait, quick, linux, accurate }
            } else {
                AcknowledgementPolicy::EverySegment
            },
        })
    }

    /// Both ends of a connection; `clock_phase`: see [`RoundTripEstimator`](crate::RoundTripEstimator).
    #[inline(always)] // so that transfers are made where they will stand
    #[must_use]
    pub fn ends(&self, clock_phase: u64) -> (Sender, Receiver) {
        let selective = self.sender.recovery.kind.is_selective();
        let first = u32::from(!self.sender.handshake);
        let receiver = Receiver::new(self.acknowledgements, selective, first);
        (Sender::new(&self.sender, clock_phase), receiver)
    }

    /// Every sender's description, in the order in which they are listed to users.
    pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
        SENDERS.iter().map(|sender| &sender.algorithm)
    }
}

fn recovery_options(kind: Recovery, settings: &Settings, spaces_itself: bool) -> RecoveryOptions {
    let as_in_ns3 = settings.is("reduction_bound", "ns3");
    let bound = if as_in_ns3 { ReductionBound::Ns3 } else { ReductionBound::Published };
    RecoveryOptions {
        kind,
        limited_transmit: settings.switch("limited_transmit"),
        cumulative_counting: settings.switch("cumulative_counting"),
        proportional_rate_reduction: settings
            .switch("proportional_rate_reduction")
            .then_some(bound),
        repairs_with_partial_acknowledgements: as_in_ns3,
        timeouts_of_ns3: settings.is("recovery_dialect", "ns3"),
        tail_loss_probe: settings.switch("tail_loss_probe"),
        segmentation_offload: settings.switch("segmentation_offload") && !spaces_itself,
    }
}
