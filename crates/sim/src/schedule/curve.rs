//! A quantity over time: steps or straight lines between points, once or periodically.

use midflight_units::Duration;

use super::ScheduleError;

/// The value between two points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The value of the point before.
    #[default]
    Step,
    /// On the straight line between them.
    Linear,
}

/// A quantity over time, from the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Seconds, the first 0, ascending.
    times: Box<[f64]>,
    values: Box<[f64]>,
    shape: Shape,
    /// Period in seconds. Without one the last value holds.
    period: Option<f64>,
    /// Integral over a period.
    whole: f64,
    /// It is zero for some time.
    rests: bool,
}

/// A part of a curve in which it is a straight line, in seconds from the start of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) from: f64,
    pub(super) until: f64,
    pub(super) at_start: f64,
    pub(super) at_end: f64,
}

/// A reading position in a curve, and the segment there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// Number of the period.
    cycle: f64,
    index: usize,
    pub(super) segment: Segment,
}

/// An instant that no run reaches, in seconds.
pub(super) const NEVER: f64 = 9e9;

fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

impl Curve {
    /// A curve through these points.
    ///
    /// # Errors
    /// [`ScheduleError`] for points that are not in time order from zero on, values that are negative
    /// or not numbers, and a period that ends before the last point.
    pub fn new(
        points: &[(Duration, f64)],
        shape: Shape,
        period: Option<Duration>,
    ) -> Result<Self, ScheduleError> {
        match points.first() {
            Some((Duration::ZERO, _)) => {}
            _ => return Err(ScheduleError::Start),
        }
        if let Some(place) = points.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
            return Err(ScheduleError::Order { point: place + 1 });
        }
        if let Some(point) = points.iter().position(|p| !(0.0..=1e18).contains(&p.1)) {
            return Err(ScheduleError::Value { point });
        }
        if points.last().map(|p| p.0) >= period && period.is_some() {
            return Err(ScheduleError::Period);
        }
        let mut curve = Self {
            times: points.iter().map(|p| seconds(p.0)).collect(),
            values: points.iter().map(|p| p.1).collect(),
            shape,
            period: period.map(seconds),
            whole: 0.0,
            rests: false,
        };
        let count = curve.times.len();
        let integral = |i| curve.segment(0.0, i).integral();
        let known = if period.is_some() { count } else { count - 1 };
        curve.whole = (0..known).map(integral).sum();
        curve.rests = (0..count).any(|i| curve.segment(0.0, i).is_zero());
        Ok(curve)
    }

    /// Segments of a period.
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// The integral over a period; without one up to the last point.
    pub fn integral(&self) -> f64 {
        self.whole
    }

    /// Length of the period in seconds; without one up to the last point.
    pub fn span(&self) -> f64 {
        let last = self.times.last().copied().unwrap_or_default();
        self.period.unwrap_or(last)
    }

    /// Whether it is zero for some time, and not only at an instant.
    pub fn rests(&self) -> bool {
        self.rests
    }

    /// The intervals up to an instant in which it is zero, in seconds.
    pub fn outages(&self, until: f64) -> Vec<(f64, f64)> {
        let mut outages: Vec<(f64, f64)> = Vec::new();
        let mut cursor = self.cursor();
        while cursor.segment.from < until {
            let Segment {
                from, until: end, ..
            } = cursor.segment;
            if cursor.segment.is_zero() {
                match outages.last_mut() {
                    Some(last) if last.1 == from => last.1 = end.min(until),
                    _ => outages.push((from, end.min(until))),
                }
            }
            if end >= NEVER {
                break;
            }
            self.advance(&mut cursor);
        }
        outages
    }

    /// Whether a cursor is in the last segment of a period.
    pub(super) fn is_at_end(&self, cursor: &Cursor) -> bool {
        self.period.is_some() && cursor.index + 1 == self.times.len()
    }

    /// Feeds its whole content to `add`.
    pub(super) fn fold(&self, add: &mut impl FnMut(u64)) {
        add(u64::from(self.shape == Shape::Linear));
        add(self.period.unwrap_or_default().to_bits());
        for (time, value) in self.times.iter().zip(&self.values) {
            add(time.to_bits());
            add(value.to_bits());
        }
    }

    /// The minimum and the maximum.
    pub fn range(&self) -> (f64, f64) {
        let values = || self.values.iter().copied();
        (
            values().fold(f64::INFINITY, f64::min),
            values().fold(0.0, f64::max),
        )
    }

    /// The points up to an instant in seconds, through all periods: the time, and the value from there
    /// on.
    pub fn points(&self, until: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let mut cursor = self.cursor();
        let mut is_over = false;
        std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let Segment { from, at_start, .. } = cursor.segment;
            is_over = from > until || cursor.segment.until >= NEVER;
            if !is_over {
                self.advance(&mut cursor);
            }
            (from <= until).then_some((from, at_start))
        })
    }

    /// Whether values between two points are on a line.
    pub fn is_linear(&self) -> bool {
        self.shape == Shape::Linear
    }

    fn begin(&self, cycle: f64) -> f64 {
        self.period.map_or(0.0, |period| cycle * period)
    }

    fn segment(&self, cycle: f64, index: usize) -> Segment {
        let begin = self.begin(cycle);
        let at_start = self.values[index];
        let (until, at_end) = match (self.times.get(index + 1), self.period) {
            (Some(time), _) if self.shape == Shape::Linear => {
                (begin + time, self.values[index + 1])
            }
            (Some(time), _) => (begin + time, at_start),
            (None, Some(_)) => (self.begin(cycle + 1.0), at_start),
            (None, None) => (NEVER, at_start),
        };
        Segment {
            from: begin + self.times[index],
            until,
            at_start,
            at_end,
        }
    }

    pub(super) fn cursor(&self) -> Cursor {
        Cursor {
            cycle: 0.0,
            index: 0,
            segment: self.segment(0.0, 0),
        }
    }

    /// Goes to the next segment, if there is one.
    pub(super) fn advance(&self, cursor: &mut Cursor) {
        if cursor.index + 1 < self.times.len() {
            cursor.index += 1;
        } else if self.period.is_some() {
            (cursor.index, cursor.cycle) = (0, cursor.cycle + 1.0);
        } else {
            return;
        }
        cursor.segment = self.segment(cursor.cycle, cursor.index);
    }

    /// Skips whole periods.
    pub(super) fn skip(&self, cursor: &mut Cursor, periods: f64) {
        cursor.cycle += periods;
        cursor.segment = self.segment(cursor.cycle, cursor.index);
    }

    /// Goes to the segment that contains an instant.
    #[inline]
    pub(super) fn seek(&self, cursor: &mut Cursor, at: f64) {
        let Segment { from, until, .. } = cursor.segment;
        if at < from || at >= until {
            self.search(cursor, at);
        }
    }

    fn search(&self, cursor: &mut Cursor, at: f64) {
        if let Some(period) = self.period {
            if at < self.begin(cursor.cycle) || at >= self.begin(cursor.cycle + 1.0) {
                let mut cycle = (at / period).floor();
                // The quotient is rounded, so it may be off by one.
                if self.begin(cycle) > at {
                    cycle -= 1.0;
                } else if self.begin(cycle + 1.0) <= at {
                    cycle += 1.0;
                }
                (cursor.cycle, cursor.index) = (cycle, 0);
            }
        }
        let begin = self.begin(cursor.cycle);
        let begins_by = |index: usize| begin + self.times[index] <= at;
        // The segment is at `low` or after it, and before `high`.
        let (mut low, mut high) = if begins_by(cursor.index) {
            let (mut low, mut step) = (cursor.index, 1);
            while low + step < self.times.len() && begins_by(low + step) {
                low += step;
                step *= 2;
            }
            (low, (low + step).min(self.times.len()))
        } else {
            (0, cursor.index)
        };
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if begins_by(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        cursor.index = low;
        cursor.segment = self.segment(cursor.cycle, low);
    }

    /// The value at an instant.
    #[inline]
    pub(super) fn value(&self, cursor: &mut Cursor, at: f64) -> f64 {
        self.seek(cursor, at);
        cursor.segment.value(at)
    }

    /// The value at an instant in seconds.
    pub fn at(&self, at: f64) -> f64 {
        self.value(&mut self.cursor(), at)
    }
}

