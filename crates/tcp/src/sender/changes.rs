//! What a detailed log is told of an event: the values of the sender that it changed.

use midflight_units::{Duration, Instant};

use super::{Core, Sender};
use crate::event::{Log, SenderEvent, Wake};
use crate::state::{State, Transition, Trigger};

/// Reports to a detailed log what has woken the sender.
#[inline(always)]
pub(super) fn log_wake<L: Log>(now: Instant, by: Wake, set: Option<Instant>, log: &mut L) {
    if let Some(set) = set.filter(|_| L::DETAILED) {
        log.record(now, SenderEvent::Woken { by, set });
    }
}

/// Values whose changes are reported to a detailed log.
#[derive(Clone, Copy)]
pub(super) struct Snapshot {
    state: State,
    duplicates: u32,
    srtt: Option<Duration>,
    rto: Duration,
    pacing_rate: Option<f64>,
    mode: Option<&'static str>,
}

impl Snapshot {
    fn of(core: &Core) -> Self {
        Self {
            state: core.state(),
            duplicates: core.loss.dupacks(),
            srtt: core.path.rto.srtt(),
            rto: core.path.rto.timeout(),
            pacing_rate: core.pacing_rate(),
            mode: core.mode(),
        }
    }
}

/// A snapshot before an event, for such a log.
#[derive(Clone, Copy)]
pub(super) struct States(Option<Snapshot>);

impl States {
    #[inline(always)]
    pub(super) fn before<L: Log>(sender: &Sender) -> Self {
        Self(L::DETAILED.then(|| Snapshot::of(&sender.core)))
    }

    /// Reports what has changed; `trigger` is the event.
    #[inline(always)]
    pub(super) fn after<L: Log>(self, sender: &mut Sender, trigger: Trigger, log: &mut L) {
        if let Some(before) = self.0 {
            sender.log_changes(&before, trigger, log);
        }
    }
}

impl Sender {
    /// Reports what `trigger` has changed.
    #[cold]
    fn log_changes<L: Log>(&mut self, before: &Snapshot, trigger: Trigger, log: &mut L) {
        let now = Snapshot::of(&self.core);
        self.log_transition(before.state, trigger, log);
        let mut tell = |event| log.record(self.core.now, event);
        if now.duplicates != before.duplicates {
            tell(SenderEvent::Duplicates(now.duplicates));
        }
        if let Some(srtt) = now.srtt.filter(|_| now.srtt != before.srtt) {
            tell(SenderEvent::Smoothed(srtt));
        }
        if now.rto != before.rto {
            tell(SenderEvent::Rto(now.rto));
        }
        if let Some(rate) = now
            .pacing_rate
            .filter(|_| now.pacing_rate != before.pacing_rate)
        {
            tell(SenderEvent::PacingRate(rate));
        }
        if let Some(mode) = now.mode.filter(|_| now.mode != before.mode) {
            tell(SenderEvent::Mode(mode));
        }
        let is_ack = matches!(trigger, Trigger::NewAck | Trigger::Duplicate);
        if let Some((rate, app_limited)) = self.core.delivery_rate().filter(|_| is_ack) {
            tell(SenderEvent::DeliveryRate { rate, app_limited });
        }
    }

    /// Reports a change of the state.
    pub(super) fn log_transition<L: Log>(&mut self, from: State, trigger: Trigger, log: &mut L) {
        let (now, to) = (self.core.now, self.core.state());
        let mut tell = |from, trigger, to| {
            if from != to {
                let change = Transition { from, trigger, to };
                log.record(now, SenderEvent::State(change));
            }
        };
        match self.core.take_noted() {
            Some(by @ (Trigger::Spurious | Trigger::Mark | Trigger::Report)) => {
                tell(from, by, to);
            }
            Some(judged) => {
                tell(from, trigger, State::Classification);
                tell(State::Classification, judged, to);
            }
            None => tell(from, trigger, to),
        }
    }
}
