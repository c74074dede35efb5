use crate::slots::NONE;

/// One end of a cable, which sends. What is needed for each packet stands together.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Port {
    /// When the frame in transmission ends, and the part of a nanosecond after that, in 2^-32 ns.
    pub free_at: u64,
    pub fraction: u32,
    /// Propagation in nanoseconds.
    pub propagation: u32,
    /// Time for a byte, in 2^-32 ns.
    pub per_byte: u64,
    /// Packets that wait: the first, the last, bytes.
    pub head: u32,
    pub tail: u32,
    pub queue: u32,
    /// Its switch; [`NONE`] of a host's.
    pub switch: u32,
    /// Its partner asked it to stand still.
    pub is_paused: bool,
    /// It was paused since its queue was last empty.
    pub was_paused: bool,
    /// An event will let it go on.
    pub is_waiting: bool,
    /// It leads to a host.
    pub to_host: bool,
    /// Number of its watched queue; [`NONE`] if it is not watched.
    pub watched: u32,
    /// Data packets and their bytes that it sent.
    pub packets: u64,
    pub bytes: u64,
    /// Thresholds of marking, and the slope between them.
    pub kmin: u32,
    pub kmax: u32,
    pub slope: f64,
    /// Factor of the dynamic threshold where nothing is paused.
    pub alpha: f64,
    /// Rate in bit/s.
    pub rate: f64,
    pub deepest: u32,
    pub marks: u64,
    pub drops: u64,
    /// When a pause was last asked for, the queue here was the longest, and no pause had made it wait.
    pub congested_at: Option<u64>,
}

impl Port {
    pub(crate) fn new(rate: f64, propagation: u32) -> Self {
        Self {
            propagation,
            per_byte: (8e9 / rate * 2_f64.powi(32)).round() as u64,
            head: NONE,
            tail: NONE,
            switch: NONE,
            watched: NONE,
            kmin: u32::MAX,
            kmax: u32::MAX,
            rate,
            ..Self::default()
        }
    }

    /// Appends a packet to those that wait.
    #[inline]
    pub(crate) fn append(&mut self, next: &mut [u32], packet: u32, bytes: u32) {
        next[packet as usize] = NONE;
        if self.head == NONE {
            self.head = packet;
        } else {
            next[self.tail as usize] = packet;
        }
        self.tail = packet;
        self.queue += bytes;
        self.deepest = self.deepest.max(self.queue);
    }

    /// Takes the first packet that waits.
    #[inline]
    pub(crate) fn take(&mut self, next: &[u32]) -> u32 {
        let packet = self.head;
        self.head = next[packet as usize];
        packet
    }
}
