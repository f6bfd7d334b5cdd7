//! Solidity's ABI for templates: call data, return data, reverts, events.
//!
//! Types, errors and events come from `alloy_sol_types::sol!`. What solc's decoder refuses
//! (call data too short, an address with dirty upper bytes) reverts without data, as in solc.

use core::any::Any;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{
    Panic, Revert, SolCall, SolConstructor, SolError, SolEvent, SolInterface, SolType, SolValue,
    abi::{AbiDecoderConfig, TokenSeq},
};

use super::{
    Host, Stop, abi_size,
    memory_decoder::{self, Verdict},
};

/// Panic code of an arithmetic overflow outside `unchecked`.
pub const PANIC_OVERFLOW: u64 = 0x11;

/// Panic code of a division by zero.
pub const PANIC_DIVISION_BY_ZERO: u64 = 0x12;

/// Panic code of `pop` on an empty array.
pub const PANIC_EMPTY_ARRAY_POP: u64 = 0x31;

/// Panic code of an index that is not below an array's length.
pub const PANIC_INDEX_OUT_OF_BOUNDS: u64 = 0x32;

/// Panic code of a length for which there is no memory.
pub const PANIC_OUT_OF_MEMORY: u64 = 0x41;

/// Compute units of dispatching a call and decoding its arguments.
pub const DISPATCH_UNITS: u64 = 100;

/// No function of a contract is `payable`.
pub const NONE_PAYABLE: &[[u8; 4]] = &[];

/// Function arguments: the bytes after the selector, in 32-byte words.
#[derive(Clone, Copy, Debug)]
pub struct CallArgs<'a>(&'a [u8]);

/// Splits call data into selector and arguments.
///
/// # Errors
/// A revert without data when there is no selector, as in a contract without `receive` and `fallback`.
pub fn split_call(input: &[u8]) -> Result<([u8; 4], CallArgs<'_>), Stop> {
    input.split_first_chunk::<4>().map(|(selector, rest)| (*selector, CallArgs(rest))).ok_or_else(empty_revert)
}

impl<'a> CallArgs<'a> {
    /// Returns the word at `index`; every reader below refuses call data that ends before its word.
    fn word(&self, index: usize) -> Result<&'a [u8; 32], Stop> {
        let start = index * 32;
        self.0.get(start..start + 32).and_then(|word| word.first_chunk()).ok_or_else(empty_revert)
    }

    /// Refuses call data shorter than `words` arguments, as solc does before it reads any.
    ///
    /// # Errors
    /// A revert without data.
    pub fn require_words(&self, words: usize) -> Result<(), Stop> {
        if self.0.len() < words * 32 { Err(empty_revert()) } else { Ok(()) }
    }

    /// Returns the `uint256` at `index`.
    ///
    /// # Errors
    /// A revert without data.
    pub fn u256(&self, index: usize) -> Result<U256, Stop> {
        self.word(index).map(|word| U256::from_be_bytes(*word))
    }

    /// Returns the `bytes32` at `index`.
    ///
    /// # Errors
    /// A revert without data.
    pub fn b256(&self, index: usize) -> Result<B256, Stop> {
        self.word(index).map(B256::from)
    }

    /// Returns the `address` at `index`.
    ///
    /// # Errors
    /// A revert without data.
    pub fn address(&self, index: usize) -> Result<Address, Stop> {
        let word = self.word(index)?;
        if word[..12] != [0; 12] {
            return Err(empty_revert());
        }
        Ok(Address::from_slice(&word[12..]))
    }

    /// Returns the `uint8` at `index`.
    ///
    /// # Errors
    /// A revert without data.
    pub fn u8(&self, index: usize) -> Result<u8, Stop> {
        u8::try_from(self.u256(index)?).map_err(|_| empty_revert())
    }

    /// Returns the `uint16` at `index`.
    ///
    /// # Errors
    /// A revert without data.
    pub fn u16(&self, index: usize) -> Result<u16, Stop> {
        u16::try_from(self.u256(index)?).map_err(|_| empty_revert())
    }

    /// Returns the `bytes4` at `index`.
    ///
    /// # Errors
    /// A revert without data.
    pub fn b32(&self, index: usize) -> Result<[u8; 4], Stop> {
        let (head, tail) = self.word(index)?.split_at(4);
        if tail.iter().any(|byte| *byte != 0) {
            return Err(empty_revert());
        }
        Ok([head[0], head[1], head[2], head[3]])
    }

    /// Returns the `bool` at `index`.
    ///
    /// # Errors
    /// A revert without data.
    pub fn bool(&self, index: usize) -> Result<bool, Stop> {
        match self.u8(index)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(empty_revert()),
        }
    }

    /// Decodes all arguments as the tuple `T`; for those with dynamic types.
    ///
    /// # Errors
    /// A revert without data.
    pub fn decode<T: SolType>(&self) -> Result<T::RustType, Stop>
    where
        T::Token<'a>: TokenSeq<'a>,
    {
        decode_params::<T>(self.0)
    }
}

