//! Drills: scripts in packetdrill's notation (Cardwell et al., "packetdrill:
//! Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC
//! 2013), run against an endpoint ([`midflight_endpoint::Connection`]) in
//! virtual time.
//!
//! A script specifies arriving packets and the calls of the application, and expects packets and
//! states of the sender. There is one connection at a time; unsupported features (urgent data,
//! accurate ECN) are refused with file and line.

mod buffer;
mod call;
mod code;
mod data;
mod environment;
mod expression;
mod fast_open;
mod files;
mod handoff;
mod icmp;
mod lexer;
mod machine;
mod options;
mod parser;
mod reader;
mod report;
mod runner;
mod script;
mod sockets;
mod sysctls;
mod tested;
mod timestamps;
mod value;

use midflight_tcp::scheme::{Knobs, Scheme, SchemeError};
use midflight_units::Duration;

pub use report::{drill_fields, DrillRun, Failure, Note};

use environment::Environment;
use runner::Runner;

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrillError {
    /// Text that is not in the notation.
    #[error("{file}:{line}: {found} is not understood; expected {accepted}")]
    Syntax {
        /// The script.
        file: String,
        /// The line.
        line: u32,
        /// The text that was read.
        found: String,
        /// The accepted values.
        accepted: String,
    },
    /// A script in which nothing happens.
    #[error(
        "{file}: there is nothing to run in this script; its first event is for example \
             0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3"
    )]
    Empty {
        /// The script.
        file: String,
    },
    /// A feature that the sender or the drill does not support.
    #[error("{file}:{line}: {what} is refused: {why}")]
    Refused {
        /// The script.
        file: String,
        /// The line.
        line: u32,
        /// The text that was read.
        what: String,
        /// Why, and what would be accepted.
        why: String,
    },
    /// A field that a simulated sender does not have.
    #[error("{file}:{line}: \"{name}\" is not a quantity of this sender; there are {known}")]
    Field {
        /// The script.
        file: String,
        /// The line.
        line: u32,
        /// The name that was read.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A sender that cannot be built.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
}

impl DrillError {
    fn syntax(file: &str, line: u32, found: String, accepted: &str) -> Self {
        Self::Syntax {
            file: file.into(),
            line,
            found,
            accepted: accepted.into(),
        }
    }

    fn refused(file: &str, line: u32, what: String, why: &str) -> Self {
        Self::Refused {
            file: file.into(),
            line,
            what,
            why: why.into(),
        }
    }
}

/// How to run a script. These values override the script's header.
#[derive(Clone, Debug, Default)]
pub struct DrillRequest {
    /// The scheme; if there is none here or in the header, the plain sender.
    pub scheme: Option<String>,
    /// The profile; if there is none here or in the header, `rfc`.
    pub profile: Option<String>,
    /// Settings by name.
    pub knobs: Knobs,
    /// How early or late a segment may be; if there is no value here or in the script's flags,
    /// packetdrill's 4 ms.
    pub tolerance: Option<Duration>,
}

impl DrillRequest {
    /// If the script's header and not the caller chose a sender that cannot be built, the error
    /// names the line.
    fn explain(&self, name: &str, line: Option<u32>, error: SchemeError) -> DrillError {
        let silent = self.scheme.is_none() && self.profile.is_none() && self.knobs.is_empty();
        match line.filter(|_| silent) {
            Some(line) => {
                let what = "a sender of this line".into();
                DrillError::refused(name, line, what, &error.to_string())
            }
            None => error.into(),
        }
    }
}

/// One configuration for a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Configuration {
    /// The line of the header that requests it.
    line: Option<u32>,
    scheme: Option<String>,
    profile: Option<String>,
    knobs: Knobs,
}

/// The accepted content of a header comment.
const HEADER: &str = "profile=NAME, scheme=NAME or SETTING=VALUE, alternatives behind commas";

/// Maximum number of configurations in one header.
const MOST_CONFIGURATIONS: usize = 64;

