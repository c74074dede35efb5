//! Packets written by hand from the standards' drawings, field by field.

use crate::common::{Watch, udp};
use vermilion_monitor::{
    Fragment, Headers, LinkType, Reason, Timestamps, Traffic, Transport, Undecoded,
};

/// A segment with timestamps in IPv4 (RFC 791, RFC 9293, RFC 7323).
#[rustfmt::skip]
const IPV4_TCP: &[u8] = &[
    0x45,                   // version 4, header of 5 words
    0x02,                   // DSCP 0, ECN 2: ECT(0)
    0x00, 0x37,             // total length 55: 20 + 32 + 3
    0x12, 0x34, 0x40, 0x00, // identification; don't fragment
    0x40, 0x06, 0x00, 0x00, // time to live 64, protocol 6 (TCP), checksum
    192, 0, 2, 1,           // source
    198, 51, 100, 7,        // destination
    0xc0, 0x00,             // source port 49152
    0x01, 0xbb,             // destination port 443
    0x00, 0x00, 0x00, 0x64, // sequence number 100
    0x00, 0x00, 0x00, 0xc8, // acknowledgement number 200
    0x80, 0x58,             // header of 8 words; ECE, ACK, PSH
    0xff, 0xff, 0x00, 0x00, 0x00, 0x00, // window, checksum, urgent pointer
    0x01, 0x01,             // two no-operations
    0x08, 0x0a,             // timestamps, 10 bytes
    0x00, 0x00, 0x10, 0x00, // value 4096
    0x00, 0x00, 0x0f, 0xff, // echo 4095
    b'a', b'b', b'c',
];

#[rustfmt::skip]
const IPV6_EXTENSIONS: &[u8] = &[
    0x60, 0x30, 0x00, 0x00, // version 6, traffic class 3: ECN 3, CE
    0x00, 0x22,             // payload length 34: 8 + 8 + 8 + 8 + 2
    0x00, 0x40,             // next header 0 (hop by hop), hop limit 64
    0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
    0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
    0x2b, 0x00, 0x01, 0x04, 0, 0, 0, 0,  // hop by hop: next 43 (routing), 8 bytes
    0x2c, 0x00, 0x04, 0x00, 0, 0, 0, 0,  // routing: next 44 (fragment), 8 bytes
    0x11, 0x00, 0x00, 0x01, 0, 0, 0, 9,  // fragment: next 17 (UDP), offset 0, more follow
    0x14, 0xe9, 0x14, 0xe9, 0x00, 0x0a, 0x00, 0x00, // UDP: ports 5353, length 10
    b'h', b'i',
];

fn read(link: LinkType, before: &[u8], packet: &[u8]) -> Result<Headers, Undecoded> {
    let bytes = [before, packet].concat();
    Headers::read(link, &bytes, bytes.len() as u32)
}

#[test]
fn a_tcp_segment_in_ipv4() {
    let headers = read(LinkType::RawInternet, &[], IPV4_TCP).unwrap();
    let internet = headers.internet;
    assert_eq!(std::net::IpAddr::from(internet.source).to_string(), "192.0.2.1");
    assert_eq!(std::net::IpAddr::from(internet.destination).to_string(), "198.51.100.7");
    assert_eq!((internet.ecn, internet.length, internet.header_length), (2, 55, 20));
    let Ok(Transport::Tcp(tcp)) = headers.transport else { panic!("{headers:?}") };
    assert_eq!((tcp.source_port, tcp.destination_port), (49152, 443));
    assert_eq!((tcp.sequence, tcp.acknowledgement, tcp.payload), (100, 200, 3));
    assert!(tcp.flags.ack() && tcp.flags.ece() && !tcp.flags.syn() && !tcp.flags.cwr());
    assert_eq!(tcp.timestamps, Some(Timestamps { value: 4096, echo: 4095 }));
}

