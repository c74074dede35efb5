//! What a kernel hands over as one packet, as the packets that it stands for.
//!
//! A sender's kernel leaves work to its interface: it hands over up to 64 KiB of TCP or UDP with one
//! header, to be cut into segments, and checksums that are only begun. It says so in a header of its
//! own before the packet (`struct virtio_net_hdr`, OASIS virtio 1.2, section 5.1.6). A queue has to see
//! the packets that a wire would carry, so they are cut here, as Linux itself does it without help of
//! an interface (`net/ipv4/tcp_offload.c`, `udp_offload.c`; facts, not code):
//!
//! - of TCP, sequence numbers go on, FIN and PSH are the last one's and CWR is the first one's;
//! - IPv4 identifications count up; lengths and checksums are each packet's own.
//!
//! What stands in that header may come from a program of the user's, and is believed only as far as
//! the packet bears it out.

use crate::checksum;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of the headers without options.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// Control bits in the 14th byte of TCP's header.
const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Description by a kernel of a packet that it hands over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// True if a checksum is to be completed.
    pub needs_checksum: bool,
    /// How it is to be cut: one of the constants below.
    pub kind: u8,
    /// Bytes before the data, if that is told; it is not believed.
    pub headers: u16,
    /// Bytes of data in each segment.
    pub segment: u16,
    /// From where on the checksum covers the packet.
    pub checksum_start: u16,
    /// Where it stands, from there on.
    pub checksum_offset: u16,
}

impl Offload {
    /// Bytes of the header that says it.
    pub const BYTES: usize = 10;
    /// Not to be cut.
    pub const WHOLE: u8 = 0;
    /// To be cut into segments of TCP over IPv4.
    pub const TCP_4: u8 = 1;
    /// To be cut into segments of TCP over IPv6.
    pub const TCP_6: u8 = 4;
    /// To be cut into datagrams of UDP.
    pub const DATAGRAMS: u8 = 5;
    /// Beside the kind: the sender has reduced its window, so that CWR is set.
    const CONGESTION: u8 = 0x80;

    /// Reads the header, which is in the machine's byte order.
    pub fn read(header: [u8; Self::BYTES]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        Self {
            needs_checksum: header[0] & 1 != 0,
            kind: header[1] & !Self::CONGESTION,
            headers: word(2),
            segment: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    /// The header that says this.
    pub fn written(&self) -> [u8; Self::BYTES] {
        let mut header = [0; Self::BYTES];
        (header[0], header[1]) = (u8::from(self.needs_checksum), self.kind);
        let words = [self.headers, self.segment, self.checksum_start, self.checksum_offset];
        for (place, word) in header[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        header
    }
}

/// Why a packet cannot be carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Its description does not fit its bytes.
    Contradiction,
    /// It is to be cut in a way that is not known here.
    UnknownKind,
}

/// The packets that one stands for.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    packet: &'a [u8],
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// It is one packet. Where a checksum begins and stands, if it is to be completed.
    Whole(Option<(usize, usize)>),
    Cut(Cut),
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    version_6: bool,
    datagrams: bool,
    /// Where the TCP or UDP header begins.
    transport: usize,
    /// Where the data begin.
    data: usize,
    /// Bytes of data in each segment.
    piece: usize,
}

impl<'a> Segments<'a> {
    /// The packets that `packet` stands for.
    ///
    /// # Errors
    /// If that makes no sense.
    pub fn of(offload: &Offload, packet: &'a [u8]) -> Result<Self, Unusable> {
        let cut = match offload.kind {
            Offload::WHOLE => None,
            Offload::TCP_4 => Cut::of(offload, packet, false, false)?,
            Offload::TCP_6 => Cut::of(offload, packet, true, false)?,
            Offload::DATAGRAMS => {
                let version_6 = packet.first().is_some_and(|first| first >> 4 == 6);
                Cut::of(offload, packet, version_6, true)?
            }
            _ => return Err(Unusable::UnknownKind),
        };
        let shape = match cut {
            Some(cut) => Shape::Cut(cut),
            None => Shape::Whole(begun_checksum(offload, packet)?),
        };
        Ok(Self { packet, shape })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self.shape {
            Shape::Whole(_) => 1,
            Shape::Cut(cut) => (self.packet.len() - cut.data).div_ceil(cut.piece),
        }
    }

    /// Bytes of the one with this number, which is less than [`Segments::count`].
    pub fn size(&self, number: usize) -> usize {
        match self.shape {
            Shape::Whole(_) => self.packet.len(),
            Shape::Cut(cut) => cut.data + cut.piece_of(self.packet, number).len(),
        }
    }

