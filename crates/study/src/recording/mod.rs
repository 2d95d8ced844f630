//! Recordings of paths: a link's rate, delay and loss over time, read from files of measurements and of other
//! emulators, and the schedules made from them.

mod beside;
mod columns;
mod header;
mod leoem;
mod lines;
mod model;
mod quantity;
mod rows;
mod schedule;
mod time;

use std::borrow::Cow;
use std::collections::BTreeMap;

use midflight_units::{nearest, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::model::{Model, Refused, MODELS};
use self::quantity::Quantity;
pub use self::schedule::{Between, Cut, Followed, HoleKind, OutageKind, Own};
pub use self::time::{Dates, Gap};

/// The values of a quantity, each from its instant on.
pub type Series = Vec<(Duration, f64)>;

/// The format of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Columns with a header that names quantities and units.
    Csv,
    /// Delivery opportunities of Mahimahi's mm-link: a millisecond per line.
    Mahimahi,
    /// Precomputed paths of LeoEM: a frame per line.
    LeoEm,
    /// One-way delays of LeoCC's replayer: milliseconds per line, for 10 ms each.
    LeoccDelay,
    /// The log of G-NetTrack (Irish 5G data set): CSV with bit rates in kbit/s.
    GNetTrack,
    /// Pensieve's traces: seconds and Mbit/s per line.
    Pensieve,
    /// No file: a model has drawn it.
    #[serde(skip)]
    Model,
}

impl Format {
    /// The formats of files, with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("csv", Self::Csv),
        ("mahimahi", Self::Mahimahi),
        ("leo-em", Self::LeoEm),
        ("leocc-delay", Self::LeoccDelay),
        ("g-net-track", Self::GNetTrack),
        ("pensieve", Self::Pensieve),
    ];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        let is_it = |one: &&(&str, Self)| one.1 == self;
        Self::ALL.iter().find(is_it).map_or("model", |one| one.0)
    }
}

/// The recording of one direction. A quantity without points was not recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// Bits per second.
    pub rate: Series,
    /// One-way delay in seconds.
    pub delay: Series,
    /// Fraction of packets lost.
    pub loss: Series,
    /// Instants at which 1500 bytes may be sent.
    pub opportunities: Vec<Duration>,
}

/// The recording of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its format.
    pub format: Format,
    /// Towards the mobile node.
    pub down: Way,
    /// From the mobile node, if it was recorded separately.
    pub up: Way,
    /// Its length.
    pub span: Duration,
    /// Instants and places of path changes; for LeoEM the source's and the destination's satellite.
    pub handovers: Vec<(Duration, &'static str)>,
    /// Times without a path, for any rate.
    pub outages: Vec<(Duration, Duration)>,
    /// Times without rows, much longer than the usual step of its rows.
    pub holes: Vec<(Duration, Duration)>,
    /// The instants of its rows; none for a format without rows.
    pub rows: Vec<Duration>,
    /// Columns without a value in some rows.
    pub blanks: Vec<Blanks>,
    /// The columns of its rates and delays.
    pub named: Vec<Named>,
    /// Its delays are halves of measured round trips.
    pub has_round_trips: bool,
    /// Whether packets are lost in an outage, if the format specifies that.
    pub drops: bool,
    /// What a user of its values should know, one sentence each.
    pub remarks: Vec<String>,
    /// What its values mean and what else it has, which changes no result, one sentence each.
    pub hints: Vec<String>,
    /// How it was read, for a user who looks at it, one sentence each.
    pub details: Vec<String>,
}

/// Columns that have no value in the same rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Blanks {
    names: Vec<String>,
    /// One of them is a rate.
    has_rate: bool,
    /// For each row, whether its value is missing.
    in_row: Vec<bool>,
}

/// A column, by the key that names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    key: &'static str,
    name: String,
    of: Quantity,
    /// The factor of its numbers.
    factor: f64,
}

