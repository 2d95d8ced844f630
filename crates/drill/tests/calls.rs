//! Segments of no connection, options that can be read before they are set, and the fields that calls change.
#![allow(clippy::panic, reason = "a failed test panics")]

mod common;

use midflight_drill::{run_drill, DrillRequest};

use common::OPENED;

/// None if the script passes, or the line and what was seen.
fn failure(text: &str) -> Option<(u32, String)> {
    let request = DrillRequest {
        profile: Some("linux".into()),
        ..DrillRequest::default()
    };
    let runs = run_drill(text, "x.pkt", &request);
    let runs = runs.unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(runs.len(), 1);
    let failure = runs[0].failure.clone()?;
    Some((failure.line, failure.seen))
}

fn refusal(more: &str) -> String {
    let text = format!("{OPENED}{more}");
    let run = run_drill(&text, "x.pkt", &DrillRequest::default());
    run.err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn a_listener_answers_a_segment_of_no_connection_with_an_rst() {
    let start = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n";
    let passes = "+0 < . 1:1001(1000) ack 77 win 9\n+0 > R 77:77(0)\n\
                  +0 < F 1:1001(1000) win 9\n+0 > R. 0:0(0) ack 1002\n+0 < R 1:1(0) win 9\n";
    assert_eq!(failure(&format!("{start}{passes}")), None);
    let other = format!("{start}+0 < . 1:1(0) ack 77 win 9\n+0 > R 78:78(0)\n");
    assert_eq!(failure(&other), Some((4, "R 77:77(0) at 0 s".into())));
    let none = format!("{start}+0 < R 1:1(0) win 9\n+0 > R 0:0(0)\n");
    assert_eq!(failure(&none).map(|f| f.0), Some(4));
}

/// sock_sendmsg() with no pieces writes nothing.
#[test]
fn a_list_of_no_pieces_is_no_data() {
    let passes = "+0 sendmsg(4, {msg_name(...)=..., msg_iov(0)=[], msg_flags=0}, 0) = 0\n\
                  +0 writev(4, [], 0) = 0\n\
                  +0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n";
    assert_eq!(failure(&format!("{OPENED}{passes}")), None);
    let other = "+0 sendmsg(4, {msg_name(...)=..., msg_iov(0)=[], msg_flags=0}, 0) = 1\n";
    assert_eq!(failure(&format!("{OPENED}{other}")).map(|f| f.0), Some(8));
    assert!(refusal("+0 writev(4, [{...}], 1) = 0").contains("pieces with their sizes"));
}

#[test]
fn options_have_defaults_bounds_and_a_length() {
    let passes = "\
+0 getsockopt(4, SOL_TCP, TCP_KEEPIDLE, [7200], [4]) = 0
+0 getsockopt(4, SOL_SOCKET, SO_KEEPALIVE, [0], [4]) = 0
+0 getsockopt(3, SOL_SOCKET, SO_ACCEPTCONN, [1], [4]) = 0
+0 getsockopt(4, SOL_SOCKET, SO_ACCEPTCONN, [0], [4]) = 0
+0 getsockopt(4, SOL_SOCKET, SO_PROTOCOL, [6], [4]) = 0
+0 getsockopt(4, SOL_TCP, TCP_SYNCNT, [6], [4]) = 0
+0 getsockopt(4, SOL_TCP, TCP_LINGER2, [60], [4]) = 0
+0 getsockopt(4, SOL_TCP, TCP_INFO, ..., [104]) = 0
+0 setsockopt(4, SOL_TCP, TCP_KEEPCNT, [128], 4) = -1 EINVAL
+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 2) = -1 EINVAL
+0 setsockopt(4, SOL_TCP, TCP_MAXSEG, [10], 4) = -1 EINVAL
+0 setsockopt(4, SOL_SOCKET, SO_PRIORITY, [-1], 4) = 0
+0 getsockopt(4, SOL_SOCKET, SO_PRIORITY, [-1], [4]) = 0
+0 setsockopt(4, SOL_TCP, TCP_DEFER_ACCEPT, [5], 4) = 0
+0 getsockopt(4, SOL_TCP, TCP_DEFER_ACCEPT, [7], [4]) = 0
+0 accept(4, ..., ...) = -1 EINVAL
+0 connect(3, ..., ...) = -1 EISCONN
+0 close(3) = 0
+0 close(3) = -1 EBADF
";
    assert_eq!(failure(&format!("{OPENED}{passes}")), None);
    let before = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                  +0 getsockopt(3, SOL_TCP, TCP_MAXSEG, [536], [4]) = 0\n\
                  +0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [1000], 4) = 0\n\
                  +0 getsockopt(3, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0\n";
    assert_eq!(failure(before), None);
    for (more, words) in [
        ("+0 setsockopt(4, SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS, [1], 4) = 0", "x.pkt:8: TCP_THIN"),
        ("+0 setsockopt(4, SOL_TCP, TCP_DEFER_ACCEPT, [-1], 4) = 0", "from 0 on"),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_TIMESTAMPING, [SOF_TIMESTAMPING_NONE], 4) = 0",
            "x.pkt:8: the flag SOF_TIMESTAMPING_NONE",
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_TIMESTAMPING, [SOF_TIMESTAMPING_SOFTWARE|SOF_TIMESTAMPING_RX_SOFTWARE], 4) = 0",
            "only what is sent gets timestamps",
        ),
    ] {
        assert!(refusal(more).contains(words), "{more}: {}", refusal(more));
    }
}

