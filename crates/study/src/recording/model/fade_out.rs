//! A link that fades before its break: its rate decreases linearly and its losses increase, then
//! there is no link for some time, and then it returns.

use midflight_control::part::Knob;

use super::{push, rate, share, time, Drawing, Model};

pub(super) const FADE_OUT: Model = Model {
    name: "fade-out",
    summary: "a link that repeatedly fades, breaks, and comes back",
    source: "our choice",
    knobs: &[
        Knob {
            name: "rate",
            default: "30 Mbit/s",
            accepts: "a rate",
            summary: "rate without fading",
        },
        Knob {
            name: "last",
            default: "1 Mbit/s",
            accepts: "a rate",
            summary: "rate right before the break",
        },
        Knob {
            name: "loss",
            default: "10%",
            accepts: "a share such as 10%",
            summary: "losses right before the break",
        },
        Knob {
            name: "at",
            default: "15 s : 25 s",
            accepts: "a time, or two with a colon between",
            summary: "the break, from the start of a period, uniform",
        },
        Knob {
            name: "fades_for",
            default: "5 s",
            accepts: "a time, or two with a colon between",
            summary: "how long it fades before the break, uniform",
        },
        Knob {
            name: "gone_for",
            default: "3 s",
            accepts: "a time, or two with a colon between",
            summary: "how long there is no link, uniform",
        },
        Knob {
            name: "every",
            default: "60 s",
            accepts: "a time from 1 s to 24 h",
            summary: "length of a period",
        },
    ],
    draw,
};

/// A line is approximated by steps of this many seconds.
const STEP: f64 = 0.1;

fn draw(path: &mut Drawing<'_>) -> Result<(), String> {
    let (full, last) = (path.one("rate", rate)?, path.one("last", rate)?);
    let loss = path.one("loss", share)?;
    let (breaks, fades) = (path.span_of("at", time)?, path.span_of("fades_for", time)?);
    let gone = path.span_of("gone_for", time)?;
    let every = path.one("every", time)?;
    if !(1.0..=86_400.0).contains(&every) {
        return Err(path.refuse("every"));
    }
    if breaks.most + gone.most > every || fades.most > breaks.least {
        return Err(format!(
            "the fading, the break and the time without a link do not fit into a period of {every} s; expected a later \"at\" than \"fades_for\", and both \"at\" and \"gone_for\" within \"every\""
        ));
    }
    let mut begin = 0.0;
    while begin < path.span {
        let at = begin + path.uniform(breaks);
        let (fades, gone) = (path.uniform(fades), path.uniform(gone));
        let span = path.span;
        let to = &mut path.recording;
        push(&mut to.down.rate, begin, full);
        push(&mut to.down.loss, begin, 0.0);
        let steps = (fades / STEP).ceil() as u64;
        for step in 0..steps {
            let when = at - fades + step as f64 * STEP;
            // At the middle of the step.
            let share = ((step as f64 + 0.5) * STEP / fades).min(1.0);
            if when < span {
                push(&mut to.down.rate, when, full + share * (last - full));
                push(&mut to.down.loss, when, share * loss);
            }
        }
        if at < span {
            push(&mut to.down.rate, at, 0.0);
            push(&mut to.down.loss, at, 0.0);
            to.handovers.push((super::at(at), "break"));
        }
        if at + gone < span {
            push(&mut to.down.rate, at + gone, full);
        }
        begin += every;
    }
    Ok(())
}
