//! The genesis specification and its JSON form.

use std::{collections::BTreeMap, time::Duration};

use alloy_consensus::Header;
use alloy_primitives::{Address, B64, B256, Bytes, U256, keccak256};
use serde::{Deserialize, Serialize};

use super::{
    base_fee::BaseFeeParams,
    block::{EXTRA_DATA_BYTES_MAX, empty_header},
};
use crate::{
    primitives::{Gas, Height, Timestamp, Wallet, amount, ether},
    state::{AccountChange, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT, StateChanges},
    system::staking::{STAKING_ADDRESS, StakingParams, StakingTemplate, WEIGHT_UNIT},
    vm::Marker,
};

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
    /// EIP-1559 parameters, or `"off"` for headers without a base fee.
    #[serde(default)]
    pub base_fee: BaseFee,
    /// Activation heights of forks.
    #[serde(default)]
    pub forks: ForkRules,
    /// `extraData` of the genesis header, at most 32 bytes.
    #[serde(default)]
    pub extra_data: Bytes,
    /// Beneficiary of the genesis header.
    #[serde(default)]
    pub coinbase: Address,
    /// Difficulty of the genesis header.
    #[serde(default, with = "amount")]
    pub difficulty: U256,
    /// Mix hash of the genesis header.
    #[serde(default)]
    pub mix_hash: B256,
    /// Nonce of the genesis header.
    #[serde(default)]
    pub nonce: B64,
    /// Time between blocks for protocols and drivers that produce at an interval, in whole milliseconds; `blockTimeMs` in JSON.
    #[serde(default = "default_block_time", rename = "blockTimeMs", with = "millis_json")]
    pub block_time: Duration,
    /// Accounts of the genesis state.
    #[serde(default)]
    pub accounts: BTreeMap<Address, GenesisAccount>,
    /// Contracts deployed from templates in the genesis state, in this order.
    #[serde(default)]
    pub contracts: Vec<GenesisContract>,
    /// The initial validators, in the protocol's order.
    #[serde(default)]
    pub validators: Vec<GenesisValidator>,
    /// Parameters of the staking contract at [`STAKING_ADDRESS`], in which genesis bonds the validators' stakes (minted on top
    /// of the accounts' balances); `None` for a chain without stake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staking: Option<StakingParams>,
    /// The consensus protocol's section; not read by the chain.
    #[serde(default)]
    pub consensus: serde_json::Value,
    /// Digest of the template registry; when set, opening with another registry is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_digest: Option<B256>,
    /// Whether blocks may record [interventions](super::Intervention) and contain unsigned (impersonated) transactions; for
    /// development only.
    #[serde(default)]
    pub allow_interventions: bool,
}

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
    /// Constructor parameters by the names in the template's ABI; numbers may be strings.
    #[serde(default)]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// The caller of the constructor.
    #[serde(default)]
    pub deployer: Address,
}

/// A validator of the genesis state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct GenesisValidator {
    /// Address of the validator's key.
    pub address: Address,
    /// Display name of the validator.
    #[serde(default)]
    pub name: String,
    /// Bonded stake, in the smallest unit; ignored on chains without `staking`.
    #[serde(default, with = "amount")]
    pub stake: U256,
}

/// Base fee of a chain: EIP-1559, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseFee {
    /// Headers have no base fee and the author gets the whole gas price. JSON: `"off"`.
    Off,
    /// EIP-1559: the base fee follows gas usage and is burned. JSON: an object; missing fields have EIP-1559's values.
    Dynamic(BaseFeeParams),
}

/// Activation heights of forks; `None` (JSON: `null`) is never. The gas schedule is the same at every height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ForkRules {
    /// London: headers have a base fee, beginning with [`BaseFeeParams::initial`], and type 2 transactions are valid
    /// (EIP-1559).
    pub london: Option<Height>,
}

