//! A rate that follows a schedule, once or again and again.
//!
//! Work is counted in bits times nanoseconds per second, so that rates and times multiply to whole
//! numbers and fractions of a nanosecond are carried from one packet to the next.

use std::sync::Arc;

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use crate::limits::{FAR, HIGHEST_RATE, LONGEST_DURATION, within};

/// Most steps of a schedule.
pub const MOST_STEPS: usize = 10_000_000;

/// Rates and the times from which on they hold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateSchedule {
    /// Time in nanoseconds and rate in bits per second of each step, the first at 0.
    pub steps: Arc<[(u64, u64)]>,
    /// After which time it begins anew, in nanoseconds.
    #[serde(default)]
    pub repeat_ns: Option<u64>,
}

impl RateSchedule {
    /// Refuses what is no schedule.
    pub fn check(&self) -> Result<(), ParameterError> {
        let error = |field: &str, value: u64, accepted: &str| {
            Err(ParameterError::new(field, value, accepted))
        };
        within("rate_schedule", self.steps.len() as u64, 1, MOST_STEPS as u64, "steps")?;
        if self.steps[0].0 != 0 {
            return error("rate_schedule.0", self.steps[0].0, "a first step at 0 ns");
        }
        for (index, pair) in self.steps.windows(2).enumerate() {
            if pair[1].0 <= pair[0].0 {
                let field = format!("rate_schedule.{}", index + 1);
                return error(&field, pair[1].0, "a time after that of the step before");
            }
        }
        let last = self.steps[self.steps.len() - 1].0;
        within("rate_schedule", last, 0, LONGEST_DURATION, "ns")?;
        for (index, step) in self.steps.iter().enumerate() {
            within(&format!("rate_schedule.{index}"), step.1, 0, HIGHEST_RATE, "bit/s")?;
        }
        match self.repeat_ns {
            Some(repeat) => within("repeat", repeat, last + 1, 2 * LONGEST_DURATION, "ns"),
            None => Ok(()),
        }
    }
}

/// Sends at the rates of a schedule.
#[derive(Clone, Debug)]
pub struct ScheduledRate {
    schedule: RateSchedule,
    /// Work done from 0 until each step.
    work: Arc<[u128]>,
    /// Work of one repetition; none without repetition.
    repetition: Option<(u64, u128)>,
    /// When the last packet will have been sent, and the work until then without rounding.
    pub free_at: u64,
    done: u128,
}

impl ScheduledRate {
    /// An idle transmitter; the schedule has been checked.
    pub fn new(schedule: &RateSchedule) -> Self {
        let mut work = Vec::with_capacity(schedule.steps.len());
        let mut sum = 0;
        for (index, &(time, rate)) in schedule.steps.iter().enumerate() {
            work.push(sum);
            let end = schedule.steps.get(index + 1).map(|next| next.0).or(schedule.repeat_ns);
            sum += u128::from(end.map_or(0, |end| end - time)) * u128::from(rate);
        }
        let repetition = schedule.repeat_ns.map(|repeat| (repeat, sum));
        Self { schedule: schedule.clone(), work: work.into(), repetition, free_at: 0, done: 0 }
    }

    /// Sends `size` bytes from `begin` on: when they are sent.
    pub fn transmit(&mut self, begin: u64, size: u32) -> u64 {
        if begin != self.free_at {
            self.done = self.work_until(begin);
        }
        self.done += u128::from(size) * 8_000_000_000;
        self.free_at = self.time_of(self.done).max(begin);
        self.free_at
    }

    /// The last packets given, of `bytes`, will not be sent; that before them will have been at `end`.
    pub fn take_back(&mut self, end: u64, bytes: u64) {
        self.done = self.done.saturating_sub(u128::from(bytes) * 8_000_000_000);
        self.free_at = end;
    }

    /// Work until the last packet given will have been sent, counted from 0.
    pub fn done(&self) -> u128 {
        self.done
    }

    /// Work that could be sent from 0 until `time`.
    pub fn work_until(&self, time: u64) -> u128 {
        let (before, time) = match self.repetition {
            Some((repeat, work)) => (u128::from(time / repeat) * work, time % repeat),
            None => (0, time),
        };
        let index = self.schedule.steps.partition_point(|step| step.0 <= time) - 1;
        let (start, rate) = self.schedule.steps[index];
        before + self.work[index] + u128::from(time - start) * u128::from(rate)
    }

    /// The first instant until which `work`, more than none, can be done; [`FAR`] if there is none.
    fn time_of(&self, work: u128) -> u64 {
        let (before, work) = match self.repetition {
            Some((_, 0)) => return FAR,
            Some((repeat, each)) => {
                let times = (work - 1) / each;
                (times.saturating_mul(u128::from(repeat)), work - times * each)
            }
            None => (0, work),
        };
        let index = self.work.partition_point(|&until| until < work) - 1;
        let (start, rate) = self.schedule.steps[index];
        if rate == 0 {
            return FAR;
        }
        let time = before + u128::from(start) + (work - self.work[index]).div_ceil(rate.into());
        u64::try_from(time).unwrap_or(FAR).min(FAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transmitter(steps: &[(u64, u64)], repeat_ns: Option<u64>) -> ScheduledRate {
        let schedule = RateSchedule { steps: steps.into(), repeat_ns };
        schedule.check().unwrap();
        ScheduledRate::new(&schedule)
    }

    const MBIT: u64 = 1_000_000;

    #[test]
    fn a_packet_is_sent_at_the_rates_it_meets() {
        // 1000 bytes at 8 Mbit/s take 1 ms; from 10 ms on at 1 Mbit/s, 8 ms.
        let mut link = transmitter(&[(0, 8 * MBIT), (10_000_000, MBIT)], None);
        assert_eq!(link.transmit(5_000_000, 1000), 6_000_000);
        // A quarter at the high rate, three quarters at the low one.
        assert_eq!(link.transmit(9_750_000, 1000), 16_000_000);
        assert_eq!(link.transmit(16_000_000, 1000), 24_000_000);
    }

    #[test]
    fn a_rate_of_none_is_an_outage() {
        let mut link = transmitter(&[(0, 8 * MBIT), (1_500_000, 0), (4_000_000, 8 * MBIT)], None);
        assert_eq!(link.transmit(1_000_000, 1000), 4_500_000);
        let mut dead = transmitter(&[(0, 8 * MBIT), (1_500_000, 0)], None);
        assert_eq!(dead.transmit(1_000_000, 1000), FAR);
        assert_eq!(dead.transmit(FAR, 1000), FAR);
        let mut never = transmitter(&[(0, 0)], Some(1000));
        assert_eq!(never.transmit(7, 1), FAR);
    }

    #[test]
    fn a_schedule_repeats() {
        // 1 ms at 8 Mbit/s and 1 ms of nothing, again and again: a packet every 2 ms.
        let mut link = transmitter(&[(0, 8 * MBIT), (1_000_000, 0)], Some(2_000_000));
        let mut time = 0;
        for packet in 0..1000 {
            time = link.transmit(time, 1000);
            assert_eq!(time, packet * 2_000_000 + 1_000_000);
        }
        assert_eq!(link.work_until(2_000_000_500), 1000 * 8_000_000_000_000 + 500 * 8_000_000);
    }

    #[test]
    fn fractions_of_a_nanosecond_are_carried() {
        // 1000 bytes at 3 Gbit/s take 2666.67 ns.
        let mut link = transmitter(&[(0, 3_000 * MBIT)], None);
        let mut time = 0;
        for _ in 0..3000 {
            time = link.transmit(time, 1000);
        }
        assert_eq!(time, 8_000_000);
    }
}
