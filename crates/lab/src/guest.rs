//! The links of a guest: its driver reports what its devices have sent and waits for the response
//! (`lab/kernel/midflight.h`).

use std::os::fd::{BorrowedFd, RawFd};

use midflight_study::lab::Emulator;
use midflight_units::Instant;
use rustix::fs::fcntl_getfl;
use rustix::io::Errno;

use crate::host::{file, HostError};

/// Bytes of the driver's message before its entries, and maximum bytes of these (`MF_TOLD_BYTES`).
const HEAD: usize = 16;
const MOST_BYTES: u32 = 1 << 16;
/// The run is over.
const LAST: u32 = 1;
/// What happened to a packet: lost, or marked.
const LOST: u16 = 1;
const MARKED: u16 = 2;

/// The socket of a guest's driver.
#[derive(Debug)]
pub struct Driver(BorrowedFd<'static>);

impl Driver {
    /// The driver with this file descriptor.
    ///
    /// # Errors
    /// [`HostError::Device`] if the descriptor is not an open file.
    pub fn new(number: RawFd) -> Result<Self, HostError> {
        if number < 0 {
            return Err(Errno::BADF.into());
        }
        #[allow(unsafe_code, reason = "see `file`")]
        // SAFETY: the caller keeps it open while the guest runs; the next line checks that it is open.
        let driver = unsafe { file(number) };
        fcntl_getfl(driver)?;
        Ok(Self(driver))
    }

    /// Reads this many bytes; returns false if the guest has ended earlier.
    fn read(&self, mut to: &mut [u8]) -> Result<bool, HostError> {
        while !to.is_empty() {
            match rustix::io::read(self.0, &mut *to) {
                Ok(0) | Err(Errno::CONNRESET) => return Ok(false),
                Ok(length) => to = &mut to[length..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Writes all bytes; returns false if the guest has ended.
    fn write(&self, mut bytes: &[u8]) -> Result<bool, HostError> {
        while !bytes.is_empty() {
            match rustix::io::write(self.0, bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or([0; N])
}

/// Serves the links of a guest until its run is over or it has ended; returns the record of all packets.
///
/// # Errors
/// [`HostError`].
pub fn serve(mut emulator: Emulator, driver: &Driver) -> Result<Vec<u8>, HostError> {
    let (mut head, mut entries, mut answer) = ([0; HEAD], Vec::new(), Vec::new());
    let mut goes_on = true;
    while goes_on && driver.read(&mut head)? {
        let now = Instant::from_nanos(u64::from_le_bytes(field(&head, 0)));
        let length = u32::from_le_bytes(field(&head, 8)).min(MOST_BYTES);
        goes_on = u32::from_le_bytes(field(&head, 12)) & LAST == 0;
        entries.resize(length as usize, 0);
        if !driver.read(&mut entries)? {
            break;
        }
        emulator.take_entries(&entries)?;
        let fates = emulator.run(now)?;
        answer.clear();
        answer.extend(emulator.next().as_nanos().to_le_bytes());
        answer.extend((fates.len() as u32).to_le_bytes());
        answer.extend([0; 4]);
        for fate in &fates {
            let node = fate.delivered.as_ref().map(|(node, _)| *node);
            let marked = if fate.is_marked { MARKED } else { 0 };
            let flags = if node.is_none() { LOST } else { marked };
            answer.extend(fate.packet.to_le_bytes());
            answer.extend(node.unwrap_or_default().to_le_bytes());
            answer.extend(flags.to_le_bytes());
            emulator.delivered(fate, now.since(fate.at));
        }
        if !driver.write(&answer)? {
            break;
        }
    }
    Ok(emulator.into_record())
}
