//! The record of packets of a run in the lab (`lab/kernel/midflight.h`).

use midflight_sim::DropCause;
use midflight_units::{Duration, Instant};

use super::LabError;

/// Bytes of a fixed entry, and of the connection state that may follow a sent packet.
const FIXED: usize = 24;
const STATE: usize = 64;

/// The kernel's state of a sender's connection after it has decided to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelState {
    /// `icsk_ca_state`: open, disorder, CWR, recovery, loss.
    pub ca_state: u8,
    /// `icsk_retransmits`.
    pub retransmits: u8,
    /// `icsk_backoff`.
    pub backoff: u8,
    /// Timeouts of the connection so far.
    pub timeouts: u32,
    /// `snd_cwnd` in segments.
    pub cwnd: u32,
    /// `snd_ssthresh` in segments.
    pub ssthresh: u32,
    /// `srtt_us / 8`.
    pub srtt_us: u32,
    /// `mdev_us / 4`.
    pub rttvar_us: u32,
    /// `icsk_rto`.
    pub rto_us: u32,
    /// Segments that were sent and not acknowledged.
    pub packets_out: u32,
    /// Those of them that are SACKed.
    pub sacked_out: u32,
    /// Those of them that count as lost.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// `reordering`.
    pub reordering: u32,
    /// `sk_pacing_rate` in bytes per second.
    pub pacing_rate: u64,
    /// `mss_cache`.
    pub mss: u32,
    /// `snd_una`.
    pub snd_una: u32,
}

/// An event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordEvent<'a> {
    /// The device of a node sent it.
    Sent {
        /// Its bytes, with the IP header.
        bytes: u32,
        /// The state of its connection; None for a packet that no connection sent.
        state: Option<KernelState>,
        /// Its headers of IP and of TCP or UDP.
        headers: &'a [u8],
    },
    /// The device of a node received it.
    Delivered {
        /// The link over which it came; none if it never left the node.
        link: Option<u16>,
        /// How much later than the link's model says, in nanoseconds.
        late_ns: i32,
    },
    /// A link lost it.
    Lost(DropCause),
    /// The discipline of a link's queue marked it: "congestion experienced".
    Marked,
    /// A node had no route for it.
    NoRoute,
}

/// An entry of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset in the record.
    pub offset: usize,
    /// When.
    pub at: Instant,
    /// All of it.
    pub bytes: &'a [u8],
    /// Number of the packet.
    pub packet: u32,
    /// Number of the node or link.
    pub place: u16,
    /// The event.
    pub event: RecordEvent<'a>,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*field))
}

/// IP's number of UDP, and the length of its header.
const UDP: (u8, usize) = (17, 8);

/// The headers of IP and of TCP or UDP, by their length fields; padding follows them.
fn headers(bytes: &[u8]) -> &[u8] {
    let words = |at: usize, shift: u8| {
        bytes
            .get(at)
            .map_or(0, |b| usize::from(b >> shift & 15) * 4)
    };
    let ip = words(0, 0);
    let transport = match bytes.get(9) {
        Some(&protocol) if protocol == UDP.0 => UDP.1,
        _ => words(ip + 12, 4),
    };
    bytes.get(..ip + transport).unwrap_or(bytes)
}

/// The state of a connection, and whether it is valid.
fn state(bytes: &[u8]) -> Option<(bool, KernelState)> {
    let &[is_there, ca_state, retransmits, backoff] = bytes.first_chunk()?;
    let field = |number: usize| u32_at(bytes, 4 + 4 * number);
    let state = KernelState {
        ca_state,
        retransmits,
        backoff,
        timeouts: field(0)?,
        cwnd: field(1)?,
        ssthresh: field(2)?,
        srtt_us: field(3)?,
        rttvar_us: field(4)?,
        rto_us: field(5)?,
        packets_out: field(6)?,
        sacked_out: field(7)?,
        lost_out: field(8)?,
        retrans_out: field(9)?,
        reordering: field(10)?,
        pacing_rate: u64_at(bytes, 48)?,
        mss: field(13)?,
        snd_una: field(14)?,
    };
    Some((is_there != 0, state))
}

