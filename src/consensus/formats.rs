//! Encodings of what is signed and stored, byte by byte. Chains, records and evidence that exist depend on them: a change of one is a new format,
//! and no change of another thing may change one.
//!
//! Each protocol's payloads and records are in the `formats` of its tests.

use super::{Authenticator, Purpose, Record};
use crate::primitives::{Address, B256, Bytes, KeyPair, Signature, hex, keccak256, recover_signer};

/// Twenty bytes of `0x11`, and of `0x22`.
pub(super) const ADDRESS_1: &str = "1111111111111111111111111111111111111111";
pub(super) const ADDRESS_2: &str = "2222222222222222222222222222222222222222";
/// Thirty-two bytes of `0xaa`, of `0xbb`, and of zero.
pub(super) const HASH_A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub(super) const HASH_B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
pub(super) const HASH_ZERO: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A field's name, and its bytes in hexadecimal.
pub(super) type Field<'a> = (&'a str, &'a str);

/// The addresses [`ADDRESS_1`] and [`ADDRESS_2`].
pub(super) fn addresses() -> [Address; 2] {
    [0x11, 0x22].map(Address::repeat_byte)
}

/// The hashes [`HASH_A`] and [`HASH_B`].
pub(super) fn hashes() -> [B256; 2] {
    [0xaa, 0xbb].map(B256::repeat_byte)
}

/// Checks that an encoding consists of these fields, in order; else names the format and the first field that differs.
pub(super) fn assert_format(format: &str, got: &[u8], fields: &[Field<'_>]) {
    let whole = hex::encode(got);
    let mut rest = whole.as_str();
    for (field, bytes) in fields {
        rest = rest.strip_prefix(*bytes).unwrap_or_else(|| {
            panic!("the format of {format} has changed: {field} should be {bytes}, and {rest} follows; whole: {whole}")
        });
    }
    assert!(rest.is_empty(), "the format of {format} has changed: {rest} follows its last field; whole: {whole}");
}

/// Checks the key of a record, a text and then fields, and the fields of its content.
pub(super) fn assert_record(format: &str, record: &Record, text: &str, key: &[Field<'_>], content: &[Field<'_>]) {
    let rest = record.key.strip_prefix(text.as_bytes()).unwrap_or_else(|| {
        panic!("the key of {format} has changed: it should begin with {text:?}, and is {}", record.key)
    });
    assert_format(&format!("the key of {format}"), rest, key);
    let value = record.value().unwrap_or_else(|| panic!("{format} has no value"));
    let got = Record::content(&value).unwrap_or_else(|| panic!("{format} has no checksum of its content"));
    assert_format(&format!("the record of {format}"), got, content);
}

/// The hash that a signature is made over, for each purpose, on the chain with genesis [`HASH_A`], in place of the hash [`HASH_B`].
const DIGESTS: [(Purpose, &str, &str); 3] = [
    (Purpose::Block, "01", "e22fb63543aa48a21acd00ba1e502a7cacc848d0bf5aff8c7d77dbc639806d65"),
    (Purpose::Message, "02", "8d840a961acdc6b29268b2f137296d609918c1a93d73b20af3a85655f81e9cf4"),
    (Purpose::Secret, "03", "6eb8f2bee73f31f34d3356a97c56db56d7c4d6b9fb808d4fac014d9bf402d2c5"),
];

#[test]
fn a_signature_is_over_the_domain_of_its_chain_and_purpose() {
    let (key, [chain, hash]) = (KeyPair::from_seed(1, "validator 0"), hashes());
    let signer = Authenticator::secp256k1().for_chain(chain).signer(&key);
    for (purpose, code, digest) in DIGESTS {
        // "chainbox", the purpose, the hash of genesis, the hash.
        let signed = ["636861696e626f78", code, HASH_A, HASH_B].concat();
        assert_eq!(hex::encode(keccak256(hex::decode(signed).unwrap())), digest, "{purpose:?}");
        let seal = signer.sign(purpose, hash);
        let (scalars, parity) = seal.split_at(64);
        assert!(parity == [0] || parity == [1], "{purpose:?}: r, s, and the parity as 0 or 1: {seal}");
        let signature = Signature::from_bytes_and_parity(scalars, parity == [1]);
        let digest = B256::from_slice(&hex::decode(digest).unwrap());
        let author = recover_signer(digest, &signature);
        assert_eq!(author, Ok(key.address()), "the domain of a {purpose:?} signature has changed");
    }
}

#[test]
fn a_symbolic_seal_is_the_address_and_a_tag() {
    let key = KeyPair::from_seed(1, "validator 0");
    let seal = Authenticator::symbolic(1).for_chain(hashes()[0]).signer(&key).sign(Purpose::Block, hashes()[1]);
    assert_eq!((&seal[..20], seal.len()), (key.address().as_slice(), 52));
}

/// The checksum is the beginning of a published BLAKE3 hash, that of "abc".
#[test]
fn a_records_value_is_a_checksum_and_its_content() {
    let record = Record::whole(Bytes::from_static(b"key"), b"abc");
    let fields = [("first 8 bytes of the content's BLAKE3", "6437b3ac38465133"), ("content", "616263")];
    assert_format("a record's value", &record.value().unwrap(), &fields);
}
