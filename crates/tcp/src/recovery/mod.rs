//! Loss recovery: which ACKs indicate a loss, what is retransmitted and when, and when new segments
//! may be sent. A kind of recovery is one file here and one line in the registry below.

mod cumulative;
pub(crate) mod joined;
mod linux;
mod newreno;
mod ns2_reno;
mod ns2_scoreboard;
mod quic;
mod reno;
mod sack;
mod sack1;
mod tahoe;

use educe::Educe;
use midflight_control::part::PartInfo;
use midflight_units::{Instant, Seq};

pub(crate) use self::joined::Joined;
use crate::config::{RecoveryRules, SenderConfig};
use crate::event::Log;
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest, SlotKind};

/// The methods of a kind of recovery. The shared state is up to date when they are called.
pub(crate) trait LossRecovery {
    /// An ACK has arrived; its number is not beyond what was sent.
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log);
    /// The timer has expired; the core has recorded it.
    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log);
    /// The next segment to send now, if any.
    fn next_segment(&mut self, core: &mut Core) -> Option<Seq>;
    /// The response to duplicate ACKs has waited long enough: fast retransmit, unless the
    /// duplicates stem from an earlier recovery.
    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log);
    /// A timer in the shared slot other than the retransmission timer has expired.
    fn on_slot(&mut self, _core: &mut Core, _kind: SlotKind, _log: &mut impl Log) {}
    /// An order requires this segment to be retransmitted now.
    fn on_resend(&mut self, _core: &mut Core, _seq: Seq) {}
    /// The receiver's window is open again, and this recovery has not processed the ACK that opened
    /// it.
    fn on_window_open(&mut self) {}
    /// The pacer releases a waiting burst.
    fn on_gate(&mut self, _core: &mut Core) {}
    /// Segments that were expected late are overdue: check for losses again.
    fn on_patience_over(&mut self, _core: &mut Core) {}
    /// The SYN counts as acknowledged at once, which gives no RTT sample.
    fn on_early_open(&mut self) {}
    /// The SYN answers another one.
    fn on_passive_open(&mut self) {}
    /// There are no tail loss probes from now on.
    fn leave_tails(&mut self) {}
    /// The timeouts of the SYN that do not back off.
    fn set_linear_syns(&mut self, _timeouts: u32) {}
    /// Whether timeouts back off when little is in flight.
    fn set_thin_linear(&mut self, _is_linear: bool) {}
    /// The segment that probes for a larger size.
    fn set_size_probe(&mut self, _probe: SizeProbe) {}
    /// What has become of that.
    fn size_probe(&self) -> SizeProbe {
        SizeProbe::None
    }
    /// The threshold after a loss for another reason than congestion, if the recovery has a state for that.
    fn ssthresh_of_other_loss(&self, _core: &Core) -> Option<f64> {
        None
    }
    /// All segments below `high` are lost for another reason than congestion; the timeouts are those of `before`.
    fn begin_other_loss(&mut self, _high: Seq, _before: Tally) {}
    /// The new segment, which was sent last, has been sent before in another form, and is lost in that one.
    fn count_as_lost(&mut self, _seq: Seq) {}
    /// The handshake ends after data was sent.
    fn on_early_end(&mut self, core: &mut Core) {
        core.restart_timer();
    }
    /// Segments from this one on are beyond the window, which has shrunk.
    fn resend_below(&mut self, _end: Seq) {}
    /// Whether another segment follows in the same burst when so many full ones are sent, the last ones from one buffer.
    fn has_room_in_burst(&self, _core: &Core, _segments: u64, _of_buffer: u64) -> bool {
        false
    }
    /// No tail loss probe follows what is sent next.
    fn skip_tail_probe(&mut self) {}
    /// Segments that are sent again are joined.
    fn join(&mut self, _core: &mut Core, _joined: Joined) {}
    /// What was decided while segments were sent is applied.
    fn settle(&mut self, _core: &mut Core, _log: &mut impl Log) {}
    /// More data is there, which only a probe may send.
    fn offer(&mut self, _core: &mut Core) {}
    /// Whether a segment that is sent again may be joined with others (tcp_can_collapse()).
    fn may_join(&self, _seq: Seq) -> bool {
        false
    }
    /// The other side's window is zero, or is not.
    fn set_zero_window(&mut self, _is_zero: bool) {}
    /// Our response to a SYN with data has timed out again.
    fn on_response_timeout(&mut self, _core: &mut Core, _log: &mut impl Log) {}
    /// An ICMP message says that the path was broken when the timer expired; returns whether the timer expires now.
    fn on_unreachable(&mut self, _core: &mut Core, _log: &mut impl Log) -> bool {
        false
    }
    /// The state of the segments in flight, if this recovery keeps a list of them.
    fn tally(&self) -> Option<Tally> {
        None
    }
    /// How many addresses the receiver has had before the current one.
    fn epoch(&self) -> u16 {
        0
    }
    /// The connection has opened or orders have changed the window, so segments may be sent again;
    /// or an order has ended or undone a recovery.
    fn on_request(&mut self, core: &Core, request: RecoveryRequest);
}