/// Decodes an argument list as the tuple `T`.
///
/// # Errors
/// A revert without data.
pub fn decode_params<'a, T: SolType>(params: &'a [u8]) -> Result<T::RustType, Stop>
where
    T::Token<'a>: TokenSeq<'a>,
{
    T::abi_decode_params_with_config(params, decoder(params).validate(true)).map_err(|_| empty_revert())
}

/// Returns how arguments are decoded: into memory of some multiple of their encoding.
const fn decoder(encoded: &[u8]) -> AbiDecoderConfig {
    AbiDecoderConfig::new().memory_limit(abi_size::memory_limit(encoded.len()))
}

/// Decodes the parameters of a constructor.
///
/// # Errors
/// A revert without data.
pub fn decode_constructor<C: SolConstructor>(params: &[u8]) -> Result<C, Stop> {
    decode_params::<C::Parameters<'_>>(params).map(C::new)
}

/// Returns the bytes of a call's argument at `index`, a `string`, which need not be UTF-8 to Solidity.
///
/// # Errors
/// A revert without data.
pub fn string_bytes(input: &[u8], index: usize) -> Result<Bytes, Stop> {
    let (_, args) = split_call(input)?;
    let offset = usize::try_from(args.u256(index)?).map_err(|_| empty_revert())?;
    let (head, content) = args.0.get(offset..).and_then(<[u8]>::split_first_chunk::<32>).ok_or_else(empty_revert)?;
    let length = usize::try_from(U256::from_be_bytes(*head)).map_err(|_| empty_revert())?;
    content.get(..length).map(Bytes::copy_from_slice).ok_or_else(empty_revert)
}

/// Encodes return data of one value.
pub fn encode_output<T: SolValue>(value: &T) -> Bytes {
    value.abi_encode().into()
}

/// Encodes return data of one `uint256`.
pub fn encode_output_u256(value: U256) -> Bytes {
    Bytes::copy_from_slice(&value.to_be_bytes::<32>())
}

/// Encodes return data of one `bool`.
pub fn encode_output_bool(value: bool) -> Bytes {
    const WORDS: [[u8; 32]; 2] = {
        let mut words = [[0; 32]; 2];
        words[1][31] = 1;
        words
    };
    static ENCODED: [[u8; 32]; 2] = WORDS;
    Bytes::from_static(&ENCODED[usize::from(value)])
}

/// Returns a revert with a custom error.
pub fn revert(error: &impl SolError) -> Stop {
    Stop::Revert(error.abi_encode().into())
}

/// Returns a revert with `Error(string)`, as `require(condition, reason)` does.
pub fn revert_with(reason: &str) -> Stop {
    revert(&Revert::from(reason))
}

/// Returns a revert with `Panic(uint256)`.
pub fn panic(code: u64) -> Stop {
    revert(&Panic { code: U256::from(code) })
}

/// Returns a revert without data.
pub fn empty_revert() -> Stop {
    Stop::EMPTY_REVERT
}

/// Returns the reason in revert data that is `Error(string)` or `Panic(uint256)`.
pub fn reason(data: &[u8]) -> Option<String> {
    if let Ok(error) = Revert::abi_decode(data) {
        return Some(error.reason);
    }
    Panic::abi_decode(data).ok().map(|error| error.to_string())
}