impl Segment {
    #[inline]
    pub(super) fn is_level(&self) -> bool {
        self.at_start == self.at_end
    }

    #[inline]
    pub(super) fn is_zero(&self) -> bool {
        self.at_start == 0.0 && self.at_end == 0.0
    }

    #[inline]
    pub(super) fn value(&self, at: f64) -> f64 {
        if self.is_level() {
            return self.at_start;
        }
        let share = ((at - self.from) / (self.until - self.from)).clamp(0.0, 1.0);
        self.at_start + share * (self.at_end - self.at_start)
    }

    fn integral(&self) -> f64 {
        self.integral_from(self.from)
    }

    /// The integral from an instant in the segment to its end.
    pub(super) fn integral_from(&self, at: f64) -> f64 {
        f64::midpoint(self.value(at), self.at_end) * (self.until - at)
    }

    /// How many seconds after `at` the integral from there reaches `area`, which is at most the
    /// integral to the end of the segment.
    #[inline]
    pub(super) fn time_of(&self, at: f64, area: f64) -> f64 {
        let value = self.value(at);
        if self.is_level() {
            return area / value;
        }
        // The root of value x + slope x^2 / 2 = area, without a difference of nearly equal numbers.
        let slope = (self.at_end - self.at_start) / (self.until - self.from);
        let root = (value * value + 2.0 * slope * area).max(0.0).sqrt();
        2.0 * area / (value + root)
    }
}
