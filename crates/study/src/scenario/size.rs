//! How much each flow of an entry sends: a constant, or a drawn amount.

use midflight_tcp::Profile;
use midflight_units::Seq;
use midflight_wire::payload_bytes;

use super::file::FlowFile;
use super::plan::{problem, Problem};
use super::quic::QuicFlow;
use super::written::Size;

/// The sizes of the flows of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowSize {
    size: Size,
    /// Bytes of data in a segment; a QUIC stack uses its own size.
    payload: u32,
}

impl FlowSize {
    pub(super) fn new(key: &str, flow: &FlowFile, profile: &Profile) -> Result<Self, Problem> {
        let size = flow.size.value;
        let payload = payload_bytes(profile);
        let is_in_bytes = matches!(size, Size::Bytes(_) | Size::Drawn(_));
        if is_in_bytes && payload.is_none() && flow.stack.quic().is_none() {
            let bytes = profile.sender.segment_bytes;
            let why = format!("segments of {bytes} bytes have no room for data; expected larger segments (setting segment_bytes)");
            return problem(format!("{key}.size"), why);
        }
        let payload = payload.unwrap_or(1);
        Ok(Self { size, payload })
    }

    /// One past the last segment of the next flow, none if it is unlimited, and the size for a QUIC stack's flow.
    /// Random sizes are drawn from uniform numbers in [0, 1).
    pub(super) fn next(
        &self,
        quic: Option<&QuicFlow>,
        uniform: impl FnOnce() -> f64,
    ) -> (Option<Seq>, Option<QuicFlow>) {
        let size = match self.size {
            Size::Drawn(sizes) => Size::Bytes(sizes.draw(uniform)),
            fixed => fixed,
        };
        if let Some(quic) = quic {
            let quic = quic.with_size(size);
            return (quic.end(), Some(quic));
        }
        // Segment 0 is the SYN.
        let end = match size {
            Size::Packets(packets) => Some(1 + packets),
            Size::Bytes(bytes) => Some(1 + bytes.div_ceil(u64::from(self.payload))),
            Size::Unlimited | Size::Drawn(_) => None,
        };
        (end, None)
    }
}
