//! Recordings of paths: what names and units of columns mean.

#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;

use midflight_study::recording::{Format, Recording};
use midflight_units::Duration;

use crate::recordings::{ms, read, refusal};

#[test]
fn columns_are_read_by_their_names_and_units() {
    for (text, rate, delay) in [
        (
            "time_s,rate_mbps,delay_ms\n5,10,20\n6,2.5,\n7,0,40\n",
            true,
            true,
        ),
        (
            "t (ms);Bandwidth (kbit/s);latency [us]\n5000;10000;20000\n6000;2500;\n7000;0;40000\n",
            true,
            true,
        ),
        (
            "time\tdown rate Gbit/s\n5\t.01\n6\t.0025\n7\t0\n",
            true,
            false,
        ),
        (
            "timestamp,owd_s\n2024-01-31T00:00:00Z,0.02\n2024-01-31T00:00:02Z,0.04\n",
            false,
            true,
        ),
    ] {
        let found = read(text);
        assert_eq!(found.format, Format::Csv, "{text}");
        assert_eq!(
            found.span,
            Duration::from_secs(if rate { 3 } else { 4 }),
            "{text}"
        );
        let (at1, at2) = (ms(1000), ms(2000));
        if rate {
            let expected = vec![(Duration::ZERO, 1e7), (at1, 2.5e6), (at2, 0.0)];
            let close =
                |a: &(Duration, f64), b: &(Duration, f64)| a.0 == b.0 && (a.1 - b.1).abs() < 1.0;
            assert!(
                found
                    .down
                    .rate
                    .iter()
                    .zip(&expected)
                    .all(|(a, b)| close(a, b)),
                "{text}"
            );
            assert_eq!(found.down.rate.len(), 3);
        }
        if delay {
            let delays: Vec<_> = found
                .down
                .delay
                .iter()
                .map(|p| (p.0, (p.1 * 1e6).round()))
                .collect();
            assert_eq!(
                delays,
                [(Duration::ZERO, 20_000.0), (at2, 40_000.0)],
                "{text}"
            );
        }
    }
    let both = read("time,up_rate_mbps,dl_rate_mbps,loss_%,ul_loss\n0,1,8,50,0.25\n");
    assert_eq!(both.up.rate, [(Duration::ZERO, 1e6)]);
    assert_eq!(both.down.rate, [(Duration::ZERO, 8e6)]);
    assert_eq!((both.down.loss[0].1, both.up.loss[0].1), (0.5, 0.25));
}

#[test]
fn what_a_transfer_had_is_said_to_be_no_rate() {
    let found = read("time_s,throughput_mbps\n0,3\n1,4\n");
    assert!(
        found.hints[0].contains("at most the rate of the link"),
        "{:?}",
        found.hints
    );
    let pensieve = read("0.5 1.25\n1.5 3\n2.0 0.5\n");
    assert_eq!(pensieve.format, Format::Pensieve);
    assert_eq!(
        pensieve.down.rate,
        [(ms(0), 1.25e6), (ms(1000), 3e6), (ms(1500), 5e5)]
    );
    assert!(
        pensieve.hints[0].contains("at most the rate"),
        "{:?}",
        pensieve.hints
    );
    let log = "Timestamp,Speed,CellID,DL_bitrate,UL_bitrate,PINGAVG\n\
        2019.11.28_07.27.02,0,11,4000,100,40\n2019.11.28_07.27.03,0,11,-,90,40\n\
        2019.11.28_07.27.04,0,12,2000,80,40\n2019.11.28_07.27.04,0,12,1000,70,40\n";
    let log = read(log);
    assert_eq!(log.format, Format::GNetTrack);
    assert_eq!(
        log.down.rate,
        [(ms(0), 4e6), (ms(2000), 2e6), (ms(2500), 1e6)]
    );
    assert_eq!(
        log.up.rate,
        [
            (ms(0), 1e5),
            (ms(1000), 9e4),
            (ms(2000), 8e4),
            (ms(2500), 7e4)
        ]
    );
    assert_eq!(log.handovers, [(ms(2000), "cell")]);
    assert!(
        log.hints.iter().any(|r| r.contains("G-NetTrack")),
        "{:?}",
        log.hints
    );
    assert_eq!(log.details, ["not used: Speed"]);
    let hint = "not used: PINGAVG; columns = { rtt = \"PINGAVG ms\" }";
    assert!(log.hints.iter().any(|r| r.starts_with(hint)));
    let both = read("time_s,download_mbps,upload_mbps\n0,3,1\n").hints;
    assert!(both[0].starts_with("\"download_mbps\" and \"upload_mbps\" may be the throughput"));
    assert_eq!(both.len(), 1);
}

