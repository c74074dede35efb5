use vermilion_parameters::ParameterError;
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{KeptAcknowledgement, Receiver, Segment, Sender};

use crate::scenario;
use crate::slots::NEVER;

/// Both ends of a TCP connection, as they are in any network.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    /// When the timer that is under way is due.
    pub timer_at: u64,
    /// Before this no timer of an end is due: one whose deadline does not move on must not stop the time.
    rests_until: u64,
    /// Number of the last segment.
    pub last: u32,
}

/// Nanoseconds for which ends whose timer stays due are left alone.
const REST: u64 = 1_000;

/// What a packet of a connection carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carried {
    Data(Segment),
    Answer(KeptAcknowledgement),
}

impl Connection {
    pub(crate) fn new(profile: &Profile, segments: u32) -> Box<Self> {
        let (mut sender, receiver) = profile.ends(0);
        sender.limit_to(segments);
        sender.start(&profile.sender);
        // Segment 0 opens a connection.
        Box::new(Self { sender, receiver, timer_at: NEVER, rests_until: 0, last: segments })
    }

    /// When the next of its timers is due. What pacing has let go is a matter of the NIC's turns.
    pub(crate) fn deadline(&self, now: u64) -> u64 {
        let release = self.sender.release();
        let release = if release > now { release } else { NEVER };
        let timers = self.sender.deadline().min(self.receiver.deadline());
        timers.max(self.rests_until).min(release)
    }

    /// Timers of its ends that are due at `now` go off; what the receiver answers.
    pub(crate) fn on_timer(&mut self, now: u64) -> Option<KeptAcknowledgement> {
        self.timer_at = NEVER;
        if self.sender.deadline() <= now {
            self.sender.on_timer(now);
        }
        let is_due = self.receiver.deadline() <= now;
        let answer = is_due.then(|| self.receiver.on_timer().map(Into::into)).flatten();
        if self.sender.deadline().min(self.receiver.deadline()) <= now {
            self.rests_until = now + REST;
        }
        answer
    }
}

/// The TCP senders of a scenario, by the places of its senders; `None` for a rate-based one.
pub(crate) fn profiles(
    senders: &[&scenario::Sender],
) -> Result<Vec<Option<Profile>>, ParameterError> {
    let is_rate_based = |name: &str| {
        vermilion_rdma::registry::ALGORITHMS.iter().any(|algorithm| algorithm.name == name)
    };
    senders
        .iter()
        .map(|sender| {
            let is_tcp = !is_rate_based(&sender.algorithm)
                && Profile::algorithms().any(|algorithm| algorithm.name == sender.algorithm);
            is_tcp.then(|| Profile::from_values(&sender.algorithm, &sender.parameters)).transpose()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use vermilion_parameters::{Algorithm, Settings, Values};
    use vermilion_tcp::rule::{Acknowledged, Congestion, WindowRule};
    use vermilion_tcp::{ForeignRule, ForeignSenders, Window};

    use super::*;

    /// A rule whose timer stays due.
    #[derive(Clone, Debug)]
    struct Stuck;

    impl WindowRule for Stuck {
        fn grow(&mut self, _event: &Acknowledged, _window: &mut Window) {}

        fn reduced(&mut self, _now: u64, _sign: Congestion, base: f64, _window: &Window) -> f64 {
            base
        }

        fn has_hooks(&self) -> bool {
            true
        }

        fn deadline(&self) -> u64 {
            5
        }
    }

    impl ForeignRule for Stuck {
        fn copy(&self) -> Box<dyn ForeignRule> {
            Box::new(Self)
        }
    }

    impl ForeignSenders for Stuck {
        fn algorithm(&self) -> &'static Algorithm {
            Profile::algorithms().find(|it| it.name == "sack").unwrap()
        }

        fn is_scalable(&self) -> bool {
            false
        }

        fn rule(&self, _settings: &Settings) -> Result<Box<dyn ForeignRule>, ParameterError> {
            Ok(self.copy())
        }
    }

    #[test]
    fn a_timer_that_stays_due_does_not_stop_the_time() {
        let profile = Profile::from_foreign(&Stuck, &Values::default()).unwrap();
        let mut connection = Connection::new(&profile, 10);
        assert_eq!(connection.deadline(0), 5);
        connection.on_timer(5);
        assert_eq!(connection.deadline(5), 5 + REST);
        connection.on_timer(5 + REST);
        assert_eq!(connection.deadline(5 + REST), 5 + 2 * REST);
    }
}
