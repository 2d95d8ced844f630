//! Schemes that have nothing to act on.

use midflight_control::signal::AnyHandoffSignal;
use midflight_control::Interests;

use super::{Flow, Plan};
use crate::scenario::file::{Direction, ScenarioFile};
use crate::scenario::Stack;

impl Plan {
    /// A remark on each flow whose scheme has policies or signals that wait for handoffs, if it has none.
    pub(super) fn idle_schemes(&self) -> Vec<String> {
        // Then the user has switched the notices off.
        if !self.file.notices {
            return Vec::new();
        }
        let waiting = self.flows.iter().filter(|flow| self.waits_in_vain(flow));
        let mut remarks = Vec::new();
        for flow in waiting {
            let remark = format!(
                "flows.{}: \"{}\" acts only on notices or signals of handoffs, and this flow gets none, so that its policies and signals change nothing; {}",
                flow.entry_name,
                flow.scheme,
                self.remedy(flow)
            );
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks
    }

    /// Whether a flow's scheme has policies or a signal, and all of them wait for what never comes.
    fn waits_in_vain(&self, flow: &Flow) -> bool {
        let built = &self.parts[flow.part].built;
        let acts_by_itself = Interests::CONTROL | Interests::START.when(flow.start_notice);
        let mut policies = built.policies.iter();
        if flow.stack != Stack::Midflight
            || policies.any(|policy| policy.interests().includes(acts_by_itself))
        {
            return false;
        }
        let moves = flow.on.is_none();
        let changes = || {
            let on = |at| self.mobile_is_on(at);
            let all = self.changes.iter();
            all.filter(move |change| moves && on(change.at) == change.link)
        };
        let has_handoffs = moves && !self.moves.is_empty();
        let is_notified = has_handoffs || changes().any(|change| change.notice.is_some());
        let is_signalled = has_handoffs || changes().next().is_some();
        let signals = !matches!(built.profile.receiver.signal, AnyHandoffSignal::Silent(_))
            && flow.direction == Direction::Down;
        match (built.policies.is_empty(), signals) {
            (true, false) => false,
            (_, true) => !is_signalled,
            (false, false) => !is_notified,
        }
    }

    /// What gives a flow notices.
    fn remedy(&self, flow: &Flow) -> String {
        let ScenarioFile { links, changes, .. } = &self.file;
        if let Some(link) = flow.on {
            let link = &self.access[link].name;
            return format!("it stays on \"{link}\"; without on it moves with the mobile node");
        }
        if !changes.is_empty() {
            return "notice = {} gives a change a notice, and [[handoffs]] have them".into();
        }
        if links.values().any(|link| link.trace.is_some()) {
            return "a trace has none, even where its recording has handovers; [[handoffs]], or [[changes]] with notice = {} on a link without a trace, have them".into();
        }
        "[[handoffs]], or [[changes]] with notice = {}, have them".into()
    }
}