#[test]
fn columns_can_be_named() {
    let names = [("time", "when ms"), ("rate", "cap kbit/s")];
    let names: BTreeMap<String, String> = names.iter().map(|n| (n.0.into(), n.1.into())).collect();
    let found = Recording::read(
        "when,cap,rate_mbps\n0,100,7\n500,50,7\n",
        None,
        &names,
        None,
    );
    let found = found.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.down.rate, [(ms(0), 1e5), (ms(500), 5e4)]);
}

#[test]
fn names_near_to_what_is_expected_are_told() {
    let with = |key: &str| {
        let columns = BTreeMap::from([(key.to_string(), "cap kbit/s".to_string())]);
        let found = Recording::read("time_s,cap\n0,1\n", None, &columns, None);
        found.err().unwrap_or_default()
    };
    for (key, like) in [
        ("bandwidth", "rate"),
        ("download", "rate"),
        ("up_throughput", "up_rate"),
        ("owd", "delay"),
        ("ping", "rtt"),
        ("rat", "rate"),
    ] {
        let said = with(key);
        assert!(
            said.contains(&format!("(did you mean \"{like}\"?)")),
            "{said}"
        );
    }
    assert!(!with("weather").contains("did you mean"));
    for name in ["download", "Downlink", "speed"] {
        let said = refusal(&format!("time_s,{name}\n0,1\n"));
        let unit = format!("column \"{name}\" has no unit; expected bps, kbps");
        assert!(said.contains(&unit), "{said}");
    }
}

#[test]
fn bytes_per_second_are_known_however_they_are_written() {
    for (unit, bps) in [
        ("MB/s", 8e6),
        ("MB/S", 8e6),
        ("MB/sec", 8e6),
        ("MB/Sec", 8e6),
        ("MB/SEC", 8e6),
        ("kB/Second", 8e3),
        ("MBps", 8e6),
        ("B/SEC", 8.0),
        ("Mb/Sec", 1e6),
        ("Mbps", 1e6),
        ("MBPS", 1e6),
        ("mb/s", 1e6),
        ("Kbits/sec", 1e3),
        ("Mbits/sec", 1e6),
        ("Gbits/sec", 1e9),
    ] {
        let found = read(&format!("time_s,rate ({unit})\n0,1\n"));
        assert_eq!(found.down.rate, [(Duration::ZERO, bps)], "{unit}");
    }
}

#[test]
fn a_minimum_is_not_in_minutes() {
    for name in [
        "rtt_min",
        "ping_min",
        "delay_min",
        "latency_min",
        "Ping Min",
    ] {
        let found = read(&format!("time_min,rate_mbps,{name}\n0,1,20\n1,2,20\n"));
        assert_eq!(found.down.rate[1].0, ms(60_000), "{name}");
        assert!(found.down.delay.is_empty(), "{name}");
        assert_eq!(found.details, [format!("not used: {name}")]);
        assert!(found.remarks.is_empty());
        let text = format!("time_s,rate_mbps,{name}\n0,1,20\n");
        let columns = BTreeMap::from([("rtt".to_string(), format!("{name} min"))]);
        let why = Recording::read(&text, None, &columns, None).err();
        let expected = format!("column \"{name}\" has the unit \"min\"; expected us, ms or s");
        assert_eq!(why, Some(expected));
    }
    assert!(refusal("time_s,delay (min)\n0,1\n").contains("has the unit \"min\""));
}

