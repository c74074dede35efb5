use std::collections::BTreeSet;

use vermilion_parameters::ParameterError;
use vermilion_tcp::{Sender, SenderState};

use super::kept::{Kept, Ordered};
use super::observation::{Chosen, WindowChoice};
use crate::calendar::NEVER;
use crate::scenario::Scenario;

/// A flow at one moment. What it does not have is NaN.
#[derive(Clone, Copy, Debug)]
pub struct WindowRow {
    /// When by the sender's clock, in nanoseconds.
    pub time: u64,
    /// Number of its connection among [`Connections`](super::Connections).
    pub connection: u32,
    /// Congestion window in packets.
    pub window: f64,
    /// Slow start threshold in packets; NaN before there is one.
    pub threshold: f64,
    /// Smoothed round trip in milliseconds.
    pub smoothed_round_trip: f64,
    /// Packets in the network, as the sender counts them.
    pub in_flight: f64,
    /// At which it spaces packets, in bits per second.
    pub pacing_rate: f64,
    /// Delivered in order since the row before, in bits per second.
    pub goodput: f64,
    /// Number of its [`SenderState`]; 255 without a sender.
    pub state: u8,
    /// Segments sent again so far.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer so far.
    pub timeouts: u64,
}

/// Knowledge of a flow when it is looked at.
pub(crate) struct Sight<'a> {
    pub sender: Option<&'a Sender>,
    /// Size of a data packet on the wire, in bytes.
    pub packet_size: u32,
    /// Data delivered in order so far, without headers, in bytes.
    pub delivered: i64,
    /// When it began, by its sender's clock, in nanoseconds.
    pub began: u64,
}

/// Record kept of a connection between two rows.
#[derive(Clone, Copy, Debug)]
struct Track {
    /// True if it was chosen.
    chosen: bool,
    time: u64,
    delivered: i64,
    window: f64,
    threshold: f64,
    state: Option<SenderState>,
}

impl Track {
    const LEFT_OUT: Self = Self {
        chosen: false,
        time: 0,
        delivered: 0,
        window: f64::NAN,
        threshold: f64::NAN,
        state: None,
    };
}

/// Windows over time: what senders are about, read at an interval or whenever it changes.
#[derive(Clone, Debug)]
pub struct WindowTrace {
    flows: Chosen,
    interval: Option<u64>,
    tracks: Vec<Track>,
    kept: Kept<WindowRow>,
    /// For each distance of a sender's clock from that of its first queue: the next moment to be read, by
    /// the sender's clock.
    clocks: Vec<(u64, u64)>,
}

impl WindowTrace {
    /// One of `scenario` in which nothing was read. `offsets` are the distances of the senders' clocks.
    ///
    /// # Errors
    /// A group or a flow that there is not.
    pub(crate) fn new(
        scenario: &Scenario,
        choice: &WindowChoice,
        offsets: &BTreeSet<u64>,
    ) -> Result<Self, ParameterError> {
        Ok(Self {
            flows: Chosen::of(scenario, &choice.flows)?,
            interval: choice.interval_ns,
            tracks: Vec::new(),
            kept: Kept::new(choice.most),
            clocks: choice
                .interval_ns
                .map_or_else(Vec::new, |_| offsets.iter().map(|&offset| (offset, 0)).collect()),
        })
    }

    /// A connection begins, at `now` by its sender's clock.
    pub(crate) fn begin(&mut self, (connection, group, number): (u32, u32, u32), now: u64) {
        let index = connection as usize;
        if index >= self.tracks.len() {
            self.tracks.resize(index + 1, Track::LEFT_OUT);
        }
        let chosen = self.flows.has(group, number);
        self.tracks[index] = Track { chosen, time: now, ..Track::LEFT_OUT };
    }

    /// The clocks of the next reading by the clock of the queues, and when it is: [`NEVER`] without one.
    pub(crate) fn next_reading(&self) -> (u64, u64) {
        let readings = self.clocks.iter().map(|&(offset, time)| (time + offset, offset));
        readings.min().map_or((NEVER, 0), |(time, offset)| (time, offset))
    }

    /// The readings of senders whose clocks are `offset` behind have been made.
    pub(crate) fn advance_clock(&mut self, offset: u64) {
        let interval = self.interval.unwrap_or(NEVER);
        for clock in self.clocks.iter_mut().filter(|clock| clock.0 == offset) {
            clock.1 += interval;
        }
    }

    /// Return true if a connection is read.
    pub(crate) fn has(&self, connection: u32) -> bool {
        self.tracks.get(connection as usize).is_some_and(|track| track.chosen)
    }

    /// Return true if rows are written at changes.
    pub(crate) fn follows_changes(&self) -> bool {
        self.interval.is_none()
    }

    /// A row of a connection at `time`; only if something has changed, where it is changes that are followed.
    pub(crate) fn read(&mut self, connection: u32, time: u64, sight: &Sight<'_>) {
        let follows_changes = self.follows_changes();
        let track = &mut self.tracks[connection as usize];
        let window = sight.sender.map_or(f64::NAN, Sender::window);
        let threshold = sight.sender.map_or(f64::NAN, Sender::threshold);
        let state = sight.sender.map(Sender::state);
        let same = |one: f64, other: f64| one.to_bits() == other.to_bits();
        let unchanged =
            same(window, track.window) && same(threshold, track.threshold) && state == track.state;
        if !track.chosen || (follows_changes && unchanged) {
            return;
        }
        let elapsed = time.saturating_sub(track.time.max(sight.began));
        let delivered = (sight.delivered - track.delivered).max(0);
        let bits = f64::from(sight.packet_size) * 8.0;
        let counters = sight.sender.map(Sender::counters).unwrap_or_default();
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let row = || WindowRow {
            time,
            connection,
            window,
            // What no window ever reaches is no threshold.
            threshold: if threshold < f64::from(u32::MAX) { threshold } else { f64::NAN },
            smoothed_round_trip: number(
                sight
                    .sender
                    .and_then(|sender| sender.smoothed_round_trip().map(|time| time as f64 / 1e6)),
            ),
            in_flight: sight.sender.map_or(f64::NAN, |sender| f64::from(sender.in_flight())),
            pacing_rate: number(sight.sender.and_then(Sender::pacing_rate)) * bits,
            goodput: if elapsed > 0 { delivered as f64 * 8e9 / elapsed as f64 } else { f64::NAN },
            state: state.map_or(u8::MAX, |state| state as u8),
            retransmissions: counters.retransmissions,
            timeouts: counters.timeouts,
        };
        if !self.kept.keep(row) {
            return;
        }
        (track.window, track.threshold, track.state) = (window, threshold, state);
        if elapsed > 0 {
            (track.time, track.delivered) = (time, sight.delivered);
        }
    }

    /// Return true if somebody should take what there is.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.is_full()
    }

    /// Return true if rows were left out because there may not be more.
    pub fn is_cut(&self) -> bool {
        self.kept.is_cut()
    }

    /// The rows since the last call that are before `end`, by time; of one time, by connection.
    pub(crate) fn take(&mut self, end: u64) -> Vec<WindowRow> {
        self.kept.take(end)
    }
}

impl Ordered for WindowRow {
    fn order(&self) -> (u64, u64) {
        (self.time, u64::from(self.connection))
    }
}
