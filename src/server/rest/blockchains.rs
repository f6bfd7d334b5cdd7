//! `/v1/blockchains`.

use axum::{
    body::Bytes,
    extract::{Query, State, rejection::BytesRejection},
    http::HeaderMap,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    App,
    envelope::ApiResponse,
    query::{Page, Params, refuse_unknown},
    request::{ResourceId, json_body},
    schema::{Failure, Success, SuccessPage},
};
use crate::{
    platform::{
        Blockchain, BlockchainRecord, BlockchainSpec, PlatformError, Scope,
        records::{Index, Stored},
    },
    server::{api_error::ApiError, clock},
};

/// A chain to create. Only the name is required.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body that BlockchainSpec reads")]
pub(super) struct CreateBlockchain {
    /// Name of the chain.
    #[schema(example = "ledger", max_length = 256)]
    name: String,
    /// `private`: its workspace reads it; `public`: every authenticated caller does.
    #[schema(rename = "type", default = "private", example = "private")]
    kind: Option<String>,
    /// Consensus protocol: proof-of-authority, proof-of-stake, delegated-proof-of-stake, pbft or raft.
    #[schema(default = "proof-of-authority", example = "proof-of-authority")]
    consensus: Option<String>,
    /// Chain id (EIP-155), unique in this process; the next free one by default.
    #[schema(example = 12345, minimum = 1, maximum = 9007199254740991_u64)]
    chain_id: Option<u64>,
    /// Block and token parameters.
    config: Option<CreateConfig>,
    /// Validators, at most 100; one by default. Addresses and names are labels: the service generates the signing key of each. pbft takes 1
    /// validator, or 4 and more.
    validators: Option<Vec<CreateValidator>>,
    /// Any of smart-contracts (the default; without it nobody deploys), permissions (lists say who sends and deploys), privacy (its participants
    /// alone read it).
    #[schema(example = json!(["smart-contracts"]))]
    features: Option<Vec<String>>,
}

/// Parameters of a chain to create.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body that BlockchainSpec reads")]
pub(super) struct CreateConfig {
    /// Time between blocks: a number and s, m (minute), h or d, from 1s to 365d. By default blocks come on demand.
    #[schema(example = "5s")]
    block_time: Option<String>,
    /// Gas limit of a block, a decimal integer between 1000000 and 1000000000000.
    #[schema(example = "30000000")]
    block_gas_limit: Option<String>,
    /// Token that pays for gas.
    native_token: Option<CreateNativeToken>,
}

/// The native token of a chain to create.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the body that BlockchainSpec reads")]
pub(super) struct CreateNativeToken {
    /// Name of the token.
    #[schema(default = "Ether", example = "Ether")]
    name: Option<String>,
    /// Symbol of the token.
    #[schema(default = "ETH", example = "ETH")]
    symbol: Option<String>,
    /// Balance of the treasury at genesis, a decimal integer in the smallest unit.
    #[schema(default = "1000000000000000000000000", example = "1000000000000000000000000")]
    premine: Option<String>,
}

/// A validator of a chain to create.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the body that BlockchainSpec reads")]
pub(super) struct CreateValidator {
    /// Address of the operator, a label.
    #[schema(example = "0x1111111111111111111111111111111111111111")]
    address: String,
    /// Name of the operator.
    #[schema(example = "one")]
    name: Option<String>,
}

/// A chain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockchainView {
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
    /// `running` or `paused`.
    status: &'static str,
    /// Block and token parameters.
    config: ConfigView,
    /// Validators in the genesis specification; later changes of the validator set are not shown.
    validators: Vec<ValidatorView>,
    /// Declared features.
    features: Vec<String>,
    /// Wallet that holds the premine at genesis; the service can sign for it.
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
pub(super) struct ConfigView {
    /// Time between blocks; null when each transaction is mined at once.
    block_time: Option<String>,
    /// Gas limit of the newest block.
    block_gas_limit: String,
    /// Token that pays for gas.
    native_token: NativeTokenView,
}

/// A native token.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NativeTokenView {
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
pub(super) struct ValidatorView {
    /// Address of the operator as given at creation; the signer's where none was given.
    address: String,
    /// Name of the operator.
    name: String,
    /// Address of the signing key, which the service holds.
    signer_address: String,
}

impl BlockchainView {
    fn new(chain: &Blockchain, status: &'static str) -> Self {
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
            status,
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

/// Creates a chain in this process and starts it. Scope blockchain:write.
#[utoipa::path(
    post, path = "/v1/blockchains", tag = "Blockchains", operation_id = "createBlockchain", request_body = CreateBlockchain,
    responses(
        (status = 201, description = "The chain runs", body = Success<BlockchainView>, headers(("Location" = String, description = "Path of the chain"))),
        (status = 400, description = "The body is not JSON", body = Failure), (status = 401, description = "No valid credentials", body = Failure),
        (status = 403, description = "The scope is missing", body = Failure), (status = 409, description = "The chain id is taken", body = Failure),
        (status = 413, description = "The body is too long", body = Failure), (status = 415, description = "The body is not application/json", body = Failure),
        (status = 422, description = "The body failed validation", body = Failure),
    ),
)]
pub(super) async fn create(
    State(app): State<App>,
    headers: HeaderMap,
    Query(params): Query<Params>,
    body: Result<Bytes, BytesRejection>,
) -> Result<ApiResponse, ApiError> {
    let principal = app.authorize(&headers, Scope::BlockchainWrite)?;
    refuse_unknown(&params, &[])?;
    let spec = BlockchainSpec::read(json_body(&headers, body)?)?;
    let platform = app.chains.platform().clone();
    let created = tokio::task::spawn_blocking(move || platform.blockchains().create(&principal, spec)).await;
    let chain = created.map_err(|cause| ApiError::internal(&cause))??;
    ApiResponse::created(&BlockchainView::new(&chain, "running"), format!("/v1/blockchains/{}", chain.id()))
}

