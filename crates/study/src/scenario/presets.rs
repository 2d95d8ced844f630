//! Well-known access links, as starting points.

use midflight_units::{Duration, Rate};

use super::queue::{Queue, Room};

/// A well-known link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Its name in scenarios.
    pub name: &'static str,
    /// A description.
    pub summary: &'static str,
    /// Source of its numbers.
    pub source: &'static str,
    /// Towards the mobile node, kbit/s.
    down_kbps: u64,
    /// From the mobile node, kbit/s.
    up_kbps: u64,
    /// One-way delay, microseconds.
    delay_us: u64,
    /// Queue sizes at the base station and at the mobile node.
    queues: (Room, Room),
}

impl Preset {
    /// Rate towards the mobile node.
    pub fn down_rate(&self) -> Rate {
        Rate::from_bps(self.down_kbps * 1000).unwrap_or(Rate::from_mbps(1))
    }

    /// Rate from the mobile node.
    pub fn up_rate(&self) -> Rate {
        Rate::from_bps(self.up_kbps * 1000).unwrap_or(Rate::from_mbps(1))
    }

    /// One-way delay.
    pub fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us)
    }

    /// Room at the base station and at the mobile node, as a scenario writes it.
    pub fn queue_texts(&self) -> (String, String) {
        (self.queues.0.to_string(), self.queues.1.to_string())
    }

    /// Queue size at the base station.
    pub fn down_queue(&self) -> Queue {
        Queue::DropTail(self.queues.0)
    }

    /// Queue size at the mobile node.
    pub fn up_queue(&self) -> Queue {
        Queue::DropTail(self.queues.1)
    }
}

const A11: &str = "Daniel & Kojo, report on available bandwidth, table 1";
const NARAYANAN: &str = "Narayanan et al., A Variegated Look at 5G in the Wild, SIGCOMM 2021: speed tests of its artifact against the nearest server, rounded; half of their round trip";
/// The bandwidth-delay product, if the source does not specify a queue.
const BDP: (Room, Room) = (Room::Bdp(1.0), Room::Bdp(1.0));

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "egprs",
        summary: "GPRS with EDGE, 200 kbit/s",
        source: A11,
        down_kbps: 200,
        up_kbps: 200,
        delay_us: 300_000,
        queues: BDP,
    },
    Preset {
        name: "umts",
        summary: "UMTS before HSDPA, 384 kbit/s down and 64 kbit/s up",
        source: "Gurtov & Floyd, Modeling Wireless Links for Transport Protocols, CCR 2004: defaults of its ns-2 scripts",
        down_kbps: 384,
        up_kbps: 64,
        delay_us: 150_000,
        queues: (Room::Packets(20), Room::Packets(20)),
    },
    Preset {
        name: "3g",
        summary: "a third-generation network of 1 Mbit/s",
        source: "Lim & Jang 2009, table 1",
        down_kbps: 1_000,
        up_kbps: 1_000,
        delay_us: 200_000,
        queues: BDP,
    },
    Preset {
        name: "hsdpa-2",
        summary: "UMTS with HSDPA, 2 Mbit/s",
        source: A11,
        down_kbps: 2_000,
        up_kbps: 2_000,
        delay_us: 50_000,
        queues: BDP,
    },
    Preset {
        name: "hsdpa",
        summary: "UMTS with HSDPA, 6 Mbit/s",
        source: A11,
        down_kbps: 6_000,
        up_kbps: 6_000,
        delay_us: 50_000,
        queues: BDP,
    },
    Preset {
        name: "lte",
        summary: "LTE, 50 Mbit/s",
        source: A11,
        down_kbps: 50_000,
        up_kbps: 50_000,
        delay_us: 15_000,
        queues: BDP,
    },
    Preset {
        name: "5g-nsa",
        summary: "5G with an LTE core, low band, 200 Mbit/s",
        source: NARAYANAN,
        down_kbps: 200_000,
        up_kbps: 70_000,
        delay_us: 6_000,
        queues: BDP,
    },
    Preset {
        name: "5g-nsa-mmwave",
        summary: "5G with an LTE core, millimetre waves, 2.2 Gbit/s",
        source: NARAYANAN,
        down_kbps: 2_200_000,
        up_kbps: 107_000,
        delay_us: 3_000,
        queues: BDP,
    },
    Preset {
        name: "5g-sa",
        summary: "standalone 5G, 270 Mbit/s",
        source: "rate down: Ookla, global median of the fourth quarter of 2025; up: Narayanan et al., SIGCOMM 2021, data of its artifact; delay: Rischke et al., IEEE Access 9, 2021, abstract (4 to 10 ms)",
        down_kbps: 270_000,
        up_kbps: 35_000,
        delay_us: 7_000,
        queues: BDP,
    },
    Preset {
        name: "wifi",
        summary: "Wi-Fi (802.11g), 54 Mbit/s",
        source: A11,
        down_kbps: 54_000,
        up_kbps: 54_000,
        delay_us: 2_000,
        queues: BDP,
    },
    Preset {
        name: "wifi-n",
        summary: "Wi-Fi (802.11n), half of 300 Mbit/s",
        source: "rate: half of what the modulation of two streams in 40 MHz gives; delay as of wifi",
        down_kbps: 150_000,
        up_kbps: 150_000,
        delay_us: 2_000,
        queues: BDP,
    },
    Preset {
        name: "wifi-ac",
        summary: "Wi-Fi (802.11ac), 360 of 867 Mbit/s",
        source: "rate: a tester's measurement of two streams in 80 MHz at 10 m (duckware.com); delay as of wifi",
        down_kbps: 360_000,
        up_kbps: 360_000,
        delay_us: 2_000,
        queues: BDP,
    },
    Preset {
        name: "geo",
        summary: "a geostationary satellite, 50 Mbit/s down and 10 Mbit/s up",
        source: "draft-kuhn-quic-4-sat-06, section 4.2 (650 ms of round trip, ground included); RFC 2488, section 2",
        down_kbps: 50_000,
        up_kbps: 10_000,
        delay_us: 325_000,
        queues: BDP,
    },
    Preset {
        name: "leo",
        summary: "low-orbit satellites (Starlink), 178 Mbit/s down and 17 Mbit/s up; without its losses (0.4 %, in bursts)",
        source: "Michel et al., IMC 2022, figure 5 and table 2 (rates, queues); Mohan et al., WWW 2024 (40 ms of round trip)",
        down_kbps: 178_000,
        up_kbps: 17_000,
        delay_us: 20_000,
        queues: (Room::Time(Duration::from_millis(160)), Room::Time(Duration::from_millis(260))),
    },
];
