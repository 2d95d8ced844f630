//! Reads a scenario from a text: TOML or JSON, with overrides.
//!
//! Everything becomes one tree of JSON values first, so that an override is handled like a value
//! from the file, and an error names the path to it and its place in the input.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use midflight_control::policy::ForeignPolicy;
use schemars::{schema_for, Schema};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use toml::de::{DeTable, DeValue};

use super::file::ScenarioFile;
use super::plan::{Plan, Problem};
use super::trace::{Files, NoFiles};
use crate::error::{nearest, StudyError};
use crate::scheme::is_knob;

/// The origin of a scenario's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// A TOML file with this name.
    Toml(&'a str),
    /// JSON from a program.
    Json,
}

/// Maximum length of an override's path, in parts.
const MOST_PARTS: usize = 16;

/// Reads a scenario, with overrides by path (`links.lte.rate` and a text that is a TOML value, or otherwise a
/// string), and checks it. Schemes may name the foreign `policies`.
///
/// # Errors
/// [`StudyError::Scenario`] names file and line or the override, the key, what was read and what is accepted.
pub fn read_scenario(
    text: &str,
    origin: Origin<'_>,
    sets: &[(String, String)],
    policies: &[Arc<dyn ForeignPolicy>],
) -> Result<Plan, StudyError> {
    Document::parse(text, origin)?.plan(sets, policies, &NoFiles)
}

/// The parsed text of a scenario. Its plans differ in their overrides: a sweep parses its scenario once, not
/// once per cell.
#[derive(Clone, Debug)]
pub struct Document {
    tree: Json,
    /// Name and text of a TOML file, for line numbers in errors.
    toml: Option<(String, String)>,
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    /// [`StudyError::Scenario`] for a text that is not TOML or JSON.
    pub fn parse(text: &str, origin: Origin<'_>) -> Result<Self, StudyError> {
        let tree = match origin {
            Origin::Toml(name) => parse_toml(text, name)?,
            Origin::Json => parse_json(text)?,
        };
        let toml = match origin {
            Origin::Toml(name) => Some((name.into(), text.into())),
            Origin::Json => None,
        };
        Ok(Self { tree, toml })
    }

    /// The paths that a path stands for: `*` in it is each entry of a table or list.
    pub fn paths(&self, written: &str) -> Vec<String> {
        each_path(&self.tree, written)
    }

    /// Its plan, with overrides by path; recordings may be `files`.
    ///
    /// # Errors
    /// As [`read_scenario`]; also for errors of files.
    pub fn plan(
        &self,
        sets: &[(String, String)],
        policies: &[Arc<dyn ForeignPolicy>],
        files: &dyn Files,
    ) -> Result<Plan, StudyError> {
        let complain = |problem: Problem, tree: &Json, sets: &[Override<'_>]| {
            let Problem { key, why } = problem;
            let place = self.place(sets, &key);
            let value = read_at(tree, &key);
            StudyError::Scenario {
                place,
                key,
                value,
                why,
            }
        };
        // A large scenario without overrides is not copied.
        let mut tree = Cow::Borrowed(&self.tree);
        let mut given = BTreeMap::new();
        let mut made = Vec::new();
        for (written, value) in sets {
            let paths = each_path(&tree, written);
            if paths.is_empty() {
                let key = written.clone();
                let why = "* stands for each entry of a table or list, and there is none; expected for example flows.*.scheme".into();
                let path = written.clone();
                let one = Override {
                    path,
                    written,
                    value,
                };
                return Err(complain(Problem { key, why }, &tree, &[one]));
            }
            for path in paths {
                let found = set(tree.to_mut(), &path, written, value, &mut given);
                made.push(Override {
                    path,
                    written,
                    value,
                });
                found.map_err(|problem| complain(problem, &tree, &made))?;
            }
        }
        let mut path = serde_path_to_error::Track::new();
        let tracked = serde_path_to_error::Deserializer::new(&*tree, &mut path);
        let read: Result<ScenarioFile, serde_json::Error> = Deserialize::deserialize(tracked);
        let file = read.map_err(|error| {
            // A position in a list in the notation of paths: handoffs.0.at.
            let key = path.path().to_string().replace('[', ".").replace(']', "");
            let mut why = in_words(&with_names(&tree, &key, &error.to_string()));
            let key = if key == "." {
                "the scenario".into()
            } else {
                key
            };
            if let Some(place) = knob_place(&key, &error.to_string()) {
                why = format!("it is a setting of senders; {place} is accepted");
            }
            if why == TABLE_NOT_LIST {
                why = format!(
                    "[{key}] is one table; expected a list of tables, each with the head [[{key}]]"
                );
            }
            if let Some(there) = self.missing_entry(&key) {
                why = format!("{why}; {there}");
            }
            complain(Problem { key, why }, &tree, &made)
        })?;
        let is_set = |is: &dyn Fn(&str) -> bool| made.iter().any(|one| is(&one.path));
        let has_new_trace = is_set(&|path| path.starts_with("links.") && path.contains(".trace"));
        let has_own_end =
            is_set(&|path| path == "end") || (self.tree.get("end").is_some() && !has_new_trace);
        Plan::new(file, policies, files, has_own_end).map_err(|mut problem| {
            if let Some(there) = self.missing_entry(&problem.key) {
                problem.why = format!("{}; {there}", problem.why);
            }
            complain(problem, &tree, &made)
        })
    }