/// Reverts unless `condition` holds: Solidity's `require(condition, error)`.
///
/// # Errors
/// A revert with `error`.
pub fn require(condition: bool, error: impl SolError) -> Result<(), Stop> {
    if condition { Ok(()) } else { Err(revert(&error)) }
}

/// `return` of a function, by which a dispatcher's arm reads `Calls::owner(call) => call.returns(owner(host)?)`.
pub trait Returns: SolCall<Return: 'static> {
    /// Returns the return data; `()` for a function without results, a tuple for one with several.
    ///
    /// # Errors
    /// None: it is a [`Result`] as every arm's value is.
    fn returns(&self, value: impl Into<Self::Return>) -> Result<Bytes, Stop> {
        let value = value.into();
        // What most functions that change the state return needs no allocation.
        if let Some(value) = (&value as &dyn Any).downcast_ref::<bool>() {
            return Ok(encode_output_bool(*value));
        }
        Ok(Self::abi_encode_returns(&value).into())
    }
}

impl<C: SolCall<Return: 'static>> Returns for C {}

/// Dispatch.
impl Host<'_> {
    /// Decodes call data as one of an interface's calls, as solc's dispatcher does: `sol!` makes an enum of them for a `contract`
    /// or `interface`, such as `TokenCalls` for `Token`. Charges [`DISPATCH_UNITS`].
    ///
    /// # Errors
    /// A revert without data: no selector, an unknown one, arguments that solc's decoder refuses, or value to a function whose
    /// selector is not in `payable`. [`Stop`]: out of gas. Also arguments that overlap so that they take many times their encoding, which
    /// a contract of solc would copy for gas: whoever wants them reads call data in place.
    pub fn decode_call<C: SolInterface>(&mut self, input: &[u8], payable: &[[u8; 4]]) -> Result<C, Stop> {
        let (selector, args) = self.dispatch(input, payable)?;
        C::abi_decode_raw_with_config(selector, args.0, decoder(args.0).validate(true)).map_err(|_| empty_revert())
    }

    /// As [`Host::decode_call`], by the rules of solc below 0.8 (ABI coder v1): bits of a word that its type does not have are ignored.
    ///
    /// # Errors
    /// As [`Host::decode_call`].
    pub fn decode_call_v1<C: SolInterface>(&mut self, input: &[u8], payable: &[[u8; 4]]) -> Result<C, Stop> {
        let (selector, args) = self.dispatch(input, payable)?;
        C::abi_decode_raw(selector, args.0).map_err(|_| empty_revert())
    }

    /// As [`Host::decode_call`], for functions that take lists, `bytes` or a `string` into memory: a length for which there is no memory
    /// is `Panic(0x41)`, and a `string` that is no UTF-8 is accepted, with U+FFFD for what is none; see [`string_bytes`]. `signature`
    /// is `TokenCalls::signature_by_selector`; where Solidity declares an argument `calldata`, a signature that says so, such as
    /// `relay(address,uint256,bytes calldata)`: any length beyond the call data is refused there.
    ///
    /// # Errors
    /// As [`Host::decode_call`]; `Panic(0x41)`.
    pub fn decode_call_to_memory<C: SolInterface>(
        &mut self,
        input: &[u8],
        payable: &[[u8; 4]],
        signature: impl FnOnce([u8; 4]) -> Option<&'static str>,
    ) -> Result<C, Stop> {
        let (selector, args) = self.dispatch(input, payable)?;
        if let Ok(call) = C::abi_decode_raw_with_config(selector, args.0, decoder(args.0).validate(true)) {
            return Ok(call);
        }
        match signature(selector).map(|signature| memory_decoder::judge(signature, args.0)) {
            Some(Verdict::Accepted) => {
                C::abi_decode_raw_with_config(selector, args.0, decoder(args.0)).map_err(|_| empty_revert())
            }
            Some(Verdict::OutOfMemory) => Err(panic(PANIC_OUT_OF_MEMORY)),
            Some(Verdict::Refused) | None => Err(empty_revert()),
        }
    }

    /// Splits call data, refuses value to a function whose selector is not in `payable`, and charges [`DISPATCH_UNITS`].
    fn dispatch<'a>(&mut self, input: &'a [u8], payable: &[[u8; 4]]) -> Result<([u8; 4], CallArgs<'a>), Stop> {
        if payable.is_empty() {
            self.refuse_value()?;
        }
        self.compute(DISPATCH_UNITS)?;
        let (selector, args) = split_call(input)?;
        if !payable.contains(&selector) {
            self.refuse_value()?;
        }
        Ok((selector, args))
    }

    /// Decodes the parameters of a constructor that is not `payable`. Charges [`DISPATCH_UNITS`].
    ///
    /// # Errors
    /// A revert without data: value, or parameters that solc's decoder refuses. [`Stop`]: out of gas.
    pub fn decode_constructor<C: SolConstructor>(&mut self, params: &[u8]) -> Result<C, Stop> {
        self.refuse_value()?;
        self.compute(DISPATCH_UNITS)?;
        decode_constructor(params)
    }
}

