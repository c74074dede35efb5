//! What somebody has written down of a run: asked for at the beginning, taken while it runs.

use std::sync::atomic::{AtomicBool, Ordering};

use vermilion_parameters::ParameterError;

use super::notes::{LaidOut, Notes};
use super::unheard::Unheard;
use super::{Interrupted, Simulation};
use crate::flow::Source;
use crate::scripted_losses::Scripts;
use crate::trace::{
    Legend, Observation, PacketRecord, PacketTrace, RawDistributions, Sight, WindowRow, WindowTrace,
};

impl Simulation {
    /// Has `observation` written down. To be called before anything has happened. What is written down does
    /// not change what happens.
    ///
    /// # Errors
    /// The first field of it that cannot be used.
    pub fn observe(&mut self, observation: &Observation) -> Result<(), ParameterError> {
        observation.check(&self.scenario)?;
        observation.transfers.map_or(Ok(()), |choice| self.log_transfers(&choice))?;
        let scenario = &self.scenario;
        let packets = observation.packets.as_ref();
        let packets = packets.map(|choice| PacketTrace::new(scenario, choice)).transpose();
        let packets = packets.map_err(|error| error.under("packets"))?;
        let windows = observation.windows.as_ref();
        let offsets = self.groups.iter().map(|group| group.route.first_access).collect();
        let windows =
            windows.map(|choice| WindowTrace::new(scenario, choice, &offsets)).transpose();
        let windows = windows.map_err(|error| error.under("windows"))?;
        let distributions = observation.distributions.as_ref();
        let distributions =
            distributions.map(|choice| RawDistributions::new(scenario, choice)).transpose();
        let distributions = distributions.map_err(|error| error.under("distributions"))?;
        if packets.is_none() && windows.is_none() && distributions.is_none() {
            return Ok(());
        }
        // Windows that are read at an interval do without: the events of a plain run leave senders and receivers
        // just as they are where packets are followed.
        let follows_changes = windows.as_ref().is_some_and(WindowTrace::follows_changes);
        if packets.is_some() || distributions.is_some() || follows_changes {
            self.take_notes();
        }
        let notes = self.notes_with(Scripts::default());
        (notes.packets, notes.distributions) = (packets, distributions);
        notes.windows = windows;
        if let Some(windows) = &mut notes.windows {
            for (index, connection) in notes.connections.all().iter().enumerate() {
                let who = (index as u32, connection.group, connection.number);
                windows.begin(who, 0);
            }
        }
        Ok(())
    }

    /// The notes; if nobody has asked for any so far, empty ones with these scripts.
    pub(super) fn notes_with(&mut self, scripts: Scripts) -> &mut Notes {
        self.notes.get_or_insert_with(|| {
            let (groups, profiles) = (&self.groups, &self.profiles);
            let laid = LaidOut { groups, profiles, flows: &self.flows };
            Box::new(Notes::new(&self.scenario, scripts, laid))
        })
    }

    /// Advances from one reading of windows to the next.
    pub(super) fn advance_reading(
        &mut self,
        until: u64,
        cancel: &AtomicBool,
    ) -> Result<(), Interrupted> {
        let until = until.min(self.scenario.duration_ns);
        loop {
            let windows = self.notes.as_ref().and_then(|notes| notes.windows.as_ref());
            let (time, offset) = windows.map_or((u64::MAX, 0), WindowTrace::next_reading);
            if time > until {
                return self.advance_events(until, cancel);
            }
            self.advance_events(time, cancel)?;
            if self.paused {
                return Ok(());
            }
            self.read_windows(time - offset, offset);
            // Between two readings there may be too few events for a look.
            if cancel.load(Ordering::Relaxed) {
                return Err(Interrupted::Cancelled);
            }
            if self.is_full() {
                self.paused = true;
                return Ok(());
            }
        }
    }

    /// Reads the windows of those whose clocks are `offset` behind, at `time` by their clocks.
    fn read_windows(&mut self, time: u64, offset: u64) {
        let unheard = self.unheard_before(self.now + 1);
        for place in 0..self.flows.len() {
            let group = &self.groups[self.flows[place].group as usize];
            if group.route.first_access == offset && self.flows[place].active() {
                self.read_window(place as u32, time, &unheard);
            }
        }
        if let Some(windows) = self.notes.as_mut().and_then(|notes| notes.windows.as_mut()) {
            windows.advance_clock(offset);
        }
    }

