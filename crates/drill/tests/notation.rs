//! What a script may contain, how a failure is reported, and what is refused by file and line.
#![allow(clippy::panic, reason = "a failed test panics")]

mod common;

use midflight_drill::{run_drill, DrillRequest, DrillRun};
use midflight_units::Duration;

use common::OPENED;

fn with(request: &DrillRequest, text: &str) -> Result<DrillRun, String> {
    let mut runs = run_drill(text, "x.pkt", request).map_err(|e| e.to_string())?;
    assert_eq!(runs.len(), 1);
    Ok(runs.remove(0))
}

fn run(more: &str) -> Result<DrillRun, String> {
    with(&DrillRequest::default(), &format!("{OPENED}{more}"))
}

fn passes(more: &str) -> DrillRun {
    let run = run(more).unwrap_or_else(|e| panic!("{more}: {e}"));
    assert_eq!(run.failure, None, "{more}");
    run
}

/// Returns line, expected and observed value.
fn fails(more: &str) -> (u32, String, String) {
    let run = run(more).unwrap_or_else(|e| panic!("{more}: {e}"));
    let failure = run.failure.unwrap_or_else(|| panic!("{more} passes"));
    (failure.line, failure.expected, failure.seen)
}

#[test]
fn a_failure_has_line_statement_expectation_observation_and_state() {
    let run = run(
        "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:1001(1000) ack 1\n+.5 > . 1:1001(1000) ack 1",
    );
    let failure = run
        .ok()
        .and_then(|r| r.failure)
        .unwrap_or_else(|| panic!("it passes"));
    assert_eq!(failure.line, 10);
    assert_eq!(failure.statement, "+.5 > . 1:1001(1000) ack 1");
    assert_eq!(
        failure.expected,
        ". 1:1001(1000) ack 1 at 0.6 s, to within 4 ms"
    );
    assert_eq!(failure.seen, ". 1001:2001(1000) ack 1 at 0.1 s");
    let state: Vec<_> = failure
        .state
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    assert_eq!(
        state,
        [
            "time 0.1 s",
            "state slow-start",
            "cwnd 10",
            "ssthresh 1000000",
            "snd_una 1 (segment 1)",
            "snd_nxt 2001 (segment 3)",
            "snd_max 2001 (segment 3)",
            "pipe 2",
            "dupacks 0",
            "rto 1 s",
            "timer due at 1.1 s",
        ]
    );
}

#[test]
fn differences_are_named() {
    let write = "+0 write(4, ..., 2000) = 2000\n";
    for (line, expected, seen) in [
        ("+0 > . 1:1001(1000) ack 2", "ack 2", ". 1:1001(1000) ack 1"),
        ("+0 > F. 1:2001(2000) ack 1", "with FIN", "with no FIN"),
        (
            "+0 > . 1:3001(3000) ack 1",
            "1:3001",
            "1:2001(2000) ack 1 and no more until 0.104 s",
        ),
        (
            "+0 > . 1:1501(1500) ack 1",
            "1:1501",
            "1:2001(2000) ack 1 at 0.1 s",
        ),
        ("+.1 > . 1:2001(2000) ack 1", "at 0.2 s", "at 0.1 s"),
        (
            "+.1~+.2 > . 1:2001(2000) ack 1",
            "from 0.2 s to 0.3 s",
            "at 0.1 s",
        ),
        (
            "+0 > . 1:2001(2000) ack 1 <nop,nop,TS val 1 ecr 2>",
            "with timestamps",
            "no timestamps",
        ),
        (
            "+0 > . 1:2001(2000) ack 1 <sack 1:2>",
            "with SACK blocks",
            "no SACK blocks",
        ),
        ("+0 > S 0:0(0)", "S 0:0(0)", ". 1:1001(1000) ack 1"),
        (
            "+0 %{ assert tcpi_unacked == 3 }%",
            "tcpi_unacked == 3",
            "tcpi_unacked = 2",
        ),
        ("+0 %{ assert 1/0 == 1 }%", "1/0 == 1", "division by zero"),
        (
            "+0 %{ assert 1 % tcpi_rttvar == 0 }%",
            "1 % tcpi_rttvar == 0",
            "tcpi_rttvar = 50000",
        ),
        (
            "+0 %{ assert 1 == 2 }%",
            "1 == 2",
            "whatever the sender does",
        ),
        (
            "+0 %{ assert tcpi_ca_state == TCP_CA_Loss }%",
            "TCP_CA_Loss",
            "tcpi_ca_state = 0 (TCP_CA_Open)",
        ),
        (
            "+0 write(4, ..., 10) = 5",
            "write returns 5",
            "write returns 10",
        ),
        (
            "+0 write(4, ..., 10) = -1 EAGAIN",
            "write returns -1 EAGAIN",
            "write returns 10",
        ),
    ] {
        let (at, wanted, got) = fails(&format!("{write}{line}"));
        assert_eq!(at, 9, "{line}");
        assert!(
            wanted.contains(expected) && got.contains(seen),
            "{line}: {wanted}; {got}"
        );
    }
    let (at, _, got) =
        fails("+0 shutdown(4, SHUT_WR) = 0\n+0 > F. 1:1(0) ack 1\n+.5 write(4, ..., 1) = 1");
    assert_eq!((at, got.as_str()), (10, "write returns -1 EPIPE"));
}

