//! Blockchains: their specification, their record, and a running one.

mod engine;
mod genesis;
mod keys;
pub(super) mod metrics;
mod record;
mod state;
pub(super) mod token_index;

use core::sync::atomic::{AtomicU64, Ordering};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{
    engine::OpenError,
    metrics::{DutyRule, MetricsLog},
    token_index::TokenIndex,
};
pub(super) use self::{
    engine::{Engine, EngineParts, PlatformTime},
    genesis::{GenesisParts, consensus, taken_over},
    keys::{ChainKeys, STANDBY_KEYS, draw_key},
};
pub use self::{
    record::BlockchainRecord,
    state::{ChainCommand, ChainState},
};
use super::{
    FieldError, Fields, PlatformError, default_workspace,
    fields::{is_text, shown},
    records::{Owner, Stored},
};
use crate::{
    chain::{ChainError, OpenError as GenesisError, is_of_system},
    consensus::ConsensusKind,
    node::{BuildError, MINING_INTERVAL_SECS_MAX, Node, PacedNetwork, QueryError},
    primitives::Gas,
    sim::NetworkError,
};

/// Largest chain id that a JavaScript number holds exactly.
const CHAIN_ID_MAX: u64 = (1 << 53) - 1;
/// Validators of one chain.
pub(super) const VALIDATORS_MAX: usize = 100;
/// Smallest and largest block gas limit.
pub(super) const GAS_LIMIT_BOUNDS: core::ops::RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;
/// Premine unless the request has one: a million tokens of 18 decimals.
const DEFAULT_PREMINE: U256 = U256::from_limbs([0x1bce_cced_a100_0000, 0xd3c2, 0, 0]);
/// Valid feature names.
pub(super) const FEATURES: [&str; 3] =
    [Feature::SmartContracts.name(), Feature::Permissions.name(), Feature::Privacy.name()];

/// What a chain is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// Transactions may deploy contracts.
    SmartContracts,
    /// Lists of accounts say who sends and who deploys; the treasury administers them.
    Permissions,
    /// Only the chain's participants read it.
    Privacy,
}

impl Feature {
    /// Name of the feature.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SmartContracts => "smart-contracts",
            Self::Permissions => "permissions",
            Self::Privacy => "privacy",
        }
    }
}

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

/// A validator of genesis. Its sealing key is the service's own.
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
    /// `private`: its workspace reads it; `public`: every authenticated caller does.
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
    /// Operators of the validators; one validator, of the treasury, when empty.
    pub validators: Vec<ValidatorSpec>,
    /// Names of its [`Feature`]s; `smart-contracts` alone by default.
    pub features: Vec<String>,
    /// Who enables and disables modules: the owner of the chain's registry of modules.
    pub upgrades: DecidedBy,
    /// Who adds and removes validators on a protocol without stake: the administrator of the validators' contract.
    pub membership: DecidedBy,
    /// Whether it starts as soon as it is made.
    pub starts: bool,
}

/// Who decides something on a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DecidedBy {
    /// The chain's authority: its treasury.
    #[default]
    Authority,
    /// Its governance, by proposals.
    Governance,
}

impl DecidedBy {
    /// All values.
    pub const ALL: [Self; 2] = [Self::Authority, Self::Governance];

    /// Name in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authority => "authority",
            Self::Governance => "governance",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl BlockchainSpec {
    /// Returns whether the chain is made with a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.iter().any(|name| name == feature.name())
    }

    /// Returns whether every authenticated caller reads the chain, unless it has [`Feature::Privacy`].
    pub fn is_public(&self) -> bool {
        self.kind == "public"
    }
}

impl BlockchainSpec {
    /// Number of the validators of genesis.
    pub(super) fn validators_at_genesis(&self) -> usize {
        self.validators.len().max(1)
    }

    /// Number of the standby keys that a new chain is made with.
    pub(super) fn standby_keys(&self) -> usize {
        if self.block_time.is_some() { STANDBY_KEYS } else { 0 }
    }

