//! The canonical byte form of protocol states.

use serde::Serialize;

use super::codec::encode_value;
use crate::{
    chain::Block,
    primitives::{Address, B256, Timestamp},
    system::{BlockUpdates, ParameterUpdates, ValidatorUpdates},
};

/// Writes a canonical encoding: integers big-endian and of fixed width, byte strings and lists after their
/// length as a `u32`, options after a presence byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// Returns an empty encoder.
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Returns an empty encoder with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    /// Writes one byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Writes one byte, 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    /// Writes four bytes, big-endian.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Writes eight bytes, big-endian.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Writes sixteen bytes, big-endian.
    pub fn u128(&mut self, value: u128) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Writes twenty bytes.
    pub fn address(&mut self, value: &Address) {
        self.bytes.extend_from_slice(value.as_slice());
    }

    /// Writes thirty-two bytes.
    pub fn hash(&mut self, value: &B256) {
        self.bytes.extend_from_slice(value.as_slice());
    }

    /// Writes seconds, as eight bytes.
    pub fn timestamp(&mut self, value: Timestamp) {
        self.u64(value.as_secs());
    }

    /// Writes the length of a list or byte string; lengths above `u32::MAX`, which no bounded state reaches, are clamped.
    pub fn len(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }

    /// Writes a byte string after its length.
    pub fn bytes(&mut self, value: &[u8]) {
        self.len(value.len());
        self.bytes.extend_from_slice(value);
    }

    /// Writes bytes without their length.
    pub(crate) fn raw(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
    }

    /// Writes a block as [`Block::encode_stored`] does.
    pub(in crate::consensus) fn stored_block(&mut self, block: &Block) {
        block.append_stored(&mut self.bytes);
    }

    /// Writes what `write` writes, after its length.
    pub(crate) fn framed(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.u32(0);
        write(self);
        let length = u32::try_from(self.bytes.len() - start - 4).unwrap_or(u32::MAX);
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Removes all content and keeps the capacity.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Writes a presence byte, then the value if there is one.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// Writes a list after its length.
    pub fn list<T>(&mut self, values: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.len(values.len());
        for value in values {
            write(self, value);
        }
    }

    /// Writes a value's encoding in postcard's wire format, after its length.
    ///
    /// # Panics
    /// When the `Serialize` of `T` fails: it has a list of unknown length, which derived ones have not.
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) {
        self.bytes(&encode_value(value));
    }

    /// Writes changed parameters of the chain after everything else; no bytes when there are none.
    pub(in crate::consensus) fn parameters_at_end(&mut self, parameters: &ParameterUpdates) {
        self.raw(&parameters.to_bytes());
    }

    /// Writes changes of validators that wait and of parameters, after everything else; no bytes for none of both.
    pub(in crate::consensus) fn updates_at_end(
        &mut self,
        validators: &ValidatorUpdates,
        parameters: &ParameterUpdates,
    ) {
        let updates = BlockUpdates { validators: validators.clone(), parameters: parameters.clone() };
        self.raw(&updates.to_bytes());
    }

    /// Returns the content.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the content, consuming the encoder.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the BLAKE3 of the content.
    pub fn digest(&self) -> B256 {
        B256::new(*blake3::hash(&self.bytes).as_bytes())
    }
}

/// Decodes the output of an [`Encoder`]; `None` at the first malformed byte.
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

    /// Reads a presence byte, then the value if there is one; the outer `None` for malformed bytes.
    pub(in crate::consensus) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Some(None) }
    }

    /// Reads a byte string after its length.
    pub(in crate::consensus) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads what [`Encoder::parameters_at_end`] writes: all that is left.
    pub(in crate::consensus) fn parameters_at_end(&mut self) -> Option<ParameterUpdates> {
        ParameterUpdates::from_bytes(core::mem::take(&mut self.rest))
    }

    /// Reads what [`Encoder::updates_at_end`] writes: all that is left.
    pub(in crate::consensus) fn updates_at_end(&mut self) -> Option<(ValidatorUpdates, ParameterUpdates)> {
        let BlockUpdates { validators, parameters } = BlockUpdates::from_bytes(core::mem::take(&mut self.rest))?;
        Some((validators, parameters))
    }

    /// Returns whether all bytes were read.
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
        out.clear();
        out.value(&(1_u64, true));
        assert_eq!(out.as_bytes(), [0, 0, 0, 2, 1, 1]);
    }
}
