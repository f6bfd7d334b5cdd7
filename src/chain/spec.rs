//! The genesis specification and its JSON form.

mod account;
mod base_fee;
mod check;
mod error;
mod forks;
mod genesis_block;
mod geth;
mod setters;
mod system_contract;
mod units_json;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use alloy_primitives::{Address, B64, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

use self::units_json::{Dropped, gas_json, timestamp_json};
use crate::{
    primitives::{Gas, Height, Timestamp, Wallet, amount, ether},
    system::{
        governance::GovernanceSpec, modules::ModulesConfig, parameters::ParametersSpec, permissions::PermissionsConfig,
        staking::StakingParams, validators::ValidatorsConfig,
    },
    vm::ForkRules,
};

pub(super) use account::has_no_bytes;
pub use account::{GenesisAccount, GenesisContract, GenesisValidator};
pub use base_fee::BaseFee;
pub use error::SpecError;
pub use forks::Forks;
pub use geth::{GethGenesis, IgnoredField};
pub(super) use system_contract::SystemContract;

/// Smallest gas limit of a block (Yellow Paper, 4.3.4).
pub const GAS_LIMIT_MIN: Gas = Gas::new(5_000);

/// The genesis block and the rules of a chain.
///
/// Amounts are whole numbers of the smallest unit: decimal or 0x strings, or plain numbers. Unknown fields are refused.
///
/// ```
/// use chainbox::chain::GenesisSpec;
/// let spec = GenesisSpec::from_json(r#"{
///     "chainId": 1337,
///     "accounts": { "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266": { "balance": "1000000000000000000" } }
/// }"#)?;
/// assert_eq!(spec.chain_id, 1337);
/// # Ok::<(), chainbox::chain::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct GenesisSpec {
    /// EIP-155 chain id; from 1 on.
    #[serde(with = "amount::small")]
    pub chain_id: u64,
    /// Display name of the chain.
    #[serde(default)]
    pub name: String,
    /// Time of the genesis block; in JSON, seconds since the Unix epoch.
    #[serde(default, with = "timestamp_json")]
    pub timestamp: Timestamp,
    /// Gas limit of the genesis block, at least [`GAS_LIMIT_MIN`].
    #[serde(default = "default_gas_limit", with = "gas_json")]
    pub gas_limit: Gas,
    /// EIP-1559 parameters, or `"off"` for headers without a base fee; from Shanghai on, whose headers need the field, it is then 0.
    #[serde(default)]
    pub base_fee: BaseFee,
    /// The fork whose rules hold from genesis on, Osaka by default; `hardfork` in JSON. The earlier form `"forks": {"london":
    /// height}` is read as London's rules, so that chains of earlier versions keep theirs.
    #[serde(default, rename = "hardfork", alias = "forks")]
    pub forks: Forks,
    /// Whether the fork's bound of a transaction's gas limit holds (EIP-7825, from Osaka on); true by default.
    #[serde(default = "default_transaction_gas_cap")]
    pub transaction_gas_cap: bool,
    /// `extraData` of the genesis header, at most 32 bytes.
    #[serde(default)]
    pub extra_data: Bytes,
    /// Beneficiary of the genesis header.
    #[serde(default)]
    pub coinbase: Address,
    /// Difficulty of the genesis header.
    #[serde(default, with = "amount")]
    pub difficulty: U256,
    /// Mix hash of the genesis header; where it is zero, headers from Paris on have the
    /// [predictable one](super::predictable_mix_hash) of height 0.
    #[serde(default)]
    pub mix_hash: B256,
    /// Nonce of the genesis header.
    #[serde(default)]
    pub nonce: B64,
    /// `blockTimeMs` of earlier versions, which nothing read: accepted and dropped.
    #[serde(default, rename = "blockTimeMs", skip_serializing)]
    pub(crate) dropped_block_time: Dropped,
    /// Accounts of the genesis state.
    #[serde(default)]
    pub accounts: BTreeMap<Address, GenesisAccount>,
    /// Contracts deployed from templates in the genesis state, in this order.
    #[serde(default)]
    pub contracts: Vec<GenesisContract>,
    /// The initial validators, in the protocol's order.
    #[serde(default)]
    pub validators: Vec<GenesisValidator>,
    /// Parameters of the staking contract at [`STAKING_ADDRESS`](crate::system::staking::STAKING_ADDRESS), in which genesis bonds the validators' stakes (minted on top
    /// of the accounts' balances); `None` for a chain without stake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staking: Option<StakingParams>,
    /// Who may change the chain's parameters, in the contract at [`PARAMETERS_ADDRESS`](crate::system::parameters::PARAMETERS_ADDRESS);
    /// `None` for a chain whose parameters stay those of genesis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<ParametersSpec>,
    /// Rules of proposals and votes, in the contract at [`GOVERNANCE_ADDRESS`](crate::system::governance::GOVERNANCE_ADDRESS); `None` for a
    /// chain whose validators vote on nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governance: Option<GovernanceSpec>,
    /// Who may send transactions and deploy contracts, and who administers that, by the contract at
    /// [`PERMISSIONS_ADDRESS`](crate::system::permissions::PERMISSIONS_ADDRESS); `None` for a chain where everybody may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionsConfig>,
    /// Whether transactions may deploy contracts; true by default. Without, no list of the permissions contract changes that.
    #[serde(default = "default_deployments", skip_serializing_if = "is_true")]
    pub deployments: bool,
    /// Modules of the service that are on, and who administers that, by the contract at
    /// [`MODULES_ADDRESS`](crate::system::modules::MODULES_ADDRESS); `None` for a chain without the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<ModulesConfig>,
    /// Who may change the validators of a chain without stake, by the contract at
    /// [`VALIDATORS_ADDRESS`](crate::system::validators::VALIDATORS_ADDRESS), whose first members are the validators above; `None` for a
    /// chain whose validators change by the protocol's own means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validator_registry: Option<ValidatorsConfig>,
    /// The consensus protocol's section; not read by the chain.
    #[serde(default)]
    pub consensus: serde_json::Value,
    /// `registryDigest` of earlier versions: accepted and dropped, as a store has what its contracts run.
    #[serde(default, rename = "registryDigest", skip_serializing)]
    pub(crate) dropped_registry_digest: Dropped,
    /// Whether blocks may record [interventions](super::Intervention) and contain unsigned (impersonated) transactions; for
    /// development only.
    #[serde(default)]
    pub allow_interventions: bool,
}

