//! Blockchains: their specification, their record, and a running one.

mod keys;
mod record;
mod start;

use std::time::Duration;

use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::record::BlockchainRecord;
pub(super) use self::{keys::ChainKeys, start::start};
use super::{
    Fields, PlatformError, default_workspace,
    records::{Owner, Stored},
};
use crate::{
    consensus::ConsensusKind,
    node::{MINING_INTERVAL_SECS_MAX, Node},
    primitives::Gas,
};

/// Largest chain id that a JavaScript number holds exactly.
const CHAIN_ID_MAX: u64 = (1 << 53) - 1;
/// Validators of one chain.
const VALIDATORS_MAX: usize = 100;
/// Smallest and largest block gas limit.
const GAS_LIMIT_BOUNDS: core::ops::RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;
/// Premine unless the request has one: a million tokens of 18 decimals.
const DEFAULT_PREMINE: U256 = U256::from_limbs([0x1bce_cced_a100_0000, 0xd3c2, 0, 0]);
/// Valid feature names.
pub(super) const FEATURES: [&str; 3] = ["smart-contracts", "permissions", "privacy"];

/// Token that pays for gas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeToken {
    /// Name of the token.
    pub name: String,
    /// Symbol of the token.
    pub symbol: String,
    /// Balance of the treasury at genesis, in the smallest unit.
    pub premine: U256,
}

impl Default for NativeToken {
    fn default() -> Self {
        Self { name: "Ether".to_owned(), symbol: "ETH".to_owned(), premine: DEFAULT_PREMINE }
    }
}

/// Labels of a validator. Its signing key is the service's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidatorSpec {
    /// Address of the operator.
    pub address: Address,
    /// Name of the operator; may be empty.
    pub name: String,
}

/// Specification of a chain: the decoded body of a request to create one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockchainSpec {
    /// Name of the chain.
    pub name: String,
    /// `private` or `public`, a label.
    pub kind: String,
    /// Consensus protocol.
    #[serde(with = "record::consensus_name")]
    pub consensus: ConsensusKind,
    /// Chain id (EIP-155); the next free one by default.
    pub chain_id: Option<u64>,
    /// Time between blocks, in whole seconds; a block for each transaction by default.
    pub block_time: Option<Duration>,
    /// Gas limit of a block, in gas units; the node's own by default.
    pub block_gas_limit: Option<Gas>,
    /// Token that pays for gas.
    pub native_token: NativeToken,
    /// Labels of the validators; one validator without labels when empty.
    pub validators: Vec<ValidatorSpec>,
    /// Declared features, labels.
    pub features: Vec<String>,
}

impl BlockchainSpec {
    /// Reads a request body.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field.
    pub fn read(body: Value) -> Result<Self, PlatformError> {
        let mut fields = Fields::read(body)?;
        let name = fields.text("name").unwrap_or_default();
        let kinds = ["private", "public"];
        let kind = fields.choice("type", &kinds, |kind| kinds.contains(&kind).then(|| kind.to_owned()));
        let consensus = fields.choice("consensus", &ConsensusKind::ALL.map(ConsensusKind::name), named);
        let consensus = consensus.unwrap_or(ConsensusKind::Poa);
        let chain_id = fields.integer("chainId", 1, CHAIN_ID_MAX);
        let mut config = fields.object("config");
        let block_time = config.duration_secs("blockTime");
        if let Some(secs) = block_time.filter(|secs| *secs > MINING_INTERVAL_SECS_MAX) {
            config.refuse("blockTime", "a duration between 1s and 365d", format!("{secs}s"));
        }
        let block_time = block_time.map(Duration::from_secs);
        let block_gas_limit = gas_limit(&mut config).map(Gas::new);
        let mut token = config.object("nativeToken");
        let defaults = NativeToken::default();
        let native_token = NativeToken {
            name: token.optional_text("name", "a non-empty string").unwrap_or(defaults.name),
            symbol: token.optional_text("symbol", "a non-empty string").unwrap_or(defaults.symbol),
            premine: token.amount("premine").unwrap_or(defaults.premine),
        };
        config.absorb(token);
        fields.absorb(config);
        let validators = read_validators(&mut fields);
        let features = fields.choices("features", &FEATURES);
        fields.finish()?;
        let kind = kind.unwrap_or_else(|| "private".to_owned());
        Ok(Self { name, kind, consensus, chain_id, block_time, block_gas_limit, native_token, validators, features })
    }
}

/// Returns the protocol with this whole name; short names are for the command line.
fn named(name: &str) -> Option<ConsensusKind> {
    ConsensusKind::ALL.into_iter().find(|kind| kind.name() == name)
}

