//! Two endpoints and a network between them: every byte arrives, with any losses, delays and sizes.
#![allow(clippy::panic, reason = "a failed test panics")]

mod common;

use std::collections::BTreeMap;

use common::{ms, plain, settings, CLIENT, SERVER};
use midflight_endpoint::{Config, Endpoint, Settings};
use midflight_tcp::scheme::Scheme;
use midflight_units::{Duration, Instant};
use midflight_wire::Header;
use proptest::prelude::*;

/// Random numbers that are the same on every machine (Knuth's multiplier).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// An application that writes, closes, and reads at most this much at a time.
struct App {
    data: Vec<u8>,
    written: usize,
    read: Vec<u8>,
    reads: usize,
    /// Interval of reads.
    every: Duration,
    next_read: Instant,
    /// Closes only after the other side has closed.
    waits: bool,
}

impl App {
    fn new(bytes: usize, salt: u8) -> Self {
        Self {
            data: (0..bytes).map(|i| (i % 251) as u8 ^ salt).collect(),
            written: 0,
            read: Vec::new(),
            reads: usize::MAX,
            every: Duration::ZERO,
            next_read: Instant::ZERO,
            waits: false,
        }
    }

    fn act(&mut self, now: Instant, end: &mut Endpoint) {
        self.written += end.write(now, &self.data[self.written..]);
        let may_close = !self.waits || end.is_at_end();
        if self.written == self.data.len() && may_close {
            end.close(now);
        }
        if now >= self.next_read {
            let mut some = vec![0; self.reads.min(1 << 20)];
            let length = end.read(now, &mut some);
            self.read.extend(&some[..length]);
            self.next_read = now + self.every;
        }
    }
}

/// A network with its own delay for each datagram; its packets are recorded.
struct Pipe {
    now: Instant,
    ends: [Endpoint; 2],
    apps: [App; 2],
    on_the_way: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    count: u64,
    random: Random,
    /// Losses per hundred datagrams.
    loss: u64,
    /// Maximum delay in addition to the 10 ms of all datagrams.
    jitter: Duration,
    seen: Vec<(usize, Header, usize)>,
}

impl Pipe {
    fn new(client: Settings, server: Settings, apps: [App; 2]) -> Self {
        Self::at(Instant::ZERO, [0, 0], client, server, apps)
    }

    fn at(
        now: Instant,
        isns: [u32; 2],
        client: Settings,
        server: Settings,
        apps: [App; 2],
    ) -> Self {
        let config = |local, settings, isn| Config {
            isn,
            ..Config::new(local, settings)
        };
        let client = Endpoint::connect(config(CLIENT, client, isns[0]), SERVER, now);
        let server = Endpoint::listen(config(SERVER, server, isns[1]));
        Self {
            now,
            ends: [client, server].map(|end| end.unwrap_or_else(|e| panic!("{e}"))),
            apps,
            on_the_way: BTreeMap::new(),
            count: 0,
            random: Random(1),
            loss: 0,
            jitter: Duration::ZERO,
            seen: Vec::new(),
        }
    }

    /// Takes the datagrams to send; the network drops some of them.
    fn transmit(&mut self) {
        for from in [0, 1] {
            while let Some(datagram) = self.ends[from].poll_datagram(self.now) {
                let (header, data) = Header::decode(&datagram).unwrap_or_else(|e| panic!("{e}"));
                self.seen.push((from, header, data.len()));
                self.count += 1;
                let jitter = self.random.below(self.jitter.as_nanos() + 1);
                if self.random.below(100) >= self.loss {
                    let at = self.now + ms(10) + Duration::from_nanos(jitter);
                    self.on_the_way
                        .insert((at, self.count), (1 - from, datagram));
                }
            }
        }
    }

