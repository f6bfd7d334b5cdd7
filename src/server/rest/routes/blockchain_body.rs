//! The body that describes a blockchain to create.

use core::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{
    consensus::ConsensusKind,
    platform::{
        BlockchainSpec, DecidedBy as PlatformDecidedBy, Feature as PlatformFeature, NativeToken, PlatformError,
        ValidatorSpec,
    },
    primitives::Gas,
    server::rest::{
        body::Body,
        scalar::{Amount, HexAddress, Interval},
    },
};

/// A chain to create. Only the name is required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreateBlockchain {
    /// Name of the chain.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "ledger")]
    name: String,
    /// `private`: the workspace reads it; `public`: every authenticated caller does.
    #[serde(rename = "type")]
    #[schema(default = "private")]
    kind: Option<Kind>,
    /// Consensus protocol.
    #[schema(default = "proof-of-authority")]
    consensus: Option<Consensus>,
    /// Chain id (EIP-155), unique in this process; the next free one by default.
    #[schema(example = 12345, minimum = 1, maximum = 9007199254740991_u64)]
    chain_id: Option<u64>,
    /// Block and token parameters.
    config: Option<CreateConfig>,
    /// Validators, at most 100; one by default, of the treasury. The service draws the sealing key of each. pbft takes 1 validator, or 4 and
    /// more.
    #[schema(max_items = 100)]
    validators: Option<Vec<CreateValidator>>,
    /// `smart-contracts`: contracts may be deployed; `permissions`: lists of accounts and deployers; `privacy`: its participants alone read it.
    /// Each at most once; without the field `smart-contracts` alone.
    #[schema(value_type = Option<std::collections::BTreeSet<Feature>>, example = json!(["smart-contracts"]))]
    features: Option<Vec<Feature>>,
    /// Whether it starts as soon as it is made. One that does not is `created`: modules may be added to its genesis until it is started.
    #[schema(default = true)]
    start: Option<bool>,
}

/// Who may read a chain.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Private,
    Public,
}

/// Consensus protocol.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Consensus {
    ProofOfAuthority,
    ProofOfStake,
    DelegatedProofOfStake,
    Pbft,
    Raft,
}

/// Feature of a chain.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Feature {
    SmartContracts,
    Permissions,
    Privacy,
}

/// Parameters of a chain to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateConfig {
    /// Time between blocks: a number and s, m (minute), h or d, between 1s and 365d. By default each transaction is mined at once.
    block_time: Option<Interval>,
    /// Gas limit of a block, a decimal integer between 1000000 and 1000000000000.
    #[schema(pattern = "^([1-9][0-9]{6,11}|1000000000000)$", example = "30000000")]
    block_gas_limit: Option<String>,
    /// Token that pays for gas.
    native_token: Option<CreateNativeToken>,
    /// Who enables and disables modules: the chain's authority, which is its treasury, or its governance by proposals.
    #[schema(default = "authority")]
    upgrades: Option<DecidedBy>,
    /// Who adds and removes validators where there is no stake: the chain's authority, or its governance by proposals. With stake operators
    /// join and leave by themselves, and governance is refused.
    #[schema(default = "authority")]
    membership: Option<DecidedBy>,
}

/// Who decides something on a chain.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DecidedBy {
    Authority,
    Governance,
}

/// The native token of a chain to create.
#[derive(Debug, Deserialize, ToSchema)]
struct CreateNativeToken {
    /// Name of the token.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", default = "Ether", example = "Ether")]
    name: Option<String>,
    /// Symbol of the token.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", default = "ETH", example = "ETH")]
    symbol: Option<String>,
    /// Balance of the treasury at genesis, a decimal integer in the smallest unit; 10^24 by default.
    premine: Option<Amount>,
}

/// A validator of a chain to create.
#[derive(Debug, Deserialize, ToSchema)]
struct CreateValidator {
    /// Address of the operator, who owns stake, rewards and vote. Genesis gives it 10 tokens for gas.
    address: HexAddress,
    /// Name of the operator.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "one")]
    name: Option<String>,
}

impl Body for CreateBlockchain {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({
            "name": "ledger", "type": "private", "consensus": "proof-of-authority", "chainId": 12345,
            "config": {
                "blockTime": "2s", "blockGasLimit": "30000000",
                "nativeToken": { "name": "Ether", "symbol": "ETH", "premine": "1000000000000000000000000" },
                "upgrades": "authority", "membership": "authority",
            },
            "validators": [{ "address": "0x1111111111111111111111111111111111111111", "name": "one" }],
            "features": ["smart-contracts"], "start": true,
        });
        vec![("all fields", all), ("required fields", json!({ "name": "ledger" }))]
    }
}

