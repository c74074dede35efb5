//! A shaper of this machine: its rate read, set and put back.

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use crate::netlink::{
    GET_CLASS, GET_QUEUE, KIND, NEW_CLASS, NEW_QUEUE, Netlink, OPTIONS, STATISTICS, Told,
    attribute, attribute_of, u32_at, u64_at,
};

const ROOT: u32 = 0xffff_ffff;
const MAJOR: u32 = 0xffff_0000;
const PARMS: u16 = 1;
const CAKE_RATE: u16 = 2;
const TBF_RATE64: u16 = 4;
const TBF_BURST: u16 = 6;
const HTB_RATE64: u16 = 6;
const HTB_CEIL64: u16 = 7;
const QUEUE_STATISTICS: u16 = 3;
/// Size of a `tc_ratespec`, and where its link layer and rate are.
const SPEC: usize = 12;
const LAYER: usize = 1;
const RATE: usize = 8;
const TICK: f64 = 64.0;
const LEAST_BURST: f64 = 1_600.0;

/// A shaper as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaper {
    /// Kind: "cake", "tbf" or "htb".
    pub kind: &'static str,
    /// Rate in bit/s; 0: it does not shape.
    pub rate: f64,
    /// Bytes that wait in it.
    pub backlog: u32,
    told: Told,
    block: Vec<u8>,
    /// Bytes sent at once at most, at the sure rate and at the ceiling of htb.
    bursts: [f64; 2],
    /// Part of its rate that a class of htb is sure of.
    share: f64,
}

fn rate_at(block: &[u8], at: usize, wide: Option<&[u8]>) -> f64 {
    let narrow = u32_at(block, at + RATE).map_or(0, u64::from);
    wide.and_then(|bytes| u64_at(bytes, 0)).unwrap_or(narrow) as f64
}

fn ticks(block: &[u8], at: usize, rate: f64) -> f64 {
    u32_at(block, at).map_or(0.0, |ticks| f64::from(ticks) * TICK * rate / 1e9)
}

impl Shaper {
    /// The shaper that the kernel tells of, if it is one.
    fn of(told: &Told) -> Option<Self> {
        let options = told.attribute(OPTIONS).unwrap_or_default();
        let kind = ["cake", "tbf", "htb"].into_iter().find(|&kind| kind == told.kind())?;
        let mut it = Self {
            kind,
            rate: 0.0,
            backlog: 0,
            told: Told { attributes: Vec::new(), ..told.clone() },
            block: Vec::new(),
            bursts: [0.0; 2],
            share: 1.0,
        };
        if kind == "cake" {
            it.rate = 8.0 * u64_at(attribute(options, CAKE_RATE)?, 0)? as f64;
        } else {
            let size = if kind == "tbf" { 36 } else { 44 };
            it.block = attribute(options, PARMS)?.get(..size)?.to_vec();
            let wide = if kind == "tbf" { TBF_RATE64 } else { HTB_RATE64 };
            let low = rate_at(&it.block, 0, attribute(options, wide));
            let at = if kind == "tbf" { 28 } else { 24 };
            let mut rate = low;
            it.bursts[0] = ticks(&it.block, at, low);
            if kind == "htb" {
                rate = rate_at(&it.block, SPEC, attribute(options, HTB_CEIL64));
                it.bursts[1] = ticks(&it.block, 28, rate);
                it.share = (low / rate.max(1.0)).min(1.0);
            }
            it.rate = 8.0 * rate;
        }
        it.backlog = backlog(told);
        Some(it)
    }

    /// Takes over the place of a shaper that was read later: its interface may have come back with another number. True if
    /// it was made anew.
    pub fn follow(&mut self, later: &Self) -> bool {
        let is_other = self.told != later.told;
        if self.kind == later.kind {
            self.told.clone_from(&later.told);
        } else {
            self.clone_from(later);
        }
        is_other
    }

