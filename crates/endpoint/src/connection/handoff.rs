//! Handoffs: what the network and the node say of the path.

use midflight_control::{Notice, PathUpdate};
use midflight_tcp::Log;
use midflight_units::Instant;

use super::Connection;

impl Connection {
    /// A handoff notice or throughput advice has arrived.
    pub fn on_path_update<L: Log>(&mut self, now: Instant, update: &PathUpdate, log: &mut L) {
        self.sender.on_path_update(now, update, log);
        self.limit(now, self.sender.view().snd_una, log);
    }

    /// The node knows the links of a handoff: one that it predicts, or one that is over. To be called before
    /// [`Self::on_warning`] or [`Self::on_attached`].
    pub fn on_links(&mut self, now: Instant, notice: &Notice, is_over: bool) {
        self.receiver.on_links(now, notice, is_over);
    }

    /// The node is about to leave its link, of which its handoff signal may tell the other side.
    pub fn on_warning(&mut self, now: Instant) {
        let acks = self.receiver.on_warning(now);
        self.acks.extend(acks);
    }

    /// The node has found out that it is on another link.
    pub fn on_attached(&mut self, now: Instant) {
        let acks = self.receiver.on_attached(now);
        self.acks.extend(acks);
    }
}
