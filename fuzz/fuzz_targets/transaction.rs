//! `Transaction::decode` on any bytes: an error or a transaction that encodes to the same bytes, never a panic.
#![no_main]

use chainbox::primitives::Transaction;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(transaction) = Transaction::decode(bytes) else { return };
    assert_eq!(transaction.encoded().as_ref(), bytes, "one transaction, one encoding");
    assert!(!transaction.is_impersonated(), "nothing from a wire is impersonated");
    assert_eq!(transaction.encoded_len(), bytes.len());
    let again = Transaction::decode_stored(bytes, transaction.sender()).expect("decoded once already");
    assert_eq!(again, transaction);
});