    /// Writes the one with this number into `into`, which has its [`Segments::size`].
    pub fn write(&self, number: usize, into: &mut [u8]) {
        match self.shape {
            Shape::Whole(begun) => {
                into.copy_from_slice(self.packet);
                if let Some((start, at)) = begun {
                    let sum = checksum::add(0, &into[start..]);
                    // Of UDP too 0 would say that there is none; for TCP all ones mean the same.
                    into[at..at + 2].copy_from_slice(&checksum::of_datagram(sum));
                }
            }
            Shape::Cut(cut) => cut.write(self.packet, number, number + 1 == self.count(), into),
        }
    }
}

/// Where a checksum begins and stands that is to be completed.
fn begun_checksum(offload: &Offload, packet: &[u8]) -> Result<Option<(usize, usize)>, Unusable> {
    if !offload.needs_checksum {
        return Ok(None);
    }
    let start = usize::from(offload.checksum_start);
    let at = start + usize::from(offload.checksum_offset);
    if at + 2 > packet.len() || start < IPV4_HEADER {
        return Err(Unusable::Contradiction);
    }
    Ok(Some((start, at)))
}

impl Cut {
    /// How a packet is to be cut; `None` if it has no data.
    fn of(
        offload: &Offload,
        packet: &[u8],
        version_6: bool,
        datagrams: bool,
    ) -> Result<Option<Self>, Unusable> {
        let transport = usize::from(offload.checksum_start);
        let piece = usize::from(offload.segment);
        let protocol = if datagrams { UDP } else { TCP };
        let fits = if version_6 {
            // Extension headers may stand before it; of those that the kernel cuts, it believes this too.
            packet.len() >= IPV6_HEADER && packet[0] >> 4 == 6 && transport >= IPV6_HEADER
        } else {
            packet.len() >= IPV4_HEADER
                && packet[0] >> 4 == 4
                && transport == usize::from(packet[0] & 15) * 4
                && transport >= IPV4_HEADER
                && packet[9] == protocol
                // Neither a piece of a packet nor one of which more pieces follow.
                && packet[6] & 0x3f == 0
                && packet[7] == 0
        };
        let header = if datagrams { UDP_HEADER } else { TCP_HEADER };
        if !fits || piece == 0 || !offload.needs_checksum || packet.len() < transport + header {
            return Err(Unusable::Contradiction);
        }
        let header =
            if datagrams { UDP_HEADER } else { usize::from(packet[transport + 12] >> 4) * 4 };
        let data = transport + header;
        if header < UDP_HEADER || (!datagrams && header < TCP_HEADER) || data > packet.len() {
            return Err(Unusable::Contradiction);
        }
        Ok((data < packet.len()).then_some(Self { version_6, datagrams, transport, data, piece }))
    }

    fn piece_of<'a>(&self, packet: &'a [u8], number: usize) -> &'a [u8] {
        let begin = self.data + number * self.piece;
        &packet[begin..packet.len().min(begin + self.piece)]
    }

    fn write(&self, packet: &[u8], number: usize, is_last: bool, into: &mut [u8]) {
        into[..self.data].copy_from_slice(&packet[..self.data]);
        into[self.data..].copy_from_slice(self.piece_of(packet, number));
        self.write_internet_header(number, into);
        let (internet, segment) = into.split_at_mut(self.transport);
        let length = segment.len() as u16;
        let checksum_at = if self.datagrams {
            segment[4..6].copy_from_slice(&length.to_be_bytes());
            6
        } else {
            let first = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
            let sequence = first.wrapping_add((number * self.piece) as u32);
            segment[4..8].copy_from_slice(&sequence.to_be_bytes());
            if !is_last {
                segment[13] &= !FIN_AND_PSH;
            }
            if number > 0 {
                segment[13] &= !CWR;
            }
            16
        };
        segment[checksum_at..checksum_at + 2].fill(0);
        let protocol = if self.datagrams { UDP } else { TCP };
        let sum = checksum::add(0, self.addresses(internet));
        let sum = checksum::add(sum, &[0, protocol]);
        let sum = checksum::add(sum, &length.to_be_bytes());
        let sum = checksum::add(sum, segment);
        let checksum = if self.datagrams { checksum::of_datagram(sum) } else { checksum::of(sum) };
        segment[checksum_at..checksum_at + 2].copy_from_slice(&checksum);
    }

    fn addresses<'a>(&self, internet: &'a [u8]) -> &'a [u8] {
        if self.version_6 { &internet[8..40] } else { &internet[12..20] }
    }

    fn write_internet_header(&self, number: usize, into: &mut [u8]) {
        let length = into.len();
        if self.version_6 {
            let length = (length - IPV6_HEADER) as u16;
            into[4..6].copy_from_slice(&length.to_be_bytes());
            return;
        }
        let first = u16::from_be_bytes([into[4], into[5]]);
        into[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        into[4..6].copy_from_slice(&first.wrapping_add(number as u16).to_be_bytes());
        into[10..12].fill(0);
        let checksum = checksum::of(checksum::add(0, &into[..self.transport]));
        into[10..12].copy_from_slice(&checksum);
    }
}
