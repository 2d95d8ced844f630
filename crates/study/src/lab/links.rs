//! Replays the links of a run in the lab: the packets that the devices sent are sent again, at the same instants, over
//! the same links, to take samples of the links, or to check that the results equal the record.

use std::collections::BTreeMap;
use std::fmt;

use midflight_sim::DropCause;
use midflight_units::{Duration, Instant};
use midflight_wire::Header;

use super::emulator::{Emulator, Links};
use super::record::{records, Record, RecordEvent};
use super::replay::{direction, Direction, NO_THRESHOLD};
use super::LabError;
use crate::error::StudyError;
use crate::setup::Setup;
use crate::watch::{GoOn, Sampler, Samples, Sampling, SenderSample, Tapping};

/// Maximum number of reported differences.
const MOST_TOLD: usize = 10;

/// What has happened to a packet by the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Delivered(Instant),
    Lost(Instant, DropCause, u16),
    Underway,
}

impl Fate {
    fn of(record: &Record<'_>) -> Option<Self> {
        match record.event {
            RecordEvent::Sent { .. } => Some(Self::Underway),
            RecordEvent::Delivered { .. } => Some(Self::Delivered(record.at)),
            RecordEvent::Lost(cause) => Some(Self::Lost(record.at, cause, record.place)),
            RecordEvent::NoRoute => Some(Self::Lost(record.at, DropCause::Node, record.place)),
            RecordEvent::Marked => None,
        }
    }

    fn at(self) -> Option<Instant> {
        match self {
            Self::Delivered(at) | Self::Lost(at, ..) => Some(at),
            Self::Underway => None,
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered(at) => write!(f, "delivered at {} ns", at.as_nanos()),
            Self::Lost(at, cause, place) => {
                let (at, cause) = (at.as_nanos(), cause.name());
                write!(f, "lost at {at} ns at link {place} ({cause})")
            }
            Self::Underway => f.write_str("under way at the end"),
        }
    }
}

/// The comparison of a record with a replay of its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCheck {
    /// Packets that devices sent.
    pub packets: usize,
    /// Packets with the same result: delivered, or lost at the same link for the same cause, at the same instant.
    pub same: usize,
    /// The lost ones of these.
    pub lost: usize,
    /// The maximum delay between the delivery time of the links and the delivery to the device.
    pub most_late: Duration,
    /// The first differences, one sentence each.
    pub differences: Vec<String>,
}

/// Simulates links up to an instant, and observes them.
fn play(
    links: &mut Links<Tapping>,
    sampler: &mut Sampler<'_>,
    until: Instant,
) -> Result<(), LabError> {
    loop {
        let next = links.world.next_event();
        let at = next.at();
        sampler.look(&links.world, at.min(until))?;
        if at >= until {
            return Ok(());
        }
        links.world.process(next).map_err(StudyError::from)?;
        sampler.note(&mut links.world, at, |tapping| tapping);
        sampler.ask()?;
    }
}

/// The last instant of a record.
fn end_of(record: &[u8]) -> Result<Instant, LabError> {
    records(record).try_fold(Instant::ZERO, |last, entry| Ok(last.max(entry?.at)))
}

/// Samples of links and senders in a run of a kernel: the links are the simulator's, over which the
/// packets are replayed, and a sender's state is that reported with each packet.
///
/// # Errors
/// [`LabError::Record`]; [`LabError::Study`] as for [`crate::samples`].
pub fn replay_samples(
    setup: &Setup,
    record: &[u8],
    sampling: Sampling,
    go_on: GoOn<'_>,
) -> Result<Samples, LabError> {
    let end = end_of(record)?.min(setup.end).min(sampling.until);
    let mut sampler = Sampler::new(setup, sampling, go_on)?;
    let mut links = Links::new(setup, None, Tapping::default())?;
    for entry in records(record) {
        let entry = entry?;
        let RecordEvent::Sent { bytes, headers, .. } = entry.event else {
            continue;
        };
        play(&mut links, &mut sampler, entry.at.min(end))?;
        let mut packet = vec![0; bytes as usize];
        let known = headers.len().min(packet.len());
        packet[..known].copy_from_slice(&headers[..known]);
        links.send(entry.at, entry.place, packet.into())?;
        sampler.note(&mut links.world, entry.at, |tapping| tapping);
    }
    play(&mut links, &mut sampler, end)?;
    let mut found = sampler.into_samples();
    found.senders = kernel_senders(setup, record)?;
    Ok(found)
}

/// The states that the kernel's senders reported with each packet.
fn kernel_senders(setup: &Setup, record: &[u8]) -> Result<Vec<SenderSample>, LabError> {
    let mut found = Vec::new();
    for record in records(record) {
        let record = record?;
        let RecordEvent::Sent {
            state: Some(state),
            headers,
            ..
        } = record.event
        else {
            continue;
        };
        let Ok((header, _)) = Header::decode_headers(headers) else {
            continue;
        };
        let Some((flow, Direction::Data)) = direction(setup, record.place, &header) else {
            continue;
        };
        let left = state.sacked_out.saturating_add(state.lost_out);
        let pipe = state.packets_out.saturating_sub(left) + state.retrans_out;
        let micros = |time: u32| Duration::from_micros(time.into());
        found.push(SenderSample {
            at: record.at,
            flow,
            cwnd: state.cwnd.into(),
            ssthresh: match state.ssthresh {
                NO_THRESHOLD => f64::INFINITY,
                set => set.into(),
            },
            pipe: pipe.into(),
            flight: state.packets_out.into(),
            srtt: (state.srtt_us > 0).then(|| micros(state.srtt_us)),
            rto: micros(state.rto_us),
        });
    }
    Ok(found)
}

/// Sends the packets of the devices over the links again, and compares the results; if it is `multihomed`, over the
/// links of a node that has an interface on each access link.
///
/// # Errors
/// [`LabError::Record`]; [`LabError::Study`] for an invalid world.
pub fn check_links(setup: &Setup, record: &[u8], multihomed: bool) -> Result<LinkCheck, LabError> {
    let mut emulator = Emulator::new(setup, multihomed)?;
    let mut check = LinkCheck::default();
    let mut fates: BTreeMap<u32, Fate> = BTreeMap::new();
    for entry in records(record) {
        let entry = entry?;
        if let RecordEvent::Sent { .. } = entry.event {
            emulator.take_entries(entry.bytes)?;
            check.packets += 1;
        }
        if let RecordEvent::Delivered { late_ns, .. } = entry.event {
            let late = Duration::from_nanos(late_ns.unsigned_abs().into());
            check.most_late = check.most_late.max(late);
        }
        if let Some(fate) = Fate::of(&entry) {
            fates.insert(entry.packet, fate);
        }
    }
    let end = end_of(record)?;
    emulator.run(setup.end.max(end))?;
    let again = emulator.into_record();
    let mut simulated: BTreeMap<u32, Fate> = BTreeMap::new();
    for entry in records(&again) {
        let entry = entry?;
        if let Some(fate) = Fate::of(&entry) {
            simulated.insert(entry.packet, fate);
        }
    }
    for (number, fate) in fates {
        let again = simulated.get(&number).copied().unwrap_or(Fate::Underway);
        let is_open = fate == Fate::Underway && again.at().is_none_or(|at| at >= end);
        if fate == again || is_open {
            check.same += 1;
            check.lost += usize::from(matches!(fate, Fate::Lost(..)));
        } else if check.differences.len() < MOST_TOLD {
            check.differences.push(format!(
                "packet {number}: {fate} in the record, {again} when it is sent again"
            ));
        }
    }
    Ok(check)
}