    /// A specification with the defaults of what a request may leave out.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: "private".to_owned(),
            consensus: ConsensusKind::Poa,
            chain_id: None,
            block_time: None,
            block_gas_limit: None,
            native_token: NativeToken::default(),
            validators: Vec::new(),
            features: vec![Feature::SmartContracts.name().to_owned()],
            upgrades: DecidedBy::default(),
            membership: DecidedBy::default(),
            starts: true,
        }
    }

    /// Checks the values of the fields, which are named as in a request's body.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field.
    pub fn check(&self) -> Result<(), PlatformError> {
        let mut fields = Vec::new();
        let mut refuse = |path: String, expected: String, got: String| fields.push(FieldError { path, expected, got });
        if !is_text(&self.name) {
            refuse("name".to_owned(), "a non-empty string".to_owned(), shown(&self.name.as_str().into()));
        }
        if let Some(id) = self.chain_id.filter(|id| !(1..=CHAIN_ID_MAX).contains(id)) {
            refuse("chainId".to_owned(), format!("an integer between 1 and {CHAIN_ID_MAX}"), id.to_string());
        }
        if let Some((expected, got)) = self.block_time.and_then(refused_block_time) {
            refuse("config.blockTime".to_owned(), expected.to_owned(), got);
        }
        if let Some(limit) = self.block_gas_limit.filter(|limit| !GAS_LIMIT_BOUNDS.contains(&limit.get())) {
            let (min, max) = (GAS_LIMIT_BOUNDS.start(), GAS_LIMIT_BOUNDS.end());
            let expected = format!("a decimal integer string between {min} and {max}");
            refuse("config.blockGasLimit".to_owned(), expected, limit.get().to_string());
        }
        for (name, text) in [("name", &self.native_token.name), ("symbol", &self.native_token.symbol)] {
            if !is_text(text) {
                let got = shown(&text.as_str().into());
                refuse(format!("config.nativeToken.{name}"), "a non-empty string".to_owned(), got);
            }
        }
        if self.membership == DecidedBy::Governance && genesis::consensus(self).uses_stake() {
            let expected = "authority, or none: with stake operators join and leave by themselves";
            refuse("config.membership".to_owned(), expected.to_owned(), shown(&self.membership.name().into()));
        }
        check_validators(&self.validators, &mut refuse);
        check_features(&self.features, &mut refuse);
        if fields.is_empty() { Ok(()) } else { Err(PlatformError::Validation { fields }) }
    }

    /// Reads a JSON object with the fields of a request's body.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every field of another form; if there is none, as [`BlockchainSpec::check`].
    pub fn read(body: Value) -> Result<Self, PlatformError> {
        let names_features = body.get("features").is_some_and(|features| !features.is_null());
        let mut fields = Fields::read(body)?;
        let name = fields.text("name").unwrap_or_default();
        let kinds = ["private", "public"];
        let kind = fields.choice("type", &kinds, |kind| kinds.contains(&kind).then(|| kind.to_owned()));
        let consensus = fields.choice("consensus", &ConsensusKind::ALL.map(ConsensusKind::name), named);
        let consensus = consensus.unwrap_or(ConsensusKind::Poa);
        let chain_id = fields.integer("chainId", 1, CHAIN_ID_MAX);
        let mut config = fields.object("config");
        let block_time = config.duration_secs("blockTime");
        let block_time = block_time.map(Duration::from_secs);
        let block_gas_limit = config.amount("blockGasLimit").map(|limit| Gas::new(limit.saturating_to()));
        let mut token = config.object("nativeToken");
        let defaults = NativeToken::default();
        let native_token = NativeToken {
            name: token.optional_text("name", "a non-empty string").unwrap_or(defaults.name),
            symbol: token.optional_text("symbol", "a non-empty string").unwrap_or(defaults.symbol),
            premine: token.amount("premine").unwrap_or(defaults.premine),
        };
        config.absorb(token);
        let mut decided = |name| config.choice(name, &DecidedBy::ALL.map(DecidedBy::name), DecidedBy::from_name);
        let (upgrades, membership) = (decided("upgrades"), decided("membership"));
        fields.absorb(config);
        let validators = read_validators(&mut fields);
        let mut features = fields.choices("features", &FEATURES);
        if !names_features {
            features.push(Feature::SmartContracts.name().to_owned());
        }
        let starts = fields.boolean("start").unwrap_or(true);
        fields.finish()?;
        let kind = kind.unwrap_or_else(|| "private".to_owned());
        let (upgrades, membership) = (upgrades.unwrap_or_default(), membership.unwrap_or_default());
        let spec = Self {
            name,
            kind,
            consensus,
            chain_id,
            block_time,
            block_gas_limit,
            native_token,
            validators,
            features,
            upgrades,
            membership,
            starts,
        };
        spec.check()?;
        Ok(spec)
    }
}

