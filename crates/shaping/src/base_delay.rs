//! Delays without a queue, of each reflector.

/// Time over which a minimum is kept, in nanoseconds.
const PERIOD: u64 = 10_000_000_000;
/// Periods whose minimum counts.
const PERIODS: usize = 30;
/// Reflectors that are told apart; more share places.
const REFLECTORS: usize = 32;

/// Least delays of a reflector over the last minutes.
#[derive(Clone, Debug)]
struct Reflector {
    number: u32,
    /// Period to which the newest minimum belongs.
    period: u64,
    least: [i64; PERIODS],
}

impl Reflector {
    fn base(&self) -> i64 {
        self.least.iter().copied().fold(i64::MAX, i64::min)
    }
}

/// Delays without a queue: of each reflector the least of five minutes, since a queue may stand for long.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaseDelay {
    reflectors: Vec<Reflector>,
}

impl BaseDelay {
    /// How much longer this delay is than one without a queue; all in nanoseconds.
    pub(crate) fn excess(&mut self, now: u64, reflector: u32, delay: i64) -> u64 {
        let it = self.find(reflector, now);
        let period = now / PERIOD;
        // Time may stand still for a while, and does not go back.
        for passed in it.period + 1..=period.min(it.period + PERIODS as u64) {
            it.least[(passed % PERIODS as u64) as usize] = i64::MAX;
        }
        it.period = it.period.max(period);
        let newest = &mut it.least[(it.period % PERIODS as u64) as usize];
        *newest = delay.min(*newest);
        delay.saturating_sub(it.base()).max(0) as u64
    }

    fn find(&mut self, number: u32, now: u64) -> &mut Reflector {
        let place = self.reflectors.iter().position(|it| it.number == number);
        let place = place.unwrap_or_else(|| {
            let new = Reflector { number, period: now / PERIOD, least: [i64::MAX; PERIODS] };
            if self.reflectors.len() < REFLECTORS {
                self.reflectors.push(new);
                return self.reflectors.len() - 1;
            }
            let place = number as usize % REFLECTORS;
            self.reflectors[place] = new;
            place
        });
        &mut self.reflectors[place]
    }
}
