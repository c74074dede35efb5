//! Values that have been checked against their table.

use std::collections::BTreeMap;

use crate::{Algorithm, Kind, Parameter, ParameterError, Value, Values};

/// A complete, checked set of values for one algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub(crate) values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Checks `given` against the algorithm's table and fills in defaults.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong kind or outside its range, or an ordered pair in the
    /// wrong order.
    pub fn resolve(algorithm: &Algorithm, given: &Values) -> Result<Self, ParameterError> {
        for (name, value) in given {
            if !algorithm.parameters.iter().any(|parameter| parameter.name == name) {
                let names: Vec<_> = algorithm.parameters.iter().map(|row| row.name).collect();
                return Err(ParameterError::new(
                    name,
                    value,
                    format!("a parameter of {}: {}", algorithm.name, names.join(", ")),
                ));
            }
        }
        let mut values = BTreeMap::new();
        for parameter in algorithm.parameters {
            values.insert(parameter.name, check(parameter, given.get(parameter.name))?);
        }
        let settings = Self { values };
        for (lower, upper) in algorithm.ordered {
            settings.ensure_below(lower, upper)?;
        }
        Ok(settings)
    }

    /// Every parameter at its default.
    ///
    /// # Panics
    /// If a row refuses its own default: a mistake in the table, found by its first test.
    pub fn defaults(rows: &[Parameter]) -> Self {
        let default =
            |row: &Parameter| (row.name, check(row, None).expect("a default is accepted"));
        Self { values: rows.iter().map(default).collect() }
    }

    /// A number, or `None` where the algorithm's own rule decides.
    pub fn automatic(&self, name: &str) -> Option<f64> {
        match self.values.get(name) {
            Some(Value::Number(value)) => Some(*value),
            _ => None,
        }
    }

    /// Every value, in a form that can be given back to [`Settings::resolve`].
    pub fn to_values(&self) -> Values {
        self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn ensure_below(&self, lower: &str, upper: &str) -> Result<(), ParameterError> {
        match (self.automatic(lower), self.automatic(upper)) {
            (Some(low), Some(high)) => ParameterError::unless_below((lower, low), (upper, high)),
            _ => Ok(()),
        }
    }
}

fn check(parameter: &Parameter, given: Option<&Value>) -> Result<Value, ParameterError> {
    let name = parameter.name;
    match (parameter.kind, given) {
        (Kind::Number { default, .. }, None) => Ok(default.map_or(Value::Automatic, Value::Number)),
        (Kind::Switch { default }, None) => Ok(Value::Switch(default)),
        (Kind::Choice { default, .. }, None) => Ok(Value::Choice(default.to_owned())),
        (Kind::Number { default: None, .. }, Some(Value::Automatic)) => Ok(Value::Automatic),
        (Kind::Number { .. }, Some(Value::Number(value))) => check_number(parameter, *value),
        (Kind::Switch { .. }, Some(Value::Switch(value))) => Ok(Value::Switch(*value)),
        (Kind::Choice { choices, .. }, Some(Value::Choice(value))) => {
            if choices.contains(&value.as_str()) {
                Ok(Value::Choice(value.clone()))
            } else {
                let value = format!("\"{value}\"");
                Err(ParameterError::new(name, value, format!("one of {}", choices.join(", "))))
            }
        }
        (Kind::Number { .. }, Some(other)) => {
            Err(ParameterError::new(name, other, format!("a number in {}", parameter.unit)))
        }
        (Kind::Switch { .. }, Some(other)) => {
            Err(ParameterError::new(name, other, "true or false"))
        }
        (Kind::Choice { choices, .. }, Some(other)) => {
            Err(ParameterError::new(name, other, format!("one of {}", choices.join(", "))))
        }
    }
}

fn check_number(parameter: &Parameter, value: f64) -> Result<Value, ParameterError> {
    let Kind::Number { minimum, minimum_excluded, maximum, integer, .. } = parameter.kind else {
        unreachable!("only numbers are checked as numbers");
    };
    let too_low = value < minimum || (minimum_excluded && value <= minimum);
    if !value.is_finite() || too_low || value > maximum {
        let bound = if minimum_excluded { "above" } else { "from" };
        let accepted = if maximum.is_finite() {
            format!("a number {bound} {minimum} to {maximum} ({})", parameter.unit)
        } else {
            format!("a number {bound} {minimum} ({})", parameter.unit)
        };
        return Err(ParameterError::new(parameter.name, value, accepted));
    }
    if integer && value.fract() != 0.0 {
        let accepted = format!("a whole number ({})", parameter.unit);
        return Err(ParameterError::new(parameter.name, value, accepted));
    }
    Ok(Value::Number(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scale;

    const ALGORITHM: Algorithm = Algorithm {
        name: "example",
        title: "Example",
        summary: "",
        source: "",
        parameters: &[
            Parameter::number("low", "packets", Some(5.0), 0.0, f64::INFINITY).searched(
                1.0,
                50.0,
                Scale::Linear,
            ),
            Parameter::number("high", "packets", None, 0.0, f64::INFINITY),
            Parameter::number("limit", "packets", Some(100.0), 1.0, 1e6).whole(),
            Parameter::number("weight", "1", Some(0.002), 0.0, 1.0).above_minimum(),
            Parameter::switch("gentle", true),
            Parameter::choice("rule", "slow", &["slow", "fast"]),
        ],
        ordered: &[("low", "high")],
    };

    fn values(pairs: &[(&str, Value)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn refusal(pairs: &[(&str, Value)]) -> ParameterError {
        Settings::resolve(&ALGORITHM, &values(pairs)).expect_err("must be refused")
    }

    #[test]
    fn defaults_fill_what_is_not_given() {
        let settings = Settings::resolve(&ALGORITHM, &Values::new()).unwrap();
        assert_eq!(settings.automatic("low"), Some(5.0));
        assert_eq!(settings.automatic("high"), None);
        assert!(settings.typed::<bool>("gentle"));
        assert_eq!(settings.values["rule"], Value::Choice("slow".to_owned()));
    }

    #[test]
    fn what_is_resolved_resolves_again_to_itself() {
        let given = values(&[("high", Value::Number(7.5)), ("gentle", Value::Switch(false))]);
        let settings = Settings::resolve(&ALGORITHM, &given).unwrap();
        assert_eq!(Settings::resolve(&ALGORITHM, &settings.to_values()).unwrap(), settings);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = refusal(&[("lwo", Value::Number(1.0))]);
        assert_eq!(error.field, "lwo");
        assert!(error.accepted.contains("low, high"));
    }

    #[test]
    fn values_outside_the_table_are_refused() {
        for pair in [
            ("low", Value::Number(-1.0)),
            ("low", Value::Number(f64::NAN)),
            ("low", Value::Switch(true)),
            ("low", Value::Automatic),
            ("limit", Value::Number(2.5)),
            ("weight", Value::Number(0.0)),
            ("weight", Value::Number(1.5)),
            ("gentle", Value::Number(1.0)),
            ("rule", Value::Choice("medium".into())),
        ] {
            assert_eq!(refusal(std::slice::from_ref(&pair)).field, pair.0);
        }
    }

    #[test]
    fn an_ordered_pair_must_be_in_order() {
        let error = refusal(&[("low", Value::Number(45.0)), ("high", Value::Number(15.0))]);
        assert_eq!(error.field, "high");
        assert!(error.accepted.contains("above low, which is 45"));
    }
}
