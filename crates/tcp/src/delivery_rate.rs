//! Delivery rate: how fast the network delivered what an acknowledgement reports.
//!
//! Source: draft-ietf-ccwg-bbr, section "Delivery Rate Samples" (formerly
//! draft-cheng-iccrg-delivery-rate-estimation). Each segment carries what had been delivered when it
//! was sent; the rate over the flight is what was delivered meanwhile over the longer of the time it
//! took to send it and the time it took to acknowledge it, so that neither bursts of data nor of
//! acknowledgements make it look faster than it was. A segment sent while the sender had run out of
//! data says so: its rate is the application's, not the network's.
//!
//! The draft calls its congestion control for every lost segment. Here losses are gathered until
//! the next acknowledgement, which is asked about the one that matters ([`LossSample`]).

use crate::numbers::real;
use crate::sent::Sent;

/// News that one acknowledgement tells about the rate of delivery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments delivered per second; `None` if the interval is too short to tell.
    pub rate: Option<f64>,
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// Segments delivered when the most recently sent of the segments reported was sent.
    pub prior_delivered: u64,
    /// Segments declared lost since that segment was sent.
    pub lost: u64,
    /// Segments declared lost since the connection began.
    pub all_lost: u64,
    /// How long ago the most recently sent of the segments reported was sent, in nanoseconds.
    pub age: u64,
    /// Segments in the network when it was sent, itself included.
    pub sent_in_network: u32,
    /// True if the sender had nothing more to send then.
    pub application_limited: bool,
    /// The segment by which losses became too many since the sample before, or else the last of
    /// those declared lost; `None` if there was none.
    pub loss: Option<LossSample>,
}

/// Share of a flight that may be lost before losses are too many (BBR.LossThresh).
pub const TOLERATED_LOSS: f64 = 0.02;

/// News that a lost segment tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSample {
    /// Segments in the network when it was sent, itself included.
    pub sent_in_network: u32,
    /// Segments declared lost since it was sent, itself included.
    pub lost: u64,
    /// True if the sender had nothing more to send then.
    pub application_limited: bool,
}

impl LossSample {
    /// Return true if more than [`TOLERATED_LOSS`] of the flight was lost.
    pub fn is_too_much(&self) -> bool {
        self.lost as f64 > f64::from(self.sent_in_network) * TOLERATED_LOSS
    }
}

/// Keeps a connection's count of deliveries. What a segment that leaves is told stands in one line of the cache.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: u64,
    /// When the first segment of the flight being sampled was sent.
    first_sent: u64,
    lost: u64,
    /// Deliveries up to which the sender was limited by its data, 0 if it was not.
    limited_until: u64,
    /// News that the next sample tells about losses.
    loss: Option<LossSample>,
    /// The most recently sent segment of those an acknowledgement reports.
    newest: Option<Sent>,
}

impl DeliveryRate {
    /// A segment is sent at `now` while `in_network` others are in the network.
    pub fn stamp(&mut self, now: u64, in_network: u32) -> Sent {
        if in_network == 0 {
            self.first_sent = now;
            self.delivered_time = now;
        }
        Sent {
            time: now,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            delivered: self.delivered as u32,
            lost: self.lost as u32,
            in_network: in_network + 1,
            application_limited: self.limited_until > 0,
        }
    }

    /// The sender has nothing more to send although it might.
    pub fn note_limited(&mut self, in_network: u32) {
        self.limited_until = (self.delivered + u64::from(in_network)).max(1);
    }

    /// A segment was declared lost.
    pub fn note_lost(&mut self, sent: &Sent) {
        self.lost += 1;
        if !self.loss.is_some_and(|loss| loss.is_too_much()) {
            self.loss = Some(LossSample {
                sent_in_network: sent.in_network,
                lost: self.lost_since(sent),
                application_limited: sent.application_limited,
            });
        }
    }

    /// Segments declared lost since that sending.
    fn lost_since(&self, sent: &Sent) -> u64 {
        u64::from((self.lost as u32).wrapping_sub(sent.lost))
    }

    /// A segment is reported as arrived.
    pub fn note_delivered(&mut self, now: u64, sent: &Sent) {
        self.delivered += 1;
        self.delivered_time = now;
        let newer = self
            .newest
            .is_none_or(|newest| (sent.delivered, sent.time) >= (newest.delivered, newest.time));
        if newer {
            self.newest = Some(*sent);
            self.first_sent = sent.time;
        }
    }

    /// So many segments are reported as arrived of which `last` was sent last, after all whose arrival is known:
    /// as [`Self::note_delivered`] for each.
    pub fn note_all_delivered(&mut self, now: u64, count: u32, last: &Sent) {
        self.delivered += u64::from(count) - 1;
        self.note_delivered(now, last);
    }

