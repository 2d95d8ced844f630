//! A packet socket and the monotonic clock.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use midflight_study::lab::{Line, Woken};
use midflight_units::Instant;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::time::{clock_gettime, ClockId};

/// A socket that receives and sends IPv4 packets of a network device, and a clock that starts at an
/// instant of the monotonic clock.
#[derive(Debug)]
pub struct Device {
    socket: File,
    origin_ns: u64,
}

pub(crate) fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (now.tv_sec, now.tv_nsec);
    seconds.unsigned_abs() * 1_000_000_000 + nanos.unsigned_abs()
}

impl Device {
    /// The socket that was passed to the program as standard input.
    ///
    /// # Errors
    /// If it cannot be duplicated.
    pub fn of_stdin(origin: Instant) -> io::Result<Self> {
        let socket = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let origin_ns = origin.as_nanos();
        Ok(Self { socket, origin_ns })
    }

    fn is_down(error: &io::Error) -> bool {
        error.raw_os_error() == Some(Errno::NETDOWN.raw_os_error())
    }
}

impl Line for Device {
    type Error = io::Error;

    fn now(&mut self) -> Instant {
        Instant::from_nanos(clock_ns().saturating_sub(self.origin_ns))
    }

    fn wait(&mut self, until: Option<Instant>, into: &mut [u8]) -> io::Result<Woken> {
        let timeout = until.map(|at| {
            let due = self.origin_ns.saturating_add(at.as_nanos());
            let left = due.saturating_sub(clock_ns());
            Timespec {
                tv_sec: (left / 1_000_000_000) as i64,
                tv_nsec: (left % 1_000_000_000) as i64,
            }
        });
        let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
        if poll(&mut ready, timeout.as_ref())? == 0 {
            return Ok(Woken::Time);
        }
        match self.socket.read(into) {
            Ok(length) => Ok(Woken::Datagram(length)),
            Err(error) if Self::is_down(&error) => Ok(Woken::Over),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, datagram: &[u8]) -> io::Result<()> {
        match self.socket.write(datagram) {
            Err(error) if !Self::is_down(&error) => Err(error),
            _ => Ok(()),
        }
    }
}