/// An invalid genesis specification.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is not the expected JSON; the source has line and column.
    #[error("genesis: {0}")]
    Json(#[from] serde_json::Error),
    /// A field's value is invalid.
    #[error("genesis field `{field}`: {reason}")]
    Field {
        /// Name of the field in JSON.
        field: &'static str,
        /// The value, the valid ones.
        reason: String,
    },
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
            forks: ForkRules::default(),
            extra_data: Bytes::new(),
            coinbase: Address::ZERO,
            difficulty: U256::ZERO,
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            block_time: default_block_time(),
            accounts: BTreeMap::new(),
            contracts: Vec::new(),
            validators: Vec::new(),
            staking: None,
            consensus: serde_json::Value::Null,
            registry_digest: None,
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

    /// Sets the balance of an account, keeping its other fields.
    #[must_use]
    pub fn with_balance(mut self, address: Address, balance: U256) -> Self {
        self.fund(address, balance);
        self
    }

    /// Sets the display name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the time of the genesis block.
    #[must_use]
    pub fn with_timestamp(self, timestamp: Timestamp) -> Self {
        Self { timestamp, ..self }
    }

    /// Sets the gas limit of the genesis block.
    #[must_use]
    pub fn with_gas_limit(self, gas_limit: Gas) -> Self {
        Self { gas_limit, ..self }
    }

    /// Sets the base fee.
    #[must_use]
    pub fn with_base_fee(self, base_fee: BaseFee) -> Self {
        Self { base_fee, ..self }
    }

    /// Sets the time between blocks, in whole milliseconds.
    #[must_use]
    pub fn with_block_time(self, block_time: Duration) -> Self {
        Self { block_time, ..self }
    }

    /// Sets an account, in place of one with the same address.
    #[must_use]
    pub fn with_account(mut self, address: Address, account: GenesisAccount) -> Self {
        self.accounts.insert(address, account);
        self
    }

    /// Adds a contract after the others.
    #[must_use]
    pub fn with_contract(mut self, contract: GenesisContract) -> Self {
        self.contracts.push(contract);
        self
    }

    /// Sets the initial validators.
    #[must_use]
    pub fn with_validators(self, validators: Vec<GenesisValidator>) -> Self {
        Self { validators, ..self }
    }

    /// Adds the staking contract.
    #[must_use]
    pub fn with_staking(self, staking: StakingParams) -> Self {
        Self { staking: Some(staking), ..self }
    }

    /// Sets whether blocks may record interventions and contain unsigned transactions.
    #[must_use]
    pub fn with_interventions(self, allow_interventions: bool) -> Self {
        Self { allow_interventions, ..self }
    }

    /// Parses and checks JSON.
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

    /// Checks the fields that their types don't.
    ///
    /// # Errors
    /// [`SpecError::Field`] for the first invalid field.
    pub fn check(&self) -> Result<(), SpecError> {
        let invalid = |field, reason: String| Err(SpecError::Field { field, reason });
        if self.chain_id == 0 {
            return invalid(
                "chainId",
                "0 is not a valid chain id; choose one from 1 on, 31337 for development".to_owned(),
            );
        }
        if self.gas_limit < GAS_LIMIT_MIN {
            return invalid("gasLimit", format!("{} is below {}", self.gas_limit.get(), GAS_LIMIT_MIN.get()));
        }
        let time = self.block_time;
        if u64::try_from(time.as_millis()).is_err() || !time.subsec_nanos().is_multiple_of(1_000_000) {
            return invalid("blockTimeMs", format!("{time:?} is not a whole number of milliseconds below 2^64"));
        }
        if self.extra_data.len() > EXTRA_DATA_BYTES_MAX {
            let length = self.extra_data.len();
            return invalid("extraData", format!("has {length} bytes; at most {} are valid", EXTRA_DATA_BYTES_MAX));
        }
        if let BaseFee::Dynamic(params) = self.base_fee
            && (params.elasticity_multiplier == 0 || params.change_denominator == 0)
        {
            return invalid(
                "baseFee",
                "elasticityMultiplier and changeDenominator must be at least 1; write \"off\" for no base fee"
                    .to_owned(),
            );
        }
        if let Some(params) = &self.staking {
            self.check_staking(params)?;
        }
        let mut seen = std::collections::BTreeSet::new();
        for validator in &self.validators {
            if !seen.insert(validator.address) {
                return invalid("validators", format!("{} is listed twice", validator.address));
            }
        }
        for contract in &self.contracts {
            if !seen.insert(contract.address)
                || self.accounts.get(&contract.address).is_some_and(|a| !a.code.is_empty())
            {
                return invalid(
                    "contracts",
                    format!("{} has a contract or a validator already; choose another address", contract.address),
                );
            }
        }
        Ok(())
    }

    /// Checks the staking parameters, and that the validators' stakes are all set or all zero.
    fn check_staking(&self, params: &StakingParams) -> Result<(), SpecError> {
        let invalid = |field, reason: String| Err(SpecError::Field { field, reason });
        if let Err(error) = params.check() {
            return invalid("staking", error.to_string());
        }
        let is_occupied = self.accounts.get(&STAKING_ADDRESS).is_some_and(|account| !account.code.is_empty());
        if (is_occupied && !self.has_staking_contract())
            || self.contracts.iter().any(|contract| contract.address == STAKING_ADDRESS)
        {
            return invalid(
                "staking",
                format!("{STAKING_ADDRESS} is the staking contract's address; choose another for this contract"),
            );
        }
        if self.validators.iter().all(|validator| validator.stake.is_zero()) {
            return Ok(());
        }
        match self.validators.iter().find(|validator| validator.stake < WEIGHT_UNIT) {
            Some(GenesisValidator { address, stake, .. }) => invalid(
                "validators",
                format!("{address} has a stake of {stake}; give it at least {WEIGHT_UNIT} (one gwei), or remove it"),
            ),
            None => Ok(()),
        }
    }

    /// Returns whether the staking contract is among the accounts, as in a dump.
    pub(super) fn has_staking_contract(&self) -> bool {
        let marker = Marker(StakingTemplate::ID).to_bytes();
        self.accounts.get(&STAKING_ADDRESS).is_some_and(|account| account.code.as_ref() == marker)
    }

    /// Returns the accounts as changes to the empty state, without the contracts, whose constructors run on top of them.
    pub fn state_changes(&self) -> StateChanges {
        let mut changes = StateChanges::default();
        for (address, account) in &self.accounts {
            let code_hash = if account.code.is_empty() { EMPTY_CODE_HASH } else { keccak256(&account.code) };
            if !account.code.is_empty() {
                changes.codes.insert(code_hash, account.code.clone());
            }
            let info = AccountInfo { nonce: account.nonce, balance: account.balance, code_hash };
            let storage = account.storage.iter().map(|(slot, value)| (*slot, *value)).collect();
            let is_empty = info == AccountInfo { nonce: 0, balance: U256::ZERO, code_hash: EMPTY_CODE_HASH };
            if !is_empty || !account.storage.is_empty() {
                changes.accounts.insert(*address, AccountChange { info: Some(info), clear_storage: false, storage });
            }
        }
        changes
    }

    /// Returns the specification without accounts and contracts, which are in the state once genesis is built.
    #[must_use]
    pub fn without_state(&self) -> Self {
        let (accounts, contracts, consensus) = (BTreeMap::new(), Vec::new(), self.consensus.clone());
        let (name, extra_data, validators) = (self.name.clone(), self.extra_data.clone(), self.validators.clone());
        Self { name, extra_data, accounts, contracts, validators, consensus, ..*self }
    }

    /// Returns the genesis header over a state with this root.
    pub fn header(&self, state_root: B256) -> Header {
        Header {
            beneficiary: self.coinbase,
            state_root,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            difficulty: self.difficulty,
            gas_limit: self.gas_limit.get(),
            timestamp: self.timestamp.as_secs(),
            extra_data: self.extra_data.clone(),
            mix_hash: self.mix_hash,
            nonce: self.nonce,
            base_fee_per_gas: self
                .base_fee
                .params()
                .filter(|_| self.forks.is_london(Height::GENESIS))
                .map(|params| params.initial),
            ..empty_header()
        }
    }
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
        Self { address, name: String::new(), stake }
    }
}