/// A segment that probes whether the path takes its size (tcp_mtu_probe()).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeProbe {
    /// There is none, or something was retransmitted, so that it is not conclusive.
    #[default]
    None,
    /// This segment is under way.
    Sent(Seq),
    /// It was lost.
    Lost,
}

/// The state of the segments in flight, in the form of Linux's struct tcp_info.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The state: open, disorder, CWR, recovery or loss, from 0.
    pub state: u8,
    /// Segments that are SACKed, considered lost, and retransmitted without being known to have
    /// arrived.
    pub sacked: u64,
    /// See [`Self::sacked`].
    pub lost: u64,
    /// See [`Self::sacked`].
    pub resent: u64,
    /// The reordering distance in segments, and how often reordering was seen.
    pub reordering: u64,
    /// See [`Self::reordering`].
    pub reordering_seen: u64,
    /// Segments known to have arrived, and those that DSACKs have reported.
    pub delivered: u64,
    /// See [`Self::delivered`].
    pub dsacked: u64,
    /// Segments known to have arrived by ACKs that report a CE mark.
    pub delivered_marked: u64,
    /// Minimum RTT in microseconds, once there is a sample.
    pub min_rtt: Option<u64>,
    /// Timeouts since SND.UNA last advanced, and when what is outstanding was first sent again.
    pub timeouts: u32,
    /// See [`Self::timeouts`].
    pub first_resent: Option<Instant>,
}

/// The name of a kind of recovery, and the parts that work with it.
pub(crate) struct RecoveryInfo {
    /// Name, source and summary.
    pub(crate) part: PartInfo,
    /// It needs a receiver with SACK.
    pub(crate) uses_sack: bool,
    /// Why only the immediate response to duplicate ACKs works with it, if that is the case.
    pub(crate) refuses_responses: Option<&'static str>,
    /// Why no detector of spurious retransmissions works with it, if that is the case.
    pub(crate) refuses_detectors: Option<&'static str>,
    /// Why no loss classifier works with it, if that is the case.
    pub(crate) refuses_classifiers: Option<&'static str>,
    /// It maintains its estimate of the data in flight outside fast recovery too.
    pub(crate) always_has_pipe: bool,
    /// It notifies the congestion controller itself when an idle time ends.
    pub(crate) reports_idle_end: bool,
    /// It consults the pacer at the start of each burst, and lets a controller set the window.
    pub(crate) asks_for_bursts: bool,
    /// In fast recovery it checks for losses again when a segment that was expected late is
    /// overdue.
    pub(crate) waits_for_overdue: bool,
    /// A closed window does not stop its timers while data is in flight.
    pub(crate) goes_on_in_closed_window: bool,
}

