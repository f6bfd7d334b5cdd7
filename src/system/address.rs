//! Where the system contracts are.

use alloy_primitives::{Address, address};

/// Address of the staking contract.
pub const STAKING_ADDRESS: Address = address!("0000000000000000000000000000000000001000");

/// Address of the contract of the chain's parameters.
pub const PARAMETERS_ADDRESS: Address = address!("0000000000000000000000000000000000001001");

/// Address of the governance contract.
pub const GOVERNANCE_ADDRESS: Address = address!("0000000000000000000000000000000000001003");

/// Address of the contract of the validators on a chain without stake.
pub const VALIDATORS_ADDRESS: Address = address!("0000000000000000000000000000000000001005");
