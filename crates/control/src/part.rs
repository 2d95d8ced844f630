//! The parts of senders. Each has a name, a source and knobs, and is found by its name in the
//! registry of its kind.
//!
//! A part is one file in the folder of its kind and one line in its registry ([`crate::policy`],
//! [`crate::dupack`], [`crate::loss`], [`crate::spurious`], [`crate::congestion`]).

/// A parameter of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Name on the command line, which begins with the part's name.
    pub name: &'static str,
    /// Default value.
    pub default: &'static str,
    /// Values that are accepted.
    pub accepts: &'static str,
    /// What it controls.
    pub summary: &'static str,
}

/// Name and source of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// Name in the registry.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// Paper or RFC, with section.
    pub source: &'static str,
    /// Parameters.
    pub knobs: &'static [Knob],
}

/// A knob value that a part does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{knob} = \"{value}\" is not accepted; expected {accepts}")]
pub struct KnobError {
    /// The knob.
    pub knob: String,
    /// The value that was read.
    pub value: String,
    /// The accepted values.
    pub accepts: &'static str,
}

/// A type with a name, a source and knobs.
pub trait Part {
    /// Name, source and knobs.
    const INFO: PartInfo;

    /// Sets the knob with this full name.
    ///
    /// # Errors
    /// [`KnobError`] when the value is not accepted. The caller checks names.
    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        Err(refuse(&Self::INFO, name, value))
    }
}

/// Generates an enum of all parts of a kind, which dereferences to the trait object of the one it
/// holds, and the list of their names. A part after `beside` is not in that list: the caller passes
/// it in.
#[macro_export]
#[doc(hidden)]
macro_rules! registry {
    (
        $(#[$attribute:meta])*
        $any:ident of $behaviour:ident, listed in $list:ident:
        $($variant:ident: $part:ty),+ $(,)?
        $(; beside $other:ident: $foreign:ty)?
    ) => {
        $(#[$attribute])*
        pub enum $any {
            $(#[doc = concat!("`", stringify!($part), "`.")] $variant($part),)+
            $(#[doc = concat!("`", stringify!($foreign), "`.")] $other($foreign),)?
        }

        /// All parts of this kind, in the order of the registry.
        pub const $list: &[$crate::part::PartInfo] =
            &[$(<$part as $crate::part::Part>::INFO),+];

        impl $any {
            /// The part with this name, with default knobs.
            pub fn named(name: &str) -> Option<Self> {
                $(if name == <$part as $crate::part::Part>::INFO.name {
                    return Some(Self::$variant(<$part>::default()));
                })+
                None
            }

            /// Name, source and knobs.
            pub fn info(&self) -> $crate::part::PartInfo {
                match self {
                    $(Self::$variant(_) => <$part as $crate::part::Part>::INFO,)+
                    $(Self::$other(p) => <$foreign>::info(p),)?
                }
            }

            /// See [`crate::part::Part::set_knob`].
            ///
            /// # Errors
            /// [`crate::part::KnobError`] when the value is not accepted.
            pub fn set_knob(
                &mut self,
                name: &str,
                value: &str,
            ) -> Result<(), $crate::part::KnobError> {
                match self {
                    $(Self::$variant(p) => $crate::part::Part::set_knob(p, name, value),)+
                    $(Self::$other(p) => Err($crate::part::refuse(&<$foreign>::info(p), name, value)),)?
                }
            }
        }

        impl std::ops::Deref for $any {
            type Target = dyn $behaviour;

            fn deref(&self) -> &Self::Target {
                match self { $(Self::$variant(p) => p,)+ $(Self::$other(p) => p,)? }
            }
        }

        impl std::ops::DerefMut for $any {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(Self::$variant(p) => p,)+ $(Self::$other(p) => p,)? }
            }
        }
    };
}

pub use registry;

const SEPARATOR: &[u8] = b", ";

/// The length of [`joined`], in bytes.
pub const fn joined_length(parts: &[PartInfo]) -> usize {
    let (mut length, mut rest) = (0, parts);
    while let [part, others @ ..] = rest {
        length += part.name.len();
        if !others.is_empty() {
            length += SEPARATOR.len();
        }
        rest = others;
    }
    length
}

/// Writes `bytes` into `text` at `at`; returns where they end.
const fn written(text: &mut [u8], mut at: usize, mut bytes: &[u8]) -> usize {
    while let [byte, rest @ ..] = bytes {
        text[at] = *byte;
        at += 1;
        bytes = rest;
    }
    at
}

/// The names of parts, separated by a comma and a space, as a constant: the accepted values of a
/// setting. `N` is their [`joined_length`].
pub const fn joined<const N: usize>(parts: &[PartInfo]) -> [u8; N] {
    let mut text = [0; N];
    let (mut at, mut rest) = (0, parts);
    while let [part, others @ ..] = rest {
        at = written(&mut text, at, part.name.as_bytes());
        if !others.is_empty() {
            at = written(&mut text, at, SEPARATOR);
        }
        rest = others;
    }
    text
}

/// The value among `choices` with the name `text`.
///
/// # Errors
/// [`KnobError`] when there is none.
pub fn choose<T: Copy>(
    info: &PartInfo,
    knob: &str,
    text: &str,
    choices: &[(&str, T)],
) -> Result<T, KnobError> {
    choices
        .iter()
        .find(|(name, _)| *name == text)
        .map(|&(_, value)| value)
        .ok_or_else(|| refuse(info, knob, text))
}

/// An integer within bounds.
///
/// # Errors
/// [`KnobError`] for anything else.
pub fn whole(
    info: &PartInfo,
    knob: &str,
    text: &str,
    bounds: std::ops::RangeInclusive<u32>,
) -> Result<u32, KnobError> {
    let number = text.parse().ok().filter(|n| bounds.contains(n));
    number.ok_or_else(|| refuse(info, knob, text))
}

/// The error for a value that a knob does not accept.
pub fn refuse(info: &PartInfo, knob: &str, text: &str) -> KnobError {
    let known = info.knobs.iter().find(|k| k.name == knob);
    KnobError {
        knob: knob.into(),
        value: text.into(),
        accepts: known.map_or("nothing", |k| k.accepts),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{KnobError, PartInfo};

    /// Checks that a part accepts its documented defaults and refuses invalid values.
    pub(crate) fn check_knobs(
        info: &PartInfo,
        mut set: impl FnMut(&str, &str) -> Result<(), KnobError>,
    ) {
        for knob in info.knobs {
            let mut words = info.name.split('-');
            let is_named_for_it = words.any(|word| knob.name.starts_with(word));
            assert!(is_named_for_it, "{}", knob.name);
            assert_eq!(set(knob.name, knob.default), Ok(()), "{}", knob.name);
            assert!(set(knob.name, "no such value").is_err(), "{}", knob.name);
        }
    }
}