    /// The sample of the acknowledgement whose deliveries have been noted, `None` if there were none;
    /// `minimum_round_trip` (nanoseconds) is the shortest seen: a shorter interval tells nothing.
    #[inline(always)] // for every acknowledgement, who then asks for parts of it
    pub fn take_sample(&mut self, minimum_round_trip: u64) -> Option<RateSample> {
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let newest = self.newest.take()?;
        let sending = newest.time - newest.first_sent.min(newest.time);
        let acknowledging = self.delivered_time - newest.delivered_time;
        let interval = sending.max(acknowledging);
        let prior_delivered = u64::from(newest.delivered);
        let delivered = self.delivered - prior_delivered;
        let tells = interval > 0 && interval >= minimum_round_trip;
        Some(RateSample {
            rate: tells.then(|| real(delivered) * 1e9 / real(interval)),
            delivered: self.delivered,
            prior_delivered,
            lost: self.lost_since(&newest),
            all_lost: self.lost,
            age: self.delivered_time - newest.time,
            sent_in_network: newest.in_network,
            application_limited: newest.application_limited,
            loss: self.loss.take(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_what_was_delivered_over_the_longer_of_sending_and_acknowledging() {
        let mut rate = DeliveryRate::default();
        // Four segments sent 1 ms apart, acknowledged 100 ms later in the same spacing.
        let sent: Vec<Sent> = (0..4).map(|k| rate.stamp(k * 1_000_000, k as u32)).collect();
        rate.note_delivered(100_000_000, &sent[0]);
        let first = rate.take_sample(0).unwrap();
        assert_eq!(first.rate, Some(10.0)); // one in 100 ms
        for (k, sent) in sent.iter().enumerate().skip(1) {
            rate.note_delivered(100_000_000 + k as u64 * 1_000_000, sent);
        }
        let all = rate.take_sample(0).unwrap();
        assert_eq!(all.delivered, 4);
        // The newest was sent before anything had been delivered: four in 103 ms.
        assert!((all.rate.unwrap() - 4.0 / 0.103).abs() < 1e-9, "{all:?}");
        assert_eq!(rate.take_sample(0), None);
    }

    #[test]
    fn acknowledgements_in_a_burst_do_not_look_faster_than_the_sending_was() {
        let mut rate = DeliveryRate::default();
        let first = rate.stamp(0, 0);
        rate.note_delivered(50_000_000, &first);
        rate.take_sample(0);
        let sent: Vec<Sent> =
            (0..10).map(|k| rate.stamp(50_000_000 + k * 1_000_000, k as u32 + 1)).collect();
        for sent in &sent {
            rate.note_delivered(100_000_000, sent);
        }
        let sample = rate.take_sample(0).unwrap();
        // Sent in 59 ms counted from the first flight's segment, acknowledged in 50 ms.
        assert!((sample.rate.unwrap() - 10.0 / 0.059).abs() < 1e-6, "{sample:?}");
    }

    #[test]
    fn what_is_sent_after_the_data_ran_out_is_limited_until_that_flight_has_gone() {
        let mut rate = DeliveryRate::default();
        let before = rate.stamp(0, 0);
        rate.note_limited(1);
        let during = rate.stamp(10_000_000, 1);
        rate.note_delivered(50_000_000, &before);
        assert!(!rate.take_sample(0).unwrap().application_limited);
        // One more than the flight that ran out has to arrive.
        assert!(rate.stamp(50_000_000, 1).application_limited);
        rate.note_delivered(60_000_000, &during);
        assert!(rate.take_sample(0).unwrap().application_limited);
        assert!(!rate.stamp(60_000_000, 1).application_limited);
    }

    #[test]
    fn of_several_losses_the_one_that_crosses_the_threshold_is_told() {
        let mut rate = DeliveryRate::default();
        let sent: Vec<Sent> = (0..100).map(|k| rate.stamp(k, k as u32 + 100)).collect();
        // 2 % of 101 to 104 segments: the third loss is one too many, the fourth is not asked about.
        for lost in &sent[..4] {
            rate.note_lost(lost);
        }
        rate.note_delivered(1_000_000, &sent[10]);
        let sample = rate.take_sample(0).unwrap();
        let expected = LossSample { sent_in_network: 103, lost: 3, application_limited: false };
        assert_eq!(sample.loss, Some(expected));
        assert_eq!(sample.lost, 4);
        rate.note_delivered(1_000_000, &sent[11]);
        assert_eq!(rate.take_sample(0).unwrap().loss, None);
    }

    #[test]
    fn an_interval_shorter_than_any_round_trip_tells_no_rate() {
        let mut rate = DeliveryRate::default();
        let sent = rate.stamp(0, 0);
        rate.note_delivered(1_000_000, &sent);
        assert_eq!(rate.take_sample(2_000_000).unwrap().rate, None);
    }
}
