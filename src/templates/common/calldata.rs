//! Arguments that Solidity leaves in call data: lists and structs are read where they are used, and checked no earlier.
//!
//! The checks are those of the code that solc makes for `calldata` arguments: offsets and lengths against the end of the call data, an
//! address' upper bytes when it is read. What they refuse reverts without data. Positions wrap at 2^256 and are compared as signed
//! numbers where solc does so.

use crate::vm::contract::*;

const WORD: U256 = U256::from_limbs([32, 0, 0, 0]);

/// Bit by which a word is negative.
const SIGN: U256 = U256::from_limbs([0, 0, 0, 1 << 63]);

/// Compute units of copying 32 bytes.
const COPY_UNITS: u64 = 6;

/// Highest offset and length that solc accepts.
const LENGTH_MAX: U256 = U256::from_limbs([u64::MAX, 0, 0, 0]);

/// The call data of a function, selector included.
#[derive(Clone, Copy, Debug)]
pub struct Calldata<'a>(&'a [u8]);

impl<'a> Calldata<'a> {
    /// Returns the call data of a function with so many parameters.
    ///
    /// # Errors
    /// A revert without data when it is shorter than their words.
    pub fn new(input: &'a [u8], parameters: usize) -> Result<Self, Stop> {
        accept(input.len() >= 4 + 32 * parameters).map(|()| Self(input))
    }

    /// Returns the word of parameter `index`, unchecked.
    pub fn word(self, index: usize) -> U256 {
        self.load(Self::head(index))
    }

    /// Returns the `address` that parameter `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn address(self, index: usize) -> Result<Address, Stop> {
        to_address(self.word(index))
    }

    /// Returns the `bool` that parameter `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn bool(self, index: usize) -> Result<bool, Stop> {
        let word = self.word(index);
        accept(word <= U256::ONE).map(|()| !word.is_zero())
    }

    /// Returns the struct of `words` words that parameter `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn tuple(self, index: usize, words: usize) -> Result<Tuple<'a>, Stop> {
        let at = self.dynamic(index)?;
        accept(!is_less(self.end().wrapping_sub(at), WORD * U256::from(words)))?;
        Ok(Tuple { data: self, at })
    }

    /// Returns the list that parameter `index` is, whose elements are structs of `words` words.
    ///
    /// # Errors
    /// A revert without data.
    pub fn tuples(self, index: usize, words: usize) -> Result<Tuples<'a>, Stop> {
        let (first, length) = self.list(index, WORD)?;
        Ok(Tuples { data: self, first, length, words })
    }

    /// Returns the list of words, unchecked, that parameter `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn words(self, index: usize) -> Result<Words<'a>, Stop> {
        let (first, length) = self.list(index, WORD)?;
        Ok(Words { data: self, first, length })
    }

    /// Returns the list of `bytes` that parameter `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn byte_strings(self, index: usize) -> Result<ByteStrings<'a>, Stop> {
        self.words(index).map(ByteStrings)
    }

    /// Returns the `bytes` or `string` that parameter `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn bytes(self, index: usize) -> Result<&'a [u8], Stop> {
        let (first, length) = self.list(index, U256::ONE)?;
        Ok(self.slice(first, length))
    }

    /// Returns where the elements of the list begin that parameter `index` is, of so many bytes each, and how many there are.
    fn list(self, index: usize, element_bytes: U256) -> Result<(U256, usize), Stop> {
        let at = self.dynamic(index)?;
        accept(is_less(at.wrapping_add(U256::from(31)), self.end()))?;
        let length = self.load(at);
        accept(length <= LENGTH_MAX)?;
        let first = at + WORD;
        accept(first + element_bytes * length <= self.end())?;
        Ok((first, length.to()))
    }

    /// Returns the `bytes` whose offset, from `base`, is at `at`.
    fn tail_bytes(self, base: U256, at: U256) -> Result<&'a [u8], Stop> {
        let at = self.tail(base, at, WORD)?;
        let length = self.load(at);
        accept(length <= LENGTH_MAX)?;
        let first = at.wrapping_add(WORD);
        accept(!is_less(self.end().wrapping_sub(length), first))?;
        Ok(self.slice(first, length.to()))
    }

    /// Returns so many bytes from a position on.
    ///
    /// Where a position has wrapped, the length lay after the end and is zero.
    fn slice(self, first: U256, length: usize) -> &'a [u8] {
        let range = usize::try_from(first).ok().and_then(|first| self.0.get(first..first.checked_add(length)?));
        range.unwrap_or_default()
    }

    const fn head(index: usize) -> U256 {
        U256::from_limbs([4 + 32 * index as u64, 0, 0, 0])
    }

    /// Returns where the value of parameter `index` lies.
    fn dynamic(self, index: usize) -> Result<U256, Stop> {
        let offset = self.word(index);
        accept(offset <= LENGTH_MAX)?;
        Ok(Self::head(0) + offset)
    }

    /// Returns where a member lies whose offset, from `base`, is at `at`, and of which there are at least so many bytes.
    fn tail(self, base: U256, at: U256, bytes_min: U256) -> Result<U256, Stop> {
        let offset = self.load(at);
        let bound = self.end().wrapping_sub(base).wrapping_sub(bytes_min - U256::ONE);
        accept(is_less(offset, bound))?;
        Ok(base.wrapping_add(offset))
    }

    /// Returns the word at a position, with zeros after the end (`calldataload`).
    fn load(self, at: U256) -> U256 {
        let rest = usize::try_from(at).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let mut word = [0; 32];
        let length = rest.len().min(32);
        word[..length].copy_from_slice(&rest[..length]);
        U256::from_be_bytes(word)
    }

    fn end(self) -> U256 {
        U256::from(self.0.len())
    }
}

