//! Puts the pieces of a file together and recognises what it is.

use super::Step;
use super::error::{CaptureError, in_hexadecimal};
use super::gzip::{Corrupt, Gzip};
use super::pcap::{Pcap, is_pcap};
use super::pcapng::{Pcapng, is_pcapng};
use crate::monitor::Captured;

const KINDS: &str = "a capture file: pcap, pcapng, or one of them compressed with gzip";

/// Reads a capture file that is fed in pieces: puts the pieces together and recognises what the file is.
pub struct CaptureReader {
    gzip: Option<Box<Gzip>>,
    plain: Plain,
    failed: Option<CaptureError>,
    fed: bool,
}

/// Format of the file, as far as that is known.
enum Format {
    Unknown,
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A file that is not compressed, or no longer.
struct Plain {
    format: Format,
    /// Bytes that have been fed and not been used.
    pending: Vec<u8>,
    /// How many bytes from the beginning of `pending` are wanted before anything can be said.
    wanted: usize,
    /// Bytes yet to come that hold no packet.
    skips: u64,
    /// Where `pending` begins in the file.
    offset: u64,
    decompressed: bool,
}

impl Default for CaptureReader {
    fn default() -> Self {
        Self::new()
    }
}

impl CaptureReader {
    /// A reader that has been fed nothing.
    pub fn new() -> Self {
        Self { gzip: None, plain: Plain::new(), failed: None, fed: false }
    }

    /// Takes the next bytes of the file, and calls `each` for every packet that they complete.
    ///
    /// # Errors
    /// What is wrong with the file. Packets before that have been handed over. The reader then
    /// gives the same error for ever.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(&Captured<'_>),
    ) -> Result<(), CaptureError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let outcome = self.take(bytes, each);
        self.failed = outcome.as_ref().err().cloned();
        outcome
    }

    /// The file has ended.
    ///
    /// # Errors
    /// That it should not have ended here; [`CaptureError::cut_short`] is set then, unless it was no
    /// capture at all.
    pub fn finish(&mut self) -> Result<(), CaptureError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let outcome = self.end();
        self.failed = outcome.as_ref().err().cloned();
        outcome
    }

    fn take(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(&Captured<'_>),
    ) -> Result<(), CaptureError> {
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        if bytes.is_empty() {
            return Ok(());
        }
        self.fed = true;
        if let Some(gzip) = &mut self.gzip {
            let plain = &mut self.plain;
            return gzip.feed(bytes, |piece| plain.take(piece, each))?.map_err(corrupt);
        }
        if matches!(self.plain.format, Format::Unknown) && self.plain.offset == 0 {
            let mut first = self.plain.pending.iter().chain(bytes).copied();
            if (first.next(), first.next()) == (Some(GZIP[0]), Some(GZIP[1])) {
                let before = std::mem::take(&mut self.plain.pending);
                self.plain.decompressed = true;
                self.gzip = Some(Box::new(Gzip::new()));
                self.take(&before, each)?;
                return self.take(bytes, each);
            }
        }
        self.plain.take(bytes, each)
    }

    fn end(&self) -> Result<(), CaptureError> {
        if let Some(gzip) = &self.gzip {
            gzip.finish().map_err(corrupt)?;
        }
        if !self.fed {
            return Err(CaptureError::new(0, "an empty file", KINDS));
        }
        self.plain.end()
    }
}

fn corrupt(corrupt: Corrupt) -> CaptureError {
    CaptureError {
        offset: corrupt.offset,
        decompressed: false,
        found: corrupt.found,
        expected: corrupt.expected.to_owned(),
        cut_short: corrupt.cut_short,
    }
}

impl Plain {
    const fn new() -> Self {
        Self {
            format: Format::Unknown,
            pending: Vec::new(),
            wanted: 0,
            skips: 0,
            offset: 0,
            decompressed: false,
        }
    }

    fn take(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(&Captured<'_>),
    ) -> Result<(), CaptureError> {
        let skipped = self.skips.min(bytes.len() as u64);
        self.skips -= skipped;
        self.offset += skipped;
        let bytes = &bytes[skipped as usize..];
        if self.pending.is_empty() {
            let used = self.use_up(bytes, each)?;
            self.pending.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() < self.wanted {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        let used = self.use_up(&pending, each)?;
        pending.drain(..used);
        self.pending = pending;
        Ok(())
    }

    /// Takes what can be taken from the beginning of some bytes; how many were used.
    fn use_up(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(&Captured<'_>),
    ) -> Result<usize, CaptureError> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            if rest.is_empty() {
                self.wanted = 0;
                return Ok(used);
            }
            let advance = match self.step(rest).map_err(|error| self.placed(error))? {
                Step::Wants(wanted) => {
                    self.wanted = wanted;
                    return Ok(used);
                }
                Step::Skip(count) => {
                    let here = count.min(rest.len() as u64);
                    self.skips = count - here;
                    here as usize
                }
                Step::Packet(place) => {
                    each(&Captured {
                        time: place.time,
                        link: place.link,
                        bytes: &rest[place.start..place.end],
                        original_length: place.original_length,
                    });
                    place.consumed
                }
            };
            used += advance;
            self.offset += advance as u64;
        }
    }

    fn step(&mut self, bytes: &[u8]) -> Result<Step, CaptureError> {
        match &mut self.format {
            Format::Pcap(pcap) => pcap.step(bytes),
            Format::Pcapng(pcapng) => pcapng.step(bytes),
            Format::Unknown => {
                let Some(&first) = bytes.first_chunk() else { return Ok(Step::Wants(4)) };
                if is_pcapng(first) {
                    self.format = Format::Pcapng(Pcapng::new());
                    return Ok(Step::Skip(0));
                }
                if !is_pcap(first) {
                    let found =
                        format!("a file that begins with the bytes {}", in_hexadecimal(&first));
                    return Err(CaptureError::new(0, found, KINDS));
                }
                Ok(match Pcap::open(bytes)? {
                    Ok((pcap, length)) => {
                        self.format = Format::Pcap(pcap);
                        Step::Skip(length as u64)
                    }
                    Err(wanted) => Step::Wants(wanted),
                })
            }
        }
    }

    fn end(&self) -> Result<(), CaptureError> {
        let missing = if self.skips > 0 {
            self.skips
        } else if matches!(self.format, Format::Unknown) || !self.pending.is_empty() {
            self.wanted.saturating_sub(self.pending.len()).max(1) as u64
        } else {
            return Ok(());
        };
        let found = match (&self.format, self.pending.len()) {
            (Format::Unknown, length) => format!("a file of {length} bytes"),
            (_, length) => format!("the file's end, {length} bytes into what begins here"),
        };
        let expected = if matches!(self.format, Format::Unknown) {
            KINDS.to_owned()
        } else {
            format!("at least {missing} bytes more")
        };
        let cut_short = !matches!(self.format, Format::Unknown);
        Err(self.placed(CaptureError { cut_short, ..CaptureError::new(0, found, expected) }))
    }

    fn placed(&self, error: CaptureError) -> CaptureError {
        CaptureError {
            offset: self.offset + error.offset,
            decompressed: self.decompressed,
            ..error
        }
    }
}
