//! Traces: reading is total, what was read survives both of its forms, and replaying it ends without a panic.
#![no_main]

use chainbox::sim::trace::{Replay, Trace};
use libfuzzer_sys::fuzz_target;

const STEPS_MAX: usize = 1_000;

fuzz_target!(|bytes: &[u8]| {
    let _ = Trace::read(bytes);
    let Ok(trace) = Trace::read_incomplete(bytes) else { return };
    assert_eq!(Trace::read(&trace.to_binary()).expect("written just now"), trace);
    assert_eq!(Trace::read(trace.to_ndjson().as_bytes()).expect("written just now"), trace);
    let Ok(mut replay) = Replay::new(&trace) else { return };
    for _ in 0..STEPS_MAX {
        if !matches!(replay.step(), Ok(Some(_))) {
            break;
        }
    }
});
