//! Vectors of disciplines that keep the packets themselves: what is offered, and what leaves.

use serde::Deserialize;
use vermilion_aqm::{
    AnyScheduler, Coin, Discipline, DropKind, DropReason, Dropped, Queue, Scheduler,
};
use vermilion_parameters::Values;

use crate::parcel::Parcel;

use super::{Case, Codepoint, Figure, Hue, Step, codepoint, complete, reason_called, stated};

/// A packet arrives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    time_ns: u64,
    packet: u64,
    size_bytes: u32,
    ecn_capable: bool,
    #[serde(default)]
    ecn: Option<Codepoint>,
    flow: u32,
    #[serde(default)]
    colour: Hue,
    #[serde(default)]
    dscp: u8,
    #[serde(default)]
    hosts: [u32; 2],
    idle_since_ns: Option<u64>,
    #[serde(default)]
    coins: Vec<f64>,
    expected: Arrived,
}

/// Its fate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrived {
    #[serde(default)]
    marked: bool,
    #[serde(flatten)]
    left: Left,
}

/// The link is free.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    time_ns: u64,
    #[serde(default)]
    coins: Vec<f64>,
    expected: Departed,
}

/// The packet that is sent, if there is one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Departed {
    packet: Option<u64>,
    #[serde(default)]
    marked: bool,
    #[serde(flatten)]
    left: Left,
}

/// State that the step leaves behind.
#[derive(Deserialize)]
struct Left {
    /// Packets dropped in this step, in this order, and why.
    #[serde(default)]
    dropped: Vec<(u64, String)>,
    queue_packets: usize,
    queue_bytes: u64,
    #[serde(default, deserialize_with = "stated")]
    drop_probability: Option<Figure>,
}

/// The coins of one step.
struct Coins<'a> {
    given: &'a [f64],
    asked: usize,
}

impl Coin for Coins<'_> {
    fn uniform(&mut self) -> f64 {
        self.asked += 1;
        self.given.get(self.asked - 1).copied().unwrap_or(f64::NAN)
    }
}

/// Plays one case and says where the queue first does otherwise.
pub fn play(name: &str, defaults: &Values, case: &Case) -> Result<(), String> {
    let values = complete(defaults, &case.parameters);
    let (mut queue, _) = AnyScheduler::<Parcel>::from_values(name, &values, case.link.into())
        .map_err(|error| error.to_string())?;
    for (index, step) in case.steps.iter().enumerate() {
        let mut left = Vec::new();
        let mut drop = |dropped: Dropped<Parcel>| {
            left.push((dropped.packet.number, plain(dropped.reason)));
        };
        let (asked, coins, expected, done, wanted) = match step {
            Step::Offer(offer) => {
                let packet = Parcel {
                    number: offer.packet,
                    size: offer.size_bytes,
                    flow: offer.flow,
                    ecn: codepoint(offer.ecn_capable, offer.ecn),
                    colour: offer.colour.into(),
                    dscp: offer.dscp,
                    hosts: offer.hosts,
                    marked: false,
                };
                let mut coins = Coins { given: &offer.coins, asked: 0 };
                let (now, idle) = (offer.time_ns, offer.idle_since_ns);
                let marked = queue.enqueue(now, idle, packet, &mut coins, &mut drop);
                let wanted = (None, offer.expected.marked);
                (coins.asked, &offer.coins, &offer.expected.left, (None, marked), wanted)
            }
            Step::Turn(turn) => {
                let mut coins = Coins { given: &turn.coins, asked: 0 };
                let sent = queue.dequeue(turn.time_ns, &mut coins, &mut drop);
                let done = sent.map_or((None, false), |sent| {
                    // It may have been marked as it arrived, too.
                    assert!(sent.packet.marked || !sent.marked, "what is told is done");
                    (Some(sent.packet.number), sent.marked)
                });
                let wanted = (turn.expected.packet, turn.expected.marked);
                (coins.asked, &turn.coins, &turn.expected.left, done, wanted)
            }
            Step::Settings(given) => {
                queue
                    .set_values(&complete(defaults, &given.parameters), given.link.into())
                    .map_err(|error| error.to_string())?;
                continue;
            }
            _ => return Err("steps of two kinds".to_owned()),
        };
        let fail = |problem: String| Err(format!("step {}: {problem}", index + 1));
        if done != wanted {
            return fail(format!("sent, marked: {done:?} instead of {wanted:?}"));
        }
        let reasons: Vec<_> = expected
            .dropped
            .iter()
            .map(|(number, reason)| (*number, reason_called(reason)))
            .collect();
        if left != reasons {
            return fail(format!("dropped {left:?} instead of {reasons:?}"));
        }
        if asked != coins.len() {
            return fail(format!("{asked} coins instead of {}", coins.len()));
        }
        let (packets, bytes) = (queue.len(), queue.bytes());
        if (packets, bytes) != (expected.queue_packets, expected.queue_bytes) {
            return fail(format!("{packets} packets and {bytes} bytes wait"));
        }
        if let Some(figure) = expected.drop_probability {
            let published = queue.drop_probability();
            if !figure.agrees(published) {
                return fail(format!("drop probability {published:?} instead of {figure}"));
            }
        }
    }
    Ok(())
}

/// The reason as vectors have it: they know nothing of causes, which `causes.rs` tests.
pub fn plain(reason: DropReason) -> DropReason {
    match reason.kind() {
        DropKind::Early => DropReason::Early,
        DropKind::Forced => DropReason::Forced,
        DropKind::Overflow => DropReason::Overflow,
    }
}
