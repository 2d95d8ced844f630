use std::fmt;

use midflight_units::{Duration, Instant, Rate};
use smallvec::SmallVec;

use crate::quick_start::RateCode;
use crate::train::Train;

/// The orders of a policy to its sender. All orders are defined here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Set the lower bound of the retransmission timeout.
    SetMinRto(Duration),
    /// Re-arm the retransmission timer from now with the current timeout.
    RestartTimer,
    /// Set the congestion window, in segments.
    SetCwnd(f64),
    /// Set the slow-start threshold, in segments.
    SetSsthresh(f64),
    /// Retransmit the first unacknowledged segment at once, drop the back-off
    /// and re-arm the timer.
    RetransmitNow,
    /// Forget the RTT estimate as for a new connection and re-arm the timer;
    /// the first ACK of a segment sent at `sample_since` or later gives a
    /// sample at once.
    RestartRtt {
        /// Timeout until the first sample.
        initial_rto: Duration,
        /// Segments sent before this give no sample of the new path.
        sample_since: Instant,
        /// A segment that was also sent before gives a sample too, counted from its last
        /// transmission: for a policy for which the earlier copies are known to be lost.
        sample_retransmitted: bool,
    },
    /// Response to entering fast recovery: retransmit, but do not change `cwnd` and `ssthresh`.
    KeepWindow,
    /// After a timeout: send at most this number of new segments, beyond the highest one sent, and
    /// nothing else until another order; with 0, first retransmit the first unacknowledged segment.
    Probe(u32),
    /// Retransmit everything from the first unacknowledged segment, as after a
    /// timeout; ends a probe.
    GoBack,
    /// Everything outstanding is lost, but not because of congestion: retransmit from the first
    /// unacknowledged segment, with an unchanged window and a restarted timer. Ends every recovery.
    Rewind,
    /// The last timeout was spurious: continue with new data; ends a probe.
    Resume,
    /// The same, but the duplicate ACKs so far continue to count and their SACKs are kept: one of
    /// them showed that the timeout was spurious.
    ResumeCounting,
    /// The last fast retransmit was spurious: leave fast recovery.
    LeaveRecovery,
    /// Take the first RTT sample of a segment sent at `since` or later with at
    /// least this estimate (RFC 4015 section 3.1, step 11).
    AdaptRto {
        /// When the timer expired: segments sent before give no sample.
        since: Instant,
        /// Lower bound of the smoothed round-trip time after that sample.
        srtt: Duration,
        /// Lower bound of its mean deviation.
        rttvar: Duration,
    },
    /// Do not grow the window until a segment last sent at this instant or later is acknowledged:
    /// [`Instant::NEVER`] until another such order, [`Instant::ZERO`] from the next ACK on.
    HoldGrowth(Instant),
    /// Send the next new segments as a train. It begins when the window has room
    /// for all of it; no other new segment is sent until its last one has been sent. It replaces an
    /// active train, and has no effect during retransmission, during probes, or before the
    /// connection is open. Retransmissions and probes end it, and so does a notice, unless it
    /// requests another train. A train without segments ends the active one.
    SendTrain(Train),
    /// Request a rate from the routers of the path, with the next segment sent for the first time
    /// (RFC 4782 section 4.1); no effect while a response is outstanding.
    AskForRate(RateCode),
    /// Report the approved rate to the routers of the path with the next segment (RFC 4782 section
    /// 4.4).
    ReportRate(RateCode),
    /// Coming duplicate ACKs may mean reordering: wait for more of them than usual.
    ExpectReordering(Reordering),
    /// Duplicate ACKs have their usual meaning again.
    EndReordering,
    /// Send segments no faster than this; replaces an earlier order of this kind. Retransmissions
    /// after a timeout and trains are not delayed.
    Pace(Pacing),
}

/// The rate at which segments are sent. If a controller or a setting paces at a lower rate, the
/// lower rate applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At most this rate, counted in bits on the wire, until a further order.
    At(Rate),
    /// The current window evenly spaced over this time, and then as before.
    Window {
        /// The time, such as a round trip.
        over: Duration,
    },
    /// As without an order.
    Off,
}

/// How to treat duplicate ACKs while segments overtake others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reordering {
    /// Duplicate ACKs that start fast retransmit.
    pub duplicates: u32,
    /// Segments SACKed above one after which it counts as lost, for a recovery that uses this (RFC
    /// 6675 IsLost).
    pub sacked: u32,
    /// Segments sent before this keep their order among themselves: one of them is lost as soon as
    /// the usual number of the others is SACKed above it.
    pub in_order_before: Instant,
    /// Extended limited transmit: until then each duplicate may send a new segment, while at most
    /// this many windows are outstanding.
    pub windows: f64,
    /// A segment sent longer ago than this would have been acknowledged by now if it had arrived:
    /// for it duplicates have their usual meaning, and if enough have arrived it is retransmitted
    /// at once.
    pub overdue: Option<Duration>,
    /// From then on duplicates have their usual meaning for every segment.
    pub until: Option<Instant>,
}

