//! What a port looks like, without its parameters.

use serde::Deserialize;
use vermilion_parameters::{ParameterError, Values};

/// A queue under a discipline, or a scheduler over classes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Name of the discipline, or of the scheduler.
    pub discipline: String,
    /// The classes of a scheduler, the first of which comes first.
    #[serde(default)]
    pub classes: Vec<Class>,
}

/// Packets that are treated alike.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Codepoints of its packets; of the one class where none is named, those that no other names.
    #[serde(default, rename = "match")]
    pub codepoints: Vec<u8>,
    /// Where they wait.
    pub queue: Shape,
}

/// Prefix of the names of a class's parameters.
const CLASSES: &str = "classes.";
/// Between the number of a class and the names of its queue's parameters.
const QUEUE: &str = "queue.";

/// The name under which a port has a parameter of its class number `class`.
pub(crate) fn of_class(class: usize, name: &str) -> String {
    format!("{CLASSES}{class}.{name}")
}

/// The name under which a port has a parameter of the queue of its class number `class`.
pub(crate) fn of_queue(class: usize, name: &str) -> String {
    format!("{CLASSES}{class}.{QUEUE}{name}")
}

/// Values of a scheduler, of each class, and of each class's queue.
pub(crate) struct Parted {
    pub(crate) own: Values,
    pub(crate) of_classes: Vec<Values>,
    pub(crate) of_queues: Vec<Values>,
}

/// Parts the values of a scheduler over so many classes.
///
/// # Errors
/// A value of a class that there is not.
pub(crate) fn parted(values: &Values, classes: usize) -> Result<Parted, ParameterError> {
    let mut parted = Parted {
        own: Values::new(),
        of_classes: vec![Values::new(); classes],
        of_queues: vec![Values::new(); classes],
    };
    for (name, value) in values {
        let (into, name) = match name.strip_prefix(CLASSES) {
            None => (&mut parted.own, &**name),
            Some(rest) => {
                let (number, inner) = rest.split_once('.').unwrap_or((rest, ""));
                let number = number.parse::<usize>().ok().filter(|&number| number < classes);
                let Some(number) = number else {
                    let accepted = format!("a class from 0 to {}", classes.saturating_sub(1));
                    return Err(ParameterError::new(name, value, accepted));
                };
                match inner.strip_prefix(QUEUE) {
                    Some(inner) => (&mut parted.of_queues[number], inner),
                    None => (&mut parted.of_classes[number], inner),
                }
            }
        };
        into.insert(name.to_owned(), value.clone());
    }
    Ok(parted)
}