#[test]
fn segments_in_a_row_may_be_expected_as_one_or_one_by_one() {
    let write = "+0 write(4, ..., 3000) = 3000\n";
    passes(&format!("{write}+0 > P. 1:3001(3000) ack 1"));
    passes(&format!(
        "{write}+0 > . 1:1001(1000) ack 1\n* > P. 1001:3001(2000) ack 1"
    ));
    let left = passes(&format!("{write}+0 > . 1:1001(1000) ack 1"));
    assert!(left
        .notes
        .iter()
        .any(|n| n.line == 9 && n.text.contains("2 segments")));
}

#[test]
fn the_tolerance_is_the_script_s_unless_the_caller_has_another() {
    let late = "+0 write(4, ..., 1000) = 1000\n+.003 > P. 1:1001(1000) ack 1";
    passes(late);
    let strict = format!("--tolerance_usecs=2000\n{OPENED}{late}");
    let failed = |request: &DrillRequest| with(request, &strict).is_ok_and(|r| r.failure.is_some());
    assert!(failed(&DrillRequest::default()));
    let tolerance = Some(Duration::from_millis(5));
    assert!(!failed(&DrillRequest {
        tolerance,
        ..DrillRequest::default()
    }));
}

#[test]
fn settings_of_the_caller_precede_header_and_script() {
    let text =
        format!("// midflight: min_rto=300ms\n`ip route change dev tun0 rto_min 500ms`\n{OPENED}");
    let rto = |knobs: &[(&str, &str)], rto: u64| {
        let request = DrillRequest {
            knobs: knobs
                .iter()
                .map(|(k, v)| (k.to_string(), v.to_string()))
                .collect(),
            ..DrillRequest::default()
        };
        let run = with(
            &request,
            &format!("{text}+0 %{{ assert tcpi_rto == {rto} }}%"),
        );
        assert_eq!(run.map(|r| r.failure), Ok(None), "{knobs:?}");
    };
    rto(&[], 500_000);
    rto(&[("min_rto", "400 ms")], 400_000);
}

#[test]
fn a_sender_that_cannot_be_built_is_refused_where_it_is_asked_for() {
    let text = format!("// A title.\n// midflight: recovery=sac\n{OPENED}");
    let said = |request: &DrillRequest| with(request, &text).err().unwrap_or_default();
    let own = said(&DrillRequest::default());
    assert!(own.starts_with("x.pkt:2: a sender of this line is refused: recovery"));
    let given = DrillRequest {
        scheme: Some("quantum".into()),
        ..DrillRequest::default()
    };
    assert!(said(&given).starts_with("there is no scheme \"quantum\""));
}

