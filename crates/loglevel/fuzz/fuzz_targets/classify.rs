#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flotilla_loglevel::fuzz::classify_any(data));