    /// Advances to the next event; returns false if there is none.
    fn step(&mut self) -> bool {
        for (app, end) in self.apps.iter_mut().zip(&mut self.ends) {
            app.act(self.now, end);
        }
        self.transmit();
        let timeouts = self.ends.iter().filter_map(Endpoint::next_timeout);
        let arrivals = self.on_the_way.keys().map(|&(at, _)| at).take(1);
        let reads = self.apps.iter().filter(|app| app.every > Duration::ZERO);
        let reads = reads.map(|app| app.next_read.max(self.now + ms(1)));
        let Some(next) = timeouts.chain(arrivals).chain(reads).min() else {
            return false;
        };
        self.now = self.now.max(next);
        for end in &mut self.ends {
            end.on_timeout(self.now);
        }
        while let Some(entry) = self.on_the_way.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, datagram) = entry.remove();
            let taken = self.ends[to].on_datagram(self.now, &datagram);
            taken.unwrap_or_else(|e| panic!("{e}"));
        }
        true
    }

    /// Runs until both ends are done, and compares the data read with the data written.
    fn run(mut self) -> Self {
        let mut steps = 0;
        while !self.ends.iter().all(Endpoint::is_done) {
            assert!(
                self.step(),
                "nothing comes next: {:?}",
                self.ends.each_ref().map(Endpoint::is_done)
            );
            steps += 1;
            assert!(steps < 1_000_000, "it does not end");
        }
        for (reader, writer) in [(0, 1), (1, 0)] {
            assert!(self.ends[reader].is_at_end(), "{reader}");
            assert!(self.apps[reader].read == self.apps[writer].data, "{reader}");
        }
        assert!(self.ends.iter().all(|end| !end.is_reset()));
        self
    }

    fn of(&self, from: usize) -> impl Iterator<Item = &Header> {
        self.seen.iter().filter(move |s| s.0 == from).map(|s| &s.1)
    }
}

fn both(client: usize, server: usize) -> [App; 2] {
    [App::new(client, 0), App::new(server, 0x55)]
}

#[test]
fn a_transfer_arrives_and_both_sides_close() {
    let mut apps = both(100_000, 0);
    apps[1].waits = true;
    let pipe = Pipe::new(plain(), plain(), apps).run();
    let client: Vec<_> = pipe.of(0).collect();
    let server: Vec<_> = pipe.of(1).collect();
    let (syn, answer) = (client[0], server[0]);
    assert!(syn.flags.syn && syn.ack.is_none() && answer.flags.syn && answer.ack == Some(1));
    // A buffer of 2^20 bytes; the window of a SYN shows as much of it as it can (RFC 7323 section
    // 2.2).
    assert_eq!((syn.window, answer.window), (65_535, 65_535));
    for options in [syn.options, answer.options] {
        assert_eq!((options.mss, options.window_scale), (Some(1460), Some(5)));
        assert!(options.sack_permitted && options.timestamps.is_some());
    }
    let fins = |headers: &[&Header]| headers.iter().filter(|h| h.flags.fin).count();
    assert_eq!((fins(&client), fins(&server)), (1, 1));
    // The client's FIN has the number after its data.
    assert_eq!(server.last().and_then(|h| h.ack), Some(100_002));
    let full = pipe.seen.iter().filter(|s| s.2 == 1448).count();
    assert_eq!(full, 100_000 / 1448);
    // The side that closed first waits for four minutes, in which the other side may retransmit.
    assert!(pipe.now > Instant::ZERO + Duration::from_secs(240));
}

/// Five of a hundred datagrams are lost, in both directions, while both sides send.
#[test]
fn everything_arrives_though_datagrams_are_lost() {
    for seed in 1..=20 {
        let mut pipe = Pipe::new(plain(), plain(), both(150_000, 80_000));
        pipe.loss = 5;
        pipe.random = Random(seed);
        let pipe = pipe.run();
        let blocks = pipe.seen.iter().filter(|s| !s.1.options.sack.is_empty());
        assert!(blocks.count() > 0, "{seed}");
    }
}

#[test]
fn it_arrives_with_every_recovery_and_without_any_option() {
    for scheme in [
        "sack",
        "frto",
        "eifel",
        "dcr",
        "westwood",
        "cubic",
        "dsack-undo",
    ] {
        for recovery in ["tahoe", "reno", "newreno", "sack1", "sack"] {
            let knobs = [("recovery", recovery)];
            let built = Scheme::named(scheme)
                .and_then(|s| s.build("rfc", &knobs.map(|(n, v)| (n.into(), v.into()))));
            let Ok(built) = built else { continue };
            let mut pipe = Pipe::new(Settings::new(built), plain(), both(60_000, 1000));
            (pipe.loss, pipe.jitter) = (5, ms(4));
            pipe.run();
        }
    }
    for (sack, timestamps, window_scaling) in [
        (false, true, true),
        (true, false, true),
        (true, true, false),
        (false, false, false),
    ] {
        let less = Settings {
            sack,
            timestamps,
            window_scaling,
            ..plain()
        };
        for (client, server) in [(less.clone(), plain()), (plain(), less)] {
            let mut pipe = Pipe::new(client, server, both(200_000, 50_000));
            (pipe.loss, pipe.jitter) = (5, ms(1));
            let pipe = pipe.run();
            let agreed = pipe.seen.iter().filter(|s| !s.1.flags.syn);
            for (_, header, _) in agreed {
                assert_eq!(header.options.timestamps.is_some(), timestamps);
                assert!(sack || header.options.sack.is_empty());
            }
        }
    }
}

