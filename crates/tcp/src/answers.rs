//! How often what is out of order is answered.

use midflight_control::jiffies::Jiffies;
use midflight_units::Instant;

/// When such an answer left last: there are two a second at most (tcp_oow_rate_limited()).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers(Option<u64>);

impl Answers {
    /// Whether one may leave now, which it then does.
    pub(crate) fn allows(&mut self, clock: Jiffies, now: Instant) -> bool {
        let tick = clock.count(now);
        let limit = clock.per_second() / 2;
        let allows = self.0.is_none_or(|last| tick >= last + limit);
        if allows {
            self.0 = Some(tick);
        }
        allows
    }
}
