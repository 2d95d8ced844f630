//! Handoffs: information about the path from the network and from the node.

use midflight_control::{Notice, PathUpdate};
use midflight_tcp::Log;
use midflight_units::Instant;

use super::Connection;

impl Connection {
    /// A handoff notice or throughput advice has arrived.
    pub fn on_path_update<L: Log>(&mut self, now: Instant, update: &PathUpdate, log: &mut L) {
        self.sender.on_path_update(now, update, log);
        self.send_more(now, log);
    }

    /// The node has the link data of a handoff, either a predicted or a completed one. Call before
    /// [`Self::on_warning`] or [`Self::on_attached`].
    pub fn on_links(&mut self, now: Instant, notice: &Notice, is_over: bool) {
        self.receiver.on_links(now, notice, is_over);
    }

    /// The node is about to leave its link; its handoff signal may report that to the other side.
    pub fn on_warning(&mut self, now: Instant) {
        let acks = self.receiver.on_warning(now);
        self.acks.extend(acks);
    }

    /// The node has detected that it is on another link.
    pub fn on_attached(&mut self, now: Instant) {
        let acks = self.receiver.on_attached(now);
        self.acks.extend(acks);
    }
}
