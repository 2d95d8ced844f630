//! Addresses and settings of the endpoints.

use std::net::{Ipv4Addr, SocketAddrV4};

use midflight_endpoint::Settings;
use midflight_tcp::scheme::Scheme;
use midflight_units::Duration;

pub(crate) const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 49_152);
pub(crate) const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 1, 0, 1), 80);

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn settings(scheme: &str, profile: &str, knobs: &[(&str, &str)]) -> Settings {
    let knobs: Vec<_> = knobs
        .iter()
        .map(|&(name, value)| (name.into(), value.into()))
        .collect();
    let built = Scheme::named(scheme).and_then(|s| s.build(profile, &knobs));
    Settings::new(built.unwrap_or_else(|e| panic!("{e}")))
}

pub(crate) fn plain() -> Settings {
    settings("sack", "rfc", &[])
}
