//! The SACK blocks that the Linux receiver stores and reports.

use super::{Held, LinuxAcks, BLOCKS, BLOCKS_EXPECTED};
use crate::segment::SackBlock;

impl LinuxAcks {
    /// tcp_sack_extend(): widens the stored block that touches this one.
    fn widen(&mut self, block: SackBlock) -> Option<usize> {
        let mut blocks = self.sacks[..self.blocks].iter_mut().enumerate();
        let (at, found) = blocks.find(|(_, b)| touch(**b, block))?;
        *found = join(*found, block);
        Some(at)
    }

    /// tcp_sack_compress_send_ack(): whether a compressed ACK must be sent before this block is stored,
    /// because there are more blocks than an ACK is expected to hold.
    pub(in crate::receiver) fn flushes(&mut self, block: SackBlock) -> bool {
        self.compressed > 0 && self.widen(block).unwrap_or(self.blocks) >= BLOCKS_EXPECTED
    }

    /// tcp_sack_new_ofo_skb().
    pub(super) fn note_block(&mut self, block: SackBlock) {
        if let Some(at) = self.widen(block) {
            self.sacks[..=at].rotate_right(1);
            self.join_blocks();
            return;
        }
        self.blocks = (self.blocks + 1).min(BLOCKS);
        self.sacks[..self.blocks].rotate_right(1);
        self.sacks[0] = block;
    }

    /// tcp_sack_maybe_coalesce(): merges the first block with those that it touches.
    fn join_blocks(&mut self) {
        let mut first = self.sacks[0];
        let mut kept = 1;
        for at in 1..self.blocks {
            let b = self.sacks[at];
            if touch(first, b) {
                first = join(first, b);
            } else {
                self.sacks[kept] = b;
                kept += 1;
            }
        }
        self.sacks[0] = first;
        self.blocks = kept;
    }

    /// tcp_sack_remove(): drops blocks that are acknowledged.
    pub(super) fn forget_blocks(&mut self, held: Held) {
        if !held.has_gaps {
            self.blocks = 0;
            return;
        }
        let mut kept = 0;
        for at in 0..self.blocks {
            if self.sacks[at].left > held.next {
                self.sacks[kept] = self.sacks[at];
                kept += 1;
            }
        }
        self.blocks = kept;
    }

    /// Whether an ACK carries any block.
    #[inline]
    pub(in crate::receiver) fn has_blocks(&self) -> bool {
        self.blocks > 0 || self.dsack.is_some()
    }

    /// The blocks for an ACK. A duplicate comes first and is reported once.
    pub(in crate::receiver) fn take_blocks(
        &mut self,
        most: usize,
    ) -> impl Iterator<Item = SackBlock> {
        let known = self.sacks.into_iter().take(self.blocks);
        self.dsack.take().into_iter().chain(known).take(most)
    }
}

/// Whether the blocks overlap or are adjacent.
pub(in crate::receiver) fn touch(a: SackBlock, b: SackBlock) -> bool {
    a.left <= b.right && b.left <= a.right
}

pub(in crate::receiver) fn join(a: SackBlock, b: SackBlock) -> SackBlock {
    SackBlock {
        left: a.left.min(b.left),
        right: a.right.max(b.right),
    }
}
