//! Schemes: complete named sender configurations that a paper compares.

use std::borrow::Cow;

use midflight_control::congestion::{AnyCongestion, CONGESTION_CONTROLLERS};
use midflight_control::dupack::{AnyDupackResponse, DUPACK_RESPONSES};
use midflight_control::loss::{AnyLossClassifier, LOSS_CLASSIFIERS};
use midflight_control::part::{Knob, KnobError, PartInfo};
use midflight_control::policy::{Policy, POLICIES};
use midflight_control::signal::{AnyHandoffSignal, HANDOFF_SIGNALS};
use midflight_control::spurious::{AnySpuriousDetector, SPURIOUS_DETECTORS};
use midflight_control::workload::{AnyWorkload, WORKLOADS};
use midflight_units::nearest_few;

use crate::config::{profile, ConfigError, Profile, SETTINGS};

/// Why a scheme cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// There is no such scheme.
    #[error(
        "{}",
        unknown("scheme", name, near, "`midflight list schemes` has all")
    )]
    UnknownScheme {
        /// The name that was read.
        name: String,
        /// The nearest names that exist.
        near: Vec<String>,
    },
    /// The scheme has two parts of a kind that a sender has only once.
    #[error("{scheme}: {first} and {second} are both a {what}; a sender has one")]
    Clash {
        /// The scheme as it was read.
        scheme: String,
        /// A part.
        first: String,
        /// Another part of the same kind.
        second: String,
        /// The kind.
        what: &'static str,
    },
    /// There is no such knob.
    #[error("{}", unknown("setting", name, near, "`midflight list settings` has those of the profile, `midflight list` also those of parts"))]
    UnknownKnob {
        /// The name that was read.
        name: String,
        /// The nearest names that exist.
        near: Vec<String>,
    },
    /// The value of a policy's knob is not accepted.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A profile or one of its settings is not accepted.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Schemes of other TCP implementations that midflight does not have, by their usual names.
const NOT_MODELLED: [&str; 5] = ["bbr2", "copa", "dctcp", "prague", "vegas"];

/// The error text for an unknown name, with the nearest names and where all of them are listed.
fn unknown(what: &str, name: &str, near: &[String], all: &str) -> String {
    if NOT_MODELLED.contains(&name.to_lowercase().as_str()) {
        return format!("\"{name}\" is not modelled; docs/scenarios.md, \"What is not modelled\", says what else is not, and {all}");
    }
    let near = match near {
        [] => String::new(),
        [one] => format!(" (did you mean \"{one}\"?)"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|n| format!("\"{n}\"")).collect();
            format!(" (did you mean {} or \"{last}\"?)", first.join(", "))
        }
    };
    format!("there is no {what} \"{name}\"{near}; {all}")
}

/// Settings by name, of the profile or of parts.
pub type Knobs = Vec<(String, String)>;

/// A scheme: the plain sender with these parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Name on the command line.
    pub name: Cow<'static, str>,
    /// What it is.
    pub summary: Cow<'static, str>,
    /// Where it is defined.
    pub source: Cow<'static, str>,
    /// Its parts: policies in the order in which they are called, and at most one congestion
    /// controller, response to duplicate ACKs, loss classifier, spurious-retransmission detector,
    /// and handoff signal, which belongs to the receiver.
    pub parts: Cow<'static, [&'static str]>,
}

/// Name, summary, source and parts.
type Composed = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

