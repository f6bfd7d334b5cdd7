//! `batch`: a list of operations as one transaction, all of them or none.
//!
//! Every operation runs with the signer itself as its caller, value included, which comes from the signer's balance: a token approves
//! or moves what is the signer's, and a contract is owned by the signer. That is more than a contract can do, so the chain lets this
//! template alone open frames in another's name, and only in that of its caller where the caller signed the transaction and called it
//! directly ([`Host::is_called_by_signer`]). A relayed call, a call out of an operation, and a call by another contract are refused.
//!
//! An operation whose target is zero creates a contract. Its address follows from this contract's, and from the signer, the nonce of its
//! transaction, the operation's index and the init code ([`created_address`]); the signer's nonce stays what it is. An operation with
//! neither target nor init code, which would lock its value in an account without code, is refused.
//!
//! Operations are read where they lie in the call data, and copies of what they send and return are charged, so that call data in which
//! they overlap costs what it takes.
//!
//! The first operation that fails undoes all, and the revert names its index and gives its reason. The contract has no storage and takes
//! no ether.

pub mod interface;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{address, keccak256};

pub use self::interface::Batch::Operation;
use self::interface::Batch::{self as sol, BatchCalls as Calls};
use super::common::{
    calldata::{Calldata, Tuple, Tuples, charge_copy},
    erc165::{interface_id, supports},
};
use crate::vm::{FrameResult, Marker, Template, TemplateId, abi, contract::*};

/// Where a development genesis has it.
pub const BATCH_ADDRESS: Address = address!("cb0000000000000000000000000000000000ba7c");

/// ERC-165 id of the batch's own interface: `execute` alone.
pub const INTERFACE_ID: [u8; 4] = interface_id(&[sol::executeCall::SELECTOR]);

/// The template `batch`, version 1. Its constructor has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct Batch;

impl Batch {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(8, 1);
    /// Name of the template.
    pub const NAME: &'static str = "batch";

    /// Returns the input of a creation transaction: the template's marker.
    pub fn init_code() -> Bytes {
        Marker(Self::ID).init_code(&[])
    }
}

impl Operation {
    /// Calls a function of `target`.
    pub fn call(target: Address, call: &impl SolCall) -> Self {
        Self { target, value: U256::ZERO, data: call.abi_encode().into() }
    }

    /// Creates a contract.
    pub const fn create(init_code: Bytes) -> Self {
        Self { target: Address::ZERO, value: U256::ZERO, data: init_code }
    }

    /// Transfers native token, in its smallest unit, to an account other than the zero address.
    pub const fn transfer(target: Address, value: U256) -> Self {
        Self { target, value, data: Bytes::new() }
    }

    /// Sends native token along, in its smallest unit.
    #[must_use]
    pub fn with_value(self, value: U256) -> Self {
        Self { value, ..self }
    }
}

/// Returns the address of a contract that `batch` creates: by the operation at `index` of the transaction of `signer` with this nonce.
pub fn created_address(batch: Address, signer: Address, nonce: u64, index: usize, init_code: &[u8]) -> Address {
    batch.create2(keccak256(salt_preimage(signer, nonce, index)), keccak256(init_code))
}

impl Template for Batch {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Operations of one signer, all or none"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn gas_table(&self) -> &str {
        include_str!("batch/gas.txt")
    }

    fn acts_for_signer(&self) -> bool {
        true
    }

    fn construct(&self, host: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        host.refuse_value()
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if input.first_chunk() != Some(&sol::executeCall::SELECTOR) {
            return match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
                Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[INTERFACE_ID])),
                Calls::execute(_) => Err(empty_revert()),
            };
        }
        host.refuse_value()?;
        host.compute(abi::DISPATCH_UNITS)?;
        let results = execute(host, Calldata::new(input, 1)?.tuples(0, 3)?)?;
        Ok(sol::executeCall::abi_encode_returns(&results).into())
    }
}

fn execute(host: &mut Host<'_>, operations: Tuples<'_>) -> Result<Vec<Bytes>, Stop> {
    require(host.is_called_by_signer(), sol::OnlySigner { caller: host.caller() })?;
    let mut run = |(index, operation): (usize, Result<Tuple<'_>, Stop>)| {
        host.compute(abi::DISPATCH_UNITS)?;
        let result = run(host, index, operation?)?;
        charge_copy(host, &result.output)?;
        if result.is_success() { Ok(result.output) } else { Err(failed(index, result.output)) }
    };
    operations.iter().enumerate().map(&mut run).collect()
}

/// Runs the operation `(target, value, data)`; the output of a creation is the address as a word.
fn run(host: &mut Host<'_>, index: usize, operation: Tuple<'_>) -> Result<FrameResult, Stop> {
    let (target, value, data) = (operation.address(0)?, operation.word(1), operation.bytes(2)?);
    charge_copy(host, data)?;
    if !target.is_zero() {
        return host.call_for_signer(target, value, data);
    }
    require(!data.is_empty(), sol::NoInitCode { index: U256::from(index) })?;
    let nonce = host.signer_nonce()?;
    let salt = host.keccak(&salt_preimage(host.caller(), nonce, index))?;
    let (created, result) = host.create_for_signer(data, value, salt)?;
    if result.is_success() { Ok(FrameResult { output: created.abi_encode().into(), ..result }) } else { Ok(result) }
}

fn failed(index: usize, reason: Bytes) -> Stop {
    revert(&sol::OperationFailed { index: U256::from(index), reason })
}

fn salt_preimage(signer: Address, nonce: u64, index: usize) -> Vec<u8> {
    (signer, nonce, U256::from(index)).abi_encode()
}