    /// The message that sets a rate; the bursts of `self` are kept.
    fn request(&self, bit_per_s: f64) -> (u16, Told) {
        let is_none = self.kind == "cake" && bit_per_s == 0.0; // which shapes nothing then
        let rate = if is_none { 0.0 } else { (bit_per_s / 8.0).round().max(1.0) };
        let wide = |number: u16, value: f64| {
            let bytes = (value as u64).to_ne_bytes();
            if value > f64::from(u32::MAX) { attribute_of(number, &bytes) } else { Vec::new() }
        };
        let mut block = self.block.clone();
        let mut put = |at: usize, value: f64| {
            block[at..at + 4].copy_from_slice(&(value.min(u32::MAX as f64) as u32).to_ne_bytes());
        };
        let in_ticks = |burst: f64, rate: f64| (burst.max(LEAST_BURST) * 1e9 / rate / TICK).round();
        let options = match self.kind {
            "cake" => attribute_of(CAKE_RATE, &(rate as u64).to_ne_bytes()),
            "tbf" => {
                put(RATE, rate);
                put(28, in_ticks(self.bursts[0], rate));
                block[LAYER] = block[LAYER].max(1); // or the kernel looks for a table of times
                let burst = self.bursts[0].max(LEAST_BURST).round() as u32;
                [
                    attribute_of(PARMS, &block),
                    wide(TBF_RATE64, rate),
                    attribute_of(TBF_BURST, &burst.to_ne_bytes()),
                ]
                .concat()
            }
            _ => {
                let least = (self.share * rate).round().max(1.0);
                put(RATE, least);
                put(SPEC + RATE, rate);
                put(24, in_ticks(self.bursts[0], least));
                put(28, in_ticks(self.bursts[1], rate));
                block[LAYER] = block[LAYER].max(1);
                block[SPEC + LAYER] = block[SPEC + LAYER].max(1);
                let parms = attribute_of(PARMS, &block);
                [parms, wide(HTB_RATE64, least), wide(HTB_CEIL64, rate)].concat()
            }
        };
        let kind = format!("{}\0", self.kind);
        let attributes =
            [attribute_of(KIND, kind.as_bytes()), attribute_of(OPTIONS, &options)].concat();
        let number = if self.kind == "htb" { NEW_CLASS } else { NEW_QUEUE };
        (number, Told { attributes, ..self.told.clone() })
    }
}

fn backlog(told: &Told) -> u32 {
    let statistics = told.attribute(STATISTICS).unwrap_or_default();
    attribute(statistics, QUEUE_STATISTICS).and_then(|it| u32_at(it, 4)).unwrap_or(0)
}

/// The shaper at a place, of what the kernel told.
fn pick(queues: &[Told], classes: &[Told], index: u32, place: u32) -> Option<Shaper> {
    let own = || queues.iter().filter(|it| it.index == index);
    let queue = own().filter(|it| it.parent == place && it.kind() != "htb").find_map(Shaper::of);
    if queue.is_some() {
        return queue;
    }
    let mut found = classes.iter().filter(|it| match place {
        ROOT => it.parent == ROOT,
        named => it.handle == named,
    });
    let (Some(class), None) = (found.next(), found.next()) else { return None };
    let mut shaper = Shaper::of(class)?;
    let holder = own().find(|it| it.handle == class.handle & MAJOR);
    shaper.backlog = holder.map_or(0, backlog);
    Some(shaper)
}

/// Place of a shaper: an interface, or a class of it.
#[derive(Debug)]
pub struct Place {
    address: String,
    interface: String,
    parent: u32,
    kernel: Netlink,
}

