//! Settings that can be changed one at a time: their names, and how they are read and written.

mod list;

use midflight_control::congestion::{AckCounting, AnyCongestion};
use midflight_control::estimate::{ChirpRule, CleanChirp, Knee};
use midflight_control::rtt::EstimatorKind;
use midflight_units::Duration;

use super::{
    AckRules, ConfigError, ControllerAfter, InFlightAfter, InitialWindow, Migration,
    PartialAckTimer, PortOnly, Profile, PrrRules, RecoveryKind, RecoveryRules, RestartAfterIdle,
    RtoRecoveryEnd, RttAfter, RttSampling, SlowStart, Switch,
};
pub use list::SETTINGS;

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
            "gso_max_segs"
            | "tcp_min_tso_segs"
            | "tcp_tso_win_divisor"
            | "tcp_tso_rtt_log"
            | "tcp_limit_output_bytes" => tx.bursts.get(name),
            "ecn" => switch(tx.ecn),
            "sack" => switch(rx.sack_blocks > 0),
            "acks" => match rx.acks {
                AckRules::Rfc => "rfc",
                AckRules::Linux { .. } => "linux",
                AckRules::Quic { .. } => "quic",
            }
            .into(),
            "tcp_rmem_default" | "tcp_rmem_max" | "tcp_comp_sack_slack" | "gro_flush_timeout" => {
                match rx.acks {
                    AckRules::Linux { buffer, .. } => match name {
                        "tcp_rmem_default" => buffer.first.to_string(),
                        "tcp_rmem_max" => buffer.most.to_string(),
                        "tcp_comp_sack_slack" => rx.slack().to_string(),
                        _ => rx.gro_flush_timeout().to_string(),
                    },
                    _ => String::new(),
                }
            }
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
            "handshake_ids" => switch(rx.handshake_ids),
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
            "probe_gap_knee" => match rx.estimator.probe_gap.knee {
                Knee::Chord => "chord".into(),
                Knee::At(delay) => delay.to_string(),
            },
            "probe_gap_capacity" => rx
                .estimator
                .probe_gap
                .capacity
                .map_or_else(|| "pairs".into(), |rate| rate.to_string()),
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
                tx.sack = true;
                // Packet numbers and ACKs of packet numbers require each other.
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
            "gso_max_segs"
            | "tcp_min_tso_segs"
            | "tcp_tso_win_divisor"
            | "tcp_tso_rtt_log"
            | "tcp_limit_output_bytes" => {
                if !tx.bursts.set(name, value) {
                    return Err(refuse());
                }
            }
            "ecn" => tx.ecn = switch()?,
            // Linux counts duplicate ACKs without SACK; the others are defined with it or without it.
            "sack" => {
                let sack = switch()?;
                let has_both = tx.recovery == RecoveryKind::Linux;
                if !has_both && sack != tx.recovery.uses_sack() {
                    return Err(refuse());
                }
                tx.sack = sack || !has_both;
                rx.sack_blocks = if sack { 3 } else { 0 };
            }
            "acks" => {
                rx.acks = match value {
                    "rfc" => AckRules::Rfc,
                    "linux" => AckRules::Linux {
                        clock: tx.rto.clock,
                        mss: tx.payload_bytes(),
                        buffer: rx.buffer(),
                        slack: rx.slack(),
                        gro_flush_timeout: rx.gro_flush_timeout(),
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
            "gro_flush_timeout" => {
                let given = time()?;
                match &mut rx.acks {
                    AckRules::Linux {
                        gro_flush_timeout, ..
                    } if given <= Duration::from_millis(100) => *gro_flush_timeout = given,
                    _ => return Err(refuse()),
                }
            }
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
            // A timer whose maximum is below that would expire endlessly.
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
            "handshake_ids" => rx.handshake_ids = switch()?,
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
            "probe_gap_knee" if value == "chord" => rx.estimator.probe_gap.knee = Knee::Chord,
            "probe_gap_knee" => rx.estimator.probe_gap.knee = Knee::At(time()?),
            "probe_gap_capacity" if value == "pairs" => rx.estimator.probe_gap.capacity = None,
            "probe_gap_capacity" => {
                let rate = value.parse().map_err(|_| refuse())?;
                rx.estimator.probe_gap.capacity = Some(rate);
            }
            _ => return Err(refuse()),
        }
        // Both ends of a connection have the same segment size, and with Linux the same clock.
        rx.segment_bytes = tx.segment_bytes;
        if let AckRules::Linux { clock, mss, .. } = &mut rx.acks {
            *clock = tx.rto.clock;
            *mss = tx.payload_bytes();
        }
        // A QUIC receiver announces its longest ACK delay to the sender.
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
    use crate::recovery::RECOVERIES;
    use midflight_control::congestion::CONGESTION_CONTROLLERS;

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
