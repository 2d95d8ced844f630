//! Path files of LeoEM (Cao and Zhang 2023): each line is a frame of one second with the nodes of a path and the
//! one-way delays of its hops, or `NULL` if there is no path.
//!
//! LeoEM's emulator takes the hop of a dish down while its satellite changes: for three delays of that hop before and
//! three after the change, and for three after a time without a path (`update_precomputed_link`). The two ends do that
//! in parallel, so a path is down for the longer of both times. Its changes of the intermediate hops are two system
//! calls without a duration; here they have no effect.

use midflight_units::Duration;

use super::{short, Format, Recording};

/// A frame with a path: the satellites of its ends, and the delays of all hops in seconds.
struct Frame {
    ends: [i64; 2],
    delays: Vec<f64>,
}

fn list<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    inner
        .split(',')
        .map(|one| one.trim().parse().ok())
        .collect()
}

/// The frame's number, and its content.
fn frame(line: &str) -> Option<(u64, Option<Frame>)> {
    let fields: Vec<&str> = line.trim().split('$').collect();
    let number = fields.first()?.trim().parse().ok()?;
    let (nodes, hops) = match fields[..] {
        [_, "NULL"] => return Some((number, None)),
        [_, nodes, _, hops] | [_, nodes, _, hops, _] => (nodes, hops),
        _ => return None,
    };
    let (nodes, delays): (Vec<i64>, Vec<f64>) = (list(nodes)?, list(hops)?);
    let is_path = nodes.len() >= 3 && delays.len() + 1 == nodes.len();
    let are_delays = delays.iter().all(|delay| (0.0..10.0).contains(delay));
    let ends = [nodes[1], nodes[nodes.len().checked_sub(2)?]];
    (is_path && are_delays).then_some((number, Some(Frame { ends, delays })))
}

fn nanos(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

pub(super) fn read(text: &str) -> Result<Recording, String> {
    let mut found = Recording::new(Format::LeoEm);
    let mut before: Option<Frame> = None;
    // The previous frame had no path, or there was none.
    let mut is_back = true;
    for (place, line) in text.lines().enumerate() {
        let Some((number, frame)) = frame(line) else {
            return Err(format!(
                "line {} is \"{}\"; expected number$[nodes]$count$[delays in s]$sum, or number$NULL",
                place + 1,
                short(line)
            ));
        };
        if number != place as u64 + 1 {
            return Err(format!(
                "line {} is frame {number}; expected the frames one after the other from 1",
                place + 1
            ));
        }
        let at = Duration::from_secs(place as u64);
        let Some(frame) = frame else {
            found
                .outages
                .push((at, Duration::from_secs(place as u64 + 1)));
            is_back = true;
            continue;
        };
        let [first, last] = [frame.delays[0], frame.delays[frame.delays.len() - 1]];
        found.down.delay.push((at, frame.delays.iter().sum()));
        let mut down_for = 0.0_f64;
        for (end, name) in ["source", "destination"].into_iter().enumerate() {
            let own = [first, last][end];
            let changed = before
                .as_ref()
                .filter(|before| before.ends[end] != frame.ends[end]);
            if let Some(before) = changed {
                found.handovers.push((at, name));
                let old = [before.delays[0], before.delays[before.delays.len() - 1]][end];
                if !is_back {
                    down_for = down_for.max(3.0 * old + 3.0 * own);
                }
            }
            // The run begins with a path, so this is not a new connection.
            if is_back && before.is_some() {
                down_for = down_for.max(3.0 * own);
            }
        }
        if down_for > 0.0 {
            let end = Duration::from_nanos(at.as_nanos() + nanos(down_for).as_nanos());
            found.outages.push((at, end));
        }
        (before, is_back) = (Some(frame), false);
        found.span = Duration::from_secs(place as u64 + 1);
    }
    found.span = Duration::from_secs(text.lines().count() as u64);
    let Some(first) = found.down.delay.first().copied() else {
        return Err("no frame has a path; expected at least one".into());
    };
    // If it begins without a path the delay is that of the first path.
    found.down.delay[0] = (Duration::ZERO, first.1);
    join(&mut found.outages);
    found.drops = true;
    Ok(found)
}

/// Merges outages that touch each other.
fn join(outages: &mut Vec<(Duration, Duration)>) {
    let mut joined: Vec<(Duration, Duration)> = Vec::new();
    for &(from, until) in outages.iter() {
        match joined.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(until),
            _ => joined.push((from, until)),
        }
    }
    *outages = joined;
}
