use vermilion_aqm::{Dropped, Ecn};
use vermilion_netsim::random::{Purpose, Stream};
use vermilion_netsim::results::{LedgerResults, Summary};
use vermilion_netsim::scenario::{HIGHEST_RATE, LONGEST_DELAY, Link};
use vermilion_netsim::turn_link::TurnLink;
use vermilion_netsim::{Distribution, Ledger, Series, Span, State};
use vermilion_parameters::{ParameterError, Values};

use crate::air::{Air, Jitter};
use crate::header::{Label, mark};
use crate::lanes::Distances;
use crate::measured::Measured;
use crate::packet::Held;
use crate::pool::{Pool, Room};
use crate::report::{Carried, EmulatorReport, WayReport};
use crate::segments::{Offload, Segments};
use crate::sightings::{Remark, Sight, Sightings};
use crate::timetable::{Change, Event, Timetable};

/// Readings that are kept until they are taken; of more, the oldest are given up.
const MOST_READINGS: usize = 1 << 16;

/// A packet that is to be handed on. It keeps its place until [`Way::delivered`] or [`Way::refused`]
/// is told of it.
#[derive(Debug)]
pub struct Delivery {
    held: Held,
    /// When it is due, in nanoseconds.
    pub due: u64,
}

impl Delivery {
    /// Return true if its transport checksum was completed here, and so is right.
    pub fn is_whole(&self) -> bool {
        self.held.is_whole
    }
}

/// One direction of a link: a queue, a transmitter and a wire for real packets.
///
/// Times are nanoseconds since its beginning; one that is before the last
/// counts as the last.
#[derive(Debug)]
pub struct Way {
    link: TurnLink<Held>,
    pool: Pool,
    air: Air,
    /// True if the packet in transmission, or the last one, is in the air: the wire may lose it.
    is_last_in_air: bool,
    now: u64,
    carried: Carried,
    lateness: Distribution,
    measured: Measured,
    timetable: Timetable,
    /// Time between readings, and those that nobody has taken.
    readings: Option<(u64, Series)>,
    sightings: Option<Sightings>,
}

