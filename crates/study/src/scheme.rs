//! Schemes: complete named sender configurations that a paper compares.

use midflight_control::policy::{Policy, POLICIES};

use crate::error::{nearest, StudyError};

/// A scheme: the plain sender with these policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Its policies, in the order in which they are asked.
    pub policies: Vec<&'static str>,
}

/// The schemes that are more or less than one policy.
const COMPOSED: &[(&str, &str, &str, &[&str])] = &[
    (
        "sack",
        "the plain sender, deaf to notices",
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
];

/// All schemes: the composed ones, then each policy alone.
pub fn schemes() -> Vec<Scheme> {
    let composed = COMPOSED
        .iter()
        .map(|&(name, summary, source, policies)| Scheme {
            name,
            summary,
            source,
            policies: policies.to_vec(),
        });
    let single = POLICIES.iter().map(|p| Scheme {
        name: p.name,
        summary: p.summary,
        source: p.source,
        policies: vec![p.name],
    });
    composed.chain(single).collect()
}

impl Scheme {
    /// The scheme of this name.
    ///
    /// # Errors
    /// [`StudyError::UnknownScheme`] names the nearest one and all there are.
    pub fn named(name: &str) -> Result<Self, StudyError> {
        let all = schemes();
        all.iter()
            .find(|s| s.name == name)
            .cloned()
            .ok_or_else(|| StudyError::UnknownScheme {
                name: name.into(),
                near: nearest(name, all.iter().map(|s| s.name)),
                known: all.iter().map(|s| s.name).collect::<Vec<_>>().join(", "),
            })
    }

    /// The policies with these knobs set; knobs of other policies are left out.
    ///
    /// # Errors
    /// [`StudyError::Knob`] when a value is not accepted.
    pub fn build(&self, knobs: &[(String, String)]) -> Result<Vec<Policy>, StudyError> {
        let mut policies: Vec<Policy> = self
            .policies
            .iter()
            .filter_map(|name| Policy::named(name))
            .collect();
        for policy in &mut policies {
            for (name, value) in knobs {
                if policy.info().knobs.iter().any(|k| k.name == name) {
                    policy.set_knob(name, value)?;
                }
            }
        }
        Ok(policies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_builds_all_its_policies() {
        for scheme in schemes() {
            let built = scheme.build(&[]).map(|p| p.len());
            assert_eq!(built.ok(), Some(scheme.policies.len()), "{}", scheme.name);
        }
        assert!(Scheme::named("enhaced").is_err_and(|e| e.to_string().contains("\"enhanced\"")));
    }
}
