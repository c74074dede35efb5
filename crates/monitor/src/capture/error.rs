//! What is wrong with a capture file.

use thiserror::Error;

/// Fault of a capture file, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("byte {offset}{}: {found}; expected {expected}", if *.decompressed { " after decompression" } else { "" })]
pub struct CaptureError {
    /// Where the thing begins that is wrong, from the beginning of the file.
    pub offset: u64,
    /// True if `offset` is counted after decompression.
    pub decompressed: bool,
    /// Contents.
    pub found: String,
    /// Accepted values.
    pub expected: String,
    /// True if nothing else is wrong than that the file ends too early, as when whoever wrote it was
    /// stopped.
    pub cut_short: bool,
}

/// Bytes as a person reads them in a hex dump: "23 20 43 61".
pub(super) fn in_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

impl CaptureError {
    /// Something is wrong `offset` bytes from the beginning of what is at hand; the reader adds
    /// where that is.
    pub(super) fn new(
        offset: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            offset: offset as u64,
            decompressed: false,
            found: found.into(),
            expected: expected.into(),
            cut_short: false,
        }
    }
}