impl CreateBlockchain {
    /// Converts the body to a specification, and checks it.
    ///
    /// # Errors
    /// [`PlatformError::Validation`], as [`BlockchainSpec::check`].
    pub(super) fn into_spec(self) -> Result<BlockchainSpec, PlatformError> {
        let mut spec = BlockchainSpec::new(self.name);
        let kind = self.kind.unwrap_or(Kind::Private);
        spec.kind = kind.name().to_owned();
        spec.consensus = self.consensus.map_or(spec.consensus, Consensus::kind);
        spec.chain_id = self.chain_id;
        if let Some(config) = self.config {
            spec.block_time = config.block_time.map(|time| Duration::from_secs(time.secs));
            // The pattern has let no other text pass; what is larger than any limit is out of bounds all the same.
            spec.block_gas_limit = config.block_gas_limit.map(|limit| Gas::new(limit.parse().unwrap_or(u64::MAX)));
            spec.native_token = config.native_token.map_or(spec.native_token, CreateNativeToken::into_token);
            spec.upgrades = config.upgrades.map_or(spec.upgrades, DecidedBy::named);
            spec.membership = config.membership.map_or(spec.membership, DecidedBy::named);
        }
        spec.validators = self.validators.unwrap_or_default().into_iter().map(CreateValidator::into_spec).collect();
        if let Some(features) = self.features {
            spec.features = features.into_iter().map(|feature| feature.feature().name().to_owned()).collect();
        }
        spec.starts = self.start.unwrap_or(spec.starts);
        spec.check()?;
        Ok(spec)
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Public => "public",
        }
    }
}

impl Consensus {
    const fn kind(self) -> ConsensusKind {
        match self {
            Self::ProofOfAuthority => ConsensusKind::Poa,
            Self::ProofOfStake => ConsensusKind::Pos,
            Self::DelegatedProofOfStake => ConsensusKind::Dpos,
            Self::Pbft => ConsensusKind::Pbft,
            Self::Raft => ConsensusKind::Raft,
        }
    }
}

impl Feature {
    const fn feature(self) -> PlatformFeature {
        match self {
            Self::SmartContracts => PlatformFeature::SmartContracts,
            Self::Permissions => PlatformFeature::Permissions,
            Self::Privacy => PlatformFeature::Privacy,
        }
    }
}

impl DecidedBy {
    const fn named(self) -> PlatformDecidedBy {
        match self {
            Self::Authority => PlatformDecidedBy::Authority,
            Self::Governance => PlatformDecidedBy::Governance,
        }
    }
}

impl CreateNativeToken {
    fn into_token(self) -> NativeToken {
        let default = NativeToken::default();
        NativeToken {
            name: self.name.unwrap_or(default.name),
            symbol: self.symbol.unwrap_or(default.symbol),
            premine: self.premine.map_or(default.premine, |premine| premine.0),
        }
    }
}

impl CreateValidator {
    fn into_spec(self) -> ValidatorSpec {
        ValidatorSpec { address: self.address.0, name: self.name.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::rest::body::{BodyType, read_body};

    #[test]
    fn a_feature_is_named_once() {
        let body = BodyType::of::<CreateBlockchain>();
        let of = |features: Value| body.validate(&json!({ "name": "x", "features": features }));
        for features in [json!([]), json!(["privacy", "permissions", "smart-contracts"]), Value::Null] {
            assert!(of(features.clone()).is_ok(), "{features}");
        }
        let refused = of(json!(["privacy", "privacy"])).unwrap_err();
        let field = &refused.details()["fields"][0];
        assert_eq!((refused.status().as_u16(), &field["path"]), (422, &json!("features")));
        assert_eq!(field["expected"], "items that differ");
    }

    /// A body comes to the specification that the library reads from the same JSON, and is refused with the same words.
    #[test]
    fn the_body_and_the_library_agree() {
        let validator = |digit: char| json!({ "address": format!("0x{}", digit.to_string().repeat(40)) });
        let mut bodies: Vec<Value> = CreateBlockchain::examples().into_iter().map(|(_, body)| body).collect();
        for (field, value) in [
            ("type", json!("public")),
            ("type", Value::Null),
            ("features", json!([])),
            ("features", json!(["privacy", "permissions", "smart-contracts"])),
            ("features", Value::Null),
            ("start", json!(false)),
            ("chainId", json!(0)),
            ("config", json!({ "blockTime": "0m" })),
            ("config", json!({ "blockTime": "8760h" })),
            ("config", json!({ "blockTime": "8761h" })),
            ("config", json!({ "blockTime": "999999999d" })),
            ("config", json!({ "blockGasLimit": "999999" })),
            ("config", json!({ "blockGasLimit": "1000000", "upgrades": "governance" })),
            ("config", json!({ "blockGasLimit": "1000000000001" })),
            ("config", json!({ "nativeToken": { "name": " ", "premine": "0" } })),
            ("config", json!({ "nativeToken": { "symbol": "X", "name": null } })),
            ("name", json!("\u{85}")),
            ("validators", json!([validator('0'), validator('0'), validator('1'), validator('1')])),
        ] {
            let mut body = json!({ "name": "x" });
            body[field] = value;
            bodies.push(body);
        }
        for kind in ConsensusKind::ALL {
            bodies.push(json!({ "name": "x", "consensus": kind.name(), "validators": [validator('a')] }));
        }
        let mut refused = 0;
        for body in bodies {
            let typed: CreateBlockchain = read_body(body.clone()).unwrap();
            let (typed, read) = (typed.into_spec(), BlockchainSpec::read(body.clone()));
            let paths = |result: &Result<BlockchainSpec, PlatformError>| match result {
                Err(PlatformError::Validation { fields }) => {
                    fields.iter().map(|field| (field.path.clone(), field.expected.clone())).collect()
                }
                _ => Vec::new(),
            };
            assert_eq!(paths(&typed), paths(&read), "{body}");
            assert_eq!(typed.is_err(), read.is_err(), "{body}");
            refused += usize::from(typed.is_err());
            if let Ok(typed) = typed {
                assert_eq!(typed, read.unwrap());
            }
        }
        assert_eq!(refused, 9);
    }
}
