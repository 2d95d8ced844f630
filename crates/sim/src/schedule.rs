//! Parameters of a link that follow a schedule: its rate, delay and loss over time.
//!
//! The schedule is known from the start, so a packet's departure is still known when the link accepts it: it
//! is over when the integral of the rate over its transmission is its size. Nothing is on the agenda for it.
//! Where a link has no schedule nothing of this is called.

mod curve;
mod opportunities;

use std::fmt;
use std::sync::Arc;

pub use self::curve::{Curve, Shape};
pub use self::opportunities::Opportunities;

use self::curve::{Cursor, NEVER};
use self::opportunities::Used;
use crate::random::{stream, Stream};

/// A schedule that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It has no points, or the first is not at zero.
    #[error("it has no point at its start")]
    Start,
    /// A point is not after the one before it.
    #[error("point {point} is not after the one before it")]
    Order {
        /// Its number, from 0.
        point: usize,
    },
    /// A value is negative, too large, or no number.
    #[error("point {point} has a value that is no number from 0 to 1e18")]
    Value {
        /// Its number, from 0.
        point: usize,
    },
    /// The period ends before the last point.
    #[error("its period is over before its last point")]
    Period,
    /// There is no opportunity to send.
    #[error("it has no opportunity to send")]
    NoOpportunity,
    /// A share of packets above one.
    #[error("it loses more than all packets")]
    Loss,
}

/// What the transmitter does.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// It has the link's own rate.
    Own,
    /// It sends so many bits per second.
    Rate(Curve),
    /// It sends at given instants.
    Opportunities(Opportunities),
}

/// What becomes of packets while the rate is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outage {
    /// They wait; a transmission that had begun goes on afterwards.
    #[default]
    Hold,
    /// Those that wait when it begins, the one in transmission included, are lost, and so is what
    /// comes until it ends.
    Drop,
}

/// Rate, delay and loss of a link over time.
#[derive(Clone)]
pub struct Schedule {
    service: Service,
    /// One-way delay in seconds, at the instant at which a transmission ends.
    delay: Option<Curve>,
    /// Share of packets lost, at the instant at which they would arrive.
    loss: Option<Curve>,
    outage: Outage,
    /// Of all of it.
    hash: [u8; 32],
}

/// As the hash of its content: a schedule may have hundreds of thousands of points.
impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schedule(")?;
        for byte in self.hash {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Schedule {
    /// A schedule of these parts.
    ///
    /// # Errors
    /// [`ScheduleError::Loss`].
    pub fn new(
        service: Service,
        delay: Option<Curve>,
        loss: Option<Curve>,
        outage: Outage,
    ) -> Result<Self, ScheduleError> {
        if loss.as_ref().is_some_and(|loss| loss.range().1 > 1.0) {
            return Err(ScheduleError::Loss);
        }
        let mut schedule = Self {
            service,
            delay,
            loss,
            outage,
            hash: [0; 32],
        };
        schedule.hash = schedule.content();
        Ok(schedule)
    }

    fn content(&self) -> [u8; 32] {
        let mut bytes = Vec::new();
        let mut add = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
        let curves = [
            match &self.service {
                Service::Rate(rate) => Some(rate),
                _ => None,
            },
            self.delay.as_ref(),
            self.loss.as_ref(),
        ];
        add(u64::from(self.outage == Outage::Drop));
        for curve in curves {
            add(curve.map_or(0, |c| c.len() as u64));
            if let Some(curve) = curve {
                curve.fold(&mut add);
            }
        }
        if let Service::Opportunities(opportunities) = &self.service {
            opportunities.fold(&mut add);
        }
        *blake3::hash(&bytes).as_bytes()
    }

    /// What the transmitter does.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// One-way delay in seconds over time, if it is on the schedule.
    pub fn delay(&self) -> Option<&Curve> {
        self.delay.as_ref()
    }

    /// Share of packets lost over time, if it is on the schedule.
    pub fn loss(&self) -> Option<&Curve> {
        self.loss.as_ref()
    }

    /// What becomes of packets while the rate is zero.
    pub fn outage(&self) -> Outage {
        self.outage
    }

    /// Whether it loses packets at the far end.
    pub(crate) fn loses(&self) -> bool {
        self.loss.is_some() || self.drops()
    }

    /// Whether an outage takes what it meets.
    pub(crate) fn drops(&self) -> bool {
        self.outage == Outage::Drop && matches!(self.service, Service::Rate(_))
    }
}

/// The schedule of a link in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSchedule {
    /// What it is.
    pub schedule: Arc<Schedule>,
    /// Of the random stream of its losses; see [`crate::random::seed`].
    pub seed: u64,
}

/// How a link sends a packet by its schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sending {
    /// Its first bit goes out, in seconds.
    pub(crate) first: f64,
    /// Seconds from there to its last one.
    pub(crate) seconds: f64,
    /// An outage takes it.
    pub(crate) lost: bool,
}

