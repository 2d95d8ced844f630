//! The sysctls and the parameters of a route that a script may set, and their effects.

use midflight_endpoint::{Ecn, MtuProbing, Probing};
use midflight_units::Duration;

use super::environment::Environment;
use super::DrillError;

/// The effect of a sysctl.
#[derive(Clone, Copy)]
pub(super) enum Sysctl {
    /// Sets SACK, timestamps or window scaling.
    Offer(for<'e, 'a> fn(&'e mut Environment<'a>) -> &'e mut bool),
    /// Sets a setting of the profile; the unit is appended to its value.
    Setting(&'static str, &'static str),
    /// Sets a setting of the profile to on or off, for 1 or 0.
    Switch(&'static str),
    /// The sender does not have it: only these values are accepted.
    Without(&'static [&'static str], &'static str),
    /// It has no visible effect in a script.
    NoEffect(&'static str),
    /// A congestion control.
    Congestion,
    /// How often something is sent again: a whole number from 0 to 255.
    Retries(for<'e, 'a> fn(&'e mut Environment<'a>) -> &'e mut u32),
    /// How often a SYN is sent again.
    SynRetries,
    /// The times and the number of probes of a connection on which nothing arrives.
    Keepalive,
    /// How long an answer to a segment that is not taken keeps others from being sent, and how long a connection stays
    /// half closed after the application has closed it.
    AnswerPause,
    FinTimeout,
    /// Whether connections probe for larger packets, a size of these probes, and how long a search counts.
    MtuProbing,
    ProbedSize(fn(&mut MtuProbing) -> &mut u64),
    ProbeInterval,
    /// Sets a flag, for 0 or 1.
    Flag(for<'e, 'a> fn(&'e mut Environment<'a>) -> &'e mut bool),
    /// The size of a buffer: three numbers, of which the second is read with getsockopt().
    Buffer(fn(&mut (u64, u64)) -> &mut u64),
    /// How many ACKs with SACK blocks are compressed, and for how long.
    Compression,
    /// A write takes no more while this many bytes are not sent.
    NotSentLowat,
    /// The bits and the keys of TCP Fast Open.
    FastOpen,
    FastOpenKey,
    /// Explicit congestion notification.
    Ecn,
    /// Tail loss probes.
    TailProbes,
    /// RACK, which only Linux has, and always.
    Rack,
    /// Timeouts that do not back off when little is in flight.
    ThinLinear,
}

pub(super) const BUFFERS: &str = "only options of a socket limit its buffers here";
pub(super) const GATHERS: &str = "segments are not gathered for a device here";
pub(super) const RATIOS: &str = "a paced sender has 200 % in slow start and 120 % after it";
const HOST: &str = "there is no host here, only connections";
const COMPRESSED: &str = "a compressed ACK is sent when it is due";
const ONE_PATH: &str = "there is one path here";

pub(super) const SYSCTLS: &[(&str, Sysctl)] = &[
    ("tcp_sack", Sysctl::Offer(|e| &mut e.sack)),
    ("tcp_timestamps", Sysctl::Offer(|e| &mut e.timestamps)),
    (
        "tcp_window_scaling",
        Sysctl::Offer(|e| &mut e.window_scaling),
    ),
    ("tcp_reordering", Sysctl::Setting("dup_threshold", "")),
    ("tcp_rto_min_us", Sysctl::Setting("min_rto", "us")),
    ("tcp_rto_max_ms", Sysctl::Setting("max_rto", "ms")),
    ("tcp_congestion_control", Sysctl::Congestion),
    ("tcp_early_retrans", Sysctl::TailProbes),
    ("tcp_recovery", Sysctl::Rack),
    (
        "tcp_fack",
        Sysctl::Without(&["0"], "forward acknowledgement"),
    ),
    ("tcp_ecn", Sysctl::Ecn),
    (
        "tcp_ecn_fallback",
        Sysctl::NoEffect("a SYN that is lost asks for ECN once"),
    ),
    ("tcp_fastopen", Sysctl::FastOpen),
    ("tcp_fastopen_key", Sysctl::FastOpenKey),
    (
        "tcp_fastopen_blackhole_timeout_sec",
        Sysctl::Without(&["0"], "pause of TCP Fast Open after timeouts"),
    ),
    ("tcp_mtu_probing", Sysctl::MtuProbing),
    (
        "tcp_slow_start_after_idle",
        Sysctl::Switch("restart_after_idle"),
    ),
    ("tcp_thin_linear_timeouts", Sysctl::ThinLinear),
    (
        "tcp_frto",
        Sysctl::NoEffect("F-RTO is a part of schemes here: --scheme frto"),
    ),
    (
        "tcp_dsack",
        Sysctl::NoEffect("nothing arrives here that could be reported"),
    ),
    (
        "tcp_no_metrics_save",
        Sysctl::NoEffect("only what TCP Fast Open needs is kept from one connection to another"),
    ),
    ("tcp_rmem", Sysctl::Buffer(|b| &mut b.0)),
    ("tcp_wmem", Sysctl::Buffer(|b| &mut b.1)),
    ("tcp_moderate_rcvbuf", Sysctl::NoEffect(BUFFERS)),
    ("rmem_max", Sysctl::NoEffect(BUFFERS)),
    ("wmem_max", Sysctl::NoEffect(BUFFERS)),
    ("tcp_limit_output_bytes", Sysctl::NoEffect(BUFFERS)),
    ("tcp_notsent_lowat", Sysctl::NotSentLowat),
    ("tcp_tso_win_divisor", Sysctl::NoEffect(GATHERS)),
    ("tcp_min_tso_segs", Sysctl::NoEffect(GATHERS)),
    ("tcp_autocorking", Sysctl::NoEffect(GATHERS)),
    ("tcp_pacing_ss_ratio", Sysctl::NoEffect(RATIOS)),
    ("tcp_pacing_ca_ratio", Sysctl::NoEffect(RATIOS)),
    ("tcp_syn_retries", Sysctl::SynRetries),
    (
        "tcp_syn_linear_timeouts",
        Sysctl::Retries(|e| &mut e.linear_syns),
    ),
    (
        "tcp_synack_retries",
        Sysctl::Retries(|e| &mut e.response_retries),
    ),
    (
        "tcp_retries1",
        Sysctl::Retries(|e| &mut e.mtu_probing.timeouts),
    ),
    ("tcp_retries2", Sysctl::Retries(|e| &mut e.data_retries)),
    (
        "tcp_orphan_retries",
        Sysctl::Retries(|e| &mut e.orphan_retries),
    ),
    ("tcp_keepalive_time", Sysctl::Keepalive),
    ("tcp_keepalive_intvl", Sysctl::Keepalive),
    ("tcp_keepalive_probes", Sysctl::Keepalive),
    ("tcp_base_mss", Sysctl::ProbedSize(|p| &mut p.base)),
    ("tcp_min_snd_mss", Sysctl::ProbedSize(|p| &mut p.least)),
    ("tcp_mtu_probe_floor", Sysctl::ProbedSize(|p| &mut p.floor)),
    ("tcp_probe_interval", Sysctl::ProbeInterval),
    (
        "tcp_probe_threshold",
        Sysctl::ProbedSize(|p| &mut p.threshold),
    ),
    ("tcp_max_syn_backlog", Sysctl::NoEffect(HOST)),
    ("tcp_allowed_congestion_control", Sysctl::NoEffect(HOST)),
    ("tcp_available_congestion_control", Sysctl::NoEffect(HOST)),
    ("tcp_available_ulp", Sysctl::NoEffect(HOST)),
    ("tcp_backlog_ack_defer", Sysctl::NoEffect(HOST)),
    ("tcp_child_ehash_entries", Sysctl::NoEffect(HOST)),
    ("tcp_early_demux", Sysctl::NoEffect(HOST)),
    ("tcp_ehash_entries", Sysctl::NoEffect(HOST)),
    ("tcp_fwmark_accept", Sysctl::NoEffect(HOST)),
    ("tcp_l3mdev_accept", Sysctl::NoEffect(HOST)),
    ("tcp_low_latency", Sysctl::NoEffect(HOST)),
    ("tcp_max_tw_buckets", Sysctl::NoEffect(HOST)),
    ("tcp_migrate_req", Sysctl::NoEffect(HOST)),
    (
        "tcp_workaround_signed_windows",
        Sysctl::NoEffect("windows are not signed numbers here"),
    ),
    (
        "tcp_no_ssthresh_metrics_save",
        Sysctl::NoEffect("only what TCP Fast Open needs is kept from one connection to another"),
    ),
    ("tcp_abort_on_overflow", Sysctl::NoEffect(HOST)),
    ("tcp_max_orphans", Sysctl::NoEffect(HOST)),
    ("tcp_tw_reuse", Sysctl::NoEffect(HOST)),
    ("tcp_mem", Sysctl::NoEffect(HOST)),
    ("tcp_app_win", Sysctl::NoEffect(BUFFERS)),
    ("tcp_adv_win_scale", Sysctl::NoEffect(BUFFERS)),
    (
        "tcp_shrink_window",
        Sysctl::Without(&["0"], "windows that shrink"),
    ),
    ("tcp_tso_rtt_log", Sysctl::NoEffect(GATHERS)),
    (
        "tcp_retrans_collapse",
        Sysctl::Flag(|e| &mut e.joins_segments),
    ),
    (
        "tcp_min_rtt_wlen",
        Sysctl::NoEffect("the minimum RTT is kept for 300 s"),
    ),
    (
        "tcp_max_reordering",
        Sysctl::NoEffect("at most 300 segments count as reordered"),
    ),
    ("tcp_stdurg", Sysctl::Flag(|e| &mut e.standard_urgent)),
    ("tcp_rfc1337", Sysctl::Flag(|e| &mut e.keeps_time_wait)),
    (
        "tcp_reflect_tos",
        Sysctl::NoEffect("there is no IP header here"),
    ),
    ("tcp_plb_enabled", Sysctl::NoEffect(ONE_PATH)),
    ("tcp_plb_cong_thresh", Sysctl::NoEffect(ONE_PATH)),
    ("tcp_plb_idle_rehash_rounds", Sysctl::NoEffect(ONE_PATH)),
    ("tcp_plb_rehash_rounds", Sysctl::NoEffect(ONE_PATH)),
    ("tcp_plb_suspend_rto_sec", Sysctl::NoEffect(ONE_PATH)),
    ("tcp_fin_timeout", Sysctl::FinTimeout),
    ("hystart", Sysctl::Switch("cubic_linux_hystart")),
    ("tcp_comp_sack_nr", Sysctl::Compression),
    ("tcp_comp_sack_delay_ns", Sysctl::Compression),
    ("tcp_comp_sack_slack_ns", Sysctl::NoEffect(COMPRESSED)),
    ("optmem_max", Sysctl::NoEffect(BUFFERS)),
    (
        "tcp_pingpong_thresh",
        Sysctl::NoEffect("an ACK waits for an answer as with 1"),
    ),
    ("tcp_invalid_ratelimit", Sysctl::AnswerPause),
    (
        "tcp_challenge_ack_limit",
        Sysctl::NoEffect("only ACKs of a connection are limited, not those of a host"),
    ),
    (
        "tcp_syncookies",
        Sysctl::NoEffect("one connection fills no queue"),
    ),
];

/// The effect of a route's parameter.
#[derive(Clone, Copy)]
pub(super) enum Parameter {
    /// Sets a setting of the profile.
    Setting(&'static str),
    /// Limits our segments.
    Mtu,
    /// A congestion control.
    Congestion,
    /// The sender does not have it.
    Without(&'static str),
    /// It has no visible effect in a script.
    NoEffect(&'static str),
}

pub(super) const NO_ADDRESSES: &str = "there are no addresses, ports and devices here";
pub(super) const ONE_ROUTE: &str = "there is one route here";

pub(super) const PARAMETERS: &[(&str, Parameter)] = &[
    ("initcwnd", Parameter::Setting("initial_window")),
    ("rto_min", Parameter::Setting("min_rto")),
    ("reordering", Parameter::Setting("dup_threshold")),
    ("mtu", Parameter::Mtu),
    ("congctl", Parameter::Congestion),
    ("features", Parameter::Without("the sender has no ECN")),
    (
        "initrwnd",
        Parameter::NoEffect("the simulated sender does not receive"),
    ),
    (
        "quickack",
        Parameter::NoEffect("nothing arrives that could be acknowledged late"),
    ),
    ("via", Parameter::NoEffect(NO_ADDRESSES)),
    ("dev", Parameter::NoEffect(NO_ADDRESSES)),
    ("src", Parameter::NoEffect(NO_ADDRESSES)),
    ("onlink", Parameter::NoEffect(NO_ADDRESSES)),
    ("proto", Parameter::NoEffect(ONE_ROUTE)),
    ("scope", Parameter::NoEffect(ONE_ROUTE)),
    ("table", Parameter::NoEffect(ONE_ROUTE)),
    ("metric", Parameter::NoEffect(ONE_ROUTE)),
];

impl Environment<'_> {
    /// `net.ipv4.name=value`, or a file below `/proc/sys` instead of the name.
    pub(super) fn sysctl(&mut self, line: u32, word: &str) -> Result<(), DrillError> {
        let word = word.trim_matches(['"', '\'']);
        let Some((path, value)) = word.split_once('=') else {
            if SYSCTLS.iter().any(|(known, _)| word.ends_with(known)) {
                self.note(line, format!("{word} is not read: no shell is run"));
                return Ok(());
            }
            return self.refuse(line, format!("the sysctl \"{word}\""), "write name=value");
        };
        let value = value.trim_matches(['"', '\'']);
        let name = path.rsplit(['.', '/']).next().unwrap_or(path);
        let Some((_, sysctl)) = SYSCTLS.iter().find(|(known, _)| *known == name) else {
            let parts = path.replace('/', ".");
            let is_of_host = ["net.core.", "net.ipv6.", "net.ipv4.ip", "net.ipv4.conf."]
                .iter()
                .any(|of_host| parts.contains(of_host));
            if is_of_host {
                self.note(line, format!("{name} has no effect: {NO_ADDRESSES}"));
                return Ok(());
            }
            let known: Vec<_> = SYSCTLS.iter().map(|(name, _)| *name).collect();
            let why = format!("known are {}", known.join(", "));
            return self.refuse(line, format!("the sysctl {path}"), &why);
        };
        let what = || format!("the sysctl {path}={value}");
        match *sysctl {
            Sysctl::Offer(field) => match value {
                "0" => *field(self) = false,
                "1" | "2"
                    if name == "tcp_sack" && !self.built.profile.sender.recovery.uses_sack() =>
                {
                    let why = "this sender's recovery does without SACK; choose recovery=sack";
                    self.refuse(line, what(), why)?;
                }
                "1" | "2" => *field(self) = true,
                _ => self.refuse(line, what(), "expected 0 or 1")?,
            },
            Sysctl::Setting(setting, unit) => {
                self.set(line, &what(), setting, &format!("{value}{unit}"))?;
            }
            Sysctl::Switch(setting) => match value {
                "0" => self.set(line, &what(), setting, "off")?,
                "1" => self.set(line, &what(), setting, "on")?,
                _ => self.refuse(line, what(), "expected 0 or 1")?,
            },
            Sysctl::Without(values, has_not) if !values.contains(&value) => {
                let why = format!("the sender has no {has_not}; expected {name}={}", values[0]);
                self.refuse(line, what(), &why)?;
            }
            Sysctl::NoEffect(why) => self.note(line, format!("{name} has no effect: {why}")),
            Sysctl::Rack if self.is_linux() => {
                if value != "1" {
                    let text = format!(
                        "{name} has no effect: Linux has RACK, from 6.17 on with every value"
                    );
                    self.note(line, text);
                }
            }
            Sysctl::Rack => {
                if value != "0" {
                    let why = format!("the sender has no RACK; expected {name}=0");
                    self.refuse(line, what(), &why)?;
                }
            }
            Sysctl::ThinLinear => {
                if value == "1" && !self.is_linux() {
                    let why = "the sender has no linear timeouts; choose --profile linux";
                    self.refuse(line, what(), why)?;
                }
                self.thin_linear = match value {
                    "0" | "1" => value == "1",
                    _ => return self.refuse(line, what(), "expected 0 or 1"),
                };
            }
            Sysctl::Ecn => {
                self.ecn = match value {
                    "0" => Ecn::Off,
                    // Only the Linux recovery responds to CE marks.
                    "2" if !self.is_linux() => Ecn::Off,
                    "1" if self.is_linux() => Ecn::Ask,
                    "2" => Ecn::Accept,
                    "1" => {
                        let why = "this sender's recovery answers no marks; choose --profile linux";
                        return self.refuse(line, what(), why);
                    }
                    _ => return self.refuse(line, what(), "expected 0, 1 or 2"),
                };
            }
            // tcp_schedule_loss_probe().
            Sysctl::TailProbes if self.is_linux() => match value {
                "0" | "1" | "2" => self.tail_probes = false,
                "3" | "4" => self.tail_probes = true,
                _ => self.refuse(line, what(), "expected a whole number from 0 to 4")?,
            },
            Sysctl::TailProbes if value != "0" => {
                let why = "the sender has no early retransmit and tail loss probes; expected tcp_early_retrans=0";
                self.refuse(line, what(), why)?;
            }
            Sysctl::Without(..) | Sysctl::TailProbes => {}
            Sysctl::Retries(field) => match value.parse() {
                Ok(retries @ 0..=255) => *field(self) = retries,
                _ => self.refuse(line, what(), "expected a whole number from 0 to 255")?,
            },
            Sysctl::Keepalive => match value.parse() {
                Ok(value @ 1..=32_767) => {
                    let keepalive = &mut self.keepalive;
                    match name {
                        "tcp_keepalive_time" => keepalive.idle = Duration::from_secs(value),
                        "tcp_keepalive_intvl" => keepalive.interval = Duration::from_secs(value),
                        _ => keepalive.probes = value as u32,
                    }
                }
                _ => self.refuse(line, what(), "expected a whole number from 1 to 32767")?,
            },
            Sysctl::SynRetries => match value.parse() {
                Ok(retries @ 1..=127) => self.syn_retries = Some(retries),
                _ => self.refuse(line, what(), "expected a whole number from 1 to 127")?,
            },
            Sysctl::AnswerPause => match value.parse() {
                Ok(pause @ 0..=86_400_000) => self.answer_pause = Duration::from_millis(pause),
                _ => self.refuse(line, what(), "expected a whole number of milliseconds")?,
            },
            Sysctl::FinTimeout => match value.parse() {
                Ok(seconds @ 1..=120) => self.fin_timeout = Some(Duration::from_secs(seconds)),
                _ => self.refuse(line, what(), "expected a whole number from 1 to 120")?,
            },
            Sysctl::Flag(field) => match value {
                "0" | "1" => *field(self) = value == "1",
                _ => self.refuse(line, what(), "expected 0 or 1")?,
            },
            Sysctl::Buffer(field) => {
                // The least, the usual and the largest size, which may be a calculation of the shell.
                let mut sizes = value.split_whitespace().skip(1).map(str::parse);
                match sizes.next() {
                    Some(Ok(bytes)) => *field(&mut self.buffers) = bytes,
                    Some(Err(_)) => {}
                    None => self.refuse(line, what(), "expected three whole numbers")?,
                }
                if name == "tcp_rmem" && self.is_linux() {
                    if let Some(Ok(most)) = sizes.next() {
                        self.most_receive_buffer = most;
                    }
                } else {
                    let text = format!("{name} is only what getsockopt() reads: {BUFFERS}");
                    self.note(line, text);
                }
            }
            Sysctl::Compression => match value.parse::<u64>() {
                Ok(most @ 0..=255) if name == "tcp_comp_sack_nr" => {
                    self.compression.0 = most as u32;
                }
                Ok(nanos) if name != "tcp_comp_sack_nr" => {
                    self.compression.1 = Duration::from_nanos(nanos);
                }
                _ => self.refuse(line, what(), "expected a whole number")?,
            },
            Sysctl::MtuProbing => {
                self.mtu_probing.mode = match value {
                    "0" => Probing::Off,
                    "1" | "2" if !self.is_linux() => {
                        let why = "only the sender of Linux probes for larger packets; choose --profile linux";
                        return self.refuse(line, what(), why);
                    }
                    "1" => Probing::AfterTimeouts,
                    "2" => Probing::Always,
                    _ => return self.refuse(line, what(), "expected 0, 1 or 2"),
                };
            }
            Sysctl::ProbedSize(field) => match value.parse() {
                Ok(bytes @ 0..=65_535) => *field(&mut self.mtu_probing) = bytes,
                _ => self.refuse(line, what(), "expected a whole number of bytes up to 65535")?,
            },
            Sysctl::ProbeInterval => match value.parse() {
                Ok(seconds @ 0..=4_294_967) => {
                    self.mtu_probing.interval = Duration::from_secs(seconds);
                }
                _ => self.refuse(line, what(), "expected a whole number of seconds")?,
            },
            Sysctl::NotSentLowat => match value.parse() {
                Ok(bytes) => self.lowat = bytes,
                Err(_) => self.refuse(line, what(), "expected a whole number of bytes")?,
            },
            Sysctl::FastOpen => {
                if !self.fast_open.set_bits(value) {
                    let why = "expected a whole number of bits, such as 0x3";
                    self.refuse(line, what(), why)?;
                }
            }
            Sysctl::FastOpenKey => {
                if !self.fast_open.set_keys(value) {
                    let why = "expected one or two keys of four hexadecimal words, such as 1-2-3-4";
                    self.refuse(line, what(), why)?;
                }
            }
            Sysctl::Congestion => self.congestion(line, value)?,
        }
        Ok(())
    }
}
