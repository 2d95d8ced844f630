//! All options of a sender and a receiver, explicit and with units. A profile is only a named set of them.

mod bursts;
mod check;
mod profiles;
mod quic;
mod settings;

use midflight_control::congestion::{AckCounting, AnyCongestion};
use midflight_control::dupack::AnyDupackResponse;
use midflight_control::estimate::EstimatorConfig;
use midflight_control::jiffies::Jiffies;
use midflight_control::loss::AnyLossClassifier;
use midflight_control::rtt::{EstimatorKind, RtoConfig};
use midflight_control::signal::AnyHandoffSignal;
use midflight_control::spurious::AnySpuriousDetector;
use midflight_units::{Duration, UnitError};

pub use bursts::Bursts;
pub use profiles::{profile, PROFILES};
pub use quic::{
    ControllerAfter, InFlightAfter, Migration, PortOnly, RttAfter, Switch, MIGRATIONS,
    QUIC_OVERHEAD,
};
pub(crate) use quic::{PATH_FRAME_BYTES, UDP_HEADERS};
pub use settings::SETTINGS;

pub use crate::recovery::RecoveryKind;

/// What an idle time longer than the RTO does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartAfterIdle {
    /// Nothing.
    Off,
    /// The window becomes at most the initial window (RFC 5681 section 4.1).
    On,
    /// The window is halved for each RTO of idle time, down to the initial one. The same happens when the
    /// application has not used the window for that long (tcp_cwnd_restart() and tcp_cwnd_application_limited()
    /// of Linux).
    Halving,
}

/// What ends slow start, besides a loss and the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStart {
    /// The congestion controller's own rule, such as CUBIC's HyStart in Linux.
    Controller,
    /// HyStart++ (RFC 9406) instead, with every controller that leaves slow-start growth to the sender.
    HyStartPlus,
}

/// The variant of proportional rate reduction in the recovery of Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrrRules {
    /// The kernel's variant, in proportion to the window before the reduction.
    #[default]
    Linux,
    /// RFC 9937, in proportion to the data in flight.
    Rfc9937,
}

/// The window after the SYN is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// This many segments.
    Segments(u32),
    /// RFC 6928 section 2: `min(10 MSS, max(2 MSS, 14600 bytes))`, in whole segments.
    Rfc6928,
}

/// When the receiver sends ACKs and which window it advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRules {
    /// RFC 5681 section 4.2, with a fixed window: the setting `receiver_window`.
    Rfc,
    /// Linux 6.12: quick ACKs, adaptive delayed ACKs, compressed SACK, window autotuning.
    Linux {
        /// Its clock.
        clock: Jiffies,
        /// Bytes of data in a segment.
        mss: u32,
        /// Its receive buffer.
        buffer: ReceiveBuffer,
        /// How much later than its deadline a compressed ACK may be sent (net.ipv4.tcp_comp_sack_slack_ns). It is
        /// sent at the end of that time, or earlier if another timer expires first.
        slack: Duration,
        /// How long a segment waits to be merged with the next one (GRO; `gro_flush_timeout` of a network device); zero:
        /// segments are not merged.
        gro_flush_timeout: Duration,
    },
    /// RFC 9000 section 13.2 with `delayed_ack` as its max_ack_delay: ACKs report ranges of packet numbers,
    /// without SACK.
    Quic {
        /// How many packets may wait for their ACK (the threshold of
        /// draft-ietf-quic-ack-frequency).
        threshold: u32,
    },
}

/// Size of the Linux receive buffer in bytes: initial and maximum (net.ipv4.tcp_rmem).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Initial size.
    pub first: u32,
    /// Maximum size.
    pub most: u32,
}

/// The receive buffer that every socket's window scale must cover (net.core.rmem_max), and the largest shift.
const SOCKET_BUFFER: u32 = 212_992;
const MOST_SHIFT: u32 = 14;

