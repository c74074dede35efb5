//! What is known beforehand: starts, stops, changes, and the edges of measured spans.

use crate::calendar::NEVER;

/// Something that happens at a time known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// A measured span begins or ends: before anything else at the same instant, all of which belongs to the span
    /// that begins.
    Boundary,
    /// The change of that number.
    Change(u32),
    /// A flow starts.
    Start(u32),
    /// A flow stops.
    Stop(u32),
    /// Laws that set the rates of shapers are asked.
    Shape,
    /// The probes take their next reading: after all other control events at the same instant, and before packets
    /// that arrive, timers and turns.
    Probe,
}

/// All control events in order, with a place kept for the periodic probes.
#[derive(Clone, Debug)]
pub struct Schedule {
    events: Vec<(u64, Control)>,
    position: usize,
    probe_interval: Option<u64>,
    next_probe: u64,
    /// When laws that set the rates of shapers are asked next.
    pub next_shaping: u64,
}

impl Schedule {
    /// Orders `events`. Probes read at every multiple of their interval from 0.
    pub fn new(mut events: Vec<(u64, Control)>, probe_interval: Option<u64>) -> Self {
        events.sort_unstable();
        let next_probe = if probe_interval.is_some() { 0 } else { NEVER };
        Self { events, position: 0, probe_interval, next_probe, next_shaping: NEVER }
    }

    /// When the next event is due, [`NEVER`] if there is none.
    pub fn next_time(&self) -> u64 {
        let event = self.events.get(self.position).map_or(NEVER, |&(time, _)| time);
        event.min(self.next_probe).min(self.next_shaping)
    }

    /// When each flow that stops does so, at its first queue, whether that is still to come or not.
    pub fn stops(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.events.iter().filter_map(|&(time, event)| match event {
            Control::Stop(flow) => Some((time, flow)),
            _ => None,
        })
    }

    /// Adds an event that is not before the next.
    pub fn add(&mut self, time: u64, event: Control) {
        let place = self.events[self.position..].partition_point(|each| *each < (time, event));
        self.events.insert(self.position + place, (time, event));
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<Control> {
        match self.events.get(self.position) {
            Some(&(time, event)) if time <= self.next_probe.min(self.next_shaping) => {
                self.position += 1;
                Some(event)
            }
            _ if self.next_shaping <= self.next_probe => Some(Control::Shape),
            _ => {
                let interval = self.probe_interval?;
                self.next_probe += interval;
                Some(Control::Probe)
            }
        }
    }
}
