use midflight_units::{Duration, Rate};

use crate::Advice;

/// Bytes of a full-sized data packet on the wire in the papers' formulas.
pub const DATA_BYTES: u64 = 1500;
/// Bytes of an ACK without SACK blocks in the papers' formulas.
pub const ACK_BYTES: u64 = 40;

/// The values of one access link in a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// Bandwidth.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Duration,
}

impl LinkInfo {
    /// `SDpkt`: serialisation delay of a 1500-byte data packet (Daniel & Kojo 2008, section 5.2).
    pub fn data_time(&self) -> Duration {
        self.rate.transmission_time(DATA_BYTES)
    }

    /// `SDack`: serialisation delay of a 40-byte ACK (Daniel & Kojo 2008, section 5.2).
    pub fn ack_time(&self) -> Duration {
        self.rate.transmission_time(ACK_BYTES)
    }

    /// `RTT_newlink` = 2 D + SDpkt + SDack, the access link's own part of the
    /// round trip (Daniel & Kojo 2008, section 5.2).
    pub fn round_trip(&self) -> Duration {
        self.delay * 2 + self.data_time() + self.ack_time()
    }

    /// `BDP_newlink` = BW x `RTT_newlink` in whole 1500-byte packets, rounded
    /// down (Daniel & Kojo 2008, section 5.2; 400 kbit/s and 150 ms give 11).
    pub fn bdp_packets(&self) -> u64 {
        self.bdp_segments(DATA_BYTES as u32)
    }

    /// The same in a sender's own packets, of `segment_bytes` on the wire each; those of a QUIC sender are smaller.
    pub fn bdp_segments(&self, segment_bytes: u32) -> u64 {
        self.rate.bits_in(self.round_trip()) / (8 * u64::from(segment_bytes.max(1)))
    }
}

/// The cross-layer message that notifies a sender of a change of its access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The link that the flow leaves.
    pub old: LinkInfo,
    /// The link that the flow moves to.
    pub new: LinkInfo,
    /// Number of flows that move together, at least 1.
    pub flows: u32,
}

/// The cross-layer message that informs a sender, before its connection opens, about its access
/// link (Daniel & Kojo, report on available bandwidth, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartNotice {
    /// The access link.
    pub link: LinkInfo,
    /// Number of flows that start together on it, at least 1.
    pub flows: u32,
}

/// Information about the path for a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathUpdate {
    /// A handoff.
    Notice(Notice),
    /// A rate.
    Advice(Advice),
}

impl Notice {
    /// `RTT_old_newlink` = `D_old` + `SDpkt_old` + `D_new` + `SDack_new`: a
    /// data packet over the old link, its ACK over the new one (Daniel & Kojo
    /// 2008, section 5.2; the formula there prints "Dack", its legend "SDack").
    pub fn round_trip_old_new(&self) -> Duration {
        self.old.delay + self.old.data_time() + self.new.delay + self.new.ack_time()
    }

    /// Whether the one-way delay grows.
    pub fn delay_increases(&self) -> bool {
        self.new.delay > self.old.delay
    }

    /// Whether the one-way delay shrinks.
    pub fn delay_decreases(&self) -> bool {
        self.new.delay < self.old.delay
    }

    /// Whether the bandwidth shrinks.
    pub fn bandwidth_decreases(&self) -> bool {
        self.new.rate < self.old.rate
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn link(kbps: u64, ms: u64) -> LinkInfo {
        LinkInfo {
            rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
            delay: Duration::from_millis(ms),
        }
    }

    #[test]
    fn the_papers_worked_round_trips_and_bdp() {
        let notice = Notice {
            old: link(6400, 9),
            new: link(200, 300),
            flows: 1,
        };
        assert_eq!(notice.round_trip_old_new(), Duration::from_micros(312_475));
        assert_eq!(notice.new.round_trip(), Duration::from_micros(661_600));
        assert_eq!(link(400, 150).bdp_packets(), 11);
        // 16,590 bytes: 13 of 1228 bytes.
        assert_eq!(link(400, 150).bdp_segments(1500), 11);
        assert_eq!(link(400, 150).bdp_segments(1228), 13);
    }
}
