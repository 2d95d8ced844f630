//! What links and senders have at instants of a run, as tables for Python.

use midflight_study::{Samples, SenderSample};
use pyo3::prelude::*;

use crate::table::Table;

/// Tables of the links and of the senders of a run.
pub(crate) fn sample_tables(
    found: &Samples,
    setup: &midflight_study::Setup,
    digest: &str,
) -> PyResult<(Table, Table)> {
    fn ints<R>(rows: &[R], of: impl Fn(&R) -> u64) -> Vec<i64> {
        rows.iter().map(|row| of(row) as i64).collect()
    }
    let rows = &found.links;
    let mut links = Table::builder();
    links.int("time_ns", ints(rows, |r| r.at.as_nanos()));
    links.text("link", rows.iter().map(|r| r.link.to_string()).collect());
    links.int("number", ints(rows, |r| r.number as u64));
    links.int("packets", ints(rows, |r| r.state.packets));
    links.int("least", ints(rows, |r| r.least));
    links.int("most", ints(rows, |r| r.most));
    links.real("mean", rows.iter().map(|r| r.mean).collect());
    links.int("bytes", ints(rows, |r| r.state.bytes));
    links.int("rate_bps", ints(rows, |r| r.state.bps));
    links.int("delay_ns", ints(rows, |r| r.state.delay.as_nanos()));
    links.int("up", ints(rows, |r| r.state.is_up.into()));
    links.digest(digest);
    let names: Vec<&str> = setup.flow_names().collect();
    let rows = &found.senders;
    let mut senders = Table::builder();
    senders.int("time_ns", ints(rows, |r| r.at.as_nanos()));
    let name = |number: usize| names.get(number).copied().unwrap_or_default().into();
    senders.text("flow", rows.iter().map(|r| name(r.flow)).collect());
    senders.real("cwnd", rows.iter().map(|r| r.cwnd).collect());
    senders.real("ssthresh", rows.iter().map(|r| r.ssthresh).collect());
    senders.int("pipe", ints(rows, |r| r.pipe));
    senders.int("flight", ints(rows, |r| r.flight));
    let srtt = |r: &SenderSample| r.srtt.map(|time| time.as_nanos() as i64);
    senders.maybe_int("srtt_ns", rows.iter().map(srtt));
    senders.int("rto_ns", ints(rows, |r| r.rto.as_nanos()));
    senders.digest(digest);
    Ok((links.build()?, senders.build()?))
}

/// The table of the flows' packets at links with a queue for each flow.
pub(crate) fn backlog_table(
    found: &Samples,
    setup: &midflight_study::Setup,
    digest: &str,
) -> PyResult<Table> {
    let names: Vec<&str> = setup.flow_names().collect();
    let name = |number: usize| names.get(number).copied().unwrap_or_default();
    let rows = &found.backlogs;
    let mut table = Table::builder();
    let times = rows.iter().map(|r| r.at.as_nanos() as i64);
    table.int("time_ns", times.collect());
    table.text("link", rows.iter().map(|r| r.link.to_string()).collect());
    table.int("number", rows.iter().map(|r| r.number as i64).collect());
    let flows = rows.iter().map(|r| r.flow.map_or("", name).into());
    table.text("flow", flows.collect());
    table.int("packets", rows.iter().map(|r| r.packets as i64).collect());
    table.digest(digest);
    table.build()
}