fn gas_limit(config: &mut Fields) -> Option<u64> {
    let limit = config.amount("blockGasLimit")?;
    let fitting = u64::try_from(limit).ok().filter(|limit| GAS_LIMIT_BOUNDS.contains(limit));
    if fitting.is_none() {
        let (min, max) = (GAS_LIMIT_BOUNDS.start(), GAS_LIMIT_BOUNDS.end());
        config.refuse("blockGasLimit", format!("a decimal integer string between {min} and {max}"), limit.to_string());
    }
    fitting
}

fn read_validators(fields: &mut Fields) -> Vec<ValidatorSpec> {
    let mut validators: Vec<ValidatorSpec> = Vec::new();
    for mut object in fields.objects("validators", VALIDATORS_MAX) {
        let address = object.address("address");
        let address = object.require("address", "an address (0x and 40 hex digits)", address);
        let name = object.optional_text("name", "a non-empty string").unwrap_or_default();
        if let Some(address) = address {
            if validators.iter().any(|other| other.address == address) {
                object.refuse("address", "an address that no other validator has", address.to_string());
            }
            validators.push(ValidatorSpec { address, name });
        }
        fields.absorb(object);
    }
    validators
}

/// A running chain.
#[derive(Debug)]
pub struct Blockchain {
    owner: Owner,
    id: String,
    spec: BlockchainSpec,
    chain_id: u64,
    created_at_ms: u64,
    node: Node,
}

impl Blockchain {
    /// Describes a running node, to be the default chain of a platform.
    pub fn running(id: String, spec: BlockchainSpec, node: Node, now_ms: u64) -> Self {
        let owner = Owner::Workspace(default_workspace());
        Self { owner, id, chain_id: node.view().chain_id(), spec, created_at_ms: now_ms, node }
    }

    /// A chain of a record, with its running node.
    pub(super) fn of_record(stored: &Stored<BlockchainRecord>, node: Node) -> Self {
        Self {
            owner: stored.owner().clone(),
            id: stored.id().to_owned(),
            spec: stored.value.spec.clone(),
            chain_id: stored.value.chain_id,
            created_at_ms: stored.created_at_ms(),
            node,
        }
    }

    /// Owner of the chain.
    pub const fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Id in the service.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Specification of the chain.
    pub const fn spec(&self) -> &BlockchainSpec {
        &self.spec
    }

    /// Chain id (EIP-155).
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// Time of creation, in milliseconds since the Unix epoch.
    pub const fn created_at_ms(&self) -> u64 {
        self.created_at_ms
    }

    /// Account that holds the premine at genesis. It is unlocked; `None` for a node without accounts.
    pub fn treasury(&self) -> Option<Address> {
        self.node.accounts().first().copied()
    }

    /// The node of the chain.
    pub const fn node(&self) -> &Node {
        &self.node
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_and_the_shortest_body_are_read() {
        let whole = json!({
            "name": "ledger", "type": "private", "consensus": "proof-of-authority", "chainId": 12345,
            "config": {
                "blockTime": "5s", "blockGasLimit": "30000000",
                "nativeToken": { "name": "Coin", "symbol": "CN", "premine": "1000000" },
            },
            "validators": [{ "address": "0x1111111111111111111111111111111111111111", "name": "one" }],
            "features": ["smart-contracts", "permissions", "privacy"],
        });
        let spec = BlockchainSpec::read(whole).unwrap();
        assert_eq!(
            (spec.chain_id, spec.block_time, spec.block_gas_limit),
            (Some(12345), Some(Duration::from_secs(5)), Some(Gas::new(30_000_000)))
        );
        assert_eq!(spec.validators[0].address, address!("1111111111111111111111111111111111111111"));
        let short = BlockchainSpec::read(json!({ "name": "x" })).unwrap();
        assert_eq!((short.kind.as_str(), short.consensus, short.chain_id), ("private", ConsensusKind::Poa, None));
        assert_eq!(short.native_token.premine, U256::from(10).pow(U256::from(24)));
    }

    #[test]
    fn invalid_fields_are_refused_by_name() {
        for (body, path) in [
            (json!({ "name": "x", "consensus": "magic" }), "consensus"),
            (json!({ "name": "x", "config": { "blockGasLimit": "1" } }), "config.blockGasLimit"),
            (json!({ "name": "x", "chainId": 0 }), "chainId"),
            (json!({ "name": "x", "validators": [{}] }), "validators[0].address"),
            (json!({ "name": "x", "colour": 1 }), "colour"),
            (json!({}), "name"),
        ] {
            let Err(PlatformError::Validation { fields }) = BlockchainSpec::read(body) else { panic!("{path}") };
            assert_eq!((fields.len(), fields[0].path.as_str()), (1, path));
        }
    }
}
