use midflight_units::{Instant, Seq};

use crate::delivery::RateSample;
use crate::signal::HandoffMark;

/// The content of an ACK that a sender has processed. Sequence numbers are in segments.
///
/// A sender builds it once per ACK, and only if a part is called for ACKs.
#[derive(Clone, Copy, Debug)]
pub struct AckNews<'a> {
    /// Next segment expected.
    pub ack: Seq,
    /// SND.UNA before the ACK.
    pub una_before: Seq,
    /// FlightSize before the ACK.
    pub in_flight_before: u64,
    /// Segments that it newly acknowledges cumulatively.
    pub advanced: u64,
    /// It repeats SND.UNA while data is outstanding (RFC 5681 section 2).
    pub duplicate: bool,
    /// Echo of the timestamp of the segment that caused the ACK, if timestamps are in use.
    pub echo: Option<Instant>,
    /// Blocks above the ACK number, each excluding its right edge.
    pub blocks: &'a [(Seq, Seq)],
    /// A segment that arrived twice (RFC 2883).
    pub dsack: Option<Seq>,
    /// A handoff mark.
    pub mark: Option<HandoffMark>,
    /// The delivery rate, if a part uses it.
    pub rate: Option<RateSample>,
}

#[cfg(test)]
pub(crate) mod testing {
    use midflight_units::Seq;

    use super::AckNews;

    /// A duplicate ACK without options; 20 segments are outstanding.
    pub(crate) fn duplicate(ack: Seq) -> AckNews<'static> {
        AckNews {
            ack,
            una_before: ack,
            in_flight_before: 20,
            advanced: 0,
            duplicate: true,
            echo: None,
            blocks: &[],
            dsack: None,
            mark: None,
            rate: None,
        }
    }

    /// An ACK of this many more segments.
    pub(crate) fn advance(ack: Seq, segments: u64) -> AckNews<'static> {
        AckNews {
            una_before: ack - segments,
            advanced: segments,
            duplicate: false,
            ..duplicate(ack)
        }
    }
}
