//! Proof of authority's consensus payload on any bytes: an error or a payload that encodes to the same bytes.
#![no_main]

use chainbox::consensus::poa::Payload;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(payload) = Payload::decode(bytes) {
        assert_eq!(payload.encoded().as_ref(), bytes, "one payload, one encoding");
    }
});
