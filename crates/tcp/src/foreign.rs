//! Window rules that are written somewhere else than here, in another language for instance.
//!
//! The registry's senders are known when this crate is built; those of a user are not. Whoever embeds
//! the core hands over a [`ForeignSenders`] for each group of flows whose congestion control is none of
//! the registry's. The rules that it makes stand in one variant of [`AnyRule`](crate::AnyRule), and only
//! that variant pays for being called through a table of functions. Recoveries, timers and receivers are
//! those of the registry's senders, and so are the parameters about them.
//!
//! What a rule may do here that the registry's cannot: fail. It keeps the failure to itself, leaves the
//! window as it is from then on, and has whoever embeds the core end the run.

use std::fmt::Debug;

use vermilion_parameters::{Algorithm, ParameterError, Settings};

use crate::rule::WindowRule;

/// Makes the rules of one name.
pub trait ForeignSenders: Debug + Send + Sync {
    /// Name, source and parameter table, which must be [complete](crate::registry::check_table).
    fn algorithm(&self) -> &'static Algorithm;

    /// Return true if its data is ECT(1).
    fn is_scalable(&self) -> bool;

    /// The rule of a connection that has not begun; each connection gets a [copy](ForeignRule::copy).
    ///
    /// # Errors
    /// Values that the table accepts one by one but that do not go together.
    fn rule(&self, settings: &Settings) -> Result<Box<dyn ForeignRule>, ParameterError>;
}

/// A [`WindowRule`] that can be called without knowing its type.
pub trait ForeignRule: WindowRule + Send + Sync {
    /// An equal one that shares no state with this one.
    fn copy(&self) -> Box<dyn ForeignRule>;
}

/// A rule as [`AnyRule`](crate::AnyRule) keeps it.
pub type Foreign = Box<dyn ForeignRule>;

impl Clone for Foreign {
    fn clone(&self) -> Self {
        self.copy()
    }
}