impl Host<'_> {
    /// Emits an event.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn emit(&mut self, event: &impl SolEvent) -> Result<(), Stop> {
        self.log(event.encode_log_data())
    }

    /// Refuses a call with value, as a function that is not `payable` does.
    ///
    /// # Errors
    /// A revert without data.
    pub fn refuse_value(&self) -> Result<(), Stop> {
        if self.value().is_zero() { Ok(()) } else { Err(empty_revert()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_dirty_or_missing_ones_refused() {
        let mut input = [0_u8; 4 + 64];
        input[..4].copy_from_slice(&[1, 2, 3, 4]);
        input[4 + 12..4 + 32].fill(0x11);
        input[4 + 63] = 1;
        let (selector, args) = split_call(&input).unwrap();
        assert_eq!(selector, [1, 2, 3, 4]);
        assert_eq!(args.address(0).unwrap(), Address::repeat_byte(0x11));
        assert!(args.bool(1).unwrap());
        assert_eq!(args.u256(2), Err(empty_revert()));
        assert_eq!(args.bool(0), Err(empty_revert()));
        assert_eq!(args.b32(1), Err(empty_revert()));
        input[4] = 1;
        assert_eq!(CallArgs(&input[4..]).address(0), Err(empty_revert()));
        assert_eq!(split_call(&[1, 2, 3]).unwrap_err(), empty_revert());
    }

    /// Against alloy's decoder of `bytes`, which are encoded as a `string` is.
    #[test]
    fn a_strings_bytes_are_those_of_any_argument() {
        let text = Bytes::from_static(&[0x61, 0xff, 0xfe]);
        let args = (U256::from(7), text.clone(), Address::ZERO, Bytes::new()).abi_encode_params();
        let input = [[1, 2, 3, 4].as_slice(), &args].concat();
        assert_eq!(string_bytes(&input, 1), Ok(text));
        assert_eq!(string_bytes(&input, 3), Ok(Bytes::new()));
        let changed = |at: usize, byte: u8| {
            let mut input = input.clone();
            input[4 + at] = byte;
            string_bytes(&input, 1)
        };
        for (name, at, byte) in
            [("far offset", 32, 1), ("offset beyond", 62, 1), ("long", 4 * 32, 1), ("longer", 5 * 32 - 2, 1)]
        {
            assert_eq!(changed(at, byte), Err(empty_revert()), "{name}");
        }
        assert_eq!(string_bytes(&input, 40), Err(empty_revert()), "no such argument");
    }

    #[test]
    fn reasons_are_read_back() {
        let Stop::Revert(data) = revert_with("no") else { unreachable!() };
        assert_eq!(&data[..4], [0x08, 0xc3, 0x79, 0xa0]);
        assert_eq!(reason(&data).unwrap(), "no");
        let Stop::Revert(data) = panic(PANIC_OVERFLOW) else { unreachable!() };
        assert_eq!(&data[..4], [0x4e, 0x48, 0x7b, 0x71]);
        assert!(reason(&data).unwrap().contains("0x11"));
        assert_eq!(reason(&[1, 2]), None);
    }

    #[test]
    fn the_first_coder_ignores_bits_that_a_type_does_not_have() {
        use super::super::sandbox::Sandbox;
        let clean = Sample::setCall { who: Address::repeat_byte(1), level: 9, isOn: true }.abi_encode();
        let mut dirty = clean.clone();
        for (word, byte) in [(0, 0xff), (1, 0xff), (2, 0xff)] {
            dirty[4 + 32 * word] = byte;
        }
        for (input, want) in [(&clean, Ok(9)), (&dirty, Ok(9)), (&clean[..4 + 95].to_vec(), Err(empty_revert()))] {
            let input = Bytes::copy_from_slice(input);
            let (got, _) = Sandbox::new().measure(move |host| {
                match host.decode_call_v1::<Sample::SampleCalls>(&input, NONE_PAYABLE)? {
                    Sample::SampleCalls::set(call) if call.isOn && call.who == Address::repeat_byte(1) => {
                        Ok(call.level)
                    }
                    _ => Ok(0),
                }
            });
            assert_eq!(got, want);
        }
        assert_eq!(answer(&dirty, 0).0, Err(empty_revert()), "the second does not");
    }

    alloy_sol_types::sol! {
        #[derive(Debug, PartialEq)]
        interface Sample {
            function set(address who, uint8 level, bool isOn) external payable;
            function get() external view returns (uint256);
            function both() external view returns (uint8, bool);
        }
    }

    /// Returns what a contract with the interface above answers to a call with so much value.
    fn answer(input: &[u8], value: u64) -> (Result<Bytes, Stop>, u64) {
        use super::super::sandbox::Sandbox;
        let input = Bytes::copy_from_slice(input);
        let (result, gas) = Sandbox::new().with_value(value).measure(move |host| {
            match host.decode_call::<Sample::SampleCalls>(&input, &[Sample::setCall::SELECTOR])? {
                Sample::SampleCalls::set(call) => call.returns(()),
                Sample::SampleCalls::get(call) => call.returns(U256::from(7)),
                Sample::SampleCalls::both(call) => call.returns((7, true)),
            }
        });
        (result, gas)
    }

    #[test]
    fn calls_are_dispatched_with_soliditys_checks() {
        let set = Sample::setCall { who: Address::repeat_byte(1), level: 9, isOn: true }.abi_encode();
        let (get, both) = (Sample::getCall {}.abi_encode(), Sample::bothCall {}.abi_encode());
        assert_eq!(answer(&set, 5), (Ok(Bytes::new()), DISPATCH_UNITS));
        assert_eq!(answer(&get, 0).0, Ok(encode_output_u256(U256::from(7))));
        assert_eq!(answer(&both, 0).0.unwrap()[31..], [[7].as_slice(), &[0; 31], &[1]].concat());
        assert!(answer(&[get.as_slice(), &[1; 40]].concat(), 0).0.is_ok(), "bytes after the arguments are ignored");
        let dirty = |index: usize| {
            let mut input = set.clone();
            input[index] = 2;
            input
        };
        let refused = [
            ("no selector", vec![1, 2, 3], 0),
            ("unknown", vec![1, 2, 3, 4], 0),
            ("value to a function that is not payable", get, 1),
            ("short", set[..set.len() - 1].to_vec(), 0),
            ("dirty address", dirty(4), 0),
            ("dirty uint8", dirty(4 + 32 + 30), 0),
            ("bool of 2", dirty(4 + 64 + 31), 0),
        ];
        for (name, input, value) in refused {
            assert_eq!(answer(&input, value), (Err(empty_revert()), DISPATCH_UNITS), "{name}");
        }
    }

    #[test]
    fn a_requirement_reverts_with_its_error() {
        let error = || Revert::from("no");
        assert_eq!(require(true, error()), Ok(()));
        assert_eq!(require(false, error()), Err(revert_with("no")));
    }

    #[test]
    fn booleans_are_words() {
        assert_eq!(encode_output_bool(true), encode_output(&true));
        assert_eq!(encode_output_bool(false), encode_output(&false));
    }
}
