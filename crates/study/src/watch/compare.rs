//! Compares two runs: finds the first difference.

use std::collections::VecDeque;

use midflight_sim::{Event, FlowId, Observer};
use midflight_units::Instant;

use super::causes::{Causes, Keep};
use super::trace::TraceRow;
use super::{GoOn, Playback, RunObserver, EVENTS_AT_A_TIME};
use crate::error::StudyError;
use crate::setup::Setup;

/// Events that are compared between runs; for the last three the detail is compared too.
const COMPARED: [&str; 18] = [
    "send",
    "rexmit",
    "window_probe",
    "break",
    "make",
    "cwnd",
    "ssthresh",
    "backoff",
    "min_rto",
    "rtt_sample",
    "rto",
    "fast_retransmit",
    "recovery_exit",
    "ack",
    "rcv",
    "drop",
    "mark",
    "node_send",
];
const WITH_DETAIL: [&str; 5] = ["ack", "rcv", "drop", "mark", "node_send"];

/// Maximum number of listed orders for each run.
const MOST_ORDERS: usize = 8;

/// The comparison of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Their digests.
    pub digests: [String; 2],
    /// For each flow the number of equal events, and where the runs diverge.
    pub flows: Vec<(u64, Option<Divergence>)>,
}

/// Where two runs of a flow diverge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Divergence {
    /// When.
    pub at: Instant,
    /// The first event that the other run does not have, by its number and its instant; none if there
    /// are no more events.
    pub events: [Option<(u64, Instant)>; 2],
    /// Number of the last event of the first run that both have.
    pub last: Option<u64>,
    /// The last orders up to then that the other run did not have.
    pub orders: [Vec<(u64, TraceRow)>; 2],
}

/// Observes several flows.
#[derive(Clone)]
struct Several {
    causes: Vec<Causes>,
    /// Index of each flow of the setup.
    places: Vec<Option<usize>>,
}

impl Observer for Several {
    const DETAILED: bool = true;

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if matches!(event, Event::Break | Event::Make) {
            for causes in &mut self.causes {
                causes.record(now, flow, event);
            }
        } else if let Some(place) = self.places[flow.index()] {
            self.causes[place].record(now, flow, event);
        }
    }
}

impl RunObserver for Several {
    type Detail = super::Detailed;

    fn check_length(&self, _: Instant) -> Result<(), StudyError> {
        // Rows are consumed immediately.
        Ok(())
    }
}

/// A flow of two runs that are simulated in parallel.
#[derive(Default)]
struct Pair {
    /// Events of each run that the other run has not had yet.
    queues: [VecDeque<(u64, TraceRow)>; 2],
    common: u64,
    last: Option<u64>,
    parted: Option<Divergence>,
    /// Orders that are not compared yet, and orders that only one run had.
    orders: [Vec<(u64, TraceRow)>; 2],
    own: [VecDeque<(u64, TraceRow)>; 2],
    /// The orders up to the divergence are known.
    is_settled: bool,
}

impl Pair {
    fn take(&mut self, side: usize, number: u64, row: TraceRow, other_is_at: Instant) {
        if row.event == "order" {
            let in_time = self.parted.as_ref().is_none_or(|p| row.at <= p.at);
            if in_time && !self.is_settled {
                self.orders[side].push((number, row));
            }
            return;
        }
        let awaited = match &self.parted {
            None => true,
            // The next event of this run is still needed.
            Some(parted) => parted.events[side].is_none(),
        };
        if !awaited || !COMPARED.contains(&row.event) {
            return;
        }
        // An event that the other run did not have at the same time will not follow: only the first
        // difference matters.
        let late = |(_, first): &(u64, TraceRow)| first.at < other_is_at;
        let is_idle = self.queues[1 - side].is_empty();
        if !(is_idle && self.queues[side].front().is_some_and(late)) {
            self.queues[side].push_back((number, row));
        }
    }

