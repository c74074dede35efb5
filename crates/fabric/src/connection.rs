use vermilion_parameters::ParameterError;
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{KeptAcknowledgement, Receiver, Segment, Sender};

use crate::engine::NEVER;
use crate::scenario;

/// Both ends of a TCP connection, as they are in any network.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    /// When the timer that is under way is due.
    pub timer_at: u64,
    /// Number of the last segment.
    pub last: u32,
}

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
        Box::new(Self { sender, receiver, timer_at: NEVER, last: segments })
    }

    /// When the next of its timers is due. What pacing has let go is a matter of the NIC's turns.
    pub(crate) fn deadline(&self, now: u64) -> u64 {
        let release = self.sender.release();
        let release = if release > now { release } else { NEVER };
        self.sender.deadline().min(self.receiver.deadline()).min(release)
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
