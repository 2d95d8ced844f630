use midflight_sim::WorldError;
use midflight_tcp::scheme::SchemeError;
pub use midflight_units::nearest;
use midflight_units::{Duration, Instant, UnitError};
use midflight_wire::pcapng::PcapError;
use midflight_wire::WireError;

/// Why a run is refused or has failed.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// There is no such flow in a scenario.
    #[error("there is no flow \"{name}\"{}; expected {known}", near.as_ref().map(|n| format!(" (did you mean \"{n}\"?)")).unwrap_or_default())]
    UnknownFlow {
        /// The name that was read.
        name: String,
        /// The nearest name that exists.
        near: Option<String>,
        /// The names that exist.
        known: String,
    },
    /// A scenario that cannot be run.
    #[error("{place}{key}: {why}")]
    Scenario {
        /// File and line, or the override, with a separator; empty if there is neither.
        place: String,
        /// Path to the value.
        key: String,
        /// The value, if there is one.
        value: Option<String>,
        /// The value read and the accepted values.
        why: String,
    },
    /// A well-formed model with impossible values.
    #[error("{what} \"{text}\" is invalid: {problem}")]
    ModelProblem {
        /// The name of the input.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Text that is not a model of a radio link.
    #[error("{what} \"{text}\" is not accepted; write for example {accepted}")]
    Model {
        /// The name of the input.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// The accepted values.
        accepted: &'static str,
    },
    /// Handoffs that overlap.
    #[error("a handoff every {every} is too frequent: one may take {longest}, the sum of gap, advertisement interval, signal delay and registration; expected more time between handoffs, or shorter delays")]
    OverlappingHandoffs {
        /// Time between two handoffs.
        every: Duration,
        /// The longest time that one may take.
        longest: Duration,
    },
    /// A scenario has no run of this number.
    #[error("there is no run {run}: the scenario has {} (runs = {runs}), numbered from 0", if *runs == 1 { "one".into() } else { runs.to_string() })]
    NoRun {
        /// The number that was read.
        run: u64,
        /// How many runs there are.
        runs: u64,
    },
    /// Scenarios that are run together give more results than fit in memory.
    #[error("the scenarios give {rows} rows of flows and phases together; expected at most {most} at a time: give fewer scenarios or runs")]
    TooManyRows {
        /// How many there would be.
        rows: u64,
        /// How many are accepted.
        most: u64,
    },
    /// A scheme, a profile or one of their settings is not accepted.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// Text that is not a quantity.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Text that is not a link description.
    #[error("link \"{text}\" is not a rate and a delay; write for example \"6400 kbit/s, 9 ms\"")]
    Link {
        /// The text as it was read.
        text: String,
    },
    /// The handoff would begin after the end of the run, or be complete and notified only after it.
    #[error("the handoff at {at} is complete, its notice delivered, at {complete}, but the run ends at {end}; expected an earlier handoff, a shorter gap or notice delay, or a later end")]
    AfterEnd {
        /// The handoff.
        at: Instant,
        /// When the new route is in use and the notice delivered.
        complete: Instant,
        /// The end of the run.
        end: Instant,
    },
    /// The handoff would come before all flows are open.
    #[error("at {at}, when the handoff starts, not all flows are open: the last one opens at {open}; expected a later handoff, fewer flows or a shorter time between their starts")]
    NotOpen {
        /// The handoff.
        at: Instant,
        /// When the last flow opens.
        open: Instant,
    },
    /// The window of a count would end after the run.
    #[error("the window of {window} from {from} ends after the run, which ends at {end}; expected a shorter window, or a later end")]
    WindowAfterEnd {
        /// Its length.
        window: Duration,
        /// Where it begins.
        from: Instant,
        /// The end of the run.
        end: Instant,
    },
    /// A number is outside its range.
    #[error("{what} {value} is out of range; expected {accepted}")]
    Range {
        /// What it counts.
        what: &'static str,
        /// The number that was read.
        value: String,
        /// The accepted range.
        accepted: &'static str,
    },
    /// A flow with the kernel's TCP cannot be simulated.
    #[error("flow \"{flow}\" has the stack \"linux\", which is not simulated (midflight run, sweep, plot, report and lab run use the kernel for it); expected the stack \"midflight\" here")]
    KernelStack {
        /// Its name.
        flow: String,
    },
    /// The packets of a flow of the profile `quic` have no bytes to capture.
    #[error("flow \"{flow}\" has the profile \"quic\", whose packets have sizes and no bytes: a capture would show neither packet numbers nor ACKs; expected a flow with a QUIC stack (\"quinn\", \"noq\", \"aioquic\") or another profile; --trace writes the packets of the profile quic")]
    Uncaptured {
        /// Its name.
        flow: String,
    },
    /// A flow's stack is not available with these options.
    #[error("flow \"{flow}\": {why}")]
    Stack {
        /// Its name.
        flow: String,
        /// Why not.
        why: midflight_quic::Refused,
    },
    /// The sender state of a flow with a foreign stack is not available.
    #[error("flow \"{flow}\" runs the stack \"{stack}\", whose sender's state is not available; its events are in the trace")]
    StackSender {
        /// Its name.
        flow: String,
        /// The stack.
        stack: &'static str,
    },
    /// Nothing to do.
    #[error("no {what} was given; at least one is needed")]
    Nothing {
        /// The missing item.
        what: &'static str,
    },
    /// The caller stopped the work.
    #[error("interrupted")]
    Interrupted,
    /// A trace or the captures of a run would be too long.
    #[error("the run has more than {most} {what} before it ends at {end}; expected an earlier end, or fewer packets")]
    TooLong {
        /// The item that exceeds its limit.
        what: &'static str,
        /// The maximum.
        most: usize,
        /// Where the run would have ended.
        end: Instant,
    },
    /// A capture could not be written.
    #[error("cannot write the capture: {0}")]
    Capture(#[from] PcapError),
    /// A packet could not be made.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The simulated world reported an error.
    #[error(transparent)]
    World(#[from] WorldError),
}
