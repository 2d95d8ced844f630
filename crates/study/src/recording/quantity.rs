//! What columns have, by their names and units.

use std::borrow::Cow;

/// The quantity of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
    Cell,
    /// Of both directions together; half of it is the delay of each.
    RoundTrip,
}

/// The quantity of a column, and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Meaning {
    pub(super) up: bool,
    pub(super) of: Quantity,
}

pub(super) const NAMES: [(&str, Quantity); 57] = [
    ("time", Quantity::Time),
    ("datetime", Quantity::Time),
    ("date_time", Quantity::Time),
    ("seconds", Quantity::Time),
    ("t", Quantity::Time),
    ("timestamp", Quantity::Time),
    ("elapsed", Quantity::Time),
    ("date", Quantity::Time),
    ("time_stamp", Quantity::Time),
    ("ts", Quantity::Time),
    ("epoch", Quantity::Time),
    ("unix", Quantity::Time),
    ("unix_time", Quantity::Time),
    ("unixtime", Quantity::Time),
    ("unix_ts", Quantity::Time),
    ("unix_timestamp", Quantity::Time),
    ("epoch_time", Quantity::Time),
    ("epoch_ts", Quantity::Time),
    ("utc_time", Quantity::Time),
    ("rate", Quantity::Rate),
    ("bandwidth", Quantity::Rate),
    ("bw", Quantity::Rate),
    ("capacity", Quantity::Rate),
    ("throughput", Quantity::Rate),
    ("tput", Quantity::Rate),
    ("thput", Quantity::Rate),
    ("goodput", Quantity::Rate),
    ("bitrate", Quantity::Rate),
    ("bit_rate", Quantity::Rate),
    ("data_rate", Quantity::Rate),
    ("delay", Quantity::Delay),
    ("owd", Quantity::Delay),
    ("latency", Quantity::Delay),
    ("one_way_delay", Quantity::Delay),
    ("loss", Quantity::Loss),
    ("plr", Quantity::Loss),
    ("packet_loss", Quantity::Loss),
    ("loss_rate", Quantity::Loss),
    ("packet_loss_rate", Quantity::Loss),
    ("cell", Quantity::Cell),
    ("cellid", Quantity::Cell),
    ("cell_id", Quantity::Cell),
    ("serving_cell", Quantity::Cell),
    ("serving_cell_id", Quantity::Cell),
    ("cid", Quantity::Cell),
    ("eci", Quantity::Cell),
    ("nci", Quantity::Cell),
    ("pci", Quantity::Cell),
    ("nr_pci", Quantity::Cell),
    ("lte_pci", Quantity::Cell),
    ("serving_pci", Quantity::Cell),
    ("enb", Quantity::Cell),
    ("gnb", Quantity::Cell),
    ("enb_id", Quantity::Cell),
    ("gnb_id", Quantity::Cell),
    ("enodeb", Quantity::Cell),
    ("gnodeb", Quantity::Cell),
];
/// Names of rates that are measured transfer rates.
pub(super) const MEASURED: [&str; 9] = [
    "throughput",
    "tput",
    "thput",
    "goodput",
    "bitrate",
    "bit_rate",
    "data_rate",
    // A column named "download (Mbit/s)" or "download speed (Mbit/s)".
    "",
    "speed",
];
/// Keys by which a user assigns columns to quantities.
pub(super) const KEYS: [(&str, Meaning); 9] = [
    (
        "time",
        Meaning {
            up: false,
            of: Quantity::Time,
        },
    ),
    (
        "rate",
        Meaning {
            up: false,
            of: Quantity::Rate,
        },
    ),
    (
        "delay",
        Meaning {
            up: false,
            of: Quantity::Delay,
        },
    ),
    (
        "loss",
        Meaning {
            up: false,
            of: Quantity::Loss,
        },
    ),
    (
        "up_rate",
        Meaning {
            up: true,
            of: Quantity::Rate,
        },
    ),
    (
        "up_delay",
        Meaning {
            up: true,
            of: Quantity::Delay,
        },
    ),
    (
        "up_loss",
        Meaning {
            up: true,
            of: Quantity::Loss,
        },
    ),
    (
        "cell",
        Meaning {
            up: false,
            of: Quantity::Cell,
        },
    ),
    (
        "rtt",
        Meaning {
            up: false,
            of: Quantity::RoundTrip,
        },
    ),
];

/// The binary thousand, of bytes.
const KIBI: f64 = 1024.0;

