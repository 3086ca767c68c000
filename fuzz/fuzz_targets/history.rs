#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| flashlag_fuzz::checks::history(text));