#[test]
fn round_trips_are_halved_where_they_are_named() {
    let text = "time_s,rate_mbps,rtt_ms,PINGMIN\n0,20,50,1\n1,20,70,1\n";
    let plain = read(text);
    assert!(plain.down.delay.is_empty());
    let hint = "not used: rtt_ms; columns = { rtt = \"rtt_ms\" } in a scenario, or --columns rtt=\"rtt_ms\" of trace check, takes half of \"rtt_ms\" as the delay of each direction";
    assert_eq!(plain.hints, [hint]);
    assert_eq!(plain.details, ["not used: PINGMIN"]);
    let alone = refusal("Timestamp,RTT (ms)\n0,50\n");
    assert!(
        alone.contains("--columns rtt=\"RTT (ms)\" of trace check"),
        "{alone}"
    );
    let with = |key: &str, name: &str| {
        let columns = BTreeMap::from([(key.to_string(), name.to_string())]);
        Recording::read(text, None, &columns, None).unwrap_or_else(|e| panic!("{e}"))
    };
    let found = with("rtt", "rtt_ms");
    assert_eq!(found.down.delay, [(ms(0), 0.025), (ms(1000), 0.035)]);
    assert_eq!(found.up.delay, found.down.delay);
    assert!(found.hints[0].contains("it includes the measurement's wired path"));
    let one_way = with("delay", "rtt_ms");
    assert_eq!(one_way.down.delay, [(ms(0), 0.05), (ms(1000), 0.07)]);
    assert!(one_way.remarks[0].contains("its name says round trips"));
    // A column named for the delay makes the other one unused; both named is a contradiction.
    let text = "time_s,delay_ms,ping\n0,20,50\n";
    let columns = BTreeMap::from([("rtt".to_string(), "ping ms".to_string())]);
    let found = Recording::read(text, None, &columns, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.down.delay, [(ms(0), 0.025)]);
    let columns = [("rtt", "ping ms"), ("delay", "delay_ms")];
    let columns = columns.map(|(key, name)| (key.to_string(), name.to_string()));
    let both = Recording::read(text, None, &columns.into(), None);
    assert!(both.is_err_and(|why| why.contains("both a delay and rtt")));
    let g_net_track =
        "Timestamp,DL_bitrate,UL_bitrate,PINGAVG,PINGMAX\n2026.03.14_08.05.00,1000,500,40,90\n";
    let hint = "not used: PINGAVG; columns = { rtt = \"PINGAVG ms\" }";
    assert!(read(g_net_track)
        .hints
        .iter()
        .any(|one| one.starts_with(hint)));
}

#[test]
fn units_may_be_a_row_of_their_own() {
    let plain = read("time (s),rate (Mbit/s),delay (ms)\n0,20,30\n1,10,30\n");
    for text in [
        "time,rate,delay\ns,Mbit/s,ms\n0,20,30\n1,10,30\n",
        "time;rate;delay\n[s];[Mbit/sec];[ms]\n0;20;30\n1;10;30\n",
        "time,rate (Mbit/second),delay\n,,ms\n0,20,30\n1,10,30\n",
    ] {
        assert_eq!(read(text).down, plain.down, "{text}");
    }
    // A row without values is none of units.
    let text = "time,rate_mbps\nnow,-\n";
    assert!(refusal(text).starts_with("line 2"));
    let bytes = read("time,rate (MB/sec)\n0,1\n");
    assert_eq!(bytes.down.rate, [(ms(0), 8e6)]);
}

