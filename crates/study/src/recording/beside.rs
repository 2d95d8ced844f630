//! Columns of text beside those that are used. They may say which direction a row is of, or whose it is.

use std::collections::BTreeSet;

use csv::StringRecord;

use super::columns::is_missing;
use super::quantity::is_up;
use super::short;

/// A column of texts that is not used.
struct Texts {
    place: usize,
    name: String,
    /// For each row, whether it is of the uplink; none if one of its texts is not a direction.
    ups: Option<Vec<bool>>,
    /// Its text in the row above.
    above: String,
    /// Pairs of rows of the same time whose texts differ, and these texts.
    differing: usize,
    different: BTreeSet<String>,
    /// The first such pair: its texts, and where its second row is.
    first: Option<(String, String, u64)>,
}

/// The columns that are not used, as far as they have texts.
pub(super) struct Beside {
    columns: Vec<Texts>,
    /// Pairs of rows of the same time.
    same: usize,
}

impl Beside {
    /// Those at these places.
    pub(super) fn of(header: &[String], places: impl Iterator<Item = usize>) -> Self {
        let column = |place: usize| Texts {
            place,
            name: header[place].clone(),
            ups: Some(Vec::new()),
            above: String::new(),
            differing: 0,
            different: BTreeSet::new(),
            first: None,
        };
        Self {
            columns: places.map(column).collect(),
            same: 0,
        }
    }

    /// Adds a row that begins at this byte, and may have the time of the row above.
    pub(super) fn add(&mut self, row: &StringRecord, is_same: bool, byte: u64) {
        self.same += usize::from(is_same);
        for column in &mut self.columns {
            let text = row.get(column.place).unwrap_or_default();
            match (&mut column.ups, is_up(text)) {
                (Some(ups), Some(is_up)) => ups.push(is_up),
                (ups, _) => *ups = None,
            }
            let above = &column.above;
            if is_same && text != above && is_text(text) && is_text(above) {
                column.differing += 1;
                column.different.insert(text.to_owned());
                column.different.insert(above.clone());
                let first = || (above.clone(), text.to_owned(), byte);
                column.first.get_or_insert_with(first);
            }
            column.above.clear();
            column.above.push_str(text);
        }
    }

    /// The column that says which direction each row is of: its name, and for each row whether it is the uplink.
    pub(super) fn directions(&self) -> Option<(&str, &[bool])> {
        let has_rows = |one: &&Texts| one.ups.as_ref().is_some_and(|ups| !ups.is_empty());
        let column = self.columns.iter().find(has_rows)?;
        Some((column.name.as_str(), column.ups.as_deref()?))
    }

    /// What is wrong if rows of the same time are those of several measurements, of which a column says which: its few
    /// texts differ in at least half of these rows. `line_at` is the line at a byte.
    pub(super) fn several(&self, line_at: impl FnOnce(u64) -> usize) -> Option<String> {
        let tells = |one: &&Texts| {
            one.differing > 0
                && 2 * one.differing >= self.same
                && one.different.len() <= one.differing
        };
        let column = self.columns.iter().find(tells)?;
        let (above, text, byte) = column.first.as_ref()?;
        let (name, above, text) = (&column.name, short(above), short(text));
        let line = line_at(*byte);
        Some(format!(
            "line {line} has the time of the row above and another text in \"{name}\", \"{text}\" after \"{above}\", so that its rows are of several measurements; keep the rows of one of them, or, if \"{name}\" has directions, write down and up in it"
        ))
    }
}

/// Whether a cell has a text, and not a number.
fn is_text(cell: &str) -> bool {
    !is_missing(cell) && cell.parse::<f64>().is_err()
}
