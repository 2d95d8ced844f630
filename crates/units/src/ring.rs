//! The queue used by links and senders.

/// A queue in a ring buffer whose size is a power of two. Unlike `VecDeque` it drops any number of
/// elements from the front in constant time; this requires plain values as elements.
#[derive(Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    /// Index of the first element, before wrapping.
    head: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            head: 0,
            len: 0,
        }
    }
}

impl<T: Copy> Clone for Ring<T> {
    fn clone(&self) -> Self {
        let mut new = Self::default();
        new.clone_from(self);
        new
    }

    /// Reuses the buffer. Only the elements are copied.
    fn clone_from(&mut self, from: &Self) {
        self.clear();
        let (back, front) = from.as_slices();
        self.extend(back);
        self.extend(front);
    }
}

impl<T: Copy> Ring<T> {
    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        self.head.wrapping_add(index) & (self.slots.len().wrapping_sub(1))
    }

    /// Adds an element at the end.
    #[inline(always)]
    pub fn push(&mut self, element: T) {
        if self.len == self.slots.len() {
            self.grow(element);
        }
        let slot = self.slot(self.len);
        self.slots[slot] = element;
        self.len += 1;
    }

    /// Adds an element at the front.
    pub fn push_front(&mut self, element: T) {
        if self.len == self.slots.len() {
            self.grow(element);
        }
        self.head = self.head.wrapping_sub(1);
        let slot = self.slot(0);
        self.slots[slot] = element;
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self, fill: T) {
        self.reserve(self.len + 1, fill);
    }

    /// Makes room for `len` elements; the elements end up at the front of the buffer.
    fn reserve(&mut self, len: usize, fill: T) {
        let size = len.next_power_of_two().max(8);
        if size <= self.slots.len() {
            return;
        }
        let mut slots = Vec::with_capacity(size);
        let (front, back) = self.as_slices();
        slots.extend_from_slice(front);
        slots.extend_from_slice(back);
        slots.resize(size, fill);
        self.slots = slots;
        self.head = 0;
    }

    fn extend(&mut self, elements: &[T]) {
        if let Some(&first) = elements.first() {
            self.reserve(self.len + elements.len(), first);
        }
        for &element in elements {
            self.push(element);
        }
    }

    /// The elements in order, in two parts.
    fn as_slices(&self) -> (&[T], &[T]) {
        if self.len == 0 {
            return (&[], &[]);
        }
        let first = self.slot(0);
        let before_wrap = self.len.min(self.slots.len() - first);
        (
            &self.slots[first..first + before_wrap],
            &self.slots[..self.len - before_wrap],
        )
    }

    /// The first element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The element at `index` from the front.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len {
            self.slots.get(self.slot(index))
        } else {
            None
        }
    }

    /// The last element.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// How many elements at the front have a property, if no element after one without it has it.
    /// The search begins at the end, so it is short if few elements at the end lack the property.
    pub fn partition_point(&self, mut has: impl FnMut(&T) -> bool) -> usize {
        let mut has = |index| self.get(index).is_some_and(&mut has);
        let (mut low, mut high) = (0, self.len);
        let mut step = 1;
        while low < high {
            let probe = high.saturating_sub(step).max(low);
            if has(probe) {
                low = probe + 1;
                break;
            }
            high = probe;
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if has(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Inserts an element before the one at `index`. The shorter part of the others moves.
    pub fn insert(&mut self, index: usize, element: T) {
        let index = index.min(self.len);
        if index < self.len / 2 {
            self.push_front(element);
            for i in 0..index {
                self.copy(i + 1, i);
            }
        } else {
            self.push(element);
            for i in (index + 1..self.len).rev() {
                self.copy(i - 1, i);
            }
        }
        self.set(index, element);
    }

    /// Removes the elements from `from` up to `to`. The shorter part of the others moves.
    pub fn remove(&mut self, from: usize, to: usize) {
        let to = to.min(self.len);
        let from = from.min(to);
        if from < self.len - to {
            for i in (0..from).rev() {
                self.copy(i, i + to - from);
            }
            self.drop_front(to - from);
        } else {
            for i in to..self.len {
                self.copy(i, i - (to - from));
            }
            self.len -= to - from;
        }
    }

    fn copy(&mut self, from: usize, to: usize) {
        let (from, to) = (self.slot(from), self.slot(to));
        self.slots[to] = self.slots[from];
    }

    fn set(&mut self, index: usize, element: T) {
        let slot = self.slot(index);
        self.slots[slot] = element;
    }

    /// The element at `index` from the front.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index < self.len {
            let slot = self.slot(index);
            self.slots.get_mut(slot)
        } else {
            None
        }
    }

    /// Removes and returns the first element.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let first = self.slots[self.slot(0)];
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(first)
    }

    /// Drops the first `count` elements, or all if there are fewer.
    #[inline]
    pub fn drop_front(&mut self, count: usize) {
        let count = count.min(self.len);
        self.head = self.head.wrapping_add(count);
        self.len -= count;
    }

    /// Keeps the first `count` elements.
    pub fn truncate(&mut self, count: usize) {
        self.len = self.len.min(count);
    }

    /// Drops all elements.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (front, back) = self.as_slices();
        front.iter().chain(back)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Pushes, pops, drops and clones like a `VecDeque`, over many rotations of the buffer.
    #[test]
    fn a_ring_is_a_queue() {
        let mut ring = Ring::default();
        let mut queue = VecDeque::new();
        let mut spare = Ring::default();
        let mut state = 1_u64;
        for step in 0_u64..5_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let count = (state >> 60) as usize;
            let place = (state >> 20) as usize % (queue.len() + 1);
            match (state >> 40) % 11 {
                0..=2 => {
                    for i in 0..count as u64 {
                        ring.push(step * 100 + i);
                        queue.push_back(step * 100 + i);
                    }
                }
                3 | 4 => {
                    ring.drop_front(count);
                    queue.drain(..count.min(queue.len()));
                }
                5 => {
                    spare.clone_from(&ring);
                    std::mem::swap(&mut ring, &mut spare);
                }
                6 => {
                    ring.push_front(step);
                    queue.push_front(step);
                }
                7 => assert_eq!(ring.pop(), queue.pop_front()),
                8 => {
                    ring.insert(place, step);
                    queue.insert(place, step);
                }
                9 => {
                    let to = (place + count).min(queue.len());
                    ring.remove(place, to);
                    queue.drain(place..to);
                }
                _ => {
                    let keep = queue.len().saturating_sub(count);
                    ring.truncate(keep);
                    queue.truncate(keep);
                }
            }
            if let (Some(a), Some(b)) = (ring.get_mut(count), queue.get_mut(count)) {
                *a += 1;
                *b += 1;
            }
            assert_eq!(ring.len(), queue.len());
            assert_eq!(ring.front(), queue.front());
            assert_eq!(ring.last(), queue.back());
            assert_eq!(ring.get(count), queue.get(count));
            assert!(ring.iter().eq(queue.iter()));
            assert!(ring.clone().iter().eq(queue.iter()));
        }
        assert!(
            spare.head.max(ring.head) > ring.slots.len(),
            "the buffer has turned"
        );
    }

    #[test]
    fn a_partition_is_found_wherever_it_is() {
        for len in 0..70 {
            let mut ring = Ring::default();
            (0..len).for_each(|i| ring.push(i));
            for point in 0..=len {
                assert_eq!(ring.partition_point(|&i| i < point), point);
            }
        }
    }
}