impl Named {
    /// Its name, and how to read its numbers in another unit.
    fn in_unit(&self, unit: &str) -> String {
        let (key, name) = (self.key, &self.name);
        format!(
            "\"{name}\"; columns.{key} = \"{name} {unit}\" (trace check: --columns {key}=\"{name} {unit}\") reads it in {unit}"
        )
    }
}

impl Blanks {
    /// A remark on them; none if each of these rows has a value.
    fn remark(&self, rows: &[Duration]) -> Option<String> {
        let without = self.in_row.iter().filter(|blank| **blank).count();
        let (mut most, mut since, mut run) = (0, 0, 0);
        for (row, blank) in self.in_row.iter().enumerate() {
            run = if *blank { run + 1 } else { 0 };
            if run > most {
                (most, since) = (run, row + 1 - run);
            }
        }
        let begin = rows.get(since)?;
        let have = if without == 1 { "has" } else { "have" };
        let most = match most {
            0 => return None,
            1 => String::new(),
            _ => format!(" ({most} in succession from {begin} on)"),
        };
        let hint = if self.has_rate {
            "; write 0 for a rate where nothing can be sent"
        } else {
            ""
        };
        let (names, of) = (self.names.join(", "), rows.len());
        Some(format!(
            "{without} of {of} rows {have} no value in {names}{most}: the one before goes on{hint}"
        ))
    }
}

impl Recording {
    fn new(format: Format) -> Self {
        Self {
            format,
            down: Way::default(),
            up: Way::default(),
            span: Duration::ZERO,
            handovers: Vec::new(),
            outages: Vec::new(),
            holes: Vec::new(),
            rows: Vec::new(),
            blanks: Vec::new(),
            named: Vec::new(),
            has_round_trips: false,
            drops: false,
            remarks: Vec::new(),
            hints: Vec::new(),
            details: Vec::new(),
        }
    }

    /// Reads a recording. `columns` names the column of a quantity, perhaps with a unit, if the header does
    /// not: "rate" to "DL kbit/s"; `dates` is the order of days and months with slashes.
    ///
    /// # Errors
    /// A sentence that names the line, what was read and what is accepted.
    pub fn read(
        text: &str,
        format: Option<Format>,
        columns: &BTreeMap<String, String>,
        dates: Option<Dates>,
    ) -> Result<Self, String> {
        let text = without_comments(text.trim_start_matches('\u{feff}'));
        let text = &with_tabs(text);
        let is_guess = format.is_none();
        let format = match format {
            Some(format) => format,
            None => detect(text)?,
        };
        let is_of_columns = matches!(format, Format::Csv | Format::GNetTrack);
        for (is_given, what, key) in [
            (!columns.is_empty(), "columns are named", "columns"),
            (dates.is_some(), "an order of dates is given", "dates"),
        ] {
            if is_given && !is_of_columns {
                let name = format.name();
                return Err(format!(
                    "{what}, but the format is {name}; expected csv, or no {key}"
                ));
            }
        }
        let found = match format {
            Format::Csv | Format::GNetTrack => columns::read(text, format, columns, dates),
            Format::Mahimahi => lines::mahimahi(text),
            Format::LeoccDelay => {
                let mut found = lines::leocc_delay(text)?;
                found.remarks.extend(backwards(text).filter(|_| is_guess));
                Ok(found)
            }
            Format::Pensieve => lines::pensieve(text),
            Format::LeoEm => leoem::read(text),
            Format::Model => Err("a model is not a file; expected model = \"starlink\"".into()),
        }?;
        Ok(found.with_doubts_noted())
    }

