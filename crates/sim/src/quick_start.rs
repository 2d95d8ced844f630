//! A router that takes part in Quick-Start, at one of its links: the utilisation of the link, the
//! recent approvals, and the rate that it grants to a request.
//!
//! The algorithm is that of RFC 4782 appendix D. Utilisation is measured as in the ns-2 implementation
//! of Quick-Start: the maximum of the last intervals.
//!
//! It reserves the approved rate after rounding down to a value of the encoding: appendix D rounds
//! before it adds to the recent approvals, and no sender can use more. ns-2's router adds the available
//! rate before its agent rounds, so that only the first of several simultaneous requests is approved;
//! that is a setting ([`Routers::book_unrounded`]).

use midflight_control::quick_start::{RateCode, Routers};
use midflight_units::{Instant, Rate};

use crate::hook::HookedPacket;
use crate::link::LinkId;
use crate::random::Stream;

/// A node that takes part in Quick-Start, at some of its links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateRouter {
    links: Vec<(LinkId, Role)>,
}

impl RateRouter {
    /// Adds a router at one more of its links, or the IP layer of the sending host, which does not
    /// decrement the TTL. Nonces are drawn from the random stream of this seed; see
    /// [`crate::random::seed`]. A router that does not take part decrements the TTL.
    pub fn add(&mut self, link: LinkId, routers: Routers, is_host: bool, seed: u64) {
        let meter = || Box::new(Meter::new(routers, seed));
        let role = match (routers.take_part, is_host) {
            (true, false) => Role::TakesPart(meter()),
            (true, true) => Role::Sends(meter()),
            (false, false) => Role::Unaware,
            (false, true) => return,
        };
        self.links.push((link, role));
    }

    /// Whether it has no link.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    pub(crate) fn is_at(&self, link: LinkId) -> bool {
        self.links.iter().any(|(at, _)| *at == link)
    }

    /// A packet is being forwarded.
    pub(crate) fn forward(&mut self, now: Instant, packet: &mut HookedPacket<'_>) {
        let link = packet.link();
        if let Some((_, role)) = self.links.iter_mut().find(|(at, _)| *at == link) {
            role.forward(now, packet);
        }
    }
}

/// Bits sent and granted in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Interval {
    bits: u64,
    /// Sum of the granted rates, in bit/s.
    granted: u64,
}

/// The state of a router that takes part.
#[derive(Clone, Debug, PartialEq)]
struct Meter {
    config: Routers,
    stream: Stream,
    /// Number of the current interval.
    number: u64,
    present: Interval,
    before: Interval,
}

/// How a router handles a request.
#[derive(Clone, Debug, PartialEq)]
enum Role {
    TakesPart(Box<Meter>),
    Sends(Box<Meter>),
    Unaware,
}

impl Role {
    /// A packet is being forwarded, with or without a request.
    fn forward(&mut self, now: Instant, packet: &mut HookedPacket<'_>) {
        let (link, bytes) = (packet.rate(), packet.bytes());
        let request = packet.request();
        let (meter, counts_down) = match self {
            Self::TakesPart(meter) => (meter, true),
            Self::Sends(meter) => (meter, false),
            Self::Unaware => {
                if let Some(request) = request {
                    request.pass_unaware();
                }
                return;
            }
        };
        if let Some(request) = request {
            let (granted, random) = meter.grant(now, link, request.rate);
            if counts_down {
                request.pass(granted, random);
            } else {
                request.grant(granted, random);
            }
        }
        meter.note(now, bytes);
    }
}

impl Meter {
    fn new(config: Routers, seed: u64) -> Self {
        Self {
            stream: crate::random::stream(seed, 0, "router", "quick-start nonce"),
            config,
            number: 0,
            present: Interval::default(),
            before: Interval::default(),
        }
    }

    fn turn_to(&mut self, now: Instant) {
        let number = now.as_nanos() / self.config.interval.as_nanos().max(1);
        match number - self.number {
            0 => return,
            1 => self.before = self.present,
            _ => self.before = Interval::default(),
        }
        self.present = Interval::default();
        self.number = number;
    }

    /// A packet of `bytes` is handed to the link.
    fn note(&mut self, now: Instant, bytes: u32) {
        self.turn_to(now);
        self.present.bits += 8 * u64::from(bytes);
    }

