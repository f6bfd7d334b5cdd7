//! `Block::decode` on any bytes: an error or a block that encodes to the same bytes, never a panic.
#![no_main]

use chainbox::chain::Block;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(block) = Block::decode(bytes) {
        assert_eq!(block.encode(), bytes, "one block, one encoding");
        let stored = Block::decode_stored(&block.encode_stored()).expect("encoded just now");
        assert_eq!(stored.hash(), block.hash());
        assert!(stored.has_same_body(&block));
    }
    if let Ok(block) = Block::decode_stored(bytes) {
        assert_eq!(block.encode_stored(), bytes, "one stored block, one encoding");
    }
});
