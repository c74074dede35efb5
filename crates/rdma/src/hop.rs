/// Telemetry of one hop: what a packet notes as it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hop {
    /// Rate of the link, in bit/s.
    pub rate: f64,
    /// When it left, in nanoseconds.
    pub time: u64,
    /// Bytes that the port had sent before.
    pub sent_bytes: u64,
    /// Bytes that waited behind it.
    pub queue_bytes: u32,
}