/// Lists the chains of the workspace, oldest first. Scope blockchain:read.
#[utoipa::path(
    get, path = "/v1/blockchains", tag = "Blockchains", operation_id = "listBlockchains",
    params(
        ("page" = Option<u64>, Query, description = "Number of the page, from 1; default 1"), ("limit" = Option<u64>, Query, description = "Items on a page, 1 to 100; default 20"),
        ("sort" = Option<String>, Query, description = "createdAt, name or chainId, then :asc or :desc; default createdAt:asc"),
    ),
    responses(
        (status = 200, description = "One page", body = SuccessPage<BlockchainView>), (status = 400, description = "A query parameter is invalid", body = Failure),
        (status = 401, description = "No valid credentials", body = Failure), (status = 403, description = "The scope is missing", body = Failure),
    ),
)]
pub(super) async fn list(
    State(app): State<App>,
    headers: HeaderMap,
    Query(params): Query<Params>,
) -> Result<ApiResponse, ApiError> {
    let principal = app.authorize(&headers, Scope::BlockchainRead)?;
    let page = Page::read(&params, &["createdAt", "name", "chainId"])?;
    let index = match page.sort_field() {
        "name" => BlockchainRecord::BY_NAME,
        "chainId" => BlockchainRecord::BY_CHAIN_ID,
        _ => Index::CREATED,
    };
    let blockchains = app.chains.platform().blockchains();
    let found = blockchains.page(&principal, &index, &page.request())?;
    let pagination = page.position(usize::try_from(found.total).unwrap_or(usize::MAX));
    let readable = |stored: &Stored<BlockchainRecord>| {
        let chain = blockchains.readable(&principal, stored.id()).ok()?;
        Some(BlockchainView::new(&chain, blockchains.state(stored).name()))
    };
    let views: Vec<BlockchainView> = found.items.iter().filter_map(readable).collect();
    ApiResponse::page(&views, pagination)
}

/// Returns one chain. Scope blockchain:read.
#[utoipa::path(
    get, path = "/v1/blockchains/{blockchainId}", tag = "Blockchains", operation_id = "getBlockchain",
    params(("blockchainId" = String, Path, description = "Id of the chain")),
    responses(
        (status = 200, description = "The chain", body = Success<BlockchainView>), (status = 401, description = "No valid credentials", body = Failure),
        (status = 403, description = "The scope is missing", body = Failure), (status = 404, description = "No such chain", body = Failure),
    ),
)]
pub(super) async fn get(
    State(app): State<App>,
    headers: HeaderMap,
    ResourceId(id): ResourceId,
    Query(params): Query<Params>,
) -> Result<ApiResponse, ApiError> {
    let principal = app.authorize(&headers, Scope::BlockchainRead)?;
    refuse_unknown(&params, &[])?;
    let blockchains = app.chains.platform().blockchains();
    let chain = blockchains.readable(&principal, &id)?;
    let status = if chain.node().is_halted() { "paused" } else { "running" };
    ApiResponse::ok(&BlockchainView::new(&chain, status))
}

/// Ethereum JSON-RPC of one chain over POST and WebSocket, with batches; the same as `/` for the default chain, which needs no
/// credentials. Of another chain it needs those of a caller who may read it, and takes transactions of its own workspace's callers with
/// blockchain:deploy.
///
/// Error codes beside those of JSON-RPC 2.0: -32000 for a refused transaction, -32001 for an unknown block, -32003 for a halt, 4444 for
/// pruned data, and 3 with the revert data for a revert.
#[utoipa::path(
    post, path = "/v1/blockchains/{blockchainId}/eth", tag = "JSON-RPC", operation_id = "ethereumRpc", security(()),
    params(("blockchainId" = String, Path, description = "Id of the chain")),
    request_body(content = Object, description = "A JSON-RPC 2.0 call or batch with positional parameters", example = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": [] })),
    responses(
        (status = 200, description = "The response; empty for a notification", body = Object), (status = 404, description = "No such chain", body = Failure),
        (status = 413, description = "The body is too long", body = Object), (status = 415, description = "The body is not application/json", body = Object),
    ),
)]
pub(super) async fn ethereum(State(app): State<App>, headers: HeaderMap, ResourceId(id): ResourceId) -> ApiError {
    // The HTTP router serves what the credentials may read before a request gets here.
    let refused = app
        .authorize(&headers, Scope::BlockchainRead)
        .and_then(|principal| app.chains.platform().blockchains().readable(&principal, &id).map_err(ApiError::from));
    refused.err().unwrap_or_else(|| PlatformError::not_found("blockchain", &id).into())
}
