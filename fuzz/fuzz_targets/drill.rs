//! The reader and the runner of drills: any text is a result or one error, in bounded time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midflight_drill::{run_drill, DrillRequest};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match run_drill(text, "fuzz.pkt", &DrillRequest::default()) {
        Ok(runs) => drop(runs),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
