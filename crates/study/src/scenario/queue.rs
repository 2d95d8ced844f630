//! The queue of a link in a scenario: a size, or a discipline with its options.

use std::borrow::Cow;
use std::fmt;

use midflight_sim::{Marked, QueueKind, QueueParameters, QUEUES};
use midflight_units::{nearest, Duration, Rate};

use super::written::{number_and_unit, read_bytes, read_packets, Quantity};

/// The size of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// A multiple of the bandwidth-delay product.
    Bdp(f64),
    /// Packets: including the one in transmission at a drop-tail link, excluding it with a discipline.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
    /// The amount that the link sends in this time.
    Time(Duration),
}

/// Bytes of a full-sized packet.
const PACKET_BYTES: u64 = midflight_control::DATA_BYTES;
/// Minimum queue of a link whose queue is given in bandwidth-delay products (Daniel & Kojo 2008, section
/// 4).
const LEAST_BDP: u64 = 5;

impl Room {
    /// The size in packets, at a link with this rate and one-way delay.
    fn packets(self, rate: Rate, delay: Duration) -> u32 {
        let whole =
            |packets: u64, least: u64| u32::try_from(packets.max(least)).unwrap_or(u32::MAX);
        let fitting = |time: Duration| {
            let bits = u128::from(rate.as_bps()) * u128::from(time.as_nanos());
            let packets = bits.div_ceil(u128::from(8 * PACKET_BYTES) * 1_000_000_000);
            u64::try_from(packets).unwrap_or(u64::MAX)
        };
        match self {
            Self::Bdp(times) => {
                let time = (delay * 2).as_nanos() as f64 * times;
                whole(fitting(Duration::from_nanos(time as u64)), LEAST_BDP)
            }
            Self::Packets(packets) => packets,
            Self::Bytes(bytes) => whole(bytes / PACKET_BYTES, 1),
            Self::Time(time) => whole(fitting(time), 1),
        }
    }
}

/// The queue of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// Drop-tail with this much room.
    DropTail(Room),
    /// With a discipline.
    Managed(ManagedQueue),
}

/// A queue with a discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManagedQueue {
    kind: &'static QueueKind,
    parameters: QueueParameters,
    /// Replaces the limit of the parameters.
    limit: Option<Room>,
}

impl Queue {
    /// Maximum number of packets at a link with this rate and one-way delay: with drop-tail including the
    /// one in transmission; with a discipline only those that wait.
    pub fn packets(self, rate: Rate, delay: Duration) -> u32 {
        match self {
            Self::DropTail(room) => room.packets(rate, delay),
            Self::Managed(queue) => queue
                .limit
                .map_or(queue.parameters.packets, |room| room.packets(rate, delay)),
        }
    }

    /// The discipline at such a link, if it has one.
    pub(crate) fn discipline(
        self,
        rate: Rate,
        delay: Duration,
    ) -> Option<(&'static QueueKind, QueueParameters)> {
        let Self::Managed(queue) = self else {
            return None;
        };
        let mut parameters = queue.parameters;
        match queue.limit {
            None => {}
            // Exactly, because packets may have any size.
            Some(Room::Bytes(bytes)) => {
                (parameters.packets, parameters.bytes) = (u32::MAX, Some(bytes));
            }
            Some(room) => parameters.packets = room.packets(rate, delay),
        }
        Some((queue.kind, parameters))
    }
}

impl Room {
    fn read(text: &str) -> Option<Self> {
        if text.trim() == "bdp" {
            return Some(Self::Bdp(1.0));
        }
        let (number, unit) = number_and_unit(text)?;
        let bdp = || (unit == "bdp" && number > 0.0 && number <= 1e6).then_some(Self::Bdp(number));
        let packets = || read_packets(number, unit, 1e9).map(|n| Self::Packets(n as u32));
        let bytes = || read_bytes(number, unit).map(Self::Bytes);
        let time = || {
            text.parse()
                .ok()
                .filter(|&t| t > Duration::ZERO)
                .map(Self::Time)
        };
        bdp().or_else(packets).or_else(bytes).or_else(time)
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp(1.0) => f.write_str("bdp"),
            Self::Bdp(times) => write!(f, "{times} bdp"),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => write!(f, "{bytes} B"),
            Self::Time(time) => write!(f, "{time}"),
        }
    }
}

/// Splits a text into words, with a number and its unit as one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_number = |last: &String| last.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        match words.last_mut().filter(|last| is_number(last)) {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.into()),
        }
    }
    words
}

