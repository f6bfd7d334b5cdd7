//! System calls: calls of the protocol to a system contract before a block's first transaction.

use alloy_consensus::Header;

use crate::primitives::{Address, Bytes};

pub use crate::vm::SYSTEM_ADDRESS;

/// One call at the start of a block. It uses no gas of the block, and its logs are in no receipt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SystemCall {
    /// Address of the contract.
    pub to: Address,
    /// ABI-encoded selector and arguments.
    pub input: Bytes,
}

/// Inputs of system calls, which the builder and every validator of a block derive alike.
#[derive(Clone, Copy, Debug)]
pub struct SystemContext<'a> {
    /// Header of the block; gas used, bloom and the roots are unset while it is being built, and must not be
    /// read.
    pub header: &'a Header,
    /// Header of the parent.
    pub parent: &'a Header,
    /// Consensus payload of the block.
    pub payload: &'a Bytes,
    /// Whether the chain has the staking contract.
    pub has_stake: bool,
    /// Whether the chain has the validators' contract.
    pub has_validators: bool,
}
