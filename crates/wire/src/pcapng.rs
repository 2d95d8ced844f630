//! A pcapng file (draft-ietf-opsawg-pcapng): one section, one interface of raw IPv4, times in nanoseconds
//! since the start of the run.

use std::borrow::Cow;
use std::time::Duration;

use midflight_units::Instant;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::pcapng::PcapNgWriter;
pub use pcap_file::PcapError;
use pcap_file::{DataLink, Endianness};

/// Directions in the flags of a packet.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// Type of a block of secrets (draft-ietf-opsawg-pcapng, section 4.7), and the type of secrets for a key
/// log.
const DECRYPTION_SECRETS: u32 = 0x0a;
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Times are multiples of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// A capture file under construction.
pub struct File {
    writer: PcapNgWriter<Vec<u8>>,
    snap: u32,
}

impl File {
    /// An empty capture at this point, with a comment on its content. At most the first `snap` bytes of
    /// each packet are kept, 0 for all.
    ///
    /// # Errors
    /// [`PcapError`] when the header cannot be written.
    pub fn new(place: &str, snap: u32, about: &str) -> Result<Self, PcapError> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            major_version: 1,
            minor_version: 0,
            section_length: -1,
            options: vec![
                SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                    "midflight ",
                    env!("CARGO_PKG_VERSION")
                ))),
                SectionHeaderOption::Comment(Cow::Owned(about.to_string())),
            ],
        };
        let mut writer = PcapNgWriter::with_section_header(Vec::new(), section)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: snap,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(place)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        writer.write_pcapng_block(interface)?;
        Ok(Self { writer, snap })
    }

    /// Adds the lines of a TLS key log, with which a reader can decrypt the following packets.
    ///
    /// # Errors
    /// [`PcapError`] when they cannot be written.
    pub fn add_secrets(&mut self, lines: &str) -> Result<(), PcapError> {
        let mut body = TLS_KEY_LOG.to_le_bytes().to_vec();
        body.extend((lines.len() as u32).to_le_bytes());
        body.extend(lines.as_bytes());
        body.resize(body.len().next_multiple_of(4), 0);
        let block = UnknownBlock::new(DECRYPTION_SECRETS, body.len() as u32, &body);
        self.writer.write_pcapng_block(block)?;
        Ok(())
    }

    /// Adds a packet of `length` bytes that enters or leaves the point; `packet` is its beginning, or all
    /// of it.
    ///
    /// # Errors
    /// [`PcapError`] when it cannot be written.
    pub fn add(
        &mut self,
        at: Instant,
        packet: &[u8],
        length: u32,
        leaves: bool,
        remarks: &[String],
    ) -> Result<(), PcapError> {
        let kept = match self.snap {
            0 => packet,
            most => &packet[..packet.len().min(most as usize)],
        };
        let direction = if leaves { OUTBOUND } else { INBOUND };
        let mut options = vec![EnhancedPacketOption::Flags(direction)];
        let comments = remarks.iter().map(|text| Cow::Borrowed(text.as_str()));
        options.extend(comments.map(EnhancedPacketOption::Comment));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: length,
            data: Cow::Borrowed(kept),
            options,
        };
        self.writer.write_pcapng_block(block)?;
        Ok(())
    }

    /// The file.
    pub fn finish(self) -> Vec<u8> {
        self.writer.into_inner()
    }
}
