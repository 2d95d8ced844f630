//! Columns with names and units, from CSV files or from programs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord};
use midflight_units::nearest;

use super::beside::Beside;
use super::header::{is_date, is_time, Header, TimeColumns};
use super::quantity::{
    binary, cell_rank, is_round_trip, key_like, lacks_unit, meaning, with_unit, Meaning, Quantity,
    KEYS, MEASURED,
};
use super::rows::{Rows, ASCENDING};
use super::time::{self, Dates};
use super::{did_you_mean, goodput_remark, short, Format, Recording};

/// A column in use: its index, its meaning, and the factor of its numbers.
#[derive(Clone)]
pub(super) struct Column {
    place: usize,
    pub(super) name: String,
    pub(super) meaning: Meaning,
    pub(super) factor: f64,
    pub(super) has_unit: bool,
}

impl Column {
    /// Whether it has what each direction has.
    pub(super) fn is_of_way(&self) -> bool {
        matches!(
            self.meaning.of,
            Quantity::Rate | Quantity::Delay | Quantity::Loss
        )
    }

    /// The same for the uplink.
    pub(super) fn of_uplink(&self) -> Self {
        let mut column = self.clone();
        column.meaning.up = true;
        column
    }

    /// Takes times without a unit that are too large for seconds for those of another one, which it returns in words.
    fn since_1970(&mut self, first: Option<f64>) -> Option<String> {
        let (factor, unit) = time::unit_since_1970(first.filter(|_| !self.has_unit)?)?;
        self.factor = factor;
        Some(format!("\"{}\" has {unit} since 1970", self.name))
    }

    /// A remark on numbers without a unit that are taken for seconds, if most of them are far apart.
    fn long_steps(&self, times: &[i128]) -> Option<String> {
        let first = *times.first()?;
        let mut steps: Vec<i128> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable();
        let step = *steps.get(steps.len() / 2)? / 1_000_000_000;
        (!self.has_unit && step >= LONG_STEP_S && first < SINCE_1970).then(|| {
            let name = &self.name;
            format!("\"{name}\" has no unit and is read in seconds, so that its rows are {step} s apart; columns.time = \"{name} ms\" (trace check: --columns time=\"{name} ms\") reads it in ms")
        })
    }
}

/// Rows so many seconds apart are often so many milliseconds apart.
const LONG_STEP_S: i128 = 100;
/// Earlier times, in ns, are hardly since 1970.
const SINCE_1970: i128 = 100_000_000 * 1_000_000_000;
/// The latest time in seconds, in ns: seconds since 1970 in the year 5138. Times in ms are later.
const LATEST: i128 = 100_000_000_000 * 1_000_000_000;
/// Accepted column names, for messages.
const ACCEPTED: &str =
    "time_s, rate_mbps, delay_ms, loss (a share) or loss_%, with up_ before it for the uplink";

/// The factor of a column's unit, or an error text.
fn factor_of(name: &str, of: Quantity, unit: Option<&str>) -> Result<f64, String> {
    let found = match unit {
        Some(unit) => of.factor(unit),
        None => of.usual(),
    };
    found.ok_or_else(|| {
        let units = of.units();
        if let Some(unit) = unit {
            return format!("column \"{name}\" has the unit \"{unit}\"; expected {units}");
        }
        let (example, key) = (of.example(), key_like(name).unwrap_or("rate"));
        format!("column \"{name}\" has no unit; expected {units}, such as columns.{key} = \"{name} {example}\" (trace check: --columns {key}=\"{name} {example}\")")
    })
}