impl Place {
    /// The place of an address like "eth0" or "eth0/1:10".
    ///
    /// # Errors
    /// It is none.
    pub fn new(address: &str) -> Result<Self, String> {
        let (interface, class) = address.split_once('/').unwrap_or((address, ""));
        let part = |text: &str| u32::from_str_radix(text, 16).ok().filter(|&it| it < 1 << 16);
        let parent = match class.split_once(':') {
            None if class.is_empty() => Some(ROOT),
            None => None,
            Some((major, minor)) => {
                let minor = if minor.is_empty() { Some(0) } else { part(minor) };
                part(major).zip(minor).map(|(major, minor)| major << 16 | minor)
            }
        };
        let parent =
            parent.ok_or_else(|| format!("{address} is no shaper; expected eth0 or eth0/1:10"))?;
        let kernel = Netlink::new().map_err(|error| format!("rtnetlink: {error}"))?;
        let (address, interface) = (address.to_owned(), interface.to_owned());
        Ok(Self { address, interface, parent, kernel })
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The shaper as it is now.
    ///
    /// # Errors
    /// There is none; the message says how to make one.
    pub fn read(&self) -> Result<Shaper, String> {
        let (name, address) = (&self.interface, &self.address);
        let index = if_nametoindex(name.as_str())
            .map_err(|_| format!("{address}: there is no interface \"{name}\""))?;
        let ask = |kind, index| {
            self.kernel.list(kind, index).map_err(|error| format!("{address}: {error}"))
        };
        let (queues, classes) = (ask(GET_QUEUE, 0)?, ask(GET_CLASS, index)?);
        pick(&queues, &classes, index, self.parent).ok_or_else(|| {
            format!(
                "{address}: there is no shaper here, or there are several; put one here first: tc \
                 qdisc replace dev {name} root cake bandwidth 10mbit"
            )
        })
    }

    /// Sets a rate.
    ///
    /// # Errors
    /// The kernel refuses; the rate is what it was.
    pub fn set(&self, shaper: &Shaper, bit_per_s: f64) -> Result<(), String> {
        let (kind, told) = shaper.request(bit_per_s);
        self.kernel.change(kind, &told).map_err(|error| match error {
            Errno::EPERM => format!(
                "{}: setting a rate needs the capability CAP_NET_ADMIN; run it as root",
                self.address
            ),
            other => format!("{}: {other}", self.address),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, parent: u32, handle: u32, options: &[u8]) -> Told {
        let attributes =
            [attribute_of(KIND, format!("{kind}\0").as_bytes()), attribute_of(OPTIONS, options)]
                .concat();
        Told { index: 3, handle, parent, attributes }
    }

    /// What the kernel would tell after a request: it keeps what it was told.
    fn after(shaper: &Shaper, rate: f64) -> Shaper {
        Shaper::of(&shaper.request(rate).1).unwrap()
    }

    #[test]
    fn a_rate_that_is_told_comes_back_and_bursts_stay() {
        let cake = told("cake", ROOT, 1 << 16, &attribute_of(CAKE_RATE, &125_000u64.to_ne_bytes()));
        let cake = Shaper::of(&cake).unwrap();
        assert_eq!((cake.kind, cake.rate), ("cake", 1e6));
        assert_eq!([48e9, 0.0].map(|rate| after(&cake, rate).rate), [48e9, 0.0]);

        let mut block = vec![0; 36];
        block[8..12].copy_from_slice(&1_250_000u32.to_ne_bytes());
        // 20480 bytes at 1.25 MB/s are 16.384 ms, or 256000 ticks of 64 ns.
        block[28..32].copy_from_slice(&256_000u32.to_ne_bytes());
        let tbf = Shaper::of(&told("tbf", ROOT, 1 << 16, &attribute_of(PARMS, &block))).unwrap();
        assert_eq!((tbf.rate, tbf.bursts[0]), (10e6, 20_480.0));
        let slow = after(&tbf, 5e6);
        assert_eq!((slow.rate, slow.bursts[0]), (5e6, 20_480.0));
        assert_eq!(slow.request(10e6).1.attributes.len(), tbf.request(10e6).1.attributes.len());
        assert_eq!(after(&tbf, 40e9).rate, 40e9);

        let mut block = vec![0; 44];
        block[8..12].copy_from_slice(&375_000u32.to_ne_bytes());
        block[20..24].copy_from_slice(&1_250_000u32.to_ne_bytes());
        let htb = told("htb", ROOT, 1 << 16 | 0x10, &attribute_of(PARMS, &block));
        let htb = Shaper::of(&htb).unwrap();
        assert_eq!((htb.rate, htb.share), (10e6, 0.3));
        let slow = after(&htb, 5e6);
        assert_eq!((slow.rate, slow.share), (5e6, 0.3));
    }

    #[test]
    fn a_shaper_is_found_by_its_place_and_several_are_none() {
        let rate = attribute_of(CAKE_RATE, &125_000u64.to_ne_bytes());
        let below = told("cake", 1 << 16 | 0x10, 0x8001_0000, &rate);
        let root = told("htb", ROOT, 1 << 16, &[]);
        let class = |minor: u32| told("htb", ROOT, 1 << 16 | minor, &attribute_of(PARMS, &[1; 44]));
        let queues = [root, below];
        let one = [class(0x20)];
        let two = [class(0x10), class(0x20)];
        assert_eq!(pick(&queues, &one, 3, ROOT).unwrap().kind, "htb");
        assert!(pick(&queues, &two, 3, ROOT).is_none());
        assert_eq!(pick(&queues, &two, 3, 1 << 16 | 0x20).unwrap().kind, "htb");
        assert_eq!(pick(&queues, &two, 3, 1 << 16 | 0x10).unwrap().kind, "cake");
        assert!(pick(&queues, &two, 4, 1 << 16 | 0x30).is_none());
        for text in ["eth0/", "eth0/1:10000:", "eth0/x:1"] {
            assert!(text == "eth0/" || Place::new(text).is_err(), "{text}");
        }
    }
}
