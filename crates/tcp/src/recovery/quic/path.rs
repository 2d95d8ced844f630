//! The peer's address: its validation, the limit of bytes sent before that (RFC 9000 section 8),
//! and what the sender does when the address changes (section 9).

use midflight_units::{Duration, Instant};

use super::loss::probe_period;
use super::packets::{Fate, Packet};
use super::Quic;
use crate::config::{
    ControllerAfter, InFlightAfter, PortOnly, RttAfter, Switch, PATH_FRAME_BYTES, UDP_HEADERS,
};
use crate::event::{Log, PathEvent, SenderEvent};
use crate::segment::Source;
use crate::sender::{Challenge, Core, Path};

/// Section 8.1.
const AMPLIFICATION: u64 = 3;
/// Section 8.2.4: the validation fails after this many probe timeouts.
const PATIENCE: u64 = 3;

/// The state of an address of the peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathState {
    /// How many addresses the peer has had before this one, and the number of this one.
    pub(super) epoch: u16,
    pub(super) address: u16,
    pub(super) min_rtt: Option<Duration>,
    pub(super) latest_rtt: Duration,
    /// RTT before the first sample, if it is not that of the handshake.
    initial_rtt: Option<Duration>,
    validation: Option<Validation>,
    /// The limit has stopped the sender, and that has been reported.
    limit_reported: bool,
}

/// A validation in progress.
#[derive(Clone, Copy, Debug)]
struct Validation {
    /// Bytes of datagrams received from the address, and sent to it.
    received: u64,
    sent: u64,
    /// When the last challenge was sent, and the deadline of its response.
    challenged: Instant,
    deadline: Instant,
}

/// The previous path, to which the sender returns if the validation fails.
#[derive(Clone, Debug)]
pub(super) struct Previous {
    path: Path,
    state: PathState,
}

/// An earlier path.
#[derive(Clone, Debug)]
pub(super) struct Known {
    address: u16,
    path: Path,
    state: PathState,
}

impl PathState {
    pub(super) fn is_validated(&self) -> bool {
        self.validation.is_none()
    }

    pub(super) fn initial_rtt(&self, core: &Core) -> Duration {
        let initial = core.config.rto.initial.as_nanos() / 3;
        self.initial_rtt.unwrap_or(Duration::from_nanos(initial))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.validation.map(|validation| validation.deadline)
    }

    /// A datagram is sent to the address.
    pub(super) fn count_sent(&mut self, bytes: u32) {
        if let Some(validation) = &mut self.validation {
            validation.sent += u64::from(bytes.saturating_sub(UDP_HEADERS));
        }
    }

    /// A datagram was received from the address.
    pub(super) fn count_received(&mut self, bytes: u32) {
        if let Some(validation) = &mut self.validation {
            validation.received += u64::from(bytes.saturating_sub(UDP_HEADERS));
            self.limit_reported = false;
        }
    }

    /// Nothing may be sent there now. If any byte may be sent, a whole datagram may.
    fn is_blocked(&self) -> bool {
        let is_over = |v: Validation| v.sent + 1 > AMPLIFICATION * v.received;
        self.validation.is_some_and(is_over)
    }
}

impl Quic {
    pub(super) fn is_blocked(&self) -> bool {
        self.path.is_blocked()
    }

    /// Reports that the limit stops the sender, once until the next datagram from the address.
    pub(super) fn report_limit(&mut self, core: &Core, log: &mut impl Log) {
        let has_data = !self.lost.is_empty() || core.may_send_new();
        if has_data && self.is_blocked() && !self.path.limit_reported {
            self.path.limit_reported = true;
            let event = SenderEvent::Path(PathEvent::AmplificationLimit);
            log.record(core.now, event);
        }
    }

