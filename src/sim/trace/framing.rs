//! Records of the binary form: a length, then so many bytes.

use serde::Serialize;

/// Appends a record.
pub(super) fn push_record(out: &mut Vec<u8>, value: &impl Serialize) {
    // Encoding a trace never fails: lengths are known and maps are sorted.
    let bytes = postcard::to_allocvec(value).unwrap_or_default();
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(&bytes);
}