impl Quantity {
    /// The factor from a unit to ns, bit/s, seconds or fractions. A capital B is a byte, as in MB/s.
    pub(super) fn factor(self, unit: &str) -> Option<f64> {
        let unit = per_second(unit.trim());
        let of_second = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps"));
        let is_of_bytes = of_second.is_some_and(|of| of.ends_with('B'));
        let unit = unit.to_lowercase();
        let seconds = match unit.as_str() {
            "ns" => Some(1e-9),
            "us" | "\u{b5}s" | "\u{3bc}s" => Some(1e-6),
            "ms" => Some(1e-3),
            "s" | "sec" | "seconds" => Some(1.0),
            "min" if self == Self::Time => Some(60.0),
            "h" if self == Self::Time => Some(3600.0),
            _ => None,
        };
        match self {
            Self::Time => seconds.map(|s| (s * 1e9_f64).round()),
            Self::Delay | Self::RoundTrip => seconds,
            Self::Rate => match unit.trim_end_matches("/s").trim_end_matches("ps") {
                "b" if is_of_bytes => Some(8.0),
                "kb" if is_of_bytes => Some(8e3),
                "mb" if is_of_bytes => Some(8e6),
                "gb" if is_of_bytes => Some(8e9),
                "byte" | "bytes" => Some(8.0),
                "kbyte" | "kbytes" => Some(8e3),
                "mbyte" | "mbytes" => Some(8e6),
                "gbyte" | "gbytes" => Some(8e9),
                "kib" => Some(8.0 * KIBI),
                "mib" => Some(8.0 * KIBI * KIBI),
                "gib" => Some(8.0 * KIBI * KIBI * KIBI),
                "bit" | "bits" | "b" => Some(1.0),
                "kbit" | "kbits" | "kb" => Some(1e3),
                "mbit" | "mbits" | "mb" => Some(1e6),
                "gbit" | "gbits" | "gb" => Some(1e9),
                _ => None,
            },
            Self::Loss => match unit.as_str() {
                "%" | "percent" | "pct" => Some(0.01),
                "share" => Some(1.0),
                _ => None,
            },
            Self::Cell => None,
        }
    }

    /// The unit of rates or delays below that of this factor.
    pub(super) fn smaller_unit(self, factor: f64) -> Option<&'static str> {
        let below = |units: &[(f64, &'static str)]| {
            let found = units.iter().find(|unit| unit.0 < factor);
            found.map(|unit| unit.1)
        };
        match self {
            Self::Rate => below(&[(1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")]),
            Self::Delay | Self::RoundTrip => below(&[(1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")]),
            Self::Time | Self::Loss | Self::Cell => None,
        }
    }

    /// The unit of rates above that of this factor.
    pub(super) fn larger_unit(self, factor: f64) -> Option<&'static str> {
        match self {
            Self::Rate if factor < 1e6 => Some("Mbit/s"),
            Self::Rate if factor < 1e9 => Some("Gbit/s"),
            _ => None,
        }
    }

    /// The factor for a column without a unit.
    pub(super) fn usual(self) -> Option<f64> {
        match self {
            Self::Time => Some(1e9),
            Self::Loss | Self::Cell => Some(1.0),
            Self::Rate | Self::Delay | Self::RoundTrip => None,
        }
    }

    /// An example of a unit in a column name.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Delay | Self::RoundTrip => "ms",
            Self::Rate => "Mbit/s",
            Self::Loss => "%",
            Self::Cell => "",
        }
    }

    pub(super) fn units(self) -> &'static str {
        match self {
            Self::Time => "ns, us, ms, s, min or h",
            Self::Delay | Self::RoundTrip => "us, ms or s",
            Self::Rate => "bps, kbps, mbps, gbps or MB/s",
            Self::Loss => "% or none",
            Self::Cell => "none",
        }
    }
}

/// The unit of binary multiples of a unit as iperf writes it, `MBytes/sec`, which may be one.
pub(super) fn binary(unit: &str) -> Option<&'static str> {
    let unit = per_second(unit.trim()).to_lowercase();
    let known = [
        ("kbytes/s", "KiB/s"),
        ("mbytes/s", "MiB/s"),
        ("gbytes/s", "GiB/s"),
    ];
    let found = known.iter().find(|known| known.0 == unit)?;
    Some(found.1)
}

/// The unit with its `/sec`, `/second` or `/S` as `/s`.
fn per_second(unit: &str) -> Cow<'_, str> {
    match unit.rsplit_once('/') {
        Some((of, time)) if ["s", "sec", "second"].contains(&time.to_lowercase().as_str()) => {
            Cow::Owned(format!("{of}/s"))
        }
        _ => Cow::Borrowed(unit),
    }
}

/// Whether a whole name is the unit of a rate, as "Mbit/s" or "mbps".
fn is_rate_per_second(name: &str) -> bool {
    let unit = per_second(name);
    let is_per_second = unit.ends_with("/s") || unit.to_lowercase().ends_with("ps");
    is_per_second && Quantity::Rate.factor(name).is_some()
}

