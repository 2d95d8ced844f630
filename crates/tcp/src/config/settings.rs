//! Settings that can be changed one at a time: their names, and how they are read and written.

use midflight_control::congestion::{AckCounting, AnyCongestion, CONGESTION_CONTROLLERS};
use midflight_control::estimate::{ChirpRule, CleanChirp};
use midflight_control::part::{joined, joined_length, Knob};
use midflight_control::rtt::EstimatorKind;
use midflight_units::Duration;

use super::{
    AckRules, ConfigError, ControllerAfter, InFlightAfter, InitialWindow, Migration,
    PartialAckTimer, PortOnly, Profile, PrrRules, RecoveryKind, RecoveryRules, RestartAfterIdle,
    RtoRecoveryEnd, RttAfter, RttSampling, SlowStart, Switch,
};
use crate::recovery::RECOVERIES;

/// The names of a registry as one text, for what a setting accepts.
macro_rules! names {
    ($list:expr) => {{
        const BYTES: [u8; joined_length($list)] = joined($list);
        match std::str::from_utf8(&BYTES) {
            Ok(names) => names,
            Err(_) => "",
        }
    }};
}

/// Settings of a sender or receiver that can be changed one at a time. The
/// default is the profile's.
pub const SETTINGS: &[Knob] = &[
    Knob {
        name: "recovery",
        default: "",
        accepts: names!(RECOVERIES),
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
        accepts: names!(CONGESTION_CONTROLLERS),
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
        accepts: "on, off, halving",
        summary: "after an idle time longer than the RTO the window is at most the initial one (RFC 5681, 4.1); halving takes half of it for each RTO, as Linux does",
    },
    Knob {
        name: "prr",
        default: "",
        accepts: "linux, rfc9937",
        summary: "proportional rate reduction of the recovery linux: the kernel's, which counts from the window, or RFC 9937's, which counts from what was in flight",
    },
    Knob {
        name: "slow_start",
        default: "",
        accepts: "controller, hystart++",
        summary: "what ends slow start besides losses and the threshold: what the congestion controller has for it, or HyStart++ (RFC 9406) in its place",
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
        accepts: "a whole number of segments from 2 to 2147483647",
        summary: "slow-start threshold at the start",
    },
    Knob {
        name: "receiver_window",
        default: "",
        accepts: "a whole number of segments from 1 to 100000000",
        summary: "the receiver's window",
    },
    Knob {
        name: "empty_acks",
        default: "",
        accepts: "on, off",
        summary: "the sender acknowledges by segments without data: the SYN-ACK before data goes, and ACKs that others have overtaken (PAWS)",
    },
    Knob {
        name: "pacing",
        default: "",
        accepts: "auto, on",
        summary: "segments leave at a rate: where the controller asks for it, or always, by twice the window a round trip below half the threshold and 1.2 times above, as Linux does where its qdisc is fq or a socket asks",
    },
    Knob {
        name: "ecn",
        default: "",
        accepts: "on, off",
        summary: "explicit congestion notification (RFC 3168): data may be marked instead of dropped, the receiver echoes marks, and the sender reduces as for a loss; of the recoveries linux answers them",
    },
    Knob {
        name: "acks",
        default: "",
        accepts: "rfc, linux, quic",
        summary: "when the receiver acknowledges: by RFC 5681, with the window receiver_window, as Linux does, with a window that grows, or as QUIC (RFC 9000 section 13.2)",
    },
    Knob {
        name: "ack_threshold",
        default: "",
        accepts: "a whole number of packets from 0 to 1000, where acks is quic",
        summary: "so many packets may wait for their ACK (draft-ietf-quic-ack-frequency; RFC 9000: 1)",
    },
    Knob {
        name: "window_edge",
        default: "",
        accepts: "full, below",
        summary: "whether a QUIC sender fills its window to the last packet (RFC 9002 section 7) or stays one below, as quinn 0.11 does",
    },
    Knob {
        name: "migration",
        default: "",
        accepts: "rfc9000, quinn, s2n-quic, neqo, quiche, google-quiche, picoquic, msquic",
        summary: "all that a QUIC sender does when its peer has another address, as RFC 9000 or a stack does it",
    },
    Knob {
        name: "migration_controller",
        default: "",
        accepts: "reset, keep, restore",
        summary: "the congestion controller then; restore is for a path that is known",
    },
    Knob {
        name: "migration_rtt",
        default: "",
        accepts: "reset, keep, challenge",
        summary: "the estimate of the RTT then; challenge is that of the answer to the PATH_CHALLENGE",
    },
    Knob {
        name: "migration_initial_rtt",
        default: "",
        accepts: "a time",
        summary: "RTT before the first sample of a new path",
    },
    Knob {
        name: "migration_old_samples",
        default: "",
        accepts: "on, off",
        summary: "packets of the old path give RTT samples of the new one (RFC 9000 section 9.4 forbids it)",
    },
    Knob {
        name: "migration_in_flight",
        default: "",
        accepts: "keep, drop, retransmit",
        summary: "packets in flight then: they count in the new window, they do not, or their data go again at once",
    },
    Knob {
        name: "migration_window",
        default: "",
        accepts: "a whole number of packets from 1 to 1000",
        summary: "window of a new path",
    },
    Knob {
        name: "migration_port",
        default: "",
        accepts: "keep, reset, controller",
        summary: "what is kept where only the port is another: everything, nothing, or the controller",
    },
    Knob {
        name: "migration_switch",
        default: "",
        accepts: "before, after",
        summary: "data go to a new address before it is validated, at most three times what came from there, or after that",
    },
    Knob {
        name: "tcp_rmem_default",
        default: "",
        accepts: "a whole number of bytes from 4096 to 16777216, where acks is linux",
        summary: "the receive buffer of Linux at the start, which holds packets with what the kernel adds to them: the window is about half of it at first",
    },
    Knob {
        name: "tcp_rmem_max",
        default: "",
        accepts: "a whole number of bytes from 4096 to 1073741824, where acks is linux",
        summary: "how large the receive buffer of Linux may become; no less than tcp_rmem_default",
    },
    Knob {
        name: "tcp_comp_sack_slack",
        default: "",
        accepts: "a time of up to 10 ms, where acks is linux",
        summary: "how much later than due a compressed ACK of Linux leaves, so that timers may ring together",
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
        accepts: "a time, none for RFC 6298 in nanoseconds, or linux for Linux's estimator in microseconds",
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
        name: "hz",
        default: "",
        accepts: "a whole number of ticks a second from 100 to 1000, or 0 for timers that are exact",
        summary: "clock of the timers: they ring at its ticks, as the timer wheel of Linux rounds them",
    },
    Knob {
        name: "hz_phase",
        default: "",
        accepts: "a time",
        summary: "what that clock, counted from its tick of number zero, shows at time zero",
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

const CONTROLLERS: &[(&str, ControllerAfter)] = &[
    ("reset", ControllerAfter::Reset),
    ("keep", ControllerAfter::Keep),
    ("restore", ControllerAfter::Restore),
];
const RTTS: &[(&str, RttAfter)] = &[
    ("reset", RttAfter::Reset),
    ("keep", RttAfter::Keep),
    ("challenge", RttAfter::Challenge),
];
const IN_FLIGHT: &[(&str, InFlightAfter)] = &[
    ("keep", InFlightAfter::Keep),
    ("drop", InFlightAfter::Drop),
    ("retransmit", InFlightAfter::Retransmit),
];
const PORTS: &[(&str, PortOnly)] = &[
    ("keep", PortOnly::Keep),
    ("reset", PortOnly::Reset),
    ("controller", PortOnly::Controller),
];
const SWITCHES: &[(&str, Switch)] = &[("before", Switch::Before), ("after", Switch::After)];

fn chosen<T: Copy>(choices: &[(&str, T)], text: &str) -> Option<T> {
    let choice = choices.iter().find(|(name, _)| *name == text);
    choice.map(|&(_, value)| value)
}

fn named<T: PartialEq + Copy>(choices: &[(&str, T)], value: T) -> String {
    let choice = choices.iter().find(|(_, v)| *v == value);
    choice.map_or_else(String::new, |(name, _)| (*name).into())
}

impl Profile {
    /// The value of one setting of [`SETTINGS`], as [`Self::set`] reads it.
    pub fn get(&self, name: &str) -> String {
        let switch = |on| if on { "on" } else { "off" }.to_string();
        let (tx, rx) = (&self.sender, &self.receiver);
        match name {
            "recovery" => tx.recovery.info().name.into(),
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
            "congestion" => self.parts.congestion.info().name.into(),
            "initial_window" => match tx.initial_window {
                InitialWindow::Segments(segments) => segments.to_string(),
                InitialWindow::Rfc6928 => "rfc6928".into(),
            },
            "restart_after_idle" => match tx.restart_after_idle {
                RestartAfterIdle::Off => "off",
                RestartAfterIdle::On => "on",
                RestartAfterIdle::Halving => "halving",
            }
            .into(),
            "prr" => match tx.prr {
                PrrRules::Linux => "linux",
                PrrRules::Rfc9937 => "rfc9937",
            }
            .into(),
            "slow_start" => match tx.slow_start {
                SlowStart::Controller => "controller",
                SlowStart::HyStartPlus => "hystart++",
            }
            .into(),
            "abc_limit" => match tx.ack_counting {
                AckCounting::PerAck => "off".into(),
                AckCounting::AppropriateBytes { limit } => limit.to_string(),
            },
            "initial_ssthresh" => tx.initial_ssthresh.to_string(),
            "receiver_window" => tx.receiver_window.to_string(),
            "empty_acks" => switch(tx.empty_acks),
            "pacing" => if tx.pacing { "on" } else { "auto" }.into(),
            "ecn" => switch(tx.ecn),
            "acks" => match rx.acks {
                AckRules::Rfc => "rfc",
                AckRules::Linux { .. } => "linux",
                AckRules::Quic { .. } => "quic",
            }
            .into(),
            "tcp_rmem_default" | "tcp_rmem_max" | "tcp_comp_sack_slack" => match rx.acks {
                AckRules::Linux { buffer, slack, .. } => match name {
                    "tcp_rmem_default" => buffer.first.to_string(),
                    "tcp_rmem_max" => buffer.most.to_string(),
                    _ => slack.to_string(),
                },
                _ => String::new(),
            },
            "ack_threshold" => match rx.acks {
                AckRules::Quic { threshold } => threshold.to_string(),
                _ => String::new(),
            },
            "window_edge" => if tx.fills_window { "full" } else { "below" }.into(),
            "migration" => tx.migration.name().unwrap_or_default().into(),
            "migration_controller" => named(CONTROLLERS, tx.migration.controller),
            "migration_rtt" => named(RTTS, tx.migration.rtt),
            "migration_initial_rtt" => tx.migration.initial_rtt.to_string(),
            "migration_old_samples" => switch(tx.migration.old_samples),
            "migration_in_flight" => named(IN_FLIGHT, tx.migration.in_flight),
            "migration_window" => tx.migration.window.to_string(),
            "migration_port" => named(PORTS, tx.migration.port),
            "migration_switch" => named(SWITCHES, tx.migration.switch),
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
                EstimatorKind::Linux => "linux".into(),
            },
            "rtt_tick_phase" => match tx.rto.estimator {
                EstimatorKind::Ticks { phase, .. } => phase.to_string(),
                EstimatorKind::Rfc6298 { .. } | EstimatorKind::Linux => String::new(),
            },
            "rtt_tick_phase_step" => match tx.rto.estimator {
                EstimatorKind::Ticks { step, .. } => step.to_string(),
                EstimatorKind::Rfc6298 { .. } | EstimatorKind::Linux => String::new(),
            },
            "hz" => tx.rto.clock.hz.to_string(),
            "hz_phase" => tx.rto.clock.phase.to_string(),
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
                tx.recovery = RecoveryKind::named(value).ok_or_else(refuse)?;
                rx.sack_blocks = if tx.recovery.uses_sack() { 3 } else { 0 };
                // Packet numbers and their ACKs go together.
                match (tx.recovery, rx.acks) {
                    (RecoveryKind::Quic, AckRules::Quic { .. }) => {}
                    (RecoveryKind::Quic, _) => rx.acks = AckRules::Quic { threshold: 1 },
                    (_, AckRules::Quic { .. }) => rx.acks = AckRules::Rfc,
                    _ => {}
                }
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
                self.parts.congestion = AnyCongestion::named(value).ok_or_else(refuse)?;
            }
            "initial_window" if value == "rfc6928" => tx.initial_window = InitialWindow::Rfc6928,
            "initial_window" => {
                tx.initial_window = InitialWindow::Segments(whole(1, 1000)? as u32);
            }
            "restart_after_idle" => {
                tx.restart_after_idle = match value {
                    "off" => RestartAfterIdle::Off,
                    "on" => RestartAfterIdle::On,
                    "halving" => RestartAfterIdle::Halving,
                    _ => return Err(refuse()),
                };
            }
            "prr" => {
                let choices = [("linux", PrrRules::Linux), ("rfc9937", PrrRules::Rfc9937)];
                tx.prr = chosen(&choices, value).ok_or_else(refuse)?;
            }
            "slow_start" => {
                let choices = [
                    ("controller", SlowStart::Controller),
                    ("hystart++", SlowStart::HyStartPlus),
                ];
                tx.slow_start = chosen(&choices, value).ok_or_else(refuse)?;
            }
            "abc_limit" if value == "off" => tx.ack_counting = AckCounting::PerAck,
            "abc_limit" => {
                let limit = whole(1, 1000)? as u32;
                tx.ack_counting = AckCounting::AppropriateBytes { limit };
            }
            "initial_ssthresh" => tx.initial_ssthresh = whole(2, 2_147_483_647)? as f64,
            "receiver_window" => tx.receiver_window = whole(1, 100_000_000)?,
            "empty_acks" => tx.empty_acks = switch()?,
            "pacing" => {
                tx.pacing = match value {
                    "auto" => false,
                    "on" => true,
                    _ => return Err(refuse()),
                };
            }
            "ecn" => tx.ecn = switch()?,
            "acks" => {
                rx.acks = match value {
                    "rfc" => AckRules::Rfc,
                    "linux" => AckRules::Linux {
                        clock: tx.rto.clock,
                        mss: tx.payload_bytes(),
                        buffer: rx.buffer(),
                        slack: rx.slack(),
                    },
                    "quic" => AckRules::Quic { threshold: 1 },
                    _ => return Err(refuse()),
                };
            }
            "tcp_rmem_default" => match &mut rx.acks {
                AckRules::Linux { buffer, .. } => {
                    buffer.first = whole(4096, 16_777_216)? as u32;
                    buffer.most = buffer.most.max(buffer.first);
                }
                _ => return Err(refuse()),
            },
            "tcp_rmem_max" => match &mut rx.acks {
                AckRules::Linux { buffer, .. } => {
                    buffer.most = whole(4096, 1 << 30)? as u32;
                    buffer.first = buffer.first.min(buffer.most);
                }
                _ => return Err(refuse()),
            },
            "tcp_comp_sack_slack" => match &mut rx.acks {
                AckRules::Linux { slack, .. } => {
                    *slack = time()?;
                    if *slack > Duration::from_millis(10) {
                        return Err(refuse());
                    }
                }
                _ => return Err(refuse()),
            },
            "ack_threshold" => {
                let AckRules::Quic { threshold } = &mut rx.acks else {
                    return Err(refuse());
                };
                *threshold = whole(0, 1000)? as u32;
            }
            "window_edge" => {
                tx.fills_window = match value {
                    "full" => true,
                    "below" => false,
                    _ => return Err(refuse()),
                };
            }
            "migration" => tx.migration = Migration::named(value).ok_or_else(refuse)?,
            "migration_controller" => {
                tx.migration.controller = chosen(CONTROLLERS, value).ok_or_else(refuse)?;
            }
            "migration_rtt" => tx.migration.rtt = chosen(RTTS, value).ok_or_else(refuse)?,
            "migration_initial_rtt" => tx.migration.initial_rtt = positive()?,
            "migration_old_samples" => tx.migration.old_samples = switch()?,
            "migration_in_flight" => {
                tx.migration.in_flight = chosen(IN_FLIGHT, value).ok_or_else(refuse)?;
            }
            "migration_window" => tx.migration.window = whole(1, 1000)? as u32,
            "migration_port" => tx.migration.port = chosen(PORTS, value).ok_or_else(refuse)?,
            "migration_switch" => {
                tx.migration.switch = chosen(SWITCHES, value).ok_or_else(refuse)?;
            }
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
            "rtt_tick" if value == "linux" => tx.rto.estimator = EstimatorKind::Linux,
            "rtt_tick" => {
                let (phase, step) = match tx.rto.estimator {
                    EstimatorKind::Ticks { phase, step, .. } => (phase, step),
                    EstimatorKind::Rfc6298 { .. } | EstimatorKind::Linux => {
                        (Duration::ZERO, Duration::ZERO)
                    }
                };
                tx.rto.estimator = EstimatorKind::Ticks {
                    tick: positive()?,
                    phase,
                    step,
                };
            }
            "rtt_tick_phase" => match &mut tx.rto.estimator {
                EstimatorKind::Ticks { phase, .. } => *phase = time()?,
                EstimatorKind::Rfc6298 { .. } | EstimatorKind::Linux => return Err(refuse()),
            },
            "rtt_tick_phase_step" => match &mut tx.rto.estimator {
                EstimatorKind::Ticks { step, .. } => *step = time()?,
                EstimatorKind::Rfc6298 { .. } | EstimatorKind::Linux => return Err(refuse()),
            },
            "hz" if value == "0" => tx.rto.clock.hz = 0,
            "hz" => tx.rto.clock.hz = whole(100, 1000)? as u32,
            "hz_phase" => tx.rto.clock.phase = time()?,
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
        // Both ends of a kernel have the same clock, and agree on the size of segments.
        if let AckRules::Linux { clock, mss, .. } = &mut rx.acks {
            *clock = tx.rto.clock;
            *mss = tx.payload_bytes();
        }
        // A QUIC receiver tells the sender how long it may wait.
        tx.max_ack_delay = match rx.acks {
            AckRules::Quic { .. } => rx.delayed_ack.unwrap_or(Duration::ZERO),
            _ => Duration::ZERO,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::profiles::{profile, NS2, PROFILES};
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

    #[test]
    fn every_registered_controller_and_recovery_can_be_set_and_is_named() {
        for (kind, list) in [
            ("congestion", CONGESTION_CONTROLLERS),
            ("recovery", RECOVERIES),
        ] {
            let names: Vec<_> = list.iter().map(|part| part.name).collect();
            let setting = SETTINGS.iter().find(|k| k.name == kind);
            assert_eq!(setting.map(|k| k.accepts), Some(names.join(", ").as_str()));
            for name in names {
                let mut p = NS2;
                assert_eq!(p.set(kind, name), Ok(()));
                assert_eq!(p.get(kind), name);
            }
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
