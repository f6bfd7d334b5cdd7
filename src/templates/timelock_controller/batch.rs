//! Lists of calls in call data.

use super::interface as sol;
use crate::{
    templates::common::calldata::{ByteStrings, Calldata, Words},
    vm::contract::*,
};

/// Arguments of `executeBatch` and `hashOperationBatch`, and the first ones of `scheduleBatch`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    targets: Words<'a>,
    values: Words<'a>,
    payloads: ByteStrings<'a>,
    pub(super) predecessor: B256,
    pub(super) salt: B256,
}

/// A call of an operation.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) target: Address,
    pub(super) value: U256,
    pub(super) data: Bytes,
}

impl<'a> Batch<'a> {
    /// Reads the arguments of a function that has these only.
    pub(super) fn read(input: &'a [u8]) -> Result<Self, Stop> {
        Self::of(Calldata::new(input, 5)?)
    }

    /// Reads the arguments of `scheduleBatch`: a batch and its delay, in seconds.
    pub(super) fn scheduled(input: &'a [u8]) -> Result<(Self, U256), Stop> {
        let arguments = Calldata::new(input, 6)?;
        Ok((Self::of(arguments)?, arguments.word(5)))
    }

    fn of(arguments: Calldata<'a>) -> Result<Self, Stop> {
        let (targets, values) = (arguments.words(0)?, arguments.words(1)?);
        let (payloads, predecessor) = (arguments.byte_strings(2)?, arguments.word(3).into());
        Ok(Self { targets, values, payloads, predecessor, salt: arguments.word(4).into() })
    }

    /// Refuses lists of different lengths.
    pub(super) fn check_lengths(&self) -> Result<(), Stop> {
        let (targets, values, payloads) = (self.targets.len(), self.values.len(), self.payloads.len());
        let [counted, payload_count, value_count] = [targets, payloads, values].map(U256::from);
        require(
            targets == values && targets == payloads,
            sol::TimelockInvalidOperationLength { targets: counted, payloads: payload_count, values: value_count },
        )
    }

    /// Returns the id (`hashOperationBatch`), and the calls of lists of the same length.
    pub(super) fn operation(&self, host: &mut Host<'_>) -> Result<(B256, Vec<Call>), Stop> {
        let targets = self.targets.addresses().collect::<Result<Vec<_>, _>>()?;
        let values: Vec<_> = self.values.iter().collect();
        let mut payloads = Vec::new();
        for payload in self.payloads.iter() {
            let payload = payload?;
            // Elements may share their bytes: what is copied is paid for.
            host.compute(payload.len().div_ceil(32) as u64)?;
            payloads.push(Bytes::copy_from_slice(payload));
        }
        let operation = (targets, values, payloads, self.predecessor, self.salt);
        let id = host.keccak(&operation.abi_encode_params())?;
        let (targets, values, payloads, ..) = operation;
        let calls = targets.into_iter().zip(values).zip(payloads);
        Ok((id, calls.map(|((target, value), data)| Call { target, value, data }).collect()))
    }
}