    /// The entries of a list or table in the text, if the path is that of another one, which was set.
    fn missing_entry(&self, key: &str) -> Option<String> {
        let (list, entry) = key.split_once('.')?;
        if let ("links" | "flows", Some(Json::Object(entries))) = (list, self.tree.get(list)) {
            let name = entry.split('.').next().unwrap_or_default();
            let mut there: Vec<String> =
                entries.keys().map(|one| format!("{list}.{one}")).collect();
            there.sort_unstable();
            let there = there.join(", ");
            return (!entries.contains_key(name))
                .then(|| format!("the scenario has {there}, and this adds one"));
        }
        let entry: usize = entry.parse().ok()?;
        let count = match self.tree.get(list) {
            Some(Json::Array(entries)) => entries.len(),
            _ => 0,
        };
        let there = match count {
            0 => format!("no {list}"),
            1 => format!("{list}.0 alone"),
            _ => format!("{list}.0 to {list}.{}", count - 1),
        };
        (entry >= count).then(|| format!("the scenario has {there}, and this adds one"))
    }

    /// The origin of the value at a path: an override, or a line of a file.
    fn place(&self, sets: &[Override<'_>], key: &str) -> String {
        let is_at =
            |path: &str| key == path || key.strip_prefix(path).is_some_and(|k| k.starts_with('.'));
        let made_it = |path: &str| {
            let below = path.strip_prefix(key).is_some_and(|k| k.starts_with('.'));
            below && self.missing_entry(key).is_some()
        };
        let of_key = |one: &&Override<'_>| is_at(&one.path) || made_it(&one.path);
        if let Some(one) = sets.iter().rev().find(of_key) {
            return format!("--set {}={}: ", one.written, one.value);
        }
        let Some((name, text)) = &self.toml else {
            return String::new();
        };
        match line_at(text, key) {
            Some(line) => format!("{name}:{line}: "),
            None => format!("{name}: "),
        }
    }
}

/// A value that replaces one of the scenario.
struct Override<'a> {
    path: String,
    /// The path as it was written, in which `*` may stand for entries.
    written: &'a str,
    value: &'a str,
}

/// The paths that a path stands for: `*` in it is each entry of a table or list.
fn each_path(tree: &Json, written: &str) -> Vec<String> {
    if !written.contains('*') {
        return vec![written.into()];
    }
    if written.starts_with('*') {
        // The keys of a scenario have nothing in common.
        return Vec::new();
    }
    let mut found: Vec<(String, Option<&Json>)> = vec![(String::new(), Some(tree))];
    for part in written.split('.') {
        let mut next = Vec::new();
        for (path, at) in found {
            let names: Vec<String> = match (part, at) {
                ("*", Some(Json::Object(table))) => table.keys().cloned().collect(),
                ("*", Some(Json::Array(list))) => (0..list.len()).map(|n| n.to_string()).collect(),
                ("*", _) => Vec::new(),
                _ => vec![part.into()],
            };
            for name in names {
                let below = at.and_then(|at| match at {
                    Json::Array(list) => list.get(name.parse::<usize>().ok()?),
                    at => at.get(&name),
                });
                let dot = if path.is_empty() { "" } else { "." };
                next.push((format!("{path}{dot}{name}"), below));
            }
        }
        found = next;
    }
    found.into_iter().map(|(path, _)| path).collect()
}