impl Order {
    /// The kind of the order, in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SetMinRto(_) => "set_min_rto",
            Self::RestartTimer => "restart_timer",
            Self::SetCwnd(_) => "set_cwnd",
            Self::SetSsthresh(_) => "set_ssthresh",
            Self::RetransmitNow => "retransmit_now",
            Self::RestartRtt { .. } => "restart_rtt",
            Self::KeepWindow => "keep_window",
            Self::Probe(0) => "retransmit_and_wait",
            Self::Probe(_) => "probe",
            Self::GoBack => "go_back",
            Self::Rewind => "rewind",
            Self::Resume => "resume",
            Self::ResumeCounting => "resume_counting",
            Self::LeaveRecovery => "leave_recovery",
            Self::AdaptRto { .. } => "adapt_rto",
            Self::HoldGrowth(_) => "hold_growth",
            Self::SendTrain(train) if train.segments == 0 => "end_train",
            Self::SendTrain(_) => "send_train",
            Self::AskForRate(_) => "ask_for_rate",
            Self::ReportRate(_) => "report_rate",
            Self::ExpectReordering(_) => "expect_reordering",
            Self::EndReordering => "end_reordering",
            Self::Pace(Pacing::Off) => "end_pacing",
            Self::Pace(Pacing::At(_)) => "pace",
            Self::Pace(Pacing::Window { .. }) => "pace_window",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetMinRto(d) => write!(f, "set the minimum RTO to {d}"),
            Self::RestartTimer => write!(f, "restart the retransmission timer"),
            Self::SetCwnd(w) => write!(f, "set cwnd to {w}"),
            Self::SetSsthresh(w) => write!(f, "set ssthresh to {w}"),
            Self::RetransmitNow => write!(f, "retransmit the first unacknowledged segment"),
            Self::RestartRtt { initial_rto, .. } => {
                write!(f, "restart RTT estimation with an RTO of {initial_rto}")
            }
            Self::KeepWindow => write!(f, "enter fast recovery without reducing the window"),
            Self::Probe(0) => write!(f, "retransmit one segment and wait"),
            Self::Probe(segments) => write!(f, "send at most {segments} new segments and wait"),
            Self::GoBack => write!(f, "retransmit from the first unacknowledged segment on"),
            Self::Rewind => write!(f, "send everything outstanding again"),
            Self::Resume => write!(f, "take the timeout for spurious and go on with new data"),
            Self::ResumeCounting => write!(
                f,
                "take the timeout for spurious and go on counting duplicate ACKs"
            ),
            Self::LeaveRecovery => write!(f, "leave fast recovery"),
            Self::AdaptRto { srtt, rttvar, .. } => {
                write!(
                    f,
                    "take the next RTT sample with at least {srtt} and a deviation of {rttvar}"
                )
            }
            Self::HoldGrowth(Instant::ZERO) => write!(f, "let the window grow"),
            Self::HoldGrowth(Instant::NEVER) => write!(f, "hold window growth"),
            Self::HoldGrowth(since) => {
                write!(
                    f,
                    "hold window growth for ACKs of what was sent before {since}"
                )
            }
            Self::SendTrain(train) if train.segments == 0 => write!(f, "end the train"),
            Self::SendTrain(train) => write!(f, "send {train}"),
            Self::AskForRate(rate) => write!(f, "ask the path for {rate}"),
            Self::ReportRate(rate) => write!(f, "report {rate} as approved"),
            Self::ExpectReordering(Reordering {
                duplicates,
                sacked,
                until,
                ..
            }) => {
                if (*duplicates, *sacked) == (u32::MAX, u32::MAX) {
                    write!(f, "wait however many duplicate ACKs come")?;
                } else {
                    write!(
                        f,
                        "wait for {duplicates} duplicate ACKs, or {sacked} segments SACKed above"
                    )?;
                }
                until.map_or(Ok(()), |until| write!(f, ", but no longer than to {until}"))
            }
            Self::EndReordering => write!(f, "wait for the usual number of duplicate ACKs"),
            Self::Pace(Pacing::At(rate)) => write!(f, "send no faster than {rate}"),
            Self::Pace(Pacing::Window { over }) => write!(f, "spread the window over {over}"),
            Self::Pace(Pacing::Off) => write!(f, "send without an ordered rate"),
        }
    }
}

/// The orders of one policy at one event, in the order of application, each with its reason.
#[derive(Clone, Debug, Default)]
pub struct Orders(SmallVec<[(Order, String); 4]>);

impl Orders {
    /// No orders.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds an order with its reason.
    pub fn push(&mut self, order: Order, reason: impl Into<String>) {
        self.0.push((order, reason.into()));
    }

    /// Adds an order with its reason.
    #[must_use]
    pub fn with(mut self, order: Order, reason: impl Into<String>) -> Self {
        self.push(order, reason);
        self
    }

    /// Whether there are no orders.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it contains exactly this order.
    pub fn contains(&self, order: &Order) -> bool {
        self.0.iter().any(|(o, _)| o == order)
    }

    /// The orders, in the order of application.
    pub fn iter(&self) -> impl Iterator<Item = (&Order, &str)> {
        self.0.iter().map(|(o, r)| (o, r.as_str()))
    }
}
