//! What a contract may know of the block that it runs in.

use alloy_primitives::{Address, B256};

use crate::primitives::{Gas, Height, Timestamp};

/// The block around a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockContext {
    /// The chain's id (EIP-155).
    pub chain_id: u64,
    /// The block's number.
    pub height: Height,
    /// The block's time.
    pub timestamp: Timestamp,
    /// Who gets the fees.
    pub beneficiary: Address,
    /// The block's gas limit.
    pub gas_limit: Gas,
    /// Price of one unit of gas that is burned (EIP-1559), in the smallest unit.
    pub base_fee: u64,
    /// The block's randomness (EIP-4399).
    pub prev_randao: B256,
}
