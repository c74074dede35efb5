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
    /// How much longer this delay is than one without a queue, all in nanoseconds, and whether the reflector is new.
    pub(crate) fn excess(&mut self, now: u64, reflector: u32, delay: i64) -> (u64, bool) {
        let (it, is_new) = self.find(reflector, now);
        let period = now / PERIOD;
        // Time may stand still for a while, and does not go back.
        for passed in it.period + 1..=period.min(it.period + PERIODS as u64) {
            it.least[(passed % PERIODS as u64) as usize] = i64::MAX;
        }
        it.period = it.period.max(period);
        let newest = &mut it.least[(it.period % PERIODS as u64) as usize];
        *newest = delay.min(*newest);
        (delay.saturating_sub(it.base()).max(0) as u64, is_new)
    }

    /// The way has become longer by so much: delays without a queue were taken for a queue.
    pub(crate) fn raise(&mut self, by: i64) {
        for it in &mut self.reflectors {
            let base = it.base().saturating_add(by);
            it.least.iter_mut().for_each(|least| *least = base.max(*least));
        }
    }

    fn find(&mut self, number: u32, now: u64) -> (&mut Reflector, bool) {
        let known = self.reflectors.iter().position(|it| it.number == number);
        let place = known.unwrap_or_else(|| {
            let new = Reflector { number, period: now / PERIOD, least: [i64::MAX; PERIODS] };
            if self.reflectors.len() < REFLECTORS {
                self.reflectors.push(new);
                return self.reflectors.len() - 1;
            }
            let place = number as usize % REFLECTORS;
            self.reflectors[place] = new;
            place
        });
        (&mut self.reflectors[place], known.is_none())
    }
}
