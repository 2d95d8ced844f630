//! Parts of a run in the lab that need Linux.

use midflight_study::lab;
use midflight_units::Instant;

#[cfg(target_os = "linux")]
pub(crate) fn send(sender: &mut lab::OurSender, origin: Instant) -> Result<(), String> {
    use std::io::Write;

    let said = |error: std::io::Error| error.to_string();
    let mut device = midflight_lab::Device::of_stdin(origin).map_err(said)?;
    let turns = lab::drive(sender, &mut device)?;
    let mut out = std::io::stdout();
    out.write_all(&turns)
        .and_then(|()| out.flush())
        .map_err(said)
}

#[cfg(target_os = "linux")]
pub(crate) fn emulate(
    emulator: lab::Emulator,
    devices: &[(u16, i32)],
    stop: i32,
    origin: Instant,
) -> Result<Vec<u8>, String> {
    let said = |error: midflight_lab::HostError| error.to_string();
    let handed = midflight_lab::Handed::new(devices, stop).map_err(said)?;
    midflight_lab::emulate(emulator, &handed, origin).map_err(said)
}

#[cfg(target_os = "linux")]
pub(crate) fn serve(emulator: lab::Emulator, file: i32) -> Result<Vec<u8>, String> {
    let said = |error: midflight_lab::HostError| error.to_string();
    let driver = midflight_lab::Driver::new(file).map_err(said)?;
    midflight_lab::serve(emulator, &driver).map_err(said)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn serve(_: lab::Emulator, _: i32) -> Result<Vec<u8>, String> {
    Err("the lab is for Linux".into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn emulate(
    _: lab::Emulator,
    _: &[(u16, i32)],
    _: i32,
    _: Instant,
) -> Result<Vec<u8>, String> {
    Err("the lab is for Linux".into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn send(_: &mut lab::OurSender, _: Instant) -> Result<(), String> {
    Err("the lab is for Linux".into())
}
