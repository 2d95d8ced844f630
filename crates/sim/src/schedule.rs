//! Parameters of a link that follow a schedule: its rate, delay and loss over time.
//!
//! The schedule is known from the start, so a packet's departure is still known when the link accepts it: it
//! departs when the integral of the rate over its transmission equals its size. It needs no event on the
//! agenda. For a link without a schedule none of this code runs.

mod curve;
mod opportunities;

use std::fmt;
use std::sync::Arc;

use midflight_units::Rate;

pub use self::curve::{Curve, Shape};
pub use self::opportunities::Opportunities;

use self::curve::{Cursor, NEVER};
use self::opportunities::Used;
use crate::moment::{Clock, FineTime};
use crate::random::{stream, Stream};

/// An invalid schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It has no points, or the first point is not at zero.
    #[error("it has no point at its start")]
    Start,
    /// A point is not after the one before it.
    #[error("point {point} is not after the one before it")]
    Order {
        /// Its number, from 0.
        point: usize,
    },
    /// A value is negative, too large, or not a number.
    #[error("the value of point {point} is not a number from 0 to 1e18")]
    Value {
        /// Its number, from 0.
        point: usize,
    },
    /// The period ends before the last point.
    #[error("its period ends before its last point")]
    Period,
    /// There is no opportunity to send.
    #[error("it has no opportunity to send")]
    NoOpportunity,
    /// A loss rate above one.
    #[error("it loses more than all packets")]
    Loss,
}

/// The transmitter's mode.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// It has the link's own rate.
    Own,
    /// It sends this many bits per second.
    Rate(Curve),
    /// It sends at given instants.
    Opportunities(Opportunities),
}

/// What happens to packets while the rate is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outage {
    /// They wait; a transmission in progress continues afterwards.
    #[default]
    Hold,
    /// Packets that wait when it begins, including the one in transmission, are lost, and so are packets that
    /// arrive until it ends.
    Drop,
}

/// Rate, delay and loss of a link over time.
#[derive(Clone)]
pub struct Schedule {
    service: Service,
    /// One-way delay in seconds, taken at the instant at which a transmission ends.
    delay: Option<Curve>,
    /// Fraction of packets lost, taken at the instant at which they would arrive.
    loss: Option<Curve>,
    outage: Outage,
    /// Hash of its content.
    hash: [u8; 32],
}

/// Prints the hash of its content: a schedule may have hundreds of thousands of points.
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
    /// A schedule with these parts.
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

    /// The transmitter's mode.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// One-way delay in seconds over time, if the schedule has it.
    pub fn delay(&self) -> Option<&Curve> {
        self.delay.as_ref()
    }

    /// Fraction of packets lost over time, if the schedule has it.
    pub fn loss(&self) -> Option<&Curve> {
        self.loss.as_ref()
    }

    /// What happens to packets while the rate is zero.
    pub fn outage(&self) -> Outage {
        self.outage
    }

    /// Whether it loses packets at the far end.
    pub(crate) fn loses(&self) -> bool {
        self.loss.is_some() || self.drops()
    }

    /// Whether an outage drops packets.
    pub(crate) fn drops(&self) -> bool {
        self.outage == Outage::Drop && matches!(self.service, Service::Rate(_))
    }
}

/// The schedule of a link in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSchedule {
    /// The schedule.
    pub schedule: Arc<Schedule>,
    /// Seed of the random stream of its losses; see [`crate::random::seed`].
    pub seed: u64,
}

/// How a link with a schedule sends a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sending {
    /// When its first bit is sent.
    pub(crate) first: FineTime,
    /// The time from its first bit to its last one.
    pub(crate) transmission: f64,
    /// The propagation delay after that.
    pub(crate) delay: f64,
}

/// A transmission in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transmission {
    first: f64,
    seconds: f64,
    /// The packet is lost in an outage.
    lost: bool,
}

/// A reading position in a schedule.
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

/// An active schedule.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    schedule: Arc<Schedule>,
    clock: Clock,
    /// Positions for the packets that enter, and for those at the far end.
    near: Reading,
    far: Reading,
    delay: Option<Cursor>,
    loss: Option<Cursor>,
    stream: Stream,
    steady: Steady,
}

