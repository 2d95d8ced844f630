//! Segments encoded to and decoded from bytes of IPv4 and TCP, and capture files in pcapng.
//!
//! [`Header::encode`] makes a packet from a header and its data, including checksums;
//! [`Header::decode`] reads one. The decoder is total: any bytes give a header and data, or a
//! [`WireError`] that names the error.
//!
//! ```
//! use midflight_wire::Header;
//!
//! let mut header = Header::new(
//!     "10.0.0.1:49152".parse()?,
//!     "10.1.0.1:9".parse()?,
//! );
//! header.seq = 1;
//! header.ack = Some(1);
//! header.options.timestamps = Some((7, 5));
//! let packet = header.encode(b"data")?;
//! assert_eq!(packet.len(), 20 + 20 + 12 + 4);
//! assert_eq!(Header::decode(&packet)?, (header, &b"data"[..]));
//! assert!(Header::decode(&packet[..50]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A simulated flow counts whole segments. [`Uniform`] encodes them as packets of one
//! size, for captures.

mod header;
mod options;
pub mod pcapng;
mod uniform;

pub use header::{Flags, Header, QuickStart, WireError, HEADER_BYTES, TTL};
pub use options::{clock, Blocks, Extra, Options, MOST_SHIFT, TIMESTAMP_BYTES};
pub use uniform::{payload_bytes, AckSent, Ends, Packet, Uniform};