/// The value at a path as text; none for a table or a list, or if it is missing.
fn read_at(tree: &Json, path: &str) -> Option<String> {
    let mut at = tree;
    for part in path.split('.') {
        at = match (at, part.parse::<usize>()) {
            (Json::Array(list), Ok(entry)) => list.get(entry)?,
            (at, _) => at.get(part)?,
        };
    }
    match at {
        Json::String(text) => Some(text.clone()),
        Json::Bool(_) | Json::Number(_) => Some(at.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// The error of a value that is no name where one of several is expected, with these names: serde lists them only for
/// another name.
fn with_names(tree: &Json, path: &str, message: &str) -> String {
    let named = || {
        let mut tree = tree.clone();
        let mut at = &mut tree;
        for part in path.split('.') {
            at = match (at, part.parse::<usize>()) {
                (Json::Array(list), Ok(entry)) => list.get_mut(entry)?,
                (at, _) => at.get_mut(part)?,
            };
        }
        *at = Json::String(at.to_string());
        let read: Result<ScenarioFile, serde_json::Error> = Deserialize::deserialize(&tree);
        let message = read.err()?.to_string();
        message.starts_with("unknown variant").then_some(message)
    };
    let is_name = message.ends_with("expected string or map");
    let message = || message.to_string();
    is_name.then(named).flatten().unwrap_or_else(message)
}

/// The JSON Schema of a scenario file.
pub fn scenario_schema() -> Schema {
    schema_for!(ScenarioFile)
}

fn unreadable(place: String, why: impl Into<String>) -> StudyError {
    StudyError::Scenario {
        place,
        key: "syntax".into(),
        value: None,
        why: why.into(),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|&&byte| byte == b'\n').count()
}

fn parse_toml(text: &str, name: &str) -> Result<Json, StudyError> {
    let refuse = |error: &toml::de::Error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        unreadable(format!("{name}:{line}: "), error.message())
    };
    toml::from_str::<Json>(text).map_err(|e| refuse(&e))
}

fn parse_json(text: &str) -> Result<Json, StudyError> {
    serde_json::from_str(text).map_err(|e| unreadable(String::new(), e.to_string()))
}

/// Parses an override: a TOML value, or the text itself.
fn value(text: &str) -> Json {
    let as_toml = toml::from_str::<Json>(&format!("v = {text}"));
    let value = as_toml
        .ok()
        .and_then(|mut table| table.get_mut("v").map(Json::take));
    match value {
        // serde represents a date as an object, and no key here is a date.
        None | Some(Json::Object(_)) if !text.trim_start().starts_with('{') => {
            Json::String(text.into())
        }
        Some(value) => value,
        None => Json::String(text.into()),
    }
}

/// Sets the value at a path. `given` has the earlier overrides as they were written, by the parts of their paths:
/// of two values for one key neither may win silently.
fn set<'a>(
    tree: &mut Json,
    path: &str,
    written: &'a str,
    text: &str,
    given: &mut BTreeMap<Vec<String>, &'a str>,
) -> Result<(), Problem> {
    let refuse = |why: String| {
        Err(Problem {
            key: path.into(),
            why,
        })
    };
    let parts: Vec<&str> = path.split('.').collect();
    if parts.len() > MOST_PARTS || parts.iter().any(|part| part.is_empty()) {
        return refuse("this is not a path to a value; write for example links.lte.rate".into());
    }
    if let [list @ ("flows" | "links"), name, _, ..] = parts[..] {
        let known = tree.get(list).and_then(Json::as_object);
        let known = known.filter(|known| !known.contains_key(name));
        let near = known.and_then(|k| nearest(name, k.keys().map(String::as_str)));
        if let Some(near) = near {
            let what = list.trim_end_matches('s');
            return refuse(format!("there is no {what} \"{name}\" (did you mean \"{near}\"?); expected an existing name, or a new one that is not similar to it"));
        }
    }
    let mut at = tree;
    let mut place: Vec<String> = Vec::new();
    // An earlier override contains this value.
    let mut within = None;
    let mut is_there = true;
    for (i, part) in parts.iter().enumerate() {
        // A missing value becomes a list if the next part of the path is the number of its first entry.
        let missing = || match parts.get(i + 1) {
            Some(&"0") => Json::Array(Vec::new()),
            _ => Json::Object(Map::new()),
        };
        if !(at.is_array() || at.is_object()) {
            // A trace that is the path of a file becomes a table with that file.
            let file = at.as_str().filter(|_| i > 0 && parts[i - 1] == "trace");
            let file = file.map(|file| ("file".to_string(), Json::from(file)));
            *at = Json::Object(file.into_iter().collect());
        }
        if i > 0 && parts[i - 1] == "trace" && ["file", "up", "delay"].contains(part) {
            // The hash belonged to another file.
            if let Json::Object(table) = at {
                table.remove("hash");
            }
        }
        at = match at {
            Json::Array(list) => {
                let length = list.len();
                match part.parse::<usize>() {
                    Ok(entry) if entry <= length => {
                        place.push(entry.to_string());
                        if entry == length {
                            is_there = false;
                            list.push(missing());
                        }
                        &mut list[entry]
                    }
                    _ => return refuse(format!("\"{part}\" is not the number of an entry; expected 0 to {length}, where {length} adds an entry")),
                }
            }
            Json::Object(table) => {
                place.push((*part).into());
                is_there &= table.contains_key(*part);
                table.entry(*part).or_insert_with(missing)
            }
            _ => return refuse("this is not a path to a value".into()),
        };
        within = within.or_else(|| given.get(&place));
    }
    // An earlier override above this path, or else the first one below it.
    let below = given.range(place.clone()..).next();
    let below = below.filter(|(other, _)| other.starts_with(&place));
    let above = within.filter(|_| is_there);
    if let Some(&other) = above.or(below.map(|(_, other)| other)) {
        let also = if other == written {
            String::new()
        } else {
            format!(", also by {other}")
        };
        return refuse(format!("this is set twice{also}; once is accepted"));
    }
    given.insert(place, written);
    *at = value(text);
    Ok(())
}

/// The line of a TOML text where the value at a path begins, or the nearest one above it.
fn line_at(text: &str, key: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut line = None;
    let mut value: Option<&DeValue> = None;
    for part in key.split('.') {
        let found = match value {
            None => table.get_ref().get_key_value(part),
            Some(DeValue::Table(inner)) => inner.get_key_value(part),
            Some(DeValue::Array(list)) => {
                let entry = list.get(part.parse::<usize>().ok()?)?;
                line = Some(line_of(text, entry.span().start));
                value = Some(entry.get_ref());
                continue;
            }
            _ => None,
        };
        let Some((key, inner)) = found else { break };
        line = Some(line_of(text, key.span().start));
        value = Some(inner.get_ref());
    }
    line
}

/// The key for the setting of a sender or of one of its parts, if an unknown field is one.
fn knob_place(key: &str, message: &str) -> Option<String> {
    let name = key.rsplit('.').next().unwrap_or(key);
    if !message.starts_with("unknown field") || !is_knob(name) {
        return None;
    }
    let mut parts = key.split('.');
    let flow = parts.next().filter(|&first| first == "flows");
    Some(match flow.and_then(|_| parts.next()) {
        Some(flow) => format!("flows.{flow}.set.{name}"),
        None => format!("set.{name} for all flows, or flows.NAME.set.{name} for one,"),
    })
}

/// What [`in_words`] returns for a table where a list is.
const TABLE_NOT_LIST: &str = "a table is not accepted; expected a list";

/// With a near name, more names than these are not listed.
const MOST_NAMED: usize = 12;

/// Rewrites a message of serde in the terms of a scenario file, with the nearest of the existing names.
fn in_words(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let name = names.first().copied().unwrap_or_default();
    let (said, expected) = message.split_once(", ").unwrap_or((message, ""));
    let expected = match expected.strip_prefix("expected ").unwrap_or(expected) {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        "a string" => "a text",
        one if one.starts_with("struct ") => "a table",
        other => other,
    };
    let expected = expected.replace('`', "\"");
    let near = nearest(name, names.iter().skip(1).copied());
    let meant = near
        .as_ref()
        .map(|near| format!(" (did you mean \"{near}\"?)"));
    let meant = meant.unwrap_or_default();
    if said.starts_with("unknown field") {
        return match near {
            Some(near) if names.len() > MOST_NAMED => format!(
                "there is no key \"{name}\"; expected \"{near}\", or another key that docs/scenarios.md lists"
            ),
            _ => format!("there is no key \"{name}\"; expected {expected}{meant}"),
        };
    }
    if said.starts_with("unknown variant") {
        return format!("\"{name}\" is not accepted; expected {expected}{meant}");
    }
    if said.starts_with("missing field") {
        return format!("the key \"{name}\" is missing");
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some(read) = said.strip_prefix(start) {
            let kinds = ["integer ", "floating point ", "boolean "];
            let plain = kinds.iter().find_map(|kind| read.strip_prefix(kind));
            let read = match (plain, read) {
                (Some(value), _) => value.replace('`', ""),
                (None, "sequence") => "a list".into(),
                (None, "map") => "a table".into(),
                (None, "null") => "nothing".into(),
                (None, text) => text.strip_prefix("string ").unwrap_or(text).to_string(),
            };
            return format!("{read} is not accepted; expected {expected}");
        }
    }
    message.replace('`', "\"")
}
