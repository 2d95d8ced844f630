//! The decoder of packets: any bytes are a segment or one error, and a segment is the same after another round.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midflight_wire::{Header, WireError};

fuzz_target!(|data: &[u8]| match Header::decode(data) {
    Ok((header, payload)) => match header.encode(payload) {
        Ok(again) => assert_eq!(Header::decode(&again), Ok((header, payload))),
        // Options without padding between them take less room than with it.
        Err(error) => assert!(matches!(error, WireError::Long { .. }), "{error}"),
    },
    Err(error) => assert!(!error.to_string().is_empty()),
});