/// The schemes that are not exactly one part.
const COMPOSED: &[Composed] = &[
    (
        "sack",
        "the plain sender, which ignores notices; its congestion control is the profile's (Reno; CUBIC with `linux`)",
        "Daniel & Kojo 2008, section 4",
        &[],
    ),
    (
        "enhanced",
        "A1, A2, A3 and A4 together",
        "Daniel & Kojo 2008, section 5.5",
        &["a1", "a2", "a3", "a4"],
    ),
    (
        "enhanced-a5",
        "A1, A5, A3 and A4 together",
        "Daniel & Kojo 2008, section 6.3",
        &["a1", "a5", "a3", "a4"],
    ),
    (
        "dcr-frto",
        "delayed congestion response with F-RTO",
        "Lim & Jang 2009, section 5.1",
        &["dcr", "frto-2003"],
    ),
    (
        "dcr-ld",
        "proposed scheme I: delayed congestion response with loss differentiation",
        "Lim & Jang 2009, section 4.2",
        &["dcr", "ld"],
    ),
    (
        "dcr-frto-ld",
        "proposed scheme II: the same with F-RTO, which notifies the loss differentiation of handoffs",
        "Lim & Jang 2009, section 4.2",
        &["dcr", "frto-2003", "ld-handover"],
    ),
    (
        "ehn",
        "explicit handover notification: the mobile node marks an ACK, the sender sends everything outstanding again with its old window",
        "Izumikawa, Yamaguchi & Katto, section 3",
        &["ehn-restore", "ehn-notify"],
    ),
    (
        "handoff-option",
        "the mobile node marks the beginning and the end of a handoff; the sender stops in between, then slow start",
        "Kim & Copeland, Globecom 2003, as Daniel & Kojo 2008, section 2, describe it",
        &["ho-resume", "ho-notify"],
    ),
    (
        "kim-copeland",
        "the mobile node sends a mark, the sender uses window, threshold and timer of a new connection",
        "Kim & Copeland, WCNC 2004, as Lim & Jang 2009, section 2, describe it",
        &["reinitialise", "ehn-notify"],
    ),
    (
        "lmdr",
        "the sender detects from the mobile node's segments that it is attached elsewhere, and probes the path like a new connection",
        "draft-swami-tcp-lmdr-07 (2006), by its abstract",
        &["lmdr-respond", "ehn-notify"],
    ),
    (
        "vho-qs",
        "the enhancements of the overview's table: A1, A2, A3, A4, the policy for reordering, and Quick-Start",
        "Daniel, Jarvinen & Kojo 2010, the table of problems",
        &["a1", "reordering", "a2", "a3", "a4", "quick-start"],
    ),
    (
        "vho",
        "A1, A2, A3, A4, the policy for reordering, and ssthresh set to what the access link holds",
        "Daniel & Kojo, report on available bandwidth, sections 3.1 and 4",
        &["a1", "reordering", "a2", "a3", "a4", "initial-ssthresh"],
    ),
    (
        "abest-vho",
        "the same, with ssthresh from a measurement of the available bandwidth",
        "Daniel & Kojo, report on available bandwidth, sections 3 and 4",
        &["a1", "reordering", "a2", "a3", "a4", "initial-ssthresh", "abest"],
    ),
];

/// The plain sender's part of each kind; these are not schemes by themselves.
const PLAIN: [&str; 5] = ["reno", "immediate", "congestion", "none", "silent"];

/// All schemes: the composed ones, then each part alone.
pub fn schemes() -> Vec<Scheme> {
    let single = single_parts().map(Scheme::alone);
    COMPOSED
        .iter()
        .map(Scheme::composed)
        .chain(single)
        .collect()
}

/// The parts that are schemes of their own.
fn single_parts() -> impl Iterator<Item = &'static PartInfo> {
    part_infos().filter(|p| !PLAIN.contains(&p.name))
}

fn part_infos() -> impl Iterator<Item = &'static PartInfo> {
    POLICIES
        .iter()
        .chain(DUPACK_RESPONSES)
        .chain(LOSS_CLASSIFIERS)
        .chain(SPURIOUS_DETECTORS)
        .chain(HANDOFF_SIGNALS)
        .chain(CONGESTION_CONTROLLERS)
}

fn part_knobs() -> impl Iterator<Item = &'static Knob> {
    part_infos().flat_map(|p| p.knobs)
}

/// A sender and a receiver put together: a scheme on a profile, with its knobs set.
#[derive(Clone, Debug)]
pub struct Built {
    /// The profile with the scheme's parts and the settings.
    pub profile: Profile,
    /// The scheme's policies.
    pub policies: Vec<Policy>,
}

