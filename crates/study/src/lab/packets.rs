//! The packets of a record as captures, with the headers that the kernel made.

use std::collections::BTreeMap;

use midflight_wire::{pcapng, Header};

use super::record::{records, RecordEvent};
use super::replay::{direction, Direction};
use super::LabError;
use crate::setup::Setup;
use crate::watch::Capture;

impl From<pcapng::PcapError> for LabError {
    fn from(error: pcapng::PcapError) -> Self {
        Self::Capture(error.to_string())
    }
}

/// The packets of a flow at its sender and at its receiver: their headers; data was not recorded.
///
/// # Errors
/// [`LabError`], also for an unknown flow.
pub fn record_captures(
    setup: &Setup,
    record: &[u8],
    flow: Option<&str>,
    about: &str,
) -> Result<Vec<Capture>, LabError> {
    let number = setup.flow_of_name(flow)?;
    let of = &setup.flows[number];
    let mut sender = pcapng::File::new("sender", 0, about)?;
    let mut receiver = pcapng::File::new("receiver", 0, about)?;
    let mut underway = BTreeMap::new();
    let mut counts = [0, 0];
    for record in records(record) {
        let record = record?;
        match record.event {
            RecordEvent::Sent { bytes, headers, .. } => {
                let Ok((header, _)) = Header::decode_headers(headers) else {
                    continue;
                };
                let Some((flow, way)) = direction(setup, record.place, &header) else {
                    continue;
                };
                if flow != number {
                    continue;
                }
                let (file, count) = match way {
                    Direction::Data => (&mut sender, 0),
                    Direction::Acks => (&mut receiver, 1),
                };
                counts[count] += 1;
                file.add(record.at, headers, bytes, true, &[])?;
                underway.insert(record.packet, (headers, bytes));
            }
            RecordEvent::Delivered { .. } => {
                let Some((headers, bytes)) = underway.remove(&record.packet) else {
                    continue;
                };
                let (file, count) = if record.place == of.to.0 {
                    (&mut receiver, 1)
                } else {
                    (&mut sender, 0)
                };
                counts[count] += 1;
                file.add(record.at, headers, bytes, false, &[])?;
            }
            RecordEvent::Marked => {}
            RecordEvent::Lost(_) | RecordEvent::NoRoute => {
                underway.remove(&record.packet);
            }
        }
    }
    let capture = |place: &str, packets: usize, file: pcapng::File| Capture {
        place: place.into(),
        packets,
        pcapng: file.finish(),
    };
    Ok(vec![
        capture("sender", counts[0], sender),
        capture("receiver", counts[1], receiver),
    ])
}
