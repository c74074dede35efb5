//! Observers of single packets: types, so that what most packets do has a piece of code for each, and an observation
//! that nobody asks for costs nothing.

use super::Simulation;
use super::delays::delay_books;
use crate::any_link::AnyLink;

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

impl Simulation {
    /// From now on delays are counted. Everything has to be still at its beginning.
    pub(super) fn count_delays(&mut self) {
        let phases = self.measured.phases.phases.len();
        let (lines, flows) = (self.lines.each(), &self.flows);
        self.delays = delay_books(&self.scenario, &self.groups, lines, flows, phases);
        if self.observed == Observed::Nothing {
            self.observed = Observed::Delays;
        }
    }

    /// From now on notes are taken of packets. Everything has to be still at its beginning: receivers that may wait get
    /// lines of their own for what they answer.
    pub(super) fn take_notes(&mut self) {
        if self.observed == Observed::Everything {
            return;
        }
        self.observed = Observed::Everything;
        self.part_receivers();
        self.count_delays();
        for link in &mut self.links {
            if let AnyLink::AtDeparture(link) = link {
                link.take_notes();
            }
        }
    }
}
