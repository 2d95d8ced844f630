//! The sysctls and the parameters of a route that a script may set, and their effects.

use midflight_endpoint::MtuProbing;

use super::environment::Environment;

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
const COMPRESSED: &str = "the receiver compresses SACKs as Linux does by default";
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
    ("tcp_rmem", Sysctl::NoEffect(BUFFERS)),
    ("tcp_wmem", Sysctl::NoEffect(BUFFERS)),
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
        Sysctl::NoEffect("short segments are not joined when they are sent again"),
    ),
    (
        "tcp_min_rtt_wlen",
        Sysctl::NoEffect("the minimum RTT is kept for 300 s"),
    ),
    (
        "tcp_max_reordering",
        Sysctl::NoEffect("at most 300 segments count as reordered"),
    ),
    (
        "tcp_stdurg",
        Sysctl::Without(&["0"], "urgent pointer of RFC 1122"),
    ),
    (
        "tcp_rfc1337",
        Sysctl::Without(&["0"], "TIME-WAIT without its assassination"),
    ),
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
    ("tcp_comp_sack_nr", Sysctl::NoEffect(COMPRESSED)),
    ("tcp_comp_sack_delay_ns", Sysctl::NoEffect(COMPRESSED)),
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
