//! Segments that probe whether the path takes larger packets (RFC 4821), as in Linux 6.12: comments name its functions. The
//! sizes here are bytes of data and options, which is the MTU less the headers.

use midflight_tcp::{Log, SizeProbe};
use midflight_units::{Duration, Instant};
use midflight_wire::TIMESTAMP_BYTES;

use super::patience::{modelled, LEAST};
use super::Connection;
use crate::segment::Departure;

/// The window below which nothing is probed (tcp_mtu_probe()).
const LEAST_WINDOW: u64 = 11;

/// The settings of probing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuProbing {
    /// Whether a connection probes: never, after timeouts that may mean a path that drops large packets, or always
    /// (`net.ipv4.tcp_mtu_probing`).
    pub mode: Probing,
    /// The size of segments with which probing begins (`tcp_base_mss`).
    pub base: u64,
    /// The smallest size that timeouts lead to (`tcp_mtu_probe_floor`), and that of any segment (`tcp_min_snd_mss`).
    pub floor: u64,
    /// See [`Self::floor`].
    pub least: u64,
    /// The search begins anew after this time (`tcp_probe_interval`), when its range was smaller than so many bytes
    /// (`tcp_probe_threshold`).
    pub interval: Duration,
    /// See [`Self::interval`].
    pub threshold: u64,
    /// How many timeouts may mean such a path (`tcp_retries1`).
    pub timeouts: u32,
    /// Bytes of the headers of a packet without options.
    pub headers: u64,
}

/// Whether a connection probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probing {
    /// Never.
    #[default]
    Off,
    /// After timeouts.
    AfterTimeouts,
    /// From its start.
    Always,
}

impl Default for MtuProbing {
    fn default() -> Self {
        Self {
            mode: Probing::Off,
            base: 1024,
            floor: 48,
            least: 48,
            interval: Duration::from_secs(600),
            threshold: 8,
            timeouts: 3,
            headers: u64::from(midflight_wire::HEADER_BYTES),
        }
    }
}

/// The search for the largest size (`icsk_mtup`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// It is on, and has changed the size of the segments at least once (tcp_sync_mss()).
    enabled: bool,
    applied: bool,
    /// The path takes packets of `low` bytes, and none above `high`.
    low: u64,
    high: u64,
    /// The bytes of data and options of the probe under way, and one past its last byte.
    probe: Option<(u64, u64)>,
    /// When the last search began.
    began: Option<Instant>,
}

/// Whether new data may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Probe(u64),
    Wait,
    Send,
}

impl Connection {
    fn option_bytes(&self) -> u64 {
        if self.timestamps {
            u64::from(TIMESTAMP_BYTES)
        } else {
            0
        }
    }

    /// The data of a segment on a path for this many bytes of data and options (tcp_mtu_to_mss()).
    fn data_of(&self, bytes: u64) -> u64 {
        let most = bytes.min(self.search_end());
        let least = self.settings.mtu_probing.least;
        most.max(least).saturating_sub(self.option_bytes()).max(1)
    }

    /// The size that both sides have agreed on (mss_clamp).
    fn search_end(&self) -> u64 {
        self.agreed_bytes
    }

    /// tcp_mtup_init(), with the window of the segment that ends the handshake: a side that accepts takes the size with
    /// which probing begins only when the window grows later (tcp_ack_update_window()).
    pub(super) fn begin_search(&mut self, now: Instant, is_active: bool) {
        let MtuProbing { mode, base, .. } = self.settings.mtu_probing;
        if mode == Probing::Off || !self.recovers_as_linux() {
            return;
        }
        let enabled = mode == Probing::Always;
        self.search = Search {
            enabled,
            applied: false,
            low: base + self.option_bytes(),
            high: self.search_end().min(self.path_bytes),
            probe: None,
            began: enabled.then_some(now),
        };
        if is_active && enabled {
            // tcp_connect_init(): at first with the options that were offered.
            let offered = if self.settings.timestamps {
                u64::from(TIMESTAMP_BYTES)
            } else {
                0
            };
            self.search.low = base + offered;
            self.apply_search();
            self.search.low = base + self.option_bytes();
        }
    }

    /// The other side's window has become `window` (tcp_ack_update_window()).
    pub(super) fn note_largest_window(&mut self, window: u64) {
        let before = self.largest_window;
        self.largest_window = before.max(window);
        if self.search.enabled && 0 < before && before < window {
            self.apply_search();
        } else if !self.search.enabled
            && before < window
            && self.present_size() != self.stream.mss()
        {
            self.resize();
        }
    }

    /// The path takes no more than this (tcp_sync_mss()).
    pub(super) fn bound_search(&mut self) {
        self.search.high = self.search.high.min(self.path_bytes);
    }

    /// The data of a full-sized segment now (tcp_sync_mss()).
    pub(super) fn present_size(&self) -> u64 {
        let size = self.within_half(self.data_of(self.path_bytes));
        if self.search.enabled && self.search.applied {
            size.min(self.data_of(self.search.low))
        } else {
            size
        }
    }

    fn apply_search(&mut self) {
        self.search.applied = true;
        self.bound_search();
        self.resize();
    }

    /// What has not been sent is divided anew into segments of the present size.
    fn resize(&mut self) {
        let size = self.present_size();
        let sent = self.sender.view().snd_max.max(1);
        self.stream.divide(sent, size, None);
        self.sender.set_present_size(size);
    }