#[test]
fn a_client_that_blocks_returns_when_the_handshake_is_done() {
    let script = |end: &str| {
        format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n0...{end} connect(3, ..., ...) = 0\n\
             0 > S 0:0(0) <...>\n.1 < S. 0:0(0) ack 1 win 9000 <mss 1000>\n.1 > . 1:1(0) ack 1\n\
             +0 write(3, ..., 500) = 500\n+0 > P. 1:501(500) ack 1\n"
        )
    };
    let outcome = |end: &str, more: &str| {
        let run = with(&DrillRequest::default(), &(script(end) + more));
        run.map(|r| r.failure.map(|f| (f.line, f.expected, f.seen)))
    };
    assert_eq!(outcome("0.1", ""), Ok(None));
    let late = outcome("0.05", "").unwrap_or_else(|e| panic!("{e}"));
    assert!(late.is_some_and(|(line, expected, _)| line == 2 && expected.contains("0.05 s")));
    // A SYN without a response, and a server without a client.
    let alone = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n0...1 connect(3, ..., ...) = 0\n+3 close(3) = 0";
    let alone = with(&DrillRequest::default(), alone).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        alone.failure.map(|f| (f.line, f.seen)),
        Some((2, "it still waits".into()))
    );
    let server = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n0 listen(3, 1) = 0\n0...1 accept(3, ..., ...) = 4";
    let server = with(&DrillRequest::default(), server).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        server.failure.map(|f| (f.line, f.seen)),
        Some((3, "it still waits".into()))
    );
}

#[test]
fn options_are_agreed_on_by_both_sides() {
    let agreed = |peer: &str, ours: &str, recovery: &str| {
        let text = OPENED
            .replace("<mss 1000,nop,wscale 7>", &format!("<{peer}>"))
            .replace("<...>", &format!("<{ours}>"));
        let request = DrillRequest {
            knobs: vec![("recovery".into(), recovery.into())],
            ..DrillRequest::default()
        };
        with(
            &request,
            &text.replace("win 500\n", "win 500 <nop,nop,TS val 9 ecr 7>\n"),
        )
    };
    let all = "mss 1000,sackOK,TS val 5 ecr 0,nop,wscale 7";
    let answered = "mss 1460,sackOK,TS val 7 ecr 5,nop,wscale 8";
    let clean = |run: Result<DrillRun, String>| {
        run.map(|r| (r.failure.map(|f| (f.expected, f.seen)), r.notes.len()))
    };
    // There is a note on the value of wscale.
    assert_eq!(clean(agreed(all, answered, "sack")), Ok((None, 1)));
    assert_eq!(
        clean(agreed(
            "mss 1000,TS val 5 ecr 0",
            "mss 1460,TS val 7 ecr 5",
            "sack"
        )),
        Ok((None, 1))
    );
    let seen = |run: Result<DrillRun, String>| run.ok().and_then(|r| r.failure).map(|f| f.seen);
    let said = seen(agreed(all, answered, "newreno")).unwrap_or_default();
    assert!(said.contains("no sackOK"), "{said}");
    let said = seen(agreed(all, &answered.replace("ecr 5", "ecr 6"), "sack")).unwrap_or_default();
    assert!(said.contains("ecr 5"), "{said}");
}

#[test]
fn timestamp_values_are_checked_by_their_tick_if_the_script_says_so() {
    let script = |flag: &str, second: u32| {
        format!(
            "{flag}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n0 listen(3, 1) = 0\n\
             0 < S 0:0(0) win 65535 <mss 1000,TS val 5 ecr 0>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,TS val 100 ecr 5>\n\
             +.1 < . 1:1(0) ack 1 win 65535 <TS val 6 ecr 100>\n+0 accept(3, ..., ...) = 4\n\
             +0 write(4, ..., 100) = 100\n+0 > P. 1:101(100) ack 1 <TS val {second} ecr 6>"
        )
    };
    let failed = |flag, second| {
        let run = with(&DrillRequest::default(), &script(flag, second));
        run.map(|r| r.failure.map(|f| f.seen.contains("TS val 200")))
    };
    assert_eq!(failed("--tcp_ts_tick_usecs=1000", 200), Ok(None));
    assert_eq!(failed("--tcp_ts_tick_usecs=1000", 250), Ok(Some(true)));
    assert_eq!(failed("", 250), Ok(None));
    // Without a tick a value stands for the segment that had it last.
    assert_eq!(failed("", 100), Ok(None));
}

