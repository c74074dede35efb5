//! The stretches of time over which metrics are reported.
//!
//! A phase begins where the traffic or the network changes: at the instant a range of starts or
//! stops begins, and at each change of a link. A range that lasts longer than the settling time
//! also ends a phase at its end. What is measured of a phase leaves out its first `settle`
//! nanoseconds, of the first phase the warm-up. Phases of which nothing is left are not reported.

use crate::scenario::Scenario;

/// A stretch of measured time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first instant.
    pub begin: u64,
    /// Its end.
    pub end: u64,
}

impl Span {
    /// Return true if it has no instant.
    pub const fn is_empty(&self) -> bool {
        self.begin >= self.end
    }
}

/// The measured spans of a scenario.
#[derive(Clone, Debug)]
pub struct Phases {
    /// From the warm-up to the end.
    pub total: Span,
    /// One for each phase of which something is left.
    pub phases: Vec<Span>,
}

impl Phases {
    /// Works the phases of a scenario out.
    pub fn of(scenario: &Scenario) -> Self {
        let (duration, settle) = (scenario.duration_ns, scenario.settle_ns);
        let mut instants: Vec<u64> = scenario.changes.iter().map(|change| change.at_ns).collect();
        for group in &scenario.flows {
            for (begin, end) in std::iter::once(group.start_ns).chain(group.stop_ns) {
                instants.push(begin);
                if end - begin > settle {
                    instants.push(end);
                }
            }
        }
        instants.retain(|&instant| 0 < instant && instant < duration);
        instants.extend([0, duration]);
        instants.sort_unstable();
        instants.dedup();
        let phases = instants
            .windows(2)
            .map(|pair| {
                let settled = if pair[0] == 0 { 0 } else { pair[0] + settle };
                Span { begin: settled.max(scenario.warm_up_ns), end: pair[1] }
            })
            .filter(|span| !span.is_empty())
            .collect();
        Self { total: Span { begin: scenario.warm_up_ns, end: duration }, phases }
    }

    /// Every instant at which a measured span begins or ends, ascending.
    pub fn boundaries(&self) -> Vec<u64> {
        let mut instants: Vec<u64> = self
            .phases
            .iter()
            .chain(std::iter::once(&self.total))
            .flat_map(|span| [span.begin, span.end])
            .collect();
        instants.sort_unstable();
        instants.dedup();
        instants
    }
}
