//! Links that follow a recording: `trace` in a scenario.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use midflight_units::{Duration, Rate};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::plan::Problem;
use super::written::Written;
use crate::recording::{
    Between, Cut, Dates, Followed, Format, HoleKind, Model, OutageKind, Own, Recording, Way, MODELS,
};

/// Default length of a model's path.
const LENGTH: Duration = Duration::from_secs(600);

/// A link's trace: the path of a file, or a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TraceFile {
    /// The file, as a path from the scenario's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The file of the uplink, if the first one has only the downlink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<String>,
    /// A file of one-way delays for both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// Format of the first file and of the uplink's; by default recognised from their first lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The order of day and month in dates with slashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<Dates>,
    /// Columns of a file by quantity, or the values themselves by names with units.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, ColumnFile>,
    /// A model that draws the path, instead of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The seed of the model. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The length of the model's path. Default: ten minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Written<Duration>>,
    /// Settings of the model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Start of the part of the recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Written<Duration>>,
    /// End of the part of the recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Written<Duration>>,
    /// The offset in that part at which the run begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Written<Duration>>,
    /// Whether it repeats at its end, as a Mahimahi file does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<bool>,
    /// A factor for rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// How values between rows are interpolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<Between>,
    /// What happens to packets while the rate is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<OutageKind>,
    /// What times without rows are taken for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holes: Option<HoleKind>,
    /// Hash of the content of the files, which is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A column: its name in the file, or its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ColumnFile {
    /// A name, optionally followed by a unit.
    Name(String),
    /// One value for each row.
    Values(Vec<f64>),
}

impl<'de> Deserialize<'de> for ColumnFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Column;
        impl<'de> Visitor<'de> for Column {
            type Value = ColumnFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a column, or a list of numbers")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ColumnFile, E> {
                Ok(ColumnFile::Name(text.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<ColumnFile, A::Error> {
                let values = Vec::<Option<f64>>::deserialize(SeqAccessDeserializer::new(list))?;
                let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
                Ok(ColumnFile::Values(values.collect()))
            }
        }
        from.deserialize_any(Column)
    }
}

fn model_names() -> Vec<&'static str> {
    MODELS.iter().map(|model| model.name).collect()
}

/// The table as it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "TraceTable")]
struct Table {
    /// The file, as a path from the scenario's folder.
    file: Option<String>,
    /// The file of the uplink, where the first one has only the downlink.
    up: Option<String>,
    /// A file of one-way delays for both directions, 10 ms per line (LeoCC).
    delay: Option<String>,
    /// Format of the first file and of the uplink's; by default recognised from their first lines.
    format: Option<Format>,
    /// Order of day and month in dates with slashes, 03/04/2024. By default one of them must be above 12.
    dates: Option<Dates>,
    /// Columns of the file by what they have (time, rate, delay, loss, `up_rate`, `up_delay`, `up_loss`, cell, rtt), each the
    /// column's name with its unit behind it where the name has none; or, without a file, lists of values by names with units such as
    /// `time_s` and `rate_mbps`, beside which such keys may name lists.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    columns: BTreeMap<String, ColumnFile>,
    /// The name of a model that generates the trace, instead of a file (`midflight list models`).
    #[schemars(extend("examples" = model_names()))]
    model: Option<String>,
    /// The seed of the model. Default: 1.
    seed: Option<u64>,
    /// The length of the generated trace. Default: 600 s.
    length: Option<Written<Duration>>,
    /// Settings of the model, as texts with units.
    #[serde(default)]
    set: BTreeMap<String, String>,
    /// The part of the recording from here on.
    from: Option<Written<Duration>>,
    /// The part of the recording up to here. Default: its end.
    until: Option<Written<Duration>>,
    /// Where in that part the run begins.
    offset: Option<Written<Duration>>,
    /// Whether it starts again at its end, as a Mahimahi file does; otherwise its last values stay.
    repeat: Option<bool>,
    /// A factor for rates.
    scale: Option<f64>,
    /// The values between two rows: those of the first (step), or interpolated (linear).
    interpolation: Option<Between>,
    /// Packets while the rate is zero: they wait (hold), or are lost (drop).
    outage: Option<OutageKind>,
    /// Times without rows, over five usual steps: the values before them hold (hold), or they are outages (outage).
    holes: Option<HoleKind>,
    /// Hash of the files' content; written by midflight.
    hash: Option<String>,
}

