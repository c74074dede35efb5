use super::departures::Departures;
use super::flight::Flight;
use super::pacing::per_round_trip;
use crate::numbers::{lesser, real};

/// Segments of 1448 bytes in 64 kB (`sk_gso_max_size`).
const MOST: u32 = 45;
/// `tcp_min_tso_segs`.
const LEAST: u32 = 2;
/// In which a burst is carried: 1/1024 s (`sk_pacing_shift` of 10).
const NANOSECONDS: f64 = 1e9 / 1024.0;
/// For each of these in the shortest round trip, in nanoseconds, half as much is added to a burst (`tcp_tso_rtt_log` of 9).
const NEAR: u64 = 512_000;
/// After so many halvings nothing of 64 kB is left.
const FAR: u64 = 16;
/// Rules 2 and 4, in nanoseconds.
const MILLISECOND: u64 = 1_000_000;
/// Rule 3 (`tcp_tso_win_divisor`).
const PARTS_OF_WINDOW: u32 = 3;

/// Segmentation offload: a host hands its interface several segments at once, and waits to make them enough.
///
/// Source: Linux 6.12.117 (`tcp_tso_autosize`, `tcp_write_xmit`, `tcp_tso_should_defer`; the rule about the next
/// acknowledgement came to stable kernels in October 2025). A burst is what the connection sends in 1/1024 s at the
/// rate at which it would be paced (`pacing.rs`), more to a near receiver, at least two segments and at most 64 kB.
/// Its segments leave at once. If the window has room for less than that, the sender waits for more room, unless one
/// of these holds:
///
/// 1. Losses or a timeout are being repaired.
/// 2. Nothing has left for a millisecond.
/// 3. There is room for a third of the window, or for all that there is to send.
/// 4. The next acknowledgement is more than a millisecond away, or half a round trip. It is expected a smoothed round
///    trip after the first outstanding segment left.
///
/// So a window of six segments and more is one segment short now and then. Twenty such senders lose their packets at
/// different times, where they would otherwise all do so at once (docs/laboratory/validation-kernel.md).
///
/// Where segments are paced, what leaves at once is one burst, and the next one waits for as long as the rate has it
/// (`departures.rs`). Rule 2 counts from then. What is sent again leaves alone.
///
/// Departures: sizes are those of segments of 1448 bytes, and the shortest round trip is that of the whole connection,
/// not of five minutes. What an application wrote at once has no end (Linux sends what is left of 64 kB written
/// without waiting).
#[derive(Clone, Debug, Default)]
pub(crate) struct Segmentation {
    /// First segment of the burst under way.
    begin: u32,
    /// First segment that it is not known to have.
    end: u32,
    /// When it began, in nanoseconds.
    began: u64,
    /// When a segment last left, or when the next one may.
    departures: Departures,
}

impl Segmentation {
    /// A segment leaves at `now`.
    pub(crate) fn note_sent(&mut self, now: u64) {
        self.departures.note(now);
    }

    /// Return true if the next segment waits until more may leave with it, of a sender that repairs nothing and whose window
    /// has room for it beside so many in the network. If it does not, it belongs to the burst under way, or begins one.
    /// `shortest`: the shortest round trip, in nanoseconds; `first_sent`: when the first outstanding segment left.
    pub(crate) fn defers(
        &mut self,
        now: u64,
        flight: &Flight,
        in_network: u32,
        shortest: u64,
        first_sent: impl FnOnce() -> Option<u64>,
    ) -> bool {
        let next = flight.next;
        if next < self.end {
            return false;
        }
        let window = window_of(flight);
        let room = window.saturating_sub(in_network);
        let half = half_of(window);
        if now > self.departures.next() + MILLISECOND {
            // Rule 2. Two segments are a burst in any case: how many it has is worked out when a third may leave.
            self.start(now, next, room.min(half).min(LEAST));
            return false;
        }
        let burst = burst(flight, shortest);
        let end = self.begin + burst.min(half);
        if now == self.began && next < end {
            self.end = end.min(next + room);
            return false;
        }
        let enough = room >= burst
            || PARTS_OF_WINDOW * room >= window
            || room >= flight.available.saturating_sub(next);
        if enough || !next_acknowledgement_is_near(flight, first_sent(), now) {
            self.start(now, next, room.min(half).min(burst));
            return false;
        }
        true
    }

    /// A segment has left at `now`, and the rate has the next one `wait` nanoseconds later: after how long it may leave.
    pub(crate) fn space(&mut self, now: u64, wait: u64) -> u64 {
        self.departures.space(now, wait)
    }

    /// How many of the burst that segment `sequence`, which has left at `now`, belongs to may leave at once after it, if the
    /// window lets them; `shortest`: the shortest round trip, in nanoseconds.
    pub(crate) fn further(&self, flight: &Flight, now: u64, sequence: u32, shortest: u64) -> u32 {
        if now != self.began {
            return 0;
        }
        let end = self.begin + burst(flight, shortest).min(half_of(window_of(flight)));
        end.saturating_sub(sequence + 1)
    }

    /// A burst of so many segments begins with the next one.
    fn start(&mut self, now: u64, next: u32, segments: u32) {
        (self.begin, self.end, self.began) = (next, next + segments, now);
    }
}

/// Segments that may be in the network.
fn window_of(flight: &Flight) -> u32 {
    lesser(flight.window.congestion, flight.window.cap) as u32
}

/// The most of a window that leaves at once: for better scheduling Linux has two bursts in the network (`tcp_cwnd_test`).
fn half_of(window: u32) -> u32 {
    (window / 2).max(1)
}

/// Segments of a burst. Most senders are far and slow, and need no division.
fn burst(flight: &Flight, shortest: u64) -> u32 {
    let Some(round_trip) = flight.timer.estimator.smoothed() else { return MOST };
    let round_trip = real(round_trip);
    let halvings = shortest / NEAR;
    let near = if halvings < FAR { f64::from(MOST) / real(1 << halvings) } else { 0.0 };
    let carried = per_round_trip(flight) * NANOSECONDS;
    if carried + near * round_trip < f64::from(LEAST + 1) * round_trip {
        return LEAST;
    }
    ((carried / round_trip + near) as u32).min(MOST)
}

/// Rule 4, of a sender whose first outstanding segment left at `first_sent`.
fn next_acknowledgement_is_near(flight: &Flight, first_sent: Option<u64>, now: u64) -> bool {
    let smoothed = flight.timer.estimator.smoothed();
    let (Some(sent), Some(round_trip)) = (first_sent, smoothed) else { return false };
    sent + round_trip <= now + MILLISECOND.min(round_trip / 2)
}
