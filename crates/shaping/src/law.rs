use vermilion_parameters::choices;

choices! {
    /// Direction of the traffic that a shaper holds back, as seen from its side of the line.
    pub Direction {
        /// The line's queue is behind the shaper.
        Up = "up",
        /// The line's queue is before the shaper.
        Down = "down",
    }
}

/// An answer to a probe. Times are nanoseconds of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Number of the host that answers.
    pub reflector: u32,
    /// When the probe was sent.
    pub sent: u64,
    /// When the answer came.
    pub received: u64,
    /// Delay of the direction that is shaped, where both clocks are known; they need not agree.
    pub one_way: Option<i64>,
    /// The part of the delay that passed in one's own shaper.
    pub own_wait: u64,
}

/// Place where packets wait, as far as the law sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// In the shaper's own queue, where they should.
    Here,
    /// In the line's queue: the shaper is too fast.
    Behind,
    /// Nowhere: who sends could send more.
    Nowhere,
}

impl Waiting {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Behind => "behind",
            Self::Nowhere => "nowhere",
        }
    }
}

/// Constants that a model of the line has chosen, with what it says of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Wait in the line's queue that is aimed at while the rate varies, in seconds.
    pub target: f64,
    /// Part of the capacity that is let out then.
    pub share: f64,
    /// Part of a new slope that the capacity takes over.
    pub gain: f64,
    /// 95th percentile of the wait in the line's queue with the constants before, in seconds.
    pub excess_before: f64,
    /// With these.
    pub excess: f64,
    /// Goodput as a part of that with the constants before.
    pub goodput: f64,
}

/// Facts about the line for people.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Rate that the law has set, in bit/s.
    pub rate: f64,
    /// Capacity of the line in bit/s, if the law estimates it.
    pub capacity: Option<f64>,
    /// Standard error of the capacity, as a part of it.
    pub doubt: Option<f64>,
    /// Wait of the last probe in the shaper, in seconds.
    pub wait_here: Option<f64>,
    /// Wait of the last probe in the line's queue, in seconds.
    pub wait_behind: Option<f64>,
    /// Place where packets wait.
    pub waiting: Option<Waiting>,
    /// The last change of the law's constants.
    pub choice: Option<Choice>,
}

/// A law that sets the rate of a shaper.
///
/// Times are nanoseconds, in any order of calls. `bytes` are all that have crossed the interface next to the line so
/// far: let out by the shaper upwards, come in from the line downwards. Nonsense is survived, not believed.
pub trait RateLaw {
    /// A probe is sent.
    fn probe_sent(&mut self, sent: u64, bytes: u64);

    /// A probe is answered.
    fn answered(&mut self, answer: Answer);

    /// The probe that was sent then is given up.
    fn lost(&mut self, sent: u64);

    /// Rate from now on, in bit/s. To be asked every 20 to 50 ms.
    fn rate(&mut self, now: u64, bytes: u64) -> f64;

    /// Facts as of the last rate.
    fn state(&self) -> State;
}
