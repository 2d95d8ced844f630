//! The queue that links and senders are made of.

/// A queue in a ring buffer whose size is a power of two. Unlike
/// `VecDeque` it drops any number of elements from the front at once, for
/// which its elements are plain values.
#[derive(Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    /// Where the first element is, before wrapping.
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

    /// Keeps the buffer. Only the elements are copied.
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

    /// Takes the first element.
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
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (front, back) = self.as_slices();
        front.iter().chain(back)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Pushes, pops, drops and clones like a `VecDeque`, over many turns of the buffer.
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
            match (state >> 40) % 9 {
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
            assert_eq!(ring.get(count), queue.get(count));
            assert!(ring.iter().eq(queue.iter()));
            assert!(ring.clone().iter().eq(queue.iter()));
        }
        assert!(
            spare.head.max(ring.head) > ring.slots.len(),
            "the buffer has turned"
        );
    }
}