/// Reads the entry at `offset`; also returns the offset of the next one.
fn read(bytes: &[u8], offset: usize) -> Result<(Record<'_>, usize), LabError> {
    let damaged = |what: String| LabError::Record { at: offset, what };
    let rest = bytes.get(offset..).unwrap_or_default();
    let short = || damaged(format!("{} bytes are left", rest.len()));
    let &[p, q, event, words] = rest
        .get(12..)
        .and_then(<[u8]>::first_chunk)
        .ok_or_else(short)?;
    let length = 8 * usize::from(words);
    let whole = rest.get(..length).ok_or_else(short)?;
    let (Some(at), Some(packet), Some(value), Some(late)) = (
        u64_at(whole, 0),
        u32_at(whole, 8),
        u32_at(whole, 16),
        u32_at(whole, 20),
    ) else {
        return Err(damaged(format!("an entry of {length} bytes")));
    };
    let event = match event {
        1 => {
            let more = whole.get(FIXED..).unwrap_or_default();
            let (Some((is_there, state)), Some(tail)) = (state(more), more.get(STATE..)) else {
                return Err(damaged(format!("a sent packet of {length} bytes")));
            };
            RecordEvent::Sent {
                bytes: value,
                state: is_there.then_some(state),
                headers: headers(tail),
            }
        }
        2 => RecordEvent::Delivered {
            link: u16::try_from(value).ok().filter(|&link| link != u16::MAX),
            late_ns: late as i32,
        },
        3 => RecordEvent::Lost(DropCause::Queue),
        4 => RecordEvent::Lost(DropCause::Break),
        5 => RecordEvent::Lost(DropCause::Radio),
        6 => RecordEvent::NoRoute,
        7 => RecordEvent::Lost(DropCause::Early),
        8 => RecordEvent::Marked,
        other => return Err(damaged(format!("an event of the unknown kind {other}"))),
    };
    let place = u16::from_le_bytes([p, q]);
    let record = Record {
        offset,
        at: Instant::from_nanos(at),
        bytes: whole,
        packet,
        place,
        event,
    };
    Ok((record, offset + length))
}

/// The entries of a record, in the order of recording. After an error there are no more.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = Result<Record<'_>, LabError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= bytes.len() {
            return None;
        }
        match read(bytes, at) {
            Ok((record, next)) => {
                at = next;
                Some(Ok(record))
            }
            Err(error) => {
                at = bytes.len();
                Some(Err(error))
            }
        }
    })
}

/// Writes a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer(Vec<u8>);

/// Maximum number of header bytes that are kept.
const HEADERS: usize = 120;

impl Writer {
    /// Begins an entry; returns its offset.
    fn entry(
        &mut self,
        now: Instant,
        packet: u32,
        place: u16,
        event: u8,
        value: u32,
        more: usize,
    ) -> usize {
        let at = self.0.len();
        let length = (FIXED + more).next_multiple_of(8);
        self.0.extend(now.as_nanos().to_le_bytes());
        self.0.extend(packet.to_le_bytes());
        self.0.extend(place.to_le_bytes());
        self.0.extend([event, (length / 8) as u8]);
        self.0.extend(value.to_le_bytes());
        self.0.resize(at + length, 0);
        at
    }

    /// An entry that the driver has written.
    pub(super) fn copy(&mut self, entry: &[u8]) {
        self.0.extend(entry);
    }

    /// A sent packet of which only the bytes are known.
    pub(super) fn sent(&mut self, now: Instant, packet: u32, node: u16, bytes: &[u8]) {
        let known = bytes.get(..HEADERS).unwrap_or(bytes);
        let kept = headers(known);
        let all = bytes.len() as u32;
        let at = self.entry(now, packet, node, 1, all, STATE + kept.len());
        let from = at + FIXED + STATE;
        self.0[from..from + kept.len()].copy_from_slice(kept);
    }

    pub(super) fn delivered(&mut self, now: Instant, packet: u32, node: u16, link: u16) -> usize {
        self.entry(now, packet, node, 2, link.into(), 0)
    }

