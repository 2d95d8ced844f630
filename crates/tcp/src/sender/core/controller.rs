//! Controllers other than Reno are told here of what Reno does not ask for.

use midflight_control::congestion::AckCounting;
use midflight_units::Seq;

use super::Core;

impl Core {
    /// Lets the congestion controller see an ACK before anything acts on it.
    #[cold]
    pub(super) fn gauge(&mut self, ack: Seq) {
        let duplicate = ack == self.una && self.una < self.max;
        if duplicate || ack > self.una {
            self.congestion.on_arrival(self.now, ack - self.una);
        }
    }

    /// Growth by a controller other than Reno.
    #[cold]
    pub(super) fn grow_as_told(&mut self, segments: u64, counting: AckCounting) {
        self.congestion.on_ack(&mut self.window, segments, counting);
    }
}
