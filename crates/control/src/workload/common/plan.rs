//! The actions that a workload schedules itself.

use midflight_units::Instant;

/// Actions and their times; at one instant the first that was planned comes first.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::workload) struct Plan<T>(Vec<(Instant, T)>);

impl<T> Default for Plan<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Plan<T> {
    /// Plans an action.
    pub(in crate::workload) fn add(&mut self, at: Instant, what: T) {
        let place = self.0.partition_point(|(due, _)| *due <= at);
        self.0.insert(place, (at, what));
    }

    /// When the first action is due.
    pub(in crate::workload) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(due, _)| *due)
    }

    /// Removes and returns an action that is due.
    pub(in crate::workload) fn take(&mut self, now: Instant) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        Some(self.0.remove(0).1)
    }
}