impl GenesisSpec {
    /// Returns the specification with this chain id and the defaults of all other fields.
    pub fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            name: String::new(),
            timestamp: Timestamp::default(),
            gas_limit: default_gas_limit(),
            base_fee: BaseFee::default(),
            forks: Forks::default(),
            transaction_gas_cap: default_transaction_gas_cap(),
            extra_data: Bytes::new(),
            coinbase: Address::ZERO,
            difficulty: U256::ZERO,
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            dropped_block_time: Dropped,
            accounts: BTreeMap::new(),
            contracts: Vec::new(),
            validators: Vec::new(),
            staking: None,
            parameters: None,
            governance: None,
            permissions: None,
            deployments: default_deployments(),
            modules: None,
            validator_registry: None,
            consensus: serde_json::Value::Null,
            dropped_registry_digest: Dropped,
            allow_interventions: false,
        }
    }

    /// Returns the specification of a development chain: id 31337, interventions allowed, 10,000 tokens for each of the first
    /// `accounts` addresses of `wallet`.
    pub fn dev(wallet: &Wallet, accounts: u32) -> Self {
        let mut spec = Self { allow_interventions: true, name: "chainbox".to_owned(), ..Self::new(31_337) };
        for key in wallet.keys(0, accounts).unwrap_or_default() {
            spec.fund(key.address(), ether(10_000));
        }
        spec
    }

    /// Sets the balance of an account, keeping its other fields.
    pub fn fund(&mut self, address: Address, balance: U256) {
        self.accounts.entry(address).or_default().balance = balance;
    }

    /// Returns the fork's rules at `height`, as genesis modifies them.
    pub fn rules_at(&self, height: Height) -> ForkRules {
        let mut rules = self.forks.rules_at(height);
        rules.tx_gas_limit_max = rules.tx_gas_limit_max.filter(|_| self.transaction_gas_cap);
        rules
    }

    /// An example of the JSON form: a funded account, one with a nonce, and a token. `docs/genesis.md` describes every field.
    pub const EXAMPLE: &'static str = include_str!("spec/example.json");

    /// Parses and checks JSON, of the form of [`GenesisSpec::EXAMPLE`]. [`GenesisSpec::from_geth_json`] reads geth's.
    ///
    /// # Errors
    /// [`SpecError`] with the place and the valid values.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let spec: Self = serde_json::from_str(text)?;
        spec.check()?;
        Ok(spec)
    }

    /// Returns the JSON form, indented, with every field; equal specifications give equal text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

const fn default_transaction_gas_cap() -> bool {
    true
}

const fn default_deployments() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
const fn is_true(value: &bool) -> bool {
    *value
}

const fn default_gas_limit() -> Gas {
    Gas::new(30_000_000)
}
