use vermilion_parameters::ParameterError;

use super::observation::{DistributionChoice, group_index};
use super::record::{PacketEvent, PacketRecord, Place};
use crate::scenario::Scenario;

/// The most bins of one histogram; what lies beyond is in the last one.
const MOST_BINS: u64 = 1 << 24;

/// How often each value came, in bins of `width` nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct RawDistribution {
    /// Values in each bin: the first has those from 0 on.
    pub counts: Vec<u64>,
    /// Values in all.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub sum: u128,
    /// The least in nanoseconds, if there is one.
    pub least: Option<u64>,
    /// The greatest in nanoseconds, if there is one.
    pub greatest: Option<u64>,
    /// The values in nanoseconds, in the order in which they came, as many as were asked for.
    pub values: Vec<u64>,
}

impl RawDistribution {
    fn add(&mut self, value: u64, width: u64, most: u64) {
        let bin = (value / width).min(MOST_BINS - 1) as usize;
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
        self.greatest = Some(self.greatest.map_or(value, |greatest| greatest.max(value)));
        if (self.values.len() as u64) < most {
            self.values.push(value);
        }
    }
}

/// Samples collected of one link or one group.
#[derive(Clone, Debug, Default)]
struct Collected {
    /// Waiting times at a link, delays of a group.
    times: RawDistribution,
    gaps: RawDistribution,
    last_drop: Option<u64>,
}

/// Raw distributions: every packet's waiting time and one-way delay, and every gap between two drops, counted
/// in bins of one width. Nothing is rounded but to the bin; the values themselves are kept where asked for.
#[derive(Clone, Debug)]
pub struct RawDistributions {
    /// By number, where they were asked for.
    links: Vec<Option<Collected>>,
    groups: Vec<Option<Collected>>,
    warm_up: u64,
    width: u64,
    most: u64,
}

impl RawDistributions {
    /// Empty ones of a scenario's links and groups.
    ///
    /// # Errors
    /// A name that there is not.
    pub(crate) fn new(
        scenario: &Scenario,
        choice: &DistributionChoice,
    ) -> Result<Self, ParameterError> {
        let mut links = vec![None; scenario.links.len()];
        for name in &choice.links {
            links[scenario.link_named("links", name)?] = Some(Collected::default());
        }
        let mut groups = vec![None; scenario.flows.len()];
        for name in &choice.groups {
            groups[group_index(scenario, name)? as usize] = Some(Collected::default());
        }
        let (warm_up, width) = (scenario.warm_up_ns, choice.width_ns);
        Ok(Self { links, groups, warm_up, width, most: choice.values })
    }

    /// Counts what belongs to a distribution: data that leaves a queue, arrives, is dropped or lost.
    pub(crate) fn count(&mut self, record: &PacketRecord, group: u32) {
        let (width, most) = (self.width, self.most);
        if record.time < self.warm_up {
            return;
        }
        match (record.event, record.place) {
            (PacketEvent::Depart, Place::Link(link)) => {
                if let Some(collected) = &mut self.links[link as usize] {
                    collected.times.add(record.time - record.since, width, most);
                }
            }
            (PacketEvent::Deliver, Place::Receiver) => {
                let data = record.sequence > 0 || !record.opens;
                if let Some(collected) = &mut self.groups[group as usize]
                    && data
                {
                    collected.times.add(record.time - record.since, width, most);
                }
            }
            (PacketEvent::Drop, Place::Link(link)) => {
                let of_group = self.groups[group as usize].as_mut();
                let of_group = of_group.filter(|_| !record.acknowledgement);
                for collected in [self.links[link as usize].as_mut(), of_group] {
                    let Some(collected) = collected else { continue };
                    if let Some(last) = collected.last_drop.replace(record.time) {
                        collected.gaps.add(record.time - last, width, most);
                    }
                }
            }
            _ => {}
        }
    }

    /// Width of the bins in nanoseconds.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Of link number `link`: waiting times, and gaps between drops.
    pub fn of_link(&self, link: usize) -> Option<(&RawDistribution, &RawDistribution)> {
        self.links[link].as_ref().map(|collected| (&collected.times, &collected.gaps))
    }

    /// Of group number `group`: one-way delays of its data, and gaps between drops.
    pub fn of_group(&self, group: usize) -> Option<(&RawDistribution, &RawDistribution)> {
        self.groups[group].as_ref().map(|collected| (&collected.times, &collected.gaps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_exact_and_values_are_bounded() {
        let mut distribution = RawDistribution::default();
        for value in [0, 9, 10, 25, 25] {
            distribution.add(value, 10, 3);
        }
        assert_eq!(distribution.counts, [2, 1, 2]);
        assert_eq!((distribution.count, distribution.sum), (5, 69));
        assert_eq!((distribution.least, distribution.greatest), (Some(0), Some(25)));
        assert_eq!(distribution.values, [0, 9, 10]);
        distribution.add(u64::MAX, 10, 3);
        assert_eq!(distribution.counts.len() as u64, MOST_BINS);
    }
}
