//! How solc's decoder takes arguments into memory, for call data that alloy's decoder refuses.
//!
//! Both accept the same but for two things: a length for which there is no memory is `Panic(0x41)` in solc, and a `string` may have
//! any bytes ("Panic via assert and Error via require" and "Strict Encoding Mode" in Solidity's documentation).

use alloy_dyn_abi::DynSolType;
use alloy_primitives::U256;

/// First free byte of memory in a contract of solc.
const MEMORY_START: u128 = 0x80;

/// Last byte of memory that solc allocates.
const MEMORY_END: u128 = u64::MAX as u128;

const WORD: u128 = 32;

/// What follows the type of an argument that is not taken into memory.
const CALLDATA: &str = " calldata";

/// What solc's decoder makes of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    /// A revert without data.
    Refused,
    /// `Panic(0x41)`: a length for which there is no memory.
    OutOfMemory,
}

/// Returns what solc's decoder makes of the arguments of a function, such as `setURI(string)`: values of one word, `bytes`, strings,
/// and lists of these; others are refused. `string calldata` in it, or `bytes calldata`, is an argument that solc leaves where it is.
pub(super) fn judge(signature: &str, args: &[u8]) -> Verdict {
    let listed = signature.split_once('(').map_or("", |(_, listed)| listed.trim_end_matches(')'));
    let calldata: Vec<bool> = listed.split(',').map(|argument| argument.ends_with(CALLDATA)).collect();
    let Ok(DynSolType::Tuple(types)) = DynSolType::parse(&format!("({})", listed.replace(CALLDATA, ""))) else {
        return Verdict::Refused;
    };
    let mut memory = Memory { args, free: MEMORY_START };
    if memory.end() < WORD * types.len() as u128 {
        return Verdict::Refused;
    }
    match memory.arguments(&types, &calldata) {
        Ok(()) => Verdict::Accepted,
        Err(verdict) => verdict,
    }
}

/// Arguments on their way into memory.
struct Memory<'a> {
    args: &'a [u8],
    /// First free byte.
    free: u128,
}

impl Memory<'_> {
    fn end(&self) -> u128 {
        self.args.len() as u128
    }

    /// Returns the word at a position, which ends before the arguments do.
    fn word(&self, at: u128) -> Result<U256, Verdict> {
        let start = usize::try_from(at).map_err(|_| Verdict::Refused)?;
        let word = self.args.get(start..).and_then(|rest| rest.first_chunk::<32>());
        word.map(|word| U256::from_be_bytes(*word)).ok_or(Verdict::Refused)
    }

    /// Takes the arguments, in order.
    fn arguments(&mut self, types: &[DynSolType], calldata: &[bool]) -> Result<(), Verdict> {
        for ((index, ty), stays) in (0..).zip(types).zip(calldata) {
            let word = self.word(WORD * index)?;
            match ty {
                DynSolType::Bytes | DynSolType::String if *stays => self.stays(word)?,
                DynSolType::Bytes | DynSolType::String | DynSolType::Array(_) => {
                    let offset = u64::try_from(word).map_err(|_| Verdict::Refused)?;
                    self.dynamic(ty, offset.into())?;
                }
                _ if is_clean(ty, word) => {}
                _ => return Err(Verdict::Refused),
            }
        }
        Ok(())
    }

    /// Checks a value of bytes that stays where it is: any length beyond the arguments' end is refused.
    fn stays(&self, offset: U256) -> Result<(), Verdict> {
        let offset = u64::try_from(offset).map_err(|_| Verdict::Refused)?;
        let length = u64::try_from(self.word(offset.into())?).map_err(|_| Verdict::Refused)?;
        let is_there = u128::from(offset) + WORD + u128::from(length) <= self.end();
        if is_there { Ok(()) } else { Err(Verdict::Refused) }
    }

    /// Takes a list's elements.
    fn elements(&mut self, ty: &DynSolType, length: u64, first: u128) -> Result<(), Verdict> {
        for index in 0..u128::from(length) {
            let word = self.word(first + WORD * index)?;
            match ty {
                DynSolType::Bytes | DynSolType::String | DynSolType::Array(_) => {
                    // From the first element's word on.
                    let offset = u64::try_from(word).map_err(|_| Verdict::Refused)?;
                    self.dynamic(ty, first + u128::from(offset))?;
                }
                _ if is_clean(ty, word) => {}
                _ => return Err(Verdict::Refused),
            }
        }
        Ok(())
    }

    /// Takes a value that has a length at a position.
    fn dynamic(&mut self, ty: &DynSolType, at: u128) -> Result<(), Verdict> {
        let length = u64::try_from(self.word(at)?).map_err(|_| Verdict::OutOfMemory)?;
        let content = match ty {
            DynSolType::Array(_) => WORD * u128::from(length),
            _ => u128::from(length),
        };
        self.free += WORD + content.next_multiple_of(WORD);
        if self.free > MEMORY_END {
            return Err(Verdict::OutOfMemory);
        }
        if at + WORD + content > self.end() {
            return Err(Verdict::Refused);
        }
        match ty {
            DynSolType::Array(element) => self.elements(element, length, at + WORD),
            _ => Ok(()),
        }
    }
}