/// Returns the protocol with this whole name; short names are for the command line.
fn named(name: &str) -> Option<ConsensusKind> {
    ConsensusKind::ALL.into_iter().find(|kind| kind.name() == name)
}

/// Returns what is expected, and what came, when a time between blocks is out of its bounds.
fn refused_block_time(time: Duration) -> Option<(&'static str, String)> {
    match time.as_secs() {
        0 => Some(("a duration of at least a second: a number and one of s, m, h, d, as in 5s", shown(&"0s".into()))),
        secs if secs > MINING_INTERVAL_SECS_MAX => Some(("a duration between 1s and 365d", format!("{secs}s"))),
        _ => None,
    }
}

/// Refuses operators that can't be: nobody's or a system contract's, the same one twice, nameless by blanks, too many.
fn check_validators(validators: &[ValidatorSpec], refuse: &mut impl FnMut(String, String, String)) {
    if validators.len() > VALIDATORS_MAX {
        let expected = format!("an array of at most {VALIDATORS_MAX} objects");
        refuse("validators".to_owned(), expected, format!("{} objects", validators.len()));
    }
    for (index, validator) in validators.iter().enumerate() {
        let (path, address) = (format!("validators[{index}].address"), validator.address);
        if !validator.name.is_empty() && !is_text(&validator.name) {
            let got = shown(&validator.name.as_str().into());
            refuse(format!("validators[{index}].name"), "a non-empty string".to_owned(), got);
        }
        if address.is_zero() || is_of_system(&address) {
            let expected = "an address whose key somebody has, and no system contract's";
            refuse(path.clone(), expected.to_owned(), address.to_string());
        }
        if validators[..index].iter().any(|other| other.address == address) {
            refuse(path, "an address that no other validator has".to_owned(), address.to_string());
        }
    }
}

/// Refuses features that there are not, and one that is named twice.
fn check_features(features: &[String], refuse: &mut impl FnMut(String, String, String)) {
    for (index, name) in features.iter().enumerate() {
        let expected = if !FEATURES.contains(&name.as_str()) {
            format!("one of {}", FEATURES.join(", "))
        } else if features[..index].contains(name) {
            "a feature that is named once".to_owned()
        } else {
            continue;
        };
        refuse(format!("features[{index}]"), expected, shown(&name.as_str().into()));
    }
}

fn read_validators(fields: &mut Fields) -> Vec<ValidatorSpec> {
    let mut validators: Vec<ValidatorSpec> = Vec::new();
    for mut object in fields.objects("validators", VALIDATORS_MAX) {
        let address = object.address("address");
        let address = object.require("address", "an address (0x and 40 hex digits)", address);
        let name = object.optional_text("name", "a non-empty string").unwrap_or_default();
        validators.extend(address.map(|address| ValidatorSpec { address, name }));
        fields.absorb(object);
    }
    validators
}

/// A chain in memory.
#[derive(Debug)]
pub struct Blockchain {
    owner: Owner,
    id: String,
    spec: BlockchainSpec,
    chain_id: u64,
    created_at_ms: u64,
    treasury: Option<Address>,
    engine: Engine,
    metrics: Arc<MetricsLog>,
    tokens: Arc<TokenIndex>,
    /// Since when it is watched whether it makes blocks, in milliseconds since the Unix epoch; 0 before the first look.
    watched_since_ms: AtomicU64,
    /// Looks for transactions that blocks have, by the kind of the records that keep them.
    looks: Mutex<BTreeMap<&'static str, u64>>,
}

impl Blockchain {
    /// Describes a running node, to be the default chain of a platform.
    pub fn running(id: String, spec: BlockchainSpec, node: Node, now_ms: u64) -> Self {
        Self {
            owner: Owner::Workspace(default_workspace()),
            id,
            chain_id: node.view().chain_id(),
            spec,
            created_at_ms: now_ms,
            treasury: node.accounts().first().copied(),
            metrics: Arc::new(MetricsLog::new(DutyRule::new(
                node.consensus(),
                false,
                node.view().chain().spec().validators.len() as u64,
            ))),
            tokens: Arc::new(TokenIndex::in_memory()),
            engine: Engine::OnDemand(node),
            watched_since_ms: AtomicU64::new(0),
            looks: Mutex::default(),
        }
    }

