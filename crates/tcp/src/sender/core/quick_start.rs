//! A sender's part in Quick-Start (RFC 4782 section 4): it asks for a rate with a
//! segment, tells the policies what came of that, and reports the rate approved.

use midflight_control::policy::RateAnswer;
use midflight_control::quick_start::{approved, Denial, Nonce, RateCode, Request, Response};
use midflight_units::{Instant, Seq};

use super::Core;
use crate::event::Log;
use crate::segment::{Ack, Says, Segment, SegmentOption};
use crate::state::Trigger;

/// TTL of the IP header at the sender.
const IP_TTL: u8 = 64;

/// A rate asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    rate: RateCode,
    /// With which segment, and when; none while it waits for one to go.
    sent: Option<(Seq, Instant, Request)>,
}

/// Bits that look like chance (the finalizer of splitmix64; Steele, Lea & Flood
/// 2014): a receiver of the simulation does not try to guess them.
fn scramble(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

impl Core {
    /// Asks for a rate with the next segment that is sent for the first time. Not
    /// while an answer is awaited (RFC 4782 section 4.1).
    pub(super) fn ask_for_rate(&mut self, rate: RateCode) {
        if self.asking.is_none() {
            self.asking = Some(Asking { rate, sent: None });
            self.hold();
        }
    }

    /// Reports the approved rate with the next segment.
    pub(super) fn report_rate(&mut self, rate: RateCode) {
        self.report = Some(rate);
        self.hold();
    }

    /// Puts on a segment that has just been handed out what it can carry. What is
    /// sent again carries nothing: a SYN must not then (RFC 4782 section 4.7.2).
    #[cold]
    pub(crate) fn hand_options(&mut self, segment: &mut Segment) {
        if segment.option.is_some() || segment.probe || segment.retransmission {
            return;
        }
        if let Some(rate) = self.report.take() {
            segment.option = Some(SegmentOption::Report(rate));
            self.hold();
            return;
        }
        let (now, seq) = (self.now, segment.seq);
        if let Some(Asking {
            rate,
            sent: sent @ None,
        }) = &mut self.asking
        {
            let bits = scramble(now.as_nanos() ^ seq << 48);
            let request = Request {
                rate: *rate,
                ip_ttl: IP_TTL,
                qs_ttl: (bits >> 32) as u8,
                nonce: Nonce::new(bits),
            };
            segment.option = Some(SegmentOption::Request(request));
            *sent = Some((seq, now, request));
        }
    }

    /// Tells the policies of the answer to a request, or that its segment was
    /// acknowledged without one.
    #[cold]
    pub(crate) fn consult_rate(&mut self, ack: &Ack, una_before: Seq, log: &mut impl Log) {
        let Some(Asking {
            sent: Some((seq, at, request)),
            ..
        }) = self.asking
        else {
            return;
        };
        let answer: Option<Response> = match ack.says {
            Says::Approved(response) => Some(response),
            _ => None,
        };
        if answer.is_none() && self.una <= seq {
            return;
        }
        self.asking = None;
        self.hold();
        let answer = RateAnswer {
            approved: approved(&request, answer.as_ref()),
            round_trip: self.now.since(at),
        };
        let state = self.state();
        self.tell_rate(&answer, log);
        // An ACK of new data may do the same.
        if self.state() != state && ack.ack <= una_before {
            self.noted.get_or_insert(Trigger::Report);
        }
    }

    fn tell_rate(&mut self, answer: &RateAnswer, log: &mut impl Log) {
        for i in 0..self.policies.len() {
            let view = self.view();
            let orders = self.policies[i].on_rate(answer, &view);
            self.apply(self.policies[i].info().name, &orders, log);
        }
        self.watching = self.policies.iter().any(|p| p.watches_acks());
    }

    /// A request whose segment has timed out is taken for denied.
    pub(super) fn rate_timed_out(&mut self, log: &mut impl Log) {
        let Some(Asking {
            sent: Some((_, at, _)),
            ..
        }) = self.asking
        else {
            return;
        };
        self.asking = None;
        self.hold();
        let answer = RateAnswer {
            approved: Err(Denial::NoResponse),
            round_trip: self.now.since(at),
        };
        self.tell_rate(&answer, log);
    }
}
