//! The files of recordings that scenarios name, read from the disk and kept for the next scenario.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::read::GzDecoder;
use midflight_study::nearest;
use midflight_study::scenario::{Files, Kept};

/// Bytes of a recording at most, unpacked.
const MOST_BYTES: u64 = 500_000_000;
/// The bytes of a file in which a sign that it is not text is searched for.
const FIRST: usize = 4096;
/// Things that are kept at most.
const MOST_KEPT: usize = 256;

/// What was read or made, by what it was made of and the files' times.
static KEPT: Mutex<BTreeMap<String, Kept>> = Mutex::new(BTreeMap::new());

/// Files by paths from a folder.
pub(crate) struct Disk {
    base: PathBuf,
}

impl Disk {
    /// Those that a scenario file names; with none, from the working directory.
    pub(crate) fn beside(scenario: Option<&str>) -> Self {
        let folder = scenario.and_then(|name| Path::new(name).parent());
        Self {
            base: folder.map_or_else(PathBuf::new, Path::to_path_buf),
        }
    }
}

fn unreadable(path: &str, why: impl std::fmt::Display) -> String {
    format!("\"{path}\" cannot be read: {why}")
}

/// A suggestion of a file with a similar name in the folder of one that does not exist.
fn nearby(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|one| !one.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or_else(|| Path::new("."))).ok()?;
    let names = entries.filter_map(|one| one.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    // An extension that both have makes no name near.
    let parts = |file: &'_ str| {
        let (stem, end) = file.split_once('.').unwrap_or((file, ""));
        (stem.to_lowercase(), end.to_lowercase())
    };
    let (stem, end) = parts(name);
    let stems: Vec<(String, String)> = names.iter().map(|one| parts(one)).collect();
    let alike = stems.iter().filter(|one| one.1 == end);
    let near = nearest(&stem, alike.map(|one| one.0.as_str()));
    let is_near = |one: &(String, String)| near.as_ref() == Some(&one.0) && one.1 == end;
    let place = stems.iter().position(is_near);
    let place = place.or_else(|| stems.iter().position(|one| one.0 == stem))?;
    Some(format!(" (did you mean \"{}\"?)", names[place]))
}

impl Files for Disk {
    fn find(&self, name: &str) -> Result<(String, String), String> {
        let path = self.base.join(name);
        let wrong = |why: std::io::Error| {
            let near = match why.kind() {
                ErrorKind::NotFound => nearby(&path).unwrap_or_default(),
                _ => String::new(),
            };
            unreadable(&path.display().to_string(), format!("{why}{near}"))
        };
        let full = fs::canonicalize(&path).map_err(wrong)?;
        let about = fs::metadata(&full).map_err(wrong)?;
        let full = full.display().to_string();
        if !about.is_file() {
            let what = if about.is_dir() {
                "a folder"
            } else {
                "not a file"
            };
            return Err(unreadable(&full, format!("it is {what}")));
        }
        let changed = about.modified().ok();
        let stamp = format!("{full} {} {changed:?}", about.len());
        Ok((full, stamp))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        let file = File::open(path).map_err(|why| unreadable(path, why))?;
        let is_packed = Path::new(path).extension().is_some_and(|end| end == "gz");
        let mut bytes = Vec::new();
        let read = if is_packed {
            GzDecoder::new(file)
                .take(MOST_BYTES + 1)
                .read_to_end(&mut bytes)
        } else {
            file.take(MOST_BYTES + 1).read_to_end(&mut bytes)
        };
        read.map_err(|why| unreadable(path, why))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(unreadable(
                path,
                format!("it is larger than {} MB", MOST_BYTES / 1_000_000),
            ));
        }
        // Texts have no such byte, unless they are in UTF-16.
        let is_wide = matches!(bytes[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        if !is_wide && bytes.iter().take(FIRST).any(|byte| *byte == 0) {
            let what = if bytes.starts_with(b"PAR1") {
                "a Parquet file; expected CSV, as pandas.read_parquet(\"OLD\").to_csv(\"NEW\") writes it"
            } else if bytes.starts_with(b"PK\x03\x04") {
                "a ZIP archive, as spreadsheets are; expected CSV, as a spreadsheet saves it"
            } else {
                "not text; expected text such as CSV"
            };
            return Err(unreadable(path, format!("it is {what}")));
        }
        String::from_utf8(bytes).map_err(|wrong| {
            // A text of another encoding begins with its mark, or is of one byte for each letter.
            let is_wide = matches!(wrong.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
            let encoding = if is_wide { "UTF-16" } else { "WINDOWS-1252" };
            let why = format!("it is not text in UTF-8; convert it, for example with iconv -f {encoding} -t UTF-8 OLD > NEW");
            unreadable(path, why)
        })
    }

    fn kept(&self, key: &str) -> Option<Kept> {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).cloned()
    }

    fn keep(&self, key: &str, made: Kept) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(key.into(), made);
    }
}
