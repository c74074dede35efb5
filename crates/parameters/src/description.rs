//! An algorithm as users see it: its name, its source and its parameter table.

use serde::Serialize;

use crate::{Kind, Parameter, Scale};

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

/// A table in the form handed to other languages.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    source: &'static str,
    parameters: Vec<Row>,
    ordered: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    name: &'static str,
    kind: &'static str,
    unit: &'static str,
    default: Default,
    minimum: Option<f64>,
    maximum: Option<f64>,
    minimum_excluded: bool,
    integer: bool,
    scale: Scale,
    search: Option<(f64, f64)>,
    choices: Option<&'static [&'static str]>,
    meaning: &'static str,
    source: &'static str,
    only_with: Option<(&'static str, &'static str)>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Default {
    Number(Option<f64>),
    Switch(bool),
    Choice(&'static str),
}

impl From<&Algorithm> for Description {
    fn from(algorithm: &Algorithm) -> Self {
        Self {
            name: algorithm.name,
            title: algorithm.title,
            summary: algorithm.summary,
            source: algorithm.source,
            parameters: algorithm.parameters.iter().map(Row::from).collect(),
            ordered: algorithm.ordered,
        }
    }
}

impl From<&Parameter> for Row {
    fn from(parameter: &Parameter) -> Self {
        let mut row = Self {
            name: parameter.name,
            kind: "number",
            unit: parameter.unit,
            default: Default::Number(None),
            minimum: None,
            maximum: None,
            minimum_excluded: false,
            integer: false,
            scale: Scale::Linear,
            search: None,
            choices: None,
            meaning: parameter.meaning,
            source: parameter.source,
            only_with: parameter.only_with,
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
                row.default = Default::Number(default);
                row.minimum = minimum.is_finite().then_some(minimum);
                row.maximum = maximum.is_finite().then_some(maximum);
                row.minimum_excluded = minimum_excluded;
                row.integer = integer;
                row.scale = scale;
                row.search = search;
            }
            Kind::Switch { default } => {
                row.kind = "switch";
                row.default = Default::Switch(default);
            }
            Kind::Choice { default, choices } => {
                row.kind = "choice";
                row.default = Default::Choice(default);
                row.choices = Some(choices);
            }
        }
        row
    }
}
