//! How much arguments take once they are decoded.
//!
//! Arguments lie at offsets, which may overlap: a list of a thousand offsets of one `bytes` decodes to a thousand copies of it. Whoever
//! decodes for a text, outside of gas, asks first.

use alloy_dyn_abi::DynSolType;
use alloy_primitives::U256;

const WORD: usize = 32;

/// Bytes of decoded arguments for each byte of the encoding, and in any case.
const GROWTH_MAX: usize = 4;
const BYTES_MIN: usize = 1024;

/// Bytes of decoded arguments that call data of so many bytes may have in memory while a frame runs. The canonical encoding needs less.
pub(super) const fn memory_limit(encoded: usize) -> usize {
    encoded.saturating_mul(16).saturating_add(16 * BYTES_MIN)
}

/// Returns whether decoding takes no more than some multiple of the encoding, as it does unless values overlap. What lies outside of the
/// encoding counts for nothing: the decoder refuses it.
pub(super) fn is_modest<'t>(types: impl IntoIterator<Item = &'t DynSolType>, bytes: &[u8]) -> bool {
    let left = bytes.len().saturating_mul(GROWTH_MAX).saturating_add(BYTES_MIN);
    Meter { bytes, left }.sequence(types.into_iter(), 0).is_some()
}

/// Walks over an encoding; `None` once more is used than there is.
struct Meter<'b> {
    bytes: &'b [u8],
    left: usize,
}

impl Meter<'_> {
    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }

    /// Returns the word at a position; zero outside.
    fn word(&self, at: usize) -> usize {
        let word = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<WORD>());
        word.map_or(0, |word| U256::from_be_bytes(*word).saturating_to())
    }

    /// Meters values whose heads follow each other from `base`.
    fn sequence<'t>(&mut self, types: impl Iterator<Item = &'t DynSolType>, base: usize) -> Option<()> {
        let mut head = base;
        for ty in types {
            self.value(ty, base, head)?;
            head = head.saturating_add(WORD * head_words(ty));
        }
        Some(())
    }

    /// Meters a value whose head is at `head`; an offset in it counts from `base`.
    fn value(&mut self, ty: &DynSolType, base: usize, head: usize) -> Option<()> {
        let is_dynamic = ty.is_dynamic();
        let at = if is_dynamic { base.saturating_add(self.word(head)) } else { head };
        self.spend(WORD)?;
        match ty {
            DynSolType::Bytes | DynSolType::String => self.spend(self.inside(at, self.word(at), 1)),
            DynSolType::Array(inner) => {
                let (first, words) = (at.saturating_add(WORD), head_words(inner));
                let length = self.inside(first, self.word(at), WORD * words);
                self.sequence(core::iter::repeat_n(inner.as_ref(), length), first)
            }
            DynSolType::FixedArray(inner, length) => self.sequence(core::iter::repeat_n(inner.as_ref(), *length), at),
            DynSolType::Tuple(types) => self.sequence(types.iter(), at),
            _ => Some(()),
        }
    }

    /// Returns a length, or 0 where so many elements of `size` bytes from `first` on are not there.
    fn inside(&self, first: usize, length: usize, size: usize) -> usize {
        let rest = self.bytes.len().saturating_sub(first);
        if length.saturating_mul(size.max(1)) <= rest { length } else { 0 }
    }
}

/// Words of a value's head: one with the offset of what has no fixed size.
fn head_words(ty: &DynSolType) -> usize {
    match ty {
        _ if ty.is_dynamic() => 1,
        DynSolType::Tuple(types) => types.iter().map(head_words).sum(),
        DynSolType::FixedArray(inner, length) => length.saturating_mul(head_words(inner)),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use alloy_dyn_abi::DynSolValue;
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[usize]) -> Vec<u8> {
        words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<WORD>()).collect()
    }

    /// A list of `count` tuples `(bytes)`, all of them one with `length` bytes.
    fn overlapping(count: usize, length: usize) -> (DynSolType, Vec<u8>) {
        let mut encoded = words(&[32, count]);
        encoded.extend(words(&vec![32 * count; count]));
        encoded.extend(words(&[32, length]));
        encoded.resize(encoded.len() + length, 7);
        (DynSolType::parse("(bytes)[]").unwrap(), encoded)
    }

    #[test]
    fn values_that_overlap_are_found_before_they_are_decoded() {
        let (ty, small) = overlapping(3, 320);
        assert!(is_modest([&ty], &small) && ty.abi_decode_params(&small).is_ok());
        let (ty, large) = overlapping(30, 6400);
        let decoded = ty.abi_decode_params(&large).unwrap();
        assert!(decoded.as_array().is_some_and(|list| list.len() == 30), "it decodes, to 30 times as much");
        assert!(!is_modest([&ty], &large));
        let lists = DynSolType::parse("uint256[][]").unwrap();
        let mut nested = words(&[32, 64]);
        nested.extend(words(&[64 * 32; 64]));
        nested.extend(words(&[64]));
        nested.extend(words(&[1; 64]));
        assert!(lists.abi_decode_params(&nested).is_ok() && !is_modest([&lists], &nested));
    }

    fn a_value() -> impl Strategy<Value = DynSolValue> {
        let leaf = prop_oneof![
            any::<u64>().prop_map(|number| DynSolValue::Uint(U256::from(number), 256)),
            any::<bool>().prop_map(DynSolValue::Bool),
            proptest::collection::vec(any::<u8>(), 0..70).prop_map(DynSolValue::Bytes),
            "[a-z]{0,40}".prop_map(DynSolValue::String),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                (inner.clone(), 1_usize..5).prop_map(|(value, count)| DynSolValue::Array(vec![value; count])),
                (inner.clone(), 1_usize..4).prop_map(|(value, count)| DynSolValue::FixedArray(vec![value; count])),
                proptest::collection::vec(inner, 1..4).prop_map(DynSolValue::Tuple),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_encoded_as_usual_is_modest(values in proptest::collection::vec(a_value(), 1..4)) {
            let types: Vec<_> = values.iter().map(|value| value.as_type().unwrap()).collect();
            let encoded = DynSolValue::Tuple(values).abi_encode_params();
            prop_assert!(is_modest(&types, &encoded));
        }

        #[test]
        fn arbitrary_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..400), small: bool) {
            let bytes: Vec<u8> = if small { bytes.chunks(4).flat_map(|it| words(&[usize::from(it[0])])).collect() } else { bytes };
            let types = ["(bytes,uint8[][])[]", "string[3][]", "(address,(bytes,bool)[])"];
            for ty in types.map(|ty| DynSolType::parse(ty).unwrap()) {
                is_modest([&ty], &bytes);
            }
        }
    }
}