/// The columns in use, from the header and the user's assignments, and beside a rate the names of those that are not.
/// An error names every column whose unit is missing or not known.
fn columns(
    of: &Header<'_>,
    named: &BTreeMap<String, String>,
    found: &mut Recording,
) -> Result<(Vec<Column>, Vec<String>), String> {
    let header = of.names;
    let mut columns: Vec<Column> = Vec::new();
    let mut faults = Vec::new();
    // Of a column without a unit only the message matters.
    let mut factor = |name: &str, of: Quantity, unit: Option<&str>| {
        factor_of(name, of, unit).unwrap_or_else(|fault| {
            faults.push(fault);
            1.0
        })
    };
    for (key, text) in named {
        let Some((_, meaning)) = KEYS.iter().find(|known| known.0 == key) else {
            let known = KEYS.map(|known| known.0);
            let near = match key_like(key) {
                Some(like) => format!(" (did you mean \"{like}\"?)"),
                None => did_you_mean(key, known.into_iter()),
            };
            return Err(format!(
                "columns has \"{key}\"{near}; expected {}",
                known.join(", ")
            ));
        };
        let (place, unit) = place(header, text)?;
        let unit = unit.or_else(|| with_unit(&header[place]).1);
        let unit = unit.or_else(|| of.unit(place));
        let name = &header[place];
        if meaning.of == Quantity::Delay && is_round_trip(name) {
            found.remarks.push(format!("\"{name}\" is taken for one-way delays, but its name says round trips: columns = {{ rtt = \"{text}\" }} takes half"));
        }
        if meaning.of == Quantity::RoundTrip {
            found.has_round_trips = true;
            found.hints.push(format!("half of \"{name}\" is the delay of each direction; it includes the measurement's wired path and what its packets waited in queues"));
        }
        columns.push(Column {
            place,
            name: name.clone(),
            meaning: *meaning,
            factor: factor(name, meaning.of, unit.as_deref()),
            has_unit: unit.is_some(),
        });
    }
    let is_of = |columns: &[Column], of: Quantity| columns.iter().any(|one| one.meaning.of == of);
    if is_of(&columns, Quantity::RoundTrip) && is_of(&columns, Quantity::Delay) {
        return Err("columns has both a delay and rtt; expected one of them".into());
    }
    let (mut unused, mut measured) = (Vec::new(), Vec::new());
    let ranks = header.iter().enumerate();
    let ranks = ranks.filter_map(|(place, name)| Some((cell_rank(name)?, place)));
    let of_cells = ranks.min().map(|(_, place)| place);
    for (place, name) in header.iter().enumerate() {
        if columns.iter().any(|column| column.place == place) {
            continue;
        }
        let is_new = |of: &Meaning| {
            let is_delay = of.of == Quantity::Delay;
            columns.iter().all(|one| {
                one.meaning != *of && !(is_delay && one.meaning.of == Quantity::RoundTrip)
            })
        };
        if of.times.dates == Some(place) {
            continue;
        }
        if of.times.unnamed == Some(place) {
            let said = match name.as_str() {
                "" => format!(
                    "the times are those of column {}, which has no name",
                    place + 1
                ),
                name => format!("the times are those of \"{name}\""),
            };
            found.details.push(said);
            columns.push(Column {
                place,
                name: name.clone(),
                meaning: Meaning {
                    up: false,
                    of: Quantity::Time,
                },
                factor: 1e9,
                has_unit: false,
            });
            continue;
        }
        if is_date(name) && header.iter().any(|name| is_time(name)) {
            unused.push(name.as_str());
            continue;
        }
        match meaning(name) {
            Some((meaning, ..)) if meaning.of == Quantity::Cell && of_cells != Some(place) => {
                unused.push(name.as_str());
            }
            Some((meaning, plain, unit)) if is_new(&meaning) => {
                let unit = unit.or_else(|| of.unit(place));
                let factor = factor(name, meaning.of, unit.as_deref());
                let binary = unit.as_deref().and_then(binary);
                found.remarks.extend(binary.map(|binary| {
                    let key = key_like(name).unwrap_or("rate");
                    let unit = unit.as_deref().unwrap_or_default();
                    format!("\"{name}\" is read in multiples of 1000 bytes; {unit} of iperf are multiples of 1024, which columns.{key} = \"{name} {binary}\" (trace check: --columns {key}=\"{name} {binary}\") reads")
                }));
                if meaning.of == Quantity::Cell && !plain.contains("cell") {
                    let said = format!("changes of \"{name}\" are taken for handovers");
                    found.details.push(said);
                }
                if MEASURED.contains(&plain.as_str()) {
                    measured.push(format!("\"{name}\""));
                }
                if plain == "latency" {
                    found.remarks.push(format!("\"{name}\" is read as the one-way delay; the latency of a ping is a round trip, twice as much"));
                }
                columns.push(Column {
                    place,
                    name: name.clone(),
                    meaning,
                    factor,
                    has_unit: unit.is_some(),
                });
            }
            Some((meaning, ..)) if meaning.of == Quantity::Time => unused.push(name.as_str()),
            Some((meaning, ..)) if named.is_empty() => {
                let other = columns.iter().find(|column| column.meaning == meaning);
                let other = other.map_or("", |other| other.name.as_str());
                return Err(format!("columns \"{other}\" and \"{name}\" have the same quantity; expected one, or a choice by columns"));
            }
            _ => unused.push(name.as_str()),
        }
    }
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    if !measured.is_empty() {
        // "dl" and "speed" may also be what a modem says of the link.
        found
            .hints
            .push(goodput_remark(&measured.join(" and "), "may be"));
    }
    let has = |of: Quantity| is_of(&columns, of);
    let round_trip = unused.iter().copied().find(|name| is_round_trip(name));
    let round_trip = round_trip.filter(|_| !has(Quantity::Delay) && !has(Quantity::RoundTrip));
    let hint = round_trip.map(|name| of.hint(name));
    let said = round_trip.zip(hint.as_ref());
    let said = said.map(|(name, hint)| format!("not used: {name}; {hint}"));
    found.hints.extend(said);
    // The index that pandas writes has no name.
    unused.retain(|name| round_trip != Some(*name) && !name.is_empty());
    let unused: Vec<String> = unused.into_iter().map(str::to_owned).collect();
    if !unused.is_empty() && !has(Quantity::Rate) {
        let unused = not_used(&unused);
        let naming = of.rates_hint().unwrap_or_else(|| "if one of them is the rate, name it: --columns rate=\"NAME UNIT\", or columns.rate in a scenario".into());
        found.remarks.push(format!("{unused}; {naming}"));
    }
    if header.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        return Err(format!(
            "its first line, \"{}\", has numbers; expected the names of columns, {ACCEPTED}",
            short(&header.join(","))
        ));
    }
    if !has(Quantity::Time) {
        return Err(format!(
            "no column has times: {}; name the one that does: --columns time=\"NAME UNIT\", or columns.time in a scenario",
            header.join(", ")
        ));
    }
    let usable = [
        Quantity::Rate,
        Quantity::Delay,
        Quantity::Loss,
        Quantity::RoundTrip,
    ];
    if !usable.into_iter().any(has) {
        let without = header.iter().filter(|name| lacks_unit(name));
        let without = without.filter_map(|name| factor_of(name, Quantity::Rate, None).err());
        let hints: Vec<String> = without.chain(of.rates_hint()).chain(hint).collect();
        let naming =
            "name one that does: --columns rate=\"NAME UNIT\", or columns.rate in a scenario";
        return Err(match &hints[..] {
            [] => format!(
                "no column has a rate, a delay or a loss: {}; {naming}",
                header.join(", ")
            ),
            hints => format!(
                "no column has a rate, a delay or a loss: {}",
                hints.join("; ")
            ),
        });
    }
    let is_said = !has(Quantity::Rate);
    Ok((columns, if is_said { Vec::new() } else { unused }))
}

