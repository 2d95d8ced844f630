//! The environment of a script: packetdrill's flags and shell commands, of which only the sender's
//! own settings take effect. No shell is run; an unknown command is refused.

use midflight_control::congestion::CONGESTION_CONTROLLERS;
use midflight_control::StartNotice;
use midflight_endpoint::{Ecn, Keepalive, MtuProbing};
use midflight_tcp::scheme::Built;
use midflight_tcp::RecoveryKind;
use midflight_units::Duration;

use super::fast_open::Server;
use super::handoff::{self, HandoffEvent};
use super::sysctls::{Parameter, NO_ADDRESSES, PARAMETERS};
use super::{shorten, DrillError, Note};

/// packetdrill's tolerance.
const TOLERANCE: Duration = Duration::from_millis(4);
/// Bytes of an IPv4 and a TCP header without options.
const HEADERS: u64 = 40;
/// The same with IPv6 (RFC 8200 section 3).
const IPV6_HEADERS: u64 = 60;
/// The tick of Linux's timestamps.
const TIMESTAMP_TICK: Duration = Duration::from_millis(1);

/// The sender's configuration, and how it is checked.
#[derive(Clone, Debug)]
pub(super) struct Environment<'a> {
    name: &'a str,
    /// Settings from the caller, which a script does not change.
    pinned: Vec<String>,
    pub(super) built: Built,
    /// SACK is offered.
    pub(super) sack: bool,
    /// Timestamps are offered.
    pub(super) timestamps: bool,
    /// Window scaling is offered.
    pub(super) window_scaling: bool,
    /// Explicit congestion notification.
    pub(super) ecn: Ecn,
    /// Its sockets are those of IPv6, perhaps with addresses of IPv4.
    is_of_ipv6_socket: bool,
    /// Bytes of an IP and a TCP header without options.
    headers: u64,
    /// Bytes of our largest segment without options.
    pub(super) mss: u64,
    pub(super) tolerance: Duration,
    /// The tick of our timestamps; their values are compared if the script requires it.
    pub(super) timestamp_tick: Duration,
    pub(super) timestamps_compared: bool,
    pub(super) notes: Vec<Note>,
    /// The handoff events of the last commands.
    pub(super) handoff_events: Vec<HandoffEvent>,
    /// The sender's notice of the link that the connection opens on.
    pub(super) start_notice: Option<StartNotice>,
    /// How often a SYN is sent again, and how many of its timeouts do not back off.
    pub(super) syn_retries: Option<u32>,
    pub(super) linear_syns: u32,
    /// net.ipv4.tcp_thin_linear_timeouts.
    pub(super) thin_linear: bool,
    /// net.ipv4.tcp_synack_retries, net.ipv4.tcp_retries2, net.ipv4.tcp_orphan_retries (0 stands for 8).
    pub(super) response_retries: u32,
    pub(super) data_retries: u32,
    pub(super) orphan_retries: u32,
    /// The probes of a socket with SO_KEEPALIVE.
    pub(super) keepalive: Keepalive,
    /// Tails are probed (net.ipv4.tcp_early_retrans).
    pub(super) tail_probes: bool,
    /// net.ipv4.tcp_invalid_ratelimit and net.ipv4.tcp_fin_timeout.
    pub(super) answer_pause: Duration,
    pub(super) fin_timeout: Option<Duration>,
    /// net.ipv4.tcp_mtu_probing and its like.
    pub(super) mtu_probing: MtuProbing,
    /// net.ipv4.tcp_comp_sack_nr, net.ipv4.tcp_comp_sack_delay_ns.
    pub(super) compression: (u32, Duration),
    /// net.ipv4.tcp_rfc1337, net.ipv4.tcp_stdurg.
    pub(super) keeps_time_wait: bool,
    pub(super) standard_urgent: bool,
    /// Short segments that are sent again are joined (tcp_retrans_collapse).
    pub(super) joins_segments: bool,
    /// The second values of net.ipv4.tcp_rmem and net.ipv4.tcp_wmem.
    pub(super) buffers: (u64, u64),
    /// The third number of `net.ipv4.tcp_rmem`.
    pub(super) most_receive_buffer: u64,
    /// net.ipv4.tcp_notsent_lowat.
    pub(super) lowat: u64,
    /// TCP Fast Open.
    pub(super) fast_open: Server,
    /// What earlier connections have left is forgotten (`ip tcp_metrics flush`).
    pub(super) forgets: bool,
}