/// Returns whether a word has no bits but those of its type.
fn is_clean(ty: &DynSolType, word: U256) -> bool {
    match ty {
        DynSolType::Bool => word <= U256::ONE,
        DynSolType::Address => word.bit_len() <= 160,
        DynSolType::Uint(bits) => word.bit_len() <= *bits,
        DynSolType::FixedBytes(len) => word.trailing_zeros() >= 256 - 8 * len,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes};
    use alloy_sol_types::{SolValue, sol_data};
    use proptest::prelude::*;

    use super::*;
    use crate::vm::abi;

    const SIGNATURE: &str = "take(address,uint256[],bytes,uint8,bytes4,bool)";
    const LISTS: &str = "list(bytes[],uint8)";

    fn lists() -> Vec<u8> {
        let list = vec![Bytes::from_static(b"some data"), Bytes::new(), Bytes::from_static(&[7; 33])];
        (list, U256::from(9)).abi_encode_params()
    }

    fn args() -> Vec<u8> {
        let numbers = vec![U256::from(7), U256::from(8)];
        let data = Bytes::from_static(b"some data");
        (Address::repeat_byte(1), numbers, data, U256::from(9), alloy_primitives::FixedBytes([1, 2, 3, 4]), true)
            .abi_encode_params()
    }

    /// Returns the arguments with a word replaced.
    fn with(index: usize, word: U256) -> Vec<u8> {
        let mut args = args();
        args[32 * index..][..32].copy_from_slice(&word.to_be_bytes::<32>());
        args
    }

    #[test]
    fn a_length_without_memory_is_a_panic_and_an_offset_is_not() {
        let (list, data) = (6, 9);
        let past = U256::from(u64::MAX) + U256::ONE;
        for length in [U256::MAX, past, past - U256::ONE, past - U256::from(200)] {
            assert_eq!(judge(SIGNATURE, &with(list, length)), Verdict::OutOfMemory, "{length}");
        }
        // Thirty-two bytes an element, after those that are allocated.
        let most = (u64::MAX - 0x80 - 32) / 32;
        assert_eq!(judge(SIGNATURE, &with(list, U256::from(most))), Verdict::Refused);
        assert_eq!(judge(SIGNATURE, &with(list, U256::from(most + 1))), Verdict::OutOfMemory);
        assert_eq!(judge(SIGNATURE, &with(data, U256::MAX)), Verdict::OutOfMemory);
        assert_eq!(judge(SIGNATURE, &with(data, U256::from(33))), Verdict::Refused);
        for offset in [U256::MAX, past, past - U256::ONE, U256::from(args().len() - 31)] {
            assert_eq!(judge(SIGNATURE, &with(1, offset)), Verdict::Refused, "{offset}");
        }
        // What comes first is judged first.
        let mut both = with(list, U256::MAX);
        both[0] = 1;
        assert_eq!(judge(SIGNATURE, &both), Verdict::Refused);
    }

    #[test]
    fn what_stays_in_call_data_needs_no_memory() {
        let args = (U256::from(1), Bytes::from_static(&[0xff; 5]), Bytes::from_static(&[7; 40])).abi_encode_params();
        let with = |index: usize, word: U256| {
            let mut args = args.clone();
            args[32 * index..][..32].copy_from_slice(&word.to_be_bytes::<32>());
            args
        };
        let (reason, data) = (3, 5);
        let past = U256::from(u64::MAX);
        for length in [U256::MAX, past + U256::ONE, past] {
            for signature in ["vote(uint8,string calldata,bytes)", "vote(uint8,bytes calldata,bytes calldata)"] {
                assert_eq!(judge(signature, &args), Verdict::Accepted);
                assert_eq!(judge(signature, &with(reason, length)), Verdict::Refused, "{signature} {length}");
            }
            assert_eq!(judge("vote(uint8,string calldata,bytes)", &with(data, length)), Verdict::OutOfMemory);
            assert_eq!(judge("vote(uint8,bytes calldata,bytes calldata)", &with(data, length)), Verdict::Refused);
            assert_eq!(judge("vote(uint8,string,bytes)", &with(reason, length)), Verdict::OutOfMemory);
        }
    }

    #[test]
    fn a_string_may_have_any_bytes() {
        let args = (Bytes::from_static(&[0xff; 5]),).abi_encode_params();
        assert_eq!(judge("setURI(string)", &args), Verdict::Accepted);
        assert_eq!(judge("setURI(string)", &args[..68]), Verdict::Refused);
        assert_eq!(judge("setURI(string)", &args[..69]), Verdict::Accepted, "without the padding");
    }

    #[test]
    fn the_bytes_of_a_list_need_memory_each() {
        let with = |index: usize, word: U256| {
            let mut args = lists();
            args[32 * index..][..32].copy_from_slice(&word.to_be_bytes::<32>());
            args
        };
        assert_eq!(judge(LISTS, &lists()), Verdict::Accepted);
        // Its length, the offset of its first element, the length of that.
        let (list, offset, length) = (2, 3, 6);
        for index in [list, length] {
            assert_eq!(judge(LISTS, &with(index, U256::MAX)), Verdict::OutOfMemory, "{index}");
        }
        assert_eq!(judge(LISTS, &with(length, U256::from(1_000))), Verdict::Refused);
        assert_eq!(judge(LISTS, &with(offset, U256::MAX)), Verdict::Refused);
        // Two elements may be the same bytes.
        assert_eq!(judge(LISTS, &with(offset, U256::from(0xa0))), Verdict::Accepted);
        // An element that is judged first is refused first.
        let mut both = with(offset + 1, U256::MAX);
        both[32 * length] = 0xff;
        assert_eq!(judge(LISTS, &both), Verdict::OutOfMemory);
    }

    type Args = (
        sol_data::Address,
        sol_data::Array<sol_data::Uint<256>>,
        sol_data::Bytes,
        sol_data::Uint<8>,
        sol_data::FixedBytes<4>,
        sol_data::Bool,
    );

    proptest! {
        /// Without strings both decoders accept the same.
        #[test]
        fn what_is_accepted_is_what_alloy_accepts(
            index in 0_usize..11, byte in 0_usize..32, value: u8, whole: bool, cut in 0_usize..400,
        ) {
            let mut args = if whole { with(index, U256::from(value)) } else { args() };
            if !whole {
                args[32 * index + byte] = value;
            }
            args.truncate(args.len().min(cut + 200));
            let accepts = abi::decode_params::<Args>(&args).is_ok();
            prop_assert_eq!(judge(SIGNATURE, &args) == Verdict::Accepted, accepts);
        }

        #[test]
        fn lists_that_are_accepted_are_those_that_alloy_accepts(index in 0_usize..12, value in 0_u64..400, cut in 0_usize..400) {
            let mut args = lists();
            args[32 * index..][..32].copy_from_slice(&U256::from(value).to_be_bytes::<32>());
            args.truncate(args.len().min(cut));
            let accepts = abi::decode_params::<(sol_data::Array<sol_data::Bytes>, sol_data::Uint<8>)>(&args).is_ok();
            prop_assert_eq!(judge(LISTS, &args) == Verdict::Accepted, accepts);
        }
    }
}
