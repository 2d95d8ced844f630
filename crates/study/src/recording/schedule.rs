//! Converts a recording to the schedules of a link.

use std::sync::Arc;

use midflight_sim::{Curve, Opportunities, Outage, Schedule, Service, Shape};
use midflight_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Recording, Refused, Series, Way};

/// Bytes of a delivery opportunity of Mahimahi.
const OPPORTUNITY: f64 = 1500.0;
/// A recording that is not repeated ends after any run.
const LONG: Duration = Duration::from_secs(1_000_000_000);

/// The value of a quantity between two rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// That of the row before.
    #[default]
    Step,
    /// On the line between them.
    Linear,
}

/// The fate of packets in an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutageKind {
    /// They wait.
    Hold,
    /// They are lost.
    Drop,
}

/// What times without rows are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HoleKind {
    /// The values before them hold.
    #[default]
    Hold,
    /// Outages.
    Outage,
}

/// The part of a recording that is used, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Start, in the recording's time.
    pub from: Duration,
    /// End; none for the end of the recording.
    pub until: Option<Duration>,
    /// The offset of the run's start within this part.
    pub offset: Duration,
    /// Whether it repeats at its end; otherwise its last values hold.
    pub repeats: bool,
    /// A factor for rates.
    pub scale: f64,
    /// How values between rows are interpolated.
    pub between: Between,
    /// What happens to packets in outages, if the format does not specify it.
    pub outage: Option<OutageKind>,
    /// What times without rows are taken for.
    pub holes: HoleKind,
}

/// A link's own values in a direction; None if the recording has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// Its rate.
    pub rate: Option<Rate>,
}

/// A direction of a link that follows a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// The schedule that it follows.
    pub schedule: Arc<Schedule>,
    /// Its mean rate; none if that is the link's own.
    pub rate: Option<Rate>,
    /// Its mean delay; none if that is the link's own.
    pub delay: Option<Duration>,
}

/// The part of a recording for a run.
struct Window {
    from: Duration,
    length: Duration,
    offset: Duration,
    repeats: bool,
}

impl Window {
    /// A series within the window, in the run's time.
    fn series(&self, of: &Series, between: Between) -> Series {
        let inside = self.inside(of, between);
        if self.offset == Duration::ZERO || inside.is_empty() {
            return inside;
        }
        let begin = value_at(&inside, self.offset, between);
        let mut moved = vec![(Duration::ZERO, begin)];
        let later = inside.iter().filter(|point| point.0 > self.offset);
        moved.extend(later.map(|&(at, value)| (at.saturating_sub(self.offset), value)));
        if self.repeats {
            let wrap = self.length.saturating_sub(self.offset);
            let nanosecond = Duration::from_nanos(1);
            if between == Between::Linear {
                // The last value holds up to the end, where the series repeats.
                let last = inside.last().map_or(0.0, |point| point.1);
                let before = wrap.saturating_sub(nanosecond);
                if moved.last().is_some_and(|point| point.0 < before) {
                    moved.push((before, last));
                }
            }
            let earlier = inside.iter().filter(|point| point.0 < self.offset);
            let wrapped = earlier.map(|&(at, value)| (sum(wrap, at), value));
            let wrapped: Vec<_> = wrapped.collect();
            for point in wrapped {
                match moved.last_mut() {
                    Some(last) if last.0 >= point.0 => last.1 = point.1,
                    _ => moved.push(point),
                }
            }
        }
        moved
    }

    /// A series from the window's start to its end.
    fn inside(&self, of: &Series, between: Between) -> Series {
        if of.is_empty() {
            return Vec::new();
        }
        let mut inside = vec![(Duration::ZERO, value_at(of, self.from, between))];
        let later = of.iter().filter(|point| point.0 > self.from);
        let later = later.map(|&(at, value)| (at.saturating_sub(self.from), value));
        inside.extend(later.take_while(|point| point.0 < self.length));
        inside
    }

    /// Instants within the window, in the run's time.
    fn instants(&self, of: &[Duration]) -> Vec<Duration> {
        let end = sum(self.from, self.length);
        // An opportunity at the very end belongs to the window, as in Mahimahi.
        let inside = of.iter().filter(|at| **at >= self.from && **at <= end);
        let inside = inside.map(|at| at.saturating_sub(self.from));
        let (earlier, mut moved): (Vec<Duration>, Vec<Duration>) =
            inside.partition(|at| *at < self.offset);
        for at in &mut moved {
            *at = at.saturating_sub(self.offset);
        }
        if self.repeats {
            let wrap = self.length.saturating_sub(self.offset);
            moved.extend(earlier.into_iter().map(|at| sum(wrap, at)));
            moved.sort_unstable();
        }
        moved
    }

