//! What packets were seen, as a capture file.

use vermilion_netsim::pcapng::{self, Packet};

use crate::sightings::{Sight, Sighting};

/// `LINKTYPE_RAW`: a packet begins with its IP header.
const RAW_INTERNET: u16 = 101;
const PLACES: [&str; 3] = ["in", "out", "dropped"];

/// The beginning of a file with the packets of ways of these names.
pub fn capture_head(ways: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pcapng::begin(&mut bytes);
    for way in ways {
        for place in PLACES {
            pcapng::describe_interface(&mut bytes, RAW_INTERNET, &format!("{way} {place}"));
        }
    }
    bytes
}

/// The file's next bytes: the notes of each way, in the order of the names, all in order of time.
/// `most`: packets that are written at most. Beside it, how many were.
pub fn capture_packets(notes: &[&[u8]], most: u64) -> (Vec<u8>, u64) {
    let mut sightings: Vec<(usize, Sighting<'_>)> = notes
        .iter()
        .enumerate()
        .flat_map(|(way, notes)| Sighting::read(notes).map(move |sighting| (way, sighting)))
        .filter(|(_, sighting)| sighting.sight != Sight::HandedOn)
        .collect();
    sightings.sort_by_key(|(_, sighting)| sighting.time);
    sightings.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let mut bytes = Vec::new();
    for (way, sighting) in &sightings {
        let place = match sighting.sight {
            Sight::Arrives => 0,
            Sight::Departs => 1,
            Sight::Dropped | Sight::HandedOn => 2,
        };
        let packet = Packet {
            interface: (way * PLACES.len() + place) as u32,
            time: sighting.time,
            bytes: sighting.bytes,
            original_length: sighting.size,
            comment: sighting.remark.words(),
        };
        packet.write(&mut bytes);
    }
    (bytes, sightings.len() as u64)
}
