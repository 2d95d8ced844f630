//! Times of rows: numbers with a unit, or dates with a time of day.

use midflight_units::Duration;

/// Nanoseconds since a fixed day, from `2019.11.28_07.27.02`, `2024-01-31T07:27:02.5Z`, `31.01.2024 07:27:02` and
/// similar formats. With slashes, `03/04/2024`, day and month are not known.
fn of_clock(text: &str) -> Option<i128> {
    let mut numbers = Vec::new();
    let text = text.trim().trim_end_matches('Z');
    for part in text.split(['.', '-', '_', ':', ' ', 'T', '/']) {
        let is_number = !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        numbers.push(part.parse::<i128>().ok().filter(|_| is_number)?);
    }
    let (&[first, month, third, hour, minute, second], fraction) = numbers.split_first_chunk()?;
    let is_day_first = third >= 1900 && text.split([' ', 'T', '_']).next()?.contains('.');
    let (year, day) = if is_day_first {
        (third, first)
    } else {
        (first, third)
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
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
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

const DAY: i128 = 86_400_000_000_000;

/// A time of day, `07:27:02.5`, in nanoseconds. If it is more than half a day before the time of the row above, it is
/// of the next day.
fn of_day(text: &str, before: Option<i128>) -> Option<i128> {
    let [hour, minute, second] = text.trim().split(':').collect::<Vec<_>>()[..] else {
        return None;
    };
    let below = |text: &str, most: i128| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
        text.parse::<i128>().ok().filter(|n| is_number && *n < most)
    };
    let whole = second.split_once('.').map_or(second, |parts| parts.0);
    below(whole, 61)?;
    let minutes = 60 * below(hour, 24)? + below(minute, 60)?;
    let at = minutes * 60_000_000_000 + of_number(second, 1e9)?;
    let Some(before) = before else {
        return Some(at);
    };
    let at = before - before.rem_euclid(DAY) + at;
    Some(if before - at > DAY / 2 { at + DAY } else { at })
}

/// A time in nanoseconds from some origin; `before` is that of the row above.
pub(super) fn read(text: &str, unit: f64, before: Option<i128>) -> Option<i128> {
    of_number(text, unit)
        .or_else(|| of_clock(text))
        .or_else(|| of_day(text, before))
}

/// Whether a time is a number.
pub(super) fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// Times relative to the first one; the index of the first one that decreases as error.
pub(super) fn from_first(times: &[i128]) -> Result<Vec<Duration>, usize> {
    let first = times.first().copied().unwrap_or_default();
    if let Some(place) = times.windows(2).position(|pair| pair[1] < pair[0]) {
        return Err(place + 1);
    }
    let since = |time: &i128| Duration::from_nanos(u64::try_from(time - first).unwrap_or(u64::MAX));
    Ok(times.iter().map(since).collect())
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
        let at = |text: &str| of_clock(text).unwrap_or_default();
        assert_eq!(
            at("2019.11.28_07.27.03") - at("2019.11.28_07.27.02"),
            1_000_000_000
        );
        assert_eq!(
            at("2024-03-01T00:00:00Z") - at("2024-02-28 23:59:59.25"),
            86_400_750_000_000
        );
        assert_eq!(at("14.03.2026 09:12:03"), at("2026-03-14T09:12:03"));
        assert_eq!(of_clock("03/14/2026 09:12:03"), None);
        assert_eq!(of_clock("2024-13-01T00:00:00"), None);
        assert_eq!(of_clock("1,5"), None);
        assert_eq!(read("0.1", 1e9, None), Some(100_000_000));
        assert_eq!(read("12.000001", 1e6, None), Some(12_000_001));
        assert_eq!(read("1e3", 1e6, None), Some(1_000_000_000));
        assert_eq!(read("now", 1e9, None), None);
    }

    #[test]
    fn a_time_of_day_goes_on_after_midnight() {
        let second = 1_000_000_000;
        let first = read("23:59:59.5", 1e9, None);
        assert_eq!(first, Some(DAY - second / 2));
        assert_eq!(read("00:00:01", 1e9, first), Some(DAY + second));
        let third_day = Some(2 * DAY + 5 * second);
        assert_eq!(read("0:00:06", 1e9, third_day), Some(2 * DAY + 6 * second));
        // Back by four seconds, which is refused later.
        assert_eq!(read("00:00:01", 1e9, third_day), Some(2 * DAY + second));
        for text in [
            "24:00:00", "7:60:00", "07:27", "7:27:61", "7:27:-2", "7:27:2e1",
        ] {
            assert_eq!(read(text, 1e9, None), None, "{text}");
        }
    }
}
