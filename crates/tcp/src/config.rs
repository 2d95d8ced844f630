//! Every choice of a sender and a receiver, explicit and with its unit. A
//! profile is only a named bundle of them.

use midflight_control::congestion::{AckCounting, AnyCongestion, Reno};
use midflight_control::dupack::{AnyDupackResponse, Immediate};
use midflight_control::estimate::{ChirpRule, CleanChirp, EstimatorConfig};
use midflight_control::loss::{AnyLossClassifier, Congestion};
use midflight_control::part::Knob;
use midflight_control::rtt::{EstimatorKind, RtoConfig};
use midflight_control::signal::{AnyHandoverSignal, Silent};
use midflight_control::spurious::{AnySpuriousDetector, NoDetector};
use midflight_units::{Duration, UnitError};

/// How lost segments are found and resent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// Fast retransmit, then slow start (Jacobson 1988).
    Tahoe,
    /// Fast recovery until the first ACK of new data (RFC 2581).
    Reno,
    /// Fast recovery until the recovery point, on partial ACKs (RFC 6582).
    NewReno,
    /// SACK as in ns-2's Sack1.
    Sack1,
    /// SACK with the pipe algorithm of RFC 6675.
    Sack,
}

impl RecoveryKind {
    /// Whether it needs a receiver that reports what it has above the cumulative ACK.
    pub fn uses_sack(self) -> bool {
        matches!(self, Self::Sack1 | Self::Sack)
    }
}

/// The window after the SYN is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// So many segments.
    Segments(u32),
    /// RFC 6928 section 2: `min(10 MSS, max(2 MSS, 14600 bytes))`, in whole segments.
    Rfc6928,
}

/// IP and TCP headers without options, in bytes.
const HEADERS: u32 = 40;

/// Whose rules Tahoe, Reno and NewReno follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryRules {
    /// RFC 5681 and RFC 6582.
    Rfc,
    /// ns-2's agents with `bugFix_`.
    Ns2,
}

/// Which partial ACKs of a NewReno recovery restart the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAckTimer {
    /// The first (RFC 6582's Impatient variant).
    First,
    /// All (its Slow-but-Steady variant).
    Every,
}

/// What a congestion event halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseLoad {
    /// The window in use, cut to a whole segment (ns-2).
    Window,
    /// FlightSize (RFC 5681 (4)).
    FlightSize,
}

/// Where RTT samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// One segment at a time is timed; none that is retransmitted (RFC 6298 section 3, Karn).
    OnePerWindow,
    /// Every ACK of new data, by the timestamp option (RFC 7323 section 4).
    Timestamps,
}

/// Until when a sender counts as being in RTO recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRecoveryEnd {
    /// Until an ACK for new data.
    NewAck,
    /// Until everything sent before the timeout is acknowledged.
    RecoveryPoint,
}

/// The parameters of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// Size of a data segment on the wire, in bytes.
    pub segment_bytes: u32,
    /// Size of the SYN on the wire, in bytes.
    pub syn_bytes: u32,
    /// Window after the SYN is acknowledged.
    pub initial_window: InitialWindow,
    /// The same after lost SYNs (RFC 5681 section 3.1: 1).
    pub initial_window_after_syn_timeout: f64,
    /// Timeouts of the SYN that lead to that window (RFC 6928 section 2: more than one).
    pub syn_timeouts_for_small_window: u32,
    /// Timeout with which data starts after a timeout of the SYN (RFC 6298
    /// (5.7): 3 s); none to go on with what there is.
    pub rto_after_syn_timeout: Option<Duration>,
    /// After an idle time longer than the RTO the window is at most the initial one (RFC 5681
    /// section 4.1).
    pub restart_after_idle: bool,
    /// Slow-start threshold at the start, in segments.
    pub initial_ssthresh: f64,
    /// Receiver's window, in segments.
    pub receiver_window: u64,
    /// Loss recovery.
    pub recovery: RecoveryKind,
    /// Rules of the kinds of recovery without SACK; those with SACK have their own.
    pub recovery_rules: RecoveryRules,
    /// Which partial ACKs restart NewReno's timer (RFC 6582 section 4).
    pub newreno_timer: PartialAckTimer,
    /// A partial ACK takes from NewReno's window what it acknowledges (RFC 6582
    /// section 3.2 step 3) instead of all that duplicates have added (RFC 2582's
    /// predecessors, and ns-2 before May 2003).
    pub newreno_deflation: bool,
    /// Duplicate ACKs that start fast retransmit (RFC 5681: 3).
    pub dup_threshold: u32,
    /// An ACK that does nothing but open the window counts as a duplicate: RFC
    /// 5681 section 2 (e) says no, ns-2 does not look at windows.
    pub count_window_updates: bool,
    /// With SACK a duplicate ACK counts even if it brings no SACK news: RFC 5681
    /// section 2 against RFC 6675 section 2.
    pub count_sackless_dupacks: bool,
    /// Send a new segment on the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// How the window grows, and how far it shrinks on congestion.
    pub congestion: AnyCongestion,
    /// How slow start counts an ACK.
    pub ack_counting: AckCounting,
    /// What a congestion event halves.
    pub response_load: ResponseLoad,
    /// A further timeout of the same segment leaves the threshold alone (RFC
    /// 5681 section 3.1). ns-2 halves again, which takes it to two segments.
    pub hold_ssthresh_on_repeat: bool,
    /// Timer.
    pub rto: RtoConfig,
    /// Source of RTT samples.
    pub rtt_sampling: RttSampling,
    /// Every retransmission of the timed segment cancels its timing (Karn; RFC
    /// 6298 section 3). ns-2 cancels at a fast retransmit and a timeout only,
    /// not when recovery resends the segment as a later hole.
    pub karn_every_retransmission: bool,
    /// End of RTO recovery, for policies that ask.
    pub rto_recovery_end: RtoRecoveryEnd,
    /// What duplicate ACKs lead to.
    pub dupack_response: AnyDupackResponse,
    /// What a loss is taken for.
    pub loss_classifier: AnyLossClassifier,
    /// How timeouts and fast retransmits are checked.
    pub spurious_detector: AnySpuriousDetector,
}