/// The minimum interval between a discipline's repeated actions, and its maximum time.
const LEAST_PERIOD: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(1000);

impl ManagedQueue {
    /// Reads the options of a discipline.
    fn read(kind: &'static QueueKind, words: &[String]) -> Result<Self, String> {
        let mut queue = Self {
            kind,
            parameters: kind.default,
            limit: None,
        };
        let (period, default) = (kind.period, kind.default);
        let expected = || {
            format!("after \"{}\" expected \"limit 200 packets\" (or kB, a time, bdp), \"target {}\", \"{period} {}\", \"ecn\", \"no-ecn\", \"ce-threshold 1 ms\" or \"l4s-threshold 1 ms\"", kind.name, default.target, default.period)
        };
        let mut words = words.iter();
        let mut said: Vec<&str> = Vec::new();
        while let Some(word) = words.next() {
            // The same setting must not be given twice.
            let is_same = |one: &&&str| setting(one) == setting(word);
            if let Some(before) = said.iter().find(is_same) {
                return Err(format!(
                    "\"{word}\" comes after \"{before}\"; expected one of them, once"
                ));
            }
            said.push(word);
            let of = &mut queue.parameters;
            match word.as_str() {
                "ecn" => of.ecn = true,
                "no-ecn" => of.ecn = false,
                "limit" => {
                    let room = words.next().and_then(|text| Room::read(text));
                    queue.limit = Some(room.ok_or_else(expected)?);
                }
                name if name == "target"
                    || name == period
                    || name == "ce-threshold"
                    || name == "l4s-threshold" =>
                {
                    let time = words.next().and_then(|text| text.parse().ok());
                    let least = if name == period {
                        LEAST_PERIOD
                    } else {
                        Duration::from_nanos(1)
                    };
                    let time: Duration = time
                        .filter(|t| (least..=LONGEST).contains(t))
                        .ok_or_else(expected)?;
                    match name {
                        "target" => of.target = time,
                        "ce-threshold" => of.threshold = Some((time, Marked::All)),
                        "l4s-threshold" => of.threshold = Some((time, Marked::LowLatency)),
                        _ => of.period = time,
                    }
                }
                other => return Err(format!("\"{other}\" is not known; {}", expected())),
            }
        }
        Ok(queue)
    }
}

/// The parameter of an option; options that exclude each other set the same one.
fn setting(option: &str) -> &str {
    match option {
        "no-ecn" => "ecn",
        "l4s-threshold" => "ce-threshold",
        other => other,
    }
}

/// The names of disciplines.
fn names(quote: &str, between: &str) -> String {
    let names = QUEUES
        .iter()
        .map(|kind| format!("{quote}{}{quote}", kind.name));
    names.collect::<Vec<_>>().join(between)
}

/// Each discipline with all its options, as examples.
fn examples() -> String {
    let each = QUEUES.iter().map(|kind| {
        let of = kind.default;
        let ecn = if of.ecn { "no-ecn" } else { "ecn" };
        format!(
            "\"{} limit {} packets target {} {} {} {ecn}\"",
            kind.name, of.packets, of.target, kind.period, of.period
        )
    });
    each.collect::<Vec<_>>().join(", ")
}

