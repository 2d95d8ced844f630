//! What an error is about, for Python: the name of what was read, its value, and what is accepted.

use std::error::Error;

use midflight_control::part::KnobError;
use midflight_study::lab::LabError;
use midflight_study::StudyError;
use midflight_tcp::scheme::SchemeError;
use midflight_tcp::ConfigError;
use midflight_units::UnitError;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    midflight,
    MidflightError,
    PyValueError,
    "A request that cannot be carried out; the message is one sentence for the user."
);

/// What an error is about; each part as far as the error has it.
#[derive(Default)]
pub(crate) struct About {
    name: Option<String>,
    value: Option<String>,
    accepted: Option<String>,
}

impl About {
    fn new(name: &str, value: &str, accepted: &str) -> Self {
        Self {
            name: Some(name.into()),
            value: Some(value.trim_matches('"').into()),
            accepted: Some(accepted.into()),
        }
    }

    fn of(error: &(dyn Error + 'static)) -> Self {
        if let Some(LabError::Unsupported { what, accepted }) = error.downcast_ref() {
            return Self::new("lab", what, accepted);
        }
        if let Some(error) = error.downcast_ref::<StudyError>() {
            Self::of_study(error)
        } else if let Some(error) = error.downcast_ref::<SchemeError>() {
            Self::of_scheme(error)
        } else if let Some(error) = error.downcast_ref::<UnitError>() {
            Self::of_unit(error)
        } else {
            Self::default()
        }
    }

    fn of_study(error: &StudyError) -> Self {
        match error {
            StudyError::Scheme(error) => Self::of_scheme(error),
            StudyError::Unit(error) => Self::of_unit(error),
            StudyError::UnknownFlow { name, known, .. } => Self::new("flow", name, known),
            StudyError::Model {
                what,
                text,
                accepted,
            } => Self::new(what, text, accepted),
            StudyError::ModelProblem { what, text, .. } => Self {
                accepted: None,
                ..Self::new(what, text, "")
            },
            StudyError::Link { text } => Self::new("link", text, "6400 kbit/s, 9 ms"),
            StudyError::Range {
                what,
                value,
                accepted,
            } => Self::new(what, value, accepted),
            StudyError::NoRun { run, runs } => {
                Self::new("run", &run.to_string(), &format!("0 to {}", runs - 1))
            }
            StudyError::Nothing { what } => Self::new(what, "", "at least one"),
            StudyError::Scenario {
                key, value, why, ..
            } => Self {
                name: Some(key.clone()),
                value: value.clone(),
                accepted: accepted_in(why).map(Into::into),
            },
            StudyError::OverlappingHandoffs { every, longest } => Self::new(
                "every",
                &every.to_string(),
                &format!("more than {longest}, or shorter handoffs"),
            ),
            StudyError::TooManyRows { rows, most } => {
                Self::new("rows", &rows.to_string(), &format!("at most {most}"))
            }
            StudyError::AfterEnd { at, end, .. } => Self::new(
                "at",
                &at.to_string(),
                &format!("a handoff that is over before {end}"),
            ),
            StudyError::NotOpen { at, open } => {
                Self::new("at", &at.to_string(), &format!("{open} or later"))
            }
            StudyError::WindowAfterEnd { window, from, end } => Self::new(
                "window",
                &window.to_string(),
                &format!("a window that is over {} after {from}", end.since(*from)),
            ),
            StudyError::Uncaptured { .. } => Self::new("profile", "quic", "a QUIC stack"),
            StudyError::KernelStack { .. } => Self::new("stack", "linux", "midflight"),
            StudyError::Stack { flow, why } => Self {
                name: Some("stack".into()),
                value: Some(flow.clone()),
                accepted: accepted_in(&why.to_string()).map(Into::into),
            },
            StudyError::StackSender { stack, .. } => Self::new("stack", stack, "midflight"),
            StudyError::TooLong { what, most, end } => Self::new(
                "until",
                &end.to_string(),
                &format!("an end before which there are at most {most} {what}"),
            ),
            // The machine or a part failed: nothing else would have been accepted.
            StudyError::Interrupted
            | StudyError::Capture(_)
            | StudyError::Wire(_)
            | StudyError::Threads(_)
            | StudyError::World(_) => Self::default(),
        }
    }

    fn of_scheme(error: &SchemeError) -> Self {
        match error {
            SchemeError::UnknownScheme { name, .. } => {
                Self::new("scheme", name, "midflight.schemes()")
            }
            SchemeError::UnknownKnob { name, .. } => {
                Self::new("setting", name, "midflight list settings")
            }
            SchemeError::Clash { scheme, what, .. } => {
                Self::new("scheme", scheme, &format!("one {what}"))
            }
            SchemeError::Knob(KnobError {
                knob,
                value,
                accepts,
            }) => Self::new(knob, value, accepts),
            SchemeError::Config(error) => match error {
                ConfigError::UnknownProfile { name, known } => Self::new("profile", name, known),
                ConfigError::Value {
                    name,
                    value,
                    accepts,
                } => Self::new(name, value, accepts),
                ConfigError::Combination { part, reason } => Self {
                    name: Some((*part).into()),
                    value: None,
                    accepted: accepted_in(reason).map(Into::into),
                },
                ConfigError::Unit { name, source } => Self {
                    name: Some(name.clone()),
                    ..Self::of_unit(source)
                },
            },
        }
    }

    fn of_unit(error: &UnitError) -> Self {
        match error {
            UnitError::Number {
                what,
                text,
                example,
            }
            | UnitError::Negative {
                what,
                text,
                example,
            } => Self::new(what, text, example),
            UnitError::Unit {
                what,
                text,
                accepted,
                ..
            }
            | UnitError::Range {
                what,
                text,
                accepted,
            } => Self::new(what, text, accepted),
            UnitError::Instants { text, .. } => {
                Self::new("instants", text, "8.2s, 1s,2s or 0.1s:20s:0.1s")
            }
        }
    }
}

/// What a sentence on a value of a scenario says is accepted: its end without a near name, or else the near names.
fn accepted_in(why: &str) -> Option<&str> {
    let (listed, near) = match why.rsplit_once(" (did you mean ") {
        Some((listed, rest)) => (listed, rest.split_once("?)").map(|(near, _)| near)),
        None => (why, None),
    };
    let ways = ["expected ", "write for example ", "there are "];
    let ends = ways.iter().filter_map(|way| listed.rsplit_once(way));
    let end = ends
        .map(|(_, accepted)| accepted)
        .min_by_key(|end| end.len());
    end.or(near)
}

/// An error for Python, which says what it is about in `name`, `value` and `accepted`.
pub(crate) fn refuse(error: impl Error + 'static) -> PyErr {
    let about = About::of(&error);
    refusal(error.to_string(), &about)
}

/// The same for what only the binding reads: of this name, this was given, and that is accepted.
pub(crate) fn refuse_value(message: String, name: &str, value: &str, accepted: &str) -> PyErr {
    refusal(message, &About::new(name, value, accepted))
}

/// The same where the sentence ends with what is accepted.
pub(crate) fn refuse_sentence(message: String, name: &str, value: &str) -> PyErr {
    let accepted = accepted_in(&message).map(Into::into);
    let about = About {
        accepted,
        ..About::new(name, value, "")
    };
    refusal(message, &about)
}

fn refusal(message: String, about: &About) -> PyErr {
    let refused = MidflightError::new_err(message);
    Python::attach(|py| {
        let value = refused.value(py);
        for (name, text) in [
            ("name", &about.name),
            ("value", &about.value),
            ("accepted", &about.accepted),
        ] {
            // An exception has room for any attribute.
            let _ = value.setattr(name, text.as_deref());
        }
    });
    refused
}

/// The exception with what every one of them has, also one that Python raises.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = m.py().get_type::<MidflightError>();
    for name in ["name", "value", "accepted"] {
        class.setattr(name, m.py().None())?;
    }
    m.add("MidflightError", class)
}