/// Runs a script once for each configuration in its header. Messages refer to it as `name`.
///
/// # Errors
/// [`DrillError`] when the script cannot be read or requires something that is refused, and for
/// errors of schemes, profiles and settings.
pub fn run_drill(
    text: &str,
    name: &str,
    request: &DrillRequest,
) -> Result<Vec<DrillRun>, DrillError> {
    let mut notes = Vec::new();
    let script = parser::parse(name, text, &mut notes)?;
    let mut runs = Vec::new();
    for header in configurations(name, &script.headers)? {
        let mut knobs = header.knobs;
        for (knob, value) in &request.knobs {
            match knobs.iter_mut().find(|(name, _)| name == knob) {
                Some(known) => known.1.clone_from(value),
                None => knobs.push((knob.clone(), value.clone())),
            }
        }
        let scheme = request.scheme.clone().or(header.scheme);
        let profile = request.profile.clone().or(header.profile);
        let scheme = scheme.unwrap_or_else(|| "sack".into());
        let profile = profile.unwrap_or_else(|| "rfc".into());
        let run = DrillRun {
            knobs: knobs.clone(),
            notes: notes.clone(),
            failure: None,
            segments: 0,
            end: midflight_units::Instant::ZERO,
            scheme: scheme.clone(),
            profile: profile.clone(),
        };
        // With --set, two values of a setting may lead to the same configuration.
        if runs
            .iter()
            .any(|r: &DrillRun| (&r.scheme, &r.profile, &r.knobs) == (&scheme, &profile, &knobs))
        {
            continue;
        }
        let built = Scheme::named(&scheme).and_then(|s| s.build(&profile, &knobs));
        let built = built.map_err(|error| request.explain(name, header.line, error))?;
        let pinned = request.knobs.iter().map(|(knob, _)| knob.clone()).collect();
        let mut built = built;
        if !knobs.iter().any(|(knob, _)| knob == "hz") {
            // Scripts state times that hold for kernels with every HZ.
            let exact = built.profile.set("hz", "0");
            exact.map_err(|error| request.explain(name, header.line, error.into()))?;
        }
        let mut environment = Environment::new(name, pinned, built);
        environment.flags(&script.flags, request.tolerance)?;
        runs.push(Runner::new(name, &script, environment).run(run)?);
    }
    Ok(runs)
}

/// Reads the header: words `key=value` or `key=value,value`; every combination is a configuration.
/// Without a header there is one, the plain sender.
fn configurations(name: &str, headers: &[(u32, String)]) -> Result<Vec<Configuration>, DrillError> {
    let Some((line, header)) = headers.first() else {
        return Ok(vec![Configuration::default()]);
    };
    let line = *line;
    if let Some((second, _)) = headers.get(1) {
        return Err(DrillError::refused(
            name,
            *second,
            "a second comment that starts with midflight".into(),
            "a script has one, with alternatives behind commas: recovery=sack,newreno",
        ));
    }
    if header.trim().is_empty() {
        return Err(DrillError::syntax(
            name,
            line,
            "a comment with midflight alone".into(),
            HEADER,
        ));
    }
    let mut all = vec![Configuration {
        line: Some(line),
        ..Configuration::default()
    }];
    for word in header.split_whitespace() {
        let Some((key, values)) = word
            .split_once('=')
            .filter(|(k, v)| !k.is_empty() && !v.is_empty())
        else {
            return Err(DrillError::syntax(
                name,
                line,
                format!("\"{word}\" in a comment that starts with midflight"),
                HEADER,
            ));
        };
        let values: Vec<_> = values.split(',').collect();
        if all.len() * values.len() > MOST_CONFIGURATIONS {
            return Err(DrillError::refused(
                name,
                line,
                format!("\"{word}\""),
                "that would be more than 64 configurations",
            ));
        }
        let with = |configuration: &Configuration, value: &str| {
            let mut configuration = configuration.clone();
            match key {
                "scheme" => configuration.scheme = Some(value.into()),
                "profile" => configuration.profile = Some(value.into()),
                _ => configuration.knobs.push((key.into(), value.into())),
            }
            configuration
        };
        all = all
            .iter()
            .flat_map(|c| values.iter().map(move |value| with(c, value)))
            .collect();
    }
    Ok(all)
}

