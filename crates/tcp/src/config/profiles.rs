//! The profiles by name.

use midflight_control::congestion::{AckCounting, AnyCongestion, Cubic, CubicLinux, Reno};
use midflight_control::dupack::{AnyDupackResponse, Immediate};
use midflight_control::estimate::EstimatorConfig;
use midflight_control::jiffies::Jiffies;
use midflight_control::loss::{AnyLossClassifier, Congestion};
use midflight_control::rtt::{EstimatorKind, RtoConfig};
use midflight_control::signal::{AnyHandoffSignal, Silent};
use midflight_control::spurious::{AnySpuriousDetector, NoDetector};
use midflight_units::Duration;

use super::{
    AckRules, Bursts, ConfigError, InitialWindow, Migration, PartialAckTimer, Profile, PrrRules,
    ReceiveBuffer, ReceiverConfig, RecoveryKind, RecoveryRules, ResponseLoad, RestartAfterIdle,
    RtoRecoveryEnd, RttSampling, SenderConfig, SenderParts, SlowStart, LINUX_SLACK,
};

/// Reno, duplicate ACKs treated as losses, losses treated as congestion, and no check of either.
const PLAIN: SenderParts = SenderParts {
    congestion: AnyCongestion::Reno(Reno),
    dupack_response: AnyDupackResponse::Immediate(Immediate),
    loss_classifier: AnyLossClassifier::Congestion(Congestion),
    spurious_detector: AnySpuriousDetector::None(NoDetector),
};

/// ns-2.35's Sack1 with the defaults of ns-2.29: what Daniel & Kojo 2008 ran.
pub(super) const NS2: Profile = Profile {
    name: "ns2",
    summary: "ns-2's Sack1 with delayed ACKs, as in the papers",
    sender: SenderConfig {
        segment_bytes: 1500,
        syn_bytes: 40,
        initial_window: InitialWindow::Segments(3),
        initial_window_after_syn_timeout: 1.0,
        syn_timeouts_for_small_window: 1,
        rto_after_syn_timeout: None,
        restart_after_idle: RestartAfterIdle::Off,
        prr: PrrRules::Linux,
        slow_start: SlowStart::Controller,
        initial_ssthresh: 10_000.0,
        receiver_window: 10_000,
        empty_acks: false,
        pacing: false,
        bursts: Bursts::LINUX,
        ecn: false,
        sack: true,
        recovery: RecoveryKind::Sack1,
        recovery_rules: RecoveryRules::Ns2,
        newreno_timer: PartialAckTimer::First,
        newreno_deflation: true,
        dup_threshold: 3,
        count_window_updates: true,
        count_sackless_dupacks: false,
        limited_transmit: true,
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
            clock: Jiffies::EXACT,
        },
        rtt_sampling: RttSampling::OnePerWindow,
        karn_every_retransmission: false,
        rto_recovery_end: RtoRecoveryEnd::NewAck,
        migration: Migration::RFC,
        fills_window: true,
        max_ack_delay: Duration::ZERO,
    },
    parts: PLAIN,
    receiver: ReceiverConfig {
        acks: AckRules::Rfc,
        delayed_ack: Some(Duration::from_millis(100)),
        delay_syn_ack: true,
        handshake_ids: false,
        delay_last_duplicate: true,
        sack_blocks: 3,
        dsack: false,
        timestamps: false,
        segment_bytes: 1500,
        signal: AnyHandoffSignal::Silent(Silent),
        estimator: EstimatorConfig::DEFAULT,
    },
    spares_uplink: true,
    counts_picoseconds: false,
};

/// The RFCs as written. No widespread stack runs this: they have RACK, tail loss probes and a smaller minimum RTO.
pub(super) const RFC: Profile = Profile {
    name: "rfc",
    summary: "the RFCs to the letter (5681, 6675, 6298, 3042, 6928, 7323, 2018, 2883); no widespread stack runs it",
    sender: SenderConfig {
        segment_bytes: 1500,
        syn_bytes: 40,
        initial_window: InitialWindow::Rfc6928,
        initial_window_after_syn_timeout: 1.0,
        syn_timeouts_for_small_window: 2,
        rto_after_syn_timeout: Some(Duration::from_secs(3)),
        restart_after_idle: RestartAfterIdle::On,
        // RFC 5681 section 3.1: arbitrarily high.
        prr: PrrRules::Linux,
        slow_start: SlowStart::Controller,
        initial_ssthresh: 1_000_000.0,
        receiver_window: 1_000_000,
        empty_acks: false,
        pacing: false,
        bursts: Bursts::LINUX,
        ecn: false,
        sack: true,
        recovery: RecoveryKind::Sack,
        recovery_rules: RecoveryRules::Rfc,
        newreno_timer: PartialAckTimer::First,
        newreno_deflation: true,
        dup_threshold: 3,
        count_window_updates: false,
        count_sackless_dupacks: false,
        limited_transmit: true,
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
            clock: Jiffies::EXACT,
        },
        rtt_sampling: RttSampling::Timestamps,
        karn_every_retransmission: true,
        rto_recovery_end: RtoRecoveryEnd::NewAck,
        migration: Migration::RFC,
        fills_window: true,
        max_ack_delay: Duration::ZERO,
    },
    parts: PLAIN,
    receiver: ReceiverConfig {
        acks: AckRules::Rfc,
        delayed_ack: Some(Duration::from_millis(200)),
        delay_syn_ack: false,
        handshake_ids: false,
        delay_last_duplicate: false,
        sack_blocks: 3,
        dsack: true,
        timestamps: true,
        segment_bytes: 1500,
        signal: AnyHandoffSignal::Silent(Silent),
        estimator: EstimatorConfig::DEFAULT,
    },
    spares_uplink: false,
    counts_picoseconds: false,
};