/// A list of structs in call data.
#[derive(Clone, Copy, Debug)]
pub struct Tuples<'a> {
    data: Calldata<'a>,
    first: U256,
    length: usize,
    words: usize,
}

impl<'a> Tuples<'a> {
    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the elements, each an error where it lies outside of the call data.
    pub fn iter(self) -> impl Iterator<Item = Result<Tuple<'a>, Stop>> {
        (0..self.length).map(move |index| {
            let offset = self.first + WORD * U256::from(index);
            let at = self.data.tail(self.first, offset, WORD * U256::from(self.words))?;
            Ok(Tuple { data: self.data, at })
        })
    }
}

/// A list of words in call data.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    data: Calldata<'a>,
    first: U256,
    length: usize,
}

impl Words<'_> {
    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the elements, unchecked.
    pub fn iter(self) -> impl Iterator<Item = U256> {
        (0..self.length).map(move |index| self.data.load(self.position(index)))
    }

    /// Returns the elements as `address`es, each an error where its upper bytes are not zero.
    pub fn addresses(self) -> impl Iterator<Item = Result<Address, Stop>> {
        self.iter().map(to_address)
    }

    fn position(&self, index: usize) -> U256 {
        self.first + WORD * U256::from(index)
    }
}

/// A list of `bytes` in call data.
#[derive(Clone, Copy, Debug)]
pub struct ByteStrings<'a>(Words<'a>);

impl<'a> ByteStrings<'a> {
    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.0.length
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the elements, each an error where it lies outside of the call data.
    pub fn iter(self) -> impl Iterator<Item = Result<&'a [u8], Stop>> {
        (0..self.len()).map(move |index| self.0.data.tail_bytes(self.0.first, self.0.position(index)))
    }
}

/// A struct in call data.
#[derive(Clone, Copy, Debug)]
pub struct Tuple<'a> {
    data: Calldata<'a>,
    at: U256,
}

impl<'a> Tuple<'a> {
    /// Returns the word of member `index`, unchecked.
    pub fn word(self, index: usize) -> U256 {
        self.data.load(self.member(index))
    }

    /// Returns the `address` that member `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn address(self, index: usize) -> Result<Address, Stop> {
        to_address(self.word(index))
    }

    /// Returns the `bytes` that member `index` is.
    ///
    /// # Errors
    /// A revert without data.
    pub fn bytes(self, index: usize) -> Result<&'a [u8], Stop> {
        self.data.tail_bytes(self.at, self.member(index))
    }

    fn member(self, index: usize) -> U256 {
        self.at.wrapping_add(WORD * U256::from(index))
    }
}

/// Charges what the EVM does for a copy in memory, so that nobody has much passed on or returned for little.
///
/// # Errors
/// [`Stop`]: out of gas.
pub fn charge_copy(host: &mut Host<'_>, bytes: &[u8]) -> Result<(), Stop> {
    host.compute(COPY_UNITS * bytes.len().div_ceil(32) as u64)
}