impl<'de> Deserialize<'de> for TraceFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Trace;
        impl<'de> Visitor<'de> for Trace {
            type Value = TraceFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the path of a file such as \"drive.csv\", or a table such as { file = \"drive.csv\", repeat = true }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TraceFile, E> {
                Ok(TraceFile {
                    file: Some(text.into()),
                    ..TraceFile::default()
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TraceFile, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(TraceFile {
                    file: table.file,
                    up: table.up,
                    delay: table.delay,
                    format: table.format,
                    dates: table.dates,
                    columns: table.columns,
                    model: table.model,
                    seed: table.seed,
                    length: table.length,
                    set: table.set,
                    from: table.from,
                    until: table.until,
                    offset: table.offset,
                    repeat: table.repeat,
                    scale: table.scale,
                    interpolation: table.interpolation,
                    outage: table.outage,
                    holes: table.holes,
                    hash: table.hash,
                })
            }
        }
        from.deserialize_any(Trace)
    }
}

impl JsonSchema for TraceFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Trace".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Table>();
        json_schema!({
            "description": "A recording that a link follows: the path of a file, or a table.",
            "anyOf": [{ "type": "string", "examples": ["drive.csv"] }, table],
        })
    }
}

/// A value computed from files before.
pub type Kept = Arc<dyn Any + Send + Sync>;

/// The reader of the files that a scenario names; this crate does no I/O.
pub trait Files {
    /// The full path of a file that a scenario names, and a text that changes when the file changes.
    ///
    /// # Errors
    /// A sentence that names the missing file.
    fn find(&self, name: &str) -> Result<(String, String), String>;

    /// The text of a file by its full path.
    ///
    /// # Errors
    /// A sentence that names the unreadable file.
    fn text(&self, path: &str) -> Result<String, String>;

    /// The value kept under a key, if it is still present.
    fn kept(&self, key: &str) -> Option<Kept>;

    /// Keeps a value under a key for some time.
    fn keep(&self, key: &str, made: Kept);
}

/// A reader without files.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn find(&self, name: &str) -> Result<(String, String), String> {
        Err(format!(
            "\"{name}\" cannot be read from here; expected columns"
        ))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        Err(format!(
            "\"{path}\" cannot be read from here; expected columns"
        ))
    }

    fn kept(&self, _key: &str) -> Option<Kept> {
        None
    }

    fn keep(&self, _key: &str, _made: Kept) {}
}

/// A file's recording, and the hash of its content.
struct Loaded {
    recording: Recording,
    hash: blake3::Hash,
}

/// What the files of a trace have, its lists or its model.
struct Sources {
    recording: Recording,
    /// That of the uplink.
    up: Option<Arc<Loaded>>,
    /// The delays of both directions.
    delay: Option<Arc<Loaded>>,
    /// Of files, the hash of their content.
    hash: Option<String>,
}

impl Sources {
    fn of(recording: Recording) -> Self {
        Self {
            recording,
            up: None,
            delay: None,
            hash: None,
        }
    }
}

/// What a user of one Mahimahi file should know.
const SHARED_OPPORTUNITIES: &str = "its opportunities are those of the uplink, too, so that ACKs wait for them; a pair of files has an uplink of its own: up = \"FILE\"; and up.rate of the link gives it a constant rate";

fn wrong(key: &str, why: String) -> Problem {
    Problem {
        key: key.into(),
        why,
    }
}

/// Both directions of a link that follows a recording; none for a direction that it does not have.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub(super) down: Option<Followed>,
    pub(super) up: Option<Followed>,
    /// Full paths, and the hash of the files' content.
    pub(super) files: [Option<String>; 3],
    pub(super) hash: Option<String>,
    pub(super) remarks: Vec<String>,
    /// The time from which the last values hold, if they do.
    pub(super) ends: Option<Duration>,
    /// The usual time between its values.
    pub(super) step: Duration,
    /// Its delays are halves of measured round trips.
    pub(super) has_round_trips: bool,
}

/// The link's own values, without its trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwnWays {
    /// Its rates, if it has any.
    pub(super) down: Option<Rate>,
    pub(super) up: Option<Rate>,
    /// Whether the uplink's delay is given.
    pub(super) up_delay: bool,
}