    /// A packet came from an address other than the first.
    pub(super) fn hear_from(
        &mut self,
        core: &mut Core,
        source: Source,
        bytes: u32,
        log: &mut impl Log,
    ) {
        let waiting = self.candidate.map(|(source, _)| source.epoch);
        let newest = waiting.unwrap_or(self.path.epoch).max(self.path.epoch);
        if source.epoch > newest {
            // Only the newest packet may change the address (section 9.3).
            self.meet(core, source, log);
        }
        if source.epoch == self.path.epoch {
            self.path.count_received(bytes);
        } else if let Some((of, state)) = &mut self.candidate {
            if of.epoch == source.epoch {
                state.count_received(bytes);
            }
        }
        if let Some(epoch) = source.answers {
            self.answered(core, epoch, log);
        }
    }

    /// The peer's address has changed.
    fn meet(&mut self, core: &mut Core, source: Source, log: &mut impl Log) {
        let port_only = source.port_only;
        log.record(
            core.now,
            SenderEvent::Path(PathEvent::Migrated { port_only }),
        );
        let period = probe_period(core);
        let initial_rtt = initial_rtt_then(core, port_only);
        // The larger of the old path's probe timeout and a new one's (section 8.2.4).
        let longest = period.max(initial_rtt * 3 + core.config.max_ack_delay);
        let state = PathState {
            epoch: source.epoch,
            address: source.address,
            initial_rtt: Some(initial_rtt),
            validation: Some(Validation {
                received: 0,
                sent: 0,
                challenged: core.now,
                deadline: core.now + longest * PATIENCE,
            }),
            ..PathState::default()
        };
        if core.config.migration.switch == Switch::After {
            self.candidate = Some((source, state));
            self.send_challenge(core, source.epoch, source.address, log);
            return;
        }
        let old = (self.path.epoch, self.path.address);
        let was_validated = self.path.is_validated();
        self.migrate(core, port_only, state, log);
        self.challenge_path(core, log);
        if was_validated {
            // Section 9.3.3: a node that is still on the old path responds from there.
            self.send_challenge(core, old.0, old.1, log);
        }
    }

    /// Continues on another path, as the migration settings define.
    fn migrate(&mut self, core: &mut Core, port_only: bool, state: PathState, log: &mut impl Log) {
        let migration = core.config.migration;
        let (keeps_controller, keeps_rtt) = match (port_only, migration.port) {
            (true, PortOnly::Keep) => (true, true),
            (true, PortOnly::Controller) => (true, migration.rtt != RttAfter::Reset),
            _ => (
                migration.controller == ControllerAfter::Keep,
                migration.rtt != RttAfter::Reset,
            ),
        };
        let keeps_all = port_only && migration.port == PortOnly::Keep;
        let place = self.known.iter().position(|k| k.address == state.address);
        let known = place.map(|place| self.known.remove(place));
        let restored = known.filter(|_| migration.controller == ControllerAfter::Restore);
        let is_fresh = restored.is_none();
        let mut state = state;
        let mut path = core.fresh_path(migration.initial_rtt);
        path.begin(f64::from(migration.window));
        if keeps_controller {
            path.take_controller(&core.path);
        }
        if keeps_rtt {
            path.take_rtt(&core.path);
            (state.min_rtt, state.latest_rtt) = (self.path.min_rtt, self.path.latest_rtt);
        }
        if let Some(known) = restored.filter(|_| !keeps_controller) {
            path.take_controller(&known.path);
            path.take_rtt(&known.path);
            (state.min_rtt, state.latest_rtt) = (known.state.min_rtt, known.state.latest_rtt);
        }
        path.rto.end_back_off();
        if !keeps_all {
            match migration.in_flight {
                InFlightAfter::Keep => {}
                InFlightAfter::Drop => self.packets.discount(),
                InFlightAfter::Retransmit => {
                    self.packets.take_for_lost();
                    let outstanding = core.books.una()..core.books.max();
                    let missing = outstanding.filter(|seq| !self.acked.contains(seq));
                    self.lost.extend(missing);
                }
            }
        }
        if !keeps_controller {
            self.recovery_start = None;
            self.recovering = false;
            self.first_sample = None;
            self.bucket = super::Bucket::default();
        }
        self.loss_time = None;
        self.probes = 0;
        let left = core.replace_path(path, log);
        let old = std::mem::replace(&mut self.path, state);
        if self.previous.is_none() || old.is_validated() {
            self.previous = Some(Box::new(Previous {
                path: left.clone(),
                state: old,
            }));
        }
        self.known.retain(|k| k.address != old.address);
        self.known.push(Known {
            address: old.address,
            path: left,
            state: old,
        });
        core.set_destination(self.path.address);
        if core.controls() && !keeps_controller {
            core.begin_deliveries_of_path();
            if is_fresh {
                core.open_control(self.inside(), log);
            }
        }
    }

