//! The stack's congestion controllers, observed.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use super::dialect;
use super::proto::congestion::{
    Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use super::proto::RttEstimator;
use crate::flow::Congestion;
use crate::machine::from_std;
use crate::observation::{observe, random, Observation, WindowChange};

/// Makes controllers that are observed, and that use a notice.
pub(super) struct ObservedControllers {
    congestion: Congestion,
    /// Bytes with which the next path begins; 0 for the stack's own window.
    notice: Arc<AtomicU64>,
}

impl ObservedControllers {
    pub(super) fn new(congestion: Congestion, notice: &Arc<AtomicU64>) -> Self {
        let notice = Arc::clone(notice);
        Self { congestion, notice }
    }

    /// The stack's own, with this initial window if there is one.
    fn inner(&self, window: Option<u64>) -> Arc<dyn ControllerFactory + Send + Sync> {
        macro_rules! configured {
            ($config:ty) => {{
                let mut config = <$config>::default();
                if let Some(bytes) = window {
                    config.initial_window(bytes);
                }
                Arc::new(config)
            }};
        }
        match self.congestion {
            Congestion::Cubic => configured!(CubicConfig),
            Congestion::NewReno => configured!(NewRenoConfig),
            Congestion::Bbr => configured!(dialect::Bbr),
        }
    }
}

impl ControllerFactory for ObservedControllers {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let noticed = self.notice.swap(0, Ordering::Relaxed);
        let window = Some(noticed).filter(|bytes| *bytes > 0);
        if self.congestion == Congestion::Bbr {
            let mut seed = [0; 16];
            random(&mut seed);
            rand_pcg::seed_next(seed);
        }
        let inner = self.inner(window).build(now, current_mtu);
        let controller = ObservedController {
            inner,
            congestion: self.congestion,
            reported: 0,
        };
        Box::new(controller.telling(WindowChange::New))
    }
}

/// A controller that says when its window is another.
struct ObservedController {
    inner: Box<dyn Controller>,
    congestion: Congestion,
    reported: u64,
}

impl ObservedController {
    fn telling(mut self, by: WindowChange) -> Self {
        self.tell(by);
        self
    }

    fn tell(&mut self, by: WindowChange) {
        let bytes = self.inner.window();
        if self.reported != bytes {
            self.reported = bytes;
            observe(Observation::Window { bytes, by });
        }
    }
}

/// Packets are lost, the newest of which was sent then.
fn observe_loss(sent: Instant, persistent: bool) {
    let sent = from_std(sent);
    observe(Observation::Lost { sent, persistent });
}

impl fmt::Debug for ObservedController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedController")
            .field("congestion", &self.congestion)
            .finish_non_exhaustive()
    }
}

impl Controller for ObservedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    dialect::controller!();

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.inner
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        self.tell(WindowChange::Acked);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
        self.tell(WindowChange::New);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