/// net.ipv4.tcp_comp_sack_slack_ns of Linux.
pub const LINUX_SLACK: Duration = Duration::from_micros(100);

impl ReceiveBuffer {
    /// net.ipv4.tcp_rmem of Linux 6.12.
    pub const LINUX: Self = Self {
        first: 131_072,
        most: 6_291_456,
    };

    /// The window scale (tcp_select_initial_window()).
    pub fn window_shift(self) -> u8 {
        let space = self.first.max(self.most).max(SOCKET_BUFFER);
        (space.ilog2() - 15).min(MOST_SHIFT) as u8
    }
}

/// IP and TCP headers without options, in bytes.
const HEADERS: u32 = 40;
/// The timestamps option with padding.
const TIMESTAMPS: u32 = 12;

/// The rules that Tahoe, Reno and NewReno follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryRules {
    /// RFC 5681 and RFC 6582.
    Rfc,
    /// ns-2's agents with `bugFix_`.
    Ns2,
}

/// Which partial ACKs of a NewReno recovery restart the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAckTimer {
    /// The first one (RFC 6582's Impatient variant).
    First,
    /// All of them (its Slow-but-Steady variant).
    Every,
}

/// The quantity that a congestion event halves.
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
    /// One segment at a time is timed, never a retransmitted one (RFC 6298 section 3, Karn).
    OnePerWindow,
    /// Every ACK of new data, by the timestamp option (RFC 7323 section 4).
    Timestamps,
}

/// When RTO recovery ends.
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
    /// Window after the SYN is acknowledged if SYNs were lost (RFC 5681 section 3.1: 1).
    pub initial_window_after_syn_timeout: f64,
    /// Number of SYN timeouts that lead to that window (RFC 6928 section 2: more than one).
    pub syn_timeouts_for_small_window: u32,
    /// RTO at the start of data transfer after a timeout of the SYN (RFC 6298 (5.7): 3 s); none to keep the
    /// current one.
    pub rto_after_syn_timeout: Option<Duration>,
    /// What an idle time longer than the RTO does to the window.
    pub restart_after_idle: RestartAfterIdle,
    /// How the recovery of Linux reduces the window.
    pub prr: PrrRules,
    /// What ends slow start.
    pub slow_start: SlowStart,
    /// Slow-start threshold at the start, in segments.
    pub initial_ssthresh: f64,
    /// Receiver's window, in segments, if the receiver does not advertise one.
    pub receiver_window: u64,
    /// The sender sends ACKs without data: for the SYN-ACK before data is sent (RFC 9293 section 3.5), and for
    /// ACKs that others have overtaken (RFC 7323 section 5.3).
    pub empty_acks: bool,
    /// Segments are paced even if the controller does not request it: at the rate of tcp_update_pacing_rate() of
    /// Linux.
    pub pacing: bool,
    /// The size of bursts in the recovery of Linux.
    pub bursts: Bursts,
    /// Explicit congestion notification is negotiated (RFC 3168): data segments carry ECT(0).
    pub ecn: bool,
    /// SACK is agreed on, if the recovery uses it. Without it only the recovery of Linux works, which counts duplicate ACKs
    /// then.
    pub sack: bool,
    /// Loss recovery.
    pub recovery: RecoveryKind,
    /// Rules of the recoveries without SACK; recoveries with SACK have their own.
    pub recovery_rules: RecoveryRules,
    /// Which partial ACKs restart NewReno's timer (RFC 6582 section 4).
    pub newreno_timer: PartialAckTimer,
    /// A partial ACK reduces NewReno's window by the segments that it acknowledges (RFC 6582
    /// section 3.2 step 3) instead of by all that duplicates have added (RFC 2582's
    /// predecessors, and ns-2 before May 2003).
    pub newreno_deflation: bool,
    /// Duplicate ACKs that start fast retransmit (RFC 5681: 3).
    pub dup_threshold: u32,
    /// A pure window update counts as a duplicate ACK: RFC 5681 section 2 (e) says no, ns-2 ignores
    /// advertised windows.
    pub count_window_updates: bool,
    /// With SACK, a duplicate ACK counts even if it has no new SACK information: RFC 5681 section 2 against RFC
    /// 6675 section 2.
    pub count_sackless_dupacks: bool,
    /// Send a new segment on the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// How slow start counts an ACK.
    pub ack_counting: AckCounting,
    /// The quantity that a congestion event halves.
    pub response_load: ResponseLoad,
    /// A further timeout of the same segment does not change the threshold (RFC 5681 section 3.1).
    /// ns-2 halves again, down to two segments.
    pub hold_ssthresh_on_repeat: bool,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// Source of RTT samples.
    pub rtt_sampling: RttSampling,
    /// Every retransmission of the timed segment cancels its timing (Karn; RFC
    /// 6298 section 3). ns-2 cancels at a fast retransmit and a timeout only, not when recovery
    /// retransmits the segment as a later hole.
    pub karn_every_retransmission: bool,
    /// End of RTO recovery, for policies that use it.
    pub rto_recovery_end: RtoRecoveryEnd,
    /// The behaviour of a QUIC sender when its peer's address changes.
    pub migration: Migration,
    /// A QUIC sender sends the last packet that fits into its window (RFC 9002 section 7); quinn
    /// 0.11 does not.
    pub fills_window: bool,
    /// Longest ACK delay that a QUIC receiver announces (max_ack_delay, RFC 9000 section 18.2).
    pub max_ack_delay: Duration,
}