    /// The packet of the entry at this offset was delivered this much later.
    pub(super) fn late(&mut self, at: usize, late: Duration) {
        let late = i32::try_from(late.as_nanos()).unwrap_or(i32::MAX);
        if let Some(field) = self.0.get_mut(at + 20..at + FIXED) {
            field.copy_from_slice(&late.to_le_bytes());
        }
    }

    pub(super) fn lost(&mut self, now: Instant, packet: u32, link: u16, cause: DropCause) {
        let event = match cause {
            DropCause::Queue => 3,
            DropCause::Early => 7,
            DropCause::Break => 4,
            DropCause::Radio => 5,
            DropCause::Node => 6,
        };
        self.entry(now, packet, link, event, 0, 0);
    }

    pub(super) fn marked(&mut self, now: Instant, packet: u32, link: u16) {
        self.entry(now, packet, link, 8, 0, 0);
    }

    pub(super) fn no_route(&mut self, now: Instant, packet: u32, node: u16) {
        self.entry(now, packet, node, 6, 0, 0);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(event: u8, more: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(1_500_000_u64.to_le_bytes());
        bytes.extend(7_u32.to_le_bytes());
        bytes.extend(3_u16.to_le_bytes());
        bytes.extend([event, ((FIXED + more.len()) / 8) as u8]);
        bytes.extend(2_u32.to_le_bytes());
        bytes.extend((-1_i32).to_le_bytes());
        bytes.extend(more);
        bytes
    }

    #[test]
    fn entries_are_read_as_they_are_written() {
        let mut sent = vec![1, 4, 2, 1];
        for field in 1_u32..=11 {
            sent.extend(field.to_le_bytes());
        }
        sent.extend(125_000_u64.to_le_bytes());
        sent.extend(1448_u32.to_le_bytes());
        sent.extend(99_u32.to_le_bytes());
        let mut ip = vec![0; 56];
        (ip[0], ip[32]) = (0x45, 0x80);
        sent.extend(&ip);
        let bytes = [entry(1, &sent), entry(2, &[]), entry(4, &[])].concat();
        let found: Result<Vec<_>, _> = records(&bytes).collect();
        let found = found.unwrap_or_default();
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].packet, found[0].place), (7, 3));
        let (state, headers) = match found[0].event {
            RecordEvent::Sent { state, headers, .. } => (state.unwrap_or_default(), headers),
            _ => Default::default(),
        };
        assert_eq!(headers.len(), 52);
        assert_eq!((state.ca_state, state.timeouts, state.cwnd), (4, 1, 2));
        assert_eq!((state.reordering, state.mss, state.snd_una), (11, 1448, 99));
        let (link, late_ns) = (Some(2), -1);
        assert_eq!(found[1].event, RecordEvent::Delivered { link, late_ns });
        assert_eq!(found[2].event, RecordEvent::Lost(DropCause::Break));
    }

    /// The ports, which distinguish connections, are also in the UDP header.
    #[test]
    fn ports_of_udp_are_kept() {
        let mut packet = vec![0_u8; 100];
        (packet[0], packet[9]) = (0x45, 17);
        packet[20..28].copy_from_slice(&[1, 2, 3, 4, 0, 80, 0, 0]);
        packet[32] = 0x50;
        assert_eq!(headers(&packet), &packet[..28]);
        packet[9] = 6;
        assert_eq!(headers(&packet), &packet[..40]);
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let mut bytes = entry(2, &[]);
        bytes.extend(entry(9, &[]));
        let errors: Vec<_> = records(&bytes).filter_map(Result::err).collect();
        assert_eq!(errors.len(), 1);
        assert!(errors[0]
            .to_string()
            .contains("byte 24: an event of the unknown kind 9"));
        let cut: Vec<_> = records(&bytes[..30]).filter_map(Result::err).collect();
        assert!(cut[0].to_string().contains("6 bytes are left"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let count = records(&bytes).count();
            prop_assert!(count <= bytes.len());
        }
    }
}