/// Whether `tc` puts the queueing discipline fq on a device.
fn sets_fq(arguments: &[&str]) -> bool {
    matches!(arguments, ["qdisc", "add" | "replace" | "change", ..]) && arguments.contains(&"fq")
}

/// Whether an address or a prefix may start with this character.
fn is_of_address(c: char) -> bool {
    c.is_ascii_digit() || c == ':'
}

impl<'a> Environment<'a> {
    pub(super) fn new(name: &'a str, pinned: Vec<String>, built: Built) -> Self {
        let profile = &built.profile;
        Self {
            name,
            pinned,
            sack: profile.sender.recovery.uses_sack(),
            timestamps: profile.receiver.timestamps,
            window_scaling: true,
            ecn: Ecn::Off,
            is_of_ipv6_socket: false,
            headers: HEADERS,
            mss: 1500 - HEADERS,
            tolerance: TOLERANCE,
            timestamp_tick: TIMESTAMP_TICK,
            timestamps_compared: false,
            notes: Vec::new(),
            handoff_events: Vec::new(),
            start_notice: None,
            syn_retries: None,
            linear_syns: 4,
            thin_linear: false,
            response_retries: 5,
            data_retries: 15,
            orphan_retries: 0,
            keepalive: Keepalive::default(),
            tail_probes: true,
            answer_pause: Duration::from_millis(500),
            fin_timeout: None,
            mtu_probing: MtuProbing::default(),
            compression: (44, Duration::from_millis(1)),
            keeps_time_wait: false,
            standard_urgent: false,
            joins_segments: true,
            buffers: (131_072, 16_384),
            most_receive_buffer: 6_291_456,
            lowat: 0,
            fast_open: Server::default(),
            forgets: false,
            built,
        }
    }

