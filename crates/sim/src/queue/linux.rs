//! `CoDel` and FQ-CoDel as in Linux 6.12 (`include/net/codel_impl.h`, `net/sched/sch_codel.c`, `sch_fq_codel.c`).
//!
//! Differences from the RFCs:
//!
//! - Time is counted in units of 1024 ns, and a drop is allowed once the delay has been above the target for *more*
//!   than an interval.
//! - The inverse square root of the count is a number of 16 bits that each drop improves by one step of Newton's method
//!   (`codel_Newton_step()`): the second interval is half of the first, while the exact value is 0.71 of it.
//! - Nothing is dropped while no more than an MTU waits at the link. In FQ-CoDel too this counts all queues, so other
//!   flows prevent it for a short queue.
//! - A packet that finds the link's queue empty while the transmitter is busy bypasses the discipline
//!   (`TCQ_F_CAN_BYPASS`, `sch_direct_xmit()`): it is sent next, without a place in a flow's queue and without using
//!   that flow's credit.
//! - Packets that FQ-CoDel drops at its limit increase the count of that flow's `CoDel`.
//!
//! Packet sizes are those of IP here; on an Ethernet the kernel adds the frame's header to MTU, quantum and packets.

use midflight_units::Instant;

use super::codel::{CoDel, Law};
use super::fifo::{Fifo, Waiting};
use super::fq_codel::{self, FqCoDel};
use super::{codel, Effects, QueueKind, QueueParameters};
use crate::event::DropCause;

pub(super) static CODEL: QueueKind = QueueKind {
    name: "codel-linux",
    summary: "codel as the Linux kernel computes it",
    source: "Linux 6.12, include/net/codel_impl.h",
    make: |config| Box::new(CoDel::<Kernel>::new(config)),
    ..codel::CODEL
};

pub(super) static FQ_CODEL: QueueKind = QueueKind {
    name: "fq-codel-linux",
    summary: "fq-codel as in the Linux kernel",
    source: "Linux 6.12, net/sched/sch_fq_codel.c",
    make: |config| Box::new(FqCoDel::<Kernel>::new(config)),
    ..fq_codel::FQ_CODEL
};

/// `psched_mtu()`, without the frame's header.
pub(super) const MTU: u64 = 1500;

/// `codel_time_t`: instants and durations in units of 1024 ns.
type Time = u64;

fn time(nanos: u64) -> Time {
    nanos >> 10
}

/// `struct codel_vars`.
#[derive(Clone, Debug, Default)]
struct Kernel {
    count: u32,
    last_count: u32,
    dropping: bool,
    /// The inverse square root of the count, in units of 1/65536.
    inverse: u16,
    /// 0 while the delay is below the target.
    first_above: Time,
    drop_next: Time,
}

impl Kernel {
    /// `codel_Newton_step()`: x (3 - count x^2) / 2.
    fn step(&mut self) {
        let x = u64::from(self.inverse) << 16;
        let square = (x * x) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.inverse = (rest.wrapping_mul(x) >> 47) as u16;
    }

    /// `codel_control_law()`.
    fn law(&self, from: Time, of: &QueueParameters) -> Time {
        from + ((time(of.period.as_nanos()) * (u64::from(self.inverse) << 16)) >> 32)
    }

    /// `codel_should_drop()`.
    fn may_drop(
        &mut self,
        now: Time,
        next: Option<&Waiting>,
        backlog: u64,
        of: &QueueParameters,
    ) -> bool {
        let is_above = |next: &Waiting| {
            let waited = now.saturating_sub(time(next.since.as_nanos()));
            waited >= time(of.target.as_nanos()) && backlog > MTU
        };
        if !next.is_some_and(is_above) {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now + time(of.period.as_nanos());
            return false;
        }
        now > self.first_above
    }
}

impl Law for Kernel {
    const QUANTUM: i64 = MTU as i64;
    const BYPASS: bool = true;

