//! The handoffs and changes of a scenario, checked for overlaps and sorted by time.

use midflight_control::policy::{Policy, POLICIES};
use midflight_control::{Advice, Interests};
use midflight_units::Instant;

use super::{
    find, problem, Change, NoticeSettings, Plan, PlannedHandoff, Problem, QuicFlow, MOST_EVENTS,
};
use crate::network::cell::Access;
use crate::scenario::access::{changed_ways, check_queue, remarks_on_up};
use crate::scenario::file::{FlowFile, NoticeFile, NoticeSource, Rebind, ScenarioFile};

/// Maximum number of different settings of one link through its changes.
const MOST_SETTINGS: usize = 10_000;

impl Plan {
    pub(super) fn moves(file: &ScenarioFile, start: usize) -> Result<Vec<PlannedHandoff>, Problem> {
        let mut moves: Vec<PlannedHandoff> = Vec::new();
        let mut on = start;
        let name = |link: usize| file.links.get_index(link).map_or("", |(name, _)| name);
        let end = Instant::ZERO + file.end.value;
        for (number, handoff) in file.handoffs.iter().enumerate() {
            let key = |part: &str| format!("handoffs.{number}.{part}");
            let known = file.links.keys().map(String::as_str);
            let mut to = Vec::new();
            for name in handoff.to.all() {
                to.push(find(&key("to"), name, "link", known.clone())?);
            }
            let gap = handoff.gap.as_ref().and_then(|gap| gap.value.0);
            if handoff.forward && gap.is_none() {
                let why = "without a gap what is on the old link arrives over it; expected a gap, or no forward";
                return problem(key("forward"), why);
            }
            check_notice(&key("notice"), &handoff.notice)?;
            let is_quic = |flow: &FlowFile| flow.stack.quic().is_some() && flow.on.is_none();
            if handoff.forward && file.flows.values().any(is_quic) {
                let why = "a flow over QUIC has another address on the new link, to which nothing is forwarded; expected flows over TCP, or no forward";
                return problem(key("forward"), why);
            }
            for (i, &at) in handoff.at.value.0.iter().enumerate() {
                let target = to[i % to.len()];
                if target == on && gap.is_none() {
                    let why = format!("at {at} the mobile node is already on \"{}\"; expected another link, or a gap for an outage", name(on));
                    return problem(key("to"), why);
                }
                if at == Instant::ZERO {
                    let why = "a handoff at 0 s; expected a later one, or start = the link itself";
                    return problem(key("at"), why);
                }
                let this = PlannedHandoff {
                    at,
                    from: on,
                    to: target,
                    gap,
                    rebind: match handoff.rebind {
                        Some(rebind) => rebind,
                        None if target == on => Rebind::None,
                        None => Rebind::Address,
                    },
                    forward: handoff.forward,
                    notice: notice_settings(&handoff.notice, file.notices),
                    missed: handoff.signal.missed.value.0,
                    signal_lost: handoff.signal.lost.value.0,
                };
                if let Some(last) = moves
                    .last()
                    .filter(|last| at < last.make() || at == last.at)
                {
                    let why = format!("the handoff at {at} begins before the one at {} is complete at {}; expected handoffs in order of time that do not overlap", last.at, last.make());
                    return problem(key("at"), why);
                }
                if this.make() >= end {
                    let why = format!("the handoff at {at} is complete at {}, but the run ends at {}; expected an earlier handoff, a shorter gap, or a later end", this.make(), file.end);
                    return problem(key("at"), why);
                }
                on = target;
                moves.push(this);
                if moves.len() > MOST_EVENTS {
                    let why = format!("there are more than {MOST_EVENTS} handoffs; expected fewer");
                    return problem(key("at"), why);
                }
            }
        }
        Ok(moves)
    }