    fn period(&self) -> Option<Duration> {
        self.repeats.then_some(self.length)
    }
}

fn sum(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}

/// The value of a series at an instant.
fn value_at(of: &Series, at: Duration, between: Between) -> f64 {
    let next = of.partition_point(|point| point.0 <= at);
    let before = of[next.saturating_sub(1)];
    match of.get(next) {
        Some(after) if between == Between::Linear && next > 0 => {
            let span = after.0.saturating_sub(before.0).as_secs_f64();
            let share = at.saturating_sub(before.0).as_secs_f64() / span;
            before.1 + share * (after.1 - before.1)
        }
        _ => before.1,
    }
}

/// A rate in steps that is zero in outages.
fn with_outages(rate: &Series, outages: &[(Duration, Duration)]) -> Series {
    let mut edges: Vec<Duration> = rate.iter().map(|point| point.0).collect();
    edges.extend(outages.iter().flat_map(|&(from, until)| [from, until]));
    edges.sort_unstable();
    edges.dedup();
    let mut found: Series = Vec::with_capacity(edges.len());
    let mut outages = outages.iter().peekable();
    for at in edges {
        while outages.next_if(|outage| outage.1 <= at).is_some() {}
        let is_out = outages.peek().is_some_and(|outage| outage.0 <= at);
        let value = if is_out {
            0.0
        } else {
            value_at(rate, at, Between::Step)
        };
        found.push((at, value));
    }
    found
}

/// A rate that is zero in holes, between which it is interpolated. It falls and rises within a nanosecond.
fn with_holes(rate: &Series, holes: &[(Duration, Duration)], between: Between) -> Series {
    let nanosecond = Duration::from_nanos(1);
    let mut found = rate.clone();
    for &(from, until) in holes {
        let (before, after) = (
            value_at(rate, from, Between::Step),
            value_at(rate, until, between),
        );
        found.retain(|point| point.0 < from || point.0 >= until);
        let place = found.partition_point(|point| point.0 < from);
        let mut edges = vec![(from, 0.0)];
        if between == Between::Linear {
            edges.insert(0, (from.saturating_sub(nanosecond), before));
            edges.push((until.saturating_sub(nanosecond), 0.0));
        }
        if found.get(place).is_none_or(|point| point.0 > until) {
            edges.push((until, after));
        }
        found.splice(place..place, edges);
    }
    found
}

/// An error if nothing can be sent at the highest rate.
fn check_highest(bps: f64) -> Result<(), String> {
    if bps < 1.0 {
        return Err(format!(
            "its highest rate is {bps} bit/s; expected some that is not zero"
        ));
    }
    Ok(())
}

/// An error if the outages of delivery opportunities are to lose packets.
fn check_outage(cut: &Cut) -> Result<(), String> {
    if cut.outage == Some(OutageKind::Drop) {
        return Err("packets wait for its next delivery opportunity, so it has no outages that lose them; expected outage = \"hold\", or no outage".into());
    }
    Ok(())
}

/// The mean of a curve over time.
fn mean(curve: &Curve) -> f64 {
    if curve.span() > 0.0 {
        curve.integral() / curve.span()
    } else {
        curve.at(0.0)
    }
}

impl Recording {
    /// The schedule of a direction from the cut recording; none if it has no values for that
    /// direction.
    ///
    /// # Errors
    /// A sentence that names what is invalid.
    pub fn follow(&self, up: bool, cut: &Cut, own: Own) -> Result<Option<Followed>, String> {
        let window = self.window(cut).map_err(|refused| refused.why)?;
        let recorded = if up { &self.up } else { &self.down };
        self.follow_way(recorded, &window, cut, own)
    }

    /// Refuses a part that the recording does not have.
    ///
    /// # Errors
    /// [`Refused`] with the key `from`, `until` or `offset`.
    pub fn check(&self, cut: &Cut) -> Result<(), Refused> {
        self.window(cut).map(|_| ())
    }

