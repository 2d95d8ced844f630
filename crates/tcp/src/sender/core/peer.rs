//! The peer's state at the sender: its window, and the timestamp that the next segments echo. Also the ACKs to be
//! sent to it: that of its SYN, and those in response to overtaken ACKs.

use std::num::NonZeroU32;

use midflight_control::signal::WHOLE_WINDOW;
use midflight_units::{Instant, Seq};

use super::Core;
use crate::answers::Answers;
use crate::segment::{Ack, Content, EcnCodepoint, Segment};

/// TCP_PAWS_WINDOW.
const PAWS_WINDOW_MS: u32 = 1;

/// The state of the other end, from its ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    /// Its window in bytes, and the largest that it has advertised; 0 if it does not advertise one.
    window: u32,
    most: u32,
    /// The full segments of the first.
    segments: u64,
    /// It is zero, for a recovery that goes on with what is in flight.
    is_zero: bool,
    /// Its latest timestamp.
    stamp_ms: u32,
    /// An ACK must be sent; the ACK of its SYN has been sent.
    owes_ack: bool,
    has_acked: bool,
    /// When an ACK without data was last sent.
    acked_at: Instant,
    /// Responses to ACKs out of order.
    answers: Answers,
    /// The last ACK has opened the window further, without new data.
    is_update: bool,
    /// The next segment must have PSH.
    pub(super) push: bool,
}

impl Peer {
    pub(super) fn owes_ack(&self) -> bool {
        self.owes_ack
    }

    pub(super) fn stamp_ms(&self) -> u32 {
        self.stamp_ms
    }

    pub(super) fn has_zero_window(&self) -> bool {
        self.is_zero
    }

    pub(super) fn acked_at(&self) -> Instant {
        self.acked_at
    }
}

impl Core {
    /// The receiver's window in segments.
    #[inline]
    pub(crate) fn receiver_window(&self) -> u64 {
        self.path.window.receiver_window()
    }

    /// One past the last byte that the receiver accepts when everything below `una` is acknowledged
    /// (tcp_wnd_end()).
    #[inline(always)]
    pub(crate) fn window_edge(&self, una: Seq) -> u64 {
        self.sizes.byte(una) + self.window_bytes()
    }

    /// The receiver's window in bytes.
    #[inline(always)]
    pub(crate) fn window_bytes(&self) -> u64 {
        match self.peer.most {
            0 => (self.receiver_window()).saturating_mul(self.sizes.full()),
            _ => self.peer.window.into(),
        }
    }

    /// The largest window that the receiver has advertised, in bytes.
    pub(crate) fn most_window_bytes(&self) -> u64 {
        match self.peer.most {
            0 => self.config.receiver_window * self.sizes.full(),
            most => most.into(),
        }
    }

    /// Takes an ACK's timestamp and window (tcp_may_update_window()). Returns false for an ACK to discard because
    /// newer ones have overtaken it, or because it is a second SYN-ACK (tcp_send_challenge_ack()).
    #[inline(never)]
    pub(super) fn take_peer(&mut self, ack: &Ack, window: NonZeroU32) -> bool {
        let una = self.books.una();
        let is_news = ack.ack > una || ack.ack == una && window.get() > self.peer.window;
        if self.is_overtaken(ack, is_news) || una > 0 && ack.is_syn() {
            self.answer_discarded();
            return false;
        }
        let peer = &mut self.peer;
        peer.is_update = is_news && ack.ack == una;
        peer.stamp_ms = peer.stamp_ms.max(ack.stamp_ms);
        if is_news && window == WHOLE_WINDOW {
            peer.most = 0;
            peer.window = 0;
            self.path
                .window
                .set_receiver_window(self.config.receiver_window);
        } else if is_news {
            if peer.window != window.get() {
                peer.window = window.get();
                peer.most = peer.most.max(peer.window);
                peer.segments = u64::from(peer.window) / self.sizes.full();
            }
            self.path.window.set_receiver_window(peer.segments);
        }
        true
    }

    /// The window is zero, which is always news (tcp_may_update_window()).
    pub(super) fn close_peer(&mut self) {
        self.peer.is_zero = true;
        self.peer.is_update = true;
        self.peer.window = 0;
        self.path.window.set_receiver_window(0);
    }

    /// The window is no longer zero. If the ACK does not advertise one, it is the setting's.
    pub(super) fn open_peer(&mut self) {
        self.peer.is_zero = false;
        self.peer.is_update = true;
        if self.peer.window == 0 {
            self.peer.most = 0;
            let window = self.config.receiver_window;
            self.path.window.set_receiver_window(window);
        }
    }

    /// Whether an ACK's timestamp is older than earlier ones (PAWS: tcp_paws_discard()), unless the ACK repeats
    /// the latest number and is not much older (tcp_disordered_ack()).
    #[inline]
    fn is_overtaken(&self, ack: &Ack, is_news: bool) -> bool {
        let age_ms = self.peer.stamp_ms.saturating_sub(ack.stamp_ms);
        if ack.echo.is_none() || age_ms <= PAWS_WINDOW_MS {
            return false;
        }
        let replay_ms = self.path.rto.timeout().as_nanos() * 6 / 5 / 1_000_000;
        ack.ack != self.books.una() || is_news || u64::from(age_ms) > replay_ms
    }

    /// The current ACK says nothing about the window.
    #[inline(always)]
    pub(super) fn forget_update(&mut self) {
        self.peer.is_update = false;
    }

    /// Whether the receiver's window is zero (tp->snd_wnd); only for a recovery that goes on with what is in flight.
    pub(crate) fn has_zero_window(&self) -> bool {
        self.peer.is_zero
    }

    /// The current ACK is a window update (FLAG_WIN_UPDATE), and not a duplicate.
    pub(crate) fn is_window_update(&self) -> bool {
        self.peer.is_update
    }

    /// Responds with an ACK, if the rate limit allows it.
    fn answer_discarded(&mut self) {
        if self.peer.answers.allows(self.config.rto.clock, self.now) {
            self.peer.owes_ack = self.config.empty_acks;
        }
        self.hold();
    }

    /// The handshake is over: its ACK is due, once.
    pub(super) fn owe_ack(&mut self) {
        if self.books.una() > 0 && !self.peer.has_acked {
            self.peer.has_acked = true;
            self.peer.owes_ack = self.config.empty_acks;
        }
    }

    /// An ACK without data, if one is due.
    pub(crate) fn empty_ack(&mut self) -> Option<Segment> {
        if !std::mem::take(&mut self.peer.owes_ack) {
            return None;
        }
        self.hold();
        self.peer.acked_at = self.now;
        self.hold_departure();
        Some(Segment {
            seq: self.books.max(),
            bytes: self.config.bare_bytes(),
            retransmission: false,
            sent: self.now,
            content: Content::Acknowledgment,
            push: false,
            ecn: EcnCodepoint::NotCapable,
            cwr: false,
            echo_ms: self.peer.stamp_ms,
            offset: 0,
            option: None,
        })
    }

    /// Sets the number of a QUIC sender's next packet, stored in the field of the timestamp that Linux echoes.
    pub(crate) fn set_packet_number(&mut self, number: u64) {
        self.peer.stamp_ms = number as u32;
    }

    /// Sets whether the next segment has PSH.
    pub(crate) fn set_push(&mut self, push: bool) {
        self.peer.push = push;
    }
}
