//! The block context of a message.

use alloy_primitives::{Address, B256};

use super::forks::Hardfork;
use crate::primitives::{Gas, Height, Timestamp};

/// Values of the block that a message runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockContext {
    /// Chain id (EIP-155).
    pub chain_id: u64,
    /// Height of the block.
    pub height: Height,
    /// Hash of the parent block; zero in the genesis block.
    pub parent_hash: B256,
    /// Time of the block.
    pub timestamp: Timestamp,
    /// Recipient of the priority fees.
    pub beneficiary: Address,
    /// Gas limit of the block.
    pub gas_limit: Gas,
    /// Burned price per unit of gas (EIP-1559), in wei.
    pub base_fee: u64,
    /// Randomness of the block (EIP-4399).
    pub prev_randao: B256,
    /// Fork whose rules the block follows; the newest by default.
    pub hardfork: Hardfork,
}
