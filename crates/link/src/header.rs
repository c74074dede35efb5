//! What a queue reads of a packet's headers, and the one thing that it writes.

use vermilion_aqm::{Colour, Ecn};
use vermilion_monitor::{Fragment, Headers, LinkType, Transport, flow_hash};

use crate::checksum;

/// State that a queue keeps of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The same for the packets of one flow: a hash of protocol, addresses and ports; of pieces of
    /// packets, which need not have ports, without them. 0 where there is no IP header to be read.
    pub flow: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Drop precedence by its codepoint (RFC 2597); green where it says nothing.
    pub colour: Colour,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// Hashes of the source address and of the destination address.
    pub hosts: [u32; 2],
}

impl Label {
    /// Reads the headers of an IP packet.
    pub fn of(packet: &[u8]) -> Self {
        let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        let Ok(headers) = Headers::read(LinkType::RawInternet, packet, length) else {
            return Self::default();
        };
        let ecn = match headers.internet.ecn {
            0 => Ecn::NotCapable,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::CongestionExperienced,
        };
        let addresses = [&headers.internet.source, &headers.internet.destination];
        let hosts = addresses.map(|address| flow_hash(0, 0, [address, address]) as u32);
        let dscp = codepoint(packet);
        Self { flow: flow(&headers), ecn, colour: colour(dscp), dscp, hosts }
    }
}

/// The differentiated services codepoint of an IP packet.
fn codepoint(packet: &[u8]) -> u8 {
    let class = match packet {
        [first, second, ..] if *first >> 4 == 6 => first << 4 | second >> 4,
        [_, class, ..] => *class,
        _ => 0,
    };
    class >> 2
}

/// The drop precedence of assured forwarding: codepoints AF11 to AF43, which are 8 times the class and
/// twice the precedence (RFC 2597, section 6).
fn colour(codepoint: u8) -> Colour {
    match (codepoint >> 3, codepoint & 0b111) {
        (1..=4, 0b100) => Colour::Yellow,
        (1..=4, 0b110) => Colour::Red,
        _ => Colour::Green,
    }
}

fn flow(headers: &Headers) -> u32 {
    let internet = &headers.internet;
    let [source, destination] = match headers.transport {
        _ if internet.fragment != Fragment::None => [0, 0],
        Ok(Transport::Tcp(tcp)) => [tcp.source_port, tcp.destination_port],
        Ok(Transport::Udp(udp)) => [udp.source_port, udp.destination_port],
        _ => [0, 0],
    };
    let ports = u64::from(source) << 24 | u64::from(destination) << 8;
    let ports = ports | u64::from(internet.protocol);
    flow_hash(0, ports, [&internet.source, &internet.destination]) as u32
}

/// Sets the ECN field of an IP packet to "congestion experienced" (RFC 3168), and has IPv4's checksum
/// follow. What has been marked before and what is no IP packet stay as they are.
pub fn mark(packet: &mut [u8]) {
    match packet {
        [version, class, rest @ ..] if *version >> 4 == 4 && rest.len() >= 18 => {
            if *class & 0b11 == 0b11 {
                return;
            }
            let before = [*version, *class];
            *class |= 0b11;
            // Bytes 10 and 11 of the header.
            let updated = checksum::updated([rest[8], rest[9]], before, [*version, *class]);
            rest[8..10].copy_from_slice(&updated);
        }
        [version, class, ..] if *version >> 4 == 6 => *class |= 0b11 << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_4(class: u8) -> [u8; 20] {
        let mut header =
            [0x45, class, 0, 20, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 192, 168, 7, 9];
        let checksum = checksum::of(checksum::add(0, &header));
        header[10..12].copy_from_slice(&checksum);
        header
    }

    #[test]
    fn a_mark_sets_two_bits_and_keeps_the_checksum_right() {
        for class in 0..=255 {
            let (before, mut after) = (header_4(class), header_4(class));
            mark(&mut after);
            assert_eq!(after, header_4(class | 0b11), "{class}");
            assert_eq!(checksum::fold(checksum::add(0, &after)), 0xffff);
            assert_eq!(
                (before[0], &before[2..10], &before[12..]),
                (after[0], &after[2..10], &after[12..])
            );
        }
    }

    #[test]
    fn a_mark_of_version_6_sets_two_bits_and_nothing_else() {
        let mut packet = [0; 40];
        (packet[0], packet[1]) = (0x6a, 0x2f);
        let mut expected = packet;
        expected[1] = 0x3f;
        mark(&mut packet);
        assert_eq!(packet, expected);
        packet[1] = 0x2f;
        assert_eq!(Label::of(&packet).ecn, Ecn::Ect0);
    }

    #[test]
    fn assured_forwarding_tells_which_packets_go_first() {
        // RFC 2597: AF11 is 001010, AF42 100100, AF33 011110. Expedited forwarding (46) says nothing.
        let told = [
            (0b001010, Colour::Green),
            (0b001100, Colour::Yellow),
            (0b100100, Colour::Yellow),
            (0b011110, Colour::Red),
            (46, Colour::Green),
            (0, Colour::Green),
            (0b101100, Colour::Green),
        ];
        for (codepoint, colour) in told {
            assert_eq!(Label::of(&header_4(codepoint << 2)).colour, colour, "{codepoint}");
            let mut six = [0; 40];
            six[..2].copy_from_slice(&[0x60 | codepoint >> 2, codepoint << 6]);
            assert_eq!(Label::of(&six).colour, colour, "{codepoint}");
        }
    }

    #[test]
    fn what_is_no_ip_stays_as_it_is() {
        for length in 0..20 {
            for first in [0x00, 0x45, 0x50, 0xff] {
                let mut packet = vec![first; length];
                mark(&mut packet);
                assert_eq!(packet, vec![first; length]);
                assert_eq!(Label::of(&packet), Label::default());
            }
        }
    }
}
