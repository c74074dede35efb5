//! Observers of single packets: types, so that what most packets do has a piece of code for each, and an observation
//! that nobody asks for costs nothing.

/// Observations that are made of every packet.
pub(super) trait Observer {
    /// True if delays, their jitter and losses are counted ([`crate::flow_delays`]).
    const DELAYS: bool;
    /// True if packets are written down, or scripts judge them ([`super::notes`]).
    const NOTES: bool;
}

/// Nobody looks.
pub(super) struct Nobody;

impl Observer for Nobody {
    const DELAYS: bool = false;
    const NOTES: bool = false;
}

/// Delays alone.
pub(super) struct Delays;

impl Observer for Delays {
    const DELAYS: bool = true;
    const NOTES: bool = false;
}

/// Everything: where notes are taken, packets are numbered as well.
pub(super) struct Everything;

impl Observer for Everything {
    const DELAYS: bool = true;
    const NOTES: bool = true;
}

/// Which of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    Nothing,
    Delays,
    Everything,
}

/// Calls a method with the observer as its type parameter.
macro_rules! observed {
    ($self:ident.$method:ident($($argument:expr),*)) => {{
        use $crate::simulation::observer::{Delays, Everything, Nobody, Observed};
        match $self.observed {
            Observed::Nothing => $self.$method::<Nobody>($($argument),*),
            Observed::Delays => $self.$method::<Delays>($($argument),*),
            Observed::Everything => $self.$method::<Everything>($($argument),*),
        }
    }};
}
pub(super) use observed;