impl BaseFee {
    /// Returns the parameters; `None` when off.
    pub const fn params(&self) -> Option<BaseFeeParams> {
        match self {
            Self::Off => None,
            Self::Dynamic(params) => Some(*params),
        }
    }
}

impl Default for BaseFee {
    fn default() -> Self {
        Self::Dynamic(BaseFeeParams::default())
    }
}

impl ForkRules {
    /// Returns whether London is active at `height`.
    pub fn is_london(&self, height: Height) -> bool {
        self.london.is_some_and(|from| height >= from)
    }
}

impl Default for ForkRules {
    fn default() -> Self {
        Self { london: Some(Height::GENESIS) }
    }
}

/// JSON of [`BaseFee`]: `"off"` or the parameters.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BaseFeeJson {
    Keyword(String),
    Params(BaseFeeParams),
}

impl Serialize for BaseFee {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str("off"),
            Self::Dynamic(params) => params.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BaseFee {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "expected \"off\" or {\"initial\", \"elasticityMultiplier\", \"changeDenominator\"}";
        match BaseFeeJson::deserialize(deserializer) {
            Ok(BaseFeeJson::Keyword(keyword)) if keyword == "off" => Ok(Self::Off),
            Ok(BaseFeeJson::Params(params)) => Ok(Self::Dynamic(params)),
            Ok(BaseFeeJson::Keyword(_)) | Err(_) => Err(serde::de::Error::custom(format_args!("baseFee: {expected}"))),
        }
    }
}

pub(super) fn has_no_bytes(bytes: &Bytes) -> bool {
    bytes.is_empty()
}

