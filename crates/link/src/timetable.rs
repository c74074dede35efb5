use std::collections::VecDeque;

use vermilion_netsim::loss::LossModel;
use vermilion_netsim::scenario;
use vermilion_parameters::Values;

/// Changes of a link; `None` leaves a setting as it is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The rate in bits per second, constant from then on.
    pub rate: Option<u64>,
    /// The propagation delay in nanoseconds, of packets whose transmission begins from then on.
    pub delay: Option<u64>,
    /// How the wire loses packets.
    pub loss: Option<LossModel>,
    /// Parameters of the discipline; those that are not named stay.
    pub queue: Option<Values>,
}

impl Change {
    /// The change of a scenario.
    pub fn of(change: &scenario::Change) -> Self {
        Self {
            rate: change.rate_bit_per_s,
            delay: change.delay_ns,
            loss: change.loss,
            queue: change.queue.clone(),
        }
    }
}

/// Next event.
#[derive(Debug)]
pub enum Event {
    /// The link changes.
    Change(Change),
    /// Something that is measured begins or ends.
    Boundary,
    /// A point of the time series is due.
    Reading,
}

/// Events of a way at times known beforehand: changes of its link, and the ends of what is measured.
///
/// At one instant measured stretches end first, then changes are made, and
/// then readings are taken.
#[derive(Debug, Default)]
pub struct Timetable {
    changes: VecDeque<(u64, Change)>,
    boundaries: VecDeque<u64>,
    /// Between two readings, and when the next one is.
    readings: Option<(u64, u64)>,
}

impl Timetable {
    /// Changes the link at a time.
    pub fn change(&mut self, at: u64, change: Change) {
        let place = self.changes.partition_point(|&(earlier, _)| earlier <= at);
        self.changes.insert(place, (at, change));
    }

    /// Ends what is measured at these times, in order.
    pub fn set_boundaries(&mut self, instants: Vec<u64>) {
        self.boundaries = instants.into();
    }

    /// Takes readings from a time on, `interval` apart.
    pub fn read_from(&mut self, first: u64, interval: u64) {
        self.readings = Some((interval.max(1), first));
    }

    /// When the link changes next.
    pub fn next_change(&self) -> Option<u64> {
        self.changes.front().map(|&(at, _)| at)
    }

    /// When something happens next.
    pub fn next(&self) -> u64 {
        let change = self.changes.front().map_or(u64::MAX, |&(at, _)| at);
        let boundary = self.boundaries.front().copied().unwrap_or(u64::MAX);
        let reading = self.readings.map_or(u64::MAX, |(_, at)| at);
        change.min(boundary).min(reading)
    }

    /// Event at [`Timetable::next`].
    pub fn pop(&mut self) -> Option<Event> {
        let at = self.next();
        if self.boundaries.front() == Some(&at) {
            self.boundaries.pop_front();
            return Some(Event::Boundary);
        }
        if self.next_change() == Some(at) {
            return self.changes.pop_front().map(|(_, change)| Event::Change(change));
        }
        let (interval, next) = self.readings.as_mut()?;
        *next = next.saturating_add(*interval);
        Some(Event::Reading)
    }
}