impl Scheme {
    fn composed(&(name, summary, source, parts): &Composed) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            source: source.into(),
            parts: parts.into(),
        }
    }

    fn alone(part: &'static PartInfo) -> Self {
        Self {
            name: part.name.into(),
            summary: part.summary.into(),
            source: part.source.into(),
            parts: std::slice::from_ref(&part.name).into(),
        }
    }

    /// The scheme with this name, or several joined by `+`: all their parts together.
    ///
    /// # Errors
    /// [`SchemeError::UnknownScheme`] has the nearest ones.
    pub fn named(name: &str) -> Result<Self, SchemeError> {
        Self::named_beside(name, &[])
    }

    /// The same where other schemes with other names exist, which may also be the nearest ones.
    ///
    /// # Errors
    /// As [`Self::named`].
    pub fn named_beside(name: &str, others: &[&str]) -> Result<Self, SchemeError> {
        let one = |name: &str| {
            let composed = COMPOSED.iter().find(|c| c.0 == name).map(Self::composed);
            let single = || single_parts().find(|p| p.name == name).map(Self::alone);
            composed.or_else(single).ok_or_else(|| {
                let known = || {
                    COMPOSED
                        .iter()
                        .map(|c| c.0)
                        .chain(single_parts().map(|p| p.name))
                };
                SchemeError::UnknownScheme {
                    name: name.into(),
                    near: nearest_few(name, known().chain(others.iter().copied())),
                }
            })
        };
        if !name.contains('+') {
            return one(name);
        }
        let schemes = name.split('+').map(one).collect::<Result<Vec<_>, _>>()?;
        let mut parts = Vec::new();
        for part in schemes.iter().flat_map(|s| s.parts.iter()) {
            if !parts.contains(part) {
                parts.push(*part);
            }
        }
        let joined = |of: fn(&Self) -> &str| {
            let each: Vec<_> = schemes.iter().map(of).collect();
            each.join("; ").into()
        };
        Ok(Self {
            name: name.to_string().into(),
            summary: joined(|s| &s.summary),
            source: joined(|s| &s.source),
            parts: parts.into(),
        })
    }

    /// The scheme on the profile with this name, with these knobs set; knobs of parts that it does
    /// not have are ignored.
    ///
    /// # Errors
    /// [`SchemeError`] when a name or a value is not accepted, when there are two parts of a kind
    /// that a sender has only once, or when parts do not work together.
    pub fn build(&self, profile: &str, knobs: &[(String, String)]) -> Result<Built, SchemeError> {
        let mut built = Built {
            profile: configure(profile, knobs)?,
            policies: Vec::new(),
        };
        let (parts, rx) = (&mut built.profile.parts, &mut built.profile.receiver);
        let (mut response, mut classifier, mut detector) = (None, None, None);
        let mut signal = None;
        let mut controller = None;
        let clash = |first: &str, second: &str, what| SchemeError::Clash {
            scheme: self.name.clone().into_owned(),
            first: first.into(),
            second: second.into(),
            what,
        };
        for &name in self.parts.iter() {
            if let Some(policy) = Policy::named(name) {
                built.policies.push(policy);
            } else if let Some(part) = AnyDupackResponse::named(name) {
                if let Some(other) = response.replace(name) {
                    return Err(clash(other, name, "response to duplicate ACKs"));
                }
                parts.dupack_response = part;
            } else if let Some(part) = AnyLossClassifier::named(name) {
                if let Some(other) = classifier.replace(name) {
                    return Err(clash(other, name, "loss classifier"));
                }
                parts.loss_classifier = part;
            } else if let Some(part) = AnySpuriousDetector::named(name) {
                if let Some(other) = detector.replace(name) {
                    return Err(clash(other, name, "detector of spurious retransmissions"));
                }
                parts.spurious_detector = part;
            } else if let Some(part) = AnyHandoffSignal::named(name) {
                if let Some(other) = signal.replace(name) {
                    return Err(clash(other, name, "handoff signal"));
                }
                rx.signal = part;
            } else if let Some(part) = AnyCongestion::named(name) {
                if let Some(other) = controller.replace(name) {
                    return Err(clash(other, name, "congestion controller"));
                }
                parts.congestion = part;
            }
        }
        for (name, value) in knobs {
            let has = |info: PartInfo| info.knobs.iter().any(|k| k.name == name);
            for policy in &mut built.policies {
                if has(policy.info()) {
                    policy.set_knob(name, value)?;
                }
            }
            if has(parts.dupack_response.info()) {
                parts.dupack_response.set_knob(name, value)?;
            }
            if has(parts.loss_classifier.info()) {
                parts.loss_classifier.set_knob(name, value)?;
            }
            if has(parts.spurious_detector.info()) {
                parts.spurious_detector.set_knob(name, value)?;
            }
            if has(rx.signal.info()) {
                rx.signal.set_knob(name, value)?;
            }
            if has(parts.congestion.info()) {
                parts.congestion.set_knob(name, value)?;
            }
        }
        built.profile.check()?;
        Ok(built)
    }
}

/// The profile with this name with its knobs set, after checking that every knob exists and that
/// its value is accepted.
fn configure(name: &str, knobs: &[(String, String)]) -> Result<Profile, SchemeError> {
    let mut chosen = profile(name)?;
    for (knob, value) in knobs {
        if SETTINGS.iter().any(|k| k.name == knob) {
            chosen.set(knob, value)?;
        } else if !set_somewhere(knob, value)? {
            // In a scenario the name has a prefix: set.min_rto.
            let bare = knob.rsplit('.').next().unwrap_or(knob);
            let near = if is_knob(bare) {
                vec![bare.into()]
            } else {
                nearest_few(knob, all_knobs().map(|k| k.name))
            };
            return Err(SchemeError::UnknownKnob {
                name: knob.clone(),
                near,
            });
        }
    }
    Ok(chosen)
}

