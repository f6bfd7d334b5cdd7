//! What the document says of modules' configurations: one object with the fields of all of them, closed. Which are of which module, and how they
//! go together, is the modules' own rule, whose errors name the field.

use utoipa::{
    ToSchema,
    openapi::{
        ObjectBuilder, Schema, Type,
        schema::{AnyOfBuilder, SchemaType},
    },
};

use crate::server::rest::scalar::{Amount, Interval, Percent};

/// Configuration of a module: each module takes those fields that name it, and refuses the others.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the configurations that modules read")]
pub(in crate::server::rest::routes) struct ModuleConfig {
    /// Of defi (dex, lending, staking) and nft (minting, marketplace): its parts; all by default.
    #[schema(min_items = 1)]
    features: Option<Vec<ModuleFeature>>,
    /// Of defi: fee of the pools in percent, 0.3.
    swap_fee: Option<Percent>,
    /// Of defi: part of the collateral's worth up to which a debt is not liquidated, from 1 to 95 %; 80 by default.
    liquidation_threshold: Option<Percent>,
    /// Of defi: part of the collateral's worth that may be borrowed; 75 % by default.
    ltv: Option<Percent>,
    /// Of defi: first price of the native token in the lent one, of 8 decimals.
    price: Option<Amount>,
    /// Of defi: what a staking pool gives in a second.
    reward_rate: Option<Amount>,
    /// Of defi, nft and dao: the token that it works with; one of its own by default.
    #[schema(schema_with = token)]
    token: Option<String>,
    /// Of nft: standard of the collection; ERC721 by default.
    standard: Option<CollectionStandard>,
    /// Of nft: the collection.
    collection: Option<CollectionConfig>,
    /// Of nft: royalty in percent; none by default.
    royalty: Option<Percent>,
    /// Of nft: fee of the marketplace in percent; none by default.
    marketplace_fee: Option<Percent>,
    /// Of dao: name of the governor, at most 31 bytes.
    #[schema(min_length = 1, max_length = 31, pattern = r"\S", example = "Council")]
    name: Option<String>,
    /// Of dao: blocks, or time, before votes are taken.
    #[schema(schema_with = number_or_time)]
    voting_delay: Option<String>,
    /// Of dao: blocks, or time, in which votes are taken.
    #[schema(schema_with = number_or_time)]
    voting_period: Option<String>,
    /// Of dao: votes that a proposer has, in the token's smallest unit.
    proposal_threshold: Option<Amount>,
    /// Of dao: part of the votes that must vote, in whole percent; 4 by default.
    quorum: Option<Percent>,
    /// Of dao: time from a vote's success to its execution; 2 days by default.
    timelock_delay: Option<Interval>,
    /// Of bridge: names or ids of chains.
    #[schema(max_items = 64)]
    chains: Option<Vec<String>>,
    /// Of bridge: blocks after which a transfer is taken over.
    #[schema(minimum = 1, maximum = 10000)]
    confirmations: Option<u32>,
    /// Of bridge: what becomes of a token that leaves.
    mode: Option<BridgeMode>,
    /// Of oracle: pairs such as ETH/USD.
    #[schema(max_items = 64)]
    feeds: Option<Vec<String>>,
    /// Of oracle: time between two prices.
    update_interval: Option<Interval>,
    /// Of oracle: digits of a price after the decimal point.
    #[schema(maximum = 36)]
    decimals: Option<u8>,
    /// Of identity: method of the identifiers.
    method: Option<IdentityMethod>,
    /// Of identity: types of credentials.
    #[schema(max_items = 64)]
    credentials: Option<Vec<String>>,
    /// Of privacy: system of the proofs.
    proof_system: Option<ProofSystem>,
    /// Of privacy: names of circuits.
    #[schema(max_items = 64)]
    circuits: Option<Vec<String>>,
    /// Of storage: where files are.
    provider: Option<StorageProvider>,
    /// Of storage: copies of a file.
    #[schema(minimum = 1, maximum = 100)]
    replicas: Option<u32>,
    /// Of storage: URL of a gateway.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "https://gateway.example")]
    gateway: Option<String>,
}

/// A part of a module.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the configurations that modules read")]
enum ModuleFeature {
    Dex,
    Lending,
    Staking,
    Minting,
    Marketplace,
}

/// Standard of a collection.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "describes the configurations that modules read")]
enum CollectionStandard {
    Erc721,
    Erc1155,
}

/// A collection of the module nft.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the configurations that modules read")]
struct CollectionConfig {
    /// Its name; none of ERC1155.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "Art")]
    name: Option<String>,
    /// Its symbol; none of ERC1155.
    #[schema(min_length = 1, max_length = 64, pattern = r"\S", example = "ART")]
    symbol: Option<String>,
    /// URI of the metadata.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "ipfs://items/")]
    uri: Option<String>,
}

/// What becomes of a token that leaves over a bridge.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "kebab-case")]
#[expect(dead_code, reason = "describes the configurations that modules read")]
enum BridgeMode {
    LockMint,
    BurnMint,
}

/// Method of decentralised identifiers.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the configurations that modules read")]
enum IdentityMethod {
    #[schema(rename = "did:key")]
    Key,
    #[schema(rename = "did:web")]
    Web,
    #[schema(rename = "did:ethr")]
    Ethr,
}

