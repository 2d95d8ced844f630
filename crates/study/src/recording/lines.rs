//! Formats with one or two numbers per line.

use midflight_units::Duration;

use super::time::{holes, span};
use super::{goodput_remark, short, Format, Recording};

fn each<T>(text: &str, accepted: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    let lines = text.trim_end().lines().enumerate();
    for (number, line) in lines.skip_while(|(_, line)| line.is_empty()) {
        let Some(one) = read(line.trim()) else {
            let (number, line) = (number + 1, short(line));
            return Err(format!("line {number} is \"{line}\"; expected {accepted}"));
        };
        found.push(one);
    }
    Ok(found)
}

/// Delivery opportunities as read by `mm-link`: `LinkQueue` in Mahimahi's `link_queue.cc` accepts non-descending
/// lines, of which the last is above zero and is the period.
pub(super) fn mahimahi(text: &str) -> Result<Recording, String> {
    let accepted = "a whole number of milliseconds";
    let lines: Vec<u64> = each(text, accepted, |line| line.parse().ok())?;
    if let Some(place) = lines.windows(2).position(|pair| pair[1] < pair[0]) {
        let (line, ms, before) = (place + 2, lines[place + 1], lines[place]);
        return Err(format!(
            "line {line} is {ms} ms, after {before} ms; expected times that do not go back"
        ));
    }
    let last = lines.last().copied().unwrap_or_default();
    if last == 0 || last > 1_000_000_000 {
        return Err(format!(
            "its last line is {last} ms, which is how long it lasts; expected 1 to 1000000000 ms"
        ));
    }
    let mut found = Recording::new(Format::Mahimahi);
    found.down.opportunities = lines.into_iter().map(Duration::from_millis).collect();
    found.span = Duration::from_millis(last);
    Ok(found)
}

/// The delays of LeoCC's replayer (`DelayQueue`): line i is the one-way delay from 10 (i - 1) ms on.
pub(super) fn leocc_delay(text: &str) -> Result<Recording, String> {
    let accepted = "a one-way delay in milliseconds";
    let read = |line: &str| line.parse().ok().filter(|ms| (0.0..=1e6).contains(ms));
    let lines: Vec<f64> = each(text, accepted, read)?;
    let mut found = Recording::new(Format::LeoccDelay);
    let at = |place: usize| Duration::from_millis(10 * place as u64);
    found.span = at(lines.len());
    let points = lines.iter().enumerate();
    found.down.delay = points.map(|(place, ms)| (at(place), ms / 1e3)).collect();
    Ok(found)
}

/// Pensieve's traces: each line gives the rate in Mbit/s from its second on.
pub(super) fn pensieve(text: &str) -> Result<Recording, String> {
    let accepted = "two numbers, seconds and Mbit/s";
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let at: f64 = words.next()?.parse().ok()?;
        let mbps: f64 = words.next()?.parse().ok()?;
        let is_both = words.next().is_none() && (0.0..1e9).contains(&at);
        (is_both && (0.0..1e9).contains(&mbps)).then_some((at, mbps))
    };
    let lines: Vec<(f64, f64)> = each(text, accepted, read)?;
    if let Some(place) = lines.windows(2).position(|pair| pair[1].0 <= pair[0].0) {
        return Err(format!(
            "line {} is not later than the one before; expected times that ascend",
            place + 2
        ));
    }
    let mut found = Recording::new(Format::Pensieve);
    let first = lines.first().map_or(0.0, |line| line.0);
    let at = |seconds: f64| Duration::from_nanos(((seconds - first) * 1e9).round() as u64);
    found.down.rate = lines
        .iter()
        .map(|line| (at(line.0), line.1 * 1e6))
        .collect();
    let times: Vec<Duration> = found.down.rate.iter().map(|point| point.0).collect();
    found.span = span(&times);
    found.holes = holes(&times);
    found.rows = times;
    found
        .hints
        .push(goodput_remark("the Mbit/s of a Pensieve trace", "are"));
    Ok(found)
}