    /// The part of the recording that a link follows, as a recording that begins when the run does.
    ///
    /// # Errors
    /// A sentence that names what is invalid.
    pub fn part(&self, cut: &Cut) -> Result<Self, String> {
        let window = self.window(cut).map_err(|refused| refused.why)?;
        let begin = sum(window.from, window.offset);
        let end = sum(window.from, window.length);
        let span = if window.repeats {
            window.length
        } else {
            window.length.saturating_sub(window.offset)
        };
        // Of a part that repeats, what is before the offset comes at its end.
        let moves = |at: Duration| {
            if at >= begin {
                at.saturating_sub(begin)
            } else {
                sum(end.saturating_sub(begin), at.saturating_sub(window.from))
            }
        };
        let sides = [(begin, end), (window.from, begin)];
        let sides = if window.repeats {
            &sides[..]
        } else {
            &sides[..1]
        };
        let times = |of: &[(Duration, Duration)]| -> Vec<(Duration, Duration)> {
            let cuts = sides.iter().flat_map(|&(from, until)| {
                let inside = of
                    .iter()
                    .map(move |one| (one.0.max(from), one.1.min(until)));
                inside.filter(|one| one.0 < one.1)
            });
            cuts.map(|one| (moves(one.0), sum(moves(one.0), one.1.saturating_sub(one.0))))
                .collect()
        };
        let way = |of: &Way| -> Result<Way, String> {
            if !of.opportunities.is_empty() {
                check_outage(cut)?;
            }
            let mut rate: Series = of.rate.iter().map(|p| (p.0, p.1 * cut.scale)).collect();
            if cut.holes == HoleKind::Outage && !rate.is_empty() {
                rate = with_holes(&rate, &self.holes, cut.between);
            }
            let rate = window.series(&rate, cut.between);
            if !rate.is_empty() {
                check_highest(rate.iter().map(|point| point.1).fold(0.0, f64::max))?;
            }
            Ok(Way {
                rate,
                delay: window.series(&of.delay, cut.between),
                loss: window.series(&of.loss, cut.between),
                opportunities: window.instants(&of.opportunities),
            })
        };
        let inside =
            |at: Duration| at < end && (at >= begin || (window.repeats && at >= window.from));
        let of_rows = self.rows.iter().enumerate();
        let mut rows: Vec<(Duration, usize)> = of_rows
            .filter(|(_, at)| inside(**at))
            .map(|(row, at)| (moves(*at), row))
            .collect();
        rows.sort_unstable();
        let mut blanks = self.blanks.clone();
        for one in &mut blanks {
            one.in_row = rows.iter().map(|(_, row)| one.in_row[*row]).collect();
        }
        let mut found = Self {
            rows: rows.iter().map(|(at, _)| *at).collect(),
            blanks,
            down: way(&self.down)?,
            up: way(&self.up)?,
            span,
            outages: times(&self.outages),
            holes: times(&self.holes),
            ..self.clone()
        };
        if cut.holes == HoleKind::Outage {
            found.outages.extend(&found.holes);
            found.outages.sort_unstable();
        }
        found.handovers.retain(|one| inside(one.0));
        for one in &mut found.handovers {
            one.0 = moves(one.0);
        }
        found.handovers.sort_unstable();
        Ok(found)
    }

