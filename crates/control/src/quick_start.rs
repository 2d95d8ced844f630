//! Quick-Start (RFC 4782): the messages about a rate between a sender, the routers of a path and a
//! receiver.
//!
//! A request is an IP option of a data packet. Every router that takes part lowers the rate to what
//! it can grant and decrements the option's own TTL together with that of the packet; if all
//! routers did, the difference of the TTLs is the same as at the sender. The receiver returns both
//! with its ACK.

use std::fmt;

use midflight_units::{Duration, Rate};

/// Rate 1 of the encoding is twice this, in bit/s (RFC 4782 section 3.1).
const RATE_UNIT: u64 = 40_000;
/// Bits of the nonce (RFC 4782 section 3.4).
const NONCE_BITS: u32 = 30;
const NONCE_MASK: u32 = (1 << NONCE_BITS) - 1;

/// A rate as encoded in the option: 40 kbit/s x 2^N, and 0 for none (RFC 4782 section 3.1, table
/// 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateCode(u8);

impl RateCode {
    /// No rate.
    pub const ZERO: Self = Self(0);
    /// The highest rate, 1,310,720 kbit/s.
    pub const MOST: Self = Self(15);

    /// The code of this number; none above 15.
    pub fn new(code: u8) -> Option<Self> {
        (code <= Self::MOST.0).then_some(Self(code))
    }

    /// Its number.
    pub fn code(self) -> u8 {
        self.0
    }

    /// The rate; none for zero.
    pub fn rate(self) -> Option<Rate> {
        (self.0 > 0)
            .then(|| RATE_UNIT << self.0)
            .and_then(Rate::from_bps)
    }

    /// The highest rate that is not above this many bit/s (RFC 4782 appendix D rounds down).
    pub fn at_most(bps: u64) -> Self {
        let fits = |code: &u8| RATE_UNIT << code <= bps;
        Self((1..=Self::MOST.0).rev().find(fits).unwrap_or(0))
    }

    /// The lowest rate that is not below a rate, or the highest there is (RFC 4782 section 4.1: a
    /// desired rate is rounded up).
    pub fn at_least(rate: Rate) -> Self {
        let enough = |code: &u8| RATE_UNIT << code >= rate.as_bps();
        (1..=Self::MOST.0).find(enough).map_or(Self::MOST, Self)
    }
}

impl fmt::Display for RateCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate() {
            Some(rate) => write!(f, "{rate}"),
            None => write!(f, "no rate"),
        }
    }
}

/// Thirty bits that a receiver cannot guess: to claim that a rate was not lowered, it would need
/// the bits that the router changed (RFC 4782 section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonce(u32);

impl Nonce {
    /// From the lowest 30 bits of `random`.
    pub fn new(random: u64) -> Self {
        Self(random as u32 & NONCE_MASK)
    }

    /// The bits.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The nonce after a router has lowered the rate: the two bits of each step are drawn again.
    /// Bits 0 and 1, the most significant ones, are those of the step from 15 to 14 (RFC 4782 table
    /// 2).
    #[must_use]
    fn lowered(self, from: RateCode, to: RateCode, random: u64) -> Self {
        let below = |code: RateCode| (1_u32 << (2 * u32::from(code.0))) - 1;
        let steps = below(from) & !below(to) & NONCE_MASK;
        Self(self.0 & !steps | random as u32 & steps)
    }

    /// Whether the bits of the steps from `rate` down to zero are equal, the rightmost 2K for a
    /// rate K (RFC 4782 section 4.4).
    fn agrees(self, other: Self, rate: RateCode) -> bool {
        let mask = (1_u32 << (2 * u32::from(rate.0))) - 1;
        (self.0 ^ other.0) & mask == 0
    }
}

/// A rate request in transit (RFC 4782 section 3.1), with the IP TTL of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The requested rate, lowered by routers.
    pub rate: RateCode,
    /// TTL of the IP header.
    pub ip_ttl: u8,
    /// TTL of the option.
    pub qs_ttl: u8,
    /// Nonce.
    pub nonce: Nonce,
}

impl Request {
    /// A router without Quick-Start support forwards the packet.
    pub fn pass_unaware(&mut self) {
        self.ip_ttl = self.ip_ttl.wrapping_sub(1);
    }

