/// Rounds of a stretch, at least; four times as many at most.
const ROUNDS: u32 = 4;
/// Share of losses among deliveries from which a stretch is lossy: 50/256.
const LOSSY: f64 = 50.0 / 256.0;
/// By how much two stretches' rates may differ, as a share, and in segments per second (4 kbit/s of 1448 bytes).
const SHARE: f64 = 0.125;
const DIFFERENCE: f64 = 4000.0 / (8.0 * 1448.0);
/// Rounds for which the rate is kept.
const KEPT: u32 = 48;
const MILLISECOND: u64 = 1_000_000;

/// Counts of a connection by a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    /// In nanoseconds.
    pub(super) now: u64,
    /// Segments delivered, and declared lost.
    pub(super) delivered: u64,
    pub(super) lost: u64,
}

/// News that an acknowledgement tells of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    pub(super) losses: bool,
    pub(super) application_limited: bool,
    /// A round begins.
    pub(super) round_start: bool,
    /// The bandwidth is being probed for.
    pub(super) cycling: bool,
}

/// Detector of a policer that lets no more through than its tokens: then losses say what bandwidth does not.
///
/// Source: Linux 6.12, `tcp_bbr.c` (`bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`), after Flach et al., "An
/// Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016. Where two stretches of four rounds and more lose a fifth of
/// what they deliver, at nearly the same rate, that rate is kept for 48 rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// When this stretch began.
    from: Count,
    rounds: u32,
    /// Of the stretch before, or what is kept, in segments per second; 0 if there is none.
    rate: f64,
    kept: bool,
}

impl Policer {
    /// The rate that is kept, in segments per second.
    pub(super) fn rate(&self) -> Option<f64> {
        self.kept.then_some(self.rate)
    }

    fn begin_stretch(&mut self, now: Count) {
        self.from = now;
        self.rounds = 0;
    }

    fn forget(&mut self, now: Count) {
        *self = Self::default();
        self.begin_stretch(now);
    }

    /// An acknowledgement or a timeout tells of something. Whether the rate has been kept for long enough, so that probing
    /// begins anew.
    pub(super) fn take(&mut self, now: Count, sign: Sign) -> bool {
        if self.kept {
            if sign.cycling && sign.round_start {
                self.rounds += 1;
                if self.rounds >= KEPT {
                    self.forget(now);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            // The first loss says that the tokens are used up.
            if !sign.losses {
                return false;
            }
            self.begin_stretch(now);
            self.sampling = true;
        }
        if sign.application_limited {
            self.forget(now);
            return false;
        }
        self.rounds += u32::from(sign.round_start);
        if self.rounds > 4 * ROUNDS {
            self.forget(now);
        } else if self.rounds >= ROUNDS && sign.losses {
            self.end_stretch(now);
        }
        false
    }

    fn end_stretch(&mut self, now: Count) {
        let delivered = (now.delivered - self.from.delivered) as f64;
        let lost = (now.lost - self.from.lost) as f64;
        let time = now.now / MILLISECOND - self.from.now / MILLISECOND;
        if delivered == 0.0 || lost < LOSSY * delivered || time == 0 {
            return;
        }
        let rate = delivered * 1000.0 / time as f64;
        let apart = (rate - self.rate).abs();
        if self.rate > 0.0 && (apart <= SHARE * self.rate || apart <= DIFFERENCE) {
            self.rate = f64::midpoint(self.rate, rate);
            self.kept = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.begin_stretch(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After rounds of 100 ms, each of so many deliveries and losses: the rate that is kept.
    fn after(rounds: &[(u64, u64)]) -> (Policer, Option<f64>) {
        let mut policer = Policer::default();
        let mut count = Count::default();
        for &(delivered, lost) in rounds {
            count.now += 100 * MILLISECOND;
            count.delivered += delivered;
            count.lost += lost;
            let sign = Sign {
                losses: lost > 0,
                application_limited: false,
                round_start: true,
                cycling: true,
            };
            policer.take(count, sign);
        }
        (policer, policer.rate())
    }

    #[test]
    fn two_lossy_stretches_at_one_rate_are_a_policer() {
        // The first loss begins a stretch and counts as its first round; three more rounds end it. 100 segments in
        // 100 ms; the second stretch is as fast.
        let lossy = [(100, 25); 8];
        assert_eq!(after(&lossy[..4]).1, None);
        assert_eq!(after(&lossy).1, Some(1000.0));
        // An eighth faster is the same rate, and the mean is kept; more is another rate.
        let stretches = |second: u64| {
            let mut rounds = [(100, 25); 8];
            rounds[4..].fill((second, 25));
            after(&rounds).1
        };
        assert_eq!(stretches(112), Some(1060.0));
        assert_eq!(stretches(113), None);
    }

    #[test]
    fn few_losses_are_no_policer() {
        assert_eq!(after(&[(100, 19); 17]).1, None);
        assert_eq!(after(&[(100, 20); 17]).1, Some(1000.0));
    }

    #[test]
    fn the_rate_is_kept_for_48_rounds() {
        let mut rounds = vec![(100, 25); 8];
        rounds.extend([(100, 0); 47]);
        let (mut policer, rate) = after(&rounds);
        assert_eq!(rate, Some(1000.0));
        let sign =
            Sign { losses: false, application_limited: false, round_start: true, cycling: true };
        assert!(policer.take(Count { now: 10_000 * MILLISECOND, ..Count::default() }, sign));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn who_runs_out_of_data_measures_no_policer() {
        let (mut policer, _) = after(&[(100, 25); 7]);
        let sign =
            Sign { losses: true, application_limited: true, round_start: true, cycling: true };
        policer.take(Count { now: 800 * MILLISECOND, delivered: 800, lost: 200 }, sign);
        assert_eq!(policer.rate(), None);
        assert!(!policer.sampling);
    }
}