/// What is said of columns that are not used.
fn not_used(names: &[String]) -> String {
    format!("not used: {}", names.join(", "))
}

/// The index of a column that a user names, perhaps followed by a unit.
fn place(header: &[String], text: &str) -> Result<(usize, Option<String>), String> {
    let is = |name: &str| {
        header
            .iter()
            .position(|column| column.trim() == name.trim())
    };
    if let Some(place) = is(text) {
        return Ok((place, None));
    }
    if let Some((name, unit)) = text.trim().rsplit_once(' ') {
        if let Some(place) = is(name) {
            let unit = unit.trim_matches(['(', ')', '[', ']']);
            return Ok((place, Some(unit.into())));
        }
    }
    let near = |name: &str| {
        let known = || header.iter().map(|name| name.trim());
        let alike = known().find(|known| known.eq_ignore_ascii_case(name));
        alike.map(str::to_owned).or_else(|| nearest(name, known()))
    };
    // The unit is not a part of the name.
    let with_unit = || {
        let (name, unit) = text.trim().rsplit_once(' ')?;
        near(name).map(|name| format!("{name} {unit}"))
    };
    let near = near(text).or_else(with_unit);
    let near = near.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
    Err(format!(
        "there is no column \"{text}\"{near}; there are {}",
        header.join(", ")
    ))
}

/// The columns of G-NetTrack.
fn of_g_net_track(named: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let usual = [
        ("time", "Timestamp"),
        ("rate", "DL_bitrate kbit/s"),
        ("up_rate", "UL_bitrate kbit/s"),
    ];
    let usual = usual.map(|(key, column)| (key.to_string(), column.to_string()));
    let mut all = BTreeMap::from(usual);
    all.extend(named.clone());
    all
}

