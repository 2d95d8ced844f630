//! Calls of the application that set options of the connection.

use midflight_control::congestion::AnyCongestion;
use midflight_tcp::Log;
use midflight_units::{Duration, Instant};

use super::Connection;

impl Connection {
    /// The next data of the application begin a new segment (MSG_EOR).
    pub fn end_record(&mut self) {
        self.stream.end_record();
    }

    /// More data will be written soon, or not (MSG_MORE): this applies to the next write, until a segment arrives
    /// (tcp_push(), tcp_data_snd_check()).
    pub fn announce(&mut self, more: bool) {
        self.stream.more = more;
        self.uncork_at = None;
    }

    /// Whether the application holds a short segment back (TCP_CORK): it is sent when it is full, or when
    /// nothing has been in flight for a timeout.
    pub fn set_corked<L: Log>(&mut self, now: Instant, corked: bool, log: &mut L) {
        self.stream.corked = corked;
        self.uncork_at = None;
        self.more_to_send(now, log);
    }

    /// Sets how long data may stay without a response; none for unlimited.
    pub fn set_user_timeout(&mut self, most: Option<Duration>) {
        self.settings.user_timeout = most;
    }

    /// The application does not read any more: arriving data gets an RST in response (`tcp_close()`, RFC
    /// 9293 section 3.10.4 and RFC 1122 section 4.2.2.13).
    pub fn set_deaf(&mut self) {
        self.deaf = true;
        self.sender.set_zero_window(false);
    }

    /// The application has shut down reading: after our FIN, arriving data resets the connection (RCV_SHUTDOWN,
    /// tcp_rcv_state_process()).
    pub fn shut_reading(&mut self) {
        self.shut = true;
    }

    /// The application chooses another congestion controller, whose state is fresh (TCP_CONGESTION).
    pub fn set_congestion(&mut self, congestion: &AnyCongestion) {
        self.settings.built.profile.parts.congestion = *congestion;
        self.sender.set_congestion(congestion);
    }

    /// The application limits the pacing rate, in bytes of data per second (SO_MAX_PACING_RATE).
    pub fn limit_pacing(&mut self, most: u64) {
        self.settings.pacing_limit = Some(most);
        self.sender.limit_pacing(most);
    }

    /// Whether timeouts do not back off when little is in flight (TCP_THIN_LINEAR_TIMEOUTS).
    pub fn set_thin_linear(&mut self, is_linear: bool) {
        self.settings.thin_linear = is_linear;
        self.sender.set_thin_linear(is_linear);
    }

    /// The application waits until this many bytes are there (SO_RCVLOWAT): with a receive buffer of Linux.
    pub fn expect(&mut self, bytes: u64) {
        self.receiver.expect(bytes);
    }

    /// The application turns Nagle's algorithm on or off.
    pub fn set_nagle<L: Log>(&mut self, now: Instant, nagle: bool, log: &mut L) {
        self.stream.nagle = nagle;
        if !nagle && self.is_of_linux() {
            // __tcp_sock_set_nodelay(): what waits is sent, also if it is corked.
            self.stream.release();
        }
        self.send_more(now, log);
    }
}