    /// Remarks on the rows of the part of the recording that a link follows; times are from when the run begins.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn remarks_of_part(&self, cut: &Cut) -> Result<Vec<String>, String> {
        let whole = self.row_remarks(cut.holes);
        let is_part =
            cut.from != Duration::ZERO || cut.until.is_some() || cut.offset != Duration::ZERO;
        if whole.is_empty() || !is_part {
            return Ok(whole);
        }
        Ok(self.part(cut)?.row_remarks(cut.holes))
    }

    fn window(&self, cut: &Cut) -> Result<Window, Refused> {
        let refused = |key, why| Err(Refused { key, why });
        let until = cut.until.unwrap_or(self.span);
        let (span, from, to) = (
            self.span.as_secs_f64(),
            cut.from.as_secs_f64(),
            until.as_secs_f64(),
        );
        if cut.from >= self.span {
            return refused("from", format!(
                "from {from} s is at or after the end of the recording, which lasts {span} s; expected a time before {span} s"
            ));
        }
        if until > self.span {
            return refused("until", format!(
                "until {to} s is after the end of the recording, which lasts {span} s; expected a time up to {span} s, or no until"
            ));
        }
        if cut.from >= until {
            return refused(
                "from",
                format!("from {from} s is not before until {to} s; expected a from below it"),
            );
        }
        let length = until.saturating_sub(cut.from);
        let offset = if cut.repeats {
            Duration::from_nanos(cut.offset.as_nanos() % length.as_nanos())
        } else {
            cut.offset
        };
        if offset >= length {
            return refused("offset", format!(
                "the offset of {} s is not within the part of {} s; expected less, or repeat = true",
                offset.as_secs_f64(),
                length.as_secs_f64()
            ));
        }
        Ok(Window {
            from: cut.from,
            length,
            offset,
            repeats: cut.repeats,
        })
    }

    fn follow_way(
        &self,
        recorded: &Way,
        window: &Window,
        cut: &Cut,
        own: Own,
    ) -> Result<Option<Followed>, String> {
        let shape = match cut.between {
            Between::Step => Shape::Step,
            Between::Linear => Shape::Linear,
        };
        let period = window.period();
        let curve = |of: &Series, shape, between| -> Result<Option<Curve>, String> {
            if of.is_empty() {
                return Ok(None);
            }
            let points = window.series(of, between);
            let found = Curve::new(&points, shape, period);
            found
                .map(Some)
                .map_err(|e| format!("a link cannot follow it: {e}"))
        };
        let delay = curve(&recorded.delay, shape, cut.between)?;
        let loss = curve(&recorded.loss, shape, cut.between)?;
        let mut scaled: Series = recorded
            .rate
            .iter()
            .map(|p| (p.0, p.1 * cut.scale))
            .collect();
        if cut.holes == HoleKind::Outage && !self.holes.is_empty() {
            if let (true, Some(own)) = (scaled.is_empty(), own.rate) {
                scaled = vec![(Duration::ZERO, own.as_bps() as f64)];
            }
            if !scaled.is_empty() {
                scaled = with_holes(&scaled, &self.holes, cut.between);
            }
        }
        let rate = match (self.outages.is_empty(), scaled.is_empty(), own.rate) {
            (true, _, _) => curve(&scaled, shape, cut.between)?,
            (false, true, Some(rate)) => {
                let rate = vec![(Duration::ZERO, rate.as_bps() as f64)];
                curve(
                    &with_outages(&rate, &self.outages),
                    Shape::Step,
                    Between::Step,
                )?
            }
            (false, true, None) => None,
            (false, false, _) => curve(
                &with_outages(&scaled, &self.outages),
                Shape::Step,
                Between::Step,
            )?,
        };
        if let Some(rate) = &rate {
            check_highest(rate.range().1)?;
        }
        let mean_rate = rate.as_ref().map(mean);
        let (service, mean_rate) = if recorded.opportunities.is_empty() {
            let service = rate.map_or(Service::Own, Service::Rate);
            (service, mean_rate)
        } else {
            let opportunities = Self::opportunities(recorded, window, cut)?;
            let mean = opportunities.mean_bps();
            let mean = if window.repeats {
                mean
            } else {
                let count = recorded.opportunities.len() as f64;
                8.0 * f64::from(opportunities.bytes()) * count / self.span.as_secs_f64()
            };
            check_outage(cut)?;
            (Service::Opportunities(opportunities), Some(mean))
        };
        if matches!(service, Service::Own) && delay.is_none() && loss.is_none() {
            return Ok(None);
        }
        let outage = match cut.outage {
            Some(OutageKind::Drop) => Outage::Drop,
            None if self.drops => Outage::Drop,
            Some(OutageKind::Hold) | None => Outage::Hold,
        };
        let mean_delay = delay.as_ref().map(mean);
        let schedule = Schedule::new(service, delay, loss, outage);
        let schedule = schedule.map_err(|e| format!("a link cannot follow it: {e}"))?;
        // With outages alone the rate is the link's own.
        let is_recorded = !(recorded.rate.is_empty() && recorded.opportunities.is_empty());
        let mean_rate = mean_rate.filter(|_| is_recorded);
        let rate = mean_rate.and_then(|rate| Rate::from_bps(rate.round().max(1.0) as u64));
        Ok(Some(Followed {
            schedule: Arc::new(schedule),
            rate,
            delay: mean_delay.map(|s| Duration::from_nanos((s * 1e9).round() as u64)),
        }))
    }

    fn opportunities(of: &Way, window: &Window, cut: &Cut) -> Result<Opportunities, String> {
        let bytes = (OPPORTUNITY * cut.scale).round();
        if !(1.0..=1e9).contains(&bytes) {
            return Err(format!(
                "a scale of {} makes opportunities of {bytes} bytes; expected 1 and more",
                cut.scale
            ));
        }
        let times = window.instants(&of.opportunities);
        let period = window.period().unwrap_or(LONG);
        let found = Opportunities::new(&times, bytes as u32, period);
        found.map_err(|e| format!("a link cannot follow it: {e}"))
    }
}
