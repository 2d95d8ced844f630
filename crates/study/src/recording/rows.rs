//! The rows of columns: their order in time, and the series made of them.

use midflight_units::Duration;

use super::columns::{is_missing, Column};
use super::quantity::{Quantity, KEYS};
use super::time::{from_first, holes, is_newest_first, late_rows, span};
use super::{Blanks, Named, Recording, Series};

/// What is said of rows that are not in order.
pub(super) const ASCENDING: &str =
    "expected times in ascending order: sort the rows by time, or keep those of one measurement";

/// A value for each row; none for a row without one.
type Values = Vec<Option<f64>>;

/// Rows as they were read.
pub(super) struct Rows {
    /// Nanoseconds from some origin.
    pub(super) times: Vec<i128>,
    /// The values of each column; empty for one without numbers.
    pub(super) values: Vec<Values>,
    /// The cells of the rows, if there is a column of cells.
    pub(super) cells: Vec<String>,
}

/// One or two rows that become one: of the downlink or of both directions, and of the uplink.
type Place = (Option<usize>, Option<usize>);

/// The order in time of some rows, and what is said of it if it is not the order of the file; as error a row that is
/// before the one above it.
fn order(all: &[i128], mut rows: Vec<usize>) -> Result<(Vec<usize>, Option<String>), usize> {
    let times: Vec<i128> = rows.iter().map(|row| all[*row]).collect();
    if is_newest_first(&times) {
        rows.reverse();
        let said = "its rows are newest first, and are read in the order of time";
        return Ok((rows, Some(said.into())));
    }
    let Some(back) = times.windows(2).position(|pair| pair[1] < pair[0]) else {
        return Ok((rows, None));
    };
    let late = late_rows(&times).ok_or_else(|| rows[back + 1])?;
    rows.sort_by_key(|row| all[*row]);
    let late = if late == 1 {
        "1 row is".into()
    } else {
        format!("{late} rows are")
    };
    let said = format!("{late} later than the next, and all are read in the order of time");
    Ok((rows, Some(said)))
}

/// The rows of both directions in the order of time, those of the same time together.
fn paired(times: &[i128], down: Vec<usize>, up: Vec<usize>) -> Vec<Place> {
    let (mut down, mut up) = (down.into_iter().peekable(), up.into_iter().peekable());
    let mut places = Vec::new();
    loop {
        let [at_down, at_up] = [down.peek(), up.peek()].map(|row| row.map(|row| times[*row]));
        let Some(next) = at_down.into_iter().chain(at_up).min() else {
            return places;
        };
        places.push((
            down.next_if(|row| times[*row] == next),
            up.next_if(|row| times[*row] == next),
        ));
    }
}

impl Rows {
    pub(super) fn of(columns: usize) -> Self {
        Self {
            times: Vec::new(),
            values: vec![Vec::new(); columns],
            cells: Vec::new(),
        }
    }

    /// The rows in the order of time, those of the two directions joined. Adds to `details` what was done for that.
    ///
    /// # Errors
    /// The index of a row that is before the one above it.
    fn places(&self, ups: Option<&[bool]>, details: &mut Vec<String>) -> Result<Vec<Place>, usize> {
        let all = 0..self.times.len();
        let Some(ups) = ups else {
            let (rows, said) = order(&self.times, all.collect())?;
            details.extend(said);
            return Ok(rows.into_iter().map(|row| (Some(row), None)).collect());
        };
        let (up, down): (Vec<usize>, Vec<usize>) = all.partition(|row| ups[*row]);
        let (down, said) = order(&self.times, down)?;
        let (up, of_up) = order(&self.times, up)?;
        details.extend(said.or(of_up));
        Ok(paired(&self.times, down, up))
    }

    /// Converts the rows to series that start at the first one. `ups` has for each row whether it is of the uplink, if
    /// rows are of one direction each. `back` says what is wrong with a row that is before the one above it.
    pub(super) fn finish(
        &self,
        found: &mut Recording,
        columns: &[Column],
        ups: Option<&[bool]>,
        back: impl FnOnce(usize) -> String,
    ) -> Result<(), String> {
        let places = self.places(ups, &mut found.details).map_err(back)?;
        let row_of = |&(one, up): &Place| one.or(up);
        let row_of_each: Vec<usize> = places.iter().filter_map(row_of).collect();
        let mut times: Vec<i128> = row_of_each.iter().map(|row| self.times[*row]).collect();
        if times.is_empty() {
            return Err("it has no rows; expected at least one".into());
        }
        if is_jumping(&times, &self.values, &row_of_each) {
            found.details.push("of two rows of the same time, the first of which repeats the row above, the second counts: a jump".into());
        } else {
            found.remarks.extend(share_times(&mut times)?);
        }
        let times = from_first(&times);
        found.span = span(&times);
        found.holes = holes(&times);
        let of_down = |place: &Place| place.0;
        let of_up = |place: &Place| place.1;
        for (column, values) in columns.iter().zip(&self.values) {
            match (ups.is_some() && column.is_of_way(), column.meaning.up) {
                (false, _) => add(found, column, &times, values, &places, row_of),
                (true, true) => add(found, column, &times, values, &places, of_up),
                (true, false) => {
                    add(found, column, &times, values, &places, of_down);
                    let column = column.of_uplink();
                    add(found, &column, &times, values, &places, of_up);
                }
            }
        }
        // Where no cell is known, the one before stays.
        let cells = row_of_each.iter().filter_map(|row| self.cells.get(*row));
        let named = cells.zip(&times).filter(|(cell, _)| !is_missing(cell));
        let named: Vec<_> = named.collect();
        let changes = named.windows(2).filter(|pair| pair[0].0 != pair[1].0);
        found.handovers = changes.map(|pair| (*pair[1].1, "cell")).collect();
        if !found.has_any() {
            return Err("no row has a rate, a delay or a loss; expected at least one".into());
        }
        found.rows = times;
        Ok(())
    }
}