/// The interval in which a transmission of this many bytes may begin and still have the same duration and
/// delay as the one before.
#[derive(Clone, Copy, Debug)]
struct Steady {
    bytes: u32,
    from: FineTime,
    until: FineTime,
}

impl Steady {
    /// No packet is steady: each one is computed.
    const NEVER: Self = Self {
        bytes: 0,
        from: FineTime::NEVER,
        until: FineTime::ZERO,
    };
}

/// A margin above all rounding errors, in seconds.
const BEHIND: f64 = 1e-9;

impl Following {
    pub(crate) fn new(link: &LinkSchedule, clock: Clock) -> Box<Self> {
        let schedule = &link.schedule;
        Box::new(Self {
            clock,
            near: Reading::new(schedule),
            far: Reading::new(schedule),
            delay: schedule.delay.as_ref().map(Curve::cursor),
            loss: schedule.loss.as_ref().map(Curve::cursor),
            stream: stream(link.seed, 0, "link", "schedule"),
            schedule: Arc::clone(schedule),
            steady: Steady::NEVER,
        })
    }

    /// Whether transmissions take no time.
    pub(crate) fn sends_at_instants(&self) -> bool {
        matches!(self.schedule.service, Service::Opportunities(_))
    }

    /// The rate in bit/s and the delay at an instant, as far as the schedule has them.
    pub(crate) fn now(&self, at: FineTime) -> (Option<u64>, Option<f64>) {
        let seconds = self.clock.seconds(at);
        let bps = match &self.schedule.service {
            Service::Own => None,
            Service::Rate(rate) => Some(rate.at(seconds)),
            Service::Opportunities(given) => Some(given.recent_bps(seconds)),
        };
        let delay = self.schedule.delay.as_ref();
        let delay = delay.map(|delay| self.clock.of_seconds(delay.at(seconds)));
        (bps.map(|bps| bps.round() as u64), delay)
    }

    /// The transmitter's mode.
    pub(crate) fn service(&self) -> &Service {
        &self.schedule.service
    }

    /// Whether a packet of this many bytes whose transmission would begin at `at` has the same transmission
    /// time and delay as the packet before.
    #[inline(always)]
    pub(crate) fn is_steady(&self, at: FineTime, bytes: u32) -> bool {
        let steady = &self.steady;
        bytes == steady.bytes && at >= steady.from && steady.until >= at
    }

    /// The next packet is computed again.
    pub(crate) fn look_again(&mut self) {
        self.steady = Steady::NEVER;
    }

    /// How a packet is sent that reaches the transmitter at `at`; the flag says whether it has waited. The
    /// link's own rate and delay are used if the schedule does not have them. The packet before arrives at
    /// `last`, and no packet arrives before that.
    pub(crate) fn send(
        &mut self,
        (at, waited): (FineTime, bool),
        bytes: u32,
        (own_rate, own_delay): (Rate, f64),
        last: FineTime,
    ) -> Sending {
        let clock = self.clock;
        let seconds = clock.seconds(at);
        let sent = self.near.send(&self.schedule, (seconds, waited), bytes);
        let (first, transmission) = match sent {
            None => (at, clock.transmission(bytes, own_rate)),
            Some(sent) if sent.first == seconds => (at, clock.of_seconds(sent.seconds)),
            Some(sent) => {
                let first = clock.at_seconds(sent.first);
                let over = clock.at_seconds(sent.first + sent.seconds);
                (first, over.minus(first))
            }
        };
        let over = first.plus(transmission);
        let delay = match (&self.schedule.delay, &mut self.delay) {
            (Some(curve), Some(cursor)) => {
                clock.of_seconds(curve.value(cursor, clock.seconds(over)))
            }
            _ => own_delay,
        };
        let earliest = last.plus(clock.nanosecond());
        let overtakes = earliest > over.plus(delay);
        let is_taken = sent.is_some_and(|sent| sent.lost);
        self.steady = if overtakes || is_taken {
            Steady::NEVER
        } else {
            self.steady_from(over, bytes, transmission)
        };
        Sending {
            first,
            transmission,
            delay: if overtakes {
                earliest.minus(over)
            } else {
                delay
            },
        }
    }