    /// The rate that it grants to a request over a link with this rate, and the random bits of the
    /// nonce.
    fn grant(&mut self, now: Instant, link: Rate, asked: RateCode) -> (RateCode, u64) {
        self.turn_to(now);
        let used = self.present.bits.max(self.before.bits);
        let used = used as f64 / self.config.interval.as_secs_f64();
        let promised = (self.present.granted + self.before.granted) as f64;
        let room = self.config.threshold * link.as_bps() as f64 - used - promised;
        // Rounded down to whole bit/s, and zero if there is no room.
        let room = room.max(0.0) as u64;
        let granted = asked.min(RateCode::at_most(room));
        let bps = |code: RateCode| code.rate().map_or(0, Rate::as_bps);
        self.present.granted += if self.config.book_unrounded {
            bps(asked).min(room)
        } else {
            bps(granted)
        };
        (granted, self.stream.next_u64())
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn meter() -> Meter {
        Meter::new(Routers::default(), 1)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn granted(meter: &mut Meter, ms: u64, mbps: u64) -> Option<u64> {
        let (code, _) = meter.grant(at(ms), Rate::from_mbps(mbps), RateCode::MOST);
        code.rate().map(|rate| rate.as_bps() / 1000)
    }

    /// 85 % of an idle link, rounded down to a value of the encoding.
    #[test]
    fn grants_of_idle_links() {
        for (mbps, kbps) in [(50, 40_960), (54, 40_960), (6, 2_560), (2, 1_280)] {
            assert_eq!(granted(&mut meter(), 0, mbps), Some(kbps));
        }
        let kbit200 = Rate::from_bps(200_000).unwrap_or(Rate::from_mbps(1));
        let (code, _) = meter().grant(at(0), kbit200, RateCode::MOST);
        assert_eq!(code.rate().map(Rate::as_bps), Some(160_000));
    }

    /// 42.5 - 40.96 = 1.54 Mbit/s are left for the second, 0.26 for the third, 0.1 for the fourth.
    #[test]
    fn recent_grants_are_subtracted() {
        let mut meter = meter();
        let grants = [0, 50, 399, 399, 399].map(|ms| granted(&mut meter, ms, 50));
        let kbps = [40_960, 1_280, 160, 80, 0].map(|rate| (rate > 0).then_some(rate));
        assert_eq!(grants, kbps);
        // The first two were granted before 200 ms and expire at 400 ms; 160 + 80 kbit/s do not.
        assert_eq!(granted(&mut meter, 401, 50), Some(40_960));
    }

    /// ns-2's accounting: all of the 42.5 Mbit/s are used up by the first request, although it may use
    /// 40.96 only; each of two requests for 20.48 Mbit/s is granted.
    #[test]
    fn the_unrounded_grant_is_subtracted_if_so_set() {
        let unrounded = || Meter {
            config: Routers {
                book_unrounded: true,
                ..Routers::default()
            },
            ..meter()
        };
        let mut most = unrounded();
        let grants = [0, 0, 399].map(|ms| granted(&mut most, ms, 50));
        assert_eq!(grants, [Some(40_960), None, None]);
        assert_eq!(granted(&mut most, 400, 50), Some(40_960));
        let mut less = unrounded();
        let half = RateCode::at_most(20_480_000);
        let two = [0, 0].map(|ms| less.grant(at(ms), Rate::from_mbps(50), half).0);
        assert_eq!(two, [half; 2]);
    }

    /// 250 packets of 1500 bytes in 200 ms are 15 Mbit/s: 42.5 - 15 = 27.5.
    #[test]
    fn use_is_the_highest_of_two_intervals() {
        let mut meter = meter();
        for _ in 0..250 {
            meter.note(at(100), 1500);
        }
        let mut busy = meter.clone();
        assert_eq!(granted(&mut busy, 150, 50), Some(20_480));
        let mut after = meter.clone();
        assert_eq!(granted(&mut after, 399, 50), Some(20_480));
        assert_eq!(granted(&mut meter, 400, 50), Some(40_960));
        for _ in 0..1000 {
            busy.note(at(180), 1500);
        }
        assert_eq!(granted(&mut busy, 190, 50), None);
    }
}
