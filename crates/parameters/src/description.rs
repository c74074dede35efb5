//! An algorithm as users see it: its name, its source and its parameter table.

use serde::{Deserialize, Serialize};

use crate::{Kind, Parameter, ParameterError, Scale, Value};

/// Description of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Name in scenarios.
    pub name: &'static str,
    /// Name in prose.
    pub title: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Citation.
    pub source: &'static str,
    /// Its parameter table.
    pub parameters: &'static [Parameter],
    /// Pairs of parameters of which the first must be below the second.
    pub ordered: &'static [(&'static str, &'static str)],
}

/// A table in the form handed to other languages, and by them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// Name in scenarios.
    pub name: String,
    title: String,
    summary: String,
    source: String,
    parameters: Vec<Row>,
    ordered: Vec<(String, String)>,
}

/// A row of a table in that form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    name: String,
    kind: String,
    unit: String,
    default: Value,
    minimum: Option<f64>,
    maximum: Option<f64>,
    minimum_excluded: bool,
    integer: bool,
    scale: Scale,
    search: Option<(f64, f64)>,
    choices: Option<Vec<String>>,
    meaning: String,
    source: String,
    only_with: Option<(String, String)>,
}

impl From<&Algorithm> for Description {
    fn from(algorithm: &Algorithm) -> Self {
        Self {
            name: algorithm.name.to_owned(),
            title: algorithm.title.to_owned(),
            summary: algorithm.summary.to_owned(),
            source: algorithm.source.to_owned(),
            parameters: algorithm.parameters.iter().map(Row::from).collect(),
            ordered: algorithm.ordered.iter().copied().map(owned).collect(),
        }
    }
}

fn owned((one, other): (&str, &str)) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

impl From<&Parameter> for Row {
    fn from(parameter: &Parameter) -> Self {
        let mut row = Self {
            name: parameter.name.to_owned(),
            kind: "number".to_owned(),
            unit: parameter.unit.to_owned(),
            default: Value::Automatic,
            minimum: None,
            maximum: None,
            minimum_excluded: false,
            integer: false,
            scale: Scale::Linear,
            search: None,
            choices: None,
            meaning: parameter.meaning.to_owned(),
            source: parameter.source.to_owned(),
            only_with: parameter.only_with.map(owned),
        };
        match parameter.kind {
            Kind::Number {
                default,
                minimum,
                minimum_excluded,
                maximum,
                integer,
                scale,
                search,
            } => {
                row.default = default.map_or(Value::Automatic, Value::Number);
                row.minimum = minimum.is_finite().then_some(minimum);
                row.maximum = maximum.is_finite().then_some(maximum);
                row.minimum_excluded = minimum_excluded;
                row.integer = integer;
                row.scale = scale;
                row.search = search;
            }
            Kind::Switch { default } => {
                row.kind = "switch".to_owned();
                row.default = Value::Switch(default);
            }
            Kind::Choice { default, choices } => {
                row.kind = "choice".to_owned();
                row.default = Value::Choice(default.to_owned());
                row.choices = Some(choices.iter().map(|&choice| choice.to_owned()).collect());
            }
        }
        row
    }
}

impl Description {
    /// The algorithm that is described. Its texts are kept as long as the program runs, as those of algorithms that are
    /// part of it.
    ///
    /// # Errors
    /// A default that is of another kind than its parameter.
    pub fn into_algorithm(self) -> Result<&'static Algorithm, ParameterError> {
        let rows = self.parameters.into_iter().map(Row::into_parameter);
        Ok(Box::leak(Box::new(Algorithm {
            name: self.name.leak(),
            title: self.title.leak(),
            summary: self.summary.leak(),
            source: self.source.leak(),
            parameters: rows.collect::<Result<Vec<_>, _>>()?.leak(),
            ordered: self.ordered.into_iter().map(kept).collect::<Vec<_>>().leak(),
        })))
    }
}

fn kept((one, other): (String, String)) -> (&'static str, &'static str) {
    (one.leak(), other.leak())
}

impl Row {
    fn into_parameter(self) -> Result<Parameter, ParameterError> {
        let number = |default| Kind::Number {
            default,
            minimum: self.minimum.unwrap_or(f64::NEG_INFINITY),
            minimum_excluded: self.minimum_excluded,
            maximum: self.maximum.unwrap_or(f64::INFINITY),
            integer: self.integer,
            scale: self.scale,
            search: self.search,
        };
        let kind = match (self.kind.as_str(), self.default) {
            ("number", Value::Number(default)) => number(Some(default)),
            ("number", Value::Automatic) => number(None),
            ("switch", Value::Switch(default)) => Kind::Switch { default },
            ("choice", Value::Choice(default)) => {
                let choices = self.choices.unwrap_or_default().into_iter();
                let choices = choices.map(|choice| &*choice.leak()).collect::<Vec<_>>();
                Kind::Choice { default: default.leak(), choices: choices.leak() }
            }
            (_, other) => {
                let accepted = format!("a default of the kind \"{}\"", self.kind);
                return Err(ParameterError::new(self.name, other, accepted));
            }
        };
        Ok(Parameter {
            name: self.name.leak(),
            unit: self.unit.leak(),
            kind,
            meaning: self.meaning.leak(),
            source: self.source.leak(),
            only_with: self.only_with.map(kept),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_described_is_the_algorithm_again() {
        const PARAMETERS: &[Parameter] = &[
            Parameter::number("weight", "1", Some(0.002), 0.0, 1.0).above_minimum(),
            Parameter::number("limit", "packets", None, 1.0, f64::INFINITY).whole().searched(
                1.0,
                9.0,
                Scale::Log,
            ),
            Parameter::switch("gentle", true).described("a slope", "ours"),
            Parameter::choice("rule", "slow", &["slow", "fast"]).only_with("gentle", "true"),
        ];
        let [name, title, summary, source] = ["example", "Example", "An example", "ours"];
        let ordered = &[("weight", "limit")];
        let algorithm = Algorithm { name, title, summary, source, parameters: PARAMETERS, ordered };
        let again = Description::from(&algorithm).into_algorithm().unwrap();
        assert_eq!((again.parameters, again.ordered), (PARAMETERS, &ordered[..]));
        assert_eq!(
            [again.name, again.title, again.summary, again.source],
            [name, title, summary, source]
        );
    }
}