/// The parts of a sender other than its policies, in their initial state. A sender takes its own copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderParts {
    /// How the window grows, and how much congestion reduces it.
    pub congestion: AnyCongestion,
    /// The response to duplicate ACKs.
    pub dupack_response: AnyDupackResponse,
    /// The classification of a loss.
    pub loss_classifier: AnyLossClassifier,
    /// How timeouts and fast retransmits are checked.
    pub spurious_detector: AnySpuriousDetector,
}

impl SenderConfig {
    /// Bytes of data in a segment, after the timestamps option.
    pub fn payload_bytes(&self) -> u32 {
        if self.recovery == RecoveryKind::Quic {
            return self.segment_bytes.saturating_sub(QUIC_OVERHEAD).max(1);
        }
        let options = match self.rtt_sampling {
            RttSampling::OnePerWindow => 0,
            RttSampling::Timestamps => TIMESTAMPS,
        };
        self.segment_bytes.saturating_sub(HEADERS + options).max(1)
    }

    /// Bytes of a segment without data.
    pub(crate) fn bare_bytes(&self) -> u32 {
        HEADERS
            + match self.rtt_sampling {
                RttSampling::OnePerWindow => 0,
                RttSampling::Timestamps => TIMESTAMPS,
            }
    }

    /// Whether an unused window is halved (see [`RestartAfterIdle::Halving`]).
    pub(crate) fn restarts_after_idle(&self) -> bool {
        self.restart_after_idle == RestartAfterIdle::Halving
    }

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

    /// The same configuration for flow `number` of a run, from 0: the phase of its clock is this many steps
    /// later.
    #[must_use]
    pub fn of_flow(mut self, number: usize) -> Self {
        if let EstimatorKind::Ticks { tick, phase, step } = &mut self.rto.estimator {
            if *step == Duration::ZERO || number == 0 {
                return self;
            }
            let of = |time: &Duration| u128::from(time.as_nanos());
            let later = of(step) * number as u128 % of(tick).max(1);
            // Phases that differ by whole ticks are equal.
            *phase = Duration::from_nanos(((of(phase) + later) % of(tick).max(1)) as u64);
        }
        self
    }
}

