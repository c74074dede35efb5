//! Classes that there are, and their turns.

use vermilion_parameters::ParameterError;
use vermilion_port::DeficitTurns;

use crate::scenario::Scenario;

/// Classes of a port (IEEE 802.1Q).
pub(crate) const MOST_CLASSES: u8 = 8;

/// The classes of a scenario's traffic, the highest first.
pub(crate) fn classes(scenario: &Scenario) -> Result<Vec<u8>, ParameterError> {
    let parts = 0..scenario.traffic.len();
    let mut classes: Vec<u8> =
        parts.map(|part| scenario.traffic_classes.get(part).copied().unwrap_or(0)).collect();
    if let Some(part) = classes.iter().position(|&class| class >= MOST_CLASSES) {
        let field = format!("traffic[{part}].class");
        return Err(ParameterError::new(field, classes[part], "a class from 0 to 7"));
    }
    classes.sort_unstable();
    classes.dedup();
    classes.reverse();
    Ok(classes)
}

/// Turns of these classes at every link; none if there is nothing to take turns for.
pub(crate) fn turns(scenario: &Scenario, classes: &[u8], lines: u32) -> Vec<DeficitTurns> {
    if classes.len() < 2 || scenario.class_weights.is_empty() {
        return Vec::new();
    }
    let weight =
        |&class: &u8| scenario.class_weights.get(usize::from(class)).copied().unwrap_or(1.0);
    let weights: Vec<f64> = classes.iter().map(weight).collect();
    let quantum = scenario.packets.payload + scenario.packets.header;
    vec![DeficitTurns::new(false, quantum, &weights); lines as usize]
}
