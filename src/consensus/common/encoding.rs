//! The canonical byte form of protocol states.

use crate::{
    chain::Block,
    primitives::{Address, B256, Timestamp},
};

/// Collects a canonical encoding: integers big-endian and of fixed width, byte strings and lists after their
/// length as a `u32`, options after a presence byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// Nothing written yet.
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Nothing written yet, and room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// One byte, 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    /// Four bytes, big-endian.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Eight bytes, big-endian.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Sixteen bytes, big-endian.
    pub fn u128(&mut self, value: u128) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Twenty bytes.
    pub fn address(&mut self, value: &Address) {
        self.bytes.extend_from_slice(value.as_slice());
    }

    /// Thirty-two bytes.
    pub fn hash(&mut self, value: &B256) {
        self.bytes.extend_from_slice(value.as_slice());
    }

    /// Seconds, as eight bytes.
    pub fn timestamp(&mut self, value: Timestamp) {
        self.u64(value.as_secs());
    }

    /// The length of a list or byte string; longer than `u32::MAX` is clamped, which no bounded state reaches.
    pub fn len(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }

    /// A byte string after its length.
    pub fn bytes(&mut self, value: &[u8]) {
        self.len(value.len());
        self.bytes.extend_from_slice(value);
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
    }

    /// A block as [`Block::encode_stored`] writes it.
    pub(in crate::consensus) fn stored_block(&mut self, block: &Block) {
        block.append_stored(&mut self.bytes);
    }

    /// What `write` writes, after its length.
    pub(crate) fn framed(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.u32(0);
        write(self);
        let length = u32::try_from(self.bytes.len() - start - 4).unwrap_or(u32::MAX);
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Forgets what was written and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A presence byte, then the value if there is one.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// A list after its length.
    pub fn list<T>(&mut self, values: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.len(values.len());
        for value in values {
            write(self, value);
        }
    }

    /// What was written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written, given away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// BLAKE3 of what was written.
    pub fn digest(&self) -> B256 {
        B256::new(*blake3::hash(&self.bytes).as_bytes())
    }
}

/// Reads what an [`Encoder`] wrote; `None` at the first byte that does not fit.
#[derive(Clone, Debug)]
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(in crate::consensus) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(in crate::consensus) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(in crate::consensus) fn bool(&mut self) -> Option<bool> {
        match self.array::<1>()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    pub(in crate::consensus) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(in crate::consensus) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(in crate::consensus) fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_be_bytes)
    }

    pub(in crate::consensus) fn address(&mut self) -> Option<Address> {
        self.array().map(Address::new)
    }

    pub(in crate::consensus) fn hash(&mut self) -> Option<B256> {
        self.array().map(B256::new)
    }

    pub(in crate::consensus) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = u32::from_be_bytes(self.array()?);
        (0..length).map(|_| read(self)).collect()
    }

    /// A presence byte, then the value if there is one; the outer `None` for bytes that do not fit.
    pub(in crate::consensus) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Some(None) }
    }

    /// A byte string after its length.
    pub(in crate::consensus) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Whether everything was read.
    pub(in crate::consensus) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_and_order_are_fixed() {
        let mut out = Encoder::new();
        out.u32(1);
        out.option(Some(2_u64), Encoder::u64);
        out.option(None, Encoder::u64);
        out.framed(|out| out.u8(7));
        assert_eq!(out.as_bytes(), [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 7]);
    }
}
