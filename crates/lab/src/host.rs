//! The links of a setup between network devices of this machine, in real time.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use midflight_study::lab::{Emulator, LabError};
use midflight_units::{Duration, Instant};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
use rustix::io::Errno;

use crate::device::clock_ns;

/// How long before a deadline it stops sleeping and polls the clock instead.
const SPIN: Duration = Duration::from_micros(80);
/// Maximum packet size in bytes.
const MOST_BYTES: usize = 65_536;

/// Why links could not be emulated.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A device failed.
    #[error("a network device fails: {0}")]
    Device(#[from] io::Error),
    /// The setup is refused.
    #[error(transparent)]
    Lab(#[from] LabError),
}

impl From<Errno> for HostError {
    fn from(error: Errno) -> Self {
        Self::Device(error.into())
    }
}

/// A file of this process by its descriptor, for the lifetime of the process.
///
/// # Safety
/// The descriptor is that of an open file that nothing closes.
#[allow(
    unsafe_code,
    reason = "the program that starts this one hands files over by number"
)]
pub(crate) unsafe fn file(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: guaranteed by the caller.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Files that were passed to this process at its start.
#[derive(Debug)]
pub struct Handed {
    /// TUN devices without a packet header, by their nodes.
    devices: Vec<(u16, BorrowedFd<'static>)>,
    /// A pipe whose other end is closed when the run is over.
    stop: BorrowedFd<'static>,
}

impl Handed {
    /// The files with these descriptors.
    ///
    /// # Errors
    /// [`HostError::Device`] if a descriptor is not an open file.
    pub fn new(devices: &[(u16, RawFd)], stop: RawFd) -> Result<Self, HostError> {
        let open = |number: RawFd| -> Result<BorrowedFd<'static>, HostError> {
            if number < 0 {
                return Err(Errno::BADF.into());
            }
            #[allow(unsafe_code, reason = "see `file`")]
            // SAFETY: files above the standard ones are passed to this process and none of its code
            // closes them; the next line checks that this one is open.
            let file = unsafe { file(number) };
            let flags = fcntl_getfl(file)?;
            fcntl_setfl(file, flags | OFlags::NONBLOCK)?;
            Ok(file)
        };
        let devices = devices
            .iter()
            .map(|&(node, number)| Ok((node, open(number)?)))
            .collect::<Result<_, HostError>>()?;
        let stop = open(stop)?;
        Ok(Self { devices, stop })
    }

    fn write(&self, node: u16, bytes: &[u8]) -> Result<(), HostError> {
        for &(of, device) in &self.devices {
            if of == node {
                match rustix::io::write(device, bytes) {
                    // The device is down: the run is over.
                    Ok(_) | Err(Errno::IO) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Writes the packets that must be delivered by an instant.
    fn deliver(
        &self,
        emulator: &mut Emulator,
        by: Instant,
        now: impl Fn() -> Instant,
    ) -> Result<(), HostError> {
        for fate in emulator.run(by)? {
            let Some((node, bytes)) = &fate.delivered else {
                continue;
            };
            self.write(*node, bytes)?;
            emulator.delivered(&fate, now().since(fate.at));
        }
        Ok(())
    }

    /// Sleeps until an instant of the clock or a packet; returns whether the run continues.
    fn wait(&self, due_ns: u64) -> Result<bool, HostError> {
        let left = due_ns.saturating_sub(clock_ns());
        let sleep = left.saturating_sub(SPIN.as_nanos());
        let timeout = Timespec {
            tv_sec: (sleep / 1_000_000_000) as i64,
            tv_nsec: (sleep % 1_000_000_000) as i64,
        };
        let devices = self.devices.iter();
        let mut ready: Vec<PollFd<'_>> = devices
            .map(|(_, device)| PollFd::from_borrowed_fd(*device, PollFlags::IN))
            .collect();
        ready.push(PollFd::from_borrowed_fd(self.stop, PollFlags::IN));
        match poll(&mut ready, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let stopped = ready.last().is_some_and(|of| !of.revents().is_empty());
        Ok(!stopped)
    }
}

/// Carries packets between devices from an instant of the monotonic clock on, until the setup ends or the
/// pipe closes; returns the record of all packets.
///
/// # Errors
/// [`HostError`].
pub fn emulate(
    mut emulator: Emulator,
    handed: &Handed,
    origin: Instant,
) -> Result<Vec<u8>, HostError> {
    let origin_ns = origin.as_nanos();
    let now = || Instant::from_nanos(clock_ns().saturating_sub(origin_ns));
    let end = emulator.end();
    let mut buffer = vec![0; MOST_BYTES];
    loop {
        let at = now();
        if at >= end {
            break;
        }
        handed.deliver(&mut emulator, at, now)?;
        for &(node, device) in &handed.devices {
            loop {
                match rustix::io::read(device, &mut buffer[..]) {
                    Ok(length) => {
                        let at = now();
                        // Packets get timestamps one by one.
                        emulator.take(at, node, &buffer[..length])?;
                        handed.deliver(&mut emulator, at, now)?;
                    }
                    Err(Errno::AGAIN | Errno::IO) => break,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let due = emulator.next().min(end);
        if !handed.wait(origin_ns.saturating_add(due.as_nanos()))? {
            break;
        }
    }
    Ok(emulator.into_record())
}