#[test]
fn every_link_header_is_taken_off() {
    #[rustfmt::skip]
    let links: &[(u16, &[u8])] = &[
        // Ethernet: two addresses, EtherType.
        (1, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x00]),
        // 802.1Q: a tag with VLAN 5.
        (1, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0x00, 0x00, 0x05, 0x08, 0x00]),
        // 802.1ad: VLAN 7 around VLAN 5.
        (1, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x00, 0x05, 0x08, 0x00]),
        // PPPoE: version 1 type 1, code 0, session 9, length 57, PPP's protocol 0x0021.
        (1, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x88, 0x64, 0x11, 0x00, 0x00, 0x09, 0x00, 0x39, 0x00, 0x21]),
        (101, &[]),
        (228, &[]),
        // Linux cooked: to us, Ethernet, 6 bytes of address, protocol.
        (113, &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x08, 0x00]),
        // The same with a VLAN tag behind it.
        (113, &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x81, 0x00, 0x00, 0x05, 0x08, 0x00]),
        // Linux cooked 2: protocol, reserved, interface 3, Ethernet, outgoing, address.
        (276, &[0x08, 0x00, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0]),
        (276, &[0x81, 0x00, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x00, 0x05, 0x08, 0x00]),
        // BSD loopback: AF_INET, in either byte order.
        (0, &[2, 0, 0, 0]),
        (108, &[0, 0, 0, 2]),
    ];
    let plain = read(LinkType::RawInternet, &[], IPV4_TCP).unwrap();
    for (number, before) in links {
        let link = LinkType::from_number(*number);
        assert_eq!(read(link, before, IPV4_TCP), Ok(plain), "{link:?} {before:02x?}");
        // Cut anywhere within the link's header, it is known to be cut.
        for length in 0..before.len() {
            let outcome = Headers::read(link, &before[..length], 100);
            assert_eq!(outcome, Err(Undecoded::CutLink), "{link:?}, {length} bytes");
        }
    }
}

#[test]
fn what_is_not_ip_is_not_read() {
    let address_resolution = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x06, 0, 1];
    let outcome = Headers::read(LinkType::Ethernet, &address_resolution, 60);
    assert_eq!(outcome, Err(Undecoded::NotInternet));
    let outcome = Headers::read(LinkType::from_number(147), IPV4_TCP, 55);
    assert_eq!(outcome, Err(Undecoded::UnknownLink));
    let outcome = Headers::read(LinkType::RawInternet, &[0x55; 40], 40);
    assert_eq!(outcome, Err(Undecoded::BadInternet));
}

#[test]
fn a_fragment_behind_extension_headers_of_ipv6() {
    let headers = read(LinkType::RawInternet, &[], IPV6_EXTENSIONS).unwrap();
    assert_eq!((headers.internet.ecn, headers.internet.header_length), (3, 64));
    assert_eq!(headers.internet.fragment, Fragment::First);
    let Ok(Transport::Udp(udp)) = headers.transport else { panic!("{headers:?}") };
    assert_eq!((udp.source_port, udp.destination_port), (5353, 5353));

    let mut later = IPV6_EXTENSIONS.to_vec();
    later[58..60].copy_from_slice(&[0x00, 0x08]); // offset 1, in units of 8 bytes
    let headers = read(LinkType::RawInternet, &[], &later).unwrap();
    assert_eq!(headers.transport, Ok(Transport::LaterFragment));

    // Cut within the extensions, nothing is known of what follows.
    for length in 40..58 {
        let outcome = Headers::read(LinkType::RawInternet, &IPV6_EXTENSIONS[..length], 74);
        assert_eq!(outcome.unwrap().transport, Err(Undecoded::CutInternet), "{length} bytes");
    }
}

