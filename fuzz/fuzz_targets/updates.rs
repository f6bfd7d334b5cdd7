//! What a block changes outside of the state, from any bytes: parameters in front of a payload, and the stored form of a block's updates. What
//! decodes encodes to the same bytes, and a payload is either all the protocol's or parameters and the protocol's part.
#![no_main]

use chainbox::{
    chain::{Block, split_parameters},
    primitives::{Bytes, Header},
    system::{BlockUpdates, ParameterUpdates, ValidatorUpdates},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(updates) = BlockUpdates::from_bytes(bytes) {
        assert_eq!(updates.to_bytes(), bytes, "one list of updates, one encoding");
        assert_eq!(ValidatorUpdates::from_bytes(&updates.validators.to_bytes()), Some(updates.validators.clone()));
    }
    if let Some(updates) = ParameterUpdates::from_bytes(bytes) {
        assert_eq!(updates.to_bytes(), bytes, "one list of parameters, one encoding");
    }
    let payload = Bytes::copy_from_slice(bytes);
    let (updates, own) = split_parameters(&payload);
    assert!(own.len() <= payload.len() && payload.ends_with(&own));
    assert!(!updates.is_empty() || own.len() >= payload.len() - 2.min(payload.len()), "nothing is lost");
    // A block reads its payload in the same way, whatever it holds.
    let block = Block::new(Header::default(), Vec::new(), payload.clone(), Vec::new());
    assert_eq!((block.parameters(), block.protocol_payload(), block.payload()), (&updates, &own, &payload));
    // The protocol's part alone, in front of which are no parameters, is its own.
    let (none, same) = split_parameters(&own);
    assert!(updates.is_empty() || none.is_empty() || same.len() < own.len());
});