/// Where someone reads a schedule.
#[derive(Clone, Copy, Debug)]
struct Reading {
    rate: Option<Cursor>,
    used: Used,
}

impl Reading {
    fn new(schedule: &Schedule) -> Self {
        let rate = match &schedule.service {
            Service::Rate(rate) => Some(rate.cursor()),
            _ => None,
        };
        Self {
            rate,
            used: Used::default(),
        }
    }
}

/// A schedule at work.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    schedule: Arc<Schedule>,
    /// For the packets that come, and for those at the far end.
    near: Reading,
    far: Reading,
    delay: Option<Cursor>,
    loss: Option<Cursor>,
    stream: Stream,
    steady: Steady,
}

/// From when to when a transmission of so many bytes may begin that takes as long as the one before, and
/// is followed by the same delay.
#[derive(Clone, Copy, Debug)]
struct Steady {
    bytes: u32,
    from: f64,
    until: f64,
}

impl Steady {
    /// Each packet is looked at.
    const NEVER: Self = Self {
        bytes: 0,
        from: 0.0,
        until: -1.0,
    };
}

/// What no rounding takes away, in seconds.
const BEHIND: f64 = 1e-9;

impl Following {
    pub(crate) fn new(link: &LinkSchedule) -> Box<Self> {
        let schedule = &link.schedule;
        Box::new(Self {
            near: Reading::new(schedule),
            far: Reading::new(schedule),
            delay: schedule.delay.as_ref().map(Curve::cursor),
            loss: schedule.loss.as_ref().map(Curve::cursor),
            stream: stream(link.seed, 0, "link", "schedule"),
            schedule: Arc::clone(schedule),
            steady: Steady::NEVER,
        })
    }

    /// What the transmitter does.
    pub(crate) fn service(&self) -> &Service {
        &self.schedule.service
    }

    /// Whether everything is as for the packet before for one of so many bytes whose transmission would
    /// begin at `at`.
    #[inline(always)]
    pub(crate) fn is_steady(&self, at: f64, bytes: u32) -> bool {
        let steady = &self.steady;
        bytes == steady.bytes && at >= steady.from && at <= steady.until
    }

    /// How a packet is sent that comes to the transmitter at `at`, where it has waited or not, and its
    /// delay. The link's own rate and delay stand for what is not on the schedule; the packet before arrives
    /// at `last`, and nothing before that.
    pub(crate) fn send(
        &mut self,
        (at, waited): (f64, bool),
        bytes: u32,
        (own_bps, own_delay): (f64, f64),
        last: f64,
    ) -> (Sending, f64) {
        let sending = self.near.send(&self.schedule, (at, waited), bytes, own_bps);
        let over = sending.first + sending.seconds;
        let delay = match (&self.schedule.delay, &mut self.delay) {
            (Some(curve), Some(cursor)) => curve.value(cursor, over),
            _ => own_delay,
        };
        if over + delay < last + BEHIND {
            self.steady = Steady::NEVER;
            return (sending, last + BEHIND - over);
        }
        self.steady = if sending.lost {
            Steady::NEVER
        } else {
            self.steady_from(over, bytes, sending.seconds)
        };
        (sending, delay)
    }

    /// From the end of a transmission on, which took so many seconds.
    fn steady_from(&self, over: f64, bytes: u32, seconds: f64) -> Steady {
        let level = |cursor: &Option<Cursor>| match cursor {
            None => Some(NEVER),
            Some(cursor) if cursor.segment.is_level() => Some(cursor.segment.until),
            Some(_) => None,
        };
        let is_rate = !matches!(self.schedule.service, Service::Opportunities(_));
        match (level(&self.near.rate), level(&self.delay)) {
            (Some(rate), Some(delay)) if is_rate => {
                // It may have begun before the rate was what it is now.
                let begun = self.near.rate.map_or(0.0, |cursor| cursor.segment.from);
                let is_all = over - seconds >= begun;
                Steady {
                    bytes: if is_all { bytes } else { 0 },
                    from: over,
                    // What ends before is before the end of both, however it is rounded.
                    until: rate.min(delay) - seconds - BEHIND,
                }
            }
            _ => Steady::NEVER,
        }
    }

