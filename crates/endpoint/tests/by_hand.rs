//! Hand-made segments: how an endpoint handles stacks that behave differently.
#![allow(clippy::panic, reason = "a failed test panics")]

mod common;

use common::{ms, plain, settings, CLIENT, SERVER};
use midflight_endpoint::{Config, Endpoint, EndpointError, Settings};
use midflight_tcp::Sender;
use midflight_units::{Duration, Instant};
use midflight_wire::{clock, Flags, Header, Options};

/// A client whose segments a test builds.
struct ByHand {
    server: Endpoint,
    now: Instant,
}

impl ByHand {
    fn new(settings: Settings) -> Self {
        let server = Endpoint::listen(Config::new(SERVER, settings));
        let server = server.unwrap_or_else(|e| panic!("{e}"));
        let now = Instant::ZERO + ms(1000);
        let mut hand = Self { server, now };
        let syn = segment(|h| {
            (h.seq, h.ack, h.flags.syn) = (0, None, true);
            (h.options.mss, h.options.sack_permitted) = (Some(1000), true);
        });
        assert_eq!(hand.send(&syn, &[]).len(), 1);
        assert_eq!(hand.send(&segment(|_| {}), &[]), []);
        assert!(hand.server.is_established());
        hand
    }

    /// The server's response.
    fn send(&mut self, header: &Header, data: &[u8]) -> Vec<Header> {
        let datagram = header.encode(data).unwrap_or_else(|e| panic!("{e}"));
        let taken = self.server.on_datagram(self.now, &datagram);
        taken.unwrap_or_else(|e| panic!("{e}"));
        self.poll()
    }

    fn poll(&mut self) -> Vec<Header> {
        let next = || self.server.poll_datagram(self.now);
        let all = std::iter::from_fn(next);
        all.map(|d| Header::decode(&d).unwrap_or_else(|e| panic!("{e}")).0)
            .collect()
    }

    /// Sends data; returns the ACK number and the first block of the response.
    fn data(&mut self, seq: u32, data: &[u8]) -> Option<(u32, Option<(u32, u32)>)> {
        let header = segment(|h| h.seq = seq);
        let answer = self.send(&header, data);
        let ack = *answer.last()?;
        let block = ack.options.sack.iter().next();
        Some((ack.ack?, block))
    }
}

/// An ACK of the SYN, with modifications.
fn segment(change: impl FnOnce(&mut Header)) -> Header {
    let mut header = Header::new(CLIENT, SERVER);
    (header.seq, header.ack, header.window) = (1, Some(1), 60_000);
    change(&mut header);
    header
}

const NO_FLAGS: Flags = Flags {
    syn: false,
    fin: false,
    rst: false,
    psh: false,
    ece: false,
    cwr: false,
};
const RST: Flags = Flags {
    rst: true,
    ..NO_FLAGS
};
const SYN: Flags = Flags {
    syn: true,
    ..NO_FLAGS
};

/// Other stacks may split, repeat and merge segments.
#[test]
fn segments_may_overlap_in_any_way() {
    let mut hand = ByHand::new(plain());
    let text = b"0123456789abcdefghij";
    assert_eq!(hand.data(6, &text[5..10]), Some((1, Some((6, 11)))));
    assert_eq!(hand.data(15, &text[14..]), Some((1, Some((15, 21)))));
    assert_eq!(hand.data(9, &text[8..13]), Some((1, Some((6, 14)))));
    // A duplicate of data above a gap, alone and with other data.
    assert_eq!(hand.data(7, &text[6..9]), Some((1, Some((7, 10)))));
    assert_eq!(hand.data(1, &text[..7]), Some((14, Some((15, 21)))));
    assert_eq!(hand.data(10, &text[9..16]), Some((21, None)));
    // A duplicate below the ACK number, reported in the first block (RFC 2883).
    assert_eq!(hand.data(3, &text[2..6]), Some((21, Some((3, 7)))));
    let mut read = [0; 100];
    assert_eq!(hand.server.read(hand.now, &mut read), 20);
    assert_eq!(&read[..20], text);
}

#[test]
fn an_ack_within_a_segment_acknowledges_those_before() {
    let mut hand = ByHand::new(plain());
    assert_eq!(hand.server.write(hand.now, &[0; 5000]), 5000);
    assert_eq!(hand.poll().len(), 5);
    let una = |hand: &ByHand| hand.server.sender().map(|s| s.view().snd_una);
    let within = segment(|h| h.ack = Some(2500));
    hand.send(&within, &[]);
    assert_eq!(una(&hand), Some(3));
    // Blocks are reduced to whole segments, and blocks of data that was never sent are ignored.
    for (left, right, news) in [(2500, 3500, 0), (3001, 4500, 1), (4001, 20_001, 1)] {
        let sacked = segment(|h| {
            h.ack = Some(2500);
            h.options.sack.push(left, right);
        });
        hand.send(&sacked, &[]);
        let dupacks = hand.server.sender().map(Sender::dupacks);
        assert_eq!(dupacks, Some(news), "{left} {right}");
    }
    let all = segment(|h| h.ack = Some(5001));
    hand.send(&all, &[]);
    assert_eq!(una(&hand), Some(6));
}

