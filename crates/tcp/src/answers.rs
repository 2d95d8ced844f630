//! Rate limit for responses to segments outside the window (tcp_oow_rate_limited()).

use midflight_control::jiffies::Jiffies;
use midflight_units::Instant;

/// The tick of the last such response: at most two are sent per second (tcp_oow_rate_limited()).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers(Option<u64>);

impl Answers {
    /// Returns whether a response may be sent now; if so, records it as sent.
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
