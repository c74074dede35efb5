//! Decompression in pieces.
//!
//! Source: RFC 1952. A file is one or several members; each is a header, deflated data, and a
//! checksum with a length. The deflated data is flate2's business, the rest is done here, so that
//! what is wrong can be told from what is missing, and where.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::error::in_hexadecimal;

/// Decompressed bytes at hand at a time.
const AT_ONCE: usize = 65_536;
/// The fixed part of a member's header.
const HEADER: usize = 10;
const TRAILER: usize = 8;

/// Next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The fixed part of a header.
    Header,
    /// The length of an extra field.
    ExtraLength,
    /// So many bytes more of an extra field.
    Extra(u16),
    /// A file name, up to a zero.
    Name,
    /// A comment, up to a zero.
    Comment,
    /// The header's checksum.
    HeaderChecksum,
    /// Deflated data.
    Data,
    /// The checksum and the length of the data.
    Trailer,
}

/// A stream of one or several gzip members.
pub struct Gzip {
    part: Part,
    /// The flags of the header that are yet to be obeyed.
    flags: u8,
    /// Bytes of a part of fixed length that have come so far.
    held: Vec<u8>,
    inflater: Decompress,
    checksum: Crc,
    output: Box<[u8]>,
    /// Compressed bytes so far.
    consumed: u64,
    /// True if a member has come to its end.
    any: bool,
}

/// Fault of the compressed bytes, and where.
pub struct Corrupt {
    pub offset: u64,
    pub found: String,
    pub expected: &'static str,
    /// True if nothing else is wrong than that they end too early.
    pub cut_short: bool,
}

impl Gzip {
    /// A stream at its beginning.
    pub fn new() -> Self {
        Self {
            part: Part::Header,
            flags: 0,
            held: Vec::with_capacity(HEADER),
            inflater: Decompress::new(false),
            checksum: Crc::new(),
            output: vec![0; AT_ONCE].into_boxed_slice(),
            consumed: 0,
            any: false,
        }
    }

    /// Decompresses; `each` is given the pieces. The outer error is `each`'s.
    pub fn feed<E>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Result<(), Corrupt>, E> {
        while !bytes.is_empty() {
            let used = if self.part == Part::Data {
                match self.inflate(bytes, &mut each)? {
                    Ok(used) => used,
                    Err(corrupt) => return Ok(Err(corrupt)),
                }
            } else {
                match self.frame(bytes[0]) {
                    Ok(()) => 1,
                    Err(corrupt) => return Ok(Err(corrupt)),
                }
            };
            self.consumed += used as u64;
            bytes = &bytes[used..];
        }
        Ok(Ok(()))
    }

    /// The compressed bytes have ended.
    pub fn finish(&self) -> Result<(), Corrupt> {
        if self.any && self.part == Part::Header && self.held.is_empty() {
            return Ok(());
        }
        Err(Corrupt {
            offset: self.consumed,
            found: "the end of the compressed data".to_owned(),
            expected: "more of it, and a checksum behind it",
            cut_short: true,
        })
    }

    /// Takes a byte that is not deflated data.
    fn frame(&mut self, byte: u8) -> Result<(), Corrupt> {
        let part = self.part; // a copy, since holding a byte changes the rest
        match part {
            Part::Header if self.hold(byte, HEADER) => {
                if !matches!(self.held[..], [0x1f, 0x8b, 8, ..]) {
                    let found = in_hexadecimal(&self.held[..3]);
                    let expected = "1f 8b 08, the beginning of gzip data";
                    return Err(self.wrong(HEADER - 1, found, expected));
                }
                self.flags = self.held[3];
                self.next_of_header();
            }
            Part::ExtraLength if self.hold(byte, 2) => {
                let length = u16::from_le_bytes([self.held[0], self.held[1]]);
                self.part = Part::Extra(length);
                if length == 0 {
                    self.next_of_header();
                }
            }
            Part::Extra(1) => self.next_of_header(),
            Part::Extra(rest) => self.part = Part::Extra(rest - 1),
            Part::Name | Part::Comment if byte == 0 => self.next_of_header(),
            Part::HeaderChecksum if self.hold(byte, 2) => self.next_of_header(),
            Part::Trailer if self.hold(byte, TRAILER) => {
                let mut right = [0; TRAILER];
                right[..4].copy_from_slice(&self.checksum.sum().to_le_bytes());
                right[4..].copy_from_slice(&self.checksum.amount().to_le_bytes());
                if self.held != right {
                    let found = "a checksum that is not that of the data".to_owned();
                    return Err(self.wrong(TRAILER - 1, found, "undamaged gzip data"));
                }
                self.held.clear();
                self.part = Part::Header;
                self.any = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Keeps a byte of a part that has so many; whether the part is complete.
    fn hold(&mut self, byte: u8, length: usize) -> bool {
        self.held.push(byte);
        self.held.len() == length
    }

    /// Goes on to the next part of the header that its flags announce.
    fn next_of_header(&mut self) {
        const PARTS: [(u8, Part); 4] = [
            (4, Part::ExtraLength),
            (8, Part::Name),
            (16, Part::Comment),
            (2, Part::HeaderChecksum),
        ];
        self.held.clear();
        for (flag, part) in PARTS {
            if self.flags & flag != 0 {
                self.flags &= !flag;
                self.part = part;
                return;
            }
        }
        self.inflater.reset(false);
        self.checksum.reset();
        self.part = Part::Data;
    }

    /// Inflates; how many bytes were used.
    fn inflate<E>(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Result<usize, Corrupt>, E> {
        let read = self.inflater.total_in();
        let mut used = 0;
        loop {
            let (used_before, out_before) = (used, self.inflater.total_out());
            let outcome =
                self.inflater.decompress(&bytes[used..], &mut self.output, FlushDecompress::None);
            used = (self.inflater.total_in() - read) as usize;
            let made = (self.inflater.total_out() - out_before) as usize;
            if made > 0 {
                self.checksum.update(&self.output[..made]);
                each(&self.output[..made])?;
            }
            match outcome {
                Ok(Status::StreamEnd) => {
                    self.part = Part::Trailer;
                    return Ok(Ok(used));
                }
                // With room left in the output, all that the input gives has been made.
                Ok(_) if used == bytes.len() && made < AT_ONCE => return Ok(Ok(used)),
                Ok(_) if made > 0 || used > used_before => {}
                // Either it says that something is wrong, or it goes neither on nor back.
                _ => {
                    self.consumed += used as u64;
                    let found = "deflated data that cannot be read".to_owned();
                    return Ok(Err(self.wrong(0, found, "undamaged gzip data")));
                }
            }
        }
    }

    fn wrong(&self, before: usize, found: String, expected: &'static str) -> Corrupt {
        Corrupt {
            offset: self.consumed.saturating_sub(before as u64),
            found,
            expected,
            cut_short: false,
        }
    }
}
