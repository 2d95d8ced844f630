//! Access links in both directions: presets with their overrides, and changes.

use midflight_units::Duration;

use super::file::{ChangeFile, Direction, LinkFile, WayFile};
use super::plan::{find, problem, Problem};
use super::presets::{self, Preset};
use super::queue::{Queue, Room};
use super::trace::{Files, OwnWays, Traced};
use super::written::Written;
use crate::network::cell::{Access, Directions, OneDirection};

/// Maximum number of cross-traffic packets on a link in a run.
const MOST_CROSS_PACKETS: f64 = 1e9;

impl Directions {
    /// The parameters of a direction.
    pub(super) fn of(&self, direction: Direction) -> &OneDirection {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

/// The preset's value for a missing key.
fn or<T: Clone, P>(
    own: Option<&Written<T>>,
    preset: Option<&P>,
    of: impl Fn(&P) -> Option<T>,
) -> Option<T> {
    own.map(|written| written.value.clone())
        .or_else(|| preset.and_then(of))
}

/// The preset of a link.
fn preset_of(key: &str, link: &LinkFile) -> Result<Option<&'static Preset>, Problem> {
    Ok(match &link.preset {
        None => None,
        Some(name) => {
            let known = presets::PRESETS.iter().map(|p| p.name);
            let place = find(&format!("{key}.preset"), name, "preset", known)?;
            Some(&presets::PRESETS[place])
        }
    })
}

/// The link's trace, with the full paths of its files and their hash filled in.
pub(super) fn traced(
    key: &str,
    link: &mut LinkFile,
    files: &dyn Files,
) -> Result<Option<Traced>, Problem> {
    let preset = preset_of(key, link)?;
    let preset_up = preset.filter(|_| link.rate.is_none());
    let way = link.up.as_ref();
    let up = way.and_then(|up| up.rate.as_ref());
    let own = OwnWays {
        down: or(link.rate.as_ref(), preset, |p| Some(p.down_rate())),
        up: or(up, preset_up, |p| Some(p.up_rate())),
        up_delay: way.is_some_and(|up| up.delay.is_some()),
    };
    let Some(trace) = link.trace.as_mut() else {
        return Ok(None);
    };
    let found = trace.read(files, own).map_err(|mut problem| {
        let place = if problem.key.is_empty() {
            String::new()
        } else {
            format!(".{}", problem.key)
        };
        problem.key = format!("{key}.trace{place}");
        problem
    })?;
    let [file, up, delay] = found.files.clone();
    (trace.file, trace.up, trace.delay) = (file, up, delay);
    trace.hash.clone_from(&found.hash);
    let both = |quantity: &str| {
        let why = format!(
            "the {quantity} is given twice, by the link and by its trace; expected one of them"
        );
        problem(format!("{key}.{quantity}"), why)
    };
    if let Some(down) = &found.down {
        let schedule = &down.schedule;
        if link.rate.is_some() && down.rate.is_some() {
            return both("rate");
        }
        if link.delay.is_some() && down.delay.is_some() {
            return both("delay");
        }
        if link.loss.is_some() && schedule.loss().is_some() {
            return both("loss");
        }
    }
    if let (Some(up), Some(way)) = (&found.up, &link.up) {
        let of_way = |quantity: &str| {
            let why = format!("the {quantity} of the uplink is given twice, here and in its trace; expected one of them");
            problem(format!("{key}.up.{quantity}"), why)
        };
        if way.rate.is_some() && up.rate.is_some() {
            return of_way("rate");
        }
        if way.delay.is_some() && up.delay.is_some() {
            return of_way("delay");
        }
        if way.loss.is_some() && up.schedule.loss().is_some() {
            return of_way("loss");
        }
    }
    Ok(Some(found))
}

/// The directions of a link from its keys and its trace.
pub(super) fn ways(
    key: &str,
    link: &LinkFile,
    traced: Option<&Traced>,
) -> Result<Directions, Problem> {
    let preset = preset_of(key, link)?;
    let [down_trace, up_trace] = [
        traced.and_then(|t| t.down.as_ref()),
        traced.and_then(|t| t.up.as_ref()),
    ];
    let missing = |what: &str, example: &str| {
        let whose = match traced {
            Some(_) => format!("the trace has no {what}, so that the link"),
            None => "a link without a preset".into(),
        };
        let why = format!("{whose} needs a {what}; write for example {what} = \"{example}\"");
        problem(key, why)
    };
    let own = or(link.rate.as_ref(), preset, |p| Some(p.down_rate()));
    let Some(rate) = down_trace.and_then(|of| of.rate).or(own) else {
        return missing("rate", "54 Mbit/s");
    };
    let own = or(link.delay.as_ref(), preset, |p| Some(p.delay()));
    let Some(delay) = down_trace.and_then(|of| of.delay).or(own) else {
        return missing("delay", "2 ms");
    };
    let of_preset = |p: &Preset| Some(p.down_queue());
    let queue =
        or(link.queue.as_ref(), preset, of_preset).unwrap_or(Queue::DropTail(Room::Bdp(1.0)));
    let down = OneDirection {
        rate,
        delay,
        limit: queue.packets(rate, delay),
        queue: queue.discipline(rate, delay),
        loss: link.loss.as_ref().map(|l| l.value),
        reordering: link.reorder.as_ref().map(|r| r.value),
        cross: link.cross.as_ref().and_then(|c| c.value.0),
        schedule: down_trace.map(|of| of.schedule.clone()),
    };
    let own = link.up.clone().unwrap_or_default();
    // If the link has its own rate, this applies to both directions, as without a preset.
    let preset_up = preset.filter(|_| link.rate.is_none());
    let up_rate = or(own.rate.as_ref(), preset_up, |p| Some(p.up_rate())).unwrap_or(rate);
    let up_rate = up_trace.and_then(|of| of.rate).unwrap_or(up_rate);
    let up_delay = own.delay.as_ref().map_or(delay, |d| d.value);
    let up_delay = up_trace.and_then(|of| of.delay).unwrap_or(up_delay);
    let preset_queue = preset.filter(|_| link.queue.is_none());
    let of_preset = |p: &Preset| Some(p.up_queue());
    let up_queue = or(own.queue.as_ref(), preset_queue, of_preset).unwrap_or(queue);
    let up = OneDirection {
        rate: up_rate,
        delay: up_delay,
        limit: up_queue.packets(up_rate, up_delay),
        queue: up_queue.discipline(up_rate, up_delay),
        loss: own.loss.as_ref().map(|l| l.value),
        reordering: own.reorder.as_ref().map(|r| r.value),
        cross: own.cross.as_ref().and_then(|c| c.value.0),
        schedule: up_trace.map(|of| of.schedule.clone()),
    };
    Ok(Directions { down, up })
}

/// A direction after a change.
fn changed(before: &OneDirection, to: &WayFile) -> OneDirection {
    let rate = to.rate.as_ref().map_or(before.rate, |r| r.value);
    let delay = to.delay.as_ref().map_or(before.delay, |d| d.value);
    OneDirection {
        rate,
        delay,
        limit: match &to.queue {
            Some(queue) if before.queue.is_none() => queue.value.packets(rate, delay),
            _ => before.limit,
        },
        queue: before.queue,
        loss: to.loss.as_ref().map_or(before.loss, |l| Some(l.value)),
        reordering: to
            .reorder
            .as_ref()
            .map_or(before.reordering, |r| Some(r.value)),
        cross: to.cross.as_ref().map_or(before.cross, |c| c.value.0),
        schedule: before.schedule.clone(),
    }
}

/// The directions of a link after a change. By default the uplink changes like the downlink, except
/// for losses, reordering and cross traffic. A discipline does not change.
pub(super) fn changed_ways(before: &Directions, change: &ChangeFile) -> Directions {
    let down = WayFile {
        rate: change.rate.clone(),
        delay: change.delay.clone(),
        queue: change.queue.clone(),
        loss: change.loss.clone(),
        reorder: change.reorder.clone(),
        cross: change.cross.clone(),
    };
    let own = change.up.clone().unwrap_or_default();
    let up = WayFile {
        rate: own.rate.or_else(|| change.rate.clone()),
        delay: own.delay.or_else(|| change.delay.clone()),
        queue: own.queue.or_else(|| change.queue.clone()),
        loss: own.loss,
        reorder: own.reorder,
        cross: own.cross,
    };
    Directions {
        down: changed(&before.down, &down),
        up: changed(&before.up, &up),
    }
}

/// Returns an error if a link's queue cannot be changed.
pub(super) fn check_queue(
    key: &str,
    before: &Directions,
    change: &ChangeFile,
) -> Result<(), Problem> {
    let up = change.up.as_ref().and_then(|up| up.queue.as_ref());
    for (of, way, queue, before) in [
        ("queue", "downlink", change.queue.as_ref(), &before.down),
        ("up.queue", "uplink", up, &before.up),
    ] {
        let Some(queue) = queue else { continue };
        let key = format!("{key}.{of}");
        if let Some((kind, _)) = before.queue {
            let why = format!("a change cannot replace the discipline {} of the {way} by \"{queue}\"; expected no {of} here", kind.name);
            return problem(key, why);
        }
        if matches!(queue.value, Queue::Managed(_)) {
            let why = format!("\"{queue}\" cannot replace the drop-tail queue of the {way} during a run; expected a size such as \"100 packets\", or the discipline in the link itself");
            return problem(key, why);
        }
    }
    Ok(())
}

/// Remarks on values of the uplink that a change sets implicitly although the two directions
/// differed: one sentence each.
pub(super) fn remarks_on_up<'a>(
    before: &'a Directions,
    after: &'a Directions,
    change: &'a ChangeFile,
) -> impl Iterator<Item = String> + 'a {
    let own = change.up.as_ref();
    let link = &change.link;
    let say = move |key: &str, was: String, is: String| {
        format!("{key} = \"{is}\" also sets the uplink of {link}, whose {key} was {was} and not that of the downlink; write up = {{ {key} = \"{was}\" }} to keep it, or up = {{ {key} = \"{is}\" }} to confirm the change")
    };
    let rate = (change.rate.is_some() && own.is_none_or(|up| up.rate.is_none()))
        .then_some((before.up.rate, after.up.rate))
        .filter(|(was, is)| was != is && *was != before.down.rate);
    let delay = (change.delay.is_some() && own.is_none_or(|up| up.delay.is_none()))
        .then_some((before.up.delay, after.up.delay))
        .filter(|(was, is)| was != is && *was != before.down.delay);
    let rate = rate.map(move |(was, is)| say("rate", was.to_string(), is.to_string()));
    let delay = delay.map(move |(was, is)| say("delay", was.to_string(), is.to_string()));
    rate.into_iter().chain(delay)
}

pub(super) fn check_cross_traffic(access: &[Access], end: Duration) -> Result<(), Problem> {
    for link in access {
        let ways = link.settings.iter().enumerate();
        let ways = ways.flat_map(|(number, ways)| [(number, &ways.down), (number, &ways.up)]);
        for (number, cross) in ways.filter_map(|(number, way)| Some((number, way.cross?))) {
            let bits = cross.pattern.mean_bps() * end.as_secs_f64();
            let packets = bits / (8.0 * f64::from(cross.bytes));
            if packets > MOST_CROSS_PACKETS {
                let why = format!("its cross traffic would be {packets:.1e} packets in a run of {} s; expected at most {MOST_CROSS_PACKETS:.0e}: a lower rate, larger packets, or an earlier end", end.as_secs_f64());
                let key = match number {
                    0 => format!("links.{}", link.name),
                    _ => "changes".to_string(),
                };
                return problem(key, why);
            }
        }
    }
    Ok(())
}