    /// Returns the number of this look for those transactions of a kind of records that blocks have; the first is 1.
    pub(super) fn next_look(&self, kind: &'static str) -> u64 {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let look = looks.entry(kind).or_default();
        *look = look.wrapping_add(1);
        *look
    }

    /// A chain of a record, with its engine and what is noted of its blocks.
    pub(super) fn of_record(
        stored: &Stored<BlockchainRecord>,
        engine: Engine,
        metrics: Arc<MetricsLog>,
        tokens: Arc<TokenIndex>,
    ) -> Self {
        Self {
            owner: stored.owner().clone(),
            id: stored.id().to_owned(),
            spec: stored.value.spec.clone(),
            chain_id: stored.value.chain_id,
            created_at_ms: stored.created_at_ms(),
            treasury: stored.value.treasury,
            engine,
            metrics,
            tokens,
            watched_since_ms: AtomicU64::new(0),
            looks: Mutex::default(),
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

    /// Wallet that got the premine at genesis; of the default chain the first of its node's accounts, if it has any.
    pub const fn treasury(&self) -> Option<Address> {
        self.treasury
    }

    /// The node by which the chain is read and sent to. It holds no keys, but the default chain's.
    pub const fn node(&self) -> &Node {
        self.engine.node()
    }

    /// The network that makes the blocks of a chain with a block time, a replica for each validator; `None` on demand.
    pub const fn network(&self) -> Option<&PacedNetwork> {
        self.engine.network()
    }

    /// Why the chain stands still by a failure; `None` while it does not.
    pub fn failure(&self) -> Option<String> {
        self.engine.failure()
    }

    /// Seconds from a block to the next now, which governance may have changed since the start; `None` where blocks come on demand.
    pub(super) fn block_time_secs(&self) -> Result<Option<u64>, QueryError> {
        let at_first = self.spec.block_time.filter(|_| self.network().is_some()).map(|period| period.as_secs());
        Ok(self.node().view().block_time_secs()?.or(at_first))
    }

    /// Returns whether a running chain with a block time has made no block for ten of them and half a minute.
    pub fn is_behind(&self, now_ms: u64) -> bool {
        let Some(at_first) = self.spec.block_time else { return false };
        let is_first = self.watched_since_ms.compare_exchange(0, now_ms, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if self.node().is_halted() || is_first {
            self.watched_since_ms.store(now_ms, Ordering::Relaxed);
            return false;
        }
        let newest = self.node().view().head().block().timestamp().as_secs();
        let start = newest.max(self.watched_since_ms.load(Ordering::Relaxed) / 1000);
        let block_time = self.block_time_secs().ok().flatten().unwrap_or(at_first.as_secs());
        (now_ms / 1000).saturating_sub(start) > block_time.saturating_mul(10).saturating_add(30)
    }

    /// Name of an operator of genesis; `None` for one that joined later.
    pub(super) fn genesis_name(&self, operator: Address) -> Option<String> {
        let view = self.node().view();
        let found = view.chain().spec().validators.iter().find(|validator| validator.operator() == operator);
        found.map(|validator| validator.name.clone())
    }

    pub(super) const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the gas that all its blocks used.
    pub(super) fn gas_used(&self) -> Result<u64, PlatformError> {
        self.metrics_log().gas_used(&self.node().view())
    }

    pub(super) fn token_index(&self) -> &TokenIndex {
        &self.tokens
    }

    pub(super) fn metrics_log(&self) -> &MetricsLog {
        &self.metrics
    }
}

/// Converts a failed opening: a validation error for a number of validators that the protocol can't have, a conflict for a contract that the
/// genesis can't have.
fn failure(validators: usize, cause: OpenError) -> PlatformError {
    match cause {
        OpenError::Network(NetworkError::Consensus(cause)) | OpenError::Node(BuildError::Consensus(cause)) => {
            PlatformError::field("validators", cause.to_string(), format!("{validators} validators"))
        }
        OpenError::Network(NetworkError::Chain {
            source: ChainError::Open(cause @ GenesisError::GenesisContract { .. }),
            ..
        })
        | OpenError::Node(BuildError::Open(cause @ GenesisError::GenesisContract { .. })) => {
            PlatformError::Conflict { message: cause.to_string() }
        }
        other => PlatformError::internal(other),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;
    use serde_json::json;

    use super::*;
    use crate::system::staking::STAKING_ADDRESS;

    #[test]
    fn the_longest_and_the_shortest_body_are_read() {
        let whole = json!({
            "name": "ledger", "type": "private", "consensus": "proof-of-authority", "chainId": 12345,
            "config": {
                "blockTime": "5s", "blockGasLimit": "30000000",
                "nativeToken": { "name": "Coin", "symbol": "CN", "premine": "1000000" },
            },
            "validators": [{ "address": "0x1111111111111111111111111111111111111111", "name": "one" }],
            "features": ["smart-contracts", "permissions", "privacy"], "start": false,
        });
        let mut whole = whole;
        whole["config"]["upgrades"] = "governance".into();
        let spec = BlockchainSpec::read(whole).unwrap();
        assert_eq!((spec.upgrades, spec.starts), (DecidedBy::Governance, false));
        assert_eq!(
            (spec.chain_id, spec.block_time, spec.block_gas_limit),
            (Some(12345), Some(Duration::from_secs(5)), Some(Gas::new(30_000_000)))
        );
        assert_eq!(spec.validators[0].address, address!("1111111111111111111111111111111111111111"));
        let short = BlockchainSpec::read(json!({ "name": "x" })).unwrap();
        assert_eq!((short.kind.as_str(), short.consensus, short.chain_id), ("private", ConsensusKind::Poa, None));
        assert_eq!((short.upgrades, short.starts), (DecidedBy::Authority, true));
        assert_eq!(short.native_token.premine, U256::from(10).pow(U256::from(24)));
        assert!(short.has(Feature::SmartContracts) && !short.has(Feature::Privacy));
        let bare = BlockchainSpec::read(json!({ "name": "x", "features": [] })).unwrap();
        assert!(!bare.has(Feature::SmartContracts));
    }

    #[test]
    fn invalid_fields_are_refused_by_name() {
        for (body, path) in [
            (json!({ "name": "x", "consensus": "magic" }), "consensus"),
            (json!({ "name": "x", "config": { "blockGasLimit": "1" } }), "config.blockGasLimit"),
            (json!({ "name": "x", "chainId": 0 }), "chainId"),
            (json!({ "name": "x", "config": { "upgrades": "nobody" } }), "config.upgrades"),
            (json!({ "name": "x", "config": { "membership": "nobody" } }), "config.membership"),
            (
                json!({ "name": "x", "consensus": "proof-of-stake", "config": { "membership": "governance" } }),
                "config.membership",
            ),
            (json!({ "name": "x", "start": "later" }), "start"),
            (json!({ "name": "x", "validators": [{}] }), "validators[0].address"),
            (json!({ "name": "x", "validators": [{ "address": Address::ZERO }] }), "validators[0].address"),
            (json!({ "name": "x", "validators": [{ "address": STAKING_ADDRESS }] }), "validators[0].address"),
            (json!({ "name": "x", "features": ["privacy", "permissions", "privacy"] }), "features[2]"),
            (json!({ "name": "x", "colour": 1 }), "colour"),
            (json!({}), "name"),
        ] {
            let Err(PlatformError::Validation { fields }) = BlockchainSpec::read(body) else { panic!("{path}") };
            assert_eq!((fields.len(), fields[0].path.as_str()), (1, path));
        }
    }

    #[test]
    fn a_feature_is_one_that_there_is_and_named_once() {
        let check = |features: &[&str]| {
            let features = features.iter().map(|name| (*name).to_owned()).collect();
            BlockchainSpec { features, ..BlockchainSpec::new("x") }.check()
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&FEATURES), Ok(()));
        let Err(PlatformError::Validation { fields }) = check(&["privacy", "magic", "privacy"]) else {
            panic!("two of them are wrong")
        };
        let said: Vec<(&str, &str)> =
            fields.iter().map(|field| (field.path.as_str(), field.expected.as_str())).collect();
        let features = "one of smart-contracts, permissions, privacy";
        assert_eq!(said, [("features[1]", features), ("features[2]", "a feature that is named once")]);
    }
}
