//! Starlink's schedule: satellites are reassigned at 12, 27, 42 and 57 s of each minute, everywhere
//! at once. At each of these instants the rate and the delay of the path change, and there are
//! losses for a short time.
//!
//! The path begins at second 0 of a minute; `offset` of a trace begins it elsewhere.

use midflight_control::part::Knob;

use super::{push, rate, share, time, Drawing, Model};

pub(super) const STARLINK: Model = Model {
    name: "starlink",
    summary: "new random rate and delay every 15 s, with a burst of losses",
    source: "instants: StarQUIC 2024 and arXiv 2307.00402; rates and delays: uniform as in arXiv 2510.25498; the uplink and the losses are our choice",
    knobs: &[
        Knob {
            name: "rate",
            default: "50 Mbit/s : 100 Mbit/s",
            accepts: "a rate, or two with a colon between",
            summary: "rate down between two boundaries, uniform",
        },
        Knob {
            name: "up_rate",
            default: "5 Mbit/s : 15 Mbit/s",
            accepts: "a rate, or two with a colon between",
            summary: "the same up",
        },
        Knob {
            name: "delay",
            default: "2.5 ms : 50 ms",
            accepts: "a time, or two with a colon between",
            summary: "one-way delay, uniform",
        },
        Knob {
            name: "loss",
            default: "0.1%",
            accepts: "a share such as 0.5%, or two with a colon between",
            summary: "losses between boundaries",
        },
        Knob {
            name: "burst",
            default: "5% : 50%",
            accepts: "a share such as 20%, or two with a colon between",
            summary: "losses right after a boundary",
        },
        Knob {
            name: "burst_for",
            default: "50 ms : 150 ms",
            accepts: "a time up to 7.5 s, or two with a colon between",
            summary: "length of these losses",
        },
    ],
    draw,
};

/// The second of the first boundary of a minute, and the distance of two boundaries.
const FIRST: f64 = 12.0;
const EPOCH: f64 = 15.0;

fn draw(path: &mut Drawing<'_>) -> Result<(), String> {
    let (down, up) = (path.span_of("rate", rate)?, path.span_of("up_rate", rate)?);
    let delays = path.span_of("delay", time)?;
    let (loss, burst) = (path.span_of("loss", share)?, path.span_of("burst", share)?);
    let burst_for = path.span_of("burst_for", time)?;
    if burst_for.most > EPOCH / 2.0 {
        return Err(path.refuse("burst_for"));
    }
    let mut from = 0.0;
    while from < path.span {
        let (down, up) = (path.uniform(down), path.uniform(up));
        let delay = path.uniform(delays);
        let (loss, burst) = (path.uniform(loss), path.uniform(burst));
        let calm = from + path.uniform(burst_for);
        let to = &mut path.recording;
        push(&mut to.down.rate, from, down);
        push(&mut to.up.rate, from, up);
        push(&mut to.down.delay, from, delay);
        if from > 0.0 {
            to.handovers.push((super::at(from), "satellite"));
            push(&mut to.down.loss, from, burst);
            if calm < path.span {
                push(&mut to.down.loss, calm, loss);
            }
        } else {
            push(&mut to.down.loss, from, loss);
        }
        from += if from > 0.0 { EPOCH } else { FIRST };
    }
    Ok(())
}