#[test]
fn bits_names_and_settings_that_stand_are_accepted() {
    passes("+0 %{ assert tcpi_options & TCPI_OPT_SACK == 0 and True, tcpi_options }%");
    passes("+0 %{ assert (tcpi_options | TCPI_OPT_SACK) & 3 == 2 or False }%");
    passes("+0 %{ assert tcpi_state == TCP_ESTABLISHED and tcpi_snd_wscale == 7 }%");
    passes("+0 `sysctl -q net.ipv4.tcp_sack=1 && ip link set dev tun0 mtu 1400`");
    passes("+0 getsockopt(4, SOL_IP, IP_MTU, [1500], [4]) = 0");
    passes("+0 ioctl(4, FIONBIO, [1]) = 0\n+0 read(4, ..., 9) = -1 EAGAIN");
    passes(
        "+0 setsockopt(4, SOL_IP, IP_MTU_DISCOVER, [IP_PMTUDISC_DONT], 4) = 0\n\
         +0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n\
         +0 < icmp unreachable frag_needed mtu 600 [1:1001(1000)]\n+0 %{ assert tcpi_pmtu == 1500 }%",
    );
    let (at, expected, got) = fails("+0 getsockopt(4, SOL_TCP, TCP_CONGESTION, \"bbr\", [4]) = 0");
    assert_eq!(
        (at, expected.as_str(), got.as_str()),
        (8, "TCP_CONGESTION is bbr", "it is reno")
    );
}

#[test]
fn cookies_and_the_bits_of_fast_open_are_checked() {
    let asks = |before: &str, call: &str, syn: &str| {
        let text = format!(
            "{before}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
             0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n0 {call}\n+0 > S 0:0(0) <mss 1460,sackOK,{syn}>"
        );
        with(&DrillRequest::default(), &text).map(|r| r.failure.map(|f| (f.expected, f.seen)))
    };
    let send = "sendto(3, ..., 9, MSG_FASTOPEN, ..., ...) = -1 EINPROGRESS";
    let options = "TS val 1 ecr 0,nop,wscale 8";
    assert_eq!(asks("", send, &format!("{options},FO")), Ok(None));
    let failed = |outcome: Result<Option<(String, String)>, String>| match outcome {
        Ok(Some((expected, seen))) => format!("{expected} / {seen}"),
        other => panic!("{other:?}"),
    };
    let said = failed(asks("", send, options));
    assert!(said.contains("no FO or FOEXP"), "{said}");
    let said = failed(asks("", send, &format!("{options},FOEXP")));
    assert!(
        said.contains("FOEXP") && said.ends_with("with FO "),
        "{said}"
    );
    let said = failed(asks("", send, &format!("{options},FO 0a0b")));
    assert!(said.contains("FO 0a0b"), "{said}");
    // Without the bit of the client.
    let said = failed(asks("`sysctl net.ipv4.tcp_fastopen=2`", send, options));
    assert!(said.ends_with("returns -1 EOPNOTSUPP"), "{said}");
    for (before, syn, words) in [
        ("", "FO 0a0", "a cookie of whole bytes"),
        (
            "`sysctl net.ipv4.tcp_fastopen=x`",
            "FO",
            "a whole number of bits",
        ),
        (
            "`sysctl net.ipv4.tcp_fastopen_key=1-2`",
            "FO",
            "four hexadecimal words",
        ),
    ] {
        let said = asks(before, send, syn).err().unwrap_or_default();
        assert!(said.contains(words), "{said}");
    }
}

/// RFC 9293 section 3.8.6: data beyond the window is not taken.
#[test]
fn a_receive_buffer_limits_the_window() {
    let script = |option: &str, bytes: u64, ack: u64| {
        OPENED.replace(
            "+0 listen",
            &format!("+0 setsockopt(3, {option}, [4000], 4) = 0\n+0 listen"),
        ) + &format!(
            "+0 < . 1:{}({bytes}) ack 1 win 500\n+0~+.5 > . 1:1(0) ack {ack}",
            bytes + 1
        )
    };
    let run =
        |text: String| with(&DrillRequest::default(), &text).map(|r| r.failure.map(|f| f.seen));
    assert_eq!(run(script("SOL_SOCKET, SO_RCVBUF", 9000, 4001)), Ok(None));
    assert_eq!(
        run(script("SOL_TCP, TCP_WINDOW_CLAMP", 9000, 4001)),
        Ok(None)
    );
    let said = run(script("SOL_SOCKET, SO_RCVBUF", 9000, 9001));
    assert!(said.is_ok_and(|seen| seen.is_some_and(|seen| seen.contains("ack 4001"))));
}

