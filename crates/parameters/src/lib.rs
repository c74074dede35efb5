//! Parameter tables.
//!
//! Every algorithm of Vermilion (queue discipline, sender) describes what it can be told in one
//! constant table of [`Parameter`]s. Everything else is derived from that table: the scenario
//! language's schema, the search space of the tuner, the command line's help, the pages of the
//! documentation and the names in Python. An algorithm reads its values from [`Settings`], which
//! exist only after every value has been checked against the table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod description;
mod error;
mod settings;
#[doc(hidden)]
pub mod typed;

pub use description::{Algorithm, Description, Row};
pub use error::ParameterError;
pub use settings::Settings;
pub use typed::{
    AlgorithmSettings, BitPerSecond, Bytes, Packets, PerPacket, Periods, Probability, Seconds,
    Setting, TypedSettings,
};

/// Values given by a user, by parameter name.
pub type Values = BTreeMap<String, Value>;

/// One value as a scenario gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// An on/off value.
    Switch(bool),
    /// A quantity in the unit of the table.
    Number(f64),
    /// One of the names the table lists.
    Choice(String),
    /// Left to the algorithm's own rule.
    Automatic,
}

impl std::fmt::Display for Value {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Switch(value) => write!(formatter, "{value}"),
            Self::Number(value) => write!(formatter, "{value}"),
            Self::Choice(value) => write!(formatter, "\"{value}\""),
            Self::Automatic => write!(formatter, "automatic"),
        }
    }
}

/// A default that stands in the place of a row's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// A quantity in the unit of the table.
    Number(f64),
    /// On or off.
    Switch(bool),
    /// One of the names the table lists.
    Choice(&'static str),
}

impl From<Preset> for Value {
    fn from(preset: Preset) -> Self {
        match preset {
            Preset::Number(number) => Self::Number(number),
            Preset::Switch(on) => Self::Switch(on),
            Preset::Choice(name) => Self::Choice(name.to_owned()),
        }
    }
}

/// How a search should walk along a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences matter equally.
    Linear,
    /// Equal ratios matter equally.
    Log,
}

/// Values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A quantity.
    Number {
        /// Value when none is given; `None` means the algorithm's own rule decides.
        default: Option<f64>,
        /// Smallest value accepted.
        minimum: f64,
        /// True if the smallest value itself is refused.
        minimum_excluded: bool,
        /// Largest value accepted.
        maximum: f64,
        /// True if only whole numbers are accepted.
        integer: bool,
        /// How a search should walk along it.
        scale: Scale,
        /// The box a tuner searches unless told otherwise; `None` if it makes no sense to tune.
        search: Option<(f64, f64)>,
    },
    /// On or off.
    Switch {
        /// Value when none is given.
        default: bool,
    },
    /// One of a few named alternatives.
    Choice {
        /// Value when none is given.
        default: &'static str,
        /// Every name accepted.
        choices: &'static [&'static str],
    },
}

/// One row of a parameter table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name in scenarios, spelled out.
    pub name: &'static str,
    /// Unit of the number: `packets`, `bytes`, `seconds`, `probability`, or `1`.
    pub unit: &'static str,
    /// Values it takes.
    pub kind: Kind,
    /// One line: what it means.
    pub meaning: &'static str,
    /// Where its default or definition comes from.
    pub source: &'static str,
    /// A choice and the name that it has to have for this parameter to do anything; it is not
    /// searched otherwise.
    pub only_with: Option<(&'static str, &'static str)>,
}

impl Parameter {
    /// A number with `minimum <= value <= maximum`, walked linearly, not searched.
    pub const fn number(
        name: &'static str,
        unit: &'static str,
        default: Option<f64>,
        minimum: f64,
        maximum: f64,
    ) -> Self {
        Self {
            name,
            unit,
            kind: Kind::Number {
                default,
                minimum,
                minimum_excluded: false,
                maximum,
                integer: false,
                scale: Scale::Linear,
                search: None,
            },
            meaning: "",
            source: "",
            only_with: None,
        }
    }

    /// An on/off parameter.
    pub const fn switch(name: &'static str, default: bool) -> Self {
        Self::plain(name, Kind::Switch { default })
    }

    /// A parameter with named alternatives.
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        choices: &'static [&'static str],
    ) -> Self {
        Self::plain(name, Kind::Choice { default, choices })
    }

    const fn plain(name: &'static str, kind: Kind) -> Self {
        Self { name, unit: "1", kind, meaning: "", source: "", only_with: None }
    }

    /// The same row, meaning and source filled in.
    #[must_use]
    pub const fn described(mut self, meaning: &'static str, source: &'static str) -> Self {
        self.meaning = meaning;
        self.source = source;
        self
    }

    /// The same row, of a parameter that does something only where a choice has this name.
    #[must_use]
    pub const fn only_with(mut self, choice: &'static str, name: &'static str) -> Self {
        self.only_with = Some((choice, name));
        self
    }

    /// The same row with another default.
    ///
    /// # Panics
    /// If that is of another kind, which ends the compilation of a table.
    #[must_use]
    pub const fn preset(mut self, preset: Preset) -> Self {
        match (&mut self.kind, preset) {
            (Kind::Number { default, .. }, Preset::Number(number)) => *default = Some(number),
            (Kind::Switch { default }, Preset::Switch(on)) => *default = on,
            (Kind::Choice { default, .. }, Preset::Choice(name)) => *default = name,
            _ => panic!("the default is of another kind"),
        }
        self
    }

    /// The same row, accepting whole numbers only.
    #[must_use]
    pub const fn whole(mut self) -> Self {
        if let Kind::Number { ref mut integer, .. } = self.kind {
            *integer = true;
        }
        self
    }

    /// The same row, its minimum itself refused.
    #[must_use]
    pub const fn above_minimum(mut self) -> Self {
        if let Kind::Number { ref mut minimum_excluded, .. } = self.kind {
            *minimum_excluded = true;
        }
        self
    }

    /// The same row, searched within `lower..=upper` along `walk`.
    #[must_use]
    pub const fn searched(mut self, lower: f64, upper: f64, walk: Scale) -> Self {
        if let Kind::Number { ref mut search, ref mut scale, .. } = self.kind {
            *search = Some((lower, upper));
            *scale = walk;
        }
        self
    }
}