pub(super) fn read(
    text: &str,
    format: Format,
    named: &BTreeMap<String, String>,
    dates: Option<Dates>,
) -> Result<Recording, String> {
    let first = first_line(text);
    let delimiter = [b',', b';', b'\t'].into_iter().max_by_key(|delimiter| {
        (
            first.bytes().filter(|byte| byte == delimiter).count(),
            *delimiter == b',',
        )
    });
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| e.to_string())?;
    let header: Vec<String> = header.iter().map(String::from).collect();
    let mut record = StringRecord::new();
    let mut has_record = reader.read_record(&mut record).map_err(|e| e.to_string())?;
    let mut units = Vec::new();
    if has_record {
        units = units_of(&record);
        if !units.is_empty() {
            has_record = reader.read_record(&mut record).map_err(|e| e.to_string())?;
        }
    }
    let mut found = Recording::new(format);
    let mut named = Cow::Borrowed(named);
    if format == Format::GNetTrack {
        found
            .hints
            .push(goodput_remark("the bit rate of G-NetTrack", "is"));
        named = Cow::Owned(of_g_net_track(&named));
    }
    let of = Header {
        names: &header,
        units: &units,
        is_of_file: true,
        times: TimeColumns::of(&header, &record, &named),
    };
    let (mut columns, mut without_use) = columns(&of, &named, &mut found)?;
    let is_time = |column: &Column| column.meaning.of == Quantity::Time;
    let Some(clock) = columns.iter().position(is_time) else {
        return Err("no column has times".into());
    };
    let mut rows = Rows::of(columns.len());
    let is_used = |place: &usize| columns.iter().any(|column| column.place == *place);
    let unused = (0..header.len()).filter(|place| !is_used(place));
    let unused = unused.filter(|place| of.times.dates != Some(*place));
    let mut beside = Beside::of(&header, unused);
    let mut bytes: Vec<u64> = Vec::new();
    let (mut has_commas, mut is_number) = (false, false);
    while has_record {
        let byte = record.position().map_or(0, csv::Position::byte);
        let line = || line_at(text, byte);
        // What a spreadsheet leaves below its rows.
        if record.iter().all(str::is_empty) {
            has_record = reader.read_record(&mut record).map_err(|e| e.to_string())?;
            continue;
        }
        if record
            .iter()
            .skip(header.len())
            .any(|cell| !cell.is_empty())
        {
            let comma = if delimiter == Some(b',') {
                "; a decimal comma needs \";\" between the cells"
            } else {
                ""
            };
            return Err(format!(
                "line {} has {} cells, and the header {}; expected at most as many{comma}",
                line(),
                record.len(),
                header.len()
            ));
        }
        if let Some(lacks) = columns.iter().find(|one| one.place >= record.len()) {
            return Err(format!(
                "line {} has {} cells, and the header {}: \"{}\" is missing; expected as many, an empty one where there is no value",
                line(),
                record.len(),
                header.len(),
                lacks.name
            ));
        }
        let field = |column: &Column| record.get(column.place).unwrap_or_default();
        let mut number = |text| match with_point(text, delimiter) {
            Some(number) => {
                has_commas = true;
                Cow::Owned(number)
            }
            None => Cow::Borrowed(text),
        };
        if rows.times.is_empty() {
            let number = field(&columns[clock]).parse().ok();
            found.details.extend(columns[clock].since_1970(number));
            is_number = number.is_some();
        }
        let time = &columns[clock];
        let written = number(field(time));
        let written = match of.times.dates.and_then(|place| record.get(place)) {
            Some(date) => Cow::Owned(format!("{date} {written}")),
            None => written,
        };
        if is_missing(&written) {
            return Err(format!(
                "line {}: column \"{}\" has no value; expected a time in each row",
                line(),
                time.name
            ));
        }
        let Some(at) = time::read(&written, time.factor, dates, &rows.times) else {
            let (name, found) = (&time.name, short(&written));
            let line = line();
            if time::is_ambiguous(&written) {
                return Err(format!("line {line}: \"{found}\" in column \"{name}\" is of two days, by its order of day and month; expected dates = \"day-first\" or dates = \"month-first\" in the table of the trace (--dates day-first)"));
            }
            return Err(format!("line {line}: \"{found}\" in column \"{name}\" is not a time; expected a number, a date such as 2024-01-31T07:27:02 or 31.01.2024 07:27:02, or a time of day such as 07:27:02"));
        };
        if at > LATEST {
            if let Ok(number) = written.parse::<f64>() {
                let why = too_large(&time.name, &short(&written), number, time.factor);
                return Err(format!("line {}: {why}", line()));
            }
        }
        beside.add(&record, rows.times.last() == Some(&at), byte);
        bytes.push(byte);
        rows.times.push(at);
        for (column, values) in columns.iter().zip(&mut rows.values) {
            match column.meaning.of {
                Quantity::Time => {}
                Quantity::Cell => rows.cells.push(field(column).into()),
                of => values.push(
                    value(&number(field(column)), column, of)
                        .map_err(|why| format!("line {}: {why}", line()))?,
                ),
            }
        }
        has_record = reader.read_record(&mut record).map_err(|e| e.to_string())?;
    }
    if has_commas {
        found
            .details
            .push("the commas in its numbers are read as decimal points".into());
    }
    if is_number {
        found.remarks.extend(columns[clock].long_steps(&rows.times));
    }
    // Columns of the uplink have their direction in the header.
    let has_up = columns.iter().any(|column| column.meaning.up);
    let ways = beside.directions().filter(|_| !has_up);
    if let Some((name, _)) = ways {
        without_use.retain(|other| other != name);
        found.details.push(format!(
            "each row is of the direction that it has in \"{name}\""
        ));
    } else if let Some(why) = beside.several(|byte| line_at(text, byte)) {
        return Err(why);
    }
    let ups = ways.map(|(_, ups)| ups);
    let back = |row: usize| {
        let line = line_at(text, bytes[row]);
        let time = columns[clock].place;
        let written = record_at(text, bytes[row], delimiter);
        let cells = [of.times.dates, Some(time)].into_iter().flatten();
        let cells: Vec<&str> = cells.filter_map(|place| written.get(place)).collect();
        let written = short(&cells.join(" "));
        format!("line {line}: the time {written} is before that of the row above; {ASCENDING}")
    };
    rows.finish(&mut found, &columns, ups, back)?;
    if !without_use.is_empty() {
        found.details.push(not_used(&without_use));
    }
    Ok(found)
}

