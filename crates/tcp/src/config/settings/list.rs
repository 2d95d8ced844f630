//! The settings: their names, defaults and accepted values.

use midflight_control::congestion::CONGESTION_CONTROLLERS;
use midflight_control::part::{joined, joined_length, Knob};

use crate::recovery::RECOVERIES;

/// The names of a registry as one text: the values that a setting accepts.
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
        summary: "rules of tahoe, reno and newreno: RFC 5681 and 6582, or ns-2's agents",
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
        summary: "a partial ACK reduces newreno's window by the segments that it acknowledges, not by all that duplicates added",
    },
    Knob {
        name: "congestion",
        default: "",
        accepts: names!(CONGESTION_CONTROLLERS),
        summary: "congestion controller, if the scheme names none",
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
        summary: "after an idle time longer than the RTO the window is at most the initial one (RFC 5681, 4.1); halving halves it for each RTO, as in Linux",
    },
    Knob {
        name: "prr",
        default: "",
        accepts: "linux, rfc9937",
        summary: "proportional rate reduction of the recovery linux: the kernel's, in proportion to the window, or RFC 9937's, in proportion to the data in flight",
    },
    Knob {
        name: "slow_start",
        default: "",
        accepts: "controller, hystart++",
        summary: "what ends slow start apart from losses and the threshold: the congestion controller's own rule, or HyStart++ (RFC 9406)",
    },
    Knob {
        name: "abc_limit",
        default: "",
        accepts: "a whole number of segments from 1 to 1000, or off",
        summary: "limit of an ACK's increase of the window in slow start (L of RFC 3465; 1 after a timeout); off counts ACKs, not segments",
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
        summary: "the sender sends pure ACKs: for the SYN-ACK before data, and for overtaken ACKs (PAWS)",
    },
    Knob {
        name: "pacing",
        default: "",
        accepts: "auto, on",
        summary: "pacing: if the controller sets a rate, or always, at twice the window per round trip below half the threshold and 1.2 times above, as in Linux with the qdisc fq or by a socket option",
    },
    Knob {
        name: "gso_max_segs",
        default: "",
        accepts: "a whole number of segments from 1 to 65535",
        summary: "most segments in a burst of the recovery linux, which also has at most 64 KB; 1 sends segment by segment",
    },
    Knob {
        name: "tcp_min_tso_segs",
        default: "",
        accepts: "a whole number of segments from 1 to 255",
        summary: "least segments in a full burst of the recovery linux, unless the congestion controller sets that; gso_max_segs takes precedence",
    },
    Knob {
        name: "tcp_tso_win_divisor",
        default: "",
        accepts: "a whole number from 0 to 255",
        summary: "a burst of the recovery linux that is not full may wait up to 1 ms for an ACK, unless this part of the window is free; 0: unless more than three segments are",
    },
    Knob {
        name: "tcp_tso_rtt_log",
        default: "",
        accepts: "a whole number from 0 to 31",
        summary: "bursts of the recovery linux are larger on a short path, by 64 KB that are halved for every 2 to the power of this, in microseconds, of the minimum RTT",
    },
    Knob {
        name: "tcp_limit_output_bytes",
        default: "",
        accepts: "a whole number of bytes from 4096 to 2147483647",
        summary: "most memory that a sender of the recovery linux without pacing has in the queue below TCP, unless two bursts take more; then it sends lost segments before new data",
    },
    Knob {
        name: "ecn",
        default: "",
        accepts: "on, off",
        summary: "explicit congestion notification (RFC 3168): data may be marked instead of dropped, the receiver echoes marks, and the sender reduces its window as for a loss; for the recovery linux only",
    },
    Knob {
        name: "sack",
        default: "",
        accepts: "on, off",
        summary: "selective acknowledgements (RFC 2018) are agreed on; off: the recovery linux counts duplicate ACKs, as the kernel does with net.ipv4.tcp_sack=0; other recoveries are defined with SACK or without it",
    },
    Knob {
        name: "acks",
        default: "",
        accepts: "rfc, linux, quic",
        summary: "when the receiver acknowledges: by RFC 5681, with the window receiver_window; as Linux, with window autotuning; or as QUIC (RFC 9000 section 13.2)",
    },
    Knob {
        name: "ack_threshold",
        default: "",
        accepts: "a whole number of packets from 0 to 1000, where acks is quic",
        summary: "number of packets that may wait for their ACK (draft-ietf-quic-ack-frequency; RFC 9000: 1)",
    },
    Knob {
        name: "window_edge",
        default: "",
        accepts: "full, below",
        summary: "whether a QUIC sender fills its window to the last packet (RFC 9002 section 7) or stays one packet below, as quinn 0.11",
    },
    Knob {
        name: "migration",
        default: "",
        accepts: "rfc9000, quinn, s2n-quic, neqo, quiche, google-quiche, picoquic, msquic",
        summary: "all migration settings of a QUIC sender at once, as in RFC 9000 or a stack",
    },
    Knob {
        name: "migration_controller",
        default: "",
        accepts: "reset, keep, restore",
        summary: "the congestion controller at a migration; restore is for a known path",
    },
    Knob {
        name: "migration_rtt",
        default: "",
        accepts: "reset, keep, challenge",
        summary: "the RTT estimate at a migration; challenge uses the answer to the PATH_CHALLENGE",
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
        summary: "packets in flight at a migration: they count in the new window, they do not, or their data are retransmitted at once",
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
        summary: "what is kept if only the port changes: everything, nothing, or the controller",
    },
    Knob {
        name: "migration_switch",
        default: "",
        accepts: "before, after",
        summary: "whether data are sent to a new address before it is validated, at most three times the bytes received from there, or only after that",
    },
    Knob {
        name: "tcp_rmem_default",
        default: "",
        accepts: "a whole number of bytes from 4096 to 16777216, where acks is linux",
        summary: "the receive buffer of Linux at the start, which holds packets with the kernel's structures: the window is about half of it at first",
    },
    Knob {
        name: "tcp_rmem_max",
        default: "",
        accepts: "a whole number of bytes from 4096 to 1073741824, where acks is linux",
        summary: "maximum receive buffer of Linux; at least tcp_rmem_default",
    },
    Knob {
        name: "tcp_comp_sack_slack",
        default: "",
        accepts: "a time of up to 10 ms, where acks is linux",
        summary: "how much later than due a compressed ACK of Linux may be sent, so that several timers can expire together",
    },
    Knob {
        name: "gro_flush_timeout",
        default: "",
        accepts: "a time of up to 100 ms, where acks is linux",
        summary: "how long the network card of a Linux receiver holds a segment for the next one, so that both are merged (GRO); 0 s: segments are not merged",
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
        summary: "a pure window update counts as a duplicate ACK",
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
        summary: "clock of the timers: they expire at its ticks, as rounded by the timer wheel of Linux",
    },
    Knob {
        name: "hz_phase",
        default: "",
        accepts: "a time",
        summary: "the value of that clock at time zero, counted from its tick number zero",
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
        name: "handshake_ids",
        default: "",
        accepts: "on, off",
        summary: "a packet with connection identifiers arrives with the handshake of a QUIC sender, as of quinn 0.11, and counts for the ACK of every second packet",
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
        accepts: "abest, abest-plain, first-rise, pathchirp, nf-tcp",
        summary: "how the receiver estimates the available bandwidth from a chirp",
    },
    Knob {
        name: "chirp_clean",
        default: "",
        accepts: "highest, average",
        summary:
            "abest's report for a chirp without a rise of delay: its highest rate or the average",
    },
    Knob {
        name: "chirp_resolution",
        default: "",
        accepts: "a time",
        summary: "growth of the one-way delay that does not count as a rise",
    },
    Knob {
        name: "pathchirp_f",
        default: "",
        accepts: "a number from 1 to 100",
        summary: "F: an excursion ends when the delay has decreased to this part of its maximum",
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
        summary: "number of chirps over which the receiver averages",
    },
    Knob {
        name: "probe_gap_knee",
        default: "",
        accepts: "a time, or chord",
        summary: "delay above the least up to which a probe of probe-gap met an idle link; chord: up to where the distribution is farthest above its chord",
    },
    Knob {
        name: "probe_gap_capacity",
        default: "",
        accepts: "a rate, or pairs",
        summary: "capacity that the receiver multiplies the idle share with; pairs: what packet pairs have found",
    },
];
