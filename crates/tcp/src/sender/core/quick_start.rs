//! A sender's part in Quick-Start (RFC 4782 section 4): it requests a rate with a segment, passes the response to the
//! policies, and reports the approved rate.

use midflight_control::policy::RateAnswer;
use midflight_control::quick_start::{approved, Denial, Nonce, RateCode, Request, Response};
use midflight_units::{Instant, Seq};

use super::Core;
use crate::event::Log;
use crate::segment::{Ack, AckOption, Segment, SegmentOption};
use crate::state::Trigger;

/// TTL of the IP header at the sender.
const IP_TTL: u8 = 64;

/// A requested rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateRequest {
    rate: RateCode,
    /// The segment that carries it, and when that was sent; none until then.
    sent: Option<(Seq, Instant, Request)>,
    /// The next request; the response to the current one is then ignored.
    next: Option<RateCode>,
}

impl RateRequest {
    fn new(rate: RateCode) -> Self {
        Self {
            rate,
            sent: None,
            next: None,
        }
    }
}

/// Pseudo-random bits (the finalizer of splitmix64; Steele, Lea & Flood 2014): a simulated receiver does not try to
/// guess them.
fn scramble(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

impl Core {
    /// Requests a rate with the next segment that is sent. While a response is outstanding, the new request waits for
    /// it, and that response is ignored (RFC 4782 section 4.1: one request per round trip).
    pub(super) fn ask_for_rate(&mut self, rate: RateCode) {
        match &mut self.asking {
            Some(asking) if asking.sent.is_some() => asking.next = Some(rate),
            asking => *asking = Some(RateRequest::new(rate)),
        }
        self.hold();
    }

    /// Reports the approved rate with the next segment.
    pub(super) fn report_rate(&mut self, rate: RateCode) {
        self.report = Some((rate, self.last_nonce));
        self.hold();
    }

    /// Adds the pending options to a segment that has just been returned. A retransmitted SYN carries none (RFC 4782
    /// section 4.7.2). Retransmitted data may carry a request: after an outage a retransmission is the first segment
    /// that is sent.
    #[cold]
    pub(crate) fn hand_options(&mut self, segment: &mut Segment) {
        let syn_again = segment.seq == 0 && segment.retransmission;
        if segment.option.is_some() || !segment.has_data() || syn_again {
            return;
        }
        if segment.seq > 0 && !segment.retransmission {
            if let Some((rate, nonce)) = self.report.take() {
                segment.option = Some(SegmentOption::Report(rate, nonce));
                self.hold();
                return;
            }
        }
        let (now, seq) = (self.now, segment.seq);
        if let Some(RateRequest {
            rate,
            sent: sent @ None,
            ..
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
            self.last_nonce = request.nonce;
        }
    }

    /// Notifies the policies of the response to a request, or that its segment was acknowledged without one.
    pub(super) fn consult_rate(&mut self, ack: &Ack, una_before: Seq, log: &mut impl Log) {
        let Some(RateRequest {
            sent: Some((seq, at, request)),
            next,
            ..
        }) = self.asking
        else {
            return;
        };
        let answer: Option<Response> = match ack.option {
            AckOption::Approved(response) => Some(response),
            _ => None,
        };
        let verdict = approved(&request, answer.as_ref());
        // A response without a request, or to an earlier one, does not belong to this request.
        let other = answer.is_none() || verdict == Err(Denial::Nonce);
        if other && self.books.una() <= seq {
            return;
        }
        if self.request_again(next) {
            return;
        }
        let answer = RateAnswer {
            approved: verdict,
            round_trip: self.now.since(at),
        };
        let state = self.state();
        self.log_answer(&answer, log);
        // An ACK of new data may have the same effect.
        if self.state() != state && ack.ack <= una_before {
            self.noted.get_or_insert(Trigger::Report);
        }
    }

    fn log_answer(&mut self, answer: &RateAnswer, log: &mut impl Log) {
        self.ask(None, log, |p, view| p.on_rate(answer, view));
    }

    /// The request is finished. If another one waits, it is sent, and the routers are informed that the approved rate
    /// will not be used.
    fn request_again(&mut self, next: Option<RateCode>) -> bool {
        self.asking = next.map(RateRequest::new);
        if next.is_some() {
            self.report_rate(RateCode::ZERO);
        }
        self.hold();
        next.is_some()
    }

    /// A request whose own segment has timed out is treated as denied.
    pub(super) fn rate_timed_out(&mut self, log: &mut impl Log) {
        let Some(RateRequest {
            sent: Some((seq, at, _)),
            next,
            ..
        }) = self.asking
        else {
            return;
        };
        if seq != self.books.una() || self.request_again(next) {
            return;
        }
        let answer = RateAnswer {
            approved: Err(Denial::NoResponse),
            round_trip: self.now.since(at),
        };
        self.log_answer(&answer, log);
    }
}