/// The number of the line of a record. Its position is that of the end of the row before, whose line ending and empty
/// lines may follow it.
fn line_at(text: &str, byte: u64) -> usize {
    let (before, after) = text.as_bytes().split_at(text.len().min(byte as usize));
    let ends = after
        .iter()
        .take_while(|byte| matches!(byte, b'\n' | b'\r'));
    let count = |bytes: &mut dyn Iterator<Item = &u8>| bytes.filter(|byte| **byte == b'\n').count();
    1 + count(&mut before.iter()) + count(&mut ends.into_iter())
}

/// What is wrong with a time of a column that is too large for its unit, which has this factor.
fn too_large(name: &str, written: &str, number: f64, factor: f64) -> String {
    let units = [(1e9, "seconds"), (1e6, "ms"), (1e3, "us")];
    let unit = units.iter().find(|unit| unit.0 == factor);
    let unit = unit.map_or("its unit", |unit| unit.1);
    let remedy = match time::unit_since_1970(number) {
        Some((_, unit)) => format!("columns.time = \"{name} {unit}\" (trace check: --columns time=\"{name} {unit}\") reads it in {unit}"),
        None => "expected a number, or a date with a time of day".into(),
    };
    format!("\"{written}\" in column \"{name}\" is too large for {unit}; {remedy}")
}

/// The record that begins at this byte; its position may be before the end of the row above.
fn record_at(text: &str, byte: u64, delimiter: Option<u8>) -> StringRecord {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(&text.as_bytes()[text.len().min(byte as usize)..]);
    let mut record = StringRecord::new();
    // It was read before.
    let is_read = reader.read_record(&mut record);
    is_read.map_or_else(|_| StringRecord::new(), |_| record)
}

/// The units in a second header row, `s,Mbit/s,ms`, without brackets; none if the row is none.
fn units_of(record: &StringRecord) -> Vec<String> {
    let quantities = [Quantity::Time, Quantity::Rate, Quantity::Loss];
    let is_unit = |cell: &&str| quantities.iter().any(|of| of.factor(cell).is_some());
    let cells = record
        .iter()
        .map(|cell| cell.trim_matches(['(', ')', '[', ']']));
    let has_value = |cell: &str| cell.chars().any(|c| c.is_ascii_digit());
    if record.iter().any(has_value) || !cells.clone().any(|cell| is_unit(&cell)) {
        return Vec::new();
    }
    let known = |cell: &str| Some(cell).filter(is_unit).unwrap_or_default().to_string();
    cells.map(known).collect()
}

