//! Non-standalone 5G (NSA): data uses NR while it is available, and the LTE anchor otherwise. Each
//! change of the secondary cell interrupts the data for a short time.

use midflight_control::part::Knob;

use super::{push, rate, time, Drawing, Model};

pub(super) const NSA: Model = Model {
    name: "5g-nsa",
    summary: "an NR link that is added to an LTE anchor and released again",
    source: "two states with exponential times; rates and delays of the presets 5g-nsa and lte; times and gap are our choice",
    knobs: &[
        Knob {
            name: "nr_rate",
            default: "200 Mbit/s",
            accepts: "a rate, or two with a colon between",
            summary: "rate on NR, uniform",
        },
        Knob {
            name: "lte_rate",
            default: "50 Mbit/s",
            accepts: "a rate, or two with a colon between",
            summary: "rate on LTE, uniform",
        },
        Knob {
            name: "nr_delay",
            default: "6 ms",
            accepts: "a time",
            summary: "one-way delay on NR",
        },
        Knob {
            name: "lte_delay",
            default: "15 ms",
            accepts: "a time",
            summary: "one-way delay on LTE",
        },
        Knob {
            name: "nr_for",
            default: "20 s",
            accepts: "a time",
            summary: "mean time on NR",
        },
        Knob {
            name: "lte_for",
            default: "5 s",
            accepts: "a time",
            summary: "mean time on LTE",
        },
        Knob {
            name: "gap",
            default: "80 ms",
            accepts: "a time, or two with a colon between",
            summary: "interruption at a change, uniform",
        },
    ],
    draw,
};

/// Minimum time on either.
const LEAST: f64 = 0.1;

fn draw(path: &mut Drawing<'_>) -> Result<(), String> {
    let rates = [
        path.span_of("nr_rate", rate)?,
        path.span_of("lte_rate", rate)?,
    ];
    let delays = [path.one("nr_delay", time)?, path.one("lte_delay", time)?];
    let means = [path.one("nr_for", time)?, path.one("lte_for", time)?];
    let gaps = path.span_of("gap", time)?;
    let (mut from, mut state) = (0.0, 0);
    while from < path.span {
        let (bps, stays) = (path.uniform(rates[state]), path.exponential(means[state]));
        let gap = if from > 0.0 { path.uniform(gaps) } else { 0.0 };
        let to = &mut path.recording;
        if from > 0.0 {
            let name = ["NR added", "NR released"][state];
            to.handovers.push((super::at(from), name));
        }
        if gap > 0.0 {
            push(&mut to.down.rate, from, 0.0);
        }
        if from + gap < path.span {
            push(&mut to.down.rate, from + gap, bps);
            push(&mut to.down.delay, from + gap, delays[state]);
        }
        from += gap + stays.max(LEAST);
        state = 1 - state;
    }
    Ok(())
}
