//! Accounts, contracts and validators of the genesis state.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

use crate::primitives::amount;

/// An account of the genesis state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct GenesisAccount {
    /// Balance, in the smallest unit.
    #[serde(with = "amount")]
    pub balance: U256,
    /// Transaction count.
    #[serde(with = "amount::small")]
    pub nonce: u64,
    /// Contract code; in JSON, hexadecimal.
    #[serde(skip_serializing_if = "has_no_bytes")]
    pub code: Bytes,
    /// Storage values by slot; in JSON, numbers or 0x strings.
    #[serde(with = "amount::slots", skip_serializing_if = "BTreeMap::is_empty")]
    pub storage: BTreeMap<U256, U256>,
}

/// A contract of the genesis state, deployed by running its template's constructor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct GenesisContract {
    /// Address of the contract.
    pub address: Address,
    /// Name of the template, such as `erc20-token`; its newest version is deployed.
    pub template: String,
    /// Constructor parameters by name, as [`Descriptor::encode`](crate::vm::Descriptor::encode) takes them.
    #[serde(default)]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// The caller of the constructor, and so the default of parameters such as `owner`; zero for none.
    #[serde(default)]
    pub deployer: Address,
}

/// A validator of the genesis state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct GenesisValidator {
    /// Address of the validator's sealing key.
    pub address: Address,
    /// Account that operates the validator: it owns the stake, earns, votes and is slashed. `None`, and left out in JSON, for the key's own
    /// address. On chains with `staking` or `validatorRegistry` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Address>,
    /// Display name of the validator.
    #[serde(default)]
    pub name: String,
    /// Bonded stake, in the smallest unit; ignored on chains without `staking`.
    #[serde(default, with = "amount")]
    pub stake: U256,
}

impl GenesisContract {
    /// Returns a contract of `template` at `address`; `params` are named as in the template's ABI.
    pub fn new(address: Address, template: &str, params: serde_json::Map<String, serde_json::Value>) -> Self {
        Self { address, template: template.to_owned(), params, deployer: Address::ZERO }
    }
}

impl GenesisValidator {
    /// Returns a validator with this key's address and bonded stake, in the smallest unit, without a name.
    pub const fn new(address: Address, stake: U256) -> Self {
        Self { address, operator: None, name: String::new(), stake }
    }

    /// Returns the validator with another account as its operator.
    #[must_use]
    pub const fn with_operator(mut self, operator: Address) -> Self {
        self.operator = Some(operator);
        self
    }

    /// Returns the account that operates the validator: the key's own unless another is given.
    pub const fn operator(&self) -> Address {
        match self.operator {
            Some(operator) => operator,
            None => self.address,
        }
    }
}

pub(in crate::chain) fn has_no_bytes(bytes: &Bytes) -> bool {
    bytes.is_empty()
}