/// The parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// When it sends ACKs. Linux has its own rules instead of the fields up to `timestamps`, except for whether
    /// there are SACK blocks.
    pub acks: AckRules,
    /// Longest delay of an ACK; none to acknowledge every segment.
    pub delayed_ack: Option<Duration>,
    /// The ACK of the SYN is delayed as well.
    pub delay_syn_ack: bool,
    /// Of QUIC: a packet with connection identifiers arrives with the handshake and waits for its ACK like one with data.
    pub handshake_ids: bool,
    /// A duplicate of the last in-order segment is acknowledged like a new segment (ns-2) instead of at once (RFC
    /// 9293 section 3.10.7.4).
    pub delay_last_duplicate: bool,
    /// Most SACK blocks in an ACK; 0 for no SACK.
    pub sack_blocks: u8,
    /// Report duplicates (RFC 2883).
    pub dsack: bool,
    /// Echo timestamps (RFC 7323).
    pub timestamps: bool,
    /// Bytes of the sender's full packets on the wire.
    pub segment_bytes: u32,
    /// The signals that the mobile node sends at its own handoffs.
    pub signal: AnyHandoffSignal,
    /// How it estimates a rate from a train.
    pub estimator: EstimatorConfig,
}

impl ReceiverConfig {
    /// Bytes of a segment without data.
    #[inline]
    pub(crate) fn bare_bytes(&self) -> u32 {
        HEADERS + if self.timestamps { TIMESTAMPS } else { 0 }
    }

    /// The Linux receive buffer; with other ACK rules, the default one.
    pub(crate) fn buffer(&self) -> ReceiveBuffer {
        match self.acks {
            AckRules::Linux { buffer, .. } => buffer,
            _ => ReceiveBuffer::LINUX,
        }
    }

    /// The slack of compressed ACKs, with the same default.
    pub(crate) fn slack(&self) -> Duration {
        match self.acks {
            AckRules::Linux { slack, .. } => slack,
            _ => LINUX_SLACK,
        }
    }

    /// The timeout of GRO; with other ACK rules, the default one.
    pub(crate) fn gro_flush_timeout(&self) -> Duration {
        match self.acks {
            AckRules::Linux {
                gro_flush_timeout, ..
            } => gro_flush_timeout,
            _ => Duration::ZERO,
        }
    }
}

/// A named bundle of parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Name on the command line.
    pub name: &'static str,
    /// What it represents.
    pub summary: &'static str,
    /// Sender.
    pub sender: SenderConfig,
    /// Its parts.
    pub parts: SenderParts,
    /// Receiver.
    pub receiver: ReceiverConfig,
    /// In the papers' network a break does not lose packets that the node has queued for the old
    /// link: ns-2's loss model is between the node and that queue.
    pub spares_uplink: bool,
    /// Links count time in whole picoseconds, and flow endpoints act at whole nanoseconds, as in the lab;
    /// otherwise both use IEEE doubles of seconds, as in ns-2.
    pub counts_picoseconds: bool,
}
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
    #[error("{name} = \"{value}\" is not accepted; expected {accepts}")]
    Value {
        /// The setting.
        name: String,
        /// The value that was read.
        value: String,
        /// The accepted values.
        accepts: &'static str,
    },
    /// These parts or settings do not work together.
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
        /// The error in the quantity.
        source: UnitError,
    },
}

#[cfg(test)]
mod tests {
    use super::profiles::{NS2, RFC};
    use super::*;

    /// Ticks of 10 ms: 5.558807 ms, and 7 ms more for each flow: 12.558807, 19.558807 and, for the fourth,
    /// 26.558807 ms.
    #[test]
    fn the_phase_of_each_further_flow_is_a_step_later() {
        let phase_ns = |p: &Profile, flow| match p.sender.of_flow(flow).rto.estimator {
            EstimatorKind::Ticks { phase, .. } => phase.as_nanos(),
            EstimatorKind::Rfc6298 { .. } | EstimatorKind::Linux => 0,
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
}