#[test]
fn a_connection_without_data_is_not_accepted_if_that_is_deferred() {
    let script = |data: &str| {
        let before = "+0 setsockopt(3, SOL_TCP, TCP_DEFER_ACCEPT, [3], 4) = 0\n\
                      +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 listen";
        let text = OPENED.replace("+0 listen", before);
        let after = format!("{data}+0 accept(3, ..., ...) = 4");
        text.replace("+0 accept(3, ..., ...) = 4", &after)
    };
    let run =
        |text: String| with(&DrillRequest::default(), &text).map(|r| r.failure.map(|f| f.seen));
    assert_eq!(run(script("+0 < . 1:9(8) ack 1 win 500\n")), Ok(None));
    let said = run(script(""));
    assert_eq!(said, Ok(Some("accept returns -1 EAGAIN".into())));
}

/// RFC 7323 section 5.3: it gets a response, and acknowledges nothing.
#[test]
fn a_segment_with_an_older_timestamp_is_not_taken() {
    let script = |value: u32, then: &str| {
        format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n0 listen(3, 1) = 0\n\
             0 < S 0:0(0) win 65535 <mss 1000,TS val 5 ecr 0>\n\
             +0 > S. 0:0(0) ack 1 <mss 1460,TS val 100 ecr 5>\n\
             +.1 < . 1:1(0) ack 1 win 65535 <TS val 6 ecr 100>\n+0 accept(3, ..., ...) = 4\n\
             +0 write(4, ..., 100) = 100\n+0 > P. 1:101(100) ack 1 <TS val 200 ecr 6>\n\
             +.1 < . 1:1(0) ack 101 win 65535 <TS val {value} ecr 200>\n{then}"
        )
    };
    let passes = |text: &str| with(&DrillRequest::default(), text).map(|r| r.failure.is_none());
    let answered = "+0 > . 101:101(0) ack 1 <TS val 300 ecr 6>\n+0 %{ assert tcpi_unacked == 1 }%";
    assert_eq!(passes(&script(5, answered)), Ok(true));
    assert_eq!(
        passes(&script(6, "+0 %{ assert tcpi_unacked == 0 }%")),
        Ok(true)
    );
    assert_eq!(passes(&script(6, answered)), Ok(false));
}

