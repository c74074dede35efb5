//! The one way a value is refused.

use thiserror::Error;

/// A value that cannot be used: which field, what was given, what would be accepted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {value} is not accepted; expected {accepted}")]
pub struct ParameterError {
    /// Dotted path of the field as a scenario spells it.
    pub field: String,
    /// The value as given.
    pub value: String,
    /// Accepted values.
    pub accepted: String,
}

impl ParameterError {
    /// Makes an error from its three parts.
    pub fn new(
        field: impl Into<String>,
        value: impl ToString,
        accepted: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), value: value.to_string(), accepted: accepted.into() }
    }

    /// Refuses a name that is none of the `known` ones; `accepted` says what these are.
    pub fn unknown<'a>(
        field: &str,
        name: &str,
        accepted: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<_> = known.into_iter().collect();
        Self::new(field, format!("\"{name}\""), format!("{accepted} {}", known.join(", ")))
    }

    /// Refuses two values, each with its name, of which the first is not below the second.
    ///
    /// # Errors
    /// It is not.
    pub fn unless_below(lower: (&str, f64), upper: (&str, f64)) -> Result<(), Self> {
        if lower.1 < upper.1 {
            return Ok(());
        }
        let accepted = format!("a value above {}, which is {}", lower.0, lower.1);
        Err(Self::new(upper.0, upper.1, accepted))
    }

    /// The same error with `prefix.` before its field: each level of a scenario adds its own name.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.field = if self.field.is_empty() {
            prefix.to_owned()
        } else {
            format!("{prefix}.{}", self.field)
        };
        self
    }
}