const fn default_gas_limit() -> Gas {
    Gas::new(30_000_000)
}

const fn default_block_time() -> Duration {
    Duration::from_secs(1)
}

/// JSON of a [`Gas`] amount: as [`amount::small`].
mod gas_json {
    use serde::{Deserializer, Serializer};

    use crate::primitives::{Gas, amount::small};

    pub(super) fn serialize<S: Serializer>(gas: &Gas, serializer: S) -> Result<S::Ok, S::Error> {
        small::serialize(&gas.get(), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Gas, D::Error> {
        small::deserialize(deserializer).map(Gas::new)
    }
}

/// JSON of a [`Timestamp`]: its seconds, as [`amount::small`].
mod timestamp_json {
    use serde::{Deserializer, Serializer};

    use crate::primitives::{Timestamp, amount::small};

    pub(super) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        small::serialize(&time.as_secs(), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        small::deserialize(deserializer).map(Timestamp::from_secs)
    }
}

/// JSON of a [`Duration`]: its milliseconds, as [`amount::small`]. A fraction of one is dropped; [`GenesisSpec::check`] refuses it.
mod millis_json {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    use crate::primitives::amount::small;

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        small::serialize(&u64::try_from(duration.as_millis()).unwrap_or(u64::MAX), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        small::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{b64, b256, hex};

    use super::*;

    /// Ethereum's genesis block, whose state root and hash are published.
    #[test]
    fn mainnet_genesis_header() {
        let spec = GenesisSpec {
            gas_limit: GAS_LIMIT_MIN,
            base_fee: BaseFee::Off,
            difficulty: U256::from(17_179_869_184_u64),
            nonce: b64!("0000000000000042"),
            extra_data: hex!("11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa").into(),
            ..GenesisSpec::new(1)
        };
        let root = b256!("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544");
        let hash = b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
        assert_eq!(spec.header(root).hash_slow(), hash);
    }

    #[test]
    fn json_round_trips_and_missing_fields_have_defaults() {
        let spec = GenesisSpec::from_json(
            r#"{ "chainId": "0x539", "gasLimit": "10000000", "baseFee": {"initial": 7},
                 "accounts": { "0x0000000000000000000000000000000000000001":
                    {"balance": 5, "nonce": "3", "code": "0xef", "storage": {"0x1": "9", "2": 4}} },
                 "validators": [{"address": "0x0000000000000000000000000000000000000002", "stake": "10"}],
                 "consensus": {"protocol": "clique"} }"#,
        )
        .unwrap();
        assert_eq!((spec.chain_id, spec.gas_limit.get()), (1337, 10_000_000));
        assert_eq!(spec.base_fee, BaseFee::Dynamic(BaseFeeParams { initial: 7, ..Default::default() }));
        let account = &spec.accounts[&Address::with_last_byte(1)];
        assert_eq!(account.storage, BTreeMap::from([(U256::from(1), U256::from(9)), (U256::from(2), U256::from(4))]));
        assert_eq!(GenesisSpec::from_json(&spec.to_json()).unwrap(), spec);
        let off = GenesisSpec { base_fee: BaseFee::Off, ..spec };
        assert_eq!(GenesisSpec::from_json(&off.to_json()).unwrap(), off);
    }

    #[test]
    fn the_block_time_is_in_milliseconds_in_json() {
        let spec = GenesisSpec::from_json(r#"{"chainId": 1, "blockTimeMs": "2500"}"#).unwrap();
        assert_eq!(spec.block_time, Duration::from_millis(2_500));
        assert!(spec.to_json().contains("\"blockTimeMs\": 2500"), "{}", spec.to_json());
        for odd in [Duration::from_nanos(1), Duration::MAX] {
            let error = spec.clone().with_block_time(odd).check().unwrap_err().to_string();
            assert!(error.contains("blockTimeMs"), "{error}");
        }
    }

    #[test]
    fn errors_name_the_valid_values() {
        for (json, words) in [
            (r#"{"chainId": 0}"#, "31337"),
            (r#"{"chainId": 1, "gaslimit": 5}"#, "unknown field `gaslimit`"),
            (r#"{"chainId": 1, "difficulty": "1.5"}"#, "whole number"),
            (r#"{"chainId": 1, "baseFee": "none"}"#, "expected \"off\""),
            (r#"{"chainId": 1, "gasLimit": 4999}"#, "below 5000"),
            (r#"{"chainId": -1}"#, "whole number"),
        ] {
            let message = GenesisSpec::from_json(json).unwrap_err().to_string();
            assert!(message.contains(words), "{json}: {message}");
        }
    }
}
