//! The reader of scenario files: any text is a plan or one error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midflight_study::scenario::{read_scenario, Origin};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for origin in [Origin::Toml("fuzz.toml"), Origin::Json] {
        match read_scenario(text, origin, &[], &[]) {
            Ok(plan) => drop(plan),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
