//! The devices and the clock around the data path of an emulated bottleneck.
//!
//! [`Emulator`] moves packets between two TUN devices and the two [`Way`](vermilion_link::Way)s
//! between them. All that touches the machine is here: reads and writes of the devices, the clock, and
//! the wait for whichever comes first. Devices are opened and set up by whoever uses it.

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod emulator;

#[cfg(target_os = "linux")]
pub use device::{Device, owned};
#[cfg(target_os = "linux")]
pub use emulator::{Emulator, Pacing};