/// A text on one line, shortened if it is long.
fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    line.chars().take(MOST - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use midflight_control::part::PartInfo;
    use midflight_control::policy::{Foreign, ForeignPolicy, HandoffPolicy, Policy};
    use midflight_control::{LinkInfo, Notice, Order, Orders, SenderView};
    use midflight_tcp::{Sender, PROFILES};

    use super::*;

    #[test]
    fn a_header_lists_the_configurations_a_script_is_for() {
        let read = |text: &str| {
            let script =
                parser::parse("x.pkt", &format!("{text}\n0 close(3) = 0"), &mut Vec::new());
            let read = script.and_then(|script| configurations("x.pkt", &script.headers));
            read.map_err(|e| e.to_string())
        };
        assert_eq!(read("0 close(3) = 0").map(|c| c.len()), Ok(1));
        let all = read("// A title.\n// midflight: profile=rfc recovery=sack,newreno min_rto=1s\n");
        let all = all.unwrap_or_default();
        assert_eq!(all.len(), 2);
        assert_eq!(all[1].knobs[0], ("recovery".into(), "newreno".into()));
        assert_eq!(all[1].profile.as_deref(), Some("rfc"));
        for same in [
            "//midflight:recovery=sack,newreno",
            "// Midflight recovery=sack,newreno",
            "/* MIDFLIGHT : recovery=sack,newreno */",
            "/**\nmidflight:\n recovery=sack,newreno **/",
            "## midflight: recovery=sack,newreno",
            "0 close(4) = 0 // midflight: recovery=sack,newreno",
        ] {
            assert_eq!(read(same).map(|c| c.len()), Ok(2), "{same}");
        }
        // Prose, and a commented-out header.
        for none in [
            "// midflight's sender, as it is",
            "// for midflight: recovery=sack,newreno",
            "/*\n// midflight: recovery=sack,newreno\n*/",
            "// // midflight: recovery=sack,newreno",
            "0 bind(3, \"// midflight: recovery=sack,newreno\") = 0",
        ] {
            assert_eq!(read(none), Ok(vec![Configuration::default()]), "{none}");
        }
        for wrong in [
            "midflight: fast",
            "midflight; fast=1",
            "Midflight, fast",
            "midflight:",
            "midflight",
        ] {
            let said = read(&format!("\n// {wrong}")).err().unwrap_or_default();
            assert!(said.starts_with("x.pkt:2: "), "{wrong}: {said}");
        }
        assert!(read("\n// midflight: fast").is_err_and(|e| e.starts_with("x.pkt:2: \"fast\" in")));
        let twice = "// midflight: a=1\n// midflight: a=2";
        assert!(read(twice).is_err_and(|e| e.starts_with("x.pkt:2: a second comment")));
        let many = format!("// midflight: a={}", "1,".repeat(70));
        assert!(read(&many).is_err_and(|e| e.contains("more than 64")));
    }

    /// A policy that sets the window to zero at a timeout.
    #[derive(Clone, Debug)]
    struct Bad;

    impl HandoffPolicy for Bad {
        fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
            Orders::none()
        }

        fn on_timeout(&mut self, _before: &SenderView, _view: &SenderView) -> Orders {
            Orders::none().with(Order::SetCwnd(0.0), "a bug")
        }
    }

    impl ForeignPolicy for Bad {
        fn info(&self) -> PartInfo {
            PartInfo {
                name: "bad",
                summary: "",
                source: "",
                knobs: &[],
            }
        }

        fn copied(&self) -> Box<dyn ForeignPolicy> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn a_window_that_no_sender_may_have_ends_the_drill_and_names_its_author() {
        let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
            +0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1000>\n+0 > S. 0:0(0) ack 1 <...>\n\
            +.1 < . 1:1(0) ack 1 win 50000\n+0 accept(3, ..., ...) = 4\n\
            +0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+1 > . 1:1001(1000) ack 1\n";
        let run = |policy: Option<Policy>| {
            let script = parser::parse("x.pkt", text, &mut Vec::new());
            let script = script.map_err(|e| e.to_string())?;
            let built = Scheme::named("sack").and_then(|s| s.build("rfc", &Knobs::new()));
            let mut built = built.map_err(|e| e.to_string())?;
            built.policies.extend(policy);
            let environment = Environment::new("x.pkt", Vec::new(), built);
            let blank = DrillRun {
                knobs: Knobs::new(),
                notes: Vec::new(),
                failure: None,
                segments: 0,
                end: midflight_units::Instant::ZERO,
                scheme: "sack".into(),
                profile: "rfc".into(),
            };
            let run = Runner::new("x.pkt", &script, environment).run(blank);
            run.map(|run| run.failure).map_err(|e| e.to_string())
        };
        assert_eq!(run(None), Ok(None));
        // Without a notice it would not be called.
        let mut policy = Foreign::new(&Bad);
        let link = LinkInfo {
            rate: midflight_units::Rate::from_bps(1).unwrap_or_else(|| unreachable!()),
            delay: Duration::ZERO,
        };
        let notice = Notice {
            old: link,
            new: link,
            flows: 1,
        };
        let view = Sender::new(&PROFILES[0].sender, &PROFILES[0].parts, []).view();
        policy.on_notice(&notice, &view);
        assert_eq!(
            run(Some(Policy::Foreign(policy))),
            Err("x.pkt:10: a congestion window of 0 segments, which bad ordered at 1.1 s, is refused: at least 1 is accepted".into())
        );
    }
}