    /// A flow has sent what it may: a row, where changes are followed.
    pub(super) fn note_window(&mut self, place: u32) {
        let windows = self.notes.as_ref().and_then(|notes| notes.windows.as_ref());
        if windows.is_some_and(WindowTrace::follows_changes) {
            let group = &self.groups[self.flows[place as usize].group as usize];
            // Where changes are followed, no receiver is heard of late.
            self.read_window(place, self.now - group.route.first_access, &Unheard::default());
        }
    }

    fn read_window(&mut self, place: u32, time: u64, unheard: &Unheard) {
        let Some(notes) = &mut self.notes else { return };
        let Some(windows) = &mut notes.windows else { return };
        let Some(connection) = notes.connections.in_place(place) else { return };
        if !windows.has(connection) {
            return;
        }
        let flow = &self.flows[place as usize];
        let group = &self.groups[flow.group as usize];
        let sender = match &flow.source {
            Source::Window(ends) => Some(&ends.sender),
            _ => None,
        };
        let tally = flow.tally(group.packet_size, unheard.of(place));
        let header = u64::from(self.scenario.flows[group.number as usize].header_size_bytes);
        let headers = header * tally.delivered_segments;
        let sight = Sight {
            sender,
            packet_size: group.packet_size,
            // Packets of drawn sizes may be smaller than their headers.
            delivered: tally.delivered_bytes as i64 - headers as i64,
            began: flow.began.unwrap_or(0).saturating_sub(group.route.first_access),
        };
        windows.read(connection, time, &sight);
    }

    /// Return true if the last advance ended early, because records or rows should be taken. Then the same
    /// advance goes on where it was.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Return true if somebody should take records or rows.
    pub(super) fn is_full(&self) -> bool {
        self.notes.as_ref().is_some_and(|notes| {
            notes.packets.as_ref().is_some_and(PacketTrace::is_full)
                || notes.windows.as_ref().is_some_and(WindowTrace::is_full)
        })
    }

    /// The time before which nothing more will be written down.
    fn settled(&self, lag: u64) -> u64 {
        if self.now >= self.scenario.duration_ns && !self.paused {
            return u64::MAX;
        }
        self.now.saturating_sub(lag)
    }

    /// Packet events since the last call, in order.
    pub fn take_packets(&mut self) -> Vec<PacketRecord> {
        let lag = self.notes.as_ref().map_or(0, |notes| notes.lag);
        let (now, settled) = (self.now, self.settled(lag));
        let Some(notes) = &mut self.notes else { return Vec::new() };
        notes.settle(now);
        notes.packets.as_mut().map(|packets| packets.take(settled)).unwrap_or_default()
    }

    /// Windows since the last call, in order.
    pub fn take_windows(&mut self) -> Vec<WindowRow> {
        let lag = self.notes.as_ref().map_or(0, |notes| notes.lag);
        let settled = self.settled(lag);
        let windows = self.notes.as_mut().and_then(|notes| notes.windows.as_mut());
        windows.map(|windows| windows.take(settled)).unwrap_or_default()
    }

    /// The distributions so far.
    pub fn raw_distributions(&mut self) -> Option<&RawDistributions> {
        let now = self.now;
        let notes = self.notes.as_mut()?;
        notes.settle(now);
        notes.distributions.as_ref()
    }

    /// Return true if packets, and if windows, were left out because there may not be more.
    pub fn are_cut(&self) -> (bool, bool) {
        let notes = self.notes.as_ref();
        (
            notes.and_then(|it| it.packets.as_ref()).is_some_and(PacketTrace::is_cut),
            notes.and_then(|it| it.windows.as_ref()).is_some_and(WindowTrace::is_cut),
        )
    }

    /// Meanings of the numbers in records and rows; `None` where nothing is written down.
    pub fn legend(&self) -> Option<Legend<'_>> {
        let scenario = &self.scenario;
        let notes = self.notes.as_ref()?;
        Some(Legend { connections: &notes.connections, causes: &notes.causes, scenario })
    }
}
