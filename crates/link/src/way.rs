//! One direction of a link: a queue, a transmitter and a wire for real packets.

use vermilion_aqm::Ecn;
use vermilion_netsim::random::{Purpose, Stream};
use vermilion_netsim::results::{LedgerResults, LinkMetrics, Spans, Summary};
use vermilion_netsim::scenario::{HIGHEST_RATE, LONGEST_DELAY, Link};
use vermilion_netsim::turn_link::TurnLink;
use vermilion_netsim::{Distribution, Ledger, LinkWindow, Span};
use vermilion_parameters::{ParameterError, Values};

use crate::air::{Air, Jitter};
use crate::header::{Label, mark};
use crate::packet::Held;
use crate::pool::{Pool, Room};
use crate::report::{Carried, EmulatorReport, WayReport};
use crate::segments::{Offload, Segments};

/// A packet that is to be handed on. It keeps its place until [`Way::delivered`] or [`Way::refused`]
/// is told of it.
#[derive(Debug)]
pub struct Delivery {
    held: Held,
    /// When it is due, in nanoseconds.
    pub due: u64,
}

/// See the module's head. Times are nanoseconds since its beginning; one that is before the last
/// counts as the last.
#[derive(Debug)]
pub struct Way {
    link: TurnLink<Held>,
    pool: Pool,
    air: Air,
    now: u64,
    carried: Carried,
    lateness: Distribution,
    total: LinkWindow,
    /// Since when is measured, and the packets that waited then.
    measured_since: u64,
    queued_then: u64,
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
            now: 0,
            carried: Carried::default(),
            lateness: Distribution::default(),
            total: LinkWindow::default(),
            measured_since: 0,
            queued_then: 0,
        })
    }

    /// What a kernel hands over arrives at `now`: one packet, or several in one.
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
            self.offer(Held { slot, size, label });
        }
    }

    #[inline]
    fn offer(&mut self, held: Held) {
        let pool = &mut self.pool;
        self.link.offer(self.now, held, &mut |gone| pool.give_back(gone.packet.slot));
        self.take_turns();
    }

    /// Brings the link up to date: everything happens that was to happen until `now`, each at its own
    /// time.
    pub fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.take_turns();
    }

    #[inline]
    fn take_turns(&mut self) {
        let pool = &mut self.pool;
        while self.link.next_turn() <= self.now {
            let turn = self.link.next_turn();
            let taken = self.link.take(turn, &mut |gone| pool.give_back(gone.packet.slot));
            match taken {
                Some(taken) if taken.lost => pool.give_back(taken.packet.slot),
                Some(taken) => self.air.push(taken.end + self.link.delay(), taken.packet),
                None => {}
            }
        }
    }

    /// When something is to be done next, if nothing arrives before: [`Way::advance`] is due, or a
    /// packet is to be handed on. `None` while the way is empty.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        let turn = self.link.next_turn();
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
        Some(Delivery { held, due })
    }

    /// The bytes of a packet that is to be handed on.
    #[must_use]
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
    #[must_use]
    pub fn queue(&self) -> (u32, u64) {
        self.link.queue()
    }

    /// Every parameter of the discipline in force.
    #[must_use]
    pub fn values(&self) -> &Values {
        self.link.values()
    }

    /// What a router would tell of this queue at `now`, cumulative since time 0.
    pub fn ledger(&mut self, now: u64) -> Ledger {
        self.advance(now);
        self.link.ledger(self.now)
    }

    /// What happened to packets outside of the queue.
    #[must_use]
    pub fn carried(&self) -> Carried {
        self.carried
    }

    /// Replaces some parameters of the discipline; on error nothing changes.
    ///
    /// # Errors
    /// A value that the discipline refuses.
    pub fn set_parameters(&mut self, now: u64, changed: &Values) -> Result<(), ParameterError> {
        self.advance(now);
        if self.link.set_parameters(self.now, changed)? {
            let pool = &mut self.pool;
            self.link.flush(self.now, &mut |gone| pool.give_back(gone.slot));
        }
        Ok(())
    }

    /// Changes the rate, to be constant from now on.
    ///
    /// # Errors
    /// No rate that a link can have.
    pub fn set_rate(&mut self, now: u64, rate: u64) -> Result<(), ParameterError> {
        if !(1..=HIGHEST_RATE).contains(&rate) {
            let accepted = format!("from 1 to {HIGHEST_RATE} bit/s");
            return Err(ParameterError::new("rate", rate, accepted));
        }
        self.advance(now);
        self.link.close_window(self.now, &mut [&mut self.total]);
        if let Some((before, after)) = self.link.set_rate(self.now, rate) {
            self.air.move_last(before, after);
        }
        Ok(())
    }

    /// Forgets what has been measured: what is reported begins now. Ledger and counts go on.
    pub fn measure_from(&mut self, now: u64) {
        self.advance(now);
        self.link.close_window(self.now, &mut []);
        self.total.clear();
        self.measured_since = self.now;
        self.queued_then = u64::from(self.link.queue().0);
    }

    /// What has been measured until `now`.
    pub fn report(&mut self, now: u64) -> WayReport {
        self.advance(now);
        self.link.close_window(self.now, &mut [&mut self.total]);
        let span = Span { begin: self.measured_since, end: self.now };
        let queued = self.link.queue().0;
        let metrics = LinkMetrics::of(&self.total, span, (self.queued_then, u64::from(queued)));
        let seconds = (span.end - span.begin) as f64 / 1e9;
        let waiting = self.link.waiting_so_far(self.now);
        WayReport {
            ledger: LedgerResults::of(&self.link.ledger(self.now), queued, waiting),
            emulator: EmulatorReport {
                carried: self.carried,
                throughput_bit_per_s: (seconds > 0.0).then(|| self.total.bits / seconds),
                on_the_wire: self.air.len() as u64,
                timing_error_us: Summary::of(&self.lateness, 1e-3),
            },
            spans: Spans { total: metrics.clone(), phases: vec![metrics] },
        }
    }
}
