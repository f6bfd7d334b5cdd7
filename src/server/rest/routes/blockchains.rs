//! `/v1/blockchains`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{
    platform::{Blockchain, BlockchainRecord, BlockchainSpec, Scope, records::Index},
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            answer::{Change, Located},
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            parameter::Page,
            request::Request,
            scalar::{Amount, HexAddress, Interval},
        },
    },
};

/// A chain to create. Only the name is required.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateBlockchain {
    /// Name of the chain.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "ledger")]
    name: String,
    /// `private` or `public`; a label that changes nothing else.
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
    /// Validators, at most 100; one by default. Addresses and names are labels: the service generates the signing key of each. pbft takes 1
    /// validator, or 4 and more.
    #[schema(max_items = 100)]
    validators: Option<Vec<CreateValidator>>,
    /// Features; labels that change nothing else.
    #[schema(max_items = 3, example = json!(["smart-contracts"]))]
    features: Option<Vec<Feature>>,
}

/// Who may read a chain.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Private,
    Public,
}

/// Consensus protocol.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Consensus {
    ProofOfAuthority,
    ProofOfStake,
    DelegatedProofOfStake,
    Pbft,
    Raft,
}

/// Feature of a chain.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Feature {
    SmartContracts,
    Permissions,
    Privacy,
}

/// Parameters of a chain to create.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateConfig {
    /// Time between blocks: a number and s, m (minute), h or d, between 1s and 365d. By default each transaction is mined at once.
    block_time: Option<Interval>,
    /// Gas limit of a block, a decimal integer between 1000000 and 1000000000000.
    #[schema(pattern = "^([1-9][0-9]{6,11}|1000000000000)$", example = "30000000")]
    block_gas_limit: Option<String>,
    /// Token that pays for gas.
    native_token: Option<CreateNativeToken>,
}

/// The native token of a chain to create.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
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
#[derive(Debug, Deserialize, Serialize, ToSchema)]
struct CreateValidator {
    /// Address of the operator, a label.
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
            },
            "validators": [{ "address": "0x1111111111111111111111111111111111111111", "name": "one" }],
            "features": ["smart-contracts"],
        });
        vec![("all fields", all), ("required fields", json!({ "name": "ledger" }))]
    }
}

/// A chain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BlockchainView {
    /// Id of the chain in the service.
    #[schema(example = "bc_default")]
    id: String,
    /// Name of the chain.
    name: String,
    /// `private` or `public`.
    #[serde(rename = "type")]
    kind: String,
    /// Consensus protocol.
    #[schema(example = "proof-of-authority")]
    consensus: &'static str,
    /// Chain id (EIP-155).
    #[schema(example = 31337)]
    chain_id: u64,
    /// Always `running`.
    status: &'static str,
    /// Block and token parameters.
    config: ConfigView,
    /// Validators in the genesis specification; later changes of the validator set are not shown.
    validators: Vec<ValidatorView>,
    /// Declared features.
    features: Vec<String>,
    /// Account that holds the premine at genesis; the service can sign for it.
    treasury: Option<String>,
    /// Hash of the genesis block.
    genesis_hash: String,
    /// Height of the newest block.
    current_block: u64,
    /// Path of its Ethereum JSON-RPC (POST and WebSocket).
    rpc_path: String,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
}

/// Parameters of a chain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConfigView {
    /// Time between blocks; null when each transaction is mined at once.
    block_time: Option<String>,
    /// Gas limit of the newest block.
    block_gas_limit: String,
    /// Token that pays for gas.
    native_token: NativeTokenView,
}

/// A native token.
#[derive(Debug, Serialize, ToSchema)]
struct NativeTokenView {
    /// Name of the token.
    name: String,
    /// Symbol of the token.
    symbol: String,
    /// Balance of the treasury at genesis, in the smallest unit.
    premine: String,
}

/// A validator.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ValidatorView {
    /// Address of the operator as given at creation; the signer's where none was given.
    address: String,
    /// Name of the operator.
    name: String,
    /// Address of the signing key, which the service holds.
    signer_address: String,
}

impl BlockchainView {
    fn new(chain: &Blockchain) -> Self {
        let (spec, view) = (chain.spec(), chain.node().view());
        let signers = view.chain().spec().validators.clone();
        let validators = signers.iter().enumerate().map(|(index, signer)| {
            let operator = spec.validators.get(index);
            ValidatorView {
                address: operator.map_or(signer.address, |operator| operator.address).to_string(),
                name: operator.map_or_else(|| signer.name.clone(), |operator| operator.name.clone()),
                signer_address: signer.address.to_string(),
            }
        });
        Self {
            id: chain.id().to_owned(),
            name: spec.name.clone(),
            kind: spec.kind.clone(),
            consensus: spec.consensus.name(),
            chain_id: chain.chain_id(),
            status: "running",
            config: ConfigView {
                block_time: spec.block_time.map(|time| format!("{}s", time.as_secs())),
                block_gas_limit: view.head().block().header().gas_limit.to_string(),
                native_token: NativeTokenView {
                    name: spec.native_token.name.clone(),
                    symbol: spec.native_token.symbol.clone(),
                    premine: spec.native_token.premine.to_string(),
                },
            },
            validators: validators.collect(),
            features: spec.features.clone(),
            treasury: chain.treasury().map(|address| address.to_string()),
            genesis_hash: view.genesis_hash().to_string(),
            current_block: view.head().height().get(),
            rpc_path: format!("/v1/blockchains/{}/eth", chain.id()),
            created_at: clock::iso_8601(chain.created_at_ms()),
        }
    }
}

impl Located for BlockchainView {
    fn location(&self) -> String {
        format!("/v1/blockchains/{}", self.id)
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Blockchains;
    let (read, write) = (Access::Scope(Scope::BlockchainRead), Access::Scope(Scope::BlockchainWrite));
    let (all, one) = ("/v1/blockchains", "/v1/blockchains/{blockchainId}");
    vec![
        Endpoint::post(all, "createBlockchain", tag, write, "Creates a blockchain in this process and starts it.")
            .runs(Runs::Long)
            .takes::<CreateBlockchain>()
            .creates(create),
        Endpoint::get(all, "listBlockchains", tag, read, "Lists the blockchains of the workspace, oldest first.")
            .lists(&["createdAt", "name", "chainId"], list),
        Endpoint::get(one, "getBlockchain", tag, read, "Returns one blockchain.").reads(get),
    ]
}

fn create(app: &App, request: &Request, body: CreateBlockchain) -> Result<Change<BlockchainView>, ApiError> {
    let raw = serde_json::to_value(body).map_err(|cause| ApiError::internal(&cause))?;
    let spec = BlockchainSpec::read(raw)?;
    let chain = app.platform().blockchains().create(request.principal()?, spec)?;
    app.chains.start(&chain);
    Ok(Change::done(BlockchainView::new(&chain)))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<BlockchainView>, u64), ApiError> {
    let index = match page.sort_field() {
        "name" => BlockchainRecord::BY_NAME,
        "chainId" => BlockchainRecord::BY_CHAIN_ID,
        _ => Index::CREATED,
    };
    let blockchains = app.platform().blockchains();
    let (chains, total) = blockchains.page(request.principal()?, &index, &page.request())?;
    Ok((chains.iter().map(|chain| BlockchainView::new(chain)).collect(), total))
}

fn get(app: &App, request: &Request) -> Result<BlockchainView, ApiError> {
    let blockchains = app.platform().blockchains();
    Ok(BlockchainView::new(&*blockchains.require(request.principal()?, request.path("blockchainId"))?))
}