#[test]
fn usual_headers_are_understood() {
    let found = read("elapsed\tDLrate\tULrate\tRTT\n(ms)\t(kbps)\t(kbps)\t(ms)\n0\t15000\t3000\t44\n500\t15050\t3009\t45\n");
    assert_eq!(found.down.rate, [(ms(0), 15e6), (ms(500), 15.05e6)]);
    assert_eq!(found.up.rate, [(ms(0), 3e6), (ms(500), 3.009e6)]);
    assert!(found.hints[0].starts_with("not used: RTT; columns = { rtt = \"RTT\" } in"));
    // A unit in the second row is as good as one in the name.
    let text = "t,Speed X,Speed Y\ns,Mbit/s,Mbit/s\n0,1,2\n";
    let why = "\"Speed X\", \"Speed Y\" have the unit of a rate: columns = { rate = \"Speed X\" }";
    assert!(refusal(text).contains(why), "{}", refusal(text));
    for (names, down, up) in [
        ("Tput DL [Mb/s],Tput UL [Mb/s]", 2e6, 1e6),
        ("ThroughputDL (Mbps),ThroughputUL (Mbps)", 2e6, 1e6),
        ("dl-tput_kbps,ul-tput_kbps", 2e3, 1e3),
        ("Downlink Speed (kbps),UplinkSpeed (kbps)", 2e3, 1e3),
        ("Throughput (Gbits/sec),upload (Kbits/sec)", 2e9, 1e3),
        ("rate (KiB/s),UpBandwidth (MiB/s)", 16_384.0, 8_388_608.0),
    ] {
        let found = read(&format!("unix_ts,{names}\n1741943527,2,1\n"));
        let of = |way: &midflight_study::recording::Way| way.rate[0].1;
        assert_eq!((of(&found.down), of(&found.up)), (down, up), "{names}");
    }
    // Names that only begin like a direction.
    let text = "time_s,rate_mbps,uptime,upper rate,download_id\n0,1,5,6,7\n";
    assert_eq!(
        read(text).details,
        ["not used: uptime, upper rate, download_id"]
    );
    let iperf = read("time_s,Throughput (MBytes/sec)\n0,2.5\n");
    assert_eq!(iperf.down.rate, [(ms(0), 20e6)]);
    let said = "multiples of 1000 bytes; MBytes/sec of iperf are multiples of 1024, which columns.rate = \"Throughput (MBytes/sec) MiB/s\"";
    assert!(iperf.remarks[0].contains(said), "{:?}", iperf.remarks);
    let columns = [("rate", "Throughput (MBytes/sec) MiB/s")];
    let columns = columns.map(|(key, name)| (key.to_owned(), name.to_owned()));
    let text = "time_s,Throughput (MBytes/sec)\n0,2.5\n";
    let iperf = Recording::read(text, None, &columns.into(), None);
    let iperf = iperf.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(iperf.down.rate, [(ms(0), 2.5 * 8.0 * 1024.0 * 1024.0)]);
    assert!(iperf.remarks.is_empty(), "{:?}", iperf.remarks);
    // The first of several columns of times.
    let both = read("timestamp,unix_ts,rate_mbps\n0,1741943527,1\n4,1741943528,1\n");
    assert_eq!(
        (both.span, both.details),
        (ms(8000), vec!["not used: unix_ts".into()])
    );
}

#[test]
fn rates_in_another_unit_are_doubted_by_their_median() {
    let of = |unit: &str, rates: &[&str]| {
        let rows = rates
            .iter()
            .enumerate()
            .map(|(at, rate)| format!("{at},{rate}\n"));
        read(&format!("time,rate_{unit}\n{}", rows.collect::<String>())).remarks
    };
    let drive = ["5400", "9100", "0", "6200", "7700"];
    assert_eq!(
        of("mbps", &drive),
        ["half of its rates of the downlink are 7.7 Gbit/s or more, which few cellular, Wi-Fi or satellite links have: check the unit of \"rate_mbps\"; columns.rate = \"rate_mbps kbit/s\" (trace check: --columns rate=\"rate_mbps kbit/s\") reads it in kbit/s"]
    );
    assert!(of("kbps", &drive).is_empty());
    // Millimetre waves have peaks, and a wire has one rate.
    for rates in [&["1900", "300", "4100", "1200"], &["10000"; 4]] {
        assert!(of("mbps", rates).is_empty(), "{rates:?}");
    }
    assert!(of("gbps", &["5.4", "9.1", "6.2"]).is_empty());
    let pensieve = read("0 5400\n1 9100\n2 6200\n").remarks.concat();
    assert!(pensieve.contains("check the unit; scale = 0.001 takes its numbers for kbit/s"));
    // And the other way round.
    assert_eq!(
        of("bps", &["20", "42.5"]),
        ["its highest rate of the downlink is 42.5 bit/s, under 10 kbit/s: check the unit of \"rate_bps\"; columns.rate = \"rate_bps Mbit/s\" (trace check: --columns rate=\"rate_bps Mbit/s\") reads it in Mbit/s"]
    );
    assert!(of("kbps", &["20", "42.5"]).is_empty());
    assert!(of("mbps", &["0.001"])[0].contains("columns.rate = \"rate_mbps Gbit/s\""));
}