    /// The recording of columns from a program, with the same names as in a header, or named as in [`Self::read`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of_columns(
        columns: &BTreeMap<String, Vec<f64>>,
        named: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        Ok(columns::of_numbers(columns, named)?.with_doubts_noted())
    }

    /// Remarks on its rows: those without a value, and times without any, which are taken for this.
    pub fn row_remarks(&self, kind: HoleKind) -> Vec<String> {
        let blanks = self.blanks.iter().filter_map(|one| one.remark(&self.rows));
        blanks.chain(self.holes_remark(kind)).collect()
    }

    /// Takes these delays for both directions.
    pub fn set_delays(&mut self, delays: Series) {
        self.up.delay.clone_from(&delays);
        self.down.delay = delays;
    }

    /// The times in which a few rows are missing.
    pub fn gaps(&self) -> Vec<Gap> {
        time::gaps(&self.rows)
    }

    /// The mean time between its rows, or between opportunities.
    pub fn step(&self) -> Duration {
        let values = [self.rows.len(), self.down.opportunities.len()];
        let values = values.into_iter().chain([self.down.delay.len()]);
        let count = values.max().unwrap_or_default().max(1) as u64;
        Duration::from_nanos(self.span.as_nanos() / count)
    }

    /// A remark on times without rows, if there are any and they are taken for this, or if there are none that could be
    /// taken for outages.
    fn holes_remark(&self, kind: HoleKind) -> Option<String> {
        if self.holes.is_empty() && kind == HoleKind::Outage {
            let why = match self.rows.len() {
                few if few < time::LEAST_ROWS => {
                    format!("it has {few} rows, and holes are found from ten on")
                }
                _ => "no two of its rows are more than five usual steps apart".into(),
            };
            return Some(format!("{why}: holes = \"outage\" changes nothing"));
        }
        let longest = self.holes.iter().max_by_key(|hole| {
            let (from, until) = **hole;
            (until.saturating_sub(from), std::cmp::Reverse(from))
        })?;
        let (from, until) = (longest.0.as_secs_f64(), longest.1.as_secs_f64());
        let times = match self.holes.len() {
            1 => format!("from {from} s to {until} s"),
            many => format!("at {many} times, the longest from {from} s to {until} s"),
        };
        let meaning = match kind {
            HoleKind::Hold => "the values before it hold; holes = \"outage\" makes it an outage",
            HoleKind::Outage => "taken for an outage",
        };
        Some(format!("it has no rows {times}: {meaning}"))
    }

    /// The same with remarks on a direction that can never send, and on implausible values.
    fn with_doubts_noted(mut self) -> Self {
        for (way, name) in [(&self.down, "downlink"), (&self.up, "uplink")] {
            let most = |of: &Series| of.iter().map(|point| point.1).fold(0.0, f64::max);
            let delay = most(&way.delay);
            let is_up = name == "uplink";
            let key = if is_up { "up_rate" } else { "rate" };
            self.remarks
                .extend(self.doubt_on_rates(&way.rate, name, key));
            if delay > MOST_USUAL_S {
                let named = self.column(if is_up { "up_delay" } else { "delay" });
                let named = named.or_else(|| self.column("rtt"));
                let unit = named.and_then(|one| {
                    let unit = one.of.smaller_unit(one.factor)?;
                    Some(format!(" of {}", one.in_unit(unit)))
                });
                let unit = unit.unwrap_or_default();
                self.remarks.push(format!(
                    "its longest delay of the {name} is {delay} s, over 10 s: check the unit{unit}"
                ));
            }
            if !way.rate.is_empty() && way.rate.iter().all(|point| point.1 == 0.0) {
                self.remarks.push(format!(
                    "all rates of the {name} are 0: nothing can be sent over it"
                ));
            }
        }
        self
    }

    /// A remark on rates of a direction that probably have another unit, and how to read them in it.
    fn doubt_on_rates(&self, rates: &Series, name: &str, key: &str) -> Option<String> {
        let mut rates: Vec<f64> = rates.iter().map(|point| point.1).collect();
        rates.retain(|rate| *rate > 0.0);
        rates.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*rates.first()?, *rates.last()?);
        let half = rates[rates.len() / 2];
        let named = self.column(key);
        let smaller = || match named {
            None => Some("; scale = 0.001 takes its numbers for kbit/s".to_owned()),
            Some(one) => {
                let unit = one.of.smaller_unit(one.factor)?;
                Some(format!(" of {}", one.in_unit(unit)))
            }
        };
        if most > MOST_USUAL_BPS {
            let (gbps, unit) = (most / 1e9, smaller().unwrap_or_default());
            return Some(format!(
                "its highest rate of the {name} is {gbps} Gbit/s, over 10 Gbit/s: check the unit{unit}"
            ));
        }
        // Whoever writes Gbit/s means it, and a wire has one rate.
        let may_be_kbps = named.is_none_or(|one| (1e6..1e9).contains(&one.factor));
        if half >= MOST_OF_RADIO_BPS && may_be_kbps && least < most {
            let (gbps, unit) = (half / 1e9, smaller()?);
            return Some(format!(
                "half of its rates of the {name} are {gbps} Gbit/s or more, which few cellular, Wi-Fi or satellite links have: check the unit{unit}"
            ));
        }
        (most < LEAST_USUAL_BPS).then(|| {
            let unit = named.and_then(|one| {
                let unit = one.of.larger_unit(one.factor)?;
                Some(format!(" of {}", one.in_unit(unit)))
            });
            let unit = unit.unwrap_or_default();
            format!("its highest rate of the {name} is {most} bit/s, under 10 kbit/s: check the unit{unit}")
        })
    }

    /// The column that has what a key names.
    fn column(&self, key: &str) -> Option<&Named> {
        self.named.iter().find(|one| one.key == key)
    }

    /// Whether any quantity was recorded.
    fn has_any(&self) -> bool {
        let has = |way: &Way| {
            !(way.rate.is_empty()
                && way.delay.is_empty()
                && way.loss.is_empty()
                && way.opportunities.is_empty())
        };
        has(&self.down) || has(&self.up) || !self.outages.is_empty()
    }
}