    pub(super) fn changes(
        file: &ScenarioFile,
        access: &mut [Access],
        moves: &[PlannedHandoff],
    ) -> Result<(Vec<Change>, Vec<String>), Problem> {
        let mut changes: Vec<Change> = Vec::new();
        let mut remarks: Vec<String> = Vec::new();
        let mut last_of: Vec<Option<Change>> = vec![None; access.len()];
        let end = Instant::ZERO + file.end.value;
        for (number, change) in file.changes.iter().enumerate() {
            let key = |part: &str| format!("changes.{number}.{part}");
            let known = file.links.keys().map(String::as_str);
            let link = find(&key("link"), &change.link, "link", known)?;
            if file.links[link].trace.is_some() {
                let why = format!(
                    "\"{}\" has a trace, which defines its changes; expected a link without one",
                    change.link
                );
                return problem(key("link"), why);
            }
            if let Some(notice) = &change.notice {
                check_notice(&key("notice"), notice)?;
            }
            let pause = change.pause.value;
            for &at in &change.at.value.0 {
                if let Some(last) = changes.last().filter(|last| at < last.at) {
                    let why = format!("the change at {at} is written after the one at {}; expected changes in order of time", last.at);
                    return problem(key("at"), why);
                }
                if at == Instant::ZERO {
                    let why = "a change at 0 s; expected a later one, or these values for the link itself";
                    return problem(key("at"), why);
                }
                let crosses = |m: &&PlannedHandoff| {
                    (m.from == link || m.to == link) && m.at <= at + pause && at <= m.make()
                };
                let near = moves.partition_point(|m| m.make() < at);
                if let Some(step) = moves[near..].iter().take(2).find(crosses) {
                    let why = format!("the change of \"{}\" at {at} overlaps the handoff at {}, which leaves that link or arrives at it; expected a change that is complete before the handoff, or begins after the handoff is complete", change.link, step.at);
                    return problem(key("at"), why);
                }
                let under_way = |c: &Change| at <= c.at + c.pause;
                if let Some(last) = last_of[link].filter(under_way) {
                    let why = format!("at {at} the change of \"{}\" at {} is not complete before {}; expected a later change", change.link, last.at, last.at + last.pause);
                    return problem(key("at"), why);
                }
                if at + pause >= end {
                    let why = format!("the change at {at} is complete at {}, but the run ends at {}; expected an earlier change, a shorter pause, or a later end", at + pause, file.end);
                    return problem(key("at"), why);
                }
                let settings = &mut access[link].settings;
                let before = settings.len() - 1;
                check_queue(&format!("changes.{number}"), &settings[before], change)?;
                let after = changed_ways(&settings[before], change);
                let said = remarks_on_up(&settings[before], &after, change);
                for remark in said.map(|said| format!("changes.{number}: {said}")) {
                    if !remarks.contains(&remark) {
                        remarks.push(remark);
                    }
                }
                // A repeated change needs only one setting.
                let setting = match settings.iter().skip(1).position(|s| *s == after) {
                    Some(place) => place + 1,
                    None if settings.len() > MOST_SETTINGS => {
                        let why = format!("there are more than {MOST_SETTINGS} different changes of \"{}\"; expected fewer", change.link);
                        return problem(key("at"), why);
                    }
                    None => {
                        settings.push(after);
                        settings.len() - 1
                    }
                };
                let this = Change {
                    at,
                    link,
                    pause,
                    setting,
                    notice: change
                        .notice
                        .as_ref()
                        .and_then(|n| notice_settings(n, file.notices)),
                };
                last_of[link] = Some(this);
                changes.push(this);
                if changes.len() > MOST_EVENTS {
                    let why = format!("there are more than {MOST_EVENTS} changes; expected fewer");
                    return problem(key("at"), why);
                }
            }
        }
        Ok((changes, remarks))
    }

    /// Refuses throughput advice for policies that also need the delay of a link.
    pub(super) fn check_advice(&self) -> Result<(), Problem> {
        let is_advice = |settings: Option<NoticeSettings>| {
            settings.is_some_and(|one| one.source == NoticeSource::Scone)
        };
        let advises = self.moves.iter().any(|step| is_advice(step.notice))
            || self.changes.iter().any(|change| is_advice(change.notice));
        if !advises {
            return Ok(());
        }
        let heeds = |policy: &Policy| policy.interests().includes(Interests::ADVICE);
        for flow in self.flows.iter().filter(|flow| flow.on.is_none()) {
            let name = &flow.name;
            if flow.quic.as_ref().is_some_and(QuicFlow::resumes) {
                let why = "the window of a notice needs the delay of the link, which throughput advice has not; expected resume = false, or notices with source = \"link\"";
                return problem(format!("flows.{name}.resume"), why);
            }
            let policies = &self.parts[flow.part].built.policies;
            if let Some(deaf) = policies.iter().find(|policy| !heeds(policy)) {
                let known = POLICIES
                    .iter()
                    .filter(|known| Policy::named(known.name).is_some_and(|policy| heeds(&policy)));
                let known: Vec<&str> = known.map(|known| known.name).collect();
                let why = format!(
                    "the policy \"{}\" takes no throughput advice, which has no delay of the link; expected {}, a policy in Python with on_advice, or notices with source = \"link\"",
                    deaf.info().name,
                    known.join(", ")
                );
                return problem(format!("flows.{name}.scheme"), why);
            }
        }
        Ok(())
    }
}

/// Refuses values that throughput advice cannot carry.
fn check_notice(key: &str, notice: &NoticeFile) -> Result<(), Problem> {
    if notice.source != NoticeSource::Scone {
        return Ok(());
    }
    if notice.says_delay.is_some() {
        let why = "throughput advice has no delay; expected no says_delay, or source = \"link\"";
        return problem(format!("{key}.says_delay"), why);
    }
    if let Some(rate) = &notice.says_rate {
        if Advice::of(rate.value, Instant::ZERO, true).is_none() {
            let why = format!("{rate} is less than the smallest rate of throughput advice; expected 100 kbit/s or more");
            return problem(format!("{key}.says_rate"), why);
        }
    }
    Ok(())
}

fn notice_settings(notice: &NoticeFile, notices: bool) -> Option<NoticeSettings> {
    notices.then(|| NoticeSettings {
        source: notice.source,
        delay: notice.delay.value,
        lost: notice.lost.value.0,
        rate: notice.says_rate.as_ref().map(|r| r.value),
        says_delay: notice.says_delay.as_ref().map(|d| d.value),
    })
}
