//! The consensus payloads and certificates of every protocol on any bytes: an error, or what encodes to the same bytes.
#![no_main]

use chainbox::consensus::{dpos, pbft, poa, pos, raft};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let same = |encoded: &[u8], what: &str| assert_eq!(encoded, bytes, "one {what}, one encoding");
    if let Ok(payload) = poa::Payload::decode(bytes) {
        same(&payload.encoded(), "payload of proof of authority");
    }
    if let Ok(payload) = pos::Payload::decode(bytes) {
        same(&payload.encoded(), "payload of proof of stake");
    }
    if let Ok(payload) = dpos::Payload::decode(bytes) {
        same(&payload.encoded(), "payload of delegated proof of stake");
    }
    if let Ok(payload) = raft::Payload::decode(bytes) {
        same(&payload.encoded(), "payload of Raft");
    }
    if let Ok(seal) = pbft::Seal::decode(bytes) {
        same(&seal.encoded(), "seal of PBFT");
    }
    if let Some(proof) = pos::FinalityProof::decode(bytes) {
        same(&proof.encoded(), "proof of finality");
    }
});
