//! Recordings of paths: what is read of their formats.

#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;

use midflight_study::recording::{Between, Cut, Dates, Format, HoleKind, Recording};
use midflight_units::Duration;

pub(crate) const LEOEM: &str = include_str!("../../../tests/data/leoem/sd-ny-bp-980-1120.log");

pub(crate) fn read(text: &str) -> Recording {
    Recording::read(text, None, &BTreeMap::new(), None).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn refusal(text: &str) -> String {
    let found = Recording::read(text, None, &BTreeMap::new(), None);
    found.err().unwrap_or_else(|| panic!("{text} was read"))
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn rows_without_a_value_are_counted() {
    let found = read("time_s,rate_mbps,delay_ms\n0,3,1\n1,,2\n2,NaN,3\n3,4,4\n");
    assert_eq!(found.down.rate, [(ms(0), 3e6), (ms(3000), 4e6)]);
    let said = "2 of 4 rows have no value in \"rate_mbps\" (2 in succession from 1 s on): the one before goes on; write 0 for a rate where nothing can be sent";
    assert_eq!(found.row_remarks(HoleKind::Hold), [said]);
    // Those that a part leaves out are not counted, and times are from its beginning.
    let part = |from, until| {
        let cut = Cut {
            from: ms(from),
            until: Some(ms(until)),
            offset: Duration::ZERO,
            repeats: false,
            scale: 1.0,
            between: Between::Step,
            outage: None,
            holes: HoleKind::Hold,
        };
        found
            .remarks_of_part(&cut)
            .unwrap_or_else(|e| panic!("{e}"))
    };
    assert!(part(2500, 4000).is_empty());
    let said = "2 of 3 rows have no value in \"rate_mbps\" (2 in succession from 500 ms on): the one before goes on; write 0 for a rate where nothing can be sent";
    assert_eq!(part(500, 4000), [said]);
    // A column of another name is suggested with the unit that was given.
    let named = BTreeMap::from([("rate".to_owned(), "dl Mbit/s".to_owned())]);
    let said = Recording::read("time_s,DL,UL\n0,3,1\n", None, &named, None);
    assert!(said.is_err_and(|why| why.contains("(did you mean \"DL Mbit/s\"?)")));
    // Columns that lack the same rows have one remark; only a rate has the hint.
    let found = read("time_s,rate_mbps,up_rate_mbps,latency_ms\n0,3,1,5\n1,,,2\n2,4,4,\n");
    assert_eq!(
        [found.remarks.clone(), found.row_remarks(HoleKind::Hold)].concat(),
        [
            "\"latency_ms\" is read as the one-way delay; the latency of a ping is a round trip, twice as much",
            "1 of 3 rows has no value in \"rate_mbps\", \"up_rate_mbps\": the one before goes on; write 0 for a rate where nothing can be sent",
            "1 of 3 rows has no value in \"latency_ms\": the one before goes on",
        ]
    );
}

/// A word for a quantity leads to its key, and a rate that lacks only its unit to that.
/// The order of day and month with slashes is asked for, not guessed.
#[test]
fn dates_with_slashes_need_an_order() {
    let text = "time,rate_mbps\n03/04/2026 23:59:59,1\n03/05/2026 00:00:00,2\n";
    let said = refusal(text);
    assert!(
        said.contains("is of two days") && said.contains("--dates day-first"),
        "{said}"
    );
    let with = |dates| Recording::read(text, None, &BTreeMap::new(), Some(dates));
    for (dates, days) in [(Dates::DayFirst, 29), (Dates::MonthFirst, 0)] {
        let found = with(dates).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(found.down.rate[1].0, ms(1000 + days * 86_400_000));
    }
    let said = Recording::read("1\n4\n", None, &BTreeMap::new(), Some(Dates::DayFirst));
    assert!(
        said.is_err_and(|why| why.contains("the format is mahimahi; expected csv, or no dates"))
    );
}

/// What spreadsheets, loggers and numpy write.
/// The part that a link follows, as a recording: from second 7 of the file to 12, and then from 2 to 7.
#[test]
fn a_part_is_a_recording_from_the_beginning_of_the_run() {
    let s = |s: u64| ms(1000 * s);
    let rows = "time_s,rate_mbps,cell\n0,12,1\n4,0,1\n9,6,2\n15,12,2\n";
    let whole = read(rows);
    let cut = |repeats| Cut {
        from: s(2),
        until: Some(s(12)),
        offset: s(5),
        repeats,
        scale: 0.5,
        between: Between::Step,
        outage: None,
        holes: HoleKind::Hold,
    };
    let part = |repeats| whole.part(&cut(repeats)).unwrap_or_else(|e| panic!("{e}"));
    let found = part(true);
    assert_eq!(found.span, s(10));
    let rates = [(s(0), 0.0), (s(2), 3e6), (s(5), 6e6), (s(7), 0.0)];
    assert_eq!(found.down.rate, rates);
    assert_eq!(found.handovers, [(s(2), "cell")]);
    let once = part(false);
    assert_eq!((once.span, &once.down.rate[..]), (s(5), &rates[..2]));
    assert!(once.down.delay.is_empty());
}

/// Times without rows are outages of the part, if the user says so: its rate is zero there, and a part of nothing else
/// is refused, as by a link.
#[test]
fn times_without_rows_are_outages_of_a_part() {
    let s = |s: u64| ms(1000 * s);
    let rows = (0..10).chain(20..25).map(|at| format!("{at},8\n"));
    let whole = read(&format!("time_s,rate_mbps\n{}", rows.collect::<String>()));
    let cut = |from, until, between| Cut {
        from: s(from),
        until: Some(s(until)),
        offset: Duration::ZERO,
        repeats: true,
        scale: 0.5,
        between,
        outage: None,
        holes: HoleKind::Outage,
    };
    let found = whole.part(&cut(8, 22, Between::Step));
    let found = found.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((found.outages, found.holes.len()), (vec![(s(2), s(12))], 1));
    let zeros: Vec<_> = found.down.rate.iter().filter(|p| p.1 == 0.0).collect();
    assert_eq!(zeros, [&(s(2), 0.0)]);
    assert!(found.down.rate.contains(&(s(12), 4e6)));
    for between in [Between::Step, Between::Linear] {
        let why = whole.part(&cut(11, 19, between)).err().unwrap_or_default();
        let own = midflight_study::recording::Own { rate: None };
        let of_link = whole.follow(false, &cut(11, 19, between), own);
        assert!(why.starts_with("its highest rate is 0 bit/s"), "{why}");
        assert_eq!(of_link.err(), Some(why));
    }
}

/// A unit of a rate means the same however `per second` is written; only a capital B is a byte.
/// `min` is minutes at the end of a time's name, and the least value at the end of others.
/// Half of a round trip is the delay of each direction, if the user says so.
/// Headers of loggers: names that run together, other orders of words, and units of iperf.
/// Cells by several names; what says it best is used.
#[test]
fn changes_of_the_cell_are_handovers() {
    for (name, is_doubted) in [
        ("cell_id", false),
        ("Serving Cell", false),
        ("PCI", true),
        ("NR-PCI", true),
        ("eNB", true),
    ] {
        let found = read(&format!("time_s,rate_mbps,{name}\n0,1,a\n1,1,a\n2,1,b\n"));
        assert_eq!(found.handovers, [(ms(2000), "cell")], "{name}");
        let said = format!("changes of \"{name}\" are taken for handovers");
        assert_eq!(found.details.contains(&said), is_doubted, "{name}");
    }
    let both = read("time_s,rate_mbps,eNB,PCI,CellID\n0,1,7,3,1\n1,1,8,4,1\n2,1,8,4,2\n");
    assert_eq!(both.handovers, [(ms(2000), "cell")]);
    assert_eq!(both.details, ["not used: eNB, PCI"]);
    let columns = BTreeMap::from([("cell".to_owned(), "eNB".to_owned())]);
    let text = "time_s,rate_mbps,eNB,CellID\n0,1,7,1\n1,1,8,1\n2,1,8,2\n";
    let named = Recording::read(text, None, &columns, None);
    assert!(named.is_ok_and(|found| found.handovers == [(ms(1000), "cell")]));
}

/// A row for each direction is the same as a column for each.
#[test]
fn rows_of_directions_are_joined() {
    let wide =
        read("time_s,rate_mbps,up_rate_mbps,rtt_ms,cell\n0,20,4,50,a\n1,21,5,60,a\n2,,6,70,b\n");
    for text in [
        "time_s,way,rate_mbps,rtt_ms,cell\n0,DL,20,50,a\n0,UL,4,50,a\n1,DL,21,60,a\n1,UL,5,60,a\n2,DL,,70,b\n2,UL,6,70,b\n",
        "way,time_s,rate_mbps,rtt_ms,cell\nup,0,4,50,a\ndown,0,20,50,a\ndown,1,21,60,a\nup,1,5,60,a\nup,2,6,70,b\ndown,2,,70,b\n",
        // One direction after the other, as a table that was melted.
        "time_s,way,rate_mbps,rtt_ms,cell\n0,Downlink,20,50,a\n1,Downlink,21,60,a\n2,Downlink,,70,b\n0,Uplink,4,50,a\n1,Uplink,5,60,a\n2,Uplink,6,70,b\n",
        // Newest first.
        "time_s,way,rate_mbps,rtt_ms,cell\n2,upload,6,70,b\n2,download,,70,b\n1,upload,5,60,a\n1,download,21,60,a\n0,upload,4,50,a\n0,download,20,50,a\n",
    ] {
        let found = read(text);
        assert_eq!((&found.down, &found.up), (&wide.down, &wide.up), "{text}");
        assert_eq!((&found.rows, found.span), (&wide.rows, wide.span), "{text}");
        assert_eq!(found.handovers, wide.handovers, "{text}");
        let said = "each row is of the direction that it has in \"way\"";
        assert_eq!(found.details[0], said);
        assert!(found.details.len() == 1 || found.details[1].contains("newest first"));
        let said = "1 of 3 rows has no value in \"rate_mbps\"";
        let remarks = found.row_remarks(HoleKind::Hold);
        assert!(remarks.len() == 1 && remarks[0].starts_with(said), "{remarks:?}");
    }
    // Each at its own times, of which none lacks a value.
    let text = "time_s,rate_mbps,dir\n0,20,dl\n0.5,4,ul\n1,21,dl\n1.5,5,ul\n";
    let apart = read(text);
    assert_eq!(apart.down.rate, [(ms(0), 20e6), (ms(1000), 21e6)]);
    assert_eq!(apart.up.rate, [(ms(0), 4e6), (ms(1500), 5e6)]);
    assert!(apart.row_remarks(HoleKind::Hold).is_empty());
    let only_up = read("time_s,rate_mbps,dir\n0,4,ul\n1,5,ul\n");
    assert_eq!((only_up.down.rate.len(), only_up.up.rate.len()), (0, 2));
    // Two rows a second of each.
    let text = "time_s,rate_mbps,dir\n0,20,dl\n0,4,ul\n0,22,dl\n0,6,ul\n1,21,dl\n1,5,ul\n";
    let twice = read(text);
    assert_eq!(
        twice.down.rate,
        [(ms(0), 20e6), (ms(500), 22e6), (ms(1000), 21e6)]
    );
    assert_eq!(
        twice.up.rate,
        [(ms(0), 4e6), (ms(500), 6e6), (ms(1000), 5e6)]
    );
    let mixed = "time_s,rate_mbps,dir\n0,20,dl\n0,4,ul\n1,21,dl\n0.5,4,ul\n0.7,4,ul\n0.6,4,ul\n";
    assert!(refusal(mixed).starts_with("line 7: the time 0.6 is before that of the row above"));
}

/// Rows of the same time that a column of text keeps apart are those of several measurements.
#[test]
fn rows_of_several_measurements_are_refused() {
    let rows = |texts: [&str; 2]| {
        let rows = (0..4).map(|at| {
            let [a, b] = texts;
            format!("{at},{a},20\n{at},{b},4\n")
        });
        format!("time_s,operator,rate_mbps\n{}", rows.collect::<String>())
    };
    let why = "line 3 has the time of the row above and another text in \"operator\", \"Blue\" after \"Red\", so that its rows are of several measurements; keep the rows of one of them, or, if \"operator\" has directions, write down and up in it";
    assert_eq!(refusal(&rows(["Red", "Blue"])), why);
    // The same text, none, or a number says nothing, and neither does a column that is used.
    for texts in [["Red", "Red"], ["Red", ""], ["1", "2"]] {
        assert_eq!(read(&rows(texts)).down.rate.len(), 8, "{texts:?}");
    }
    let columns = BTreeMap::from([("cell".to_owned(), "operator".to_owned())]);
    let named = Recording::read(&rows(["Red", "Blue"]), None, &columns, None);
    assert!(named.is_ok_and(|found| found.handovers.len() == 7));
    // A text that changes now and then, and one that is another in each row.
    let rows = (0..40).map(|row| {
        let (at, state) = (row / 2, if row > 22 { "5G" } else { "LTE" });
        format!("{at},{state},t{row},20\n")
    });
    let text = format!("time_s,net,at,rate_mbps\n{}", rows.collect::<String>());
    assert_eq!(read(&text).down.rate.len(), 40);
}

/// Rows of the same time share it: those of a logger whose clock has whole seconds.
#[test]
fn rows_of_the_same_time_share_it() {
    let said = |text: &str| read(text).remarks.concat();
    let text = "time_s,rate_mbps\n7,1\n7,2\n8,3\n8,4\n8,5\n8,6\n10,7\n10,8\n";
    let found = read(text);
    let at: Vec<u64> = found
        .rows
        .iter()
        .map(|at| at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(at, [0, 500, 1000, 1250, 1500, 1750, 3000, 3500]);
    assert_eq!((found.down.rate.len(), found.span), (8, ms(4000)));
    assert_eq!(found.remarks, ["5 rows have the time of the row above: rows of the same time share 1 s, the shortest step between two times, evenly"]);
    let one = said("time_s,rate_mbps\n0,1\n0,2\n0.5,3\n");
    assert!(
        one.starts_with("1 row has the time of the row above: rows of the same time share 0.5 s")
    );
    assert_eq!(said("time_s,rate_mbps\n0,1\n1,2\n"), "");
    // The corners of a curve.
    let jumps = read("time_s,rate_mbps\n0,20\n10,20\n10,0\n15,0\n15,18\n");
    assert_eq!(
        jumps.down.rate,
        [(ms(0), 20e6), (ms(10_000), 0.0), (ms(15_000), 18e6)]
    );
    assert!(jumps.remarks.is_empty(), "{:?}", jumps.remarks);
    let values = BTreeMap::from([
        ("time_s".to_owned(), vec![0.0, 0.0, 1.0, 1.0]),
        ("rate_mbps".to_owned(), vec![1.0, 2.0, 3.0, 4.0]),
    ]);
    let given = Recording::of_columns(&values, &BTreeMap::new());
    assert!(given.is_ok_and(|found| found.rows == [ms(0), ms(500), ms(1000), ms(1500)]));
}

#[test]
fn values_that_are_hardly_meant_are_noted() {
    let noted = |text: &str| read(text).remarks.join("; ");
    assert_eq!(noted("time,rate_gbps,delay_s\n0,10,10\n"), "");
    assert!(noted("time,rate_gbps\n0,39120\n1,5\n").contains("is 39120 Gbit/s, over 10 Gbit/s"));
    let read_in_kbps = "check the unit of \"rate_mbps\"; columns.rate = \"rate_mbps kbit/s\"";
    assert!(noted("time,rate_mbps\n0,30000\n1,5\n").contains(read_in_kbps));
    assert!(noted("time,delay_s\n0,50\n").contains("longest delay of the downlink is 50 s"));
    let rows = "\n0,0\n1,0\n2,1\n3,0\n4,0.3\n";
    let said = "\"loss\" is 1, all packets, in 1 of 5 rows, and 0 in most";
    assert!(noted(&format!("time,loss{rows}")).contains(said));
    assert_eq!(noted(&format!("time,loss_%{rows}")), "");
    assert_eq!(noted("time,loss\n0,1\n1,1\n2,0\n"), "");
}

/// Hundreds of Mbit/s read as Gbit/s are doubted, by half of the rates; what a wire or a user in Gbit/s has is not.
/// What stands for no value is none, and a column without any is named.
#[test]
fn words_for_no_value_are_none() {
    for none in [
        "", "-", "--", "n/a", "N/A", "NA", "#N/A", "<NA>", "nan", "NaN", "null", "NULL", "None",
    ] {
        let found = read(&format!(
            "time_s,rate_mbps,delay_ms\n0,3,{none}\n1,{none},{none}\n"
        ));
        assert_eq!(found.down.rate, [(ms(0), 3e6)], "{none}");
        let said = "1 of 2 rows has no value in \"rate_mbps\": the one before goes on; write 0 for a rate where nothing can be sent";
        assert_eq!(found.row_remarks(HoleKind::Hold), [said], "{none}");
        assert_eq!(
            found.remarks,
            ["no row has a value in \"delay_ms\""],
            "{none}"
        );
    }
    assert!(refusal("time_s,rate_mbps\n0,none of it\n").contains("\"none of it\""));
    let percent = read("time_s,loss\n0,1.5%\n1,0.25\n");
    assert_eq!(percent.down.loss, [(ms(0), 0.015), (ms(1000), 0.25)]);
}

/// How times were read that the header does not say is said, and doubted where it is doubtful.
#[test]
fn what_was_taken_for_times_is_said() {
    let of = |text: &str| (read(text).details, read(text).remarks);
    let unix = of("timestamp,rate_mbps\n1709290000000,42\n1709290001000,8\n");
    assert_eq!(
        unix,
        (vec!["\"timestamp\" has ms since 1970".to_owned()], vec![])
    );
    let words = of("Measured at,rate_mbps\n2024-02-28 09:00:00,42\n2024-02-28 09:00:01,8\n");
    assert_eq!(words.0, ["the times are those of \"Measured at\""]);
    let back = of("time,rate_mbps\n3,1\n2,2\n1,3\n");
    assert_eq!(
        back.0,
        ["its rows are newest first, and are read in the order of time"]
    );
    let mut rows: Vec<u64> = (0..20).collect();
    rows.swap(7, 8);
    let text = |rows: &[u64]| {
        let rows = rows.iter().map(|at| format!("{at},{}\n", at + 1));
        format!("time_s,rate_mbps\n{}", rows.collect::<String>())
    };
    let late = of(&text(&rows));
    assert_eq!(
        late.0,
        ["1 row is later than the next, and all are read in the order of time"]
    );
    assert_eq!(
        read(&text(&rows)).down,
        read(&text(&(0..20).collect::<Vec<_>>())).down
    );
    // Ten seconds late is not a logger's.
    rows.rotate_right(10);
    assert!(refusal(&text(&rows)).contains("is before that of the row above"));
    // Dates beside times in seconds, or beside dates with times, are not used.
    for date in ["2024-02-28", "2024-02-28 09:00:00"] {
        let both = of(&format!("time_s,date,rate_mbps\n0,{date},42\n1,{date},8\n"));
        assert_eq!(both.0, ["not used: date"]);
    }
    // A column that a user names is the only one of times.
    let columns = BTreeMap::from([("time".to_owned(), "time".to_owned())]);
    let text = "date,time,rate_mbps\n2024-02-28,09:00:00,42\n2024-02-29,09:00:01,8\n";
    let named = Recording::read(text, None, &columns, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        (named.span, named.details),
        (ms(2000), vec!["not used: date".to_owned()])
    );
    assert_eq!(read(text).span, ms(2 * 86_401_000));
    let rows = |name: &str, step: u64| {
        let rows: Vec<String> = (0..5).map(|at| format!("{},8\n", at * step)).collect();
        let rows = rows.concat();
        read(&format!("{name},rate_mbps\n{rows}")).remarks.concat()
    };
    let said = "\"t\" has no unit and is read in seconds, so that its rows are 100 s apart; columns.time = \"t ms\"";
    assert!(rows("t", 100).starts_with(said));
    assert_eq!(
        (rows("t", 60), rows("t_s", 100)),
        (String::new(), String::new())
    );
}

#[test]
fn the_same_rows_are_read_however_they_are_written() {
    for text in [
        "time_s,rate_mbps\n0,42.5\n1,8\n",
        "\u{feff}time_s,rate_mbps\r\n0,42.5\r\n1,8\r\n",
        "time_s;rate_mbps\n0;42,5\n1;8\n",
        "time_s\trate_mbps\n0,0\t42,5\n1,0\t8\n",
        "# a drive\n# of two seconds\ntime_s,rate_mbps\n0,42.5\n1,8\n",
        "# time_s,rate_mbps\n0,42.5\n1,8\n",
        "time_s,rate_mbps\n\n0,42.5,\n1,8\n\n",
        "seconds,bandwidth (Mb/s)\n0,42.5\n1,8\n",
        "time (ms),rate [MB/s]\n0,5.3125\n1000,1\n",
        "time_s,rate_MBps\n0,5.3125\n1,1\n",
        "time,rate_kbyte/s\n0,5312.5\n1,1000\n",
        "time,rate_mbps\n23:59:59.5,42.5\n00:00:00.5,8\n",
        "Date-Time,rate_mbps\n2024-02-28T23:59:59Z,42.5\n2024-02-29T00:00:00Z,8\n",
        "Time;rate_mbps\n28.02.2024 23:59:59;42,5\n29.02.2024 00:00:00;8\n",
        "timestamp (ms),rate_mbps\n1709290000000,42.5\n1709290001000,8\n",
        "timestamp,rate_mbps\n1709290000000,42.5\n1709290001000,8\n",
        "epoch,rate_mbps\n1709290000000000,42.5\n1709290001000000,8\n",
        "unix_time,rate_mbps\n1709290000000000000,42.5\n1709290001000000000,8\n",
        "date,rate_mbps\n2024-02-28T23:59:59+01:00,42.5\n2024-02-29T00:00:00+01:00,8\n",
        "Date;rate_mbps\n28.02.2024 23:59:59;42,5\n29.02.2024 00:00:00;8\n",
        "sep=;\ndate;time;rate_mbps\n28/02/2024;23:59:59;42,5\n29/02/2024;00:00:00;8\n;;\n",
        "time,date,rate_mbps\n23:59:59.5,2024-02-28,42.5\n00:00:00.5,2024-02-29,8\n",
        "Datum;Uhrzeit;rate_mbps\n28.02.2024;23:59:59;42,5\n29.02.2024;00:00:00;8\n",
        "Measured at,rate_mbps\n2/28/2024 11:59:59 PM,42.5\n2/29/2024 12:00:00 AM,8\n",
        "time_s  rate_mbps\n0  42.5\n1  8\n",
        ",time,rate_mbps\n0,5,42.5\n1,6,8\n",
        ",rate_mbps\n2024-02-28 09:00:00,42.5\n2024-02-28 09:00:01,8\n",
    ] {
        let found = read(text);
        assert_eq!(
            found.down.rate,
            [(ms(0), 42.5e6), (ms(1000), 8e6)],
            "{text:?}"
        );
        assert_eq!(found.span, ms(2000), "{text:?}");
    }
    let commas = read("time_s;rate_mbps\n0;42,5\n1;8\n");
    assert_eq!(
        commas.details,
        ["the commas in its numbers are read as decimal points"]
    );
    let speed = read("Time (s),Downlink [kbit/s],Uplink [kbit/s],Packet loss (%),Speed (km/h)\n0,4000,1000,2,50\n");
    assert_eq!(speed.down.rate, [(ms(0), 4e6)]);
    assert_eq!(speed.up.rate, [(ms(0), 1e6)]);
    assert_eq!(speed.down.loss, [(ms(0), 0.02)]);
    let remarks = speed.hints.join("\n");
    assert!(
        remarks.contains("\"Downlink [kbit/s]\" and \"Uplink [kbit/s]\" may be the throughput"),
        "{remarks}"
    );
    assert_eq!(speed.details, ["not used: Speed (km/h)"]);
    assert_eq!(read("t,Mbit/s\n0,4\n").down.rate, [(ms(0), 4e6)]);
    let opportunities = read("\u{feff}# seconds 0 to 4\r\n1\r\n4\r\n\r\n");
    assert_eq!(opportunities.down.opportunities, [ms(1), ms(4)]);
}

#[test]
fn unreadable_lines_are_reported_with_their_number() {
    for (text, why) in [
        ("", "it is empty"),
        ("hello\n", "line 1, \"hello\", is not of a known format; expected a header"),
        ("{\"time_s\": [0, 1]}\n", "it begins as JSON does; expected CSV"),
        ("time_s rate_mbps\n0 1 2\n", "with \",\", \";\" or tabs between the cells"),
        ("Connecting to host 10.0.0.1, port 5201\n[ ID] Interval Transfer Bitrate\n", "it is what iperf prints; expected CSV"),
        ("time_s,rate_mbps\n0,1\n1,1\n2,1\n0,1\n1,1\n2,1\n", "line 5: the time 0 is before"),
        ("time_s,rate_mbps,delay_ms\n0,1,2\n1,2\n", "line 3 has 2 cells, and the header 3: \"delay_ms\" is missing"),
        ("time_s,rate\n0,1\n", "column \"rate\" has no unit; expected bps, kbps, mbps, gbps or MB/s, such as columns.rate = \"rate Mbit/s\" (trace check: --columns rate=\"rate Mbit/s\")"),
        ("time_s,rate,delay\n0,1,2\n", "--columns rate=\"rate Mbit/s\"); column \"delay\" has no unit; expected us, ms or s, such as columns.delay = \"delay ms\""),
        ("time_s;rate_mbps\n0;1,5,2\n", "line 2: \"1,5,2\" in column \"rate_mbps\" is not accepted; expected a number from 0 up, or nothing"),
        ("time_s,rate_mbps\n0,1,5\n", "line 2 has 3 cells, and the header 2; expected at most as many; a decimal comma needs \";\" between the cells"),
        ("time_s;rate_mbps\n0;1;5\n", "line 2 has 3 cells, and the header 2; expected at most as many"),
        ("time_s,rate_mbps\n0,1e30\n", "line 2: \"1e30\" in column \"rate_mbps\" is not accepted; expected a number from 0 to 1e9, or nothing"),
        ("time_s,rate_mbps\n1709290000000,1\n", "line 2: \"1709290000000\" in column \"time_s\" is too large for seconds; columns.time = \"time_s ms\" (trace check: --columns time=\"time_s ms\") reads it in ms"),
        ("time,rate_mbps\n0,1\n1709290000000,1\n", "line 3: \"1709290000000\" in column \"time\" is too large for seconds"),
        ("time,rate_mbps\n07:27:03,1\n07:27:02,1\n", "line 3: the time 07:27:02 is before that of the row above"),
        ("0,42\n1,38\n", "its first line, \"0,42\", has numbers; expected the names of columns"),
        ("time_s,rate_furlongs\n0,1\n", "no column has a rate, a delay or a loss"),
        ("rate_mbps,delay_ms\n1,2\n", "no column has times: rate_mbps, delay_ms; name the one that does: --columns time=\"NAME UNIT\", or columns.time in a scenario"),
        ("day,rate_mbps\n2024-01-31,2\n", "no column has times: day, rate_mbps"),
        ("date,rate_mbps\n2024-01-31,2\n", "line 2: \"2024-01-31\" in column \"date\" is not a time"),
        ("time_s,rate_mbps\n0,1\nn/a,1\n", "line 3: column \"time_s\" has no value; expected a time in each row"),
        ("time_s,rate_mbps\n0,1\n1,fast\n", "line 3: \"fast\" in column \"rate_mbps\" is not accepted"),
        ("time_s,rate_mbps\n0,1\n1,-1\n", "line 3: \"-1\" in column \"rate_mbps\" is not accepted"),
        ("time_s,loss_%\n0,101\n", "line 2: \"101\" in column \"loss_%\" is not accepted; expected a number from 0 to all packets"),
        ("time_s,rate_mbps\n1,1\n0,1\n", "line 3: the time 0 is before that of the row above; expected times in ascending order: sort the rows by time, or keep those of one measurement"),
        ("time_s,rate_mbps\n3,1\n\n2,1\n1,1\n4,1\n", "line 4: the time 2 is before that of the row above"),
        ("time_s,rate_mbps\n0,-3.5\n", "line 2: \"-3.5\" in column \"rate_mbps\" is not accepted; expected a number from 0 up, or nothing, such as n/a, where there is no value"),
        ("time_s,loss\n0,120%\n", "line 2: \"120\" in column \"loss\" is not accepted"),
        ("time_s,rate_mbps\nnow,1\n", "line 2: \"now\" in column \"time_s\" is not a time"),
        ("time_s,rate_mbps\n", "it has no rows"),
        ("time_s,rate_mbps,bw_kbps\n0,1,1\n", "columns \"rate_mbps\" and \"bw_kbps\" have the same quantity"),
        ("0\n", "its last line is 0 ms"),
        ("sep=;\n0;42\n1;38\n", "its first line, \"0,42\", has numbers; expected the names of columns"),
        ("timestamp_ms,rate_mbps\n1709290000000000,1\n", "line 2: \"1709290000000000\" in column \"timestamp_ms\" is too large for ms; columns.time = \"timestamp_ms us\" (trace check: --columns time=\"timestamp_ms us\") reads it in us"),
        ("time,rate_mbps\n7,1\n7,2\n", "all of its 2 rows have the same time; expected times that ascend"),
        ("1\n2\nx\n", "line 3 is \"x\""),
        ("1$[1, 2]$2$[0.1]$0.1\n", "line 1 is"),
        ("0 1\n0 2\n", "line 2 is not later than the one before"),
    ] {
        let found = refusal(text);
        assert!(found.contains(why), "{text:?}: {found}");
    }
}

#[test]
fn one_number_per_line_is_of_mahimahi_or_leocc() {
    let found = read("1\n1\n4\n");
    assert_eq!((found.format, found.span), (Format::Mahimahi, ms(4)));
    assert_eq!(found.down.opportunities, [ms(1), ms(1), ms(4)]);
    assert!(found.remarks.is_empty(), "{:?}", found.remarks);
    let found = read("24\n18\n30\n");
    assert_eq!((found.format, found.span), (Format::LeoccDelay, ms(30)));
    let said = "read as delays (leocc-delay), because line 2 goes back from 24 to 18";
    assert!(found.remarks[0].starts_with(said), "{:?}", found.remarks);
    // Numbers that are not integers, or an explicit format, need no guess.
    assert!(read("24.5\n18\n30\n").remarks.is_empty());
    // Times in seconds are taken neither for delays nor for milliseconds.
    let of_seconds = |lines: u32| -> String {
        let all = (0..lines).map(|k| format!("{:.3}\n", f64::from(k / 3) / 1e3));
        all.collect()
    };
    let why = "times of mahimahi are whole milliseconds, not 0.001; awk '{ printf \"%.0f\\n\", 1000 * $1 }' OLD > NEW makes them of seconds; format = \"leocc-delay\"";
    assert!(refusal(&of_seconds(30)).contains(why));
    assert_eq!(read(&of_seconds(27)).format, Format::LeoccDelay);
    let delays = Recording::read(
        &of_seconds(30),
        Some(Format::LeoccDelay),
        &BTreeMap::new(),
        None,
    );
    assert!(delays.is_ok_and(|found| found.span == ms(300)));
    let said = Recording::read("3\n2\n", Some(Format::LeoccDelay), &BTreeMap::new(), None);
    assert!(said.is_ok_and(|found| found.remarks.is_empty()));
    assert_eq!(
        found.down.delay,
        [(ms(0), 0.024), (ms(10), 0.018), (ms(20), 0.03)]
    );
}

/// Computed independently, in Python, by the rule of LeoEM's emulator.
#[test]
fn leoem_frames_have_their_handovers_and_blackouts() {
    let found = read(LEOEM);
    assert_eq!(
        (found.format, found.span),
        (Format::LeoEm, Duration::from_secs(141))
    );
    assert!(found.drops);
    assert_eq!(found.down.delay.len(), 141 - 12);
    let of = |end: &str| found.handovers.iter().filter(|h| h.1 == end).count();
    assert_eq!((of("source"), of("destination")), (3, 2));
    // If a blackout follows right after frames without a path, these are part of it.
    let frames =
        |from: u64, until: u64| (Duration::from_secs(from - 1), Duration::from_secs(until));
    let blackout = |frame: u64, ns: u64| {
        let at = Duration::from_secs(frame - 1);
        (at, Duration::from_nanos(at.as_nanos() + ns))
    };
    let missing = |frame| {
        !found
            .down
            .delay
            .iter()
            .any(|p| p.0 == Duration::from_secs(frame - 1))
    };
    let gaps: Vec<u64> = (2..=141).filter(|&frame| missing(frame)).collect();
    assert_eq!(gaps.len(), 12);
    let first = (gaps[0], gaps[3]);
    let second = (gaps[4], gaps[11]);
    let back = |gap: (u64, u64), ns| {
        (
            frames(gap.0, gap.1).0,
            Duration::from_nanos(frames(gap.0, gap.1).1.as_nanos() + ns),
        )
    };
    let mut expected = vec![
        blackout(14, 9_077_257),
        blackout(54, 6_325_856),
        blackout(86, 8_709_237),
        blackout(102, 9_121_470),
        back(first, 4_382_081),
        back(second, 4_224_906),
    ];
    expected.sort_unstable();
    assert_eq!((first.1, second.1), (22, 111));
    assert_eq!(found.outages, expected);
}
