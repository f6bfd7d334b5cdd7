//! Where the system contracts are.

use alloy_primitives::{Address, address};

/// Address of the staking contract.
pub const STAKING_ADDRESS: Address = address!("0000000000000000000000000000000000001000");

/// Address of the contract of the chain's parameters.
pub const PARAMETERS_ADDRESS: Address = address!("0000000000000000000000000000000000001001");