#[test]
fn segments_are_of_the_smaller_size() {
    for (client, server, mss) in [(1460, 536, 536), (600, 1460, 600)] {
        let [client, server] = [client, server].map(|mss| Settings { mss, ..plain() });
        let pipe = Pipe::new(client, server, both(20_000, 20_000)).run();
        let largest = pipe.seen.iter().map(|s| s.2).max();
        assert_eq!(largest, Some(mss - 12));
    }
}

/// Sequence numbers and the timestamp clock wrap to 0 during the transfer.
#[test]
fn numbers_wrap() {
    let turn = Duration::from_millis((1 << 32) - 100);
    let start = Instant::ZERO + turn;
    let isns = [u32::MAX - 50_000, u32::MAX];
    let mut pipe = Pipe::at(start, isns, plain(), plain(), both(300_000, 100_000));
    pipe.loss = 5;
    let pipe = pipe.run();
    let wraps = |of: fn(&Header) -> u32| {
        let all: Vec<u32> = pipe.of(0).map(of).collect();
        all.iter().any(|&n| n > u32::MAX - 100_000) && all.iter().any(|&n| n < 250_000)
    };
    assert!(wraps(|h| h.seq));
    assert!(wraps(|h| h
        .options
        .timestamps
        .map_or(0, |(value, _)| value)));
}

/// Nothing is sent beyond the window, even with a slow reader.
#[test]
fn a_slow_reader_holds_the_sender_back() {
    for (buffer, reads, loss) in [
        (2920, 100, 0),
        (2920, 5000, 5),
        (8000, 300, 5),
        (65_536, 9000, 2),
    ] {
        let slow = Settings {
            receive_buffer: buffer,
            ..plain()
        };
        let mut apps = both(40_000, 0);
        (apps[1].reads, apps[1].every) = (reads, ms(20));
        let mut pipe = Pipe::new(plain(), slow, apps);
        pipe.loss = loss;
        let pipe = pipe.run();
        let (mut edge, mut shift) = (0, 0);
        for (from, header, length) in &pipe.seen {
            if *from == 1 {
                let scale = if header.flags.syn { 0 } else { shift };
                shift = header.options.window_scale.map_or(shift, u32::from);
                let window = u32::from(header.window) << scale;
                edge = edge.max(header.ack.unwrap_or(0) + window);
            } else if *length > 0 {
                let end = header.seq + *length as u32;
                assert!(end <= edge, "{buffer} {end} {edge}");
            }
        }
    }
}

#[test]
fn data_written_before_the_handshake_are_sent_after_it() {
    let mut pipe = Pipe::new(plain(), plain(), both(0, 0));
    assert_eq!(pipe.ends[0].write(Instant::ZERO, b"hello"), 5);
    assert_eq!(pipe.ends[1].write(Instant::ZERO, b"nobody"), 0);
    pipe.apps[0].data = b"hello".into();
    pipe.apps[0].written = 5;
    pipe.run();
}

#[test]
fn a_send_buffer_takes_as_much_as_it_has_room_for() {
    let config = Config {
        send_buffer: 1000,
        ..Config::new(CLIENT, plain())
    };
    let end = Endpoint::connect(config, SERVER, Instant::ZERO);
    let mut end = end.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(end.write(Instant::ZERO, &[0; 800]), 800);
    assert_eq!(end.write(Instant::ZERO, &[0; 800]), 200);
    end.close(Instant::ZERO);
    assert_eq!(end.write(Instant::ZERO, &[0]), 0);
}

#[test]
fn two_that_connect_to_each_other_are_one_connection() {
    let end = |local, remote, isn| {
        let config = Config {
            isn,
            ..Config::new(local, plain())
        };
        Endpoint::connect(config, remote, Instant::ZERO).unwrap_or_else(|e| panic!("{e}"))
    };
    let mut pipe = Pipe::new(plain(), plain(), both(30_000, 10_000));
    pipe.ends = [end(CLIENT, SERVER, 7), end(SERVER, CLIENT, 4_000_000_000)];
    pipe.run();
}

