//! One run as columns of its events, which take a quarter of the memory of [`TraceRow`]s: texts are stored once,
//! as a code for each event.

use std::collections::BTreeMap;

use midflight_sim::{Event, FlowId, Observer};
use midflight_units::Instant;

use super::trace::{FlowEnd, Recorder, TraceRow};
use super::{play, GoOn, RunObserver};
use crate::error::StudyError;
use crate::setup::Setup;

/// Maximum number of events in columns: two to three gigabytes of memory.
const MOST_EVENTS: usize = 60_000_000;

/// A column of texts of which most occur often: each different text once, and the number of its text for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    words: Vec<String>,
    numbers: BTreeMap<String, u32>,
    codes: Codes,
    last: u32,
}

/// The number of its text for each row; as bytes while there are few texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    /// Of up to 256 texts.
    Narrow(Vec<u8>),
    /// Of more.
    Wide(Vec<u32>),
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            words: vec![String::new()],
            numbers: BTreeMap::from([(String::new(), 0)]),
            codes: Codes::Narrow(Vec::new()),
            last: 0,
        }
    }
}

impl Texts {
    /// Adds a row.
    pub fn push(&mut self, text: &str) {
        let code = self.code(text);
        match &mut self.codes {
            Codes::Narrow(codes) => codes.push(code as u8),
            Codes::Wide(codes) => codes.push(code),
        }
    }

    /// Changes a row.
    fn set(&mut self, row: usize, text: &str) {
        let code = self.code(text);
        match &mut self.codes {
            Codes::Narrow(codes) => codes[row] = code as u8,
            Codes::Wide(codes) => codes[row] = code,
        }
    }

    /// The number of a text. After it the codes have room for that number.
    fn code(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if self.words[self.last as usize] != text {
            self.last = if let Some(&known) = self.numbers.get(text) {
                known
            } else {
                let new = self.words.len() as u32;
                self.words.push(text.into());
                self.numbers.insert(text.into(), new);
                if let (256, Codes::Narrow(codes)) = (new, &self.codes) {
                    self.codes = Codes::Wide(codes.iter().map(|&one| one.into()).collect());
                }
                new
            };
        }
        self.last
    }

    /// The different texts; the first one is empty.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The place in [`Self::words`] for each row.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.codes {
            Codes::Narrow(codes) => codes.len(),
            Codes::Wide(codes) => codes.len(),
        }
    }

    /// There are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of each row.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| {
            let code = match &self.codes {
                Codes::Narrow(codes) => usize::from(codes[row]),
                Codes::Wide(codes) => codes[row] as usize,
            };
            &*self.words[code]
        })
    }
}

/// The events of a flow as columns of equal length; those of [`TraceRow`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceColumns {
    /// When, in nanoseconds.
    pub at: Vec<i64>,
    /// Names.
    pub event: Texts,
    /// Segment numbers, ACK numbers in ns-2's counting, or values.
    pub value: Vec<f64>,
    /// Details.
    pub detail: Texts,
    /// The authors of window changes and orders.
    pub by: Texts,
    /// The links over which segments arrived, or on which packets were lost.
    pub link: Texts,
    /// The kinds of lost packets.
    pub packet: Texts,
    /// The causes of losses.
    pub cause: Texts,
    /// The orders.
    pub order: Texts,
    /// Their reasons.
    pub reason: Texts,
    /// When each copy of a segment was sent, in nanoseconds; [`Self::NONE`] if unknown.
    pub sent: Vec<i64>,
    /// Sizes of packets on the wire; [`Self::NO_SIZE`] if unknown.
    pub bytes: Vec<u32>,
    /// The end of the flow.
    pub end: FlowEnd,
}

impl TraceColumns {
    /// No instant.
    pub const NONE: i64 = -1;
    /// No size.
    pub const NO_SIZE: u32 = u32::MAX;

    /// Events as columns; `end` is that of their flow.
    pub fn of(rows: &[TraceRow], end: FlowEnd) -> Self {
        let mut found = Self {
            end,
            ..Self::default()
        };
        for row in rows {
            found.push(row);
        }
        found
    }

    /// Adds an event.
    pub fn push(&mut self, row: &TraceRow) {
        self.at.push(row.at.as_nanos() as i64);
        self.event.push(row.event);
        self.value.push(row.value);
        self.detail.push(&row.detail);
        self.by.push(row.by.map_or("", |by| by.name()));
        self.link.push(row.link.as_deref().unwrap_or_default());
        self.packet.push(row.lost.map_or("", |l| l.packet.kind()));
        self.cause.push(row.lost.map_or("", |l| l.cause.name()));
        if let Some(ordered) = row.ordered.as_deref() {
            self.order.push(&ordered.order.to_string());
            self.reason.push(&ordered.reason);
        } else {
            self.order.push("");
            self.reason.push("");
        }
        let sent = row.sent.map_or(Self::NONE, |at| at.as_nanos() as i64);
        self.sent.push(sent);
        self.bytes.push(row.bytes.unwrap_or(Self::NO_SIZE));
    }
}

impl Recorder {
    /// The listed events as columns.
    pub(crate) fn into_columns(self) -> TraceColumns {
        let end = self.flow_end();
        TraceColumns::of(&self.into_rows(), end)
    }
}

/// Lists the events of one flow as columns.
#[derive(Clone, Debug)]
struct ColumnRecorder {
    /// It holds an event until that is in the columns.
    recorder: Recorder,
    found: TraceColumns,
    /// Rows of timeouts that have not been judged yet.
    timeouts: Vec<usize>,
}

impl RunObserver for ColumnRecorder {
    type Detail = super::Detailed;

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        let (what, most) = ("events", MOST_EVENTS);
        if self.found.at.len() > most {
            return Err(StudyError::TooLong { what, most, end });
        }
        Ok(())
    }
}

impl Observer for ColumnRecorder {
    const DETAILED: bool = true;

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if let Event::TimeoutJudged { at, spurious, .. } = event {
            let at = at.as_nanos() as i64;
            let is_it = |&row: &usize| self.found.at[row] == at;
            if let (true, Some(k)) = (
                self.recorder.is_of(flow),
                self.timeouts.iter().position(is_it),
            ) {
                let judged = if *spurious { "spurious" } else { "needed" };
                self.found.detail.set(self.timeouts.remove(k), judged);
            }
            return;
        }
        self.recorder.record(now, flow, event);
        let (found, timeouts) = (&mut self.found, &mut self.timeouts);
        self.recorder.drain(|row| {
            if row.event == "rto" {
                timeouts.push(found.at.len());
            }
            found.push(row);
        });
    }
}

/// The events that [`super::trace`] returns, as columns; and the digest of the run. The end of the flow is known
/// whichever events are listed.
///
/// # Errors
/// As [`super::trace`].
pub fn trace_columns(
    setup: &Setup,
    flow: Option<&str>,
    from: Instant,
    only: &[String],
    go_on: GoOn<'_>,
) -> Result<(TraceColumns, String), StudyError> {
    let flow = setup.flow_of_name(flow)?;
    let recorder = ColumnRecorder {
        recorder: Recorder::new(setup, flow, from, only),
        found: TraceColumns::default(),
        timeouts: Vec::new(),
    };
    let (done, digest) = play(setup, recorder, go_on)?;
    let mut found = done.found;
    found.end = done.recorder.flow_end();
    Ok((found, digest))
}