/// Returns whether `a` is less than `b` as signed numbers (`slt`).
fn is_less(a: U256, b: U256) -> bool {
    (a ^ SIGN) < (b ^ SIGN)
}

fn to_address(word: U256) -> Result<Address, Stop> {
    accept(word >> 160 == U256::ZERO).map(|()| Address::from_word(word.into()))
}

fn accept(condition: bool) -> Result<(), Stop> {
    if condition { Ok(()) } else { Err(empty_revert()) }
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::sol;
    use proptest::prelude::*;

    use super::*;

    sol! {
        #[derive(Debug)]
        struct Item {
            address target;
            uint256 amount;
            bytes data;
        }

        function list(bool isOn, Item[] items);
        function one(Item item);
    }

    fn an_item() -> impl Strategy<Value = Item> {
        let data = proptest::collection::vec(any::<u8>(), 0..70);
        (any::<[u8; 20]>(), any::<u64>(), data).prop_map(|(target, amount, data)| Item {
            target: target.into(),
            amount: U256::from(amount),
            data: data.into(),
        })
    }

    type Read = (Address, U256, Vec<u8>);

    fn read(item: Tuple<'_>) -> Result<Read, Stop> {
        Ok((item.address(0)?, item.word(1), item.bytes(2)?.to_vec()))
    }

    fn read_list(input: &[u8]) -> Result<(bool, Vec<Read>), Stop> {
        let data = Calldata::new(input, 2)?;
        let items = data.tuples(1, 3)?.iter().map(|item| read(item?)).collect::<Result<_, _>>()?;
        Ok((data.bool(0)?, items))
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_read_and_all_of_it_is_needed(
            is_on: bool,
            items in proptest::collection::vec(an_item(), 0..4),
            cut: prop::sample::Index,
        ) {
            let want: Vec<_> = items.iter().map(|item| (item.target, item.amount, item.data.to_vec())).collect();
            for item in &items {
                let input = oneCall { item: item.clone() }.abi_encode();
                let got = Calldata::new(&input, 1).and_then(|data| read(data.tuple(0, 3)?)).unwrap();
                prop_assert_eq!(got, (item.target, item.amount, item.data.to_vec()));
            }
            let input = listCall { isOn: is_on, items: items.clone() }.abi_encode();
            prop_assert_eq!(read_list(&input), Ok((is_on, want.clone())));
            // The bytes after the last item's data are padding, which solc does not ask for.
            let padding = items.last().map_or(0, |item| item.data.len().next_multiple_of(32) - item.data.len());
            let needed = input.len() - padding;
            prop_assert_eq!(read_list(&input[..needed]), Ok((is_on, want)));
            prop_assert_eq!(read_list(&input[..cut.index(needed)]), Err(empty_revert()));
        }

        /// Whatever the offsets and lengths are: no panic, and what alloy's decoder accepts is read as it reads it.
        #[test]
        fn arbitrary_words_are_read_or_refused(
            words in proptest::collection::vec(
                prop_oneof![
                    4 => (0_u64..10).prop_map(|word| U256::from(32 * word)),
                    2 => (0_u64..4).prop_map(U256::from),
                    1 => (0_u64..300).prop_map(|word| U256::MAX - U256::from(word)),
                    1 => any::<[u64; 4]>().prop_map(U256::from_limbs),
                ],
                0..20,
            ),
            tail: [u8; 3],
        ) {
            let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes::<32>()).collect();
            let input = [listCall::SELECTOR.as_slice(), &words, &tail].concat();
            let got = read_list(&input);
            if let Ok(listCall { isOn, items }) = listCall::abi_decode_validate(&input) {
                let items = items.into_iter().map(|item| (item.target, item.amount, item.data.to_vec())).collect();
                prop_assert_eq!(got, Ok((isOn, items)));
            }
        }
    }

    #[test]
    fn numbers_are_compared_as_signed_ones() {
        let ordered = [SIGN, U256::MAX, U256::ZERO, U256::ONE, SIGN - U256::ONE];
        for (index, number) in ordered.iter().enumerate() {
            for (other, greater) in ordered.iter().enumerate() {
                assert_eq!(is_less(*number, *greater), index < other, "{number}, {greater}");
            }
        }
    }
}
