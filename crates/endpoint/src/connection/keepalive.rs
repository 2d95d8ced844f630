//! Probes of a connection on which nothing happens (RFC 9293 section 3.8.4, RFC 1122 section 4.2.3.6), as Linux 6.12 has
//! them: tcp_keepalive_timer().

use midflight_units::{Duration, Instant};

use super::{Connection, Departure, Over, Refusal};

/// When the connection is probed (`TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Time without a segment of the other side before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Number of probes without an answer after which the connection is reset.
    pub probes: u32,
}

impl Default for Keepalive {
    /// The values of the kernel.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(7200),
            interval: Duration::from_secs(75),
            probes: 9,
        }
    }
}

/// The state of the probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    /// When a segment of the other side was last taken.
    heard: Instant,
    due: Option<Instant>,
    /// Probes without an answer (`icsk_probes_out`).
    out: u32,
    /// A probe must be sent.
    now: bool,
}

impl Probing {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            heard: now,
            due: None,
            out: 0,
            now: false,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }
}

impl Connection {
    /// Sets when the connection is probed; none for never (`SO_KEEPALIVE`).
    pub fn set_keepalive(&mut self, now: Instant, keepalive: Option<Keepalive>) {
        self.settings.keepalive = keepalive;
        self.probing.due = None;
        if let Some(keepalive) = keepalive.filter(|_| self.is_established()) {
            let quiet = now.since(self.probing.heard);
            self.probe_after(now, keepalive.idle.saturating_sub(quiet));
        }
    }

    /// Sets the interval and the number of probes; the next probe is due as before.
    pub fn change_keepalive(&mut self, keepalive: Option<Keepalive>) {
        self.settings.keepalive = keepalive;
    }

    /// Sets how long the connection stays half closed after the application has closed it; none for 60 s (TCP_LINGER2). With
    /// `ends` it does not.
    pub fn set_fin_timeout(&mut self, time: Option<Duration>, ends: bool) {
        self.settings.fin_timeout = time;
        self.settings.ends_half_closed = ends;
    }

    fn probe_after(&mut self, now: Instant, wait: Duration) {
        let clock = self.sender.config().rto.clock;
        self.probing.due = Some(clock.rings(now, wait));
    }

    /// A segment of the other side is taken.
    pub(super) fn note_heard(&mut self, now: Instant) {
        self.probing.heard = now;
        self.probing.out = 0;
        if let (Some(keepalive), None) = (self.settings.keepalive, self.probing.due) {
            self.probe_after(now, keepalive.idle);
        }
    }

    /// tcp_keepalive_timer(); returns whether the connection has ended.
    pub(super) fn probe_by(&mut self, now: Instant) -> bool {
        if self.probing.due.take_if(|due| *due <= now).is_none() {
            return false;
        }
        let Some(keepalive) = self.settings.keepalive else {
            return false;
        };
        if self.is_closed_both_ways() {
            return false;
        }
        let view = self.sender.view();
        if view.snd_una < self.stream.segments_end() {
            // Something is outstanding or waits.
            self.probe_after(now, keepalive.idle);
            return false;
        }
        let quiet = now.since(self.probing.heard);
        if quiet < keepalive.idle {
            self.probe_after(now, keepalive.idle.saturating_sub(quiet));
            return false;
        }
        let is_over = match self.settings.user_timeout {
            Some(most) => quiet >= most && self.probing.out > 0,
            None => self.probing.out >= keepalive.probes,
        };
        if is_over {
            self.refusal = Some(Refusal {
                from: self.stream.byte_of(view.snd_max),
                ack: Some(self.receiver.next()),
            });
            self.over = Some(Over::TimedOut);
            return true;
        }
        self.probing.out += 1;
        self.probing.now = true;
        self.probe_after(now, keepalive.interval);
        false
    }

    /// A probe repeats the number of the last acknowledged byte, without data (tcp_xmit_probe_skb()).
    pub(super) fn keepalive_probe(&mut self) -> Option<Departure> {
        std::mem::take(&mut self.probing.now).then(|| {
            let bare = self.bare();
            let from = bare.from.saturating_sub(1);
            Departure {
                from,
                to: from,
                ..bare
            }
        })
    }
}
