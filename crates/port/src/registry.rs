//! Every scheduler by name.

use vermilion_parameters::{Algorithm, AlgorithmSettings, Parameter, Scale};

use crate::{DrrPlusPlusSettings, DrrSettings, ShapedSettings, StrictSettings};

/// A scheduler as users name it.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Name, source and parameter table.
    pub algorithm: Algorithm,
    /// Parameters of each of its classes.
    pub of_classes: &'static [Parameter],
    /// Most classes.
    pub classes: usize,
}

/// A class's part beside the others.
const WEIGHT: &[Parameter] = &[Parameter::number("weight", "1", Some(1.0), 1e-3, 1e6)
    .searched(0.1, 10.0, Scale::Log)
    .described("part of the turns that a class has", "ours")];

const fn named<S: AlgorithmSettings>(of_classes: &'static [Parameter], classes: usize) -> Named {
    Named { algorithm: S::ALGORITHM, of_classes, classes }
}

/// Every scheduler, in the order in which they are listed to users.
pub const SCHEDULERS: &[Named] = &[
    named::<StrictSettings>(&[], 64),
    named::<DrrSettings>(WEIGHT, 64),
    named::<DrrPlusPlusSettings>(WEIGHT, 64),
    named::<ShapedSettings>(&[], 1),
];

/// The scheduler of this name, if it is one.
#[must_use]
pub fn scheduler(name: &str) -> Option<&'static Named> {
    SCHEDULERS.iter().find(|each| each.algorithm.name == name)
}
