//! All that a fabric knows of whatever sends over it.

use vermilion_rdma::Hop;

use crate::packet::Packet;
use crate::results::OpenLoopResult;

/// Both ends of transfers of one kind: rate-based, TCP, open-loop, or some of each. A `Flow` is the state of one transfer.
///
/// Ends know no clock, no NIC and no way. They are told of what arrives and of the time, and asked for the next packet when
/// it is their turn at the NIC. Times are nanoseconds; packets are numbered from 0.
pub(crate) trait End: Send {
    /// State of a transfer at both of its ends.
    type Flow: Send;
    /// What a packet carries beside its header, in a table beside the packets.
    type Load: Copy + Default + Send;

    /// Packets collect telemetry at each hop.
    const TELEMETRY: bool = false;
    /// There is one class of traffic, and every packet can be marked: what the engine need not ask.
    const PLAIN: bool = false;

    /// A transfer begins, of the scenario's sender of that place.
    fn begin(&mut self, sender: u8, packets: u32, last_payload: u32, now: u64) -> Self::Flow;

    /// Data has come to its receiver; the load becomes that of the acknowledgement.
    fn on_packet(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Self::Load>) -> Reply;

    /// An acknowledgement or a notification has come to its sender, with the telemetry of its packet.
    fn on_answer(&mut self, flow: &mut Self::Flow, at: Arrival<'_, Self::Load>) -> Then;

    /// The deadline has come: the acknowledgement that the receiver sends, if any.
    fn on_timer(&mut self, flow: &mut Self::Flow, now: u64) -> Option<Self::Load>;

    /// True if the sender wants a turn at the NIC, which is free at `free_at`. It may: it has not just said that it has
    /// nothing to send.
    fn wants_turn(&self, _flow: &mut Self::Flow, _now: u64, _free_at: u64) -> bool {
        true
    }

    /// The packet that is sent now, if there is one, and what it carries.
    fn next(&mut self, flow: &mut Self::Flow, now: u64) -> Option<(Packet, Self::Load)>;

    /// When one of the ends has something to do whatever arrives, [`crate::slots::NEVER`] if it has not.
    fn deadline(&self, flow: &Self::Flow, now: u64) -> u64;

    /// Goes back if nothing has come for long. Whether it did, and when to look again; `None` where deadlines do that.
    fn on_silence(&mut self, _flow: &mut Self::Flow, _now: u64) -> Option<(bool, u64)> {
        None
    }

    /// Packets that were sent again so far.
    fn retransmissions(&self) -> u64;

    /// Data has been lost on its way.
    fn on_loss(&mut self, _flow: &mut Self::Flow) {}

    /// True if nothing will be sent any more though nothing is acknowledged: it is done with the last packet under way.
    fn is_over(&self, _flow: &Self::Flow) -> bool {
        false
    }

    /// What came of sources that send whatever the network does.
    fn open_loop(&self, _now: u64) -> Vec<OpenLoopResult> {
        Vec::new()
    }
}

/// A packet that comes to a host.
pub(crate) struct Arrival<'a, L> {
    pub now: u64,
    pub packet: Packet,
    pub load: &'a mut L,
    /// Telemetry of an acknowledgement.
    pub hops: &'a [Hop],
}

/// What a receiver has to say to a packet.
#[derive(Default)]
pub(crate) struct Reply {
    pub acknowledgement: Option<Packet>,
    /// A notification (CNP) goes beside that.
    pub notifies: bool,
}

/// What an answer means to the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing.
    Nothing,
    /// The sender may want a turn, and its deadline may be another.
    Settle,
    /// Likewise, and its deadline no longer holds.
    Retime,
    /// All has been acknowledged.
    Done,
}
