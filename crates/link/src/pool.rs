use vermilion_parameters::ParameterError;

/// How much a pool holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Packets, those that wait and those that are on the wire together.
    pub packets: u32,
    /// Bytes of the largest packet.
    pub largest: u32,
}

/// Most packets that a pool may hold.
const MOST_PACKETS: u32 = 1 << 22;
/// Largest packet that IP knows.
const LARGEST: u32 = 65_535;

/// Places for packets: as many as were asked for at the beginning, and never one more.
///
/// Memory that no packet has ever needed is not touched.
#[derive(Debug)]
pub struct Pool {
    bytes: Vec<u8>,
    size: usize,
    /// The places that are free; the one used last is used next, while it is in the cache.
    free: Vec<u32>,
}

impl Pool {
    /// An empty pool.
    ///
    /// # Errors
    /// Room for no packet, or for more than 4,194,304, or for larger ones than there are.
    pub fn new(room: Room) -> Result<Self, ParameterError> {
        if !(1..=MOST_PACKETS).contains(&room.packets) {
            let accepted = format!("from 1 to {MOST_PACKETS} packets");
            return Err(ParameterError::new("room", room.packets, accepted));
        }
        if !(68..=LARGEST).contains(&room.largest) {
            // RFC 791: every module must be able to forward a datagram of 68 octets.
            return Err(ParameterError::new("mtu", room.largest, "from 68 to 65535 bytes"));
        }
        let size = room.largest as usize;
        let bytes = vec![0; size * room.packets as usize];
        Ok(Self { bytes, size, free: (0..room.packets).rev().collect() })
    }

    /// A place for a packet, until it is given back; `None` if there is none left.
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Gives a place back.
    pub fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Places that are free.
    pub fn left(&self) -> usize {
        self.free.len()
    }

    /// Bytes of the largest packet.
    pub fn largest(&self) -> usize {
        self.size
    }

    /// The first `size` bytes at a place.
    pub fn bytes(&self, slot: u32, size: u32) -> &[u8] {
        let begin = slot as usize * self.size;
        &self.bytes[begin..begin + size as usize]
    }

    /// The same, to be written.
    pub fn bytes_mut(&mut self, slot: u32, size: u32) -> &mut [u8] {
        let begin = slot as usize * self.size;
        &mut self.bytes[begin..begin + size as usize]
    }
}
