//! Times of rows: numbers with a unit, or dates with a time of day.

use midflight_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order of day and month in dates with slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dates {
    /// 31/01/2024.
    DayFirst,
    /// 01/31/2024.
    MonthFirst,
}

impl Dates {
    /// Both, with their names.
    pub const ALL: [(&'static str, Self); 2] = [
        ("day-first", Self::DayFirst),
        ("month-first", Self::MonthFirst),
    ];
}

/// Splits a time of ISO 8601 into the local time and its offset from UTC in minutes: `+01:00`, `-0530`, `Z` or ` UTC`.
fn without_offset(text: &str) -> Option<(&str, i128)> {
    let text = text.trim();
    if let Some(local) = text.strip_suffix(" UTC") {
        return Some((local.trim_end(), 0));
    }
    let colon = text.find(':').unwrap_or(text.len());
    let place = text.rfind(['+', '-']).filter(|place| *place > colon);
    let Some((local, offset)) = place.and_then(|place| text.split_at_checked(place)) else {
        return Some((text.trim_end_matches('Z'), 0));
    };
    let digits = offset[1..].replace(':', "");
    let (hours, minutes) = match (digits.len(), digits.parse::<i128>().ok()?) {
        (2, hours) => (hours, 0),
        (4, both) => (both / 100, both % 100),
        _ => return None,
    };
    if hours > 14 || minutes > 59 {
        return None;
    }
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    Some((local.trim_end(), sign * (60 * hours + minutes)))
}

/// Splits ` AM` or ` PM` from a time, true for the second half of the day.
fn without_half(text: &str) -> (&str, Option<bool>) {
    let text = text.trim();
    let Some((clock, half)) = text
        .len()
        .checked_sub(2)
        .and_then(|place| text.split_at_checked(place))
    else {
        return (text, None);
    };
    match half.to_ascii_lowercase().as_str() {
        "am" => (clock.trim_end(), Some(false)),
        "pm" => (clock.trim_end(), Some(true)),
        _ => (text, None),
    }
}

/// The hour from 0 to 23 of an hour from 1 to 12 in a half of the day; that of 24 hours as it is.
fn hour_of(hour: i128, half: Option<bool>) -> Option<i128> {
    match half {
        None => Some(hour),
        Some(is_pm) => (1..=12)
            .contains(&hour)
            .then_some(hour % 12 + if is_pm { 12 } else { 0 }),
    }
}

/// Nanoseconds since a fixed day, from `2019.11.28_07.27.02`, `2024-01-31T07:27:02.5+01:00`, `31.01.2024 07:27:02`,
/// `31/01/2024 07:27:02`, `1/31/2024 7:27 AM` and similar formats, also without seconds and with a decimal comma. With
/// slashes, `03/04/2024`, day and month are not known without `dates`.
fn of_clock(text: &str, dates: Option<Dates>) -> Option<i128> {
    let mut numbers = Vec::new();
    let (text, half) = without_half(text);
    let text = text.replace(',', ".");
    let (text, offset) = without_offset(&text)?;
    for part in text.split(['.', '-', '_', ':', ' ', 'T', '/']) {
        let is_number = !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        numbers.push(part.parse::<i128>().ok().filter(|_| is_number)?);
    }
    if numbers.len() == 5 {
        numbers.push(0);
    }
    let (&[first, month, third, hour, minute, second], fraction) = numbers.split_first_chunk()?;
    let hour = hour_of(hour, half)?;
    let date = text.split([' ', 'T', '_']).next()?;
    let (year, month, day) = match (third >= 1900, date.contains('.'), date.contains('/')) {
        (true, true, _) => (third, month, first),
        (true, _, true) if dates == Some(Dates::DayFirst) => (third, month, first),
        (true, _, true) if dates == Some(Dates::MonthFirst) => (third, first, month),
        (true, _, true) if first > 12 => (third, month, first),
        (true, _, true) if month > 12 => (third, first, month),
        (true, ..) => return None,
        _ => (first, month, third),
    };
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && year >= 1900;
    if !in_range || hour > 23 || minute > 59 || second > 60 || fraction.len() > 1 {
        return None;
    }
    // Days of the civil calendar, with the year starting in March.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day;
    let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second;
    let nanos = match fraction {
        [] => 0,
        [value] => {
            let digits = text.rsplit('.').next().map_or(0, str::len);
            value * 10_i128.pow(9_u32.saturating_sub(digits.min(9) as u32))
        }
        _ => return None,
    };
    Some(seconds * 1_000_000_000 + nanos)
}

/// Converts a decimal number of units to nanoseconds, with `unit` nanoseconds each.
fn of_number(text: &str, unit: f64) -> Option<i128> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let exact = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if !exact(whole) || !exact(fraction) || whole.is_empty() || fraction.len() > 15 {
        let number: f64 = text.trim().parse().ok()?;
        return (number.is_finite() && number.abs() < 1e15)
            .then_some((number * unit).round() as i128);
    }
    let unit = unit as i128;
    let scale = 10_i128.pow(fraction.len() as u32);
    let part: i128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    Some(whole.parse::<i128>().ok()? * unit + part * unit / scale)
}