#[test]
fn a_short_capture_keeps_what_its_bytes_say() {
    for length in 0..IPV4_TCP.len() {
        let outcome = Headers::read(LinkType::RawInternet, &IPV4_TCP[..length], 55);
        match length {
            0..20 => assert_eq!(outcome, Err(Undecoded::CutInternet)),
            20..40 => assert_eq!(outcome.unwrap().transport, Err(Undecoded::CutTransport)),
            _ => {
                let Ok(Transport::Tcp(tcp)) = outcome.unwrap().transport else { panic!() };
                assert_eq!((tcp.payload, tcp.options_cut), (3, length < 52));
                assert_eq!(tcp.timestamps.is_some(), length >= 52);
            }
        }
    }
}

#[test]
fn lengths_that_contradict_each_other_are_refused() {
    for (at, value, reason) in [
        (0, 0x44, Err(Undecoded::BadInternet)),  // a header of 4 words
        (3, 19, Err(Undecoded::BadInternet)),    // a packet shorter than its header
        (32, 0x40, Ok(Undecoded::BadTransport)), // a TCP header of 4 words
        (32, 0xf0, Ok(Undecoded::BadTransport)), // one longer than the packet
        (3, 39, Ok(Undecoded::BadTransport)),    // no room for it
    ] {
        let mut packet = IPV4_TCP.to_vec();
        packet[at] = value;
        let outcome = read(LinkType::RawInternet, &[], &packet);
        match reason {
            Err(reason) => assert_eq!(outcome, Err(reason), "byte {at}"),
            Ok(reason) => assert_eq!(outcome.unwrap().transport, Err(reason), "byte {at}"),
        }
    }
}

#[test]
fn options_without_end_are_left() {
    let mut packet = IPV4_TCP.to_vec();
    packet[41] = 0x08; // timestamps at the second byte, ...
    packet[42] = 0x00; // ... 0 bytes long
    let headers = read(LinkType::RawInternet, &[], &packet).unwrap();
    let Ok(Transport::Tcp(tcp)) = headers.transport else { panic!("{headers:?}") };
    assert_eq!(tcp.timestamps, None);
}

#[test]
fn padding_of_ethernet_is_no_data() {
    let mut packet = IPV4_TCP.to_vec();
    packet[3] = 52; // no data
    packet.extend([0; 6]);
    let headers = read(LinkType::RawInternet, &[], &packet).unwrap();
    let Ok(Transport::Tcp(tcp)) = headers.transport else { panic!("{headers:?}") };
    assert_eq!(tcp.payload, 0);
}

#[test]
fn a_packet_that_leaves_its_length_open_is_as_long_as_the_capture_says() {
    let mut packet = IPV4_TCP.to_vec();
    packet[2..4].copy_from_slice(&[0, 0]);
    let headers = Headers::read(LinkType::RawInternet, &packet, 100_000).unwrap();
    assert!(headers.internet.length_open);
    let Ok(Transport::Tcp(tcp)) = headers.transport else { panic!("{headers:?}") };
    assert_eq!(tcp.payload, 100_000 - 52);
}

#[test]
fn quic_is_known_by_its_long_header_or_its_port() {
    // RFC 9000, section 17.2: header form 1, fixed bit 1, type 00 (Initial); version 1.
    let long = [0xc3, 0x00, 0x00, 0x00, 0x01, 0x08];
    // Version negotiation has version 0, which no client sends; a short header begins 01.
    for (ports, payload, traffic) in [
        ((5000, 4433), &long[..], Traffic::UdpMayRespond),
        ((5000, 443), &[0x40, 1, 2, 3, 4, 5][..], Traffic::UdpMayRespond),
        ((5000, 4433), &[0x40, 1, 2, 3, 4, 5][..], Traffic::Udp),
        ((5000, 4433), &[0xc3, 0, 0, 0, 0, 8][..], Traffic::Udp),
        ((5000, 4433), &[][..], Traffic::Udp),
    ] {
        let mut watch = Watch::new();
        watch.see(0, &udp((1, ports.0), (2, ports.1), payload));
        for kind in Traffic::ALL {
            let packets = watch.monitor.totals().amount(*kind).packets;
            assert_eq!(packets, u64::from(*kind == traffic), "{ports:?} {payload:?} {kind:?}");
        }
    }
}