    /// Sends a PATH_CHALLENGE to the current address.
    pub(super) fn challenge_path(&mut self, core: &mut Core, log: &mut impl Log) {
        let (epoch, address) = (self.path.epoch, self.path.address);
        if let Some(validation) = &mut self.path.validation {
            validation.challenged = core.now;
        }
        self.path.count_sent(PATH_FRAME_BYTES);
        self.send_challenge(core, epoch, address, log);
    }

    fn send_challenge(&mut self, core: &mut Core, epoch: u16, address: u16, log: &mut impl Log) {
        let number = self.packets.send(Packet {
            sent: core.now,
            seq: None,
            epoch,
            fate: Fate::InFlight,
            counts: false,
        });
        self.last_eliciting = Some(core.now);
        log.record(core.now, SenderEvent::Path(PathEvent::Challenge));
        core.challenge(Challenge {
            number,
            epoch,
            address,
        });
    }

    /// A PATH_RESPONSE to the challenge of an address has arrived.
    fn answered(&mut self, core: &mut Core, epoch: u16, log: &mut impl Log) {
        if let Some((source, mut state)) = self.candidate.filter(|(s, _)| s.epoch == epoch) {
            self.candidate = None;
            let challenged = state.validation.take().map(|v| v.challenged);
            self.migrate(core, source.port_only, state, log);
            self.validated(core, challenged, log);
        } else if epoch == self.path.epoch {
            if let Some(validation) = self.path.validation.take() {
                self.validated(core, Some(validation.challenged), log);
            }
        }
    }

    fn validated(&mut self, core: &mut Core, challenged: Option<Instant>, log: &mut impl Log) {
        self.previous = None;
        log.record(core.now, SenderEvent::Path(PathEvent::Validated));
        let takes = core.config.migration.rtt == RttAfter::Challenge;
        if let Some(sent) = challenged.filter(|_| takes) {
            let rtt = core.now.since(sent);
            core.path.rto.restart(rtt * 3);
            (self.path.min_rtt, self.path.latest_rtt) = (Some(rtt), rtt);
            core.report_latest_rtt(rtt, log);
            core.take_rtt(rtt, sent, log);
        }
    }

    /// Section 9.3.2: if the path is not validated in time, the sender returns to the previous one.
    pub(super) fn check_validation(&mut self, core: &mut Core, log: &mut impl Log) {
        let is_late = |state: &PathState| state.deadline().is_some_and(|due| due <= core.now);
        if self.candidate.as_ref().is_some_and(|(_, s)| is_late(s)) {
            self.candidate = None;
            log.record(core.now, SenderEvent::Path(PathEvent::ValidationFailed));
        }
        if !is_late(&self.path) {
            return;
        }
        log.record(core.now, SenderEvent::Path(PathEvent::ValidationFailed));
        let epoch = self.path.epoch;
        match self.previous.take() {
            Some(previous) => {
                core.replace_path(previous.path, log);
                self.path = previous.state;
                // Packets from the address that failed are treated as old.
                self.path.epoch = epoch;
                self.path.validation = None;
                core.set_destination(self.path.address);
            }
            None => self.path.validation = None,
        }
    }
}

/// The initial RTT of a path after the peer's address has changed.
fn initial_rtt_then(core: &Core, port_only: bool) -> Duration {
    let migration = core.config.migration;
    let keeps = port_only && migration.port == PortOnly::Keep;
    match (core.path.rto.srtt(), migration.rtt) {
        (Some(srtt), RttAfter::Keep | RttAfter::Challenge) => srtt,
        (Some(srtt), RttAfter::Reset) if keeps => srtt,
        _ => migration.initial_rtt,
    }
}
