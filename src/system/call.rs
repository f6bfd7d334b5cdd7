//! Calls that the protocol makes to a system contract before a block's first transaction.

use alloy_consensus::Header;

use crate::primitives::{Address, Bytes};

pub use crate::vm::SYSTEM_ADDRESS;

/// One call at the start of a block. It uses no gas of the block, and its logs enter no receipt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SystemCall {
    /// The contract.
    pub to: Address,
    /// ABI-encoded selector and arguments.
    pub input: Bytes,
}

/// All that system calls may depend on, so that the builder of a block and everybody who checks it make the same.
#[derive(Clone, Copy, Debug)]
pub struct SystemContext<'a> {
    /// Header of the block; gas used, bloom and the roots are not known yet when it is being built, and must not be
    /// looked at.
    pub header: &'a Header,
    /// Header of its parent.
    pub parent: &'a Header,
    /// The consensus payload beside the block.
    pub payload: &'a Bytes,
    /// Whether the chain has the staking contract.
    pub has_stake: bool,
}
