//! Call data as solc 0.4 reads it: what is missing is zero, and bits that a type does not have are ignored.

use super::interface::{MultisigCalls as Calls, submitTransactionCall};
use crate::vm::{HaltReason, contract::*};

/// Bytes of memory that a call can have here. A longer argument would be stored at more than the gas of any transaction.
pub(super) const MEMORY_MAX: usize = 1 << 20;

/// Bytes of the longest list of arguments without a dynamic one.
const ARGUMENTS: usize = 4 * 32;

/// Compute units of a word of memory.
const WORD_UNITS: u64 = 6;

/// Decodes a call of a function; `None` for anything else, which the fallback takes.
///
/// # Errors
/// A revert without data for a function that is sent ether; [`Stop`]: out of gas.
pub(super) fn decode(host: &mut Host<'_>, input: &[u8]) -> Result<Option<Calls>, Stop> {
    let Some(selector) = input.first_chunk::<4>().copied().filter(|selector| Calls::valid_selector(*selector)) else {
        return Ok(None);
    };
    host.refuse_value()?;
    if selector == submitTransactionCall::SELECTOR {
        let (destination, value) = (word(input, at(0)), word(input, at(1)));
        let destination = Address::from_word(destination.into());
        let data = dynamic_bytes(host, input, word(input, at(2)))?;
        return Ok(Some(Calls::submitTransaction(submitTransactionCall { destination, value, data })));
    }
    let mut arguments = input[4..].to_vec();
    arguments.resize(ARGUMENTS, 0);
    Calls::abi_decode_raw(selector, &arguments).map(Some).map_err(|_| empty_revert())
}

/// Charges for so many bytes of memory.
///
/// # Errors
/// [`Stop`]: out of gas, also where there is never so much memory.
pub(super) fn allocate(host: &mut Host<'_>, bytes: U256) -> Result<usize, Stop> {
    let Some(bytes) = usize::try_from(bytes).ok().filter(|bytes| *bytes <= MEMORY_MAX) else {
        return Err(Stop::Halt(HaltReason::OutOfGas));
    };
    host.compute(WORD_UNITS * bytes.div_ceil(32) as u64)?;
    Ok(bytes)
}

/// Returns the `bytes` at an offset from the first argument; positions wrap.
fn dynamic_bytes(host: &mut Host<'_>, input: &[u8], offset: U256) -> Result<Bytes, Stop> {
    let length_at = at(0).wrapping_add(offset);
    let length = allocate(host, word(input, length_at))?;
    let start = usize::try_from(length_at.wrapping_add(U256::from(32))).unwrap_or(usize::MAX);
    let mut data: Vec<u8> = input.iter().skip(start).take(length).copied().collect();
    data.resize(length, 0);
    Ok(data.into())
}

/// Returns the position of an argument's word.
fn at(index: usize) -> U256 {
    U256::from(4 + 32 * index)
}

/// Returns the word at a position, with zeros for what is past the end.
fn word(input: &[u8], position: U256) -> U256 {
    let mut word = [0; 32];
    let start = usize::try_from(position).unwrap_or(usize::MAX);
    word.iter_mut().zip(input.iter().skip(start)).for_each(|(to, from)| *to = *from);
    U256::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        templates::multisig::interface::{isOwnerCall, transactionCountCall},
        vm::sandbox::Sandbox,
    };

    fn decoded(input: Vec<u8>) -> Result<Option<Calls>, Stop> {
        Sandbox::new().run(move |host| decode(host, &input))
    }

    #[test]
    fn what_is_missing_is_zero_and_what_is_too_much_is_ignored() {
        let owner = Address::repeat_byte(0x55);
        let call = isOwnerCall { owner }.abi_encode();
        let mut zeros = [0_u8; 20];
        zeros[..7].copy_from_slice(&[0x55; 7]);
        let partly = Calls::isOwner(isOwnerCall { owner: Address::from(zeros) });
        assert_eq!(decoded(call[..4 + 12 + 7].to_vec()), Ok(Some(partly)));
        assert_eq!(decoded(call[..4].to_vec()), Ok(Some(Calls::isOwner(isOwnerCall { owner: Address::ZERO }))));
        let mut dirty = call.clone();
        dirty[4] = 0xff;
        dirty.extend([1; 200]);
        assert_eq!(decoded(dirty), Ok(Some(Calls::isOwner(isOwnerCall { owner }))));
        assert_eq!(decoded(transactionCountCall {}.abi_encode()[..3].to_vec()), Ok(None));
        assert_eq!(decoded(vec![1, 2, 3, 4, 5]), Ok(None));
        assert_eq!(decoded(Vec::new()), Ok(None));
    }

    #[test]
    fn bytes_are_read_wherever_their_offset_says() {
        let destination = Address::repeat_byte(0x55);
        let call = submitTransactionCall { destination, value: U256::ONE, data: Bytes::from_static(b"abc") };
        let input = call.abi_encode();
        assert_eq!(decoded(input.clone()), Ok(Some(Calls::submitTransaction(call.clone()))));
        // Cut after the first byte.
        let cut = submitTransactionCall { data: Bytes::from_static(b"a\0\0"), ..call.clone() };
        assert_eq!(decoded(input[..4 + 4 * 32 + 1].to_vec()), Ok(Some(Calls::submitTransaction(cut))));
        // An offset past the end: a length of zero.
        let mut past = input.clone();
        past[4 + 3 * 32 - 2] = 0xff;
        let none = submitTransactionCall { data: Bytes::new(), ..call.clone() };
        assert_eq!(decoded(past), Ok(Some(Calls::submitTransaction(none))));
        // The value for a length, 32 bytes into the arguments; then one byte of the next word.
        let mut value = input.clone();
        value[4 + 3 * 32 - 1] = 32;
        let zero = submitTransactionCall { data: Bytes::from_static(&[0]), ..call };
        assert_eq!(decoded(value), Ok(Some(Calls::submitTransaction(zero))));
        // A length for which there is no gas, by itself and where an offset that wraps finds one.
        for place in [4 + 3 * 32, 4 + 2 * 32] {
            let mut long = input.clone();
            long[place..place + 32].fill(0xff);
            assert_eq!(decoded(long), Err(Stop::Halt(HaltReason::OutOfGas)));
        }
    }
}
