//! What one sender is made of, as the files under `senders/` say it.

use vermilion_parameters::{Algorithm, Settings};

use crate::{AnyRule, Recovery};

/// A sender as users name it: a window rule, and a recovery unless that can be chosen.
#[derive(Debug)]
pub struct Named {
    /// Name, source and parameter table.
    pub algorithm: Algorithm,
    /// The recovery it is named after; `None` if its table has the parameter `recovery`.
    pub recovery: Option<Recovery>,
    /// Its window rule.
    pub rule: fn(&Settings) -> AnyRule,
    /// True if its data is ECT(1).
    pub scalable: bool,
}
