//! Schemes with foreign policies, in addition to the parts of the registries.

use std::sync::Arc;

use midflight_control::congestion::CONGESTION_CONTROLLERS;
use midflight_control::policy::{Foreign, ForeignPolicy, Policy};
use midflight_control::Interests;

use crate::error::StudyError;
use crate::scheme::{Built, Scheme, SchemeError};
use crate::setup::Part;

/// Foreign policies, which schemes may name in addition to the parts of the registries.
pub type Policies = Vec<Arc<dyn ForeignPolicy>>;

/// Builds a scheme that may name foreign policies.
pub(crate) fn build(
    scheme: &str,
    profile: &str,
    knobs: &[(String, String)],
    policies: &[Arc<dyn ForeignPolicy>],
) -> Result<Arc<Part>, StudyError> {
    if policies.is_empty() {
        let built = Scheme::named(scheme)?.build(profile, knobs)?;
        return Ok(Arc::new(Part::new(built)));
    }
    let mut built = known_part(scheme, policies)?.build(profile, knobs)?;
    add_policies(&mut built, scheme, policies);
    Ok(Arc::new(Part::new(built)))
}

/// The scheme without its foreign policies; the plain scheme if nothing is left.
pub(crate) fn known_part(
    scheme: &str,
    policies: &[Arc<dyn ForeignPolicy>],
) -> Result<Scheme, StudyError> {
    let own: Vec<&str> = policies.iter().map(|p| p.info().name).collect();
    let known: Vec<&str> = scheme
        .split('+')
        .filter(|name| !own.contains(name))
        .collect();
    let found = match known[..] {
        [] => Scheme::named("sack")?,
        _ => Scheme::named_beside(&known.join("+"), &own)?,
    };
    check_controllers(scheme, &found, policies)?;
    Ok(found)
}

/// Refuses a second congestion controller.
fn check_controllers(
    scheme: &str,
    known: &Scheme,
    policies: &[Arc<dyn ForeignPolicy>],
) -> Result<(), StudyError> {
    let is_known = |name: &&str| CONGESTION_CONTROLLERS.iter().any(|c| c.name == *name);
    let named = |p: &&Arc<dyn ForeignPolicy>| scheme.split('+').any(|name| name == p.info().name);
    let own = policies.iter().filter(named);
    let own = own.filter(|p| p.interests().includes(Interests::CONTROL));
    let all: Vec<&str> = known
        .parts
        .iter()
        .copied()
        .filter(is_known)
        .chain(own.map(|p| p.info().name))
        .collect();
    if let [first, second, ..] = all[..] {
        let (first, second) = (first.into(), second.into());
        let (scheme, what) = (scheme.into(), "congestion controller");
        return Err(SchemeError::Clash {
            scheme,
            first,
            second,
            what,
        }
        .into());
    }
    Ok(())
}

/// Inserts foreign policies among the others, in the order of the scheme's names.
pub(crate) fn add_policies(built: &mut Built, scheme: &str, policies: &[Arc<dyn ForeignPolicy>]) {
    let mut left: Vec<Option<Policy>> = built.policies.drain(..).map(Some).collect();
    for name in scheme.split('+') {
        if let Some(policy) = policies.iter().find(|p| p.info().name == name) {
            let policy = Policy::Foreign(Foreign::new(policy.as_ref()));
            built.policies.push(policy);
            continue;
        }
        let parts = Scheme::named(name).map(|s| s.parts).unwrap_or_default();
        for slot in &mut left {
            let is_its = |p: &Policy| parts.contains(&p.info().name);
            if slot.as_ref().is_some_and(is_its) {
                built.policies.extend(slot.take());
            }
        }
    }
}