    /// The steady interval after a transmission that ended at `over` and took this long.
    fn steady_from(&self, over: FineTime, bytes: u32, transmission: f64) -> Steady {
        if matches!(self.schedule.service, Service::Opportunities(_)) {
            return Steady::NEVER;
        }
        let mut end = NEVER;
        for cursor in [&self.near.rate, &self.delay].into_iter().flatten() {
            if !cursor.segment.is_level() {
                return Steady::NEVER;
            }
            end = end.min(cursor.segment.until);
        }
        let clock = self.clock;
        // It may have begun before the rate had its present value.
        let begun = over.plus(-transmission);
        if let Some(rate) = &self.near.rate {
            if clock.at_seconds(rate.segment.from) > begun {
                return Steady::NEVER;
            }
        }
        Steady {
            bytes,
            from: over,
            // A transmission that ends before this also ends before the end of both segments, however it is
            // rounded.
            until: clock.at_seconds(end - BEHIND).plus(-transmission),
        }
    }

    /// Whether a packet that arrives at this instant is lost in an outage.
    pub(crate) fn takes(&mut self, at: FineTime) -> bool {
        match (&self.schedule.service, &self.near.rate) {
            (Service::Rate(rate), Some(cursor)) if self.schedule.outage == Outage::Drop => {
                // The transmitter may be ahead, and its cursor must not move back.
                let mut cursor = *cursor;
                rate.seek(&mut cursor, self.clock.seconds(at));
                cursor.segment.is_zero()
            }
            _ => false,
        }
    }

    /// Whether an outage dropped the packet at the far end, whose transmission began at `start`.
    pub(crate) fn took(&mut self, start: FineTime, bytes: u32) -> bool {
        if !self.schedule.drops() {
            return false;
        }
        let at = (self.clock.seconds(start), true);
        let sent = self.far.send(&self.schedule, at, bytes);
        sent.is_some_and(|sent| sent.lost)
    }

    /// Whether the packet at the far end is lost on the radio link.
    pub(crate) fn loses(&mut self, at: FineTime) -> bool {
        match (&self.schedule.loss, &mut self.loss) {
            (Some(curve), Some(cursor)) => {
                let share = curve.value(cursor, self.clock.seconds(at));
                self.stream.next_f64() < share
            }
            _ => false,
        }
    }
}

impl Reading {
    /// How a packet is sent that reaches the transmitter at an instant; the flag says whether it has waited.
    /// None if the link's own rate applies.
    fn send(
        &mut self,
        of: &Schedule,
        (at, waited): (f64, bool),
        bytes: u32,
    ) -> Option<Transmission> {
        let bits = 8.0 * f64::from(bytes);
        match (&of.service, &mut self.rate) {
            (Service::Rate(rate), Some(cursor)) => {
                rate.seek(cursor, at);
                // Usually the transmission ends before the rate changes.
                let seconds = bits / cursor.segment.at_start;
                if cursor.segment.is_level() && at + seconds <= cursor.segment.until {
                    return Some(Transmission {
                        first: at,
                        seconds,
                        lost: false,
                    });
                }
                Some(transmission(rate, cursor, at, bits, of.outage))
            }
            (Service::Opportunities(opportunities), _) => {
                let (first, last) = opportunities.serve(&mut self.used, at, waited, bytes);
                Some(Transmission {
                    first,
                    seconds: last - first,
                    lost: false,
                })
            }
            _ => None,
        }
    }
}

/// A transmission over several segments of a rate, the first of which is the cursor's.
fn transmission(
    rate: &Curve,
    cursor: &mut Cursor,
    at: f64,
    bits: f64,
    outage: Outage,
) -> Transmission {
    let over = |until: f64, lost| Transmission {
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
        // After a whole period of almost no data, whole periods are skipped.
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
