//! What a chain starts from: the genesis specification, JSON that a person writes.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_primitives::{Address, B64, B256, Bytes, U256, keccak256};
use serde::{Deserialize, Serialize};

use super::{
    base_fee::BaseFeeParams,
    block::{EXTRA_DATA_BYTES_MAX, empty_header},
};
use crate::{
    primitives::{Gas, Wallet, amount, ether},
    state::{AccountChange, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT, StateChanges},
    system::staking::{STAKING_ADDRESS, StakingParams, StakingTemplate, WEIGHT_UNIT},
    vm::Marker,
};

/// Smallest gas limit of a block (Yellow Paper, 4.3.4).
pub const GAS_LIMIT_MIN: u64 = 5_000;

/// Everything that decides a chain's genesis block and rules.
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
pub struct GenesisSpec {
    /// EIP-155 chain id; from 1 on.
    #[serde(with = "amount::small")]
    pub chain_id: u64,
    /// What people call the chain.
    #[serde(default)]
    pub name: String,
    /// Time of the genesis block, in seconds since the Unix epoch.
    #[serde(default, with = "amount::small")]
    pub timestamp: u64,
    /// Gas limit of a block.
    #[serde(default = "default_gas_limit", with = "amount::small")]
    pub gas_limit: u64,
    /// EIP-1559 parameters, or `"off"` for headers without a base fee.
    #[serde(default)]
    pub base_fee: BaseFee,
    /// From which height which rules hold.
    #[serde(default)]
    pub forks: ForkRules,
    /// At most 32 bytes of the genesis header.
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
    /// Time between blocks, in milliseconds, for protocols and drivers that keep to one.
    #[serde(default = "default_block_time_ms", with = "amount::small")]
    pub block_time_ms: u64,
    /// Accounts that exist from the start.
    #[serde(default)]
    pub accounts: BTreeMap<Address, GenesisAccount>,
    /// Contracts made from templates in the genesis state, in this order.
    #[serde(default)]
    pub contracts: Vec<GenesisContract>,
    /// The first validators, in the protocol's order.
    #[serde(default)]
    pub validators: Vec<GenesisValidator>,
    /// Stake: with it the genesis state has the staking contract at [`STAKING_ADDRESS`], in which the validators' stakes are bonded
    /// (made on top of the accounts' balances). Without it there is no stake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staking: Option<StakingParams>,
    /// The consensus protocol's own section; this floor only carries it.
    #[serde(default)]
    pub consensus: serde_json::Value,
    /// Digest of the template registry; when given, opening with another registry is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_digest: Option<B256>,
    /// Development only: blocks may carry balances and the like set by hand, and unsigned (impersonated) transactions.
    #[serde(default)]
    pub allow_interventions: bool,
}

/// An account of the genesis state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GenesisAccount {
    /// In the smallest unit.
    #[serde(with = "amount")]
    pub balance: U256,
    /// Transaction count.
    #[serde(with = "amount::small")]
    pub nonce: u64,
    /// Code, in hexadecimal.
    #[serde(skip_serializing_if = "has_no_bytes")]
    pub code: Bytes,
    /// Storage: slot to value, both numbers or 0x strings.
    #[serde(with = "amount::slots", skip_serializing_if = "BTreeMap::is_empty")]
    pub storage: BTreeMap<U256, U256>,
}

/// A contract of the genesis state, made by running its template's constructor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GenesisContract {
    /// Where it lives.
    pub address: Address,
    /// Name of the template, such as `erc20-token`; its newest version is taken.
    pub template: String,
    /// Constructor parameters by the names in the template's ABI; numbers may be strings.
    #[serde(default)]
    pub params: serde_json::Map<String, serde_json::Value>,
    /// Who the constructor sees as its caller.
    #[serde(default)]
    pub deployer: Address,
}

/// A validator of the genesis state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GenesisValidator {
    /// Address of the key that seals.
    pub address: Address,
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// Bonded stake, in the smallest unit; ignored on chains without `staking`.
    #[serde(default, with = "amount")]
    pub stake: U256,
}

/// EIP-1559, or no base fee at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseFee {
    /// Headers carry no base fee, the whole price goes to the author. JSON: `"off"`.
    Off,
    /// The base fee follows demand and is burned. JSON: an object, its missing fields EIP-1559's.
    Dynamic(BaseFeeParams),
}

/// From which height the rules of a fork hold; `null` is never. Gas costs the same at every height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ForkRules {
    /// London: headers carry a base fee, beginning with [`BaseFeeParams::initial`], and type 2 transactions are taken (EIP-1559).
    pub london: Option<u64>,
}