/// The settings of sender and receiver, and the knobs of parts.
fn all_knobs() -> impl Iterator<Item = &'static Knob> {
    let of_workloads = WORKLOADS.iter().flat_map(|info| info.knobs);
    SETTINGS.iter().chain(part_knobs()).chain(of_workloads)
}

/// Whether there is a setting, or a knob of a part, of this name.
pub fn is_knob(name: &str) -> bool {
    all_knobs().any(|k| k.name == name)
}

/// Sets the knob on every part that has it, to check the value even if no given scheme has the
/// part; returns whether any part has it.
fn set_somewhere(knob: &str, value: &str) -> Result<bool, SchemeError> {
    let mut found = false;
    for info in WORKLOADS {
        if info.knobs.iter().any(|k| k.name == knob) {
            found = true;
            if let Some(mut workload) = AnyWorkload::named(info.name) {
                workload.set_knob(knob, value)?;
            }
        }
    }
    for info in part_infos().filter(|p| p.knobs.iter().any(|k| k.name == knob)) {
        found = true;
        if let Some(mut part) = Policy::named(info.name) {
            part.set_knob(knob, value)?;
        } else if let Some(mut part) = AnyDupackResponse::named(info.name) {
            part.set_knob(knob, value)?;
        } else if let Some(mut part) = AnyLossClassifier::named(info.name) {
            part.set_knob(knob, value)?;
        } else if let Some(mut part) = AnySpuriousDetector::named(info.name) {
            part.set_knob(knob, value)?;
        } else if let Some(mut part) = AnyHandoffSignal::named(info.name) {
            part.set_knob(knob, value)?;
        } else if let Some(mut part) = AnyCongestion::named(info.name) {
            part.set_knob(knob, value)?;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_builds_on_a_profile_that_has_what_it_needs() {
        let knobs = [("rtt_sampling".to_string(), "timestamps".to_string())];
        for scheme in schemes() {
            let has_own_policies = |p: &&&str| POLICIES.iter().any(|info| info.name == **p);
            let policies = scheme.parts.iter().filter(has_own_policies).count();
            // Nothing notifies a modified LD alone of a handoff.
            let name = if scheme.name == "ld-handover" {
                "ld-handover+frto".into()
            } else {
                scheme.name.clone()
            };
            let controls = AnyCongestion::named(&name).is_some_and(|c| c.controls());
            let profile = if controls { "linux" } else { "rfc" };
            let built = Scheme::named(&name).and_then(|s| s.build(profile, &knobs));
            assert_eq!(
                built.as_ref().ok().map(|b| b.policies.len()),
                Some(policies),
                "{name}: {built:?}"
            );
        }
        assert!(Scheme::named("enhaced").is_err_and(|e| e.to_string().contains("\"enhanced\"")));
    }

    #[test]
    fn names_are_of_one_part_each() {
        let mut names: Vec<_> = part_infos().map(|p| p.name).collect();
        names.extend(COMPOSED.iter().map(|c| c.0));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn parts_are_joined_and_two_of_a_kind_refused() {
        let joined = Scheme::named("enhanced+dcr-ld+a3");
        let parts = joined.map(|s| s.parts).unwrap_or_default();
        assert_eq!(parts[..], ["a1", "a2", "a3", "a4", "dcr", "ld"]);
        let refused = |name: &str, knobs: &[(String, String)]| {
            Scheme::named(name)
                .and_then(|s| s.build("ns2", knobs))
                .map_or_else(|e| e.to_string(), |_| String::new())
        };
        assert!(refused("dcr+ncr-careful", &[]).contains("dcr and ncr-careful"));
        assert!(refused("eifel", &[]).contains("timestamps"));
        assert!(refused("dsack-undo", &[]).contains("dsack"));
        assert!(refused("dcr+ld-handover", &[]).contains("frto"));
        let tahoe = [("recovery".to_string(), "tahoe".to_string())];
        assert!(refused("dcr-ld", &tahoe).contains("tahoe"));
        assert!(refused("ncr-aggressive", &tahoe).contains("SACK"));
        assert_eq!(refused("dcr-frto-ld", &[]), "");
        assert_eq!(refused("dcr+frto-ns2+ld-handover", &[]), "");
        let blind = [("recovery", "newreno"), ("frto_ns2_version", "sack")]
            .map(|(name, value)| (name.to_string(), value.to_string()));
        assert!(refused("frto-ns2", &blind).contains("SACK"));
    }

    #[test]
    fn unmodelled_features_are_reported_as_such() {
        let said = unknown("scheme", "DCTCP", &[], "all");
        assert!(
            said.starts_with("\"DCTCP\" is not modelled; docs/scenarios.md"),
            "{said}"
        );
    }
}