#[test]
fn unsupported_features_are_refused_by_name_file_and_line() {
    let sent = "+0 write(4, ..., 2500) = 2500\n+0 > P. 1:2501(2500) ack 1\n";
    for (more, words) in [
        (
            "+0 tee(4, 5, 10, 0) = 10",
            "x.pkt:8: the call tee is refused",
        ),
        (
            "+0 read(4, ..., 1000) = 1000",
            "x.pkt:8: read that waits is refused: say when it returns",
        ),
        (
            "+0 sendfile(4, 5, [0], 10) = 10",
            "x.pkt:8: sendfile from 5 is refused: expected a file or a pipe",
        ),
        (
            "+0 pipe(6) = 0",
            "pipe with \"6\" is refused: expected the numbers of its two ends",
        ),
        ("+0 send(4, ..., 9, MSG_PROBE) = 9", "send with MSG_PROBE"),
        (
            "+0 write(9, ..., 9) = 9",
            "x.pkt:8: write(9 is refused: there is no such socket",
        ),
        ("+0 write(4, ..., x) = 9", "\"x\" as an argument of write"),
        (
            "+0 write(4, ..., 99999999999) = 1",
            "expected at most 100000 segments",
        ),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_ULP, [1], 4) = 0",
            "the option TCP_ULP",
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, [1], 4) = 0",
            "\"[1]\" as the value of SO_LINGER",
        ),
        (
            "+0 poll([{fd=4, events=POLLFOO}], 1, 0) = 0",
            "poll with POLLFOO",
        ),
        (
            "+0 epoll_ctl(5, EPOLL_CTL_ADD, x, {events=EPOLLIN}) = 0",
            "\"x\" as an argument of epoll_ctl",
        ),
        (
            "+0 recvmsg(4, {msg_flags=0}, 0) = 0",
            "expected pieces with their sizes",
        ),
        (
            "+0 setsockopt(4, SOL_FOO, SO_REUSEADDR, [1], 4) = 0",
            "SO_REUSEADDR with the level \"SOL_FOO\" is refused: expected SOL_SOCKET",
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, TCP_NODELAY, [1], 4) = 0",
            "expected SOL_TCP or IPPROTO_TCP",
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_REUSEADDR, [banana], 4) = 0",
            "\"[banana]\" as the value of SO_REUSEADDR",
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, 1, 4) = 0",
            "\"1\" as the value of SO_SNDBUF",
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [1], many) = 0",
            "\"many\" as an argument",
        ),
        (
            "+0 getsockopt(4, SOL_TCP, SO_ERROR, [0], [4]) = 0",
            "SO_ERROR with the level \"SOL_TCP\"",
        ),
        (
            "+0 fcntl(4, F_SETFL, O_RDWR|O_BANANA) = 0",
            "fcntl with the flag \"O_BANANA\"",
        ),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"cubic\", 5) = 0",
            "the congestion control \"cubic\"",
        ),
        (
            "+0 getsockopt(4, SOL_TCP, TCP_MD5SIG, ..., ...) = 0",
            "getsockopt with TCP_MD5SIG",
        ),
        (
            "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5",
            "a second socket",
        ),
        ("+0 accept(3, ..., ...) = 5", "a second connection"),
        ("+0 shutdown(4, SHUT_BOTH) = 0", "SHUT_BOTH"),
        (
            "+0 `sysctl -q net.ipv4.tcp_sack=0`\n+0 close(4) = 0",
            "before the connection starts",
        ),
        (
            "+0 %{ assert tcpi_received_ce > 0 }%",
            "\"tcpi_received_ce\" is not a quantity",
        ),
    ] {
        let said = run(more).err().unwrap_or_else(|| panic!("{more} is run"));
        assert!(
            said.starts_with("x.pkt:8: ") && said.contains(words),
            "{more}: {said}"
        );
    }
    let within = run(&format!("{sent}+.1 < . 1:1(0) ack 500 win 500"));
    let notes: Vec<_> = within.into_iter().flat_map(|run| run.notes).collect();
    assert!(
        notes
            .iter()
            .any(|n| n.line == 10 && n.text.contains("counts whole ones")),
        "{notes:?}"
    );
    let said = with(&DrillRequest::default(), "0 < S 0:0(0) win 1\n")
        .err()
        .unwrap_or_default();
    assert_eq!(said, "x.pkt:1: S 0:0(0) is refused: nobody listens yet");
    let early = "0 %{ assert tcpi_rtt == 0 }%";
    assert!(with(&DrillRequest::default(), early).is_err_and(|e| e.contains("no connection yet")));
    // A sender that needs an option that the other side does not have.
    let eifel = DrillRequest {
        scheme: Some("eifel".into()),
        ..DrillRequest::default()
    };
    let said = with(&eifel, OPENED).err().unwrap_or_default();
    assert!(
        said.starts_with("x.pkt:4: ") && said.contains("timestamps"),
        "{said}"
    );
    let client =
        "`sysctl net.ipv4.tcp_timestamps=0`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                  0...1 connect(3, ..., ...) = 0";
    let said = with(&eifel, client).err().unwrap_or_default();
    assert!(
        said.starts_with("x.pkt:3: ") && said.contains("timestamps"),
        "{said}"
    );
    // A timer that would run for days.
    let knobs = vec![
        ("min_rto".into(), "1 us".into()),
        ("max_rto".into(), "1 ms".into()),
    ];
    let request = DrillRequest {
        knobs,
        ..DrillRequest::default()
    };
    let said = with(
        &request,
        &format!(
            "{}+0 write(4, ..., 9) = 9\n+9999 close(4) = 0",
            OPENED.replace("+.1", "+0")
        ),
    );
    assert!(said.is_err_and(|e| e.contains("expired too often")));
}