    /// The next packet is looked at.
    pub(crate) fn look_again(&mut self) {
        self.steady = Steady::NEVER;
    }

    /// Whether there is an outage at an instant that takes what comes.
    pub(crate) fn takes(&mut self, at: f64) -> bool {
        match (&self.schedule.service, &mut self.near.rate) {
            (Service::Rate(rate), Some(cursor)) if self.schedule.outage == Outage::Drop => {
                // The transmitter may be ahead, and is not to be moved for that.
                let mut cursor = *cursor;
                rate.seek(&mut cursor, at);
                cursor.segment.is_zero()
            }
            _ => false,
        }
    }

    /// Whether an outage took the packet at the far end, whose transmission began at an instant.
    pub(crate) fn took(&mut self, start: f64, bytes: u32, bps: f64) -> bool {
        if !self.schedule.drops() {
            return false;
        }
        let at = (start, true);
        self.far.send(&self.schedule, at, bytes, bps).lost
    }

    /// Whether the radio loses the packet at the far end.
    pub(crate) fn loses(&mut self, at: f64) -> bool {
        match (&self.schedule.loss, &mut self.loss) {
            (Some(curve), Some(cursor)) => self.stream.next_f64() < curve.value(cursor, at),
            _ => false,
        }
    }
}

impl Reading {
    /// How a packet is sent that comes to the transmitter at an instant, where it has waited or not.
    fn send(&mut self, of: &Schedule, (at, waited): (f64, bool), bytes: u32, bps: f64) -> Sending {
        let bits = 8.0 * f64::from(bytes);
        match (&of.service, &mut self.rate) {
            (Service::Rate(rate), Some(cursor)) => {
                rate.seek(cursor, at);
                // Mostly the packet is over before the rate changes.
                let seconds = bits / cursor.segment.at_start;
                if cursor.segment.is_level() && at + seconds <= cursor.segment.until {
                    return Sending {
                        first: at,
                        seconds,
                        lost: false,
                    };
                }
                transmission(rate, cursor, at, bits, of.outage)
            }
            (Service::Opportunities(opportunities), _) => {
                let (first, last) = opportunities.serve(&mut self.used, at, waited, bytes);
                Sending {
                    first,
                    seconds: last - first,
                    lost: false,
                }
            }
            _ => Sending {
                first: at,
                seconds: bits / bps,
                lost: false,
            },
        }
    }
}

/// A transmission over several segments of a rate, the first of which is the cursor's.
fn transmission(rate: &Curve, cursor: &mut Cursor, at: f64, bits: f64, outage: Outage) -> Sending {
    let over = |until: f64, lost| Sending {
        first: at,
        seconds: until - at,
        lost,
    };
    let (mut now, mut left) = (at, bits);
    loop {
        let segment = cursor.segment;
        let is_out = segment.is_zero();
        if is_out && outage == Outage::Drop {
            return over(now, true);
        }
        if segment.until >= NEVER && is_out {
            return over(NEVER, false);
        }
        let fits = segment.integral_from(now);
        if left <= fits {
            return over(now + segment.time_of(now, left), false);
        }
        left -= fits;
        now = segment.until;
        if now >= NEVER {
            return over(NEVER, false);
        }
        // After a whole period of almost nothing the next ones need not be looked at one by one.
        let whole = rate.integral();
        let takes = outage == Outage::Drop && rate.rests();
        if rate.is_at_end(cursor) && left > whole && !takes {
            if whole <= 0.0 {
                return over(NEVER, false);
            }
            let periods = (left / whole).floor().min(NEVER / rate.span());
            left -= periods * whole;
            rate.advance(cursor);
            rate.skip(cursor, periods);
            now = cursor.segment.from;
            if left <= 0.0 {
                return over(now, false);
            }
            continue;
        }
        rate.advance(cursor);
    }
}
