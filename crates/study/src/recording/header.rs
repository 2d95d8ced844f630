//! The header of columns: which columns have times, and how columns can be used that are not.

use std::collections::BTreeMap;

use csv::StringRecord;

use super::quantity::{meaning, with_unit, Quantity};
use super::time;

/// The columns of a file or of a program.
pub(super) struct Header<'a> {
    pub(super) names: &'a [String],
    /// The units of a second header row; empty for none.
    pub(super) units: &'a [String],
    /// Whether the names are those of a file, whose columns a user can name.
    pub(super) is_of_file: bool,
    pub(super) times: TimeColumns,
}

/// The columns of times as the cells of the first row show them.
#[derive(Clone, Copy, Default)]
pub(super) struct TimeColumns {
    /// Dates, which belong to the times of day of another column.
    pub(super) dates: Option<usize>,
    /// Dates with times of day, or times of day, by another name.
    pub(super) unnamed: Option<usize>,
}

impl TimeColumns {
    pub(super) fn of(
        header: &[String],
        first: &StringRecord,
        named: &BTreeMap<String, String>,
    ) -> Self {
        if named.contains_key("time") {
            return Self::default();
        }
        let all_of = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let cells = first.iter().take(header.len()).enumerate();
            let found = cells.filter(|(_, cell)| is(cell));
            found.map(|(place, _)| place).collect()
        };
        let the_only = |is: &dyn Fn(&str) -> bool| match all_of(is)[..] {
            [place] => Some(place),
            _ => None,
        };
        let dates = all_of(&time::is_date);
        let named_date = dates.iter().find(|place| is_date(&header[**place]));
        let dates = named_date.copied().or_else(|| the_only(&time::is_date));
        let of_day = the_only(&time::is_time_of_day);
        if let Some(place) = header.iter().position(|name| is_time(name)) {
            let has_times_of_day = first.get(place).is_some_and(time::is_time_of_day);
            return Self {
                dates: dates.filter(|_| has_times_of_day),
                unnamed: None,
            };
        }
        if header.iter().any(|name| is_date(name)) && (dates.is_none() || of_day.is_none()) {
            return Self::default();
        }
        let unnamed = the_only(&time::is_clock).or(of_day);
        Self {
            dates: dates.filter(|_| unnamed == of_day),
            unnamed,
        }
    }
}

/// Whether a name is that of times, and not of dates alone.
pub(super) fn is_time(name: &str) -> bool {
    meaning(name).is_some_and(|(of, plain, _)| of.of == Quantity::Time && plain != "date")
}

/// Whether a name is that of dates.
pub(super) fn is_date(name: &str) -> bool {
    with_unit(name).0 == "date"
}

impl Header<'_> {
    /// The unit of a column in a second header row.
    pub(super) fn unit(&self, place: usize) -> Option<String> {
        self.units
            .get(place)
            .filter(|unit| !unit.is_empty())
            .cloned()
    }

    /// How to use columns that only by their units may be rates.
    pub(super) fn rates_hint(&self) -> Option<String> {
        let is_rate = |(place, name): &(usize, &String)| {
            let unit = with_unit(name).1.or_else(|| self.unit(*place));
            unit.is_some_and(|unit| Quantity::Rate.factor(&unit).is_some())
        };
        let names = self.names.iter().enumerate().filter(is_rate);
        let names: Vec<&String> = names.map(|(_, name)| name).collect();
        let first = names.first()?;
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let columns = if self.is_of_file {
            format!("columns = {{ rate = \"{first}\" }} in a scenario, or --columns rate=\"{first}\" of trace check")
        } else {
            format!("trace = {{\"file\": columns, \"columns\": {{\"rate\": \"{first}\"}}}}")
        };
        let have = if names.len() == 1 { "has" } else { "have" };
        Some(format!(
            "{} {have} the unit of a rate: {columns} makes \"{first}\" the rate",
            quoted.join(", ")
        ))
    }

    /// How to use the round trips of a column that is not used.
    pub(super) fn hint(&self, name: &str) -> String {
        let place = self.names.iter().position(|other| other == name);
        let unit = place.and_then(|place| self.unit(place));
        let unit = if unit.is_some() || with_unit(name).1.is_some() {
            ""
        } else {
            " ms"
        };
        let columns = if self.is_of_file {
            format!("columns = {{ rtt = \"{name}{unit}\" }} in a scenario, or --columns rtt=\"{name}{unit}\" of trace check,")
        } else {
            format!("trace = {{\"file\": columns, \"columns\": {{\"rtt\": \"{name}{unit}\"}}}}")
        };
        format!("{columns} takes half of \"{name}\" as the delay of each direction")
    }
}
