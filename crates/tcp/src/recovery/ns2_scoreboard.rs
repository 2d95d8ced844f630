//! The scoreboard of ns-2's Sack1: a set of SACKed blocks with one forward
//! pointer. Segments carry ns-2's numbers here (an ACK number is the last
//! segment in order), because the pointer's arithmetic is part of the behaviour.

use educe::Educe;
use midflight_units::{Ring, Seq};

use crate::segment::Ack;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    left: i64,
    right: i64,
}

/// SACKed blocks above the cumulative ACK, and the next hole to retransmit.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(super) struct Ns2Scoreboard {
    /// Ascending, disjoint and not adjacent.
    blocks: Ring<Block>,
    /// SACKed segments in all blocks.
    total: i64,
    /// Holes below this have been retransmitted.
    next_retransmit: i64,
    /// One beyond the highest cumulative ACK seen. A block that starts at or
    /// below it moves it to the block's end, down as well as up.
    floor: i64,
}

impl Default for Ns2Scoreboard {
    fn default() -> Self {
        Self {
            blocks: Ring::default(),
            total: 0,
            next_retransmit: -1,
            floor: -1,
        }
    }
}

impl Ns2Scoreboard {
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.total = 0;
        self.next_retransmit = -1;
    }

    /// Processes the blocks of an ACK, where `last` is the highest segment acknowledged and `max` one
    /// past the highest sent; returns whether the scoreboard changed. Blocks of segments that were
    /// never sent are ignored (ns-2 has no such receiver).
    pub(super) fn update(&mut self, last: i64, max: Seq, ack: &Ack) -> bool {
        let before = self.total;
        let mut changed = false;
        if self.floor <= last {
            self.floor = last + 1;
            if !self.blocks.is_empty() {
                self.forget_below_floor();
                changed = true;
            }
        }
        for block in ack.sack.iter(ack.ack) {
            if block.left >= block.right || block.right > max {
                continue;
            }
            self.add(Block {
                left: block.left as i64,
                right: block.right as i64,
            });
        }
        changed || self.total != before
    }

    fn forget_below_floor(&mut self) {
        while let Some(first) = self.blocks.get_mut(0) {
            if first.right > self.floor {
                if first.left < self.floor {
                    self.total -= self.floor - first.left;
                    first.left = self.floor;
                }
                break;
            }
            self.total -= first.right - first.left;
            self.blocks.pop();
        }
    }

    fn add(&mut self, new: Block) {
        // Blocks that overlap or touch the new one.
        let from = self.blocks.partition_point(|b| b.right < new.left);
        let to = self.blocks.partition_point(|b| b.left <= new.right);
        let mut merged = new;
        let mut had = 0;
        for i in from..to {
            let Some(&block) = self.blocks.get(i) else {
                break;
            };
            if block.left <= new.left && new.right <= block.right {
                // No new segments. An exact repetition does not change the floor, a part of a block
                // does.
                let first = self.blocks.front().unwrap_or(&block);
                if block != new && self.floor >= first.left {
                    self.floor = first.right;
                }
                return;
            }
            merged.left = merged.left.min(block.left);
            merged.right = merged.right.max(block.right);
            had += block.right - block.left;
        }
        self.total += merged.right - merged.left - had;
        match self.blocks.get_mut(from) {
            Some(first) if from < to => {
                *first = merged;
                self.blocks.remove(from + 1, to);
            }
            _ => self.blocks.insert(from, merged),
        }
        if self.floor >= merged.left {
            self.floor = merged.right;
        }
    }

    /// Marks everything up to `segment` as retransmitted.
    pub(super) fn mark_retransmitted(&mut self, segment: i64) {
        if segment >= self.next_retransmit {
            self.next_retransmit = segment + 1;
        }
    }

    /// The next segment that is neither SACKed nor retransmitted and has a SACKed segment above it.
    #[inline]
    pub(super) fn next_hole(&mut self) -> Option<i64> {
        let from = self.next_retransmit.max(self.floor);
        self.next_retransmit = from;
        // The common case.
        if self.blocks.is_empty() {
            return None;
        }
        let at = self.blocks.partition_point(|b| b.right < from);
        let block = self.blocks.get(at)?;
        let hole = if block.left > from {
            from
        } else if at + 1 < self.blocks.len() {
            block.right
        } else {
            return None;
        };
        self.next_retransmit = hole;
        (hole > 0).then_some(hole)
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Instant;
    use proptest::prelude::*;

    use super::*;
    use crate::segment::{SackBlock, SackBlocks};

    fn ack(last: u64, blocks: &[(u64, u64)]) -> Ack {
        let mut sack = SackBlocks::default();
        for &(left, right) in blocks {
            sack.push(last + 1, SackBlock { left, right });
        }
        Ack {
            ack: last + 1,
            sack,
            echo: None,
            cause_sent: Instant::ZERO,
            offset: 0,
            option: crate::segment::AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        }
    }

    #[test]
    fn holes_are_handed_out_once_in_ascending_order() {
        let mut board = Ns2Scoreboard::default();
        assert!(board.update(10, 100, &ack(10, &[(15, 17), (12, 13)])));
        assert!(!board.update(10, 100, &ack(10, &[(15, 17)])), "nothing new");
        board.mark_retransmitted(11);
        assert_eq!(board.next_hole(), Some(13));
        board.mark_retransmitted(13);
        assert_eq!(board.next_hole(), Some(14));
        board.mark_retransmitted(14);
        assert_eq!(board.next_hole(), None, "nothing is SACKed above 17");
        assert!(board.update(10, 100, &ack(10, &[(18, 19)])));
        assert_eq!(board.next_hole(), Some(17));
    }

    #[test]
    fn an_advance_counts_as_a_change_and_forgets_what_it_covers() {
        let mut board = Ns2Scoreboard::default();
        board.update(10, 100, &ack(10, &[(12, 14), (16, 17)]));
        assert!(board.update(14, 100, &ack(14, &[])));
        assert_eq!(board.total, 1);
        assert_eq!(board.next_hole(), Some(15));
    }

    /// ns-2's list, searched from its start and recounted at each step.
    #[derive(Default)]
    struct Reference {
        blocks: Vec<Block>,
        next_retransmit: i64,
        floor: i64,
    }

    impl Reference {
        fn total(&self) -> i64 {
            self.blocks.iter().map(|b| b.right - b.left).sum()
        }

        fn update(&mut self, last: i64, max: Seq, ack: &Ack) -> bool {
            let before = self.total();
            let mut changed = false;
            if self.floor <= last {
                self.floor = last + 1;
                changed = !self.blocks.is_empty();
                self.blocks.retain(|b| b.right > self.floor);
                for block in &mut self.blocks {
                    block.left = block.left.max(self.floor);
                }
            }
            let before = if changed { -1 } else { before };
            for block in ack.sack.iter(ack.ack) {
                if block.left < block.right && block.right <= max {
                    let (left, right) = (block.left as i64, block.right as i64);
                    self.add(Block { left, right });
                }
            }
            self.total() != before
        }

        fn add(&mut self, new: Block) {
            let holds = |b: &&Block| b.left <= new.left && new.right <= b.right;
            if let Some(only) = self.blocks.iter().find(holds) {
                if *only != new && self.floor >= self.blocks[0].left {
                    self.floor = self.blocks[0].right;
                }
                return;
            }
            let mut merged = new;
            let touches = |b: &Block| b.left <= new.right && new.left <= b.right;
            for block in self.blocks.iter().filter(|b| touches(b)) {
                merged.left = merged.left.min(block.left);
                merged.right = merged.right.max(block.right);
            }
            self.blocks.retain(|b| !touches(b));
            self.blocks.push(merged);
            self.blocks.sort_by_key(|b| b.left);
            if self.floor >= merged.left {
                self.floor = merged.right;
            }
        }

        fn next_hole(&mut self) -> Option<i64> {
            self.next_retransmit = self.next_retransmit.max(self.floor);
            let from = self.next_retransmit;
            let place = self.blocks.iter().position(|b| b.right >= from)?;
            let hole = match self.blocks[place] {
                block if block.left > from => from,
                block if place + 1 < self.blocks.len() => block.right,
                _ => return None,
            };
            self.next_retransmit = hole;
            (hole > 0).then_some(hole)
        }
    }

    proptest! {
        /// After every ACK the board equals the list, and returns the same hole.
        #[test]
        fn the_board_is_ns2s_list(
            acks in prop::collection::vec(
                (0_u64..6, prop::collection::vec((0_u64..50, 1_u64..9), 0..4), any::<bool>()),
                1..150,
            )
        ) {
            let mut board = Ns2Scoreboard::default();
            let mut reference = Reference { next_retransmit: -1, floor: -1, ..Default::default() };
            let mut last = 0;
            for (more, blocks, resends) in acks {
                last += more;
                let blocks: Vec<_> = blocks
                    .into_iter()
                    // Some blocks are below the ACK, as in late ACKs.
                    .map(|(from, n)| ((last + from).saturating_sub(5), (last + from).saturating_sub(5) + n))
                    .collect();
                let ack = ack(last, &blocks);
                let (at, max) = (last as i64, last + 45);
                let changed = reference.update(at, max, &ack);
                prop_assert_eq!(board.update(at, max, &ack), changed);
                prop_assert_eq!(board.total, reference.total());
                prop_assert_eq!(board.floor, reference.floor);
                let blocks: Vec<Block> = board.blocks.iter().copied().collect();
                prop_assert_eq!(&blocks, &reference.blocks);
                let hole = reference.next_hole();
                prop_assert_eq!(board.next_hole(), hole);
                if let (Some(hole), true) = (hole, resends) {
                    board.mark_retransmitted(hole);
                    reference.next_retransmit = reference.next_retransmit.max(hole + 1);
                }
            }
        }
    }
}