/// The last ACK is lost: the FIN is retransmitted, and acknowledged again.
#[test]
fn the_last_ack_may_be_lost() {
    let mut apps = both(5000, 0);
    apps[1].waits = true;
    let mut pipe = Pipe::new(plain(), plain(), apps);
    while !pipe.ends[0].is_at_end() {
        assert!(pipe.step());
    }
    // Drops the ACK of the server's FIN.
    pipe.loss = 100;
    pipe.transmit();
    pipe.loss = 0;
    let pipe = pipe.run();
    let fins = pipe.of(1).filter(|h| h.flags.fin).count();
    assert_eq!(fins, 2);
}

#[test]
fn a_reset_ends_both_sides() {
    let mut pipe = Pipe::new(plain(), plain(), both(100_000, 100_000));
    while !pipe.ends[1].is_established() {
        assert!(pipe.step());
    }
    pipe.ends[1].abort();
    assert!(!pipe.ends[1].is_done(), "the RST is still to go");
    while !pipe.ends.iter().all(Endpoint::is_reset) {
        assert!(pipe.step());
    }
    assert!(pipe
        .ends
        .iter()
        .all(|end| end.is_done() && end.next_timeout().is_none()));
    let resets: Vec<_> = pipe.seen.iter().filter(|s| s.1.flags.rst).collect();
    assert_eq!(resets.len(), 1);
    assert_eq!(resets[0].1.ack, pipe.of(1).last().and_then(|h| h.ack));
}

/// A policy's requests to routers and the node's signals at a handoff are encoded on the wire.
#[test]
fn rates_and_marks_cross_the_wire() {
    use midflight_control::{LinkInfo, StartNotice};
    use midflight_units::Rate;
    let start_notice = Some(StartNotice {
        link: LinkInfo {
            rate: Rate::from_mbps(10),
            delay: ms(10),
        },
        flows: 1,
    });
    let asking = Settings {
        start_notice,
        ..settings("quick-start", "rfc", &[])
    };
    let pipe = Pipe::new(asking, plain(), both(100_000, 0)).run();
    let asked = pipe.of(0).filter(|h| h.quick_start.is_some()).count();
    let answered = pipe.of(1).filter(|h| h.options.extra.is_some()).count();
    assert!(asked > 0 && answered > 0, "{asked} {answered}");

    let mut pipe = Pipe::new(
        settings("ehn", "rfc", &[]),
        settings("ehn", "rfc", &[]),
        both(300_000, 0),
    );
    while pipe.apps[0].written < 300_000 || pipe.now < Instant::ZERO + ms(60) {
        assert!(pipe.step());
    }
    let now = pipe.now;
    pipe.ends[1].on_attached(now);
    let before = pipe.seen.len();
    let pipe = pipe.run();
    let marks = |h: &&(usize, Header, usize)| h.1.options.extra.is_some();
    let mark = pipe.seen[before..].iter().find(marks);
    assert!(mark.is_some_and(|m| m.0 == 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Segments with any numbers and flags enter a transfer. Nothing panics, and data read before
    /// the connection ends is the data written or injected by the forger.
    #[test]
    fn any_segments_are_survived(
        forged in prop::collection::vec((any::<u8>(), any::<u32>(), any::<Option<u32>>(), any::<u16>(), 0_usize..40), 1..60),
        seed in any::<u64>(),
    ) {
        let mut pipe = Pipe::new(plain(), plain(), both(50_000, 50_000));
        (pipe.loss, pipe.random) = (5, Random(seed));
        for (bits, seq, ack, window, length) in forged {
            for _ in 0..5 {
                pipe.step();
            }
            let to = usize::from(bits & 1);
            let [source, destination] = if to == 0 { [SERVER, CLIENT] } else { [CLIENT, SERVER] };
            let mut header = Header::new(source, destination);
            let last = pipe.of(1 - to).last().copied();
            let Some(last) = last else { continue };
            // Near the expected number, or anywhere.
            header.seq = if bits & 2 == 0 { seq } else { last.seq.wrapping_add(seq % 3000) };
            header.ack = ack.map(|ack| if bits & 4 == 0 { ack } else { last.ack.unwrap_or(0).wrapping_add(ack % 3000) });
            (header.flags.syn, header.flags.fin, header.flags.rst) = (bits & 8 != 0, bits & 16 != 0, bits & 32 != 0);
            (header.window, header.options) = (window, last.options);
            if bits & 64 != 0 {
                header.options.sack.push(header.ack.unwrap_or(seq), seq);
            }
            if let Ok(datagram) = header.encode(&vec![bits; length]) {
                let _ = pipe.ends[to].on_datagram(pipe.now, &datagram);
            }
        }
        for _ in 0..300 {
            pipe.step();
        }
        for app in &pipe.apps {
            prop_assert!(app.read.len() <= 50_000 + 60 * 40);
        }
    }
}