fn loaded(
    files: &dyn Files,
    (path, stamp): &(String, String),
    format: Option<Format>,
    columns: &BTreeMap<String, String>,
    dates: Option<Dates>,
) -> Result<Arc<Loaded>, String> {
    let key = format!("recording {stamp} {format:?} {columns:?} {dates:?}");
    let kept = files
        .kept(&key)
        .and_then(|kept| kept.downcast::<Loaded>().ok());
    if let Some(kept) = kept {
        return Ok(kept);
    }
    let text = files.text(path)?;
    let recording = Recording::read(&text, format, columns, dates);
    let recording = recording.map_err(|why| format!("\"{path}\" cannot be read: {why}"))?;
    let hash = blake3::hash(text.as_bytes());
    let made = Arc::new(Loaded { recording, hash });
    files.keep(&key, made.clone());
    Ok(made)
}

impl TraceFile {
    /// The part of a recording of a format that a link with these options follows, and how.
    ///
    /// # Errors
    /// A sentence that names the option that is not accepted.
    pub fn part(&self, format: Format) -> Result<Cut, String> {
        let found = self.cut(format);
        found.map_err(|problem| format!("{}: {}", problem.key, problem.why))
    }

    /// The part of a recording and how it is used.
    fn cut(&self, format: Format) -> Result<Cut, Problem> {
        let time = |of: &Option<Written<Duration>>| of.as_ref().map(|written| written.value);
        let scale = self.scale.unwrap_or(1.0);
        if !(1e-6..=1e6).contains(&scale) {
            return Err(Problem {
                key: "scale".into(),
                why: format!("{scale} is out of range; expected 0.000001 to 1000000"),
            });
        }
        Ok(Cut {
            from: time(&self.from).unwrap_or(Duration::ZERO),
            until: time(&self.until),
            offset: time(&self.offset).unwrap_or(Duration::ZERO),
            // As in mm-link and LeoCC's replayer.
            repeats: self
                .repeat
                .unwrap_or(matches!(format, Format::Mahimahi | Format::LeoccDelay)),
            scale,
            between: self.interpolation.unwrap_or_default(),
            outage: self.outage,
            holes: self.holes.unwrap_or_default(),
        })
    }

    /// Reads the recording.
    pub(super) fn read(&self, files: &dyn Files, own: OwnWays) -> Result<Traced, Problem> {
        let has_file = self.file.is_some();
        if self.model.is_some() {
            return self.follow(&Sources::of(self.drawn()?), own);
        }
        for (key, is_given) in [
            ("seed", self.seed.is_some()),
            ("length", self.length.is_some()),
            ("set", !self.set.is_empty()),
        ] {
            if is_given {
                return Err(wrong(
                    key,
                    "this is an option of models, and there is not a model; expected model".into(),
                ));
            }
        }
        let is_name = |column: &ColumnFile| matches!(column, ColumnFile::Name(_));
        if has_file != self.columns.values().all(is_name) {
            let why = "expected a file, and columns that are names in it, or columns that are lists of values, or a model";
            return Err(wrong("", why.into()));
        }
        for (key, is_given) in [
            ("format", self.format.is_some()),
            ("dates", self.dates.is_some()),
        ] {
            if !has_file && is_given {
                return Err(wrong(key, format!("{key} without a file; expected a file")));
            }
        }
        let found = self.find(files)?;
        let stamps = found.iter().flatten().map(|file| file.1.as_str());
        let stamps: Vec<&str> = stamps.collect();
        let bare = Self {
            hash: None,
            ..self.clone()
        };
        let key = has_file.then(|| format!("traced {stamps:?} {bare:?} {own:?}"));
        let kept = key.as_ref().and_then(|key| files.kept(key));
        if let Some(kept) = kept.and_then(|kept| kept.downcast::<Traced>().ok()) {
            self.check_hash(&kept)?;
            return Ok(Traced::clone(&kept));
        }
        let sources = self.load(files, &found)?;
        let mut traced = self.follow(&sources, own)?;
        traced.files = found.map(|file| file.map(|file| file.0));
        traced.hash = sources.hash;
        self.check_hash(&traced)?;
        if let Some(key) = key {
            files.keep(&key, Arc::new(traced.clone()));
        }
        Ok(traced)
    }

