//! Gauss-Markov fading: the rate is a first-order autoregressive process, whose deviation from the mean decays
//! exponentially. `r(k+1) = m + a (r(k) - m) + s sqrt(1 - a^2) w`, with `a = exp(-step / memory)` and `w` standard
//! normal.

use midflight_control::part::Knob;

use super::{push, rate, time, Drawing, Model};

pub(super) const GAUSS_MARKOV: Model = Model {
    name: "gauss-markov",
    summary: "a rate that varies around its mean (autoregressive process)",
    source: "a first-order autoregressive process (Liang and Haas, INFOCOM 1999, for a node's speed); the numbers are our choice",
    knobs: &[
        Knob {
            name: "rate",
            default: "30 Mbit/s",
            accepts: "a rate",
            summary: "mean",
        },
        Knob {
            name: "deviation",
            default: "10 Mbit/s",
            accepts: "a rate",
            summary: "standard deviation",
        },
        Knob {
            name: "memory",
            default: "5 s",
            accepts: "a time of at least a step",
            summary: "time after which 1/e of a deviation is left",
        },
        Knob {
            name: "step",
            default: "100 ms",
            accepts: "a time of at least 1 ms",
            summary: "time from one rate to the next",
        },
        Knob {
            name: "least",
            default: "1 Mbit/s",
            accepts: "a rate",
            summary: "minimum rate",
        },
    ],
    draw,
};

fn draw(path: &mut Drawing<'_>) -> Result<(), String> {
    let (mean, deviation) = (path.one("rate", rate)?, path.one("deviation", rate)?);
    let (memory, step) = (path.one("memory", time)?, path.one("step", time)?);
    let least = path.one("least", rate)?;
    if step < 0.001 {
        return Err(path.refuse("step"));
    }
    if memory < step {
        return Err(path.refuse("memory"));
    }
    let keep = libm::exp(-step / memory);
    let noise = deviation * (1.0 - keep * keep).sqrt();
    let mut away = deviation * path.normal();
    let steps = (path.span / step).ceil() as u64;
    let mut clipped = 0;
    for number in 0..steps {
        let value = (mean + away).max(least);
        clipped += u64::from(mean + away < least);
        push(&mut path.recording.down.rate, number as f64 * step, value);
        away = keep * away + noise * path.normal();
    }
    if clipped * 100 > steps {
        let sum: f64 = path.recording.down.rate.iter().map(|point| point.1).sum();
        let (share, mbps) = (
            100.0 * clipped as f64 / steps as f64,
            sum / steps as f64 / 1e6,
        );
        path.recording.remarks.push(format!(
            "{share:.1} % of the rates would be below the minimum and are raised to it, which raises the mean: it is {mbps:.4} Mbit/s, not {} Mbit/s",
            mean / 1e6
        ));
    }
    Ok(())
}
