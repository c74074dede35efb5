/// What a receiver sends when a packet has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// An acknowledgement of all packets that have arrived in order.
    pub acknowledges: bool,
    /// Packets are missing: the sender is to go back to the first of them.
    pub goes_back: bool,
    /// A notification (CNP) beside it.
    pub notifies: bool,
    /// The acknowledgement tells of a mark.
    pub echoes: bool,
}

/// The receiver of a queue pair: in order or not at all, with notifications not too close together.
///
/// Source: InfiniBand's go-back-N as simulators of RoCE have it (`ReceiverCheckSeq` of that of HPCC's authors); the
/// notification point of Y. Zhu et al., SIGCOMM 2015.
///
/// A packet that is expected is acknowledged; one that comes too early asks the sender to go back, for each gap once in
/// `gap_interval`; one that came before is acknowledged again, so that a lost acknowledgement does not end a flow.
/// With an interval of notifications a marked packet is answered with one, unless the last was sent less long ago; a
/// mark that was kept back is told with the first packet after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver {
    /// Packets that have arrived in order.
    pub expected: u32,
    asked_for: u32,
    may_ask_at: u64,
    may_notify_at: u64,
    marked: bool,
    unacknowledged: u32,
}

impl Receiver {
    /// Nanoseconds after which a gap is told again.
    pub const GAP_INTERVAL: u64 = 500_000;

    /// A packet has arrived, the last of its flow or not; `interval` is that of notifications in nanoseconds, if there are
    /// any, and `every` the number of packets that share an acknowledgement.
    #[inline]
    pub fn on_packet(
        &mut self,
        now: u64,
        (number, is_last): (u32, bool),
        marked: bool,
        interval: Option<u64>,
        every: u32,
    ) -> Answer {
        let mut answer = Answer::default();
        if number == self.expected {
            self.expected += 1;
            self.unacknowledged += 1;
            answer.acknowledges = self.unacknowledged >= every || is_last;
        } else if number > self.expected {
            if now >= self.may_ask_at || self.asked_for != self.expected {
                self.may_ask_at = now + Self::GAP_INTERVAL;
                self.asked_for = self.expected;
                (answer.acknowledges, answer.goes_back) = (true, true);
            }
        } else {
            answer.acknowledges = true;
        }
        self.marked |= marked;
        if answer.acknowledges {
            self.unacknowledged = 0;
            if interval.is_none() {
                answer.echoes = std::mem::take(&mut self.marked);
            }
        }
        if let Some(interval) = interval
            && self.marked
            && now >= self.may_notify_at
        {
            self.marked = false;
            self.may_notify_at = now + interval;
            answer.notifies = true;
        }
        answer
    }
}
