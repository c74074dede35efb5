use serde::Deserialize;

use crate::link_window::LinkWindow;
use crate::queue_record::QueueRecord;
use crate::transmitter::Transmitter;

/// Totals since time 0, for the laws of conservation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// Packets offered.
    pub arrivals: u64,
    /// Packets whose transmission began.
    pub forwarded: u64,
    /// Bytes whose transmission began.
    pub forwarded_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets lost on the wire.
    pub losses: u64,
    /// Time integral of the packets waiting, in packet nanoseconds.
    pub backlog: u128,
    /// Sum of the waiting times of packets that left the queue, in nanoseconds.
    pub sojourn: u128,
}

/// How much is written down at a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Books {
    /// Counts, sums over time, and the distributions of queue lengths and waiting times.
    #[default]
    Full,
    /// Counts and sums over time: of the queue and of waiting times there is no more than the sum.
    Counters,
    /// What the run itself needs: results do not have the link.
    None,
}

/// Books of a link, whichever way its packets wait.
#[derive(Clone, Debug, Default)]
pub struct LinkBooks {
    /// Up to when the queue's statistics are complete.
    accounted: u64,
    /// Bytes whose transmission began in this window: whole numbers add up faster than the bits will.
    bytes: u64,
    /// Measurements since the last window was closed; the queue's lengths are still in `queue`.
    pub window: LinkWindow,
    /// How long the queue had which length; only of full books.
    queue: QueueRecord,
    keeps: Books,
    /// Waiting in nanoseconds of the packets dropped from the queue in this window: the ledger has
    /// it, the metrics of sojourn, which are those of forwarded packets, do not.
    pub dropped_waiting: u128,
    /// The discipline's own average, as it is filed, if it keeps one and the books are full.
    average: Option<u32>,
    /// Since when that is to be filed.
    average_since: u64,
    window_begin: u64,
    bits_ahead: f64,
    ledger: Ledger,
    /// Only where somebody has asked for it.
    mark: Option<Box<Mark>>,
}

/// An instant from which on somebody wants to know what is measured.
#[derive(Clone, Debug)]
struct Mark {
    /// The window that was not closed then, as it was.
    before: LinkWindow,
    /// What has been closed since.
    closed: LinkWindow,
}

impl LinkBooks {
    /// Empty books at time 0; `average` is the discipline's own, if it keeps one.
    pub fn new(books: Books, average: Option<f64>) -> Self {
        let is_full = books == Books::Full;
        Self {
            queue: if is_full { QueueRecord::new() } else { QueueRecord::default() },
            keeps: books,
            average: average.filter(|_| is_full).map(LinkWindow::filed_average),
            ..Self::default()
        }
    }

    /// So many packets and bytes have been waiting until `now`.
    #[inline(always)] // twice for every packet: the calls were 4 % of a run
    pub fn hold_queue(&mut self, now: u64, packets: u32, bytes: u64) {
        let time = now - self.accounted;
        if time > 0 {
            self.accounted = now;
            if !self.queue.hold(packets, bytes, time) {
                self.hold_anew(packets, bytes, time);
            }
        }
    }

    /// The same of a length that has no place in the record yet.
    #[cold] // nothing should be kept ready for it
    #[inline(never)]
    fn hold_anew(&mut self, packets: u32, bytes: u64, time: u64) {
        match self.keeps {
            Books::Full => self.queue.hold_anew(packets, bytes, time, &mut self.window),
            Books::Counters => self.window.backlog += u128::from(packets) * u128::from(time),
            Books::None => {}
        }
    }

    /// Packets whose transmission has begun since time 0.
    pub fn forwarded(&self) -> u64 {
        self.ledger.forwarded + self.window.forwarded
    }

    /// Return true if the discipline keeps an average.
    #[inline]
    pub fn has_average(&self) -> bool {
        self.average.is_some()
    }

    /// The average, if the discipline keeps one, has been as it was until `now`, and is `next` from
    /// now on.
    #[inline(always)]
    pub fn hold_average(&mut self, now: u64, next: Option<f64>) {
        if let Some(average) = self.average
            && let Some(next) = next.map(LinkWindow::filed_average)
            && next != average
        {
            self.file_average(now);
            self.average = Some(next);
        }
    }