/// Values above these are accepted with a remark: hardly any link has them, and often a unit is wrong.
const MOST_USUAL_BPS: f64 = 10e9;
const MOST_USUAL_S: f64 = 10.0;
/// Half of the rates of a radio link are hardly above this.
const MOST_OF_RADIO_BPS: f64 = 2e9;
/// Links below this rate are hardly recorded.
const LEAST_USUAL_BPS: f64 = 10e3;

/// Numbers that rise so many times and never fall are hardly delays.
const MOST_RISES: usize = 9;

/// The text without the lines at its beginning that are comments, `# ...`; lines keep their numbers. If numbers in
/// columns follow, the last comment is their header, as `numpy.savetxt` writes it.
fn without_comments(text: &str) -> Cow<'_, str> {
    // "sep=;" is for a spreadsheet.
    let is_skipped = |line: &&str| {
        line.trim().is_empty() || line.trim_start().starts_with('#') || line.starts_with("sep=")
    };
    let comments: Vec<&str> = text.split_inclusive('\n').take_while(is_skipped).collect();
    if comments.iter().all(|line| line.trim().is_empty()) {
        return Cow::Borrowed(text);
    }
    let last = comments
        .iter()
        .rposition(|line| line.trim_start().starts_with('#'));
    let rest = &text[comments.iter().map(|line| line.len()).sum()..];
    let first = rest.lines().next().unwrap_or_default();
    let mut cells = first.split([',', ';', '\t']).map(str::trim);
    let is_of_numbers = cells.clone().count() > 1 && cells.all(|cell| cell.parse::<f64>().is_ok());
    let mut found = String::with_capacity(text.len());
    for (place, comment) in comments.iter().enumerate() {
        if last == Some(place) && is_of_numbers {
            found.push_str(comment.trim().trim_start_matches('#').trim());
        }
        found.push('\n');
    }
    found.push_str(rest);
    Cow::Owned(found)
}