/// System of zero-knowledge proofs.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the configurations that modules read")]
enum ProofSystem {
    Groth16,
    Plonk,
}

/// Where the module storage has its files.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the configurations that modules read")]
enum StorageProvider {
    Ipfs,
    Local,
}

/// Schema of a whole number, in a string too, or of a duration.
pub(in crate::server::rest::routes) fn number_or_time() -> Schema {
    let types = SchemaType::from_iter([Type::String, Type::Integer, Type::Null]);
    let schema = ObjectBuilder::new().schema_type(types).minimum(Some(0)).pattern(Some("^[0-9]{1,77}[smhd]?$"));
    schema.description(Some("A whole number, or a duration as in 2d.")).build().into()
}

/// Schema of a token: one that is there, that of another module, or what a new one is made with.
fn token() -> Schema {
    let text = |length: usize, example: &str| {
        let schema = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(length));
        schema.pattern(Some(r"\S")).examples([example])
    };
    let there = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^(0x[0-9a-fA-F]{40}|defi|dao)$"));
    let supply = SchemaType::from_iter([Type::String, Type::Null]);
    let supply = ObjectBuilder::new().schema_type(supply).pattern(Some("^[0-9]{1,63}$"));
    let supply =
        supply.description(Some("In the smallest unit, at most 2^208 - 1, which is what its votes can count."));
    let made = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("name", text(31, "Gold"))
        .property("symbol", text(64, "GLD"))
        .property("totalSupply", supply)
        .required("name")
        .required("symbol");
    let forms = AnyOfBuilder::new().item(there).item(made).item(ObjectBuilder::new().schema_type(Type::Null));
    let description = "Of defi, nft and dao: the token that it works with: an address; of nft defi or dao, of dao defi, for that module's token; \
         or what a new one is made with. One of its own by default.";
    forms.description(Some(description)).into()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        platform::{ModuleKind, ModuleSpec},
        server::rest::type_schema::TypeSchema,
    };

    /// What the modules' rules take fits the schema, and each field of the schema is one that a module takes.
    #[test]
    fn the_schema_has_the_fields_of_the_modules_rules() {
        let validator = jsonschema::draft202012::new(&TypeSchema::of::<ModuleConfig>().standalone()).unwrap();
        let mut known = BTreeSet::new();
        for (module, config) in [
            (
                "defi",
                json!({
                    "features": ["dex", "lending", "staking"], "swapFee": "0.30%", "liquidationThreshold": 80, "ltv": "075.0",
                    "price": "200000000000", "rewardRate": "1", "token": { "name": "Gold", "symbol": "GLD", "totalSupply": null },
                }),
            ),
            (
                "defi",
                json!({ "features": ["lending"], "liquidationThreshold": 82.5, "token": format!("0x{}", "1a".repeat(20)) }),
            ),
            (
                "nft",
                json!({
                    "features": ["minting", "marketplace"], "standard": "ERC721", "royalty": "5", "marketplaceFee": "100.00%",
                    "collection": { "name": "Art", "symbol": "ART", "uri": "ipfs://items/" }, "token": "dao",
                }),
            ),
            ("nft", json!({ "standard": null, "collection": { "name": null }, "token": null, "features": null })),
            (
                "dao",
                json!({
                    "name": "Council", "token": "defi", "votingDelay": 0, "votingPeriod": "1d", "proposalThreshold": "0",
                    "quorum": 4, "timelockDelay": "1d",
                }),
            ),
            ("bridge", json!({ "chains": ["one"], "confirmations": 10_000, "mode": "lock-mint" })),
            ("bridge", json!({ "mode": "burn-mint", "confirmations": 1 })),
            ("oracle", json!({ "feeds": ["ETH/USD"], "updateInterval": "1m", "decimals": 36 })),
            ("identity", json!({ "method": "did:key", "credentials": ["degree"] })),
            ("identity", json!({ "method": "did:ethr" })),
            ("privacy", json!({ "proofSystem": "groth16", "circuits": ["transfer"] })),
            ("storage", json!({ "provider": "ipfs", "replicas": 100, "gateway": "https://gateway.example" })),
        ] {
            let kind = ModuleKind::from_name(module).unwrap();
            let fields = config.as_object().cloned().unwrap();
            known.extend(fields.keys().cloned());
            let spec = ModuleSpec { blockchain_id: String::new(), kind, config: fields };
            let wrong: Vec<String> = spec.check().into_iter().map(|field| field.path).collect();
            assert!(wrong.is_empty(), "{module} {config}: {wrong:?}");
            let errors: Vec<String> = validator.iter_errors(&config).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{module} {config}: {errors:?}");
        }
        let schemas: BTreeMap<String, Value> = TypeSchema::of::<ModuleConfig>().all().into_iter().collect();
        let described: BTreeSet<String> =
            schemas["ModuleConfig"]["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(known, described);
        for wrong in [json!({ "colour": 1 }), json!({ "token": { "name": "Gold" } }), json!({ "features": [] })] {
            assert!(!validator.is_valid(&wrong), "{wrong}");
        }
    }
}