/// RFC 9293 section 3.10.7.4 and RFC 5961.
#[test]
fn unacceptable_segments_are_answered_and_change_nothing() {
    let mut hand = ByHand::new(plain());
    let one = Some(1);
    for (what, seq, ack, flags) in [
        ("an old segment", 0, one, NO_FLAGS),
        ("one beyond the window", 3 << 20, one, NO_FLAGS),
        ("a SYN in the window", 1, one, SYN),
        ("the first SYN again", 0, None, SYN),
        ("an ACK of what was never sent", 1, Some(2), NO_FLAGS),
        ("an RST in the window, not at its edge", 9, one, RST),
        ("the same without an ACK", 9, None, RST),
    ] {
        let header = segment(|h| (h.seq, h.ack, h.flags) = (seq, ack, flags));
        let answer = hand.send(&header, &[]);
        let acks: Vec<_> = answer.iter().map(|h| (h.seq, h.ack)).collect();
        assert_eq!(acks, [(1, one)], "{what}");
        assert!(!hand.server.is_reset(), "{what}");
    }
    for (what, seq, ack, flags) in [
        ("no ACK", 1, None, NO_FLAGS),
        ("an RST beyond the window", 3 << 20, one, RST),
        ("a number from before the SYN", u32::MAX, one, NO_FLAGS),
    ] {
        let header = segment(|h| (h.seq, h.ack, h.flags) = (seq, ack, flags));
        assert_eq!(hand.send(&header, &[]), [], "{what}");
        assert!(!hand.server.is_reset(), "{what}");
    }
    let header = segment(|h| h.flags = RST);
    assert_eq!(hand.send(&header, &[]), []);
    assert!(hand.server.is_reset());
}

/// Data from the application carries the ACK, and the delayed ACK is not sent.
#[test]
fn data_takes_the_ack_along() {
    let mut hand = ByHand::new(plain());
    assert_eq!(hand.data(1, b"question"), None);
    assert_eq!(hand.server.write(hand.now, b"answer"), 6);
    let answer = hand.poll();
    assert_eq!(answer.iter().map(|h| h.ack).collect::<Vec<_>>(), [Some(9)]);
    hand.now += ms(500);
    hand.server.on_timeout(hand.now);
    assert_eq!(hand.poll(), []);
}

#[test]
fn the_window_of_an_older_segment_is_not_taken() {
    let mut hand = ByHand::new(plain());
    let late = segment(|h| (h.seq, h.window) = (1, 100));
    let early = segment(|h| (h.seq, h.window) = (6, 3000));
    hand.send(&early, b"world");
    hand.send(&late, b"hello");
    assert_eq!(hand.server.write(hand.now, &[0; 5000]), 5000);
    assert_eq!(hand.poll().len(), 3);
}

/// Data without room is not accepted; the window update is sent when there is enough room again.
#[test]
fn a_window_closes_and_opens() {
    let mut hand = ByHand::new(Settings {
        receive_buffer: 2920,
        ..plain()
    });
    assert_eq!(hand.data(1, &[1; 1460]), None);
    let rest = segment(|h| h.seq = 1461);
    let answer = hand.send(&rest, &[2; 2000]);
    assert_eq!((answer[0].ack, answer[0].window), (Some(2921), 0));
    let probe = segment(|h| h.seq = 2921);
    let answer = hand.send(&probe, &[3]);
    assert_eq!((answer[0].ack, answer[0].window), (Some(2921), 0));
    let mut read = vec![0; 4000];
    assert_eq!(hand.server.read(hand.now, &mut read[..100]), 100);
    assert_eq!(hand.poll(), []);
    assert_eq!(hand.server.read(hand.now, &mut read[100..]), 2820);
    assert_eq!(read[1459..1461], [1, 2]);
    let update = hand.poll();
    assert_eq!((update[0].ack, update[0].window), (Some(2921), 2920));
}

/// RFC 9293 section 3.10.7.4: a retransmitted FIN restarts the TIME-WAIT timer.
#[test]
fn the_side_that_closes_first_waits_and_answers() {
    let mut hand = ByHand::new(plain());
    hand.server.close(hand.now);
    assert!(hand.poll()[0].flags.fin);
    let fin = segment(|h| (h.ack, h.flags.fin) = (Some(2), true));
    let wait = Duration::from_secs(240);
    for _ in 0..2 {
        hand.now += Duration::from_secs(100);
        let answer = hand.send(&fin, &[]);
        assert_eq!(answer[0].ack, Some(2));
        assert_eq!(hand.server.next_timeout(), Some(hand.now + wait));
        assert!(!hand.server.is_done() && hand.server.is_at_end());
    }
    hand.now += wait;
    hand.server.on_timeout(hand.now);
    assert!(hand.server.is_done() && hand.server.next_timeout().is_none());
}