/// The text with tabs between its cells, if these have spaces between them: a header, and as many numbers below it.
fn with_tabs(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let header = lines.next().unwrap_or_default();
    let count = header.split_whitespace().count();
    let has_others = header.contains([',', ';', '\t', '$']);
    let is_row = |line: &str| {
        let mut words = line.split_whitespace();
        words.clone().count() == count && words.all(|word| word.parse::<f64>().is_ok())
    };
    if count < 2 || has_others || is_row(header) || !lines.next().is_some_and(is_row) {
        return text;
    }
    let joined = |line: &str| line.split_whitespace().collect::<Vec<_>>().join("\t");
    Cow::Owned(text.lines().map(|line| joined(line) + "\n").collect())
}

/// Detects the format from the first lines.
fn detect(text: &str) -> Result<Format, String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines.next() else {
        return Err("it is empty; expected the lines of a recording".into());
    };
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let words: Vec<&str> = first.split_whitespace().collect();
    if first.trim_start().starts_with(['{', '[']) {
        return Err("it begins as JSON does; expected CSV with a header such as \"time_s,rate_mbps,delay_ms\"; in Python a trace may be a mapping of columns".into());
    }
    if text
        .lines()
        .take(10)
        .any(|line| line.contains("[ ID] Interval") && line.contains("Transfer"))
    {
        return Err("it is what iperf prints; expected CSV with a header such as \"time_s,rate_mbps\", and the seconds and the Mbits/sec of each line".into());
    }
    if first.contains('$') {
        return Ok(Format::LeoEm);
    }
    if let [one] = words[..] {
        if is_number(one) {
            let lines = text.trim().lines();
            let numbers: Vec<f64> = lines.map_while(|l| l.trim().parse().ok()).collect();
            let is_whole = numbers.iter().all(|n| n.fract() == 0.0);
            let ascends = numbers.windows(2).all(|pair| pair[0] <= pair[1]);
            if is_whole && ascends {
                return Ok(Format::Mahimahi);
            }
            let rises = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count();
            if ascends && rises >= MOST_RISES {
                let broken = numbers.iter().find(|n| n.fract() != 0.0);
                let broken = broken.copied().unwrap_or_default();
                return Err(format!("its numbers ascend, as times do and delays do not, and times of mahimahi are whole milliseconds, not {broken}; awk '{{ printf \"%.0f\\n\", 1000 * $1 }}' OLD > NEW makes them of seconds; format = \"leocc-delay\" (trace check: --format leocc-delay) reads delays in ms"));
            }
            return Ok(Format::LeoccDelay);
        }
    }
    if let [a, b] = words[..] {
        if is_number(a) && is_number(b) {
            return Ok(Format::Pensieve);
        }
    }
    if first.contains("DL_bitrate") && first.contains("Timestamp") {
        return Ok(Format::GNetTrack);
    }
    if first.contains([',', ';', '\t']) {
        return Ok(Format::Csv);
    }
    let hint = if words.len() > 1 {
        ", with \",\", \";\" or tabs between the cells"
    } else {
        ""
    };
    Err(format!(
        "line 1, \"{}\", is not of a known format; expected a header of columns such as \"time_s,rate_mbps,delay_ms\"{hint}, or a file of {}",
        short(first),
        Format::ALL.map(|one| one.0).join(", ")
    ))
}

/// Whether whole numbers descend, which is the only way to distinguish delays from the times of Mahimahi.
fn backwards(text: &str) -> Option<String> {
    let numbers: Option<Vec<u64>> = text.lines().map(|line| line.trim().parse().ok()).collect();
    let numbers = numbers?;
    let place = numbers.windows(2).position(|pair| pair[1] < pair[0])?;
    let (line, before, after) = (place + 2, numbers[place], numbers[place + 1]);
    Some(format!("read as delays (leocc-delay), because line {line} goes back from {before} to {after}; if these are times of mahimahi, sort them, and give the format if this is right"))
}

/// A text, shortened for a message.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

/// A note that throughputs were measured, which are not the rate of a link; `is` says for how sure that is.
fn goodput_remark(what: &str, is: &str) -> String {
    format!("{what} {is} the throughput of a transfer, at most the rate of the link: results then differ from the measurement")
}

/// The nearest name among others, for a message.
fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"))
}