/// Why a genesis specification is not usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is not the expected JSON; the cause names line and column.
    #[error("genesis: {0}")]
    Json(#[from] serde_json::Error),
    /// A field has a value that no chain can have.
    #[error("genesis field `{field}`: {reason}")]
    Field {
        /// Its name in the JSON.
        field: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
}

impl GenesisSpec {
    /// A chain of this id with the defaults of every other field.
    pub fn new(chain_id: u64) -> Self {
        Self {
            chain_id,
            name: String::new(),
            timestamp: 0,
            gas_limit: default_gas_limit(),
            base_fee: BaseFee::default(),
            forks: ForkRules::default(),
            extra_data: Bytes::new(),
            coinbase: Address::ZERO,
            difficulty: U256::ZERO,
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            block_time_ms: default_block_time_ms(),
            accounts: BTreeMap::new(),
            contracts: Vec::new(),
            validators: Vec::new(),
            staking: None,
            consensus: serde_json::Value::Null,
            registry_digest: None,
            allow_interventions: false,
        }
    }

    /// A development chain: id 31337, interventions allowed, the first `accounts` addresses of `wallet` with 10,000 tokens each.
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

    /// The same with `balance` for `address`.
    #[must_use]
    pub fn with_balance(mut self, address: Address, balance: U256) -> Self {
        self.fund(address, balance);
        self
    }

    /// Reads and checks JSON.
    ///
    /// # Errors
    /// [`SpecError`], saying where and what would be right.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let spec: Self = serde_json::from_str(text)?;
        spec.check()?;
        Ok(spec)
    }

    /// The JSON form, indented, every field written; equal specifications give equal text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Checks the fields that types can't.
    ///
    /// # Errors
    /// [`SpecError::Field`] for the first that no chain can have.
    pub fn check(&self) -> Result<(), SpecError> {
        let wrong = |field, reason: String| Err(SpecError::Field { field, reason });
        if self.chain_id == 0 {
            return wrong("chainId", "0 is no chain id; choose from 1 on, 31337 for development".to_owned());
        }
        if self.gas_limit < GAS_LIMIT_MIN {
            return wrong("gasLimit", format!("{} is below {GAS_LIMIT_MIN}", self.gas_limit));
        }
        if self.extra_data.len() > EXTRA_DATA_BYTES_MAX {
            let length = self.extra_data.len();
            return wrong("extraData", format!("{length} bytes, at most {} fit", EXTRA_DATA_BYTES_MAX));
        }
        if let BaseFee::Dynamic(params) = self.base_fee
            && (params.elasticity_multiplier == 0 || params.change_denominator == 0)
        {
            return wrong(
                "baseFee",
                "elasticityMultiplier and changeDenominator start at 1; write \"off\" for no base fee".to_owned(),
            );
        }
        if let Some(params) = &self.staking {
            self.check_staking(params)?;
        }
        let mut seen = std::collections::BTreeSet::new();
        for validator in &self.validators {
            if !seen.insert(validator.address) {
                return wrong("validators", format!("{} is listed twice", validator.address));
            }
        }
        for contract in &self.contracts {
            if !seen.insert(contract.address)
                || self.accounts.get(&contract.address).is_some_and(|a| !a.code.is_empty())
            {
                return wrong("contracts", format!("{} is taken already", contract.address));
            }
        }
        Ok(())
    }

    /// Stakes are all given, or none yet.
    fn check_staking(&self, params: &StakingParams) -> Result<(), SpecError> {
        let wrong = |field, reason: String| Err(SpecError::Field { field, reason });
        if let Err(error) = params.check() {
            return wrong("staking", error.to_string());
        }
        let taken = self.accounts.get(&STAKING_ADDRESS).is_some_and(|account| !account.code.is_empty());
        if (taken && !self.has_staking_contract())
            || self.contracts.iter().any(|contract| contract.address == STAKING_ADDRESS)
        {
            return wrong("staking", format!("{STAKING_ADDRESS} is the staking contract's address; choose another"));
        }
        if self.validators.iter().all(|validator| validator.stake.is_zero()) {
            return Ok(());
        }
        match self.validators.iter().find(|validator| validator.stake < WEIGHT_UNIT) {
            Some(GenesisValidator { address, stake, .. }) => wrong(
                "validators",
                format!("{address} has a stake of {stake}; give it at least {WEIGHT_UNIT} (one gwei), or leave it out"),
            ),
            None => Ok(()),
        }
    }

    /// Whether the staking contract is among the accounts already, as in a dump.
    pub(super) fn has_staking_contract(&self) -> bool {
        let marker = Marker(StakingTemplate::ID).to_bytes();
        self.accounts.get(&STAKING_ADDRESS).is_some_and(|account| account.code.as_ref() == marker)
    }

    /// The accounts as changes to the empty state; contracts come from running their constructors on top.
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

    /// The specification without accounts and contracts: what is left to know once they are in the state.
    #[must_use]
    pub fn without_state(&self) -> Self {
        let (accounts, contracts, consensus) = (BTreeMap::new(), Vec::new(), self.consensus.clone());
        let (name, extra_data, validators) = (self.name.clone(), self.extra_data.clone(), self.validators.clone());
        Self { name, extra_data, accounts, contracts, validators, consensus, ..*self }
    }

    /// The genesis header over a state with this root.
    pub fn header(&self, state_root: B256) -> Header {
        Header {
            beneficiary: self.coinbase,
            state_root,
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            difficulty: self.difficulty,
            gas_limit: self.gas_limit,
            timestamp: self.timestamp,
            extra_data: self.extra_data.clone(),
            mix_hash: self.mix_hash,
            nonce: self.nonce,
            base_fee_per_gas: self.base_fee.params().filter(|_| self.forks.is_london(0)).map(|params| params.initial),
            ..empty_header()
        }
    }

    /// The gas limit as a typed amount.
    pub const fn block_gas_limit(&self) -> Gas {
        Gas::new(self.gas_limit)
    }
}

