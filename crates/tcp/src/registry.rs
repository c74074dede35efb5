//! Every sender by name.

use vermilion_parameters::{
    Algorithm, AlgorithmSettings, Kind, Parameter, ParameterError, Settings, Values,
};

use crate::foreign::ForeignSenders;
use crate::rule::WindowRule;
use crate::sender::{Ecn, EcnFeedback};
use crate::senders::{
    Bbr1Settings, BbrSettings, CubicSettings, DctcpSettings, LedbatSettings, NewRenoSettings,
    PragueSettings, RemSettings, RenoSettings, SackSettings, TahoeSettings, VegasSettings,
};
use crate::{AnyRule, Receiver, Sender, SenderOptions, option_sets};

/// A sender as users name it.
#[derive(Debug)]
pub struct Named {
    /// Name, source and parameter table.
    pub algorithm: Algorithm,
    /// The sender that settings of this table ask for.
    options: fn(&Settings) -> SenderOptions,
}

const fn named<S: AlgorithmSettings + Into<SenderOptions>>() -> Named {
    Named { algorithm: S::ALGORITHM, options: |settings| settings.read::<S>().into() }
}

/// Every sender, in the order in which they are listed to users.
pub static SENDERS: &[Named] = &[
    named::<TahoeSettings>(),
    named::<RenoSettings>(),
    named::<NewRenoSettings>(),
    named::<SackSettings>(),
    named::<CubicSettings>(),
    named::<DctcpSettings>(),
    named::<PragueSettings>(),
    named::<RemSettings>(),
    named::<LedbatSettings>(),
    named::<VegasSettings>(),
    named::<BbrSettings>(),
    named::<Bbr1Settings>(),
];

/// Parameters that every table of a sender [from elsewhere](ForeignSenders) has beside the parameters of its own rule, and which pairs of them are
/// ordered: those of [`SackSettings`].
pub const COMMON: Algorithm = SackSettings::ALGORITHM;

/// A sender and its receiver, ready to be made once for each flow.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Options of the sender.
    pub sender: SenderOptions,
    /// The receiver of a connection that has not begun.
    receiver: Receiver,
}

impl Profile {
    /// The sender of these settings. Nothing is left to its option set, of which they are complete already.
    ///
    /// ```
    /// use vermilion_parameters::{Packets, Seconds};
    /// use vermilion_tcp::Recovery;
    /// use vermilion_tcp::option_sets::OptionSet;
    /// use vermilion_tcp::registry::Profile;
    /// use vermilion_tcp::senders::CubicSettings;
    ///
    /// let mut cubic = CubicSettings { recovery: Recovery::Rack, ..CubicSettings::default() };
    /// cubic.common.window.initial_window = Packets(10);
    /// cubic.common.timer.minimum_timeout = Seconds(1.0);
    /// cubic.rule.hystart = false;
    /// let (sender, receiver) = Profile::new(cubic)?.ends(0);
    ///
    /// let linux: CubicSettings = OptionSet::Linux.settings();
    /// assert_eq!(linux.common.receiver.acknowledgement_delay, Seconds(0.04));
    ///
    /// cubic.rule.decrease_factor = 1.5;
    /// let refused = Profile::new(cubic).unwrap_err().to_string();
    /// assert_eq!(refused, "decrease_factor: 1.5 is not accepted; expected a number from 0.1 to 0.99 (1)");
    /// # Ok::<(), vermilion_parameters::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Profile::from_values`], except that the name is known.
    pub fn new<S: AlgorithmSettings + Into<SenderOptions>>(
        settings: S,
    ) -> Result<Self, ParameterError> {
        Self::of(S::ALGORITHM.name, settings.checked()?.into())
    }

