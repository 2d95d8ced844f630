//! The size of the Linux sender's bursts: what one buffer takes to the network card, which segments it (TSO).
//!
//! The names are the kernel's: `gso_max_segs` is an attribute of the device (`ip link set DEVICE gso_max_segs N`,
//! sk_setup_caps()), the others are sysctls of net.ipv4. A device without segmentation offload (`ethtool -K DEVICE tso off
//! gso off`) has no smaller bursts: TCP always builds large buffers, and the kernel segments them before the device.

use std::ops::RangeInclusive;

/// Parameters of tcp_tso_segs(), tcp_tso_should_defer() and tcp_small_queue_check().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// The most segments in a burst. A burst also has at most 64 KB.
    pub gso_max_segs: u32,
    /// The least segments in a full burst, unless the controller sets that (tcp_min_tso_segs). `gso_max_segs` takes
    /// precedence.
    pub least_segments: u32,
    /// A burst may wait for an ACK unless this part of the window is free; 0: unless more than three segments are
    /// (tcp_tso_win_divisor).
    pub window_divisor: u32,
    /// Bursts are larger on a short path: by 64 KB, halved for every 2^n us of the minimum RTT (tcp_tso_rtt_log).
    pub rtt_log: u32,
    /// Maximum memory of a sender that is not paced in the queue below TCP, in bytes, unless two bursts take more
    /// (tcp_limit_output_bytes).
    pub output_bytes: u32,
}

/// Settings, and which values the kernel accepts.
const SETTINGS: [(&str, RangeInclusive<u64>); 5] = [
    ("gso_max_segs", 1..=65_535),
    ("tcp_min_tso_segs", 1..=255),
    ("tcp_tso_win_divisor", 0..=255),
    ("tcp_tso_rtt_log", 0..=31),
    ("tcp_limit_output_bytes", 4096..=2_147_483_647),
];

impl Bursts {
    /// The defaults of Linux 6.12 (tcp_sk_init(), alloc_netdev_mqs()).
    pub const LINUX: Self = Self {
        gso_max_segs: 65_535,
        least_segments: 2,
        window_divisor: 3,
        rtt_log: 9,
        output_bytes: 1 << 20,
    };

    /// The settings with their values, in the order of [`SETTINGS`].
    fn fields(&mut self) -> [&mut u32; 5] {
        [
            &mut self.gso_max_segs,
            &mut self.least_segments,
            &mut self.window_divisor,
            &mut self.rtt_log,
            &mut self.output_bytes,
        ]
    }

    /// The sysctls of net.ipv4 with their values.
    pub fn sysctls(mut self) -> impl Iterator<Item = (&'static str, u32)> {
        let values = self.fields().map(|value| *value);
        let named = SETTINGS.iter().map(|(name, _)| *name).zip(values);
        named.filter(|(name, _)| name.starts_with("tcp_"))
    }

    /// The value of a setting.
    pub(super) fn get(mut self, name: &str) -> String {
        let at = SETTINGS.iter().position(|(known, _)| *known == name);
        at.map_or_else(String::new, |at| self.fields()[at].to_string())
    }

    /// Changes a setting; whether the value is accepted.
    pub(super) fn set(&mut self, name: &str, value: &str) -> bool {
        let at = SETTINGS.iter().position(|(known, _)| *known == name);
        let value = value.parse::<u64>().ok();
        match at.zip(value) {
            Some((at, value)) if SETTINGS[at].1.contains(&value) => {
                *self.fields()[at] = value as u32;
                true
            }
            _ => false,
        }
    }
}
