use vermilion_parameters::ParameterError;

use super::kept::{Kept, Ordered};
use super::observation::{Chosen, PacketChoice};
use super::record::{PacketRecord, Place};
use crate::scenario::Scenario;

/// A packet trace while it is written: what was chosen, kept until somebody takes it.
///
/// Hosts' clocks differ from those of the first queue ([`crate::route`]), and departures are noted when
/// somebody looks. So records come in out of order; they are handed out in order, as far as nothing earlier
/// can still come.
#[derive(Clone, Debug)]
pub struct PacketTrace {
    pub(crate) flows: Chosen,
    /// By number of the link.
    links: Vec<bool>,
    senders: bool,
    receivers: bool,
    from: u64,
    until: u64,
    kept: Kept<PacketRecord>,
}

impl PacketTrace {
    /// One of `scenario` that nothing has happened to.
    ///
    /// # Errors
    /// A name that there is not.
    pub(crate) fn new(scenario: &Scenario, choice: &PacketChoice) -> Result<Self, ParameterError> {
        let mut links = vec![choice.links.is_none(); scenario.links.len()];
        for name in choice.links.iter().flatten() {
            links[scenario.link_named("links", name)?] = true;
        }
        Ok(Self {
            flows: Chosen::of(scenario, &choice.flows)?,
            links,
            senders: choice.senders,
            receivers: choice.receivers,
            from: choice.from_ns,
            until: choice.until_ns,
            kept: Kept::new(choice.most),
        })
    }

    /// Keeps a record of a connection that was chosen, if its place and time were too.
    pub(crate) fn keep(&mut self, record: PacketRecord) {
        let wanted = match record.place {
            Place::Sender => self.senders,
            Place::Receiver => self.receivers,
            Place::Link(link) => self.links[link as usize],
        };
        if wanted && (self.from..self.until).contains(&record.time) {
            self.kept.keep(|| record);
        }
    }

    /// Return true if somebody should take what there is.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.is_full()
    }

    /// Return true if records were left out because there may not be more.
    pub fn is_cut(&self) -> bool {
        self.kept.is_cut()
    }

    /// Events before `end`, in order.
    pub(crate) fn take(&mut self, end: u64) -> Vec<PacketRecord> {
        self.kept.take(end)
    }
}

impl Ordered for PacketRecord {
    fn order(&self) -> (u64, u64) {
        (self.time, self.order)
    }
}