#[test]
fn statements_without_effect_are_noted_with_their_line() {
    let run =
        passes("+0 setsockopt(4, SOL_SOCKET, SO_PRIORITY, [9], 4) = 0\n+0 %{ print(tcpi_rto) }%");
    let notes: Vec<_> = run
        .notes
        .iter()
        .map(|n| (n.line, n.text.as_str()))
        .collect();
    assert_eq!(notes[1], (8, "SO_PRIORITY has no effect here"));
    assert_eq!(notes[2], (9, "print prints nothing here"));
}

#[test]
fn options_without_effect_are_noted_with_their_line() {
    let noted = |more: &str| {
        let notes = passes(more).notes;
        let last = notes.last().unwrap_or_else(|| panic!("{more}: no note"));
        (last.line, last.text.clone())
    };
    let sent = "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n";
    for (option, text) in [
        (
            "sack 1001:2001",
            "sack has no effect: SACK is not agreed on",
        ),
        (
            "nop,nop,TS val 7 ecr 9",
            "TS has no effect: timestamps are not agreed on",
        ),
        (
            "wscale 3",
            "wscale has no effect: only a SYN agrees on options",
        ),
    ] {
        let more = format!("{sent}+.1 < . 1:1(0) ack 1 win 500 <{option}>");
        assert_eq!(noted(&more), (10, text.into()));
    }
    let ours = OPENED.replace("<...>", "<mss 1460,nop,wscale 5>");
    let run = with(&DrillRequest::default(), &ours).unwrap_or_else(|e| panic!("{e}"));
    let wscale = run.notes.iter().find(|n| n.text.contains("wscale"));
    assert_eq!(wscale.map(|n| n.line), Some(5));
}

#[test]
fn nagle_holds_a_short_segment_and_nodelay_does_not() {
    let held =
        "+0 write(4, ..., 300) = 300\n+0 > P. 1:301(300) ack 1\n+0 write(4, ..., 300) = 300\n";
    passes(&format!(
        "{held}+.1 < . 1:1(0) ack 301 win 500\n+0 > P. 301:601(300) ack 1"
    ));
    passes(&format!(
        "{held}+.05 setsockopt(4, IPPROTO_TCP, TCP_NODELAY, [1], 4) = 0\n+0 > P. 301:601(300) ack 1"
    ));
}

#[test]
fn a_fin_goes_after_the_data_and_is_acknowledged() {
    passes(
        "+0 write(4, ..., 1500) = 1500\n+0 > P. 1:1501(1500) ack 1\n+0 close(4) = 0\n\
         +0 > F. 1501:1501(0) ack 1\n+.1 < . 1:1(0) ack 1501 win 500\n+1 > F. 1501:1501(0) ack 1\n\
         +.1 < F. 1:1(0) ack 1502 win 500\n+0 > . 1502:1502(0) ack 2\n+0 %{ assert tcpi_unacked == 0 }%",
    );
}

/// A sender probes a window that is closed, or smaller than a segment; a sender with nothing to
/// send does not.
#[test]
fn a_window_without_room_for_a_segment_is_probed() {
    let sent = "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n";
    let probed = |more: &str| fails(&format!("{sent}{more}\n+20 > . 9:9(0) ack 1")).2;
    for more in [
        // Data is in flight and none waits; some waits; none is in flight.
        "+.1 < . 1:1(0) ack 1001 win 0",
        "+0 write(4, ..., 99000) = 99000\n* > . 2001:10001(8000) ack 1\n+.1 < . 1:1(0) ack 1001 win 0",
        "+.1 < . 1:1(0) ack 1001 win 7",
    ] {
        let seen = probed(more);
        assert!(seen.starts_with(". 1000:1000(0) ack 1 at 1.2 s"), "{more}: {seen}");
    }
    let seen = probed("+.1 < . 1:1(0) ack 2001 win 0\n+2 write(4, ..., 900) = 900");
    assert!(seen.starts_with(". 2000:2000(0) ack 1 at 3.2 s"), "{seen}");
    let seen = probed("+.1 < . 1:1(0) ack 2001 win 0");
    assert!(seen.starts_with("nothing until"), "{seen}");
    let (_, _, seen) =
        fails("+.1 < . 1:1(0) ack 1 win 0\n+.1 write(4, ..., 9) = 9\n+9 > . 9:9(0) ack 1");
    assert!(seen.starts_with(". 0:0(0) ack 1 at 1.3 s"), "{seen}");
    // A FIN alone needs no room.
    passes(&format!(
        "{sent}+.1 < . 1:1(0) ack 2001 win 0\n+2 close(4) = 0\n+0 > F. 2001:2001(0) ack 1"
    ));
}

