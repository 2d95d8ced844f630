//! Programs beside a Linux kernel in the lab, with system calls: the socket and the clock of one of our
//! senders in a guest, and links between devices of this machine. Linux only.
#![cfg(target_os = "linux")]

mod device;
mod guest;
mod host;

pub use device::Device;
pub use guest::{serve, Driver};
pub use host::{emulate, Handed, HostError};
