use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Result, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use vermilion_link::Offload;

/// Room for the largest packet that a kernel hands over, and its header.
const BUFFER: usize = Offload::BYTES + (1 << 16);
/// Text of Linux where the device behind a file has been removed.
const GONE: [i32; 3] = [
    77, // EBADFD
    19, // ENODEV
    14, // EFAULT
];
/// The header of a packet that is to be taken as it is.
const AS_IT_IS: [u8; Offload::BYTES] = [0; Offload::BYTES];

/// A descriptor of this process under another number, to be kept whatever becomes of the first.
///
/// # Errors
/// There is no such descriptor, or the kernel is older than 5.6 or does not allow it.
pub fn owned(descriptor: i32) -> Result<OwnedFd> {
    let process = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty())?)
}

/// Outcome of looking for a packet.
#[derive(Debug)]
pub enum Taken<'a> {
    /// A packet, and what the kernel says of it.
    Packet(Offload, &'a [u8]),
    /// There is none now.
    Nothing,
    /// The device has been removed.
    Gone,
}

/// A TUN device: packets out of it and into it, each with the kernel's header before it.
#[derive(Debug)]
pub struct Device {
    file: File,
    buffer: Vec<u8>,
}

impl Device {
    /// An open device (`IFF_TUN | IFF_NO_PI | IFF_VNET_HDR`, and not blocking).
    pub fn new(descriptor: OwnedFd) -> Self {
        Self { file: File::from(descriptor), buffer: vec![0; BUFFER] }
    }

    /// The next packet that the kernel has for it.
    pub fn take(&mut self) -> Taken<'_> {
        loop {
            match self.file.read(&mut self.buffer) {
                Ok(length) => {
                    let read = &self.buffer[..length];
                    let Some((header, packet)) = read.split_first_chunk() else {
                        return Taken::Nothing;
                    };
                    return Taken::Packet(Offload::read(*header), packet);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_gone(&error) => return Taken::Gone,
                // Nothing to read, or the kernel has no memory at this moment.
                Err(_) => return Taken::Nothing,
            }
        }
    }

    /// Gives a packet to the kernel: whether it has taken it. It does not while the interface is down,
    /// and never takes what is no IP packet.
    pub fn give(&mut self, packet: &[u8]) -> bool {
        self.write(&AS_IT_IS, packet)
    }

    /// The same for a piece that the kernel is to cut as it is told.
    pub fn give_piece(&mut self, offload: &Offload, piece: &[u8]) -> bool {
        self.write(&offload.written(), piece)
    }

    fn write(&mut self, header: &[u8], packet: &[u8]) -> bool {
        loop {
            match self.file.write_vectored(&[IoSlice::new(header), IoSlice::new(packet)]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => return outcome.is_ok(),
            }
        }
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| GONE.contains(&number))
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