const LINUX_CLOCK: Jiffies = Jiffies {
    hz: 250,
    phase: Duration::ZERO,
};

/// Linux 6.12 as built by Debian, with the default settings of net.ipv4.
pub(super) const LINUX: Profile = Profile {
    name: "linux",
    summary: "Linux 6.12: CUBIC, RACK, tail loss probes, PRR, F-RTO and undo",
    sender: SenderConfig {
        segment_bytes: 1500,
        syn_bytes: 60,
        initial_window: InitialWindow::Segments(10),
        initial_window_after_syn_timeout: 1.0,
        syn_timeouts_for_small_window: 2,
        rto_after_syn_timeout: None,
        restart_after_idle: RestartAfterIdle::Halving,
        // TCP_INFINITE_SSTHRESH.
        initial_ssthresh: 2_147_483_647.0,
        recovery: RecoveryKind::Linux,
        response_load: ResponseLoad::Window,
        rto: RtoConfig {
            estimator: EstimatorKind::Linux,
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            clock: LINUX_CLOCK,
        },
        empty_acks: true,
        ..RFC.sender
    },
    parts: SenderParts {
        congestion: AnyCongestion::CubicLinux(CubicLinux::DEFAULT),
        ..PLAIN
    },
    receiver: ReceiverConfig {
        acks: AckRules::Linux {
            clock: LINUX_CLOCK,
            mss: 1448,
            buffer: ReceiveBuffer::LINUX,
            slack: LINUX_SLACK,
            gro_flush_timeout: Duration::ZERO,
        },
        ..RFC.receiver
    },
    spares_uplink: false,
    counts_picoseconds: true,
};

/// QUIC according to its RFCs: 9000 and 9002, with CUBIC of RFC 9438.
pub(super) const QUIC: Profile = Profile {
    name: "quic",
    summary: "QUIC: RFC 9002 with CUBIC, pacing, and migration as in RFC 9000",
    sender: SenderConfig {
        segment_bytes: 1228,
        syn_bytes: 1228,
        // RFC 9002 section 7.2: min(10 * 1200, max(14720, 2 * 1200)) bytes.
        initial_window: InitialWindow::Segments(10),
        initial_window_after_syn_timeout: 10.0,
        restart_after_idle: RestartAfterIdle::Off,
        pacing: true,
        recovery: RecoveryKind::Quic,
        // Every byte counts (RFC 9002 section 7.3.1).
        ack_counting: AckCounting::AppropriateBytes { limit: 1000 },
        response_load: ResponseLoad::Window,
        rto: RtoConfig {
            estimator: EstimatorKind::Rfc6298 {
                granularity: Duration::from_millis(1),
            },
            // kInitialRtt + 4 * kInitialRtt / 2 (RFC 9002 section 6.2.2).
            initial: Duration::from_millis(999),
            min: Duration::ZERO,
            max: Duration::from_secs(3600),
            clock: Jiffies::EXACT,
        },
        rtt_sampling: RttSampling::OnePerWindow,
        max_ack_delay: Duration::from_millis(25),
        ..RFC.sender
    },
    parts: SenderParts {
        congestion: AnyCongestion::Cubic(Cubic::DEFAULT),
        ..PLAIN
    },
    receiver: ReceiverConfig {
        acks: AckRules::Quic { threshold: 1 },
        // The default of max_ack_delay (RFC 9000 section 18.2).
        delayed_ack: Some(Duration::from_millis(25)),
        timestamps: false,
        dsack: false,
        segment_bytes: 1228,
        ..RFC.receiver
    },
    spares_uplink: false,
    counts_picoseconds: true,
};

/// All profiles.
pub const PROFILES: &[Profile] = &[NS2, RFC, LINUX, QUIC];

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