    /// Files the average up to `now`.
    #[inline(always)] // as above
    fn file_average(&mut self, now: u64) {
        if let Some(average) = self.average {
            self.window.average_queue.add(u64::from(average), now - self.average_since);
            self.average_since = now;
        }
    }

    /// A packet of `size` bytes that has waited for `waited` nanoseconds begins its transmission.
    #[inline]
    pub fn count_forwarded(&mut self, size: u32, waited: u64) {
        self.window.forwarded += 1;
        self.bytes += u64::from(size);
        match self.keeps {
            Books::Full => self.window.sojourn.count(waited),
            Books::Counters => self.window.waited += u128::from(waited),
            Books::None => {}
        }
    }

    /// So many packets that have waited for `waited` nanoseconds altogether are dropped by no decision
    /// over them.
    pub fn count_flushed(&mut self, packets: u64, waited: u128) {
        self.window.drops += packets;
        self.dropped_waiting += waited;
    }

    /// Ends the window at `now`, adds it to each of `into`, and begins the next. The packet in
    /// transmission will have been sent at `end`, and the transmitter has been given so many bytes
    /// after it; the queue has been accounted for.
    pub fn close_window(
        &mut self,
        now: u64,
        transmitter: &Transmitter,
        in_service: (u64, u64),
        into: &mut [&mut LinkWindow],
    ) {
        let bits_ahead = self.complete_window(now, transmitter, in_service);
        self.ledger = self.ledger();
        let mark = self.mark.as_mut().map(|mark| &mut mark.closed);
        for window in into.iter_mut().map(|window| &mut **window).chain(mark) {
            window.merge(&self.window);
        }
        self.window.clear();
        (self.dropped_waiting, self.bytes) = (0, 0);
        self.window_begin = now;
        self.bits_ahead = bits_ahead;
    }

    /// Makes the window say everything up to `now`: bits that lie ahead then. The rest as above.
    fn complete_window(
        &mut self,
        now: u64,
        transmitter: &Transmitter,
        (end, given_after): (u64, u64),
    ) -> f64 {
        self.file_average(now);
        self.queue.file(&mut self.window);
        // Bits were counted when transmissions began: what lies ahead belongs to the next window.
        let bits_ahead = transmitter.bits_ahead(now, end, given_after);
        self.window.bits = self.bytes as f64 * 8.0 + (self.bits_ahead - bits_ahead);
        self.window.capacity = transmitter.capacity(self.window_begin, now);
        bits_ahead
    }

    /// From `now` on [`LinkBooks::since_mark`] counts; the rest as above.
    pub fn mark(&mut self, now: u64, transmitter: &Transmitter, in_service: (u64, u64)) {
        self.complete_window(now, transmitter, in_service);
        self.mark =
            Some(Box::new(Mark { before: self.window.clone(), closed: LinkWindow::default() }));
    }

    /// Measurements since the mark, if there is one; the rest as above.
    pub fn since_mark(
        &mut self,
        now: u64,
        transmitter: &Transmitter,
        in_service: (u64, u64),
    ) -> Option<LinkWindow> {
        self.complete_window(now, transmitter, in_service);
        let mark = self.mark.as_ref()?;
        let mut since = self.window.clone();
        since.merge(&mark.closed);
        since.subtract(&mark.before);
        Some(since)
    }

    /// Totals since time 0, up to where the queue has been accounted for.
    pub fn ledger(&mut self) -> Ledger {
        self.queue.file(&mut self.window);
        let (mut ledger, window) = (self.ledger, &self.window);
        ledger.arrivals += window.arrivals;
        ledger.forwarded += window.forwarded;
        ledger.forwarded_bytes += self.bytes;
        ledger.drops += window.drops;
        ledger.marks += window.marks;
        ledger.losses += window.losses;
        ledger.backlog += window.queue_packets.sum() + window.backlog;
        ledger.sojourn += window.sojourn.sum() + window.waited + self.dropped_waiting;
        ledger
    }
}