    /// Compares the events so far; the runs have reached these instants.
    fn compare(&mut self, now: [Instant; 2]) {
        while self.parted.is_none() {
            let [a, b] = &mut self.queues;
            let same = |one: &TraceRow, other: &TraceRow| {
                let detail = !WITH_DETAIL.contains(&one.event) || one.detail == other.detail;
                let (x, y) = (one.value, other.value);
                (one.at, one.event) == (other.at, other.event) && x == y && detail
            };
            let at = match (a.front(), b.front()) {
                (Some((number, one)), Some((_, other))) if same(one, other) => {
                    self.last = Some(*number);
                    self.common += 1;
                    a.pop_front();
                    b.pop_front();
                    continue;
                }
                (Some((_, one)), Some((_, other))) => one.at.min(other.at),
                (Some((_, one)), None) if one.at < now[1] => one.at,
                (None, Some((_, other))) if other.at < now[0] => other.at,
                _ => break,
            };
            self.part(at);
        }
        if let Some(parted) = &mut self.parted {
            for (event, queue) in parted.events.iter_mut().zip(&mut self.queues) {
                if let (None, Some((number, row))) = (*event, queue.pop_front()) {
                    *event = Some((number, row.at));
                }
                queue.clear();
            }
        }
        self.settle(now[0].min(now[1]));
    }

    fn part(&mut self, at: Instant) {
        let last = self.last;
        self.parted = Some(Divergence {
            at,
            last,
            ..Divergence::default()
        });
        for orders in &mut self.orders {
            orders.retain(|(_, order)| order.at <= at);
        }
    }

    /// Separates orders that only one run had from common ones; both runs have reached `now`.
    fn settle(&mut self, now: Instant) {
        let due = |(_, order): &(u64, TraceRow)| order.at < now;
        if self.orders.iter().flatten().any(due) {
            let [a, b] = &self.orders;
            let lacks = |others: &[(u64, TraceRow)], order: &TraceRow| {
                let same =
                    |other: &TraceRow| (other.at, &other.detail) == (order.at, &order.detail);
                !others.iter().any(|(_, other)| same(other))
            };
            let own = |mine: &[(u64, TraceRow)], others: &[(u64, TraceRow)]| {
                let mine = mine.iter().filter(|one| due(one) && lacks(others, &one.1));
                mine.cloned().collect::<Vec<_>>()
            };
            let own = [own(a, b), own(b, a)];
            for (kept, new) in self.own.iter_mut().zip(own) {
                kept.extend(new);
                let surplus = kept.len().saturating_sub(MOST_ORDERS);
                kept.drain(..surplus);
            }
            for orders in &mut self.orders {
                orders.retain(|order| !due(order));
            }
        }
        if let Some(parted) = &mut self.parted {
            if !self.is_settled && parted.at < now {
                self.is_settled = true;
                parted.orders = std::mem::take(&mut self.own).map(Vec::from);
            }
        }
    }
}

/// Compares one run of two plans, flow by flow; the flows are given by name. Both are simulated in
/// parallel, so that no events have to be kept. `go_on` is as for [`super::trace`].
///
/// # Errors
/// As [`super::trace`].
pub fn compare(
    setups: [&Setup; 2],
    flows: &[String],
    go_on: GoOn<'_>,
) -> Result<Compared, StudyError> {
    let mut runs = Vec::new();
    for setup in setups {
        let mut places = vec![None; setup.flows.len()];
        let mut causes = Vec::new();
        for (place, name) in flows.iter().enumerate() {
            let flow = setup.flow_of_name(Some(name))?;
            places[flow] = Some(place);
            causes.push(Causes::new(setup, flow, Keep::All));
        }
        runs.push(Playback::new(setup, Several { causes, places })?);
    }
    let mut pairs: Vec<Pair> = flows.iter().map(|_| Pair::default()).collect();
    let mut left = EVENTS_AT_A_TIME;
    loop {
        let mut next = runs.iter_mut().map(Playback::next);
        let next = [(); 2].map(|()| next.next().flatten());
        let now = next.map(|event| event.map_or(Instant::NEVER, |event| event.at()));
        for pair in &mut pairs {
            pair.compare(now);
        }
        let side = usize::from(now[1] < now[0]);
        let Some(event) = next[side] else { break };
        runs[side].process(event)?;
        let several = runs[side].watching();
        for (causes, pair) in several.causes.iter_mut().zip(&mut pairs) {
            if causes.is_empty() {
                continue;
            }
            for (row, number) in causes.take() {
                pair.take(side, number, row, now[1 - side]);
            }
        }
        left -= 1;
        if left == 0 {
            left = EVENTS_AT_A_TIME;
            if !go_on() {
                return Err(StudyError::Interrupted);
            }
        }
    }
    let digests = runs.into_iter().map(|run| run.world.into_observer().0);
    let mut digests = digests.map(|digest| digest.to_string());
    let digests = [(); 2].map(|()| digests.next().unwrap_or_default());
    let flows = pairs.into_iter().map(|pair| (pair.common, pair.parted));
    let flows = flows.collect();
    Ok(Compared { digests, flows })
}
