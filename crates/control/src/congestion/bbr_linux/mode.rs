//! The modes of BBR.

/// The sending mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

impl Mode {
    /// As draft-cardwell-iccrg-bbr-congestion-control-00 writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::ProbeBw => "ProbeBW",
            Self::ProbeRtt => "ProbeRTT",
        }
    }
}
