//! The settings of a connection.

use midflight_control::StartNotice;
use midflight_tcp::scheme::Built;
use midflight_tcp::ReceiveSpace;
use midflight_units::Duration;
use midflight_wire::HEADER_BYTES;

use super::{FastOpen, Keepalive, MtuProbing};

/// Twice the maximum segment lifetime (RFC 9293 section 3.4.2).
const TIME_WAIT: Duration = Duration::from_secs(240);

/// The settings of a connection.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub struct Settings {
    /// The sender and the receiver.
    pub built: Built,
    /// The notice of the sender's access link before it opens.
    pub start_notice: Option<StartNotice>,
    /// Bytes of data in the largest segment without options, sent or received.
    pub mss: u64,
    /// SACK is offered.
    pub sack: bool,
    /// Timestamps are offered.
    pub timestamps: bool,
    /// Window scaling is offered.
    pub window_scaling: bool,
    /// Nagle's algorithm is used.
    pub nagle: bool,
    /// Bytes that may wait until the application reads them.
    pub receive_buffer: u64,
    /// How long the side that closes first still responds (TIME-WAIT).
    pub time_wait: Duration,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: Ecn,
    /// Tails are probed, if the recovery is that of Linux (`net.ipv4.tcp_early_retrans`).
    pub tail_probes: bool,
    /// How long data or probes may stay without a response before the connection is aborted (RFC 9293
    /// section 3.8.3, TCP_USER_TIMEOUT); none for unlimited.
    pub user_timeout: Option<Duration>,
    /// How often a SYN is sent again before the connection is given up; none for unlimited. Those that Linux does not back
    /// off do not count (tcp_write_timeout()).
    pub syn_retries: Option<u32>,
    /// With Linux's recovery: how many timeouts of a SYN do not back off (`net.ipv4.tcp_syn_linear_timeouts`).
    pub linear_syns: u32,
    /// With Linux's recovery: the first timeouts do not back off when fewer than four segments are in flight
    /// (`net.ipv4.tcp_thin_linear_timeouts`, TCP_THIN_LINEAR_TIMEOUTS).
    pub thin_linear: bool,
    /// With Linux's rules: how often the response to a SYN is sent again (`net.ipv4.tcp_synack_retries`).
    pub response_retries: u32,
    /// With Linux's rules: the connection ends when data has been sent again for as long as this many timeouts last
    /// (`net.ipv4.tcp_retries2`), and when the application has closed it (`net.ipv4.tcp_orphan_retries`).
    pub data_retries: u32,
    /// See [`Self::data_retries`].
    pub orphan_retries: u32,
    /// TCP Fast Open (RFC 7413).
    pub fast_open: FastOpen,
    /// With Linux's rules: how long an answer to a segment that is not taken keeps others from being sent
    /// (`tcp_invalid_ratelimit`).
    pub answer_pause: Duration,
    /// With Linux's rules: how often the response to a SYN is due again before an ACK without data ends the handshake
    /// (TCP_DEFER_ACCEPT, `rskq_defer_accept`).
    pub deferred_timeouts: u32,
    /// With Linux's rules: how long the connection stays half closed after the application has closed it (TCP_LINGER2);
    /// none for 60 s.
    pub fin_timeout: Option<Duration>,
    /// The most bytes of data that are sent per second; with a limit segments are paced (SO_MAX_PACING_RATE).
    pub pacing_limit: Option<u64>,
    /// The connection is probed while nothing arrives (RFC 9293 section 3.8.4).
    pub keepalive: Option<Keepalive>,
    /// With Linux's recovery: segments that probe whether the path takes larger packets.
    pub mtu_probing: MtuProbing,
    /// With Linux's rules: for how many ACKs with SACK blocks one may stand, and how long it waits at most
    /// (`net.ipv4.tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`).
    pub compression: (u32, Duration),
    /// With Linux's rules: the connection ends when our FIN is acknowledged before the other side's (TCP_LINGER2 below zero).
    pub ends_half_closed: bool,
    /// An RST does not end TIME-WAIT (`net.ipv4.tcp_rfc1337`, RFC 1337).
    pub keeps_time_wait: bool,
    /// With Linux's rules: the application reads when it wants to, from a buffer of this size instead of
    /// [`Self::receive_buffer`].
    pub receive_space: Option<ReceiveSpace>,
    /// With Linux's recovery: short segments that are sent again are joined (`net.ipv4.tcp_retrans_collapse`).
    pub joins_segments: bool,
    /// The urgent pointer of the other side is that of the last urgent byte (`net.ipv4.tcp_stdurg`, RFC 1122 section 4.2.2.4).
    pub standard_urgent: bool,
}

/// The use of explicit congestion notification on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not used.
    #[default]
    Off,
    /// Accepted if the other side requests it.
    Accept,
    /// Requested.
    Ask,
}

impl Settings {
    /// This sender and receiver, with segments for an MTU of 1500 bytes, all options that they support, and
    /// a buffer of 1 MiB.
    pub fn new(built: Built) -> Self {
        Self {
            start_notice: None,
            mss: u64::from(1500 - HEADER_BYTES),
            sack: built.profile.sender.recovery.uses_sack(),
            timestamps: built.profile.receiver.timestamps,
            window_scaling: true,
            nagle: true,
            receive_buffer: 1 << 20,
            time_wait: TIME_WAIT,
            ecn: Ecn::Off,
            tail_probes: true,
            user_timeout: None,
            syn_retries: None,
            linear_syns: 4,
            thin_linear: false,
            response_retries: 5,
            data_retries: 15,
            orphan_retries: 8,
            fast_open: FastOpen::default(),
            answer_pause: Duration::from_millis(500),
            deferred_timeouts: 0,
            fin_timeout: None,
            pacing_limit: None,
            keepalive: None,
            mtu_probing: MtuProbing::default(),
            compression: (44, Duration::from_millis(1)),
            ends_half_closed: false,
            keeps_time_wait: false,
            receive_space: None,
            joins_segments: true,
            standard_urgent: false,
            built,
        }
    }
}