/// RFC 7323 section 5: with timestamps an old duplicate is detected by its timestamp.
#[test]
fn old_timestamps_are_not_taken() {
    let server = Endpoint::listen(Config::new(SERVER, plain()));
    let server = server.unwrap_or_else(|e| panic!("{e}"));
    let now = Instant::ZERO + ms(1000);
    let mut hand = ByHand { server, now };
    let stamped = |value, echo| segment(|h| h.options.timestamps = Some((value, echo)));
    let mut syn = stamped(u32::MAX - 1, 0);
    (syn.seq, syn.ack, syn.flags.syn) = (0, None, true);
    let answer = hand.send(&syn, &[]);
    assert_eq!(
        answer[0].options.timestamps,
        Some((clock(now), u32::MAX - 1))
    );
    // The other side's clock wraps to 0.
    let first = stamped(5, clock(now));
    assert_eq!(hand.send(&first, b"a"), []);
    let old = Header {
        seq: 2,
        ..stamped(u32::MAX, clock(now))
    };
    let answer = hand.send(&old, b"x");
    assert_eq!(
        (answer[0].ack, answer[0].options.timestamps),
        (Some(2), Some((clock(now), 5)))
    );
    let next = Header {
        seq: 2,
        ..stamped(5, clock(now))
    };
    hand.send(&next, b"b");
    let without = Header {
        options: Options::default(),
        seq: 3,
        ..next
    };
    assert_eq!(hand.send(&without, b"x"), []);
    let mut read = [0; 9];
    assert_eq!(hand.server.read(hand.now, &mut read), 2);
    assert_eq!(&read[..2], b"ab");
}

#[test]
fn useless_settings_are_named() {
    let mut hand = ByHand::new(plain());
    let said = |hand: &mut ByHand, header: &Header| {
        let datagram = header.encode(&[]).unwrap_or_else(|e| panic!("{e}"));
        let taken = hand.server.on_datagram(hand.now, &datagram);
        taken.err().map(|e| e.to_string()).unwrap_or_default()
    };
    let other = Header::new(SERVER, SERVER);
    let expected = "a segment from 10.1.0.1:80 to 10.1.0.1:80 is not of this connection, which is from 10.1.0.1:80 to 10.0.0.1:49152";
    assert_eq!(said(&mut hand, &other), expected);
    let short = hand.server.on_datagram(hand.now, &[0x45]);
    assert!(matches!(short, Err(EndpointError::Wire(_))));
    let listening = Endpoint::listen(Config::new(SERVER, plain()));
    hand.server = listening.unwrap_or_else(|e| panic!("{e}"));
    let ack = segment(|_| {});
    assert!(said(&mut hand, &ack)
        .starts_with("10.1.0.1:80 listens and received a segment that is not a SYN"));

    let of = |change: fn(&mut Config)| {
        let mut config = Config::new(SERVER, plain());
        change(&mut config);
        let end = Endpoint::listen(config);
        end.err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(
        of(|c| c.settings.mss = 63),
        "an MSS of 63; 64 to 65400 are accepted"
    );
    assert_eq!(
        of(|c| c.settings.receive_buffer = 2919),
        "a receive buffer of 2919; 2920 (two segments) to 1073725440 are accepted"
    );
    assert_eq!(
        of(|c| c.send_buffer = 0),
        "a send buffer of 0; 1 byte and more are accepted"
    );

    // Eifel needs timestamps, which the other side does not have.
    let server = Endpoint::listen(Config::new(SERVER, settings("eifel", "rfc", &[])));
    hand.server = server.unwrap_or_else(|e| panic!("{e}"));
    let syn = segment(|h| (h.ack, h.flags.syn) = (None, true));
    assert!(
        said(&mut hand, &syn).contains("eifel"),
        "{}",
        said(&mut hand, &syn)
    );
    assert!(hand.server.connection().is_none());
    // The same when the other side responds: the SYN is kept, and retransmitted.
    let client = Config::new(SERVER, settings("eifel", "rfc", &[]));
    let client = Endpoint::connect(client, CLIENT, hand.now);
    hand.server = client.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(hand.poll().len(), 1);
    let answer = segment(|h| (h.seq, h.flags) = (0, SYN));
    assert!(said(&mut hand, &answer).contains("eifel"));
    hand.now = hand.server.next_timeout().unwrap_or_default();
    hand.server.on_timeout(hand.now);
    let again = hand.poll();
    assert!(again.len() == 1 && again[0].flags.syn && again[0].options.timestamps.is_some());
}
