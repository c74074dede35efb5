use crate::checksum;
use crate::segments::Offload;

const TCP: u8 = 6;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
/// The longest packet that the length field of IP can tell.
const LONGEST: usize = 65_535;

/// Form of a packet that can be merged.
#[derive(Clone, Copy, Debug)]
struct Shape {
    version_6: bool,
    /// Where TCP's header begins, and where the data do.
    transport: usize,
    data: usize,
}

impl Shape {
    /// A segment of TCP with data and nothing special; `None` for everything else.
    fn of(packet: &[u8]) -> Option<Self> {
        let (version_6, transport) = match packet.first()? >> 4 {
            4 if packet[0] == 0x45 && packet.len() >= IPV4_HEADER + TCP_HEADER => {
                let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
                // Not fragmented, and a right checksum: it is computed anew for the piece.
                let plain = packet[6] & 0xbf == 0 && packet[7] == 0 && packet[9] == TCP;
                let right = checksum::fold(checksum::add(0, &packet[..IPV4_HEADER])) == 0xffff;
                (length == packet.len() && plain && right).then_some((false, IPV4_HEADER))?
            }
            6 if packet.len() >= IPV6_HEADER + TCP_HEADER => {
                let length = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
                let right = length + IPV6_HEADER == packet.len() && packet[6] == TCP;
                right.then_some((true, IPV6_HEADER))?
            }
            _ => return None,
        };
        let data = transport + usize::from(packet[transport + 12] >> 4) * 4;
        let plain = packet[transport + 12] & 0x0f == 0 && packet[transport + 13] & !PSH == ACK;
        let fits = data >= transport + TCP_HEADER && data < packet.len();
        (plain && fits).then_some(Self { version_6, transport, data })
    }
}

/// The piece so far, and what the next packet has to be like.
#[derive(Debug)]
struct Piece {
    shape: Shape,
    /// Bytes of data of its first packet, which all but the last have.
    each: usize,
    /// The next packet's sequence number and identification.
    sequence: u32,
    identification: u16,
    /// True if another packet may follow.
    open: bool,
}

/// Packets that are handed on together, as the one piece that a kernel takes.
///
/// Each packet that is handed over costs a kernel a system call and a walk through its layers, ten
/// times what the data path costs. An interface merges packets of a connection that came together
/// before it hands them over; so does this. The kernel is told how to cut the piece again, which gives
/// the same packets byte for byte ([`Segments`](crate::Segments) does the same): what would not come out
/// the same is not merged. These are the rules of Linux's own merging (`net/ipv4/tcp_offload.c`,
/// `tcp_gro_receive`; facts, not code).
#[derive(Debug)]
pub struct Merger {
    bytes: Vec<u8>,
    piece: Option<Piece>,
    packets: usize,
}

impl Default for Merger {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(LONGEST + 1), piece: None, packets: 0 }
    }
}

impl Merger {
    /// Adds a packet, if it can be merged with those that are there. `is_whole` says that its checksum is
    /// known to be right; others are handed on alone.
    pub fn add(&mut self, packet: &[u8], is_whole: bool) -> bool {
        if self.packets == 0 {
            self.bytes.extend_from_slice(packet);
            self.packets = 1;
            self.piece = if is_whole { Self::begin(packet) } else { None };
            return true;
        }
        let Some(piece) = &mut self.piece else { return false };
        if !piece.open || !is_whole || !follows(&self.bytes, piece, packet) {
            return false;
        }
        let data = &packet[piece.shape.data..];
        if self.bytes.len() + data.len() > LONGEST {
            return false;
        }
        self.bytes.extend_from_slice(data);
        let flags = piece.shape.transport + 13;
        self.bytes[flags] |= packet[flags] & PSH;
        piece.open = data.len() == piece.each && packet[flags] & PSH == 0;
        piece.sequence = piece.sequence.wrapping_add(data.len() as u32);
        piece.identification = piece.identification.wrapping_add(1);
        self.packets += 1;
        true
    }

    fn begin(packet: &[u8]) -> Option<Piece> {
        let shape = Shape::of(packet)?;
        let each = packet.len() - shape.data;
        let at = shape.transport + 4;
        let sequence = u32::from_be_bytes(packet[at..at + 4].try_into().ok()?);
        Some(Piece {
            shape,
            each,
            sequence: sequence.wrapping_add(each as u32),
            identification: u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(1),
            open: packet[shape.transport + 13] & PSH == 0,
        })
    }

    /// Packets that are there.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Description of the piece for the kernel, and the piece. [`Merger::clear`] comes next.
    pub fn finish(&mut self) -> (Offload, &[u8]) {
        let Some(piece) = self.piece.as_ref().filter(|_| self.packets > 1) else {
            return (Offload::default(), &self.bytes);
        };
        let Shape { version_6, transport, data } = piece.shape;
        let length = self.bytes.len();
        let (internet, segment) = self.bytes.split_at_mut(transport);
        let addresses = if version_6 {
            internet[4..6].copy_from_slice(&((length - IPV6_HEADER) as u16).to_be_bytes());
            &internet[8..40]
        } else {
            internet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            internet[10..12].fill(0);
            let sum = checksum::of(checksum::add(0, internet));
            internet[10..12].copy_from_slice(&sum);
            &internet[12..20]
        };
        // A checksum that is only begun: the sum over what stands before TCP's header.
        let begun = checksum::add(checksum::add(0, addresses), &[0, TCP]);
        let begun = checksum::add(begun, &(segment.len() as u16).to_be_bytes());
        segment[16..18].copy_from_slice(&checksum::fold(begun).to_ne_bytes());
        let offload = Offload {
            needs_checksum: true,
            kind: if version_6 { Offload::TCP_6 } else { Offload::TCP_4 },
            headers: data as u16,
            segment: piece.each as u16,
            checksum_start: transport as u16,
            checksum_offset: 16,
        };
        (offload, &self.bytes)
    }

    /// There is nothing any more.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.packets = 0;
        self.piece = None;
    }
}

/// Return true if a packet is what cutting the piece would give next.
fn follows(first: &[u8], piece: &Piece, packet: &[u8]) -> bool {
    let Some(Shape { version_6, transport, data }) = Shape::of(packet) else { return false };
    if (version_6, data) != (piece.shape.version_6, piece.shape.data) {
        return false;
    }
    let same = |from: usize, to: usize| first[from..to] == packet[from..to];
    let internet = if version_6 {
        same(0, 4) && same(6, IPV6_HEADER)
    } else {
        let identification = u16::from_be_bytes([packet[4], packet[5]]);
        same(0, 2) && same(6, 10) && same(12, 20) && identification == piece.identification
    };
    let sequence = packet[transport + 4..transport + 8] == piece.sequence.to_be_bytes();
    internet
        && sequence
        && packet.len() - data <= piece.each
        && same(transport, transport + 4)
        // What is acknowledged, the window, the pointer to urgent data, and the options.
        && same(transport + 8, transport + 13)
        && same(transport + 14, transport + 16)
        && same(transport + 18, data)
}