    /// Finds its files: the recording, that of the uplink, and the delays.
    fn find(&self, files: &dyn Files) -> Result<[Option<(String, String)>; 3], Problem> {
        let find = |key: &str, name: &Option<String>| match name {
            None => Ok(None),
            Some(name) => files.find(name).map(Some).map_err(|why| wrong(key, why)),
        };
        Ok([
            find("file", &self.file)?,
            find("up", &self.up)?,
            find("delay", &self.delay)?,
        ])
    }

    /// Reads these files, or the lists of values.
    fn load(
        &self,
        files: &dyn Files,
        found: &[Option<(String, String)>; 3],
    ) -> Result<Sources, Problem> {
        let (names, values) = self.names_and_values();
        let load = |place: usize, key: &str, format, names: &BTreeMap<String, String>| {
            let dates = self.dates.filter(|_| key != "delay");
            let loaded = found[place]
                .as_ref()
                .map(|file| loaded(files, file, format, names, dates));
            loaded.transpose().map_err(|why| wrong(key, why))
        };
        let first = load(0, "file", self.format, &names)?;
        let up = load(1, "up", self.format, &names)?;
        let delay = load(2, "delay", Some(Format::LeoccDelay), &BTreeMap::new())?;
        let recording = match &first {
            Some(first) => first.recording.clone(),
            None => Recording::of_columns(&values, &names).map_err(|why| wrong("columns", why))?,
        };
        let hash = first.as_ref().map(|_| {
            let mut hasher = blake3::Hasher::new();
            for of in [&first, &up, &delay].into_iter().flatten() {
                hasher.update(of.hash.as_bytes());
            }
            hasher.finalize().to_hex().to_string()
        });
        Ok(Sources {
            recording,
            up,
            delay,
            hash,
        })
    }

    /// Its columns: names in a file, and lists of values.
    fn names_and_values(&self) -> (BTreeMap<String, String>, BTreeMap<String, Vec<f64>>) {
        let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
        for (key, column) in &self.columns {
            match column {
                ColumnFile::Name(name) => {
                    names.insert(key.clone(), name.clone());
                }
                ColumnFile::Values(list) => {
                    values.insert(key.clone(), list.clone());
                }
            }
        }
        (names, values)
    }

    /// The part of its recording that a link follows, and of that of the uplink, if it has a file of its own. Both
    /// begin when the run does.
    ///
    /// # Errors
    /// The [`Problem`] of a file or of an option.
    pub fn recordings(&self, files: &dyn Files) -> Result<(Recording, Option<Recording>), Problem> {
        let sources = match self.model {
            Some(_) => Sources::of(self.drawn()?),
            None => self.load(files, &self.find(files)?)?,
        };
        let part = |of: &Recording| {
            let part = of.part(&self.cut(of.format)?);
            part.map_err(|why| wrong("", why))
        };
        let mut recording = part(&sources.recording)?;
        if let Some(delay) = &sources.delay {
            recording.set_delays(part(&delay.recording)?.down.delay);
        }
        let mut up = sources.up.map(|up| part(&up.recording)).transpose()?;
        if let Some(outage) = self.outage {
            for of in [Some(&mut recording), up.as_mut()].into_iter().flatten() {
                of.drops = outage == OutageKind::Drop;
            }
        }
        Ok((recording, up))
    }

    /// The recording drawn by a model.
    fn drawn(&self) -> Result<Recording, Problem> {
        let of_files = [&self.file, &self.up, &self.delay, &self.hash];
        if of_files.iter().any(|of| of.is_some())
            || !self.columns.is_empty()
            || self.format.is_some()
            || self.dates.is_some()
        {
            let why = "a model draws the path; expected no file, format, dates, columns or hash beside it";
            return Err(wrong("", why.into()));
        }
        let model = self.model.as_deref().unwrap_or_default();
        let model = Model::named(model).map_err(|why| wrong("model", why))?;
        let length = self.length.as_ref().map_or(LENGTH, |of| of.value);
        let drawn = model.draw(self.seed.unwrap_or(1), length, &self.set);
        let mut recording = drawn.map_err(|refused| wrong(refused.key, refused.why))?;
        // Otherwise each run would repeat them.
        recording.remarks.clear();
        recording.hints.clear();
        Ok(recording)
    }