    /// Looks up the sender called `name` and checks a user's `values`.
    ///
    /// # Errors
    /// An unknown name (field `congestion_control`), a value its table refuses, or classic feedback
    /// for a sender that answers every mark.
    pub fn from_values(name: &str, values: &Values) -> Result<Self, ParameterError> {
        let Some(named) = SENDERS.iter().find(|sender| sender.algorithm.name == name) else {
            let known = SENDERS.iter().map(|sender| sender.algorithm.name);
            return Err(ParameterError::unknown("congestion_control", name, "one of", known));
        };
        let settings = option_sets::resolve(&named.algorithm, values)?;
        Self::of(name, (named.options)(&settings))
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
        let settings = option_sets::resolve(algorithm, values)?;
        let rule = AnyRule::Foreign(factory.rule(&settings)?);
        let SackSettings { common, recovery } = settings.read();
        let options = SenderOptions { rule, recovery, scalable: factory.is_scalable(), common };
        Self::of(algorithm.name, options)
    }

    /// The ends of connections of the sender called `name`.
    fn of(name: &str, sender: SenderOptions) -> Result<Self, ParameterError> {
        let feedback = sender.feedback();
        if feedback == Ecn::Classic && sender.rule.answers_marks() {
            return Err(ParameterError::new(
                "ecn_feedback",
                "\"classic\"",
                format!("accurate, because {name} answers every mark"),
            ));
        }
        let common = &sender.common;
        let receiver = Receiver::new(
            &common.receiver,
            common.timer.timer_tick.nanoseconds(),
            common.marks.ecn_feedback == EcnFeedback::Accurate,
            sender.recovery.is_selective(),
            u32::from(!common.opening.handshake),
        );
        Ok(Self { sender, receiver })
    }

    /// Both ends of a connection; `clock_phase`: see [`RoundTripEstimator`](crate::RoundTripEstimator).
    #[inline(always)] // so that transfers are made where they will stand
    pub fn ends(&self, clock_phase: u64) -> (Sender, Receiver) {
        (Sender::new(&self.sender, clock_phase), self.receiver.clone())
    }

    /// Every sender's description, in the order in which they are listed to users.
    pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
        SENDERS.iter().map(|sender| &sender.algorithm)
    }
}

/// Refuses a table without one of the [`COMMON`] parameters, or with another kind of it, and one whose
/// recoveries are not all [known](crate::Recovery::NAMES).
///
/// # Errors
/// The first parameter that is missing or other than expected.
pub fn check_table(parameters: &[Parameter]) -> Result<(), ParameterError> {
    for common in COMMON.parameters {
        let found = parameters.iter().find(|row| row.name == common.name);
        if !found.is_some_and(|row| is_as_narrow(&row.kind, &common.kind)) {
            let accepted = "a table with the parameters that all senders have, none of them wider";
            return Err(ParameterError::new("parameters", common.name, accepted));
        }
    }
    Ok(())
}

/// Return true if whatever one kind accepts the other does.
fn is_as_narrow(kind: &Kind, common: &Kind) -> bool {
    match (kind, common) {
        (Kind::Switch { .. }, Kind::Switch { .. }) => true,
        (Kind::Choice { choices, .. }, Kind::Choice { choices: known, .. }) => {
            choices.iter().all(|choice| known.contains(choice))
        }
        (
            Kind::Number { minimum, maximum, integer, default, .. },
            Kind::Number {
                minimum: least, maximum: most, integer: whole, default: automatic, ..
            },
        ) => {
            let decided = default.is_some() || automatic.is_none();
            minimum >= least && maximum <= most && (*integer || !whole) && decided
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_lacks_or_widens_what_all_senders_have_is_refused() {
        let mut table = COMMON.parameters.to_vec();
        table.push(Parameter::switch("own", true));
        assert_eq!(check_table(&table), Ok(()));
        for index in 0..COMMON.parameters.len() {
            let mut table = COMMON.parameters.to_vec();
            table.remove(index);
            assert!(check_table(&table).is_err(), "{}", COMMON.parameters[index].name);
            let mut table = COMMON.parameters.to_vec();
            match &mut table[index].kind {
                Kind::Number { maximum, .. } => *maximum = f64::INFINITY,
                Kind::Choice { choices, .. } => *choices = &["anything"],
                kind @ Kind::Switch { .. } => {
                    *kind = Kind::Choice { default: "no", choices: &["no"] }
                }
            }
            assert!(check_table(&table).is_err(), "{}", COMMON.parameters[index].name);
        }
    }
}
