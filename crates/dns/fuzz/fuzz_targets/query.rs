#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flotilla_dns::fuzz::query_any(data));
