//! Observation of a stack while it works: the packets that it encrypts and decrypts, its calls of
//! its congestion controller, and a few of its log messages.
//!
//! A stack is used as published. Its cryptography and congestion controller are replaceable, and it
//! logs through `tracing`: it is observed at these places. Each call into a stack ends before the
//! next one begins, on the same thread, so observations are stored per thread.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::OnceLock;

use midflight_units::Instant;
use smallvec::SmallVec;
use tracing_core::callsite::rebuild_interest_cache;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{dispatcher, Dispatch, Event, Metadata, Subscriber};

use crate::frames::{Frame, Frames};

/// An observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// A packet behind the handshake is about to be encrypted, or has been decrypted.
    Packet {
        sent: bool,
        /// The path that its number belongs to.
        path: u64,
        number: u64,
        frames: SmallVec<[ObservedFrame; 2]>,
    },
    /// Losses, as reported to the congestion controller.
    Lost { sent: Instant, persistent: bool },
    /// The controller has another window, or is another one.
    Window { bytes: u64, by: WindowChange },
    /// A log message.
    Said(Message),
    /// A line of a key log.
    Secret(String),
}

/// A frame of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObservedFrame {
    Stream {
        id: u64,
        offset: u64,
        length: u64,
    },
    Ack {
        path: u64,
        /// From the highest range down.
        ranges: SmallVec<[(u64, u64); 4]>,
    },
    PathChallenge,
    PathResponse,
}

/// Records a packet with the frames of its payload.
pub(crate) fn observe_packet(sent: bool, path: u64, number: u64, payload: &[u8]) {
    let known = |frame| match frame {
        Frame::Stream { id, offset, length } => Some(ObservedFrame::Stream { id, offset, length }),
        Frame::Ack(path, ranges) => Some(ObservedFrame::Ack {
            path,
            ranges: ranges.collect(),
        }),
        Frame::PathChallenge => Some(ObservedFrame::PathChallenge),
        Frame::PathResponse => Some(ObservedFrame::PathResponse),
        Frame::Eliciting | Frame::Other => None,
    };
    let frames = Frames::new(payload).filter_map(known).collect();
    observe(Observation::Packet {
        sent,
        path,
        number,
        frames,
    });
}

/// Why a window is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowChange {
    /// It is the window of a new controller.
    New,
    /// By an acknowledgment.
    Acked,
    /// By a loss.
    Lost,
}

/// Log messages of a stack about events that cannot be observed otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The probe timeout has fired.
    ProbeTimeout,
    /// More cannot be sent over a path that is not validated.
    AmplificationLimit,
    /// The other end has another address.
    Migration,
    /// There is one more path.
    PathAdded,
    /// The path is validated.
    Validated,
    /// It is not, and the old one is in use again.
    ValidationFailed,
}

impl Message {
    /// Messages by how they begin.
    const ALL: [(&'static str, Self); 7] = [
        ("PTO fired", Self::ProbeTimeout),
        ("blocked by anti-amplification", Self::AmplificationLimit),
        ("migration initiated", Self::Migration),
        ("path added", Self::PathAdded),
        ("new path validated", Self::Validated),
        ("path validation failed", Self::ValidationFailed),
        ("path migration validation failed", Self::ValidationFailed),
    ];

    fn of(text: &str) -> Option<Self> {
        let begins = |(beginning, _): &&(&str, Self)| text.starts_with(beginning);
        Self::ALL.iter().find(begins).map(|(_, message)| *message)
    }
}

thread_local! {
    static OBSERVED: RefCell<Vec<Observation>> = const { RefCell::new(Vec::new()) };
    static RANDOM: Cell<(u64, [u8; 32])> = const { Cell::new((0, [0; 32])) };
}

/// Records an observation.
pub(crate) fn observe(what: Observation) {
    OBSERVED.with_borrow_mut(|observed| observed.push(what));
}

/// Random bytes for a stack, from the seed and the number of the request.
#[cfg(any(feature = "quinn", feature = "noq"))]
pub(crate) fn random(bytes: &mut [u8]) {
    let (asked, seed) = RANDOM.get();
    RANDOM.set((asked + 1, seed));
    let mut drawn = blake3::Hasher::new_keyed(&seed);
    drawn.update(&asked.to_le_bytes());
    drawn.finalize_xof().fill(bytes);
}

/// Calls a stack, and appends its observations to `observed`. `random` is the count of its requests
/// for random bytes, and their seed.
pub(crate) fn observing<T>(
    random: &mut (u64, [u8; 32]),
    observed: &mut Vec<Observation>,
    call: impl FnOnce() -> T,
) -> T {
    static DISPATCH: OnceLock<Dispatch> = OnceLock::new();
    let dispatch = DISPATCH.get_or_init(|| Dispatch::new(LogObserver));
    OBSERVED.with_borrow_mut(Vec::clear);
    RANDOM.set(*random);
    let result = dispatcher::with_default(dispatch, || {
        let result = call();
        // This queries the subscriber of this thread, so it must happen here.
        if LEARNED.swap(false, Ordering::Relaxed) {
            rebuild_interest_cache();
        }
        result
    });
    *random = RANDOM.get();
    OBSERVED.with_borrow_mut(|new| observed.append(new));
    result
}

/// The modules with messages of interest.
const MODULES: [&str; 3] = [
    "quinn_proto::connection",
    "noq_proto::connection",
    "noq_proto::connection::paths",
];
/// Lines of a module that are distinguished.
const LINES: usize = 1 << 14;

/// Receives the log messages of a stack. A message is identified by its text alone, and a line of a module always logs the
/// same text, so each line is examined once; a line of no interest is not enabled again.
struct LogObserver;

/// For each line of each module: not yet examined (0), of interest, or not.
static KNOWN: [[AtomicU8; LINES]; MODULES.len()] =
    [const { [const { AtomicU8::new(0) }; LINES] }; MODULES.len()];
const MATTERS: u8 = 1;
const IDLE: u8 = 2;
/// A line of no interest has been found since the cache was last rebuilt.
static LEARNED: AtomicBool = AtomicBool::new(false);

fn known(metadata: &Metadata<'_>) -> Option<&'static AtomicU8> {
    let module = MODULES.iter().position(|name| *name == metadata.target())?;
    KNOWN[module].get(metadata.line()? as usize)
}

impl Subscriber for LogObserver {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match known(metadata).map(|known| known.load(Ordering::Relaxed)) {
            Some(0 | MATTERS) if metadata.is_event() => Interest::always(),
            _ => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && known(metadata).is_some()
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Saying(Option<Message>);
        impl Visit for Saying {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    self.0 = Message::of(&format!("{value:?}"));
                }
            }
        }
        let mut saying = Saying(None);
        event.record(&mut saying);
        if let Some(message) = saying.0 {
            observe(Observation::Said(message));
        }
        let learned = if saying.0.is_some() { MATTERS } else { IDLE };
        if let Some(known) = known(event.metadata()) {
            let before = known.swap(learned, Ordering::Relaxed);
            if before != learned && learned == IDLE {
                LEARNED.store(true, Ordering::Relaxed);
            }
        }
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}