impl SenderConfig {
    /// The window after the SYN is acknowledged, in segments.
    pub fn initial_window(&self) -> f64 {
        match self.initial_window {
            InitialWindow::Segments(segments) => f64::from(segments),
            InitialWindow::Rfc6928 => {
                let mss = self.segment_bytes.saturating_sub(HEADERS).max(1);
                f64::from((14_600 / mss).clamp(2, 10))
            }
        }
    }

    /// The same for flow `number` of a run, from 0: the phase of its clock is so many
    /// steps later.
    #[must_use]
    pub fn of_flow(mut self, number: usize) -> Self {
        if let EstimatorKind::Ticks { tick, phase, step } = &mut self.rto.estimator {
            if *step == Duration::ZERO || number == 0 {
                return self;
            }
            let of = |time: &Duration| u128::from(time.as_nanos());
            let later = of(step) * number as u128 % of(tick).max(1);
            // What a tick is added to or taken off is the same phase.
            *phase = Duration::from_nanos(((of(phase) + later) % of(tick).max(1)) as u64);
        }
        self
    }
}

/// The parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// Longest delay of an ACK; none to acknowledge every segment.
    pub delayed_ack: Option<Duration>,
    /// The ACK of the SYN is delayed as well.
    pub delay_syn_ack: bool,
    /// A duplicate of the last segment in order is acknowledged like a new one
    /// (ns-2) instead of at once (RFC 9293 section 3.10.7.4).
    pub delay_last_duplicate: bool,
    /// Most SACK blocks in an ACK; 0 for no SACK.
    pub sack_blocks: u8,
    /// Report duplicates (RFC 2883).
    pub dsack: bool,
    /// Echo timestamps (RFC 7323).
    pub timestamps: bool,
    /// What the node tells its sender around its own handovers.
    pub signal: AnyHandoverSignal,
    /// What it makes of trains.
    pub estimator: EstimatorConfig,
}

/// A named bundle of parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Name on the command line.
    pub name: &'static str,
    /// What it stands for.
    pub summary: &'static str,
    /// Sender.
    pub sender: SenderConfig,
    /// Receiver.
    pub receiver: ReceiverConfig,
    /// In the papers' network a break spares what the node has queued for the old link: ns-2's loss
    /// model sits between the node and that queue.
    pub spares_uplink: bool,
}

