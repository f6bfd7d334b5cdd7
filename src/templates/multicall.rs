//! `multicall`: lists of calls in one, with the ABI and the behaviour of [Multicall3](https://github.com/mds1/multicall3).
//!
//! Each call has a frame of its own, whose caller is this contract, so that what it may do is what everybody may; it is for reading many
//! contracts at one height, and for calls that need no authority. It has no storage and keeps no ether between transactions unless it is
//! sent too much: `aggregate` and the functions after it take value and give it to no call, `aggregate3Value` takes exactly what its calls
//! pass on.
//!
//! The chain gives its contracts the hash of the parent block, and of no other: `getBlockHash` of an older block that the standard still
//! covers, of the 255 before the parent, reverts with a reason. The hash of the block that runs, as `blockAndAggregate` returns it, is
//! zero, as everywhere.
//!
//! It answers ERC-165, which Multicall3 does not; it has no interface but that.
//!
//! A development genesis has it at [`MULTICALL3_ADDRESS`].

mod calls;
pub mod interface;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;
use alloy_primitives::address;

use self::interface::Multicall3::{self as sol, Multicall3Calls as Calls};
use super::common::{calldata::Calldata, erc165::supports};
use crate::vm::{Marker, Template, TemplateId, abi, contract::*};

/// Where Multicall3 is on public chains, and in a development genesis.
pub const MULTICALL3_ADDRESS: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

/// Functions that take ether: all that run calls.
const PAYABLE: &[[u8; 4]] = &[
    sol::aggregateCall::SELECTOR,
    sol::tryAggregateCall::SELECTOR,
    sol::tryBlockAndAggregateCall::SELECTOR,
    sol::blockAndAggregateCall::SELECTOR,
    sol::aggregate3Call::SELECTOR,
    sol::aggregate3ValueCall::SELECTOR,
];

/// Blocks below the running one whose hashes `blockhash` gives.
const BLOCK_HASHES: u64 = 256;

/// The template `multicall`, version 1. Its constructor has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct Multicall;

impl Multicall {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(6, 1);
    /// Name of the template.
    pub const NAME: &'static str = "multicall";

    /// Returns the input of a creation transaction: the template's marker.
    pub fn init_code() -> Bytes {
        Marker(Self::ID).init_code(&[])
    }
}

impl Template for Multicall {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Multicall3: lists of calls in one"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn gas_table(&self) -> &str {
        include_str!("multicall/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        host.refuse_value()
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if let Some(selector) = input.first_chunk::<4>()
            && PAYABLE.contains(selector)
        {
            host.compute(abi::DISPATCH_UNITS)?;
            return run(host, *selector, input);
        }
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::getBlockHash(call) => call.returns(block_hash(host, call.blockNumber)?),
            Calls::getBlockNumber(call) => call.returns(block_number(host)),
            Calls::getCurrentBlockCoinbase(call) => call.returns(host.block().beneficiary),
            Calls::getCurrentBlockDifficulty(call) => call.returns(U256::from_be_bytes(host.block().prev_randao.0)),
            Calls::getCurrentBlockGasLimit(call) => call.returns(U256::from(host.block().gas_limit.get())),
            Calls::getCurrentBlockTimestamp(call) => call.returns(U256::from(host.block().timestamp.as_secs())),
            Calls::getEthBalance(call) => call.returns(host.balance(&call.addr)?),
            Calls::getLastBlockHash(call) => call.returns(host.parent_hash()),
            Calls::getBasefee(call) => call.returns(U256::from(host.block().base_fee)),
            Calls::getChainId(call) => call.returns(U256::from(host.chain_id())),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
            Calls::aggregate(_)
            | Calls::tryAggregate(_)
            | Calls::tryBlockAndAggregate(_)
            | Calls::blockAndAggregate(_)
            | Calls::aggregate3(_)
            | Calls::aggregate3Value(_) => Err(empty_revert()),
        }
    }
}

/// Runs the calls of a function that has a list of them.
fn run(host: &mut Host<'_>, selector: [u8; 4], input: &[u8]) -> Result<Bytes, Stop> {
    let arguments = |parameters| Calldata::new(input, parameters);
    let (block, hash) = (block_number(host), B256::ZERO);
    match selector {
        sol::aggregateCall::SELECTOR => {
            let results = calls::aggregate(host, arguments(1)?.tuples(0, 2)?, true)?;
            let data = results.into_iter().map(|result| result.returnData).collect();
            Ok(encode::<sol::aggregateCall>(&(block, data).into()))
        }
        sol::tryAggregateCall::SELECTOR => {
            let results = try_aggregate(host, arguments(2)?)?;
            Ok(sol::tryAggregateCall::abi_encode_returns(&results).into())
        }
        sol::tryBlockAndAggregateCall::SELECTOR => {
            let results = try_aggregate(host, arguments(2)?)?;
            Ok(encode::<sol::tryBlockAndAggregateCall>(&(block, hash, results).into()))
        }
        sol::blockAndAggregateCall::SELECTOR => {
            let results = calls::aggregate(host, arguments(1)?.tuples(0, 2)?, true)?;
            Ok(encode::<sol::blockAndAggregateCall>(&(block, hash, results).into()))
        }
        sol::aggregate3Call::SELECTOR => {
            let results = calls::aggregate3(host, arguments(1)?.tuples(0, 3)?)?;
            Ok(sol::aggregate3Call::abi_encode_returns(&results).into())
        }
        _ => {
            let results = calls::aggregate3_value(host, arguments(1)?.tuples(0, 4)?)?;
            Ok(sol::aggregate3ValueCall::abi_encode_returns(&results).into())
        }
    }
}

fn try_aggregate(host: &mut Host<'_>, arguments: Calldata<'_>) -> Result<Vec<sol::Result>, Stop> {
    let require_success = arguments.bool(0)?;
    calls::aggregate(host, arguments.tuples(1, 2)?, require_success)
}

fn encode<C: SolCall>(values: &C::Return) -> Bytes {
    C::abi_encode_returns(values).into()
}

fn block_number(host: &Host<'_>) -> U256 {
    U256::from(host.block().height.get())
}

/// Returns a block's hash: zero of the running block, of later ones, and of those more than 256 blocks ago (`blockhash`).
fn block_hash(host: &Host<'_>, number: U256) -> Result<B256, Stop> {
    let blocks_ago = block_number(host).checked_sub(number).unwrap_or_default();
    match u64::try_from(blocks_ago) {
        Ok(1) => Ok(host.parent_hash()),
        Ok(2..=BLOCK_HASHES) => {
            Err(abi::revert_with("multicall: of the blocks before, the chain tells the parent's hash only"))
        }
        _ => Ok(B256::ZERO),
    }
}