#[test]
fn a_note_of_a_timestamp_is_compared_field_by_field() {
    let start = format!(
        "{OPENED}+0 setsockopt(4, SOL_SOCKET, SO_TIMESTAMPING, [SOF_TIMESTAMPING_TX_SOFTWARE|SOF_TIMESTAMPING_SOFTWARE|\
         SOF_TIMESTAMPING_OPT_ID|SOF_TIMESTAMPING_OPT_TSONLY|SOF_TIMESTAMPING_OPT_STATS], 4) = 0\n\
         +.1 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n"
    );
    let note = |nanos: &str, busy: &str, info: &str, data: &str| {
        let text = format!(
            "{start}+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{...,0}}], msg_flags=MSG_ERRQUEUE, msg_control=[\
             {{cmsg_level=SOL_SOCKET, cmsg_type=SCM_TIMESTAMPING, cmsg_data={{scm_nsec={nanos}}}}},\
             {{cmsg_level=SOL_SOCKET, cmsg_type=SCM_TIMESTAMPING_OPT_STATS, cmsg_data={{TCP_NLA_BUSY={busy}}}}},\
             {{cmsg_level=CMSG_LEVEL_IP, cmsg_type=CMSG_TYPE_RECVERR, cmsg_data={{ee_errno=ENOMSG, \
             ee_origin=SO_EE_ORIGIN_TIMESTAMPING, ee_type=0, ee_code=0, ee_info={info}, ee_data={data}}}}}]}}, MSG_ERRQUEUE) = 0\n"
        );
        failure(&text).map(|f| f.0)
    };
    assert_eq!(note("200000000", "0", "SCM_TSTAMP_SND", "999"), None);
    assert_eq!(note("0", "...", "SCM_TSTAMP_SND", "999"), None);
    let far = "0,scm_sec=9300000000";
    assert_eq!(note(far, "0", "SCM_TSTAMP_SND", "999"), Some(11));
    for (nanos, busy, info, data) in [
        ("250000000", "0", "SCM_TSTAMP_SND", "999"),
        ("200000000", "9", "SCM_TSTAMP_SCHED", "999"),
        ("200000000", "9000", "SCM_TSTAMP_SND", "999"),
        ("200000000", "0", "SCM_TSTAMP_SND", "1000"),
    ] {
        assert_eq!(
            note(nanos, busy, info, data),
            Some(11),
            "{nanos} {busy} {info} {data}"
        );
    }
}

#[test]
fn the_send_buffer_and_the_order_of_arrivals_are_counted() {
    let passes = "\
+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [3000], 4) = 0
+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.1 < . 1:1(0) ack 1001 win 62
+0 write(4, ..., 20000) = 6000
+0 > P. 1001:7001(6000) ack 1
+0 write(4, ..., 1000) = -1 EAGAIN
+.1 < . 1001:2001(1000) ack 1001 win 62
+0 > . 7001:7001(0) ack 1
+0 %{ assert tcpi_sndbuf_limited == 100000, tcpi_sndbuf_limited }%
+.1 < . 1001:2001(1000) ack 7001 win 62
+0 > . 7001:7001(0) ack 1
+.1 %{ assert tcpi_sndbuf_limited == 200000 and tcpi_rcv_ooopack == 2 and tcpi_fackets == 0 }%
";
    assert_eq!(failure(&format!("{OPENED}{passes}")), None);
}

#[test]
fn a_definition_stands_for_its_value() {
    let define = "--define=SIZE=1000 --define=CC=\"cubic\"\n";
    let passes = format!(
        "{define}{OPENED}+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, CC, 5) = 0\n\
         +0 write(4, ..., SIZE) = SIZE\n+0 > P. 1:1001(SIZE) ack 1\n"
    );
    assert_eq!(failure(&passes), None);
    // Definitions that grow without end are not followed.
    let grows = "--define=a=aa --define=aa=a,a ".repeat(20);
    let run = run_drill(
        &format!("{grows}\n0 a(3) = 0"),
        "x.pkt",
        &DrillRequest::default(),
    );
    assert!(run.is_err());
}

#[test]
fn a_read_that_wants_all_waits_for_all() {
    let passes = "\
+0...0.3 recv(4, ..., 1500, MSG_WAITALL) = 1500
+.1 < . 1:1001(1000) ack 1 win 500
+0 > . 1:1(0) ack 1001
+.2 < . 1001:2001(1000) ack 1 win 500
+0 > . 1:1(0) ack 2001
+0 recv(4, ..., 1000, MSG_WAITALL|MSG_DONTWAIT) = 500
";
    assert_eq!(failure(&format!("{OPENED}{passes}")), None);
}