/// The first line that is not empty.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines();
    lines
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

/// A number with a decimal comma, with a point in its place. Only where commas do not separate cells.
fn with_point(text: &str, delimiter: Option<u8>) -> Option<String> {
    let (whole, fraction) = text.split_once(',').filter(|_| delimiter != Some(b','))?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let is_number = is_digits(whole.trim_start_matches('-')) && is_digits(fraction);
    is_number.then(|| format!("{whole}.{fraction}"))
}

/// The value of a field; none if it is empty.
fn value(text: &str, column: &Column, of: Quantity) -> Result<Option<f64>, String> {
    if is_missing(text) {
        return Ok(None);
    }
    let (text, factor) = match text.strip_suffix('%').filter(|_| of == Quantity::Loss) {
        Some(percent) => (percent.trim_end(), 0.01),
        None => (text, column.factor),
    };
    let most = if of == Quantity::Loss { 1.0 } else { 1e15 };
    let number: Option<f64> = text.parse().ok();
    let number = number.map(|number| number * factor);
    match number.filter(|number| (0.0..=most).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(format!(
            "\"{}\" in column \"{}\" is not accepted; expected a number from 0{}",
            short(text),
            column.name,
            if of == Quantity::Loss {
                " to all packets, or nothing".into()
            } else if number.is_some_and(|number| number > most) {
                format!(" to {:e}, or nothing", most / column.factor)
            } else if number.is_some_and(|number| number < 0.0) {
                " up, or nothing, such as n/a, where there is no value".into()
            } else {
                " up, or nothing".into()
            },
        )),
    }
}

/// Whether a cell has no value, as spreadsheets, loggers and pandas write it.
pub(super) fn is_missing(text: &str) -> bool {
    let none = [
        "", "-", "--", "n/a", "na", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil",
    ];
    none.contains(&text.to_ascii_lowercase().as_str())
}

pub(super) fn of_numbers(
    given: &BTreeMap<String, Vec<f64>>,
    named: &BTreeMap<String, String>,
) -> Result<Recording, String> {
    let mut found = Recording::new(Format::Csv);
    let header: Vec<String> = given.keys().cloned().collect();
    let of = Header {
        names: &header,
        units: &[],
        is_of_file: false,
        times: TimeColumns::default(),
    };
    let (mut columns, unused) = columns(&of, named, &mut found)?;
    if !unused.is_empty() {
        found.details.push(not_used(&unused));
    }
    let lengths: Vec<usize> = given.values().map(Vec::len).collect();
    if let Some([a, b]) = lengths.windows(2).find(|pair| pair[0] != pair[1]) {
        return Err(format!(
            "its columns have {a} and {b} values; expected as many in each"
        ));
    }
    let all: Vec<&Vec<f64>> = given.values().collect();
    let mut rows = Rows::of(columns.len());
    for (column, values) in columns.iter_mut().zip(&mut rows.values) {
        if column.meaning.of == Quantity::Time {
            let first = all[column.place].first().copied();
            found.details.extend(column.since_1970(first));
        }
        for (row, number) in all[column.place].iter().enumerate() {
            let at = |why: String| format!("row {row}: {why}");
            match column.meaning.of {
                Quantity::Time => {
                    if !(number.is_finite() && (number * column.factor).abs() < LATEST as f64) {
                        return Err(at(format!(
                            "{number} in column \"{}\" is not a time; expected a number, or a date with a time of day",
                            column.name
                        )));
                    }
                    rows.times.push((number * column.factor).round() as i128);
                }
                Quantity::Cell if number.is_nan() => rows.cells.push(String::new()),
                Quantity::Cell => rows.cells.push(number.to_string()),
                _ if number.is_nan() => values.push(None),
                of => values.push(value(&number.to_string(), column, of).map_err(at)?),
            }
        }
    }
    let clock = columns.iter().find(|one| one.meaning.of == Quantity::Time);
    found
        .remarks
        .extend(clock.and_then(|clock| clock.long_steps(&rows.times)));
    let back = |row| format!("row {row} is before the one above it; {ASCENDING}");
    rows.finish(&mut found, &columns, None, back)?;
    Ok(found)
}