/// ns-2.35's Sack1 with the defaults of ns-2.29: what Daniel & Kojo 2008 ran.
const NS2: Profile = Profile {
    name: "ns2",
    summary: "ns-2 Sack1 with delayed ACK, as the papers ran it",
    sender: SenderConfig {
        segment_bytes: 1500,
        syn_bytes: 40,
        initial_window: InitialWindow::Segments(3),
        initial_window_after_syn_timeout: 1.0,
        syn_timeouts_for_small_window: 1,
        rto_after_syn_timeout: None,
        restart_after_idle: false,
        initial_ssthresh: 10_000.0,
        receiver_window: 10_000,
        recovery: RecoveryKind::Sack1,
        recovery_rules: RecoveryRules::Ns2,
        newreno_timer: PartialAckTimer::First,
        newreno_deflation: true,
        dup_threshold: 3,
        count_window_updates: true,
        count_sackless_dupacks: false,
        limited_transmit: true,
        congestion: AnyCongestion::Reno(Reno),
        ack_counting: AckCounting::PerAck,
        response_load: ResponseLoad::Window,
        hold_ssthresh_on_repeat: false,
        rto: RtoConfig {
            estimator: EstimatorKind::Ticks {
                tick: Duration::from_millis(10),
                // ns-2 draws the phase; this is the draw of the reference runs.
                phase: Duration::from_nanos(5_558_807),
                step: Duration::ZERO,
            },
            initial: Duration::from_secs(6),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
        },
        rtt_sampling: RttSampling::OnePerWindow,
        karn_every_retransmission: false,
        rto_recovery_end: RtoRecoveryEnd::NewAck,
        dupack_response: AnyDupackResponse::Immediate(Immediate),
        loss_classifier: AnyLossClassifier::Congestion(Congestion),
        spurious_detector: AnySpuriousDetector::None(NoDetector),
    },
    receiver: ReceiverConfig {
        delayed_ack: Some(Duration::from_millis(100)),
        delay_syn_ack: true,
        delay_last_duplicate: true,
        sack_blocks: 3,
        dsack: false,
        timestamps: false,
        signal: AnyHandoverSignal::Silent(Silent),
        estimator: EstimatorConfig::DEFAULT,
    },
    spares_uplink: true,
};

/// Today's standards.
const RFC: Profile = Profile {
    name: "rfc",
    summary: "RFC 5681, 6675, 6298, 3042, 6928, 7323, 2018 and 2883",
    sender: SenderConfig {
        segment_bytes: 1500,
        syn_bytes: 40,
        initial_window: InitialWindow::Rfc6928,
        initial_window_after_syn_timeout: 1.0,
        syn_timeouts_for_small_window: 2,
        rto_after_syn_timeout: Some(Duration::from_secs(3)),
        restart_after_idle: true,
        // RFC 5681 section 3.1: arbitrarily high.
        initial_ssthresh: 1_000_000.0,
        receiver_window: 1_000_000,
        recovery: RecoveryKind::Sack,
        recovery_rules: RecoveryRules::Rfc,
        newreno_timer: PartialAckTimer::First,
        newreno_deflation: true,
        dup_threshold: 3,
        count_window_updates: false,
        count_sackless_dupacks: false,
        limited_transmit: true,
        congestion: AnyCongestion::Reno(Reno),
        // RFC 3465 section 2.2 recommends 2, which makes up for delayed ACKs; RFC 5681 (2) is 1.
        ack_counting: AckCounting::AppropriateBytes { limit: 2 },
        response_load: ResponseLoad::FlightSize,
        hold_ssthresh_on_repeat: true,
        rto: RtoConfig {
            estimator: EstimatorKind::Rfc6298 {
                granularity: Duration::from_millis(1),
            },
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        },
        rtt_sampling: RttSampling::Timestamps,
        karn_every_retransmission: true,
        rto_recovery_end: RtoRecoveryEnd::NewAck,
        dupack_response: AnyDupackResponse::Immediate(Immediate),
        loss_classifier: AnyLossClassifier::Congestion(Congestion),
        spurious_detector: AnySpuriousDetector::None(NoDetector),
    },
    receiver: ReceiverConfig {
        delayed_ack: Some(Duration::from_millis(200)),
        delay_syn_ack: false,
        delay_last_duplicate: false,
        sack_blocks: 3,
        dsack: true,
        timestamps: true,
        signal: AnyHandoverSignal::Silent(Silent),
        estimator: EstimatorConfig::DEFAULT,
    },
    spares_uplink: false,
};

/// All profiles.
pub const PROFILES: &[Profile] = &[NS2, RFC];

/// A setting or profile that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no such profile.
    #[error("there is no profile \"{name}\"; there are {known}")]
    UnknownProfile {
        /// The name that was read.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The value of a setting is not accepted.
    #[error("{name} = \"{value}\" is not accepted; accepted is {accepts}")]
    Value {
        /// The setting.
        name: String,
        /// The value that was read.
        value: String,
        /// What would be accepted.
        accepts: &'static str,
    },
    /// Parts or settings that do not go together.
    #[error("{part} does not go together with this sender: {reason}")]
    Combination {
        /// The part.
        part: &'static str,
        /// Why, and what would be accepted.
        reason: &'static str,
    },
    /// The value of a setting is not a quantity with a unit.
    #[error("{name}: {source}")]
    Unit {
        /// The setting.
        name: String,
        /// What is wrong with the quantity.
        source: UnitError,
    },
}