    /// A router that takes part forwards the packet, and grants at most this rate (RFC 4782 section
    /// 3.3); a grant of zero ends the request.
    pub fn pass(&mut self, granted: RateCode, random: u64) {
        self.ip_ttl = self.ip_ttl.wrapping_sub(1);
        self.qs_ttl = self.qs_ttl.wrapping_sub(1);
        self.grant(granted, random);
    }

    /// The same at the sender's own IP layer, which does not decrement the TTL.
    pub fn grant(&mut self, granted: RateCode, random: u64) {
        if granted == RateCode::ZERO || self.rate == RateCode::ZERO {
            self.rate = RateCode::ZERO;
            self.qs_ttl = 0;
            self.nonce = Nonce(0);
            return;
        }
        if granted < self.rate {
            self.nonce = self.nonce.lowered(self.rate, granted, random);
            self.rate = granted;
        }
    }

    /// The difference of the TTLs (RFC 4782 section 3.1, equation 1).
    pub fn ttl_diff(&self) -> u8 {
        self.ip_ttl.wrapping_sub(self.qs_ttl)
    }

    /// The receiver's response; none for a rate of zero (RFC 4782 section 4.3).
    pub fn response(&self) -> Option<Response> {
        (self.rate > RateCode::ZERO).then(|| Response {
            rate: self.rate,
            ttl_diff: self.ttl_diff(),
            nonce: self.nonce,
        })
    }
}

/// A receiver's response (RFC 4782 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The rate as it arrived.
    pub rate: RateCode,
    /// Difference of the TTLs as they arrived.
    pub ttl_diff: u8,
    /// Nonce as it arrived.
    pub nonce: Nonce,
}

/// How the routers of a path handle requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Routers {
    /// They take part; otherwise they forward requests as they are.
    pub take_part: bool,
    /// Fraction of a link's rate that utilisation and grants together may reach (`qs_thresh`, RFC
    /// 4782 appendix D).
    pub threshold: f64,
    /// Interval over which utilisation is measured and grants are summed; the current one and the
    /// previous one count.
    pub interval: Duration,
    /// The amount reserved from later requests is the available rate before rounding to the
    /// encoding (ns-2), instead of the approved rate (RFC 4782 appendix D).
    pub book_unrounded: bool,
}

impl Default for Routers {
    /// As in the ns-2 implementation that the papers used: 85 %, 200 ms.
    fn default() -> Self {
        Self {
            take_part: true,
            threshold: 0.85,
            interval: Duration::from_millis(200),
            book_unrounded: false,
        }
    }
}

/// Why a request is treated as denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The packet was acknowledged without a response, or was lost.
    NoResponse,
    /// A router on the path does not take part.
    TtlDiff,
    /// The returned rate is higher than the requested one.
    Raised,
    /// The nonce does not match: the receiver claims a rate that was not granted.
    Nonce,
}

impl Denial {
    /// A description.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoResponse => "no router's answer came back",
            Self::TtlDiff => "a router on the path takes no part",
            Self::Raised => "the answer is more than was asked for",
            Self::Nonce => "the nonce of the answer is wrong",
        }
    }
}

/// The rate that a sender may use after this response to its request (RFC 4782 section 4.4).
///
/// # Errors
/// [`Denial`] when the request failed.
pub fn approved(sent: &Request, answer: Option<&Response>) -> Result<RateCode, Denial> {
    let answer = answer.ok_or(Denial::NoResponse)?;
    if answer.ttl_diff != sent.ttl_diff() {
        return Err(Denial::TtlDiff);
    }
    if answer.rate > sent.rate {
        return Err(Denial::Raised);
    }
    if !answer.nonce.agrees(sent.nonce, answer.rate) {
        return Err(Denial::Nonce);
    }
    Ok(answer.rate)
}