    /// `codel_dequeue()`.
    fn dequeue(
        &mut self,
        now: Instant,
        queue: &mut Fifo,
        (_, others): (u32, u64),
        of: &QueueParameters,
        effects: &mut Effects,
    ) -> Option<Waiting> {
        let now = time(now.as_nanos());
        let mut next = queue.pop();
        if next.is_none() {
            (self.first_above, self.dropping) = (0, false);
            return None;
        }
        let may_drop = self.may_drop(now, next.as_ref(), queue.bytes() + others, of);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                let Some(first) = next.as_mut() else { break };
                self.count = self.count.wrapping_add(1);
                self.step();
                if effects.mark(of.ecn, &mut first.packet) {
                    self.drop_next = self.law(self.drop_next, of);
                    break;
                }
                effects.dropped.push((first.packet, DropCause::Early));
                next = queue.pop();
                self.dropping = self.may_drop(now, next.as_ref(), queue.bytes() + others, of);
                if self.dropping {
                    self.drop_next = self.law(self.drop_next, of);
                }
            }
        } else if may_drop {
            if let Some(first) = next.as_mut() {
                if !effects.mark(of.ecn, &mut first.packet) {
                    effects.dropped.push((first.packet, DropCause::Early));
                    next = queue.pop();
                    self.may_drop(now, next.as_ref(), queue.bytes() + others, of);
                }
            }
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.last_count);
            let is_recent = now < self.drop_next + 16 * time(of.period.as_nanos());
            if delta > 1 && is_recent {
                self.count = delta;
                self.step();
            } else {
                self.count = 1;
                self.inverse = u16::MAX;
            }
            self.last_count = self.count;
            self.drop_next = self.law(now, of);
        }
        next
    }

    /// The end of `fq_codel_drop()`.
    fn shed(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::EcnCodepoint;

    use super::super::tests::{at, config, packet};
    use super::*;

    /// By hand: x (3 - n x^2) / 2 in 16 bits, from 65535: 32767 for 2, then 36862 for 3 (sqrt: 37837), 31963 for 4 (32768).
    #[test]
    fn the_inverse_root_is_improved_a_step_at_a_time() {
        let mut kernel = Kernel {
            count: 1,
            inverse: u16::MAX,
            ..Kernel::default()
        };
        let mut found = Vec::new();
        for count in 2..=40 {
            kernel.count = count;
            kernel.step();
            found.push(kernel.inverse);
        }
        let exact =
            |inverse: u16, count: u32| f64::from(inverse) / 65_536.0 * f64::from(count).sqrt();
        assert!(
            (exact(found[0], 2) - 0.5_f64.sqrt()).abs() < 1e-3,
            "{found:?}"
        );
        assert!((exact(found[38], 40) - 1.0).abs() < 1e-3, "{found:?}");
        let three = f64::from(found[0]) / 65_536.0;
        let expected = three * (3.0 - 3.0 * three * three) / 2.0;
        assert!((f64::from(found[1]) / 65_536.0 - expected).abs() < 1e-4);
    }

    /// It needs no room in the queue, is sent first, and does not use its flow's credit.
    #[test]
    fn what_finds_the_queue_empty_bypasses_it() {
        for kind in [&CODEL, &FQ_CODEL] {
            let mut of = config(kind);
            of.parameters.packets = 4;
            let mut queue = of.make();
            let mut effects = Effects::default();
            for (flow, number) in [(0, 0), (0, 1), (0, 2), (1, 3)] {
                let one = packet(flow, number, 1500, EcnCodepoint::NotCapable);
                queue.enqueue(at(0), one, &mut effects);
            }
            assert_eq!(queue.load(), (4, 6_000));
            let mut order = Vec::new();
            while let Some(next) = queue.dequeue(at(1), &mut effects) {
                order.push((next.flow.index(), queue.load().0));
            }
            let flows: Vec<_> = order.iter().map(|one| one.0).collect();
            let expected = if kind.serves_flows {
                [0, 0, 1, 0]
            } else {
                [0, 0, 0, 1]
            };
            assert_eq!(flows, expected);
            assert_eq!(order.last().map(|one| one.1), Some(0));
            assert!(effects.dropped.is_empty());
        }
    }
}