/// An application's calls on its sockets, besides data: each line passes, and fails with another
/// result.
#[test]
fn results_of_calls_are_checked() {
    let linux = DrillRequest {
        profile: Some("linux".into()),
        ..DrillRequest::default()
    };
    let fails = |more: &str| {
        let run =
            with(&linux, &format!("{OPENED}{more}")).unwrap_or_else(|e| panic!("{more}: {e}"));
        run.failure.map(|f| f.seen)
    };
    let arrive = "+.1 < P. 1:501(500) ack 1 win 500\n+0 > . 1:1(0) ack 501\n";
    let watch = "+0 epoll_create(1) = 7\n+0 epoll_ctl(7, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4}) = 0\n";
    let note = |first: u32, last: u32| {
        format!(
            "+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{...,0}}], msg_flags=MSG_ERRQUEUE, msg_control=[\
             {{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR, cmsg_data={{ee_errno=0, ee_info={first}, ee_data={last}}}}}\
             ]}}, MSG_ERRQUEUE) = 0\n"
        )
    };
    let uncopied = "+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0\n\
                    +0 send(4, ..., 500, MSG_ZEROCOPY) = 500\n+0 > P. 1:501(500) ack 1\n\
                    +.1 < . 1:1(0) ack 501 win 500\n";
    for (holds, fails_with, seen) in [
        (
            format!("{arrive}+0 ioctl(4, SIOCINQ, [500]) = 0"),
            format!("{arrive}+0 ioctl(4, SIOCINQ, [400]) = 0"),
            "it is 500",
        ),
        (
            format!("{arrive}+0 recv(4, ..., 900, MSG_PEEK) = 500\n+0 read(4, ..., 900) = 500"),
            format!("{arrive}+0 read(4, ..., 100) = 100\n+0 read(4, ..., 900) = 500"),
            "read returns 400",
        ),
        (
            format!("{watch}{arrive}+0 epoll_wait(7, {{events=EPOLLIN, fd=4}}, 1, 0) = 1\n\
                     +0 epoll_wait(7, {{events=0, ptr=0}}, 1, 0) = 0"),
            format!("{watch}{arrive}+0 epoll_wait(7, {{events=EPOLLOUT, fd=4}}, 1, 0) = 1"),
            "events=POLLIN",
        ),
        (
            "+0...0.1 poll([{fd=4, events=POLLIN, revents=0}], 1, 100) = 0\n+.2 close(4) = 0".into(),
            "+0...0.1 poll([{fd=4, events=POLLIN, revents=0}], 1, 50) = 0\n+.2 close(4) = 0".into(),
            "it returns at 0.15 s",
        ),
        (
            format!("{uncopied}{}", note(0, 0)),
            format!("{uncopied}{}", note(0, 1)),
            "the sends 0 to 0 are done with",
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_RCVTIMEO, {tv_sec=0, tv_usec=50000}, 8) = 0\n\
             +0...0.05 read(4, ..., 9) = -1 EAGAIN (Resource temporarily unavailable)\n+.2 close(4) = 0"
                .into(),
            "+0...0.05 read(4, ..., 9) = 9\n+.05 < P. 1:6(5) ack 1 win 500\n+.1 close(4) = 0".into(),
            "read returns 5",
        ),
        (
            "+0 getsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [0], [4]) = 0".into(),
            "+0 getsockopt(4, SOL_TCP, TCP_NODELAY, [1], [4]) = 0".into(),
            "it is 0",
        ),
    ] {
        assert_eq!(fails(&holds), None, "{holds}");
        let said = fails(&fails_with);
        assert!(said.as_ref().is_some_and(|s| s.contains(seen)), "{fails_with}: {said:?}");
    }
}