/// Usual steps without a row from which on they are missing.
const HOLE: f64 = 5.0;
const DAY: i128 = 86_400_000_000_000;

/// A time of day, `07:27:02.5`, in nanoseconds. If it is more than half a day before the time of the row above, it is
/// of the next day; if it is as much after that, and the rows began on the day before, it is of that day.
fn of_day(text: &str, rows: &[i128]) -> Option<i128> {
    let (text, half) = without_half(text);
    let text = text.replace(',', ".");
    let [hour, minute, second] = text.split(':').collect::<Vec<_>>()[..] else {
        return None;
    };
    let below = |text: &str, most: i128| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
        text.parse::<i128>().ok().filter(|n| is_number && *n < most)
    };
    let whole = second.split_once('.').map_or(second, |parts| parts.0);
    below(whole, 61)?;
    let minutes = 60 * hour_of(below(hour, 24)?, half)? + below(minute, 60)?;
    let at = minutes * 60_000_000_000 + of_number(second, 1e9)?;
    let (Some(&first), Some(&before)) = (rows.first(), rows.last()) else {
        return Some(at);
    };
    let at = before - before.rem_euclid(DAY) + at;
    Some(match at - before {
        earlier if earlier < -DAY / 2 => at + DAY,
        later if later > DAY / 2 && at - DAY >= first => at - DAY,
        _ => at,
    })
}

/// A time in nanoseconds from some origin; `rows` are the times of the rows above.
pub(super) fn read(text: &str, unit: f64, dates: Option<Dates>, rows: &[i128]) -> Option<i128> {
    of_number(text, unit)
        .or_else(|| of_clock(text, dates))
        .or_else(|| of_day(text, rows))
}

/// Whether a text is a date with a time of day, whatever the order of day and month.
pub(super) fn is_clock(text: &str) -> bool {
    let orders = [None, Some(Dates::DayFirst), Some(Dates::MonthFirst)];
    orders.iter().any(|dates| of_clock(text, *dates).is_some())
}

/// Whether a text is a date without a time of day.
pub(super) fn is_date(text: &str) -> bool {
    !text.contains(':') && is_clock(&format!("{text} 00:00:00"))
}

/// Whether a text is a time of day.
pub(super) fn is_time_of_day(text: &str) -> bool {
    of_day(text, &[]).is_some()
}