impl GenesisContract {
    /// A contract of the template `name` at `address`, its parameters by the names in the template's ABI.
    pub fn new(address: Address, template: &str, params: serde_json::Map<String, serde_json::Value>) -> Self {
        Self { address, template: template.to_owned(), params, deployer: Address::ZERO }
    }
}

impl BaseFee {
    /// The parameters, unless it is off.
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
    /// Whether London's rules hold at `height`.
    pub fn is_london(&self, height: u64) -> bool {
        self.london.is_some_and(|from| height >= from)
    }
}

impl Default for ForkRules {
    fn default() -> Self {
        Self { london: Some(0) }
    }
}

/// JSON of [`BaseFee`]: `"off"` or the parameters.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BaseFeeJson {
    Word(String),
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
            Ok(BaseFeeJson::Word(word)) if word == "off" => Ok(Self::Off),
            Ok(BaseFeeJson::Params(params)) => Ok(Self::Dynamic(params)),
            Ok(BaseFeeJson::Word(_)) | Err(_) => Err(serde::de::Error::custom(format_args!("baseFee: {expected}"))),
        }
    }
}

pub(super) fn has_no_bytes(bytes: &Bytes) -> bool {
    bytes.is_empty()
}

const fn default_gas_limit() -> u64 {
    30_000_000
}

const fn default_block_time_ms() -> u64 {
    1_000
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{b64, b256, hex};

    use super::*;

    /// Ethereum's own genesis block, whose state root and hash everybody knows.
    #[test]
    fn mainnet_genesis_header() {
        let spec = GenesisSpec {
            gas_limit: 5_000,
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
    fn json_comes_back_and_missing_fields_have_defaults() {
        let spec = GenesisSpec::from_json(
            r#"{ "chainId": "0x539", "gasLimit": "10000000", "baseFee": {"initial": 7},
                 "accounts": { "0x0000000000000000000000000000000000000001":
                    {"balance": 5, "nonce": "3", "code": "0xef", "storage": {"0x1": "9", "2": 4}} },
                 "validators": [{"address": "0x0000000000000000000000000000000000000002", "stake": "10"}],
                 "consensus": {"protocol": "clique"} }"#,
        )
        .unwrap();
        assert_eq!((spec.chain_id, spec.gas_limit), (1337, 10_000_000));
        assert_eq!(spec.base_fee, BaseFee::Dynamic(BaseFeeParams { initial: 7, ..Default::default() }));
        let account = &spec.accounts[&Address::with_last_byte(1)];
        assert_eq!(account.storage, BTreeMap::from([(U256::from(1), U256::from(9)), (U256::from(2), U256::from(4))]));
        assert_eq!(GenesisSpec::from_json(&spec.to_json()).unwrap(), spec);
        let off = GenesisSpec { base_fee: BaseFee::Off, ..spec };
        assert_eq!(GenesisSpec::from_json(&off.to_json()).unwrap(), off);
    }

    #[test]
    fn errors_say_what_would_be_right() {
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