    pub(super) fn note(&mut self, line: u32, text: impl Into<String>) {
        let note = Note {
            line,
            text: text.into(),
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn refuse<T>(&self, line: u32, what: String, why: &str) -> Result<T, DrillError> {
        Err(DrillError::refused(self.name, line, what, why))
    }

    /// Processes the flags of a script; `tolerance` is the caller's.
    ///
    /// # Errors
    /// [`DrillError`] for an unknown flag, or a value that is not accepted.
    pub(super) fn flags(
        &mut self,
        flags: &[(u32, String, Option<String>)],
        tolerance: Option<Duration>,
    ) -> Result<(), DrillError> {
        let mut mtu = 1500;
        for (line, flag, value) in flags {
            let line = *line;
            let number = value.as_deref().and_then(|v| v.parse::<u64>().ok());
            let whole = |most: u64| {
                number.filter(|n| (1..=most).contains(n)).ok_or_else(|| {
                    let found = format!("--{flag}={}", value.as_deref().unwrap_or_default());
                    let accepted = format!("a whole number from 1 to {most}");
                    DrillError::syntax(self.name, line, found, &accepted)
                })
            };
            match flag.as_str() {
                "tolerance_usecs" => self.tolerance = Duration::from_micros(whole(10_000_000)?),
                "tcp_ts_tick_usecs" => {
                    self.timestamp_tick = Duration::from_micros(whole(1_000_000)?);
                    self.timestamps_compared = true;
                }
                "mtu" => mtu = whole(65_535)?,
                "ip_version" => match value.as_deref() {
                    Some("ipv4") => {}
                    Some("ipv4-mapped-ipv6") => self.is_of_ipv6_socket = true,
                    Some("ipv6") => {
                        self.is_of_ipv6_socket = true;
                        self.headers = IPV6_HEADERS;
                        self.fast_open.use_ipv6();
                    }
                    other => {
                        let found = format!("--ip_version={}", other.unwrap_or_default());
                        let accepted = "ipv4, ipv4-mapped-ipv6 or ipv6";
                        return Err(DrillError::syntax(self.name, line, found, accepted));
                    }
                },
                "local_ip" | "remote_ip" if self.fast_open.address(flag, value.as_deref()) => {}
                "init_scripts" => {
                    let scripts = value.clone().unwrap_or_default();
                    for script in scripts.split(',').filter(|s| !s.is_empty()) {
                        self.command(line, script, &[], false)?;
                    }
                }
                "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port"
                | "connect_port" | "speed" | "persistent_tun_dev" | "is_anyip" | "any_ip"
                | "local_linklocal_ip" | "foreign_ip" => {
                    self.note(line, format!("--{flag} has no effect: {NO_ADDRESSES}"));
                }
                "verbose" | "debug" | "non_fatal" | "dry_run" | "send_omit_free"
                | "tcp_ts_ecr_scaled" | "code_command" | "code_format" | "code_sockopt"
                | "no_cleanup" | "strict_segments" | "so_filename" | "so_flags" => {
                    self.note(line, format!("--{flag} has no effect here"));
                }
                _ => return self.refuse(
                    line,
                    format!("the flag --{flag}"),
                    "expected --tolerance_usecs=N, --tcp_ts_tick_usecs=N, --mtu=N and --ip_version",
                ),
            }
        }
        self.mss = self.largest(mtu);
        self.mtu_probing.headers = self.headers;
        if let Some(tolerance) = tolerance {
            self.tolerance = tolerance;
        }
        Ok(())
    }

    /// Processes shell commands, before the connection has `started` or after.
    ///
    /// # Errors
    /// [`DrillError`] for a command that is unknown or comes too late.
    pub(super) fn commands(
        &mut self,
        first: u32,
        commands: &str,
        started: bool,
    ) -> Result<(), DrillError> {
        // A backslash at the end of a line joins it with the next.
        let mut open = false;
        let mut whole: Vec<(u32, String)> = Vec::new();
        for (line, text) in (first..).zip(commands.lines()) {
            let (text, continues) = match text.strip_suffix('\\') {
                Some(text) => (text, true),
                None => (text.split(" #").next().unwrap_or_default(), false),
            };
            match whole.last_mut().filter(|_| open) {
                Some((_, start)) => start.extend([" ", text]),
                None => whole.push((line, text.into())),
            }
            open = continues;
        }
        for (line, text) in whole {
            // The last command of a pipe only reads the output of the first.
            for command in text.replace("&&", ";").split(';') {
                let command = command.split('|').next().unwrap_or_default();
                let words = words(command);
                if let [program, arguments @ ..] = &words[..] {
                    if program.starts_with('#') {
                        break;
                    }
                    self.command(line, program, arguments, started)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a command sets only what is set already.
    fn keeps(&self, line: u32, program: &str, arguments: &[&str]) -> bool {
        let (mut before, mut after) = (self.clone(), self.clone());
        let is_done = after.command(line, program, arguments, false).is_ok();
        before.notes.clear();
        after.notes.clear();
        // A connection has its buffers.
        after.buffers = before.buffers;
        is_done && format!("{before:?}") == format!("{after:?}")
    }

    fn command(
        &mut self,
        line: u32,
        program: &str,
        arguments: &[&str],
        started: bool,
    ) -> Result<(), DrillError> {
        let file = program.rsplit('/').next().unwrap_or(program);
        let settings = matches!(file, "sysctl" | "set_sysctls.py" | "defaults.sh")
            || (file == "ip" && arguments.first() == Some(&"route"));
        let fq = file == "tc" && self.is_linux() && sets_fq(arguments);
        let settings = settings || file == "echo" || fq;
        if settings && started && !self.keeps(line, program, arguments) {
            let what = shorten(&format!("{program} {}", arguments.join(" ")));
            return self.refuse(line, what, "settings are made before the connection starts");
        }
        match (file, arguments) {
            ("midflight", _) => {
                let what = || shorten(&format!("{program} {}", arguments.join(" ")));
                if !started {
                    let Some(notice) = handoff::read_start(arguments) else {
                        return self.refuse(line, what(), handoff::ACCEPTED_BEFORE);
                    };
                    self.start_notice = Some(notice);
                    return Ok(());
                }
                let Some(event) = HandoffEvent::read(arguments) else {
                    return self.refuse(line, what(), handoff::ACCEPTED);
                };
                self.handoff_events.push(event);
            }
            ("defaults.sh", []) => {
                self.fast_open.as_of_defaults();
                self.buffers = (540_000, 262_144);
                self.note(
                    line,
                    format!(
                        "{program} is not run; profile {} has its place, with the SACK, timestamps, \
                         window of 10 and threshold of 3 that packetdrill's usual defaults \
                         ask for if the profile is rfc, and without their CUBIC, RACK-TLP, PRR, F-RTO \
                         and minimum RTO of 200 ms",
                        self.built.profile.name
                    ),
                );
            }
            ("sysctl" | "set_sysctls.py", _) => {
                for word in arguments {
                    // Skips flags of the program and output redirection.
                    if !(word.starts_with('-') || word.contains('>') || *word == "/dev/null") {
                        self.sysctl(line, word)?;
                    }
                }
            }
            ("ip", ["route", words @ ..]) => self.route(line, words)?,
            // Of what the kernel keeps from one connection to another, there are the cookies of TCP Fast Open.
            ("ip", ["tcp_metrics", words @ ..]) => {
                self.forgets |= words
                    .iter()
                    .any(|w| matches!(*w, "flush" | "delete" | "del"));
            }
            // fq_classify() makes TCP set departure times, and fq applies them; pacing inside TCP has the same
            // effect.
            ("tc", _) if fq => {
                let pacing = if arguments.contains(&"nopacing") {
                    "auto"
                } else {
                    "on"
                };
                self.note(
                    line,
                    format!("there is no device here; fq sets pacing={pacing}"),
                );
                self.set(line, "tc qdisc", "pacing", pacing)?;
            }
            ("ip", ["link" | "addr" | "address" | "neigh" | "-6" | "-4", ..])
            | ("tc" | "ethtool" | "ifconfig", _) => {
                self.note(
                    line,
                    format!("{file} has no effect: there is no device here"),
                );
            }
            ("grep" | "cat" | "ss" | "netstat" | "nstat" | "ls", _) => {
                self.note(
                    line,
                    format!("{file} has no effect: there are no tables of a kernel here"),
                );
            }
            ("true" | "sync" | "sleep" | "source" | "date" | "modprobe" | "set" | "export", _) => {
                self.note(line, format!("{file} has no effect: no shell is run"));
            }
            ("echo", [value, ">", path]) => self.sysctl(line, &format!("{path}={value}"))?,
            _ if file.starts_with("sysctl_restore_") => {
                self.note(
                    line,
                    format!("{program} has no effect: there is nothing to restore"),
                );
            }
            _ => {
                let what = shorten(&format!("the command {program} {}", arguments.join(" ")));
                self.refuse(
                    line,
                    what,
                    "no shell is run; expected sysctl, set_sysctls.py, ip route change, midflight notice, and a bare defaults.sh",
                )?;
            }
        }
        Ok(())
    }

    /// `ip route change 192.0.2.0/24 dev tun0 initcwnd 3 rto_min lock 5ms`
    fn route(&mut self, line: u32, words: &[&str]) -> Result<(), DrillError> {
        let what = || shorten(&format!("the command ip route {}", words.join(" ")));
        let accepted = "expected ip route add, change, replace and append";
        let ["add" | "change" | "replace" | "append", words @ ..] = words else {
            return self.refuse(line, what(), accepted);
        };
        let mut words = words.iter().copied().peekable();
        // The destination of the route.
        words.next_if(|word| matches!(*word, "to" | "unicast"));
        words.next_if(|word| *word == "default" || word.starts_with(is_of_address));
        while let Some(word) = words.next() {
            let Some((_, parameter)) = PARAMETERS.iter().find(|(known, _)| *known == word) else {
                let known: Vec<_> = PARAMETERS.iter().map(|(name, _)| *name).collect();
                let why = format!("known are {}", known.join(", "));
                return self.refuse(line, format!("the route's parameter {word}"), &why);
            };
            if word == "onlink" {
                self.note(line, format!("{word} has no effect: {NO_ADDRESSES}"));
                continue;
            }
            // Linux's `lock` means that the path's metrics are ignored.
            words.next_if(|word| *word == "lock");
            words.next_if(|next| word == "via" && matches!(*next, "inet" | "inet6"));
            let Some(value) = words.next() else {
                let what = format!("the route's parameter {word} without a value");
                return self.refuse(line, what, "give one, as in initcwnd 3");
            };
            let what = format!("{word} {value}");
            match *parameter {
                Parameter::Setting(setting) => self.set(line, &what, setting, value)?,
                Parameter::Mtu => {
                    let Some(mtu) = value.parse().ok().filter(|m| (1..=65_535).contains(m)) else {
                        let why = "expected a whole number from 1 to 65535";
                        return self.refuse(line, what, why);
                    };
                    self.mss = self.mss.min(self.largest(mtu));
                }
                Parameter::Congestion => self.congestion(line, value)?,
                Parameter::Without(why) => self.refuse(line, what, why)?,
                Parameter::NoEffect(why) => self.note(line, format!("{word} has no effect: {why}")),
            }
        }
        Ok(())
    }

    /// Whether its recovery is that of Linux.
    pub(super) fn is_linux(&self) -> bool {
        self.built.profile.sender.recovery == RecoveryKind::Linux
    }

    /// Whether packets are those of IPv6.
    pub(super) fn is_ipv6(&self) -> bool {
        self.headers == IPV6_HEADERS
    }

    /// The family of the addresses of its sockets: name and number.
    pub(super) fn family(&self) -> (&'static str, i64) {
        if self.is_of_ipv6_socket {
            ("AF_INET6", 10)
        } else {
            ("AF_INET", 2)
        }
    }

    /// The congestion control as Linux calls it.
    pub(super) fn congestion_name(&self) -> &'static str {
        let name = self.built.profile.parts.congestion.info().name;
        name.strip_suffix("-linux").unwrap_or(name)
    }

    /// Bytes of a packet with so many bytes of data and options.
    pub(super) fn packet(&self, bytes: u64) -> u64 {
        bytes + self.headers
    }

    /// Bytes of our largest segment without options on a path with this MTU.
    pub(super) fn largest(&self, mtu: u64) -> u64 {
        mtu.saturating_sub(self.headers).max(1)
    }

    pub(super) fn set(
        &mut self,
        line: u32,
        what: &str,
        setting: &str,
        value: &str,
    ) -> Result<(), DrillError> {
        if self.pinned.iter().any(|name| name == setting) {
            self.note(
                line,
                format!("{what} has no effect: {setting} was given from outside"),
            );
            return Ok(());
        }
        if let Err(error) = self.built.profile.set(setting, value) {
            self.refuse(line, what.to_string(), &error.to_string())?;
        }
        Ok(())
    }

    /// Sets the congestion control with this name.
    ///
    /// # Errors
    /// [`DrillError`] if the sender does not have it.
    pub(super) fn congestion(&mut self, line: u32, name: &str) -> Result<(), DrillError> {
        let own = self.built.profile.parts.congestion.info().name;
        if name == own || name == self.congestion_name() {
            return Ok(());
        }
        let of_linux = format!("{name}-linux");
        let is_known = CONGESTION_CONTROLLERS.iter().any(|c| c.name == of_linux);
        if is_known && own.ends_with("-linux") {
            let what = format!("the congestion control \"{name}\"");
            return self.set(line, &what, "congestion", &of_linux);
        }
        let known: Vec<_> = CONGESTION_CONTROLLERS.iter().map(|c| c.name).collect();
        let why = if known.contains(&name) {
            format!("this sender has {own}; choose it with --set congestion={name}")
        } else {
            format!("there are {}", known.join(", "))
        };
        self.refuse(line, format!("the congestion control \"{name}\""), &why)
    }
}

/// Whether there is a congestion control with this name.
pub(super) fn has_congestion(name: &str) -> bool {
    let of_linux = format!("{name}-linux");
    let mut known = CONGESTION_CONTROLLERS.iter();
    known.any(|c| c.name == name || c.name == of_linux)
}

/// Splits a command into words; text in double quotes is part of one word.
fn words(command: &str) -> Vec<&str> {
    let mut quoted = false;
    let words = command.split(|c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    words.filter(|w| !w.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use midflight_tcp::scheme::Scheme;

    use super::*;

    fn environment() -> Environment<'static> {
        let built = Scheme::named("sack").and_then(|s| s.build("rfc", &[]));
        Environment::new(
            "x.pkt",
            vec!["min_rto".into()],
            built.unwrap_or_else(|e| unreachable!("{e}")),
        )
    }

    fn said(commands: &str) -> String {
        let outcome = environment().commands(3, commands, false);
        outcome.map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn supported_settings_are_applied() {
        let mut e = environment();
        let commands =
            "../common/defaults.sh\nsysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_reordering=5\n\
                        set_sysctls.py \\\n /proc/sys/net/ipv4/tcp_timestamps=0\n\
                        ip route change 10.0.0.0/8 dev tun0 initcwnd 3 rto_min 5ms";
        assert_eq!(
            e.commands(1, commands, false).map_err(|e| e.to_string()),
            Ok(())
        );
        assert!(!e.sack && !e.timestamps);
        assert_eq!(e.built.profile.sender.dup_threshold, 5);
        assert_eq!(e.built.profile.sender.initial_window(), 3.0);
        // The caller's setting has precedence.
        assert_eq!(e.built.profile.get("min_rto"), "1 s");
        let notes: Vec<_> = e.notes.iter().map(|n| n.line).collect();
        assert_eq!(notes, [1, 5, 5]);
    }

    #[test]
    fn every_parameter_of_a_route_is_taken_noted_or_refused() {
        let after = |route: &str| {
            let mut e = environment();
            e.pinned.clear();
            e.commands(1, &format!("ip route {route}"), false)
                .unwrap_or_else(|error| unreachable!("{route}: {error}"));
            e
        };
        let e = after(
            "replace default via inet 10.0.0.1 rto_min lock 5ms initcwnd lock 7 reordering 4",
        );
        let sender = &e.built.profile.sender;
        assert_eq!((sender.initial_window(), sender.dup_threshold), (7.0, 4));
        assert_eq!(e.built.profile.get("min_rto"), "5 ms");
        assert_eq!(after("add to 10.0.0.0/8 mtu 540").mss, 500);
        assert_eq!(after("add 2001:db8::/32 mtu lock 9000").mss, 1460);
        let said = "dev tun0 src 10.0.0.1 onlink proto static scope link table 7 metric 1 initrwnd 9 quickack 1";
        let notes = after(&format!("change unicast 10.0.0.0/8 {said}")).notes;
        assert_eq!(notes.len(), 9);
        assert!(notes
            .iter()
            .all(|n| n.line == 1 && n.text.contains(" has no effect: ")));
        for (route, words) in [
            (
                "change dev tun0 features ecn",
                "features ecn is refused: the sender has no ECN",
            ),
            (
                "change dev tun0 ssthresh 5 initcwnd 3",
                "the route's parameter ssthresh is refused",
            ),
            ("change dev tun0 initcwnd", "initcwnd without a value"),
            ("change dev tun0 rto_min lock", "rto_min without a value"),
            ("change dev tun0 rto_min soon", "rto_min soon is refused"),
            (
                "change dev tun0 initcwnd 3 10.0.0.0/8",
                "the route's parameter 10.0.0.0/8",
            ),
            ("change dev tun0 mtu 0", "mtu 0 is refused"),
            ("change dev tun0 congctl cubic", "\"cubic\""),
            ("show", "the command ip route show is refused"),
        ] {
            let mut e = environment();
            e.pinned.clear();
            let said = e.commands(3, &format!("ip route {route}"), false);
            let said = said.err().map(|e| e.to_string()).unwrap_or_default();
            assert!(
                said.starts_with("x.pkt:3: ") && said.contains(words),
                "{route}: {said}"
            );
        }
    }

    #[test]
    fn unsupported_settings_are_refused_by_name_and_line() {
        for (commands, words) in [
            ("\nrm -rf /", "x.pkt:4: the command rm -rf /"),
            ("sysctl net.ipv4.tcp_early_retrans=4", "tail loss probes"),
            ("sysctl net.ipv4.tcp_congestion_control=cubic", "\"cubic\""),
            (
                "sysctl net.ipv4.tcp_congestion_control=westwood",
                "--set congestion=westwood",
            ),
            (
                "sysctl net.ipv4.tcp_unheard_of=1",
                "net.ipv4.tcp_unheard_of",
            ),
            ("sysctl net.ipv4.tcp_reordering=none", "dup_threshold"),
            ("./other.sh", "no shell is run"),
        ] {
            assert!(
                said(commands).contains(words),
                "{commands}: {}",
                said(commands)
            );
        }
        for accepted in [
            "sysctl -q net.ipv4.tcp_congestion_control=reno",
            "sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\" > /dev/null 2>&1",
            "sysctl net.ipv4.tcp_sack=1 && sysctl net.ipv4.tcp_ecn=0 # off",
        ] {
            assert_eq!(said(accepted), "");
        }
        let late = environment().commands(9, "sysctl net.ipv4.tcp_sack=0", true);
        assert!(late.is_err_and(|e| e.to_string().contains("before the connection")));
    }

    #[test]
    fn flags_are_taken_or_refused() {
        let mut e = environment();
        let flags = [("tolerance_usecs", "500"), ("mtu", "1040")]
            .map(|(name, value)| (1, name.to_string(), Some(value.to_string())));
        assert_eq!(e.flags(&flags, None), Ok(()));
        assert_eq!((e.tolerance, e.mss), (Duration::from_micros(500), 1000));
        let mut v6 = flags.to_vec();
        v6.insert(0, (1, "ip_version".into(), Some("ipv6".into())));
        let mut other = environment();
        assert_eq!(other.flags(&v6, None).map(|()| other.mss), Ok(980));
        assert_eq!(e.flags(&flags, Some(Duration::ZERO)), Ok(()));
        assert_eq!(e.tolerance, Duration::ZERO);
        let refused = e.flags(&[(7, "wire_client".into(), None)], None);
        assert!(
            refused.is_err_and(|e| e.to_string().starts_with("x.pkt:7: the flag --wire_client"))
        );
        let wrong = e.flags(&[(7, "mtu".into(), Some("x".into()))], None);
        assert!(wrong.is_err_and(|e| e.to_string().contains("--mtu=x")));
    }
}