impl RecoveryInfo {
    /// A recovery by the cumulative ACK, which works with every part.
    const fn new(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        Self {
            part: PartInfo {
                name,
                summary,
                source,
                knobs: &[],
            },
            uses_sack: false,
            refuses_responses: None,
            refuses_detectors: None,
            refuses_classifiers: None,
            always_has_pipe: false,
            reports_idle_end: false,
            asks_for_bursts: false,
            waits_for_overdue: false,
            goes_on_in_closed_window: false,
        }
    }

    /// A recovery by SACK, which works with every part.
    const fn with_sack(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        Self {
            uses_sack: true,
            ..Self::new(name, summary, source)
        }
    }
}

/// A kind of recovery that can be chosen by its name.
pub(crate) trait RecoveryPart: Default {
    /// Its name, and the parts that work with it.
    const INFO: RecoveryInfo;
}

impl<R: RecoveryPart> RecoveryPart for Box<R> {
    const INFO: RecoveryInfo = R::INFO;
}

/// Generates from the list of all kinds of recovery: the enum of their names, the enum that holds
/// one and dispatches to it, and the list of their descriptions. An entry after `beside` is not in
/// the enum of names.
///
/// This is not the `registry!` of the other parts: that enum replaces a trait object, whereas the
/// methods here are generic over the log and are compiled for each log.
macro_rules! recoveries {
    ($($variant:ident: $part:ty),+ $(,)? ; beside $other:ident: $agents:ty) => {
        /// How lost segments are detected and retransmitted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RecoveryKind {
            $(#[doc = concat!("`", stringify!($part), "`.")] $variant,)+
        }

        /// All kinds of recovery, in the order of the registry.
        pub const RECOVERIES: &[PartInfo] = &[$(<$part as RecoveryPart>::INFO.part),+];

        impl RecoveryKind {
            /// The kind of recovery with this name.
            pub fn named(name: &str) -> Option<Self> {
                $(if name == <$part as RecoveryPart>::INFO.part.name {
                    return Some(Self::$variant);
                })+
                None
            }

            pub(crate) fn about(self) -> &'static RecoveryInfo {
                match self {
                    $(Self::$variant => const { &<$part as RecoveryPart>::INFO },)+
                }
            }
        }

        /// Any kind of recovery. With a number of its kind, which is faster to read than one in the values that a field does
        /// not have.
        #[derive(Educe, Debug)]
        #[educe(Clone)]
        #[repr(u8)]
        pub(crate) enum Recovery {
            $($variant($part),)+
            $other($agents),
        }

        impl Recovery {
            pub(crate) fn new(config: &SenderConfig) -> Self {
                if config.recovery_rules == RecoveryRules::Ns2 {
                    if let Some(agent) = <$agents>::of(config.recovery) {
                        return Self::$other(agent);
                    }
                }
                match config.recovery {
                    $(RecoveryKind::$variant => Self::$variant(<$part>::default()),)+
                }
            }

            pub(crate) fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
                match self {
                    $(Self::$variant(r) => r.on_ack(core, ack, log),)+
                    Self::$other(r) => r.on_ack(core, ack, log),
                }
            }

            pub(crate) fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
                match self {
                    $(Self::$variant(r) => r.on_timeout(core, log),)+
                    Self::$other(r) => r.on_timeout(core, log),
                }
            }

            #[inline(always)]
            pub(crate) fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
                match self {
                    $(Self::$variant(r) => r.next_segment(core),)+
                    Self::$other(r) => r.next_segment(core),
                }
            }

            pub(crate) fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
                match self {
                    $(Self::$variant(r) => r.retransmit(core, log),)+
                    Self::$other(r) => r.retransmit(core, log),
                }
            }

            pub(crate) fn on_slot(&mut self, core: &mut Core, kind: SlotKind, log: &mut impl Log) {
                match self {
                    $(Self::$variant(r) => r.on_slot(core, kind, log),)+
                    Self::$other(r) => r.on_slot(core, kind, log),
                }
            }

            #[cold]
            pub(crate) fn on_resend(&mut self, core: &mut Core, seq: Seq) {
                match self {
                    $(Self::$variant(r) => r.on_resend(core, seq),)+
                    Self::$other(r) => r.on_resend(core, seq),
                }
            }

            #[cold]
            pub(crate) fn on_window_open(&mut self) {
                match self {
                    $(Self::$variant(r) => r.on_window_open(),)+
                    Self::$other(r) => r.on_window_open(),
                }
            }

            #[cold]
            pub(crate) fn on_gate(&mut self, core: &mut Core) {
                match self {
                    $(Self::$variant(r) => r.on_gate(core),)+
                    Self::$other(r) => r.on_gate(core),
                }
            }

            pub(crate) fn on_patience_over(&mut self, core: &mut Core) {
                match self {
                    $(Self::$variant(r) => r.on_patience_over(core),)+
                    Self::$other(r) => r.on_patience_over(core),
                }
            }

            #[cold]
            pub(crate) fn on_early_open(&mut self) {
                match self {
                    $(Self::$variant(r) => r.on_early_open(),)+
                    Self::$other(r) => r.on_early_open(),
                }
            }

            #[cold]
            pub(crate) fn ssthresh_of_other_loss(&self, core: &Core) -> Option<f64> {
                match self {
                    $(Self::$variant(r) => r.ssthresh_of_other_loss(core),)+
                    Self::$other(r) => r.ssthresh_of_other_loss(core),
                }
            }

            #[cold]
            pub(crate) fn begin_other_loss(&mut self, high: Seq, before: Tally) {
                match self {
                    $(Self::$variant(r) => r.begin_other_loss(high, before),)+
                    Self::$other(r) => r.begin_other_loss(high, before),
                }
            }

            #[cold]
            pub(crate) fn count_as_lost(&mut self, seq: Seq) {
                match self {
                    $(Self::$variant(r) => r.count_as_lost(seq),)+
                    Self::$other(r) => r.count_as_lost(seq),
                }
            }

            #[cold]
            pub(crate) fn leave_tails(&mut self) {
                match self {
                    $(Self::$variant(r) => r.leave_tails(),)+
                    Self::$other(r) => r.leave_tails(),
                }
            }

            #[cold]
            pub(crate) fn set_linear_syns(&mut self, timeouts: u32) {
                match self {
                    $(Self::$variant(r) => r.set_linear_syns(timeouts),)+
                    Self::$other(r) => r.set_linear_syns(timeouts),
                }
            }

            #[cold]
            pub(crate) fn set_thin_linear(&mut self, is_linear: bool) {
                match self {
                    $(Self::$variant(r) => r.set_thin_linear(is_linear),)+
                    Self::$other(r) => r.set_thin_linear(is_linear),
                }
            }

            #[cold]
            pub(crate) fn set_size_probe(&mut self, probe: SizeProbe) {
                match self {
                    $(Self::$variant(r) => r.set_size_probe(probe),)+
                    Self::$other(r) => r.set_size_probe(probe),
                }
            }

            pub(crate) fn size_probe(&self) -> SizeProbe {
                match self {
                    $(Self::$variant(r) => r.size_probe(),)+
                    Self::$other(r) => r.size_probe(),
                }
            }

            #[cold]
            pub(crate) fn on_passive_open(&mut self) {
                match self {
                    $(Self::$variant(r) => r.on_passive_open(),)+
                    Self::$other(r) => r.on_passive_open(),
                }
            }

            #[cold]
            pub(crate) fn on_unreachable(&mut self, core: &mut Core, log: &mut impl Log) -> bool {
                match self {
                    $(Self::$variant(r) => r.on_unreachable(core, log),)+
                    Self::$other(r) => r.on_unreachable(core, log),
                }
            }

            #[cold]
            pub(crate) fn on_early_end(&mut self, core: &mut Core) {
                match self {
                    $(Self::$variant(r) => r.on_early_end(core),)+
                    Self::$other(r) => r.on_early_end(core),
                }
            }

            #[cold]
            pub(crate) fn resend_below(&mut self, end: Seq) {
                match self {
                    $(Self::$variant(r) => r.resend_below(end),)+
                    Self::$other(r) => r.resend_below(end),
                }
            }

            #[cold]
            pub(crate) fn has_room_in_burst(&self, core: &Core, segments: u64, of_buffer: u64) -> bool {
                match self {
                    $(Self::$variant(r) => r.has_room_in_burst(core, segments, of_buffer),)+
                    Self::$other(r) => r.has_room_in_burst(core, segments, of_buffer),
                }
            }

            #[cold]
            pub(crate) fn skip_tail_probe(&mut self) {
                match self {
                    $(Self::$variant(r) => r.skip_tail_probe(),)+
                    Self::$other(r) => r.skip_tail_probe(),
                }
            }

            #[cold]
            pub(crate) fn join(&mut self, core: &mut Core, joined: Joined) {
                match self {
                    $(Self::$variant(r) => r.join(core, joined),)+
                    Self::$other(r) => r.join(core, joined),
                }
            }

            #[cold]
            pub(crate) fn settle(&mut self, core: &mut Core, log: &mut impl Log) {
                match self {
                    $(Self::$variant(r) => r.settle(core, log),)+
                    Self::$other(r) => r.settle(core, log),
                }
            }

            #[cold]
            pub(crate) fn offer(&mut self, core: &mut Core) {
                match self {
                    $(Self::$variant(r) => r.offer(core),)+
                    Self::$other(r) => r.offer(core),
                }
            }

            #[cold]
            pub(crate) fn may_join(&self, seq: Seq) -> bool {
                match self {
                    $(Self::$variant(r) => r.may_join(seq),)+
                    Self::$other(r) => r.may_join(seq),
                }
            }

            #[cold]
            pub(crate) fn set_zero_window(&mut self, is_zero: bool) {
                match self {
                    $(Self::$variant(r) => r.set_zero_window(is_zero),)+
                    Self::$other(r) => r.set_zero_window(is_zero),
                }
            }

            #[cold]
            pub(crate) fn on_response_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
                match self {
                    $(Self::$variant(r) => r.on_response_timeout(core, log),)+
                    Self::$other(r) => r.on_response_timeout(core, log),
                }
            }

            pub(crate) fn tally(&self) -> Option<Tally> {
                match self {
                    $(Self::$variant(r) => r.tally(),)+
                    Self::$other(r) => r.tally(),
                }
            }

            pub(crate) fn epoch(&self) -> u16 {
                match self {
                    $(Self::$variant(r) => r.epoch(),)+
                    Self::$other(r) => r.epoch(),
                }
            }

            pub(crate) fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
                match self {
                    $(Self::$variant(r) => r.on_request(core, request),)+
                    Self::$other(r) => r.on_request(core, request),
                }
            }
        }
    };
}

recoveries! {
    Tahoe: tahoe::Tahoe,
    Reno: reno::Reno,
    NewReno: newreno::NewReno,
    Sack1: sack1::Sack1,
    Sack: sack::Sack,
    Linux: Box<linux::Linux>,
    Quic: Box<quic::Quic>,
    ; beside Ns2Reno: ns2_reno::Ns2Reno
}

impl RecoveryKind {
    /// All of them, in the order of the registry.
    pub fn all() -> impl Iterator<Item = Self> {
        RECOVERIES.iter().filter_map(|info| Self::named(info.name))
    }

    /// Name, source and summary.
    pub fn info(self) -> PartInfo {
        self.about().part
    }

    /// Whether it needs a receiver with SACK.
    pub fn uses_sack(self) -> bool {
        self.about().uses_sack
    }
}

impl Recovery {
    pub(crate) fn on_open(&mut self, core: &Core) {
        self.on_request(core, RecoveryRequest::Again);
    }
}
