//! A fabric as the core reads it. Hosts are the nodes `0..hosts`, switches those after them.

use serde::{Deserialize, Serialize};
use vermilion_netsim::scenario::Traffic as Source;
use vermilion_parameters::Values;

/// A fabric, its traffic, and what is to be watched.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Number of hosts.
    pub hosts: u32,
    /// Every switch.
    pub switches: Vec<Switch>,
    /// Every cable, which is two links.
    pub cables: Vec<Cable>,
    /// Sizes on the wire.
    pub packets: Sizes,
    /// Ends of every transfer whose traffic does not name others.
    pub sender: Sender,
    /// Ends that parts of the traffic name: [`Self::traffic_senders`].
    #[serde(default)]
    pub further_senders: Vec<Sender>,
    /// Of each part of the traffic: 0 for `sender`, `n` for the `n`th of `further_senders`; 0 where the list ends.
    #[serde(default)]
    pub traffic_senders: Vec<u8>,
    /// Of each part of the traffic: its class, as switches pause it; 0 where the list ends.
    #[serde(default)]
    pub traffic_classes: Vec<u8>,
    /// Whose turn it is among the classes at a port: by deficits, each class by its weight; the highest first where there
    /// are no weights.
    #[serde(default)]
    pub class_weights: Vec<f64>,
    /// How receivers answer.
    pub feedback: Feedback,
    /// Packets are marked as they leave a queue, not as they join it.
    pub marks_at_departure: bool,
    /// Nanoseconds without progress after which a sender goes back.
    pub retransmission_timeout_ns: u64,
    /// When the run ends at the latest, in nanoseconds.
    pub duration_ns: u64,
    /// What is sent.
    pub traffic: Vec<Traffic>,
    /// Queues to be watched.
    pub watched: Vec<Watched>,
    /// Bounds of the classes of sizes, in bytes, rising.
    pub size_classes: Vec<u64>,
}

/// The memory of a switch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Bytes in all.
    pub buffer_bytes: u64,
    /// Bytes that each port has of its own.
    pub reserve_bytes: u32,
    /// Bytes below the threshold at which a pause ends.
    pub resume_offset_bytes: u32,
    /// Its partners are paused before it loses packets.
    pub pauses: bool,
}

/// Two links, one each way, that are alike.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// One end's node.
    pub a: u32,
    /// The other's.
    pub b: u32,
    /// Rate in bit/s.
    pub rate_bit_per_s: f64,
    /// Propagation in nanoseconds.
    pub delay_ns: u32,
    /// Queue in bytes up to which nothing is marked.
    pub kmin_bytes: u32,
    /// Queue in bytes above which all is marked.
    pub kmax_bytes: u32,
    /// Probability of a mark at that length.
    pub pmax: f64,
    /// Factor of the dynamic threshold.
    pub alpha: f64,
    /// Headroom in bytes.
    pub headroom_bytes: u32,
}

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Payload of a full packet.
    pub payload: u32,
    /// Headers of a packet.
    pub header: u32,
    /// What telemetry adds to a packet.
    pub telemetry: u32,
    /// Acknowledgement.
    pub acknowledgement: u32,
    /// Notification.
    pub notification: u32,
    /// Frame that pauses.
    pub pause: u32,
}

impl Sizes {
    /// Smallest acknowledgement that carries telemetry, without it.
    const BARE_ACKNOWLEDGEMENT: u32 = 46;

    /// Sizes of packets and acknowledgements that carry telemetry, or do not.
    #[must_use]
    pub(crate) fn on_wire(mut self, telemetry: bool) -> Self {
        if telemetry {
            self.header += self.telemetry;
            self.acknowledgement =
                self.acknowledgement.max(Self::BARE_ACKNOWLEDGEMENT + self.telemetry);
        }
        self
    }
}

/// A sender and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sender {
    /// Name in the registry of rate-based ends, or of TCP senders.
    pub algorithm: String,
    /// A user's values.
    pub parameters: Values,
}

/// How receivers answer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Acknowledgements go before data and are neither marked nor paused.
    pub acknowledgements_first: bool,
    /// Packets that share an acknowledgement.
    pub acknowledge_every: u32,
    /// Nanoseconds between notifications of a flow; without it marks are echoed by acknowledgements.
    pub notification_interval_ns: Option<u64>,
}

/// A part of the traffic.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum Traffic {
    /// Transfers as they are listed: source, destination, bytes, start in nanoseconds.
    List {
        /// The transfers.
        transfers: Vec<(u32, u32, u64, u64)>,
    },
    /// Each host begins transfers to any other at random instants.
    Poisson {
        /// Points of the distribution of sizes: bytes, and the part of transfers up to there.
        sizes: Vec<(f64, f64)>,
        /// Part of a host's rate.
        load: f64,
        /// First instant, in nanoseconds.
        from_ns: u64,
        /// Last instant, in nanoseconds.
        until_ns: u64,
    },
    /// Again and again many hosts send to one, at random instants.
    Incast {
        /// How many.
        senders: u32,
        /// What each sends.
        bytes: u64,
        /// Mean time between two, in nanoseconds; `None`: once, at the first instant.
        interval_ns: Option<f64>,
        /// Who receives; `None`: one of all, at random.
        receiver: Option<u32>,
        /// First instant, in nanoseconds.
        from_ns: u64,
        /// Last instant, in nanoseconds.
        until_ns: u64,
    },
    /// Packets that are sent whatever the network does, and not acknowledged.
    OpenLoop {
        /// When a source has packets.
        source: Source,
        /// Bytes of a packet on the wire.
        packet_size: u32,
        /// Packets are marked; otherwise they are dropped where others are marked.
        ecn: bool,
        /// Who sends; `None`: every host.
        from: Option<u32>,
        /// Who receives; `None`: for each source another host at random.
        to: Option<u32>,
        /// First instant, in nanoseconds. Where every host sends, each begins at random within a packet's time.
        from_ns: u64,
        /// Last instant, in nanoseconds.
        until_ns: u64,
    },
}

/// A queue to be watched.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// Node that the queue is at.
    pub from: u32,
    /// Node that it sends to.
    pub to: u32,
    /// Since when, in nanoseconds.
    pub from_ns: u64,
    /// Until when, in nanoseconds.
    pub until_ns: u64,
}
