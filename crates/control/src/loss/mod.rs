//! Loss classifiers: was a lost segment dropped by a full queue, or lost on the radio link?
//!
//! A classifier is one file here and one line in the registry below. It gets the RTT of every ACK
//! of new data and is called at the duplicate ACK that would start fast retransmit. If it
//! attributes the loss to the radio link, the segment is retransmitted without reducing the window.

mod congestion;
mod ld;

use midflight_units::{Duration, Instant, Seq};

pub use congestion::Congestion;
pub use ld::Ld;

use crate::part::registry;
use crate::{Interests, SenderView};

/// The cause of a loss according to a classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// A queue was full: reduce the window.
    Congestion,
    /// It was lost on the radio link: keep the window.
    Wireless,
}

/// An RTT measured on an ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct RttSample {
    /// The round-trip time.
    pub rtt: Duration,
    /// When the segment that gave it was sent.
    pub sent: Instant,
    /// First unacknowledged segment after the ACK.
    pub snd_una: Seq,
    /// One past the highest segment sent.
    pub snd_max: Seq,
}

/// The indicators of a classifier, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indicators {
    /// The last RTT.
    pub current: f64,
    /// Mean RTT.
    pub mean: f64,
    /// Mean deviation of the RTT.
    pub deviation: f64,
    /// Minimum RTT; infinite before any.
    pub least: f64,
    /// An RTT above this means congestion.
    pub threshold: f64,
}

/// A loss classifier.
pub trait LossClassifier {
    /// The cause of the suspected loss.
    fn judge(&self, view: &SenderView) -> LossCause;

    /// [`Interests::SAMPLES`] if it uses RTT samples; this does not change.
    fn interests(&self) -> Interests {
        Interests::NOTHING
    }

    /// An ACK of new data gave an RTT.
    fn on_sample(&mut self, _sample: &RttSample) {}

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, _view: &SenderView) {}

    /// The timeout was spurious: the path may have changed.
    fn on_spurious_timeout(&mut self, _view: &SenderView) {}

    /// Its measurements, if it has any.
    fn indicators(&self) -> Option<Indicators> {
        None
    }
}

registry! {
    /// Any registered loss classifier.
    #[derive(Clone, Copy, Debug, PartialEq)]
    AnyLossClassifier of LossClassifier, listed in LOSS_CLASSIFIERS:
    Congestion: Congestion,
    Ld: Ld<false>,
    LdHandover: Ld<true>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::testing::check_knobs;

    #[test]
    fn every_classifier_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in LOSS_CLASSIFIERS {
            let mut part = AnyLossClassifier::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part.info(), *info);
            check_knobs(info, |name, value| part.set_knob(name, value));
        }
    }
}
