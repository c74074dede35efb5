/// A transfer under way.
#[derive(Debug)]
pub(crate) struct Pair<F> {
    /// Both its ends.
    pub ends: F,
    /// It stands in the turns of its NIC.
    pub is_ready: bool,
    pub is_done: bool,
    /// Port of its host.
    pub uplink: u32,
    /// Number of the transfer.
    pub transfer: u32,
    /// Its packets and timers that are under way.
    pub under_way: u32,
    /// The timer that is in force, and when it is due.
    pub timer: u32,
    pub timer_at: u64,
    /// Links of its way.
    pub links: u8,
    /// Time that the links of its way had been paused before.
    pub paused_before: u64,
}