/// The profile of this name.
///
/// # Errors
/// [`ConfigError::UnknownProfile`] names the ones that exist.
pub fn profile(name: &str) -> Result<Profile, ConfigError> {
    PROFILES
        .iter()
        .find(|p| p.name == name)
        .copied()
        .ok_or_else(|| ConfigError::UnknownProfile {
            name: name.into(),
            known: PROFILES
                .iter()
                .map(|p| p.name)
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// Settings of a sender or receiver that can be changed one at a time. The
/// default is the profile's.
pub const SETTINGS: &[Knob] = &[
    Knob {
        name: "recovery",
        default: "",
        accepts: "tahoe, reno, newreno, sack1, sack",
        summary: "loss recovery",
    },
    Knob {
        name: "recovery_rules",
        default: "",
        accepts: "rfc, ns2",
        summary: "whose tahoe, reno and newreno: RFC 5681 and 6582, or ns-2's agents",
    },
    Knob {
        name: "newreno_timer",
        default: "",
        accepts: "first-partial-ack, every-partial-ack",
        summary: "which partial ACKs restart the timer in a newreno recovery",
    },
    Knob {
        name: "newreno_deflation",
        default: "",
        accepts: "on, off",
        summary: "a partial ACK takes from newreno's window what it acknowledges, not all that duplicates added",
    },
    Knob {
        name: "congestion",
        default: "",
        accepts: "reno, westwood, westwood-plus, cubic",
        summary: "congestion controller, where the scheme names none",
    },
    Knob {
        name: "initial_window",
        default: "",
        accepts: "a whole number of segments from 1 to 1000, or rfc6928 (10, fewer if longer than 1500 bytes)",
        summary: "window after the SYN is acknowledged",
    },
    Knob {
        name: "restart_after_idle",
        default: "",
        accepts: "on, off",
        summary: "after an idle time longer than the RTO the window is at most the initial one (RFC 5681, 4.1)",
    },
    Knob {
        name: "abc_limit",
        default: "",
        accepts: "a whole number of segments from 1 to 1000, or off",
        summary: "most that an ACK adds to the window in slow start (L of RFC 3465; 1 after a timeout); off counts ACKs, not segments",
    },
    Knob {
        name: "initial_ssthresh",
        default: "",
        accepts: "a whole number of segments from 2 to 100000000",
        summary: "slow-start threshold at the start",
    },
    Knob {
        name: "receiver_window",
        default: "",
        accepts: "a whole number of segments from 1 to 100000000",
        summary: "the receiver's window",
    },
    Knob {
        name: "dup_threshold",
        default: "",
        accepts: "a whole number from 1 to 1000",
        summary: "duplicate ACKs that start fast retransmit",
    },
    Knob {
        name: "count_window_updates",
        default: "",
        accepts: "on, off",
        summary: "an ACK that does nothing but open the window counts as a duplicate",
    },
    Knob {
        name: "count_sackless_dupacks",
        default: "",
        accepts: "on, off",
        summary: "with SACK a duplicate ACK counts even if it brings no SACK news",
    },
    Knob {
        name: "limited_transmit",
        default: "",
        accepts: "on, off",
        summary: "send a new segment on the first duplicate ACKs (RFC 3042)",
    },
    Knob {
        name: "initial_rto",
        default: "",
        accepts: "a time",
        summary: "RTO before the first sample",
    },
    Knob {
        name: "min_rto",
        default: "",
        accepts: "a time",
        summary: "lower bound of the RTO",
    },
    Knob {
        name: "max_rto",
        default: "",
        accepts: "a time of at least 1 ms",
        summary: "upper bound of the RTO",
    },
    Knob {
        name: "rtt_tick",
        default: "",
        accepts: "a time, or none for RFC 6298 in nanoseconds",
        summary: "clock tick of the RTT estimator",
    },
    Knob {
        name: "rtt_tick_phase",
        default: "",
        accepts: "a time, where rtt_tick is not none",
        summary: "phase of the clock tick",
    },
    Knob {
        name: "rtt_tick_phase_step",
        default: "",
        accepts: "a time, where rtt_tick is not none",
        summary: "how much later the clock of each further flow of a run ticks: flow n, from 0, has the phase plus n times this",
    },
    Knob {
        name: "rtt_sampling",
        default: "",
        accepts: "one-per-window, timestamps",
        summary: "source of RTT samples",
    },
    Knob {
        name: "timestamps",
        default: "",
        accepts: "on, off",
        summary: "echo timestamps (RFC 7323)",
    },
    Knob {
        name: "segment_bytes",
        default: "",
        accepts: "a whole number of bytes from 41 to 65535",
        summary: "size of a data segment on the wire",
    },
    Knob {
        name: "delayed_ack",
        default: "",
        accepts: "a time, or off",
        summary: "longest delay of an ACK",
    },
    Knob {
        name: "delay_syn_ack",
        default: "",
        accepts: "on, off",
        summary: "the ACK of the SYN is delayed like that of a data segment",
    },
    Knob {
        name: "dsack",
        default: "",
        accepts: "on, off",
        summary: "report duplicates (RFC 2883)",
    },
    Knob {
        name: "rto_recovery_end",
        default: "",
        accepts: "new-ack, recovery-point",
        summary: "until when policies see the sender in RTO recovery",
    },
    Knob {
        name: "chirp_estimator",
        default: "",
        accepts: "abest, abest-plain, first-rise, pathchirp",
        summary: "how the receiver estimates the available bandwidth from a chirp",
    },
    Knob {
        name: "chirp_clean",
        default: "",
        accepts: "highest, average",
        summary:
            "what abest reports of a chirp without a rise of delay: its highest rate or the average",
    },
    Knob {
        name: "chirp_resolution",
        default: "",
        accepts: "a time",
        summary: "growth of the one-way delay up to which it has not risen",
    },
    Knob {
        name: "pathchirp_f",
        default: "",
        accepts: "a number from 1 to 100",
        summary: "F: an excursion is over when the delay has fallen to this part of its largest",
    },
    Knob {
        name: "pathchirp_l",
        default: "",
        accepts: "a whole number of gaps from 1 to 1000, or auto",
        summary: "L: shorter excursions do not count; auto is a quarter of the gaps, from 2 to 5",
    },
    Knob {
        name: "pathchirp_smoothing",
        default: "",
        accepts: "a whole number of chirps from 1 to 100",
        summary: "over how many chirps the receiver averages",
    },
];

fn chosen<T: Copy>(choices: &[(&str, T)], text: &str) -> Option<T> {
    let choice = choices.iter().find(|(name, _)| *name == text);
    choice.map(|&(_, value)| value)
}

fn named<T: PartialEq + Copy>(choices: &[(&str, T)], value: T) -> String {
    let choice = choices.iter().find(|(_, v)| *v == value);
    choice.map_or_else(String::new, |(name, _)| (*name).into())
}

impl Profile {
    /// Whether the parts can do what they are for with these settings.
    ///
    /// # Errors
    /// [`ConfigError::Combination`] says what is missing.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (tx, rx) = (&self.sender, &self.receiver);
        let sack = tx.recovery.uses_sack();
        let refuse = |part, reason| Err(ConfigError::Combination { part, reason });
        let tells_handovers = matches!(
            tx.spurious_detector,
            AnySpuriousDetector::Frto2003(_)
                | AnySpuriousDetector::Frto(_)
                | AnySpuriousDetector::FrtoNs2(_)
                | AnySpuriousDetector::Eifel(_)
        );
        match tx.dupack_response {
            AnyDupackResponse::NcrCareful(_) | AnyDupackResponse::NcrAggressive(_) if !sack => {
                return refuse(
                    tx.dupack_response.info().name,
                    "RFC 4653 needs SACK to know what has left the network; choose recovery sack1 or sack",
                );
            }
            _ => {}
        }
        match tx.loss_classifier {
            AnyLossClassifier::Congestion(_) => {}
            _ if tx.recovery == RecoveryKind::Tahoe => {
                return refuse(
                    tx.loss_classifier.info().name,
                    "recovery tahoe answers every loss by sending the whole window again, and has no way to keep it; choose reno, newreno, sack1 or sack",
                );
            }
            AnyLossClassifier::LdHandover(_) if !tells_handovers => {
                return refuse(
                    "ld-handover",
                    "it learns of a handover from a timeout that proves spurious at once; add frto-2003, frto, frto-ns2 or eifel",
                );
            }
            _ => {}
        }
        match tx.spurious_detector {
            AnySpuriousDetector::Eifel(_) if !rx.timestamps => refuse(
                "eifel",
                "it tells transmissions apart by their timestamps; set timestamps=on",
            ),
            AnySpuriousDetector::DsackUndo(_) if !sack => refuse(
                "dsack-undo",
                "duplicates are reported in SACK blocks; choose recovery sack1 or sack",
            ),
            AnySpuriousDetector::DsackUndo(_) if !rx.dsack => {
                refuse("dsack-undo", "it needs reports of duplicates; set dsack=on")
            }
            AnySpuriousDetector::Frto(frto) if frto.wants_sack() && !sack => refuse(
                "frto",
                "its SACK-enhanced version needs SACK; choose recovery sack1 or sack, or frto_version=auto",
            ),
            AnySpuriousDetector::FrtoNs2(frto) if frto.wants_sack() && !sack => refuse(
                "frto-ns2",
                "its SACK version needs SACK; choose recovery sack1 or sack, or frto_ns2_version=basic",
            ),
            _ => Ok(()),
        }
    }

    /// The value of one setting of [`SETTINGS`], as [`Self::set`] reads it.
    pub fn get(&self, name: &str) -> String {
        let switch = |on| if on { "on" } else { "off" }.to_string();
        let (tx, rx) = (&self.sender, &self.receiver);
        match name {
            "recovery" => match tx.recovery {
                RecoveryKind::Tahoe => "tahoe",
                RecoveryKind::Reno => "reno",
                RecoveryKind::NewReno => "newreno",
                RecoveryKind::Sack1 => "sack1",
                RecoveryKind::Sack => "sack",
            }
            .into(),
            "recovery_rules" => match tx.recovery_rules {
                RecoveryRules::Rfc => "rfc",
                RecoveryRules::Ns2 => "ns2",
            }
            .into(),
            "newreno_timer" => match tx.newreno_timer {
                PartialAckTimer::First => "first-partial-ack",
                PartialAckTimer::Every => "every-partial-ack",
            }
            .into(),
            "newreno_deflation" => switch(tx.newreno_deflation),
            "congestion" => tx.congestion.info().name.into(),
            "initial_window" => match tx.initial_window {
                InitialWindow::Segments(segments) => segments.to_string(),
                InitialWindow::Rfc6928 => "rfc6928".into(),
            },
            "restart_after_idle" => switch(tx.restart_after_idle),
            "abc_limit" => match tx.ack_counting {
                AckCounting::PerAck => "off".into(),
                AckCounting::AppropriateBytes { limit } => limit.to_string(),
            },
            "initial_ssthresh" => tx.initial_ssthresh.to_string(),
            "receiver_window" => tx.receiver_window.to_string(),
            "dup_threshold" => tx.dup_threshold.to_string(),
            "count_window_updates" => switch(tx.count_window_updates),
            "count_sackless_dupacks" => switch(tx.count_sackless_dupacks),
            "limited_transmit" => switch(tx.limited_transmit),
            "initial_rto" => tx.rto.initial.to_string(),
            "min_rto" => tx.rto.min.to_string(),
            "max_rto" => tx.rto.max.to_string(),
            "rtt_tick" => match tx.rto.estimator {
                EstimatorKind::Ticks { tick, .. } => tick.to_string(),
                EstimatorKind::Rfc6298 { .. } => "none".into(),
            },
            "rtt_tick_phase" => match tx.rto.estimator {
                EstimatorKind::Ticks { phase, .. } => phase.to_string(),
                EstimatorKind::Rfc6298 { .. } => String::new(),
            },
            "rtt_tick_phase_step" => match tx.rto.estimator {
                EstimatorKind::Ticks { step, .. } => step.to_string(),
                EstimatorKind::Rfc6298 { .. } => String::new(),
            },
            "rtt_sampling" => match tx.rtt_sampling {
                RttSampling::OnePerWindow => "one-per-window",
                RttSampling::Timestamps => "timestamps",
            }
            .into(),
            "timestamps" => switch(rx.timestamps),
            "segment_bytes" => tx.segment_bytes.to_string(),
            "delayed_ack" => rx
                .delayed_ack
                .map_or_else(|| "off".into(), |d| d.to_string()),
            "delay_syn_ack" => switch(rx.delay_syn_ack),
            "dsack" => switch(rx.dsack),
            "rto_recovery_end" => match tx.rto_recovery_end {
                RtoRecoveryEnd::NewAck => "new-ack",
                RtoRecoveryEnd::RecoveryPoint => "recovery-point",
            }
            .into(),
            "chirp_estimator" => named(ChirpRule::NAMED, rx.estimator.chirp),
            "chirp_clean" => named(CleanChirp::NAMED, rx.estimator.clean),
            "chirp_resolution" => rx.estimator.resolution.to_string(),
            "pathchirp_f" => rx.estimator.pathchirp.decrease.to_string(),
            "pathchirp_l" => rx
                .estimator
                .pathchirp
                .busy
                .map_or_else(|| "auto".into(), |least| least.to_string()),
            "pathchirp_smoothing" => rx.estimator.smoothing.to_string(),
            _ => String::new(),
        }
    }

    /// Changes one setting of [`SETTINGS`].
    ///
    /// # Errors
    /// [`ConfigError`] when the value is not accepted.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let accepts = SETTINGS
            .iter()
            .find(|k| k.name == name)
            .map_or("nothing", |k| k.accepts);
        let refuse = || ConfigError::Value {
            name: name.into(),
            value: value.into(),
            accepts,
        };
        let time = || {
            value
                .parse::<Duration>()
                .map_err(|source| ConfigError::Unit {
                    name: name.into(),
                    source,
                })
        };
        let positive = || {
            time().and_then(|d| {
                if d == Duration::ZERO {
                    Err(refuse())
                } else {
                    Ok(d)
                }
            })
        };
        let whole = |least: u64, most: u64| {
            value
                .parse()
                .ok()
                .filter(|n| (least..=most).contains(n))
                .ok_or_else(refuse)
        };
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(refuse()),
        };
        let (tx, rx) = (&mut self.sender, &mut self.receiver);
        match name {
            "recovery" => {
                tx.recovery = match value {
                    "tahoe" => RecoveryKind::Tahoe,
                    "reno" => RecoveryKind::Reno,
                    "newreno" => RecoveryKind::NewReno,
                    "sack1" => RecoveryKind::Sack1,
                    "sack" => RecoveryKind::Sack,
                    _ => return Err(refuse()),
                };
                rx.sack_blocks = if tx.recovery.uses_sack() { 3 } else { 0 };
            }
            "recovery_rules" => {
                tx.recovery_rules = match value {
                    "rfc" => RecoveryRules::Rfc,
                    "ns2" => RecoveryRules::Ns2,
                    _ => return Err(refuse()),
                };
            }
            "newreno_timer" => {
                tx.newreno_timer = match value {
                    "first-partial-ack" => PartialAckTimer::First,
                    "every-partial-ack" => PartialAckTimer::Every,
                    _ => return Err(refuse()),
                };
            }
            "newreno_deflation" => tx.newreno_deflation = switch()?,
            "congestion" => {
                tx.congestion = AnyCongestion::named(value).ok_or_else(refuse)?;
            }
            "initial_window" if value == "rfc6928" => tx.initial_window = InitialWindow::Rfc6928,
            "initial_window" => {
                tx.initial_window = InitialWindow::Segments(whole(1, 1000)? as u32);
            }
            "restart_after_idle" => tx.restart_after_idle = switch()?,
            "abc_limit" if value == "off" => tx.ack_counting = AckCounting::PerAck,
            "abc_limit" => {
                let limit = whole(1, 1000)? as u32;
                tx.ack_counting = AckCounting::AppropriateBytes { limit };
            }
            "initial_ssthresh" => tx.initial_ssthresh = whole(2, 100_000_000)? as f64,
            "receiver_window" => tx.receiver_window = whole(1, 100_000_000)?,
            "dup_threshold" => tx.dup_threshold = whole(1, 1000)? as u32,
            "count_window_updates" => tx.count_window_updates = switch()?,
            "count_sackless_dupacks" => tx.count_sackless_dupacks = switch()?,
            "limited_transmit" => tx.limited_transmit = switch()?,
            "initial_rto" => tx.rto.initial = positive()?,
            "min_rto" => tx.rto.min = time()?,
            // A timer that backs off to less would expire without end.
            "max_rto" => {
                tx.rto.max = Some(time()?)
                    .filter(|max| *max >= Duration::from_millis(1))
                    .ok_or_else(refuse)?;
            }
            "rtt_tick" if value == "none" => {
                tx.rto.estimator = EstimatorKind::Rfc6298 {
                    granularity: Duration::from_millis(1),
                };
            }
            "rtt_tick" => {
                let (phase, step) = match tx.rto.estimator {
                    EstimatorKind::Ticks { phase, step, .. } => (phase, step),
                    EstimatorKind::Rfc6298 { .. } => (Duration::ZERO, Duration::ZERO),
                };
                tx.rto.estimator = EstimatorKind::Ticks {
                    tick: positive()?,
                    phase,
                    step,
                };
            }
            "rtt_tick_phase" => match &mut tx.rto.estimator {
                EstimatorKind::Ticks { phase, .. } => *phase = time()?,
                EstimatorKind::Rfc6298 { .. } => return Err(refuse()),
            },
            "rtt_tick_phase_step" => match &mut tx.rto.estimator {
                EstimatorKind::Ticks { step, .. } => *step = time()?,
                EstimatorKind::Rfc6298 { .. } => return Err(refuse()),
            },
            "rtt_sampling" => {
                tx.rtt_sampling = match value {
                    "one-per-window" => RttSampling::OnePerWindow,
                    "timestamps" => RttSampling::Timestamps,
                    _ => return Err(refuse()),
                };
                rx.timestamps = tx.rtt_sampling == RttSampling::Timestamps;
            }
            "timestamps" => rx.timestamps = switch()?,
            "segment_bytes" => tx.segment_bytes = whole(41, 65_535)? as u32,
            "delayed_ack" if value == "off" => rx.delayed_ack = None,
            "delayed_ack" => rx.delayed_ack = Some(positive()?),
            "delay_syn_ack" => rx.delay_syn_ack = switch()?,
            "dsack" => rx.dsack = switch()?,
            "rto_recovery_end" => {
                tx.rto_recovery_end = match value {
                    "new-ack" => RtoRecoveryEnd::NewAck,
                    "recovery-point" => RtoRecoveryEnd::RecoveryPoint,
                    _ => return Err(refuse()),
                };
            }
            "chirp_estimator" => {
                rx.estimator.chirp = chosen(ChirpRule::NAMED, value).ok_or_else(refuse)?;
            }
            "chirp_clean" => {
                rx.estimator.clean = chosen(CleanChirp::NAMED, value).ok_or_else(refuse)?;
            }
            "chirp_resolution" => rx.estimator.resolution = time()?,
            "pathchirp_f" => {
                let factor = value.parse().ok().filter(|f| (1.0..=100.0).contains(f));
                rx.estimator.pathchirp.decrease = factor.ok_or_else(refuse)?;
            }
            "pathchirp_l" if value == "auto" => rx.estimator.pathchirp.busy = None,
            "pathchirp_l" => rx.estimator.pathchirp.busy = Some(whole(1, 1000)? as u16),
            "pathchirp_smoothing" => rx.estimator.smoothing = whole(1, 100)? as u16,
            _ => return Err(refuse()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use midflight_control::congestion::CONGESTION_CONTROLLERS;

    use super::*;

    #[test]
    fn every_setting_of_every_profile_reads_back() {
        for profile in PROFILES {
            for setting in SETTINGS {
                let value = profile.get(setting.name);
                let mut again = *profile;
                if !value.is_empty() {
                    assert_eq!(again.set(setting.name, &value), Ok(()), "{}", setting.name);
                }
                assert_eq!(again.get(setting.name), value, "{}", setting.name);
            }
        }
    }

    /// Ticks of 10 ms: 5.558807 ms, and 7 ms more for each flow: 12.558807, 19.558807 and, of the
    /// fourth, 26.558807 ms.
    #[test]
    fn the_phase_of_each_further_flow_is_a_step_later() {
        let phase_ns = |p: &Profile, flow| match p.sender.of_flow(flow).rto.estimator {
            EstimatorKind::Ticks { phase, .. } => phase.as_nanos(),
            EstimatorKind::Rfc6298 { .. } => 0,
        };
        let mut p = NS2;
        assert_eq!([0, 1, 63].map(|n| phase_ns(&p, n)), [5_558_807; 3]);
        assert_eq!(p.set("rtt_tick_phase_step", "7 ms"), Ok(()));
        let phases = [0, 1, 2, 3].map(|n| phase_ns(&p, n));
        assert_eq!(phases, [5_558_807, 2_558_807, 9_558_807, 6_558_807]);
        assert_eq!(RFC.sender.of_flow(3), RFC.sender);
        let mut rfc = RFC;
        assert!(rfc.set("rtt_tick_phase_step", "7 ms").is_err(), "no ticks");
    }

    /// RFC 6928 section 2: `min(10 MSS, max(2 MSS, 14600 bytes))`.
    #[test]
    fn the_initial_window_is_a_rule_of_bytes() {
        for (bytes, segments) in [
            (576, 10),
            (1500, 10),
            (2040, 7),
            (4500, 3),
            (9000, 2),
            (65_535, 2),
        ] {
            let mut p = RFC;
            assert_eq!(p.set("segment_bytes", &bytes.to_string()), Ok(()));
            assert_eq!(p.sender.initial_window(), f64::from(segments), "{bytes}");
        }
    }

    #[test]
    fn every_registered_controller_can_be_set_and_is_named() {
        let names: Vec<_> = CONGESTION_CONTROLLERS.iter().map(|c| c.name).collect();
        let setting = SETTINGS.iter().find(|k| k.name == "congestion");
        assert_eq!(setting.map(|k| k.accepts), Some(names.join(", ").as_str()));
        for name in names {
            let mut p = NS2;
            assert_eq!(p.set("congestion", name), Ok(()));
            assert_eq!(p.get("congestion"), name);
        }
    }

    #[test]
    fn every_setting_refuses_nonsense_and_says_what_it_accepts() {
        for setting in SETTINGS {
            let mut p = NS2;
            let refused = p.set(setting.name, "nonsense");
            assert!(refused.is_err(), "{}", setting.name);
        }
        let mut p = NS2;
        assert!(p.set("min_rto", "1 s").is_ok() && p.sender.rto.min == Duration::from_secs(1));
        assert!(p.set("recovery", "newreno").is_ok() && p.receiver.sack_blocks == 0);
        assert!(profile("ns3").is_err_and(|e| e.to_string().contains("ns2, rfc")));
    }
}