/// Splits a name into the name without its unit, and the unit.
pub(super) fn with_unit(name: &str) -> (String, Option<String>) {
    if let Some((base, rest)) = name.split_once(['(', '[']) {
        let unit = rest.trim().trim_end_matches([')', ']']).trim().to_string();
        let base = base.trim().to_lowercase().replace([' ', '-'], "_");
        return (base, Some(unit));
    }
    let flat = name.trim().replace([' ', '-'], "_");
    let is_unit = |text: &str| {
        [Quantity::Time, Quantity::Rate, Quantity::Loss]
            .iter()
            .any(|q| q.factor(text).is_some())
    };
    if is_rate_per_second(&flat) {
        return (String::new(), Some(flat));
    }
    let parts: Vec<&str> = flat.split('_').collect();
    for count in [2, 1] {
        if parts.len() > count {
            let (base, unit) = parts.split_at(parts.len() - count);
            let unit = unit.join("/");
            if is_unit(&unit) {
                return (base.join("_").to_lowercase(), Some(unit));
            }
        }
    }
    (flat.to_lowercase(), None)
}

/// Words for the directions.
const UP: [&str; 5] = ["uplink", "upload", "upstream", "up", "ul"];
const DOWN: [&str; 5] = ["downlink", "download", "downstream", "down", "dl"];

/// Whether a word for a direction means the uplink; none for other words.
pub(super) fn is_up(word: &str) -> Option<bool> {
    let is_of = |words: &[&str]| words.iter().any(|one| one.eq_ignore_ascii_case(word));
    is_of(&UP).then_some(true).or(is_of(&DOWN).then_some(false))
}

/// A part of a name, or both parts of one such as `dlrate` or `throughputul`.
fn apart(part: &str) -> impl Iterator<Item = &str> {
    let is_of_way = |name: &str| {
        let of = NAMES.iter().find(|known| known.0 == name).map(|one| one.1);
        let quantities = [Quantity::Rate, Quantity::Delay, Quantity::Loss];
        of.is_some_and(|of| quantities.contains(&of)) || name == "speed"
    };
    let ways = UP.into_iter().chain(DOWN);
    let mut rests = ways.flat_map(|way| {
        let rests = [part.strip_prefix(way), part.strip_suffix(way)];
        rests.into_iter().flatten().map(move |rest| (way, rest))
    });
    let (first, second) = match rests.find(|both| is_of_way(both.1)) {
        Some((way, rest)) => (rest, Some(way)),
        None => (part, None),
    };
    std::iter::once(first).chain(second)
}

/// How well a column says which cell is used, if it does: 0 is best, and a base station worst.
pub(super) fn cell_rank(name: &str) -> Option<usize> {
    let (base, _) = with_unit(name);
    let mut cells = NAMES.iter().filter(|known| known.1 == Quantity::Cell);
    cells.position(|known| known.0 == base)
}

/// The quantity of a column with this name, none of a minimum such as `delay_min`, its plain name, and its unit.
pub(super) fn meaning(name: &str) -> Option<(Meaning, String, Option<String>)> {
    let (base, unit) = with_unit(name);
    let parts: Vec<&str> = base.split('_').flat_map(apart).collect();
    let up = parts.iter().any(|part| is_up(part) == Some(true));
    let rest: Vec<&str> = parts
        .into_iter()
        .filter(|part| is_up(part).is_none())
        .collect();
    let plain = rest.join("_");
    let is_rate = || {
        unit.as_deref()
            .is_some_and(|unit| Quantity::Rate.factor(unit).is_some())
    };
    let of = match plain.as_str() {
        "" | "speed" => is_rate().then_some(Quantity::Rate)?,
        known => NAMES.iter().find(|one| one.0 == known)?.1,
    };
    let ends_in_min = unit.as_deref().is_some_and(is_minimum) && !name.contains(['(', '[']);
    if ends_in_min && of != Quantity::Time {
        return None;
    }
    Some((Meaning { up, of }, plain, unit))
}

/// Whether a name is that of a rate if it has a unit: `download`, `speed`.
pub(super) fn lacks_unit(name: &str) -> bool {
    let is_rate = |meaning: (Meaning, String, Option<String>)| meaning.0.of == Quantity::Rate;
    with_unit(name).1.is_none() && meaning(&format!("{name} bit/s")).is_some_and(is_rate)
}

/// The key of the quantity that a column with this name has: "rate" of "bandwidth", "rtt" of "ping".
pub(super) fn key_like(name: &str) -> Option<&'static str> {
    let of = match meaning(name) {
        Some((of, ..)) => of,
        None if is_round_trip(name) => Meaning {
            up: false,
            of: Quantity::RoundTrip,
        },
        None => meaning(&format!("{name} bit/s"))?.0,
    };
    KEYS.iter().find(|known| known.1 == of).map(|known| known.0)
}

/// The end of `time_min` is minutes, that of `rtt_min` the least value.
fn is_minimum(unit: &str) -> bool {
    unit.eq_ignore_ascii_case("min")
}

/// Whether a name says that its column has round trips: rtt, ping, PINGAVG, but not PINGMIN or PINGLOSS.
pub(super) fn is_round_trip(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut parts = name.split(|c: char| !c.is_alphanumeric());
    let is_other = |part: &str| {
        ["min", "max", "std", "dev", "loss", "jitter", "var"]
            .iter()
            .any(|other| part.contains(other))
    };
    parts
        .clone()
        .any(|part| part == "rtt" || part.starts_with("ping"))
        && !parts.any(is_other)
}