/// Whether two rows at the same time are always a jump: the first repeats the values of the row above, as in a table
/// of the corners of a curve.
fn is_jumping(times: &[i128], values: &[Values], rows: &[usize]) -> bool {
    let is_repeated = |row: usize| {
        let mut of = values.iter().filter(|of| !of.is_empty());
        row > 0 && of.all(|of| of[rows[row]] == of[rows[row - 1]])
    };
    let mut row = 0;
    let mut has_any = false;
    for same in times.chunk_by(|a, b| a == b) {
        if same.len() > 2 || (same.len() == 2 && !is_repeated(row)) {
            return false;
        }
        has_any |= same.len() == 2;
        row += same.len();
    }
    has_any
}

/// Lets rows of the same time share the shortest step between two times evenly: they are of a clock without a smaller
/// unit. Returns a remark if there are any.
fn share_times(times: &mut [i128]) -> Result<Option<String>, String> {
    let twice = times.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if twice == 0 {
        return Ok(None);
    }
    let steps = times.windows(2).map(|pair| pair[1] - pair[0]);
    let Some(step) = steps.filter(|step| *step > 0).min() else {
        let rows = times.len();
        return Err(format!(
            "all of its {rows} rows have the same time; expected times that ascend"
        ));
    };
    for same in times.chunk_by_mut(|a, b| a == b) {
        let count = same.len() as i128;
        for (place, time) in same.iter_mut().enumerate() {
            *time += step * place as i128 / count;
        }
    }
    let rows = if twice == 1 {
        "1 row has".into()
    } else {
        format!("{twice} rows have")
    };
    let step = step as f64 / 1e9;
    Ok(Some(format!(
        "{rows} the time of the row above: rows of the same time share {step} s, the shortest step between two times, evenly"
    )))
}

/// Adds what a column has in the rows that `row_of` selects.
fn add(
    found: &mut Recording,
    column: &Column,
    times: &[Duration],
    values: &Values,
    places: &[Place],
    row_of: impl Fn(&Place) -> Option<usize>,
) {
    if values.is_empty() {
        return;
    }
    let rows: Vec<Option<usize>> = places.iter().map(row_of).collect();
    let is_blank = |row: &Option<usize>| row.is_some_and(|row| values[row].is_none());
    let in_row: Vec<bool> = rows.iter().map(is_blank).collect();
    let value = |row: &Option<usize>| row.and_then(|row| values[row]);
    let series = series(times, rows.iter().map(value));
    if series.is_empty() && in_row.contains(&true) {
        let said = format!("no row has a value in \"{}\"", column.name);
        found.remarks.push(said);
    }
    note_blanks(&mut found.blanks, column, in_row);
    found.named.extend(named_column(column));
    let way = if column.meaning.up {
        &mut found.up
    } else {
        &mut found.down
    };
    match column.meaning.of {
        Quantity::Rate => way.rate = series,
        Quantity::Delay => way.delay = series,
        Quantity::RoundTrip => {
            let halves = series.iter().map(|point| (point.0, point.1 / 2.0));
            found.set_delays(halves.collect());
        }
        Quantity::Loss => {
            let all = series.iter().filter(|point| point.1 >= 1.0).count();
            let none = series.iter().filter(|point| point.1 == 0.0).count();
            if !column.has_unit && all > 0 && 2 * none > series.len() {
                found.remarks.push(format!(
                    "\"{}\" is 1, all packets, in {all} of {} rows, and 0 in most: for 1 %, its unit is %",
                    column.name,
                    series.len()
                ));
            }
            way.loss = series;
        }
        Quantity::Time | Quantity::Cell => {}
    }
}

/// Adds the rows in which a column has no value.
fn note_blanks(all: &mut Vec<Blanks>, column: &Column, in_row: Vec<bool>) {
    if in_row.iter().all(|blank| *blank == in_row[0]) {
        return;
    }
    let name = format!("\"{}\"", column.name);
    let has_rate = column.meaning.of == Quantity::Rate;
    if let Some(same) = all.iter_mut().find(|one| one.in_row == in_row) {
        same.names.push(name);
        same.has_rate |= has_rate;
    } else {
        all.push(Blanks {
            names: vec![name],
            has_rate,
            in_row,
        });
    }
}

/// A column of rates or delays, by the key that names it.
fn named_column(column: &Column) -> Option<Named> {
    let has_unit = matches!(
        column.meaning.of,
        Quantity::Rate | Quantity::Delay | Quantity::RoundTrip
    );
    let known = KEYS.iter().filter(|_| has_unit);
    let (key, _) = known.into_iter().find(|known| known.1 == column.meaning)?;
    Some(Named {
        key,
        name: column.name.clone(),
        of: column.meaning.of,
        factor: column.factor,
    })
}

fn series(times: &[Duration], values: impl Iterator<Item = Option<f64>>) -> Series {
    let mut series: Series = Vec::new();
    for (at, value) in times.iter().zip(values) {
        let Some(value) = value else { continue };
        match series.last_mut() {
            Some(last) if last.0 == *at => last.1 = value,
            // A value unknown at the start is replaced by the first known one.
            None => series.push((Duration::ZERO, value)),
            _ => series.push((*at, value)),
        }
    }
    series
}