impl Way {
    /// An idle way at time 0: link number `index` of a network with this seed.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn new(
        link: &Link,
        jitter: Jitter,
        seed: u64,
        index: u64,
        room: Room,
    ) -> Result<Self, ParameterError> {
        if jitter.most_ns > LONGEST_DELAY {
            let accepted = format!("from 0 to {LONGEST_DELAY} ns");
            return Err(ParameterError::new("jitter", jitter.most_ns, accepted));
        }
        let stream = |purpose| Stream::new(seed, purpose, index);
        Ok(Self {
            link: TurnLink::of(link, stream(Purpose::QueueCoin), stream(Purpose::WireLoss))?,
            pool: Pool::new(room)?,
            air: Air::new(jitter, stream(Purpose::Jitter), room.packets as usize),
            is_last_in_air: false,
            now: 0,
            carried: Carried::default(),
            lateness: Distribution::default(),
            measured: Measured::from(0, 0),
            timetable: Timetable::default(),
            readings: None,
            sightings: None,
        })
    }

    /// From now on, addresses are farther away than the end of the wire. Packets that are on it already
    /// arrive when they would have.
    ///
    /// # Errors
    /// One of them is too far away.
    pub fn set_distances(&mut self, distances: Distances) -> Result<(), ParameterError> {
        if distances.longest() > LONGEST_DELAY {
            let accepted = format!("from 0 to {LONGEST_DELAY} ns");
            return Err(ParameterError::new("distances", distances.longest(), accepted));
        }
        self.air.set_distances(&distances);
        Ok(())
    }

    /// Changes the link when a time has come.
    ///
    /// # Errors
    /// A rate or a delay that no link can have. What the discipline says of its parameters is known
    /// only then; what it refuses is counted.
    pub fn change_at(&mut self, at: u64, change: Change) -> Result<(), ParameterError> {
        if let Some(rate) = change.rate {
            check_rate(rate)?;
        }
        if let Some(delay) = change.delay.filter(|&delay| delay > LONGEST_DELAY) {
            let accepted = format!("from 0 to {LONGEST_DELAY} ns");
            return Err(ParameterError::new("delay", delay, accepted));
        }
        self.timetable.change(at, change);
        Ok(())
    }

    /// Measures over a whole and its phases, in place of everything.
    pub fn measure(&mut self, total: Span, phases: &[Span]) {
        self.measured = Measured::new(total, phases);
        self.timetable.set_boundaries(self.measured.boundaries());
    }

    /// Reads the queue every so many nanoseconds from now on.
    pub fn read_every(&mut self, interval: u64) {
        let series = Series::since(self.link.ledger(self.now));
        self.readings = Some((interval.max(1), series));
        self.timetable.read_from(self.now, interval);
    }

    /// The readings since they were last taken.
    pub fn take_readings(&mut self) -> Series {
        self.readings.as_mut().map(|(_, series)| series.take()).unwrap_or_default()
    }

    /// Notes which packets pass, from now on.
    pub fn watch(&mut self, sightings: Option<Sightings>) {
        self.sightings = sightings;
    }

    /// The packets that were seen.
    pub fn sightings(&mut self) -> Option<&mut Sightings> {
        self.sightings.as_mut()
    }

    /// Take what a kernel hands over at `now`: one packet, or several in one.
    pub fn arrive(&mut self, now: u64, offload: &Offload, packet: &[u8]) {
        self.advance(now);
        let Ok(segments) = Segments::of(offload, packet) else {
            self.carried.unusable += 1;
            return;
        };
        // All segments have the first one's addresses, ports and ECN field.
        let label = Label::of(packet);
        for number in 0..segments.count() {
            let size = segments.size(number);
            if size > self.pool.largest() || size == 0 {
                self.carried.too_long += 1;
                continue;
            }
            let Some(slot) = self.pool.take() else {
                self.carried.no_room += 1;
                continue;
            };
            let size = size as u32;
            segments.write(number, self.pool.bytes_mut(slot, size));
            self.offer(Held { slot, size, label, is_whole: offload.needs_checksum });
        }
    }

    fn offer(&mut self, held: Held) {
        let (now, pool, sightings) = (self.now, &mut self.pool, &mut self.sightings);
        // The arrival is noted before what becomes of it, which the queue tells at once.
        if let Some(sightings) = sightings {
            let bytes = pool.bytes(held.slot, held.size);
            sightings.note(now, Sight::Arrives, Remark::None, bytes);
        }
        self.link.offer(now, held, &mut |gone| drop_packet(pool, sightings, now, gone));
        self.take_turns(now);
    }

    /// Brings the link up to date: everything happens that was to happen until `now`, each at its own
    /// time.
    pub fn advance(&mut self, now: u64) {
        let now = self.now.max(now);
        while self.timetable.next() <= now {
            let at = self.timetable.next().max(self.now);
            // As in the simulator, what is known beforehand comes first at its instant.
            self.take_turns(at.saturating_sub(1));
            self.now = at;
            match self.timetable.pop() {
                Some(Event::Change(change)) => self.change(change),
                Some(Event::Boundary) => {
                    self.close_windows();
                    self.measured.note_queue(at, u64::from(self.link.queue().0));
                }
                Some(Event::Reading) => self.read(),
                None => break,
            }
        }
        self.now = now;
        self.take_turns(now);
    }

    fn take_turns(&mut self, until: u64) {
        let (pool, sightings) = (&mut self.pool, &mut self.sightings);
        while self.link.next_turn() <= until {
            let turn = self.link.next_turn();
            let taken = self.link.take(turn, &mut |gone| drop_packet(pool, sightings, turn, gone));
            let Some(taken) = taken else { continue };
            let held = taken.packet;
            if let Some(sightings) = sightings {
                let remark = match (taken.lost, taken.marked) {
                    (true, _) => Remark::Lost,
                    (false, true) => Remark::Marked,
                    (false, false) => Remark::None,
                };
                sightings.note(turn, Sight::Departs, remark, pool.bytes(held.slot, held.size));
            }
            self.is_last_in_air = !taken.lost;
            if taken.lost {
                pool.give_back(held.slot);
                continue;
            }
            let bytes = pool.bytes(held.slot, held.size);
            self.air.push(taken.end + self.link.delay(), held, bytes);
        }
    }

    fn close_windows(&mut self) {
        self.link.close_window(self.now, &mut self.measured.covering(self.now));
    }

    fn read(&mut self) {
        let Some((interval, series)) = &mut self.readings else { return };
        if series.len() >= MOST_READINGS {
            series.take();
        }
        let state = State {
            ledger: self.link.ledger(self.now),
            average_queue: self.link.average_queue(),
            drop_probability: self.link.drop_probability(),
            queue: self.link.queue(),
            rate: self.link.capacity(self.now.saturating_sub(*interval), self.now) * 1e9
                / *interval as f64,
        };
        series.note(self.now, *interval, state);
    }

    /// Changes the link now, when it is up to date.
    fn change(&mut self, change: Change) {
        if let Some(rate) = change.rate {
            self.close_windows();
            if let Some((before, after)) = self.link.set_rate(self.now, rate)
                && self.is_last_in_air
            {
                self.air.move_last(before, after);
            }
        }
        if let Some(delay) = change.delay {
            self.link.set_delay(delay);
        }
        if let Some(model) = change.loss {
            self.link.set_loss(model);
        }
        if let Some(values) = &change.queue
            && self.take_parameters(values).is_err()
        {
            self.carried.changes_refused += 1;
        }
    }

    fn take_parameters(&mut self, changed: &Values) -> Result<(), ParameterError> {
        if self.link.set_parameters(self.now, changed)? {
            let (now, pool, sightings) = (self.now, &mut self.pool, &mut self.sightings);
            self.link.flush(now, &mut |held| note_drop(pool, sightings, now, held, Remark::Flush));
        }
        Ok(())
    }

    /// When something is to be done next, if nothing arrives before: [`Way::advance`] is due, or a
    /// packet is to be handed on, or the link changes. `None` while the way is empty and stays as it is.
    pub fn next_due(&self) -> Option<u64> {
        let turn = self.link.next_turn();
        let turn = turn.min(self.timetable.next_change().unwrap_or(u64::MAX));
        let turn = (turn < u64::MAX).then_some(turn);
        match (turn, self.air.next_due()) {
            (Some(turn), Some(arrival)) => Some(turn.min(arrival)),
            (turn, arrival) => turn.or(arrival),
        }
    }

    /// The next packet that is to be handed on by `now`; [`Way::advance`] has been told of that time.
    pub fn next_delivery(&mut self, now: u64) -> Option<Delivery> {
        if self.air.next_due()? > now {
            return None;
        }
        let (due, held) = self.air.pop()?;
        if held.label.ecn == Ecn::CongestionExperienced {
            // Whoever bore the mark already keeps it: the same bits are set again.
            mark(self.pool.bytes_mut(held.slot, held.size));
        }
        if let Some(sightings) = &mut self.sightings {
            let bytes = self.pool.bytes(held.slot, held.size);
            sightings.note(due, Sight::HandedOn, Remark::None, bytes);
        }
        Some(Delivery { held, due })
    }

    /// The bytes of a packet that is to be handed on.
    pub fn bytes(&self, delivery: &Delivery) -> &[u8] {
        self.pool.bytes(delivery.held.slot, delivery.held.size)
    }

    /// A packet was handed on at `now`.
    pub fn delivered(&mut self, delivery: Delivery, now: u64) {
        self.pool.give_back(delivery.held.slot);
        self.carried.delivered += 1;
        self.carried.delivered_bytes += u64::from(delivery.held.size);
        self.lateness.count(now.saturating_sub(delivery.due));
    }

    /// Nobody took a packet that was to be handed on.
    pub fn refused(&mut self, delivery: Delivery) {
        self.pool.give_back(delivery.held.slot);
        self.carried.refused += 1;
    }

    /// Packets and bytes that wait.
    pub fn queue(&self) -> (u32, u64) {
        self.link.queue()
    }

    /// Every parameter of the discipline in force.
    pub fn values(&self) -> &Values {
        self.link.values()
    }

    /// Counters that a router would export of this queue at `now`, cumulative since time 0.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.advance(now);
        self.link.ledger(self.now)
    }

    /// Packet events outside of the queue.
    pub fn carried(&self) -> Carried {
        self.carried
    }

    /// Replaces some parameters of the discipline; on error nothing changes.
    ///
    /// # Errors
    /// A value that the discipline refuses.
    pub fn set_parameters(&mut self, now: u64, changed: &Values) -> Result<(), ParameterError> {
        self.advance(now);
        self.take_parameters(changed)
    }

    /// Changes the rate, to be constant from now on.
    ///
    /// # Errors
    /// No rate that a link can have.
    pub fn set_rate(&mut self, now: u64, rate: u64) -> Result<(), ParameterError> {
        check_rate(rate)?;
        self.advance(now);
        self.change(Change { rate: Some(rate), ..Change::default() });
        Ok(())
    }

    /// Forgets what has been measured: what is reported begins now. Ledger and counts go on.
    pub fn measure_from(&mut self, now: u64) {
        self.advance(now);
        self.close_windows();
        self.measured = Measured::from(self.now, u64::from(self.link.queue().0));
        self.timetable.set_boundaries(Vec::new());
    }

    /// Measurements until `now`.
    pub fn report(&mut self, now: u64) -> WayReport {
        self.advance(now);
        self.close_windows();
        let queued = self.link.queue().0;
        let waiting = self.link.waiting_so_far(self.now);
        WayReport {
            ledger: LedgerResults::of(&self.link.ledger(self.now), queued, waiting),
            emulator: EmulatorReport {
                carried: self.carried,
                throughput_bit_per_s: self.measured.throughput(self.now),
                on_the_wire: self.air.len() as u64,
                timing_error_us: Summary::of(&self.lateness, 1e-3),
                not_seen: self.sightings.as_ref().map(Sightings::left_out),
            },
            spans: self.measured.spans(self.now, u64::from(queued)),
        }
    }
}

fn check_rate(rate: u64) -> Result<(), ParameterError> {
    if (1..=HIGHEST_RATE).contains(&rate) {
        return Ok(());
    }
    let accepted = format!("from 1 to {HIGHEST_RATE} bit/s");
    Err(ParameterError::new("rate", rate, accepted))
}

fn drop_packet(pool: &mut Pool, sightings: &mut Option<Sightings>, now: u64, gone: Dropped<Held>) {
    note_drop(pool, sightings, now, gone.packet, gone.reason.into());
}

/// The queue has dropped a packet, for the reason that the remark tells.
fn note_drop(
    pool: &mut Pool,
    sightings: &mut Option<Sightings>,
    now: u64,
    held: Held,
    remark: Remark,
) {
    if let Some(sightings) = sightings {
        let bytes = pool.bytes(held.slot, held.size);
        sightings.note(now, Sight::Dropped, remark, bytes);
    }
    pool.give_back(held.slot);
}