/// `QS-cwnd` in segments of this many bytes on the wire: the amount sent in a round trip at the
/// rate (RFC 4782 section 4.4, equation 3).
pub fn window(rate: Rate, round_trip: Duration, segment_bytes: u32) -> u64 {
    rate.bits_in(round_trip) / (8 * u64::from(segment_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: u8) -> RateCode {
        RateCode::new(code).unwrap_or_default()
    }

    fn request(rate: u8) -> Request {
        Request {
            rate: code(rate),
            ip_ttl: 64,
            qs_ttl: 201,
            nonce: Nonce::new(0x2ABC_DEF5),
        }
    }

    /// RFC 4782 table 1, in kbit/s.
    #[test]
    fn the_rates_of_table_1() {
        let table = [
            80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 20_480, 40_960, 81_920, 163_840,
            327_680, 655_360, 1_310_720,
        ];
        for (kbps, n) in table.into_iter().zip(1..) {
            let rate = Rate::from_bps(kbps * 1000);
            assert_eq!(code(n).rate(), rate);
            assert_eq!(rate.map(RateCode::at_least), Some(code(n)));
            assert_eq!(RateCode::at_most(kbps * 1000), code(n));
            assert_eq!(RateCode::at_most(kbps * 1000 - 1), code(n - 1));
        }
        assert_eq!(code(0).rate(), None);
        assert_eq!(RateCode::new(16), None);
        assert_eq!(RateCode::at_least(Rate::from_mbps(10_000)), RateCode::MOST);
        assert_eq!(RateCode::at_least(Rate::from_mbps(50)), code(11));
    }

    /// RFC 4782 figure 1: every router approves, and the TTLs keep their difference.
    #[test]
    fn a_request_that_all_routers_approve() {
        let sent = request(9);
        let mut on_the_way = sent;
        for _ in 0..3 {
            on_the_way.pass(code(12), u64::MAX);
        }
        assert_eq!((on_the_way.ip_ttl, on_the_way.qs_ttl), (61, 198));
        let answer = on_the_way.response();
        assert_eq!(approved(&sent, answer.as_ref()), Ok(code(9)));
    }

    /// RFC 4782 figure 2: a router that does not take part, or that denies the request.
    #[test]
    fn a_request_that_a_router_does_not_approve() {
        let sent = request(9);
        let mut unaware = sent;
        unaware.pass(code(9), 0);
        unaware.pass_unaware();
        unaware.pass(code(9), 0);
        let answer = unaware.response();
        assert_eq!(approved(&sent, answer.as_ref()), Err(Denial::TtlDiff));
        let mut denied = sent;
        denied.pass(code(9), 0);
        denied.pass(code(0), 0);
        denied.pass(code(9), 0);
        assert_eq!(denied.rate, RateCode::ZERO);
        assert_eq!((denied.qs_ttl, denied.nonce.bits()), (0, 0));
        assert_eq!(denied.response(), None);
        assert_eq!(approved(&sent, None), Err(Denial::NoResponse));
    }

    /// RFC 4782 table 2: lowering from K to K-1 changes the two bits of that step and no others.
    #[test]
    fn the_nonce_changes_in_the_bits_of_the_steps() {
        for from in 1..=15 {
            for to in 0..from {
                let changed = Nonce(0).lowered(code(from), code(to), u64::MAX).bits();
                let steps: u32 = (to..from).map(|step| 0b11 << (2 * u32::from(step))).sum();
                assert_eq!(changed, steps, "{from} -> {to}");
            }
        }
        // Rate 15 -> 14 are bits 0-1 of the field, the two most significant of 30.
        let top = Nonce(0).lowered(code(15), code(14), u64::MAX);
        assert_eq!(top.bits(), 0b11 << 28);
    }

    #[test]
    fn a_receiver_that_lies_about_the_rate_is_found_out() {
        let sent = request(9);
        let mut lowered = sent;
        lowered.pass(code(7), !u64::from(sent.nonce.bits()));
        let honest = lowered.response();
        assert_eq!(approved(&sent, honest.as_ref()), Ok(code(7)));
        let lie = |rate| {
            honest.map(|r| Response {
                rate: code(rate),
                ..r
            })
        };
        assert_eq!(approved(&sent, lie(8).as_ref()), Err(Denial::Nonce));
        assert_eq!(approved(&sent, lie(9).as_ref()), Err(Denial::Nonce));
        assert_eq!(approved(&sent, lie(10).as_ref()), Err(Denial::Raised));
        assert_eq!(approved(&sent, lie(6).as_ref()), Ok(code(6)));
    }

    /// 40.96 Mbit/s over 71 ms are 2,908,160 bits: 242 segments of 1500 bytes.
    #[test]
    fn the_window_fills_a_round_trip() {
        let rate = code(10)
            .rate()
            .map(|r| window(r, Duration::from_millis(71), 1500));
        assert_eq!(rate, Some(242));
    }
}
