//! Delivery rate: how fast the network delivered what an acknowledgement reports.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation. Each segment carries what had been delivered
//! when it was sent; the rate over the flight is what was delivered meanwhile over the longer of the
//! time it took to send it and the time it took to acknowledge it, so that neither bursts of data
//! nor of acknowledgements make it look faster than it was. Nothing is application-limited while a
//! sender always has data, which a sample says otherwise.

use crate::sent::Sent;

/// What one acknowledgement tells about the rate of delivery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments delivered per second; `None` if the interval is too short to tell.
    pub rate: Option<f64>,
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// What had been delivered when the most recently sent of the segments reported was sent.
    pub prior_delivered: u64,
    /// Segments declared lost since that segment was sent.
    pub lost: u64,
    /// Segments in the network when it was sent, itself included.
    pub sent_in_network: u32,
    /// Whether the sender had nothing more to send then.
    pub application_limited: bool,
}

/// Keeps a connection's count of deliveries.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: u64,
    /// When the first segment of the flight being sampled was sent.
    first_sent: u64,
    lost: u64,
    /// Deliveries up to which the sender was limited by its data, 0 if it was not.
    limited_until: u64,
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
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            lost: self.lost,
            in_network: in_network + 1,
            application_limited: self.limited_until > 0,
        }
    }

    /// The sender has nothing more to send although it might.
    pub fn note_limited(&mut self, in_network: u32) {
        self.limited_until = (self.delivered + u64::from(in_network)).max(1);
    }

    /// Segments were declared lost.
    pub fn note_lost(&mut self, segments: u32) {
        self.lost += u64::from(segments);
    }

    /// A segment is reported as arrived.
    #[inline]
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

    /// The sample of the acknowledgement whose deliveries have been noted; `minimum_round_trip`
    /// (nanoseconds) is the shortest seen: a shorter interval tells nothing.
    pub fn take_sample(&mut self, minimum_round_trip: u64) -> Option<RateSample> {
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let newest = self.newest.take()?;
        let sending = newest.time - newest.first_sent.min(newest.time);
        let acknowledging = self.delivered_time - newest.delivered_time;
        let interval = sending.max(acknowledging);
        let delivered = self.delivered - newest.delivered;
        let tells = interval > 0 && interval >= minimum_round_trip;
        Some(RateSample {
            rate: tells.then(|| delivered as f64 * 1e9 / interval as f64),
            delivered: self.delivered,
            prior_delivered: newest.delivered,
            lost: self.lost - newest.lost,
            sent_in_network: newest.in_network,
            application_limited: newest.application_limited,
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
}
