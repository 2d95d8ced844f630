//! The planned actions, in time order.

use educe::Educe;
use midflight_units::Instant;

use crate::config::Action;

/// Planned actions, and which come next.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Timeline {
    /// Ascending by time; equal times in the order of insertion.
    actions: Vec<(Instant, Action)>,
    done: usize,
    /// Index of the first route that has not been set; the number of actions if there is none.
    next_route: usize,
}

fn is_route(action: &Action) -> bool {
    matches!(action, Action::Route { .. })
}

impl Timeline {
    /// Plans an action, after others of the same time.
    pub(crate) fn insert(&mut self, at: Instant, action: Action) {
        let place = self.done + self.actions[self.done..].partition_point(|(t, _)| *t <= at);
        self.actions.insert(place, (at, action));
        if !is_route(&action) {
            self.next_route += usize::from(place <= self.next_route);
        } else if place < self.next_route {
            self.next_route = place;
        }
    }

    /// When the next action is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.actions.get(self.done).map(|planned| planned.0)
    }

    /// When the next route is due.
    pub(crate) fn next_route(&self) -> Option<Instant> {
        self.actions.get(self.next_route).map(|planned| planned.0)
    }

    /// Takes the next action.
    pub(crate) fn take(&mut self) -> Option<Action> {
        let (_, action) = *self.actions.get(self.done)?;
        self.done += 1;
        if self.next_route < self.done {
            // Each action is visited once.
            let mut later = self.actions[self.done..].iter();
            let after = later.position(|(_, action)| is_route(action));
            self.next_route = after.map_or(self.actions.len(), |after| self.done + after);
        }
        Some(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeId;
    use crate::link::LinkId;

    /// The next route is the first that a search finds, independent of the order in which entries
    /// were planned.
    #[test]
    fn the_next_route_is_known() {
        let route = Action::Route {
            node: NodeId(0),
            to: NodeId(1),
            link: LinkId(0),
        };
        let mut timeline = Timeline::default();
        let (mut state, mut now, mut routes) = (1_u64, 0, 0);
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = Instant::from_nanos(now + (state >> 40) % 40);
            match (state >> 60) % 8 {
                0..=2 => timeline.insert(at, Action::MarkMake),
                3 => timeline.insert(at, route),
                _ => {
                    let due = timeline.next();
                    let took = timeline.take();
                    assert_eq!(took.is_some(), due.is_some());
                    now = due.map_or(now, Instant::as_nanos);
                    routes += usize::from(took.is_some_and(|action| is_route(&action)));
                }
            }
            let mut left = timeline.actions[timeline.done..].iter();
            let found = left.find(|(_, action)| is_route(action));
            assert_eq!(timeline.next_route(), found.map(|planned| planned.0));
        }
        assert!(routes > 1000, "{routes}");
    }
}
