//! geth's genesis JSON (`geth init`), read as a specification.

use core::fmt;
use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{BaseFee, Forks, GenesisAccount, GenesisSpec, SpecError};
use crate::{
    chain::base_fee::BaseFeeParams,
    primitives::{Gas, Timestamp, amount},
    vm::{Hardfork, Marker},
};

/// A genesis in geth's form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GethGenesis {
    /// The specification. The protocol, its validators and everything that seals the genesis block are the defaults.
    pub spec: GenesisSpec,
    /// What was not taken over.
    pub ignored: Vec<IgnoredField>,
}

/// A field of geth's genesis that was not taken over, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IgnoredField {
    /// Path of the field, such as `extraData` or `config.clique`.
    pub field: String,
    /// The reason.
    pub reason: &'static str,
}

impl fmt::Display for IgnoredField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

/// The JSON document. Numbers are decimal or 0x strings, or plain numbers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Document {
    config: Map<String, Value>,
    alloc: BTreeMap<String, Account>,
    timestamp: Number,
    gas_limit: Number,
    base_fee_per_gas: Option<Number>,
    extra_data: Bytes,
    difficulty: Number,
    nonce: Number,
    mix_hash: Bytes,
    coinbase: Bytes,
    number: Number,
    gas_used: Number,
    parent_hash: Bytes,
    excess_blob_gas: Option<Number>,
    blob_gas_used: Option<Number>,
    parent_beacon_block_root: Option<Bytes>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Account {
    #[serde(alias = "wei")]
    balance: Number,
    nonce: Number,
    code: Bytes,
    storage: BTreeMap<String, Number>,
    secret_key: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
struct Number(#[serde(with = "amount")] U256);

/// Fields of `config` that name the fork from which its rules hold, oldest first. The first ones have the height, the others the time of
/// their first block.
const FORKS: [(&str, Hardfork); 5] = [
    ("londonBlock", Hardfork::London),
    ("shanghaiTime", Hardfork::Shanghai),
    ("cancunTime", Hardfork::Cancun),
    ("pragueTime", Hardfork::Prague),
    ("osakaTime", Hardfork::Osaka),
];

/// Why the fields that seal a block are not taken over.
const OTHER_SEAL: &str = "a seal of another protocol; this chain's own seals its blocks";

impl GenesisSpec {
    /// Returns whether JSON has the form of geth's genesis: a field `config` or `alloc`.
    pub fn is_geth_json(text: &str) -> bool {
        let fields: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        fields.contains_key("config") || fields.contains_key("alloc")
    }

    /// Reads geth's genesis: `config.chainId` and the newest fork of `config`, `alloc`, `timestamp`, `gasLimit` and `baseFeePerGas`.
    ///
    /// Without any fork in `config` the default one holds; with forks before London alone, Berlin's rules.
    ///
    /// # Errors
    /// [`SpecError`] for malformed JSON, an unknown field, a fork that begins after genesis, or a value out of its bounds.
    ///
    /// ```
    /// use chainbox::chain::GenesisSpec;
    /// let read = GenesisSpec::from_geth_json(r#"{
    ///     "config": { "chainId": 1337, "londonBlock": 0, "shanghaiTime": 0 },
    ///     "alloc": { "f39Fd6e51aad88F6F4ce6aB8827279cffFb92266": { "balance": "0xde0b6b3a7640000" } },
    ///     "extraData": "0x00", "gasLimit": "0x1c9c380"
    /// }"#)?;
    /// assert_eq!((read.spec.chain_id, read.spec.gas_limit.get()), (1337, 30_000_000));
    /// assert_eq!(read.ignored[0].field, "extraData");
    /// # Ok::<(), chainbox::chain::SpecError>(())
    /// ```
    pub fn from_geth_json(text: &str) -> Result<GethGenesis, SpecError> {
        let document: Document = serde_json::from_str(text)?;
        let ignored = document.ignored();
        let spec = document.spec()?;
        spec.check()?;
        Ok(GethGenesis { spec, ignored })
    }
}

impl Document {
    fn spec(self) -> Result<GenesisSpec, SpecError> {
        let chain_id = self.config.get("chainId").map(number).transpose()?.unwrap_or_default();
        let mut spec = GenesisSpec::new(small("config.chainId", chain_id)?);
        spec.timestamp = Timestamp::from_secs(small("timestamp", self.timestamp.0)?);
        if !self.gas_limit.0.is_zero() {
            spec.gas_limit = Gas::new(small("gasLimit", self.gas_limit.0)?);
        }
        spec.forks = forks(&self.config, spec.timestamp)?;
        if let Some(Number(initial)) = self.base_fee_per_gas {
            let initial = small("baseFeePerGas", initial)?;
            spec.base_fee = BaseFee::Dynamic(BaseFeeParams { initial, ..BaseFeeParams::default() });
        }
        for (address, account) in self.alloc {
            let digits = address.strip_prefix("0x").unwrap_or(&address);
            let parsed =
                digits.parse::<Address>().map_err(|_| invalid("alloc", format!("{address:?} is no address")))?;
            spec.accounts.insert(parsed, account.into_account()?);
        }
        Ok(spec)
    }

    fn ignored(&self) -> Vec<IgnoredField> {
        let is_set = |bytes: &Bytes| bytes.iter().any(|byte| *byte != 0);
        let mut ignored = Vec::new();
        let mut ignore = |is_given: bool, field: &str, reason| {
            if is_given {
                ignored.push(IgnoredField { field: field.to_owned(), reason });
            }
        };
        ignore(
            !self.extra_data.is_empty(),
            "extraData",
            "signers of another protocol; this chain's validators are its own",
        );
        ignore(!self.difficulty.0.is_zero(), "difficulty", OTHER_SEAL);
        ignore(!self.nonce.0.is_zero(), "nonce", OTHER_SEAL);
        ignore(is_set(&self.mix_hash), "mixHash", OTHER_SEAL);
        ignore(is_set(&self.coinbase), "coinbase", OTHER_SEAL);
        let has_parent = is_set(&self.parent_hash) || !self.number.0.is_zero() || !self.gas_used.0.is_zero();
        ignore(
            has_parent,
            "number, gasUsed, parentHash",
            "the genesis block has neither height, transactions nor parent",
        );
        let blobs = [&self.excess_blob_gas, &self.blob_gas_used];
        let has_blobs = blobs.into_iter().flatten().any(|gas| !gas.0.is_zero());
        ignore(has_blobs, "excessBlobGas, blobGasUsed", "there are no blobs");
        ignore(
            self.parent_beacon_block_root.as_ref().is_some_and(is_set),
            "parentBeaconBlockRoot",
            "there is no beacon chain",
        );
        for protocol in ["ethash", "clique"] {
            ignore(
                self.config.contains_key(protocol),
                &format!("config.{protocol}"),
                "the protocol is chosen otherwise",
            );
        }
        let is_foreign = |account: &Account| !account.code.is_empty() && Marker::split(&account.code).is_none();
        let codes = self.alloc.values().filter(|account| is_foreign(account)).count();
        ignore(codes > 0, "alloc.*.code", "EVM bytecode is in the state and does not run");
        ignored
    }
}

impl Account {
    fn into_account(self) -> Result<GenesisAccount, SpecError> {
        let slot = |text: &str| {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            U256::from_str_radix(digits, 16)
                .map_err(|_| invalid("alloc", format!("storage slot {text:?} is not hexadecimal")))
        };
        let storage = self.storage.iter().map(|(key, value)| Ok((slot(key)?, value.0)));
        Ok(GenesisAccount {
            balance: self.balance.0,
            nonce: small("alloc.*.nonce", self.nonce.0)?,
            code: self.code,
            storage: storage.collect::<Result<_, SpecError>>()?,
        })
    }
}

/// Returns the newest fork that holds at genesis.
fn forks(config: &Map<String, Value>, genesis: Timestamp) -> Result<Forks, SpecError> {
    let mut newest = None;
    for (field, fork) in FORKS {
        let Some(from) = config.get(field).filter(|value| !value.is_null()).map(number).transpose()? else { continue };
        let begins = if field.ends_with("Time") { genesis.as_secs() } else { 0 };
        if from > U256::from(begins) {
            let reason = format!(
                "`{field}` {from} is after genesis: one fork holds from genesis on; set it to 0 or leave it out"
            );
            return Err(invalid("config", reason));
        }
        newest = Some(fork);
    }
    // Other than zero it may be past the largest number that JSON's reader has.
    let total_difficulty = config.get("terminalTotalDifficulty").map(number);
    let is_merged = total_difficulty.is_some_and(|total| total.is_ok_and(|total| total.is_zero()))
        || config.get("terminalTotalDifficultyPassed").is_some_and(|passed| passed == true);
    let newest = newest.max(is_merged.then_some(Hardfork::Paris));
    let has_older = config.keys().any(|field| field.ends_with("Block"));
    Ok(match newest {
        Some(fork) => fork.into(),
        None if has_older => Forks::LondonAt(None),
        None => Forks::default(),
    })
}

fn number(value: &Value) -> Result<U256, SpecError> {
    Ok(Number::deserialize(value)?.0)
}

fn small(field: &'static str, value: U256) -> Result<u64, SpecError> {
    u64::try_from(value).map_err(|_| invalid(field, format!("{value} is above 2^64 - 1")))
}

fn invalid(field: &'static str, reason: String) -> SpecError {
    SpecError::Field { field, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str, rest: &str) -> Result<GethGenesis, SpecError> {
        GenesisSpec::from_geth_json(&format!(r#"{{ "config": {{ "chainId": 1337{config} }}{rest} }}"#))
    }

    #[test]
    fn the_newest_fork_of_genesis_holds() {
        for (config, expected) in [
            ("", Forks::default()),
            (r#", "homesteadBlock": 0, "berlinBlock": 0"#, Forks::LondonAt(None)),
            (r#", "londonBlock": 0"#, Hardfork::London.into()),
            (r#", "londonBlock": 0, "terminalTotalDifficulty": 0"#, Hardfork::Paris.into()),
            (r#", "londonBlock": 0, "terminalTotalDifficulty": 58750000000000000000000"#, Hardfork::London.into()),
            (
                r#", "londonBlock": 0, "terminalTotalDifficultyPassed": true, "shanghaiTime": 0"#,
                Hardfork::Shanghai.into(),
            ),
            (r#", "cancunTime": 50, "pragueTime": "0x64", "osakaTime": null"#, Hardfork::Prague.into()),
        ] {
            let read = read(config, r#", "timestamp": "0x64""#);
            assert_eq!(read.unwrap().spec.forks, expected, "{config}");
        }
        let later =
            read(r#", "londonBlock": 0, "shanghaiTime": 101"#, r#", "timestamp": 100"#).unwrap_err().to_string();
        assert!(later.contains("`shanghaiTime` 101 is after genesis"), "{later}");
    }

    #[test]
    fn accounts_fees_and_limits_are_taken_over_and_seals_are_not() {
        let GethGenesis { spec, ignored } = read(
            r#", "clique": { "period": 5, "epoch": 30000 }"#,
            r#", "gasLimit": "0x989680", "baseFeePerGas": 7, "difficulty": "0x1", "extraData": "0x1234",
                "mixHash": "0x0000000000000000000000000000000000000000000000000000000000000000", "number": "0x0",
                "alloc": {
                    "0000000000000000000000000000000000000001": { "balance": "12" },
                    "0x0000000000000000000000000000000000000002": { "balance": "0x10", "nonce": "0x3", "code": "0x6001",
                        "storage": { "0x01": "0x02", "000000000000000000000000000000000000000000000000000000000000000a": "0x5" } }
                }"#,
        )
        .unwrap();
        assert_eq!((spec.chain_id, spec.gas_limit.get()), (1_337, 10_000_000));
        assert_eq!(spec.base_fee, BaseFee::Dynamic(BaseFeeParams { initial: 7, ..Default::default() }));
        let (one, two) = (&spec.accounts[&Address::with_last_byte(1)], &spec.accounts[&Address::with_last_byte(2)]);
        assert_eq!((one.balance, two.balance, two.nonce), (U256::from(12), U256::from(16), 3));
        assert_eq!(two.storage, BTreeMap::from([(U256::from(1), U256::from(2)), (U256::from(10), U256::from(5))]));
        let fields: Vec<_> = ignored.iter().map(|ignored| ignored.field.as_str()).collect();
        assert_eq!(fields, ["extraData", "difficulty", "config.clique", "alloc.*.code"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (rest, words) in [
            (r#", "gaslimit": 1"#, "unknown field `gaslimit`"),
            (r#", "gasLimit": 100"#, "gasLimit"),
            (r#", "alloc": { "0x01": {} }"#, "\"0x01\" is no address"),
            (r#", "alloc": { "0000000000000000000000000000000000000001": { "balanc": 1 } }"#, "unknown field `balanc`"),
            (r#", "baseFeePerGas": "0x10000000000000000""#, "above 2^64 - 1"),
        ] {
            let error = read("", rest).unwrap_err().to_string();
            assert!(error.contains(words), "{rest}: {error}");
        }
        let zero = GenesisSpec::from_geth_json(r#"{ "alloc": {} }"#).unwrap_err().to_string();
        assert!(zero.contains("chainId"), "{zero}");
    }
}