/// The nanoseconds of a unit in which numbers without one, too large for seconds, are times since 1970 between the years
/// 1990 and 2100, and its name.
pub(super) fn unit_since_1970(number: f64) -> Option<(f64, &'static str)> {
    let units = [(1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let is_usual = |(factor, _): &(f64, _)| (6.3e17..4.2e18).contains(&(number * factor));
    units.into_iter().find(is_usual)
}

/// Whether a text is a date whose day and month are not known.
pub(super) fn is_ambiguous(text: &str) -> bool {
    of_clock(text, None).is_none() && of_clock(text, Some(Dates::DayFirst)).is_some()
}

/// Whether rows come in descending order, the newest first.
pub(super) fn is_newest_first(times: &[i128]) -> bool {
    times.len() > 2
        && times.first() > times.last()
        && times.windows(2).all(|pair| pair[1] <= pair[0])
}

/// Usual steps by which a row may be late in a log that is otherwise in order.
const LATE: i128 = 5;

/// How many rows are before one above them, if these are a few that a logger wrote late: by a few usual steps. A time that is
/// there twice is that of a second measurement.
pub(super) fn late_rows(times: &[i128]) -> Option<usize> {
    let mut latest = *times.first()?;
    let mut late = Vec::new();
    for &time in times {
        if time < latest {
            late.push((time, latest - time));
        }
        latest = latest.max(time);
    }
    if late.is_empty() || 10 * late.len() > times.len() {
        return None;
    }
    let mut steps: Vec<i128> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.retain(|step| *step > 0);
    steps.sort_unstable();
    let usual = *steps.get(steps.len() / 2)?;
    let mut order = times.to_vec();
    order.sort_unstable();
    let is_alone = |time: i128| {
        let first = order.partition_point(|one| *one < time);
        order.get(first + 1) != Some(&time)
    };
    let is_late = |&(time, by): &(i128, i128)| by <= LATE * usual && is_alone(time);
    late.iter().all(is_late).then_some(late.len())
}

/// Times in ascending order, relative to the first one.
pub(super) fn from_first(times: &[i128]) -> Vec<Duration> {
    let first = times.first().copied().unwrap_or_default();
    let since = |time: &i128| Duration::from_nanos(u64::try_from(time - first).unwrap_or(u64::MAX));
    times.iter().map(since).collect()
}

/// Rows from which a recording has a usual step.
pub(super) const LEAST_ROWS: usize = 10;

/// From when to when rows are missing: times of more than [`HOLE`] usual steps between two rows, from a usual step after
/// the first of them. The usual step is the median if nine of ten are at most twice that, or else the one that nine of ten
/// do not exceed. None if there are fewer than ten rows.
pub(super) fn holes(times: &[Duration]) -> Vec<(Duration, Duration)> {
    let regular = usual_step(times, |step, usual| step <= 2.0 * usual);
    let Some(usual) = regular.or_else(|| most_steps(times)) else {
        return Vec::new();
    };
    let pairs = times.windows(2).filter(|pair| step(pair) > HOLE * usual);
    pairs.map(|pair| (after(pair[0], usual), pair[1])).collect()
}

/// A few rows that are missing in a regular recording, in a time that is no hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// A usual step after the row before.
    pub from: Duration,
    /// The next row.
    pub until: Duration,
    /// The number of missing rows.
    pub rows: u64,
}

/// The gaps of up to [`HOLE`] usual steps. None unless nine of ten rows come after the same step within a quarter of
/// it; a row that is late is not missing, and the one after it comes sooner.
pub(super) fn gaps(times: &[Duration]) -> Vec<Gap> {
    let is_usual = |step: f64, usual: f64| (0.75..=1.25).contains(&(step / usual));
    let Some(usual) = usual_step(times, is_usual) else {
        return Vec::new();
    };
    let found = times.windows(2).enumerate().filter(|(place, pair)| {
        let next = times.get(place + 2);
        let is_late = next.is_some_and(|next| step(&[pair[1], *next]) < 0.75 * usual);
        (1.75 * usual..=HOLE * usual).contains(&step(pair)) && !is_late
    });
    let gap = |(_, pair): (usize, &[Duration])| Gap {
        from: after(pair[0], usual),
        until: pair[1],
        rows: (step(pair) / usual).round() as u64 - 1,
    };
    found.map(gap).collect()
}

/// The time between two rows in nanoseconds.
fn step(pair: &[Duration]) -> f64 {
    pair[1].saturating_sub(pair[0]).as_nanos() as f64
}

/// A usual step after a row.
fn after(at: Duration, usual: f64) -> Duration {
    Duration::from_nanos(at.as_nanos() + usual as u64)
}

/// The times between rows in nanoseconds, in order of length, without those of rows at the same instant.
fn steps_of(times: &[Duration]) -> Vec<f64> {
    let mut steps: Vec<f64> = times.windows(2).map(step).collect();
    steps.retain(|step| *step != 0.0);
    steps.sort_unstable_by(f64::total_cmp);
    steps
}

/// The time between rows in nanoseconds that nine of ten do not exceed, if there are ten rows.
fn most_steps(times: &[Duration]) -> Option<f64> {
    let steps = steps_of(times);
    let place = (9 * steps.len()).div_ceil(10).checked_sub(1)?;
    (times.len() >= LEAST_ROWS).then_some(steps[place])
}

/// The median time between rows in nanoseconds, if nine of ten are usual beside it, and there are ten rows.
fn usual_step(times: &[Duration], is_usual: impl Fn(f64, f64) -> bool) -> Option<f64> {
    let steps = steps_of(times);
    let usual = *steps.get(steps.len() / 2)?;
    let regular = steps.iter().filter(|step| is_usual(**step, usual)).count();
    (times.len() >= LEAST_ROWS && 10 * regular >= 9 * steps.len()).then_some(usual)
}

/// The length of rows at these instants: the last row is as long as the one before it.
pub(super) fn span(times: &[Duration]) -> Duration {
    let Some(&last) = times.last() else {
        return Duration::ZERO;
    };
    let before = times.iter().rev().find(|time| **time < last);
    let step = before.map_or(Duration::from_secs(1), |before| {
        last.saturating_sub(*before)
    });
    Duration::from_nanos(last.as_nanos().saturating_add(step.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_numbers_are_read() {
        let at = |text: &str| of_clock(text, None).unwrap_or_default();
        assert_eq!(
            at("2019.11.28_07.27.03") - at("2019.11.28_07.27.02"),
            1_000_000_000
        );
        assert_eq!(
            at("2024-03-01T00:00:00Z") - at("2024-02-28 23:59:59.25"),
            86_400_750_000_000
        );
        assert_eq!(at("14.03.2026 09:12:03"), at("2026-03-14T09:12:03"));
        assert_eq!(at("14/03/2026 09:12:03"), at("2026-03-14T09:12:03"));
        assert_eq!(at("03/14/2026 09:12:03"), at("2026-03-14T09:12:03"));
        let either = "03/04/2026 09:12:03";
        assert_eq!(of_clock(either, None), None);
        assert!(is_ambiguous(either) && !is_ambiguous("03/14/2026 09:12:03"));
        assert!(!is_ambiguous("now") && !is_ambiguous("03/04/2026 25:12:03"));
        for (dates, iso) in [
            (Dates::DayFirst, "2026-04-03T09:12:03"),
            (Dates::MonthFirst, "2026-03-04T09:12:03"),
        ] {
            assert_eq!(of_clock(either, Some(dates)), Some(at(iso)));
        }
        assert_eq!(of_clock("03/14/2026 09:12:03", Some(Dates::DayFirst)), None);
        for zoned in [
            "2026-03-14T10:12:03+01:00",
            "2026-03-14 10:12:03.0 +0100",
            "2026-03-14T08:12:03-01",
            "2026-03-14 09:12:03 UTC",
        ] {
            assert_eq!(at(zoned), at("2026-03-14T09:12:03Z"), "{zoned}");
        }
        for offset in ["+1", "+99:99", "-99", "+15:00", "+01:60", "-0175"] {
            let text = format!("2026-03-14T10:12:03{offset}");
            assert_eq!(of_clock(&text, None), None, "{text}");
        }
        for text in [
            "3/14/2026 9:12:03 AM",
            "14.03.2026 09:12:03,0",
            "2026-03-14 9:12:03am",
        ] {
            assert_eq!(at(text), at("2026-03-14T09:12:03"), "{text}");
        }
        assert_eq!(at("3/14/2026 9:12 PM"), at("2026-03-14T21:12:00"));
        assert_eq!(at("3/14/2026 12:05 AM"), at("2026-03-14T00:05:00"));
        assert_eq!(at("2026-03-14 09:12"), at("2026-03-14T09:12:00"));
        for text in [
            "3/14/2026 13:12 PM",
            "3/14/2026 0:12 AM",
            "2026-03-14 09",
            "am",
        ] {
            assert_eq!(of_clock(text, None), None, "{text}");
        }
        assert!(is_date("2026-03-14") && is_date("03/04/2026") && is_date("14.03.2026"));
        assert!(!is_date("2026-03-14 09:12") && !is_date("3.5") && !is_date("09:12:03"));
        assert!(is_time_of_day("9:12:03 pm") && !is_time_of_day("13:12:03 pm"));
        assert_eq!(of_clock("2024-13-01T00:00:00", None), None);
        assert_eq!(of_clock("1,5", None), None);
        assert_eq!(read("0.1", 1e9, None, &[]), Some(100_000_000));
        assert_eq!(read("12.000001", 1e6, None, &[]), Some(12_000_001));
        assert_eq!(read("1e3", 1e6, None, &[]), Some(1_000_000_000));
        assert_eq!(read("now", 1e9, None, &[]), None);
    }

    #[test]
    fn late_rows_are_few_and_of_one_measurement() {
        let rows = |late: &[i128]| -> Vec<i128> {
            let mut all: Vec<i128> = (0..40).map(|k| 2 * k).collect();
            all.extend(late);
            all
        };
        assert_eq!(late_rows(&rows(&[75, 77])), Some(2));
        // Too late, too many, and a second measurement.
        assert_eq!(late_rows(&rows(&[60])), None);
        assert_eq!(late_rows(&rows(&[69, 71, 73, 75, 77])), None);
        assert_eq!(late_rows(&rows(&[74, 76])), None);
        assert_eq!(late_rows(&rows(&[])), None);
    }

    #[test]
    fn numbers_since_1970_are_of_our_time() {
        assert_eq!(unit_since_1970(1.7e12), Some((1e6, "ms")));
        assert_eq!(unit_since_1970(1.7e15), Some((1e3, "us")));
        assert_eq!(unit_since_1970(1.7e18), Some((1.0, "ns")));
        // A date in one number.
        assert_eq!(unit_since_1970(20_240_131_072_702.0), None);
        assert_eq!(unit_since_1970(1.7e9), None);
    }

    #[test]
    fn rows_are_missing_where_the_usual_step_is_much_exceeded() {
        let seconds =
            |all: Vec<u64>| -> Vec<Duration> { all.into_iter().map(Duration::from_secs).collect() };
        let some: Vec<u64> = (0..20).chain(40..60).chain([65]).collect();
        let s = Duration::from_secs;
        assert_eq!(holes(&seconds(some)), [(s(20), s(40)), (s(60), s(65))]);
        // Rows that come only with changes have no usual step.
        assert_eq!(holes(&seconds(vec![0, 10, 12, 100])), []);
        let changes = (0..20).map(|k| k * k).collect();
        assert_eq!(holes(&seconds(changes)), []);
        // Steps of 1, 2 and 10 s up to 120 s, of which nine of ten do not exceed 10 s.
        let irregular = (0..30).map(|k| k / 3 * 13 + [0, 1, 3][k as usize % 3]);
        let at: Vec<u64> = irregular
            .clone()
            .chain(irregular.map(|t| t + 200))
            .collect();
        assert_eq!(holes(&seconds(at)), [(s(130), s(200))]);
    }

    #[test]
    fn a_few_missing_rows_are_counted_and_late_ones_are_not() {
        let ms = |all: &[u64]| -> Vec<Duration> {
            all.iter().map(|ms| Duration::from_millis(*ms)).collect()
        };
        let mut rows: Vec<u64> = (0..60).map(|k| 100 * k + k * 37 % 10).collect();
        rows.retain(|ms| ![20, 33, 34].contains(&(ms / 100)));
        let found = gaps(&ms(&rows));
        assert_eq!(found.iter().map(|gap| gap.rows).collect::<Vec<_>>(), [1, 2]);
        let missing = |gap: &Gap| gap.until.saturating_sub(gap.from).as_nanos() / 100_000_000;
        assert_eq!(found.iter().map(missing).collect::<Vec<_>>(), [1, 2]);
        // The row at 3 s comes 80 ms late.
        let late: Vec<u64> = (0..60)
            .map(|k| 100 * k + if k == 30 { 80 } else { 0 })
            .collect();
        assert_eq!(gaps(&ms(&late)), []);
        // Steps that vary by half of the usual one have no missing rows.
        let varying: Vec<u64> = (0..60).map(|k| 100 * k + 50 * (k % 3)).collect();
        assert_eq!(gaps(&ms(&varying)), []);
    }

    #[test]
    fn a_time_of_day_goes_on_after_midnight() {
        let second = 1_000_000_000;
        let of = |text: &str, rows: &[i128]| read(text, 1e9, None, rows);
        let first = DAY - second / 2;
        assert_eq!(of("23:59:59.5", &[]), Some(first));
        assert_eq!(of("00:00:01", &[first]), Some(DAY + second));
        let third_day = 2 * DAY + 5 * second;
        assert_eq!(of("0:00:06", &[third_day]), Some(2 * DAY + 6 * second));
        // Back by four seconds, which is refused later.
        assert_eq!(of("00:00:01", &[third_day]), Some(2 * DAY + second));
        // A row that is late, and the one after it.
        let late = [first, DAY + second / 2];
        assert_eq!(of("23:59:59.8", &late), Some(DAY - second / 5));
        let late = [first, DAY + second / 2, DAY - second / 5];
        assert_eq!(of("00:00:01", &late), Some(DAY + second));
        // Nothing was recorded the day before.
        assert_eq!(of("13:00:00", &[0, second]), Some(DAY / 24 * 13));
        for text in [
            "24:00:00", "7:60:00", "07:27", "7:27:61", "7:27:-2", "7:27:2e1",
        ] {
            assert_eq!(of(text, &[]), None, "{text}");
        }
    }
}