impl Quantity for Queue {
    const NAME: &'static str = "Queue";
    const EXAMPLE: &'static str = "bdp";
    const OF_NUMBER: &'static [&'static str] = &["# packets", "# kB"];

    fn about() -> Cow<'static, str> {
        format!("Queue of a link: \"bdp\" or \"2 bdp\" (times rate x 2 x its one-way delay, at least 5 packets), \"100 packets\", \"64 kB\", or the amount that it sends in a time, \"50 ms\". Or a discipline, {}, and its options in any order: {}.", names("\"", ", "), examples()).into()
    }

    fn pattern() -> Cow<'static, str> {
        format!(
            r"^\s*(({})(\s.*)?|([0-9.]+\s*)?(bdp|packets?|segments?|[kKMG]?i?B|ns|us|ms|s|min|h))\s*$",
            names("", "|")
        )
        .into()
    }

    fn read(text: &str) -> Result<Self, String> {
        let words = words(text);
        if let Some(kind) = words.first().and_then(|name| QueueKind::named(name)) {
            let queue = ManagedQueue::read(kind, &words[1..]);
            return queue
                .map(Self::Managed)
                .map_err(|why| format!("queue \"{text}\": {why}"));
        }
        let room = Room::read(text).map(Self::DropTail);
        room.ok_or_else(|| {
            let name = words.first().map_or("", String::as_str);
            let near = nearest(name, QUEUES.iter().map(|kind| kind.name).chain(["bdp"]));
            let near = near.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
            format!("queue \"{text}\" is not accepted; expected \"bdp\", \"2 bdp\", \"100 packets\", \"64 kB\", what the link sends in a time, \"50 ms\", {}{near}", names("\"", ", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn managed(text: &str) -> (&'static str, QueueParameters) {
        let queue = Queue::read(text).unwrap_or(Queue::DropTail(Room::Packets(1)));
        let rate = Rate::from_mbps(12);
        let found = queue.discipline(rate, Duration::from_millis(10));
        found.map_or(("none", QUEUES[0].default), |(kind, of)| (kind.name, of))
    }

    #[test]
    fn stated_parameters_of_a_discipline_replace_its_defaults() {
        for kind in QUEUES {
            assert_eq!(managed(kind.name), (kind.name, kind.default));
        }
        let ms = Duration::from_millis;
        let (name, of) = managed(" fq-codel  limit 64 kB target 10ms interval 0.2 s no-ecn");
        assert_eq!((name, of.target, of.period), ("fq-codel", ms(10), ms(200)));
        assert_eq!(
            (of.ecn, of.bytes, of.packets),
            (false, Some(64_000), u32::MAX)
        );
        // 12 Mbit/s send a packet of 1500 bytes per millisecond.
        assert_eq!(managed("codel limit 50 ms").1.packets, 50);
        assert_eq!(managed("codel limit 2 bdp").1.packets, 40);
        let (_, of) = managed("pie update 30 ms ecn l4s-threshold 1 ms");
        assert_eq!((of.period, of.ecn), (ms(30), true));
        assert_eq!(of.threshold, Some((ms(1), Marked::LowLatency)));
    }

    #[test]
    fn errors_say_what_is_accepted() {
        let error = |text: &str| Queue::read(text).err().unwrap_or_default();
        assert!(error("codell").contains("\"fq-codel-linux\", \"pie\""));
        // The name used by tc.
        assert!(error("fq_codel limit 9 packets").contains("(did you mean \"fq-codel\"?)"));
        assert!(error("codel 200 packets")
            .contains("\"200 packets\" is not known; after \"codel\" expected \"limit"));
        for kind in QUEUES {
            let default = format!(
                "\"target {}\", \"{} {}\"",
                kind.default.target, kind.period, kind.default.period
            );
            assert!(error(&format!("{} target", kind.name)).contains(&default));
            assert!(Queue::about().contains(kind.name) && Queue::pattern().contains(kind.name));
        }
        for example in examples().split(", ") {
            let read = Queue::read(example.trim_matches('"'));
            assert!(read.is_ok(), "{example}: {read:?}");
        }
        assert!(error("pie interval 10 ms").contains("\"update 15 ms\""));
    }

    #[test]
    fn an_option_comes_once() {
        for (text, words) in [
            ("codel ecn no-ecn", "\"no-ecn\" comes after \"ecn\""),
            ("codel ecn ecn", "\"ecn\" comes after \"ecn\""),
            ("codel target 5 ms target 9 ms", "\"target\" comes after"),
            ("pie limit 5 packets limit 5 packets", "\"limit\" comes"),
            ("pie update 5 ms ecn update 9 ms", "\"update\" comes after"),
            (
                "codel ce-threshold 1 ms l4s-threshold 1 ms",
                "\"l4s-threshold\" comes after \"ce-threshold\"",
            ),
        ] {
            let error = Queue::read(text).err().unwrap_or_default();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    /// The given limit of a discipline, or its default.
    #[test]
    fn most_packets_are_those_that_are_said() {
        let packets = |text: &str| {
            let queue = Queue::read(text).unwrap_or(Queue::DropTail(Room::Packets(1)));
            queue.packets(Rate::from_mbps(12), Duration::from_millis(10))
        };
        for kind in QUEUES {
            assert_eq!(packets(kind.name), kind.default.packets);
            assert_eq!(packets(&format!("{} limit 100 packets", kind.name)), 100);
            assert_eq!(packets(&format!("{} limit 50 ms", kind.name)), 50);
        }
        assert_eq!(packets("codel limit 30 kB"), 20);
        assert_eq!(packets("100 packets"), 100);
    }
}