    /// New data may be sent: sends a probe first, if one is due (tcp_mtu_probe()).
    pub(super) fn begin_size_probe<L: Log>(&mut self, now: Instant, log: &mut L) {
        if !self.search.enabled {
            return;
        }
        match self.next_turn(now) {
            Turn::Send => {}
            Turn::Wait => self.sender.set_end(self.sender.view().snd_max.max(1)),
            Turn::Probe(size) => {
                let sent = self.sender.view().snd_max;
                let from = self.stream.byte_of(sent);
                let mss = self.stream.mss();
                if self.stream.divide(sent, mss, Some(size)) {
                    self.search.probe = Some((size + self.option_bytes(), from + size));
                    self.sender.begin_size_probe(now, log);
                    self.limit(now, self.sender.view().snd_una, log);
                }
            }
        }
    }

    fn next_turn(&mut self, now: Instant) -> Turn {
        let view = self.sender.view();
        let tally = self.sender.tally().unwrap_or_default();
        let is_open = self.over.is_none() && self.is_established() && tally.state == 0;
        let cwnd = view.cwnd.floor() as u64;
        let may = is_open && !self.sender.is_window_closed() && cwnd >= LEAST_WINDOW;
        if self.search.probe.is_some() || !may {
            return Turn::Send;
        }
        let Search { low, high, .. } = self.search;
        let size = self.data_of(u64::midpoint(high, low));
        let needed = size + (tally.reordering + 1) * self.stream.mss();
        let threshold = self.settings.mtu_probing.threshold;
        if size > self.data_of(high) || high.saturating_sub(low) < threshold || low > high {
            self.search_again(now);
            return Turn::Send;
        }
        let next = self.stream.byte_of(view.snd_max);
        if self.stream.end() - next < needed || self.window < needed {
            return Turn::Send;
        }
        if next + needed > self.edge {
            return Turn::Wait;
        }
        let flight = view.flight_size();
        if flight + 2 > cwnd {
            return if flight == 0 { Turn::Send } else { Turn::Wait };
        }
        Turn::Probe(size)
    }

    /// tcp_mtu_check_reprobe().
    fn search_again(&mut self, now: Instant) {
        let interval = self.settings.mtu_probing.interval;
        if self.search.began.is_some_and(|at| now >= at + interval) {
            self.search.probe = None;
            self.search.high = self.search_end();
            self.search.low = self.stream.mss() + self.option_bytes();
            self.search.began = Some(now);
        }
    }

    /// An ACK of everything before the byte `number` is about to be processed: the probe has arrived
    /// (tcp_mtup_probe_success()).
    pub(super) fn end_arrived_probe<L: Log>(&mut self, now: Instant, number: u64, log: &mut L) {
        let is_under_way = matches!(self.sender.size_probe(), SizeProbe::Sent(_));
        let arrived = self
            .search
            .probe
            .filter(|(_, end)| is_under_way && number >= *end);
        let Some((size, _)) = arrived else {
            return;
        };
        let headers = self.settings.mtu_probing.headers;
        let packet = self.stream.mss() + self.option_bytes() + headers;
        self.search.low = size;
        self.search.probe = None;
        self.apply_search();
        let share = Some((packet, size + headers));
        self.sender.end_size_probe(now, share, log);
    }

    /// An event has been processed: the probe was lost (tcp_mtup_probe_failed()), or is not conclusive.
    pub(super) fn end_lost_probe<L: Log>(&mut self, now: Instant, log: &mut L) {
        let Some((size, _)) = self.search.probe else {
            return;
        };
        match self.sender.size_probe() {
            SizeProbe::Sent(_) => return,
            SizeProbe::Lost => self.search.high = size - 1,
            SizeProbe::None => {}
        }
        self.search.probe = None;
        self.sender.end_size_probe(now, None, log);
    }

    /// The retransmission timer has expired: after several times the path may drop large packets (tcp_mtu_probing()). The
    /// first segment is sent again in a smaller one, also if it was a probe.
    pub(super) fn suspect_path<L: Log>(&mut self, now: Instant, log: &mut L) {
        let MtuProbing {
            mode,
            base,
            floor,
            least,
            timeouts,
            ..
        } = self.settings.mtu_probing;
        if mode == Probing::Off || !self.recovers_as_linux() || !self.is_established() {
            return;
        }
        let tally = self.sender.tally().filter(|tally| tally.timeouts > 1);
        let since = tally.and_then(|tally| tally.first_resent);
        if since.is_some_and(|since| now >= since + modelled(timeouts, LEAST)) {
            if self.search.enabled {
                let half = self.data_of(self.search.low) / 2;
                let size = base.min(half).max(floor).max(least);
                self.search.low = size + self.option_bytes();
            } else {
                self.search.enabled = true;
                self.search.began = Some(now);
            }
            self.search.applied = true;
            self.bound_search();
        }
        let size = self.present_size();
        let una = self.stream.bytes(self.sender.view().snd_una);
        let is_large = una.is_some_and(|(from, to, _)| to - from > size);
        if self.search.enabled && is_large && self.renumber(now, size, log).is_err() {
            // A smaller segment is accepted if a larger one was.
            self.stream.divide(self.sender.view().snd_max, size, None);
        }
    }
}

impl Connection {
    /// The next piece of such a segment.
    pub(super) fn next_piece(&mut self) -> Option<Departure> {
        let rest = self.rest.take()?;
        Some(self.first_piece(rest))
    }

    /// A segment that is larger than the present size is sent again in several ones (tcp_retransmit_skb()), of which the
    /// others follow.
    pub(super) fn first_piece(&mut self, departure: Departure) -> Departure {
        let Departure { from, to, .. } = departure;
        let end = from + self.stream.mss();
        if !self.search.enabled || !departure.retransmission || to <= end {
            return departure;
        }
        let rest = Departure {
            from: end,
            ..departure.clone()
        };
        self.rest = Some(rest);
        Departure {
            to: end,
            fin: false,
            ..departure
        }
    }
}
