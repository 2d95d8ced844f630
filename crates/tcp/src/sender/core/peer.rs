//! What the receiver says of itself: its window, and the timestamp that the next segments echo; and the
//! ACK that it waits for.

use std::num::NonZeroU32;

use super::Core;
use crate::segment::{Ack, Content, Segment};

/// The other end, as far as its ACKs tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    /// Its window in bytes, and the largest that it has offered; 0 if it does not say it.
    window: u32,
    most: u32,
    /// Its latest timestamp.
    stamp_ms: u32,
    /// Its SYN is to be acknowledged, and has been.
    owes_ack: bool,
    has_acked: bool,
    /// The next segment ends what the application gets at once.
    pub(super) push: bool,
}

impl Peer {
    pub(super) fn owes_ack(&self) -> bool {
        self.owes_ack
    }

    pub(super) fn stamp_ms(&self) -> u32 {
        self.stamp_ms
    }
}

impl Core {
    /// The receiver's window in segments.
    #[inline]
    pub(crate) fn receiver_window(&self) -> u64 {
        self.path.window.receiver_window()
    }

    /// The largest window that the receiver has offered, in bytes.
    pub(crate) fn most_window_bytes(&self) -> u64 {
        match self.peer.most {
            0 => self.config.receiver_window * u64::from(self.config.payload_bytes()),
            most => most.into(),
        }
    }

    /// The window of an ACK (tcp_may_update_window()).
    #[cold]
    pub(super) fn take_window(&mut self, ack: &Ack, window: NonZeroU32) {
        let peer = &mut self.peer;
        peer.stamp_ms = peer.stamp_ms.max(ack.stamp_ms);
        let is_news =
            ack.ack > self.books.una() || ack.ack == self.books.una() && window.get() > peer.window;
        if !is_news {
            return;
        }
        peer.window = window.get();
        peer.most = peer.most.max(peer.window);
        let segments = peer.window / self.config.payload_bytes();
        self.path.window.set_receiver_window(segments.into());
    }

    /// The handshake is over: its ACK is due, once.
    pub(super) fn owe_ack(&mut self) {
        if self.books.una() > 0 && !self.peer.has_acked {
            self.peer.has_acked = true;
            self.peer.owes_ack = self.config.handshake_ack;
        }
    }

    /// The ACK of the receiver's SYN, if it is due.
    pub(crate) fn handshake_ack(&mut self) -> Option<Segment> {
        if !std::mem::take(&mut self.peer.owes_ack) {
            return None;
        }
        self.hold();
        Some(Segment {
            seq: 1,
            bytes: self.config.bare_bytes(),
            retransmission: false,
            sent: self.now,
            content: Content::Acknowledgment,
            push: false,
            echo_ms: self.peer.stamp_ms,
            option: None,
        })
    }

    /// Whether the next segment ends what the application gets at once.
    pub(crate) fn set_push(&mut self, push: bool) {
        self.peer.push = push;
    }
}
