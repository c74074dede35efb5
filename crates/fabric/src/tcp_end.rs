use vermilion_parameters::ParameterError;
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{KeptAcknowledgement, Receiver, Segment, Sender};

use crate::end::{Arrival, End, Reply, Then};
use crate::packet::Packet;
use crate::scenario::{self, Sizes};
use crate::slots::NEVER;

/// TCP senders of a scenario by their places; `None` for a rate-based one.
pub(crate) type Profiles = Vec<Option<Profile>>;

/// Nanoseconds for which ends whose timer stays due are left alone.
const REST: u64 = 1_000;

/// Ends of TCP connections, as they are in any network.
pub(crate) struct TcpEnd {
    profiles: Profiles,
    sizes: Sizes,
    retransmissions: u64,
}

/// A connection. Segment 0 opens it.
pub(crate) struct Connection {
    sender: Sender,
    receiver: Receiver,
    /// Before this no timer of an end is due: one whose deadline does not move on must not stop the time.
    rests_until: u64,
    /// The last segment, and its payload.
    last: u32,
    last_payload: u32,
}

/// What a packet of a connection carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carried {
    Data(Segment),
    Answer(KeptAcknowledgement),
    /// When the packet of an open-loop source came to be.
    Born(u64),
}

impl Default for Carried {
    fn default() -> Self {
        Self::Data(Segment::default())
    }
}

impl TcpEnd {
    pub(crate) fn new(profiles: Profiles, sizes: Sizes) -> Self {
        Self { profiles, sizes, retransmissions: 0 }
    }

    /// Whether a scenario's sender is one of TCP.
    pub(crate) fn has(&self, sender: u8) -> bool {
        self.profiles[usize::from(sender)].is_some()
    }
}

impl End for TcpEnd {
    type Flow = Box<Connection>;
    type Load = Carried;

    fn begin(&mut self, sender: u8, packets: u32, last_payload: u32, _: u64) -> Self::Flow {
        let profile = self.profiles[usize::from(sender)].as_ref();
        let profile = profile.expect("a connection's sender is one of TCP");
        let (mut sender, receiver) = profile.ends(0);
        sender.limit_to(packets);
        sender.start(&profile.sender);
        Box::new(Connection { sender, receiver, rests_until: 0, last: packets, last_payload })
    }

    fn on_packet(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Carried>) -> Reply {
        let Carried::Data(mut segment) = *at.load else { return Reply::default() };
        segment.congestion_experienced = at.packet.marked;
        let answer = flow.receiver.on_segment(at.now, &segment, flow.sender.clock());
        let acknowledgement = answer.map(|answer| {
            *at.load = Carried::Answer(answer.into());
            Packet { unmarkable: true, ..Packet::default() }
        });
        Reply { acknowledgement, notifies: false }
    }

    fn on_answer(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Carried>) -> Then {
        let Carried::Answer(answer) = at.load else { return Then::Nothing };
        flow.sender.on_acknowledgement(at.now, &answer.get());
        if flow.sender.finished() { Then::Done } else { Then::Settle }
    }

    fn on_timer(&mut self, flow: &mut Self::Flow, now: u64) -> Option<Carried> {
        if flow.sender.deadline() <= now {
            flow.sender.on_timer(now);
        }
        let is_due = flow.receiver.deadline() <= now;
        let answer = is_due.then(|| flow.receiver.on_timer().map(Into::into)).flatten();
        if flow.sender.deadline().min(flow.receiver.deadline()) <= now {
            flow.rests_until = now + REST;
        }
        answer.map(Carried::Answer)
    }

    fn next(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(Packet, Carried)> {
        let number = flow.sender.next_sequence(now)?;
        let before = flow.sender.counters().retransmissions;
        let segment = flow.sender.send(number, now);
        self.retransmissions += flow.sender.counters().retransmissions - before;
        let payload = match number {
            0 => 0,
            last if last == flow.last => flow.last_payload,
            _ => self.sizes.payload,
        };
        let (size, unmarkable) = ((payload + self.sizes.header) as u16, !segment.ecn_capable);
        Some((Packet { number, size, unmarkable, ..Packet::default() }, Carried::Data(segment)))
    }

    fn deadline(&self, flow: &Self::Flow, now: u64) -> u64 {
        // What pacing has let go is a matter of the NIC's turns.
        let release = flow.sender.release();
        let release = if release > now { release } else { NEVER };
        let timers = flow.sender.deadline().min(flow.receiver.deadline());
        timers.max(flow.rests_until).min(release)
    }

    fn retransmissions(&self) -> u64 {
        self.retransmissions
    }
}

/// The TCP senders among these of a scenario.
pub(crate) fn profiles(senders: &[&scenario::Sender]) -> Result<Profiles, ParameterError> {
    let is_tcp = |name: &str| {
        vermilion_rdma::registry::ALGORITHMS.iter().all(|algorithm| algorithm.name != name)
            && Profile::algorithms().any(|algorithm| algorithm.name == name)
    };
    let profile = |it: &&scenario::Sender| Profile::from_values(&it.algorithm, &it.parameters);
    senders.iter().map(|it| is_tcp(&it.algorithm).then(|| profile(it)).transpose()).collect()
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
        let mut end = TcpEnd::new(vec![Some(profile)], Sizes::default());
        let mut flow = end.begin(0, 10, 1000, 0);
        assert_eq!(end.deadline(&flow, 0), 5);
        end.on_timer(&mut flow, 5);
        assert_eq!(end.deadline(&flow, 5), 5 + REST);
        end.on_timer(&mut flow, 5 + REST);
        assert_eq!(end.deadline(&flow, 5 + REST), 5 + 2 * REST);
    }
}