    /// The schedules of both directions.
    fn follow(&self, sources: &Sources, own: OwnWays) -> Result<Traced, Problem> {
        let wrong = |why: String| wrong("", why);
        let mut recording = sources.recording.clone();
        let up_file = sources.up.as_ref().map(|up| &up.recording);
        let mut remarks = recording.remarks.clone();
        let mut up = match up_file {
            Some(file) => {
                remarks.extend(file.remarks.iter().cloned());
                file.down.clone()
            }
            None => recording.up.clone(),
        };
        if let Some(delays) = &sources.delay {
            let delays = &delays.recording.down.delay;
            recording.down.delay.clone_from(delays);
            up.delay.clone_from(delays);
        }
        let down = &recording.down;
        if up.rate.is_empty() && up.opportunities.is_empty() && own.up.is_none() {
            up.rate.clone_from(&down.rate);
            up.opportunities.clone_from(&down.opportunities);
            if !up.opportunities.is_empty() {
                remarks.push(SHARED_OPPORTUNITIES.into());
            }
        }
        if up.delay.is_empty() && !own.up_delay {
            up.delay.clone_from(&down.delay);
        }
        let cut = self.cut(recording.format)?;
        let checked = recording.check(&cut);
        checked.map_err(|refused| self::wrong(refused.key, refused.why))?;
        let rows = [Some(&recording), up_file].into_iter().flatten();
        let rows: Result<Vec<_>, _> = rows.map(|of| of.remarks_of_part(&cut)).collect();
        for remark in rows.map_err(wrong)?.concat() {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks.extend(self.hints(&recording, up_file));
        let span_of = |way: &Way, file: Option<&Recording>| {
            let uses_file = file.is_some() && !way.opportunities.is_empty();
            file.filter(|_| uses_file)
                .map_or(recording.span, |file| file.span)
        };
        // Of two Mahimahi files each repeats at its own end.
        let up_recording = Recording {
            span: span_of(&up, up_file),
            holes: up_file.unwrap_or(&recording).holes.clone(),
            up,
            ..recording.clone()
        };
        let own_down = Own { rate: own.down };
        let own_up = Own {
            rate: own.up.or(own.down),
        };
        let end = cut.until.unwrap_or(recording.span);
        let held = end.saturating_sub(cut.from).saturating_sub(cut.offset);
        Ok(Traced {
            down: recording.follow(false, &cut, own_down).map_err(wrong)?,
            up: up_recording.follow(true, &cut, own_up).map_err(wrong)?,
            files: [None, None, None],
            hash: None,
            remarks,
            ends: (!cut.repeats).then_some(held),
            step: recording.step(),
            has_round_trips: recording.has_round_trips,
        })
    }

    /// The hints on its recordings; of several in files only where they are.
    fn hints(&self, recording: &Recording, up: Option<&Recording>) -> Vec<String> {
        let mut hints = recording.hints.clone();
        hints.extend(up.iter().flat_map(|up| up.hints.clone()));
        hints.dedup();
        let Some(file) = self.file.as_ref().filter(|_| hints.len() > 1) else {
            return hints;
        };
        let quoted = |name: &str| {
            if name.contains(char::is_whitespace) {
                format!("\"{name}\"")
            } else {
                name.to_owned()
            }
        };
        let up = self.up.as_ref().filter(|_| up.is_some());
        let up = up.map_or_else(String::new, |up| format!(" --up {}", quoted(up)));
        let (count, file) = (hints.len(), quoted(file));
        vec![format!(
            "midflight trace check {file}{up} has {count} more notes on it"
        )]
    }

    /// Checks a given hash against that of the files.
    fn check_hash(&self, traced: &Traced) -> Result<(), Problem> {
        match (&self.hash, &traced.hash) {
            (Some(written), Some(found)) if written != found => Err(Problem {
                key: "file".into(),
                why: "the file has changed since its hash was written; expected the same file, or no hash".into(),
            }),
            (Some(_), None) => Err(Problem {
                key: "hash".into(),
                why: "a hash without a file; expected a file".into(),
            }),
            _ => Ok(()),
        }
    }
}
