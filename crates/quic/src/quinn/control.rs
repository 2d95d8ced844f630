//! The stack's congestion controllers, observed.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use super::proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use super::proto::RttEstimator;
use crate::flow::Congestion;
use crate::hearing::{hear, Heard, WindowChange};

/// Makes controllers that are listened to, and use a notice.
pub(super) struct Listened {
    congestion: Congestion,
    /// Bytes with which the next path begins; 0 for the stack's own window.
    notice: Arc<AtomicU64>,
}

impl Listened {
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
            Congestion::Bbr => configured!(BbrConfig),
        }
    }
}

impl ControllerFactory for Listened {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let noticed = self.notice.swap(0, Ordering::Relaxed);
        let window = Some(noticed).filter(|bytes| *bytes > 0);
        let inner = self.inner(window).build(now, current_mtu);
        let controller = Listening {
            inner,
            congestion: self.congestion,
            told: 0,
        };
        Box::new(controller.telling(WindowChange::New))
    }
}

/// A controller that says when its window is another.
struct Listening {
    inner: Box<dyn Controller>,
    congestion: Congestion,
    told: u64,
}

impl Listening {
    fn telling(mut self, by: WindowChange) -> Self {
        self.tell(by);
        self
    }

    fn tell(&mut self, by: WindowChange) {
        let bytes = self.inner.window();
        if self.told != bytes {
            self.told = bytes;
            hear(Heard::Window { bytes, by });
        }
    }
}

impl Controller for Listening {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

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

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        hear(Heard::Lost {
            sent,
            persistent: is_persistent_congestion,
        });
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        self.tell(WindowChange::Lost);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
        self.tell(WindowChange::New);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    /// BBR's pacing rate is the only value that depends on its generator, which cannot be seeded;
    /// the stack paces by its window (`pacing.rs`), so the rate does not affect the run.
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.inner.metrics();
        if self.congestion == Congestion::Bbr {
            metrics.pacing_rate = None;
        }
        metrics
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
