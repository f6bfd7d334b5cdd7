//! `/v1/contracts`.

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
    query::{Params, refuse_unknown},
    request::{ResourceId, json_body},
    schema::{Failure, Success},
};
use crate::{
    node::Located,
    platform::{DeploymentRecord, PlatformError, Principal, Scope, records::Stored},
    server::{
        api_error::ApiError,
        clock,
        commands::{Cancellation, Length},
    },
};

/// A contract to deploy from a template.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body that the platform reads")]
pub(super) struct DeployContract {
    /// Id of the chain to deploy on.
    #[schema(example = "bc_default")]
    blockchain_id: String,
    /// Name of a template of the chain; GET /v1/templates lists those of the default chain.
    #[schema(example = "erc20-token")]
    template: String,
    /// Parameters of the template's constructor by name, as GET /v1/templates lists them: integers of 32 bits and fewer are numbers,
    /// larger ones decimal strings; addresses and bytes are hex strings with 0x; structs are objects.
    #[schema(value_type = Object)]
    params: serde_json::Map<String, serde_json::Value>,
    /// Account that deploys the contract. The service must be able to sign for it. The chain's treasury by default.
    #[schema(example = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")]
    from: Option<String>,
    /// Gas limit of the transaction, a decimal integer between 21000 and 1000000000000; estimated by default.
    #[schema(example = "3000000")]
    gas_limit: Option<String>,
}

/// A deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeploymentView {
    /// Id of the deployment.
    #[schema(example = "dep_0123456789abcdef")]
    id: String,
    /// Id of the chain.
    blockchain_id: String,
    /// Name of the template.
    template: String,
    /// Address of the contract, known before the transaction is mined.
    contract_address: String,
    /// Hash of the creating transaction.
    transaction_hash: String,
    /// Account that deployed the contract.
    from: String,
    /// `pending`, `deployed` or `failed`.
    #[schema(example = "deployed")]
    status: &'static str,
    /// Height of the block with the transaction; null while it is pending.
    block_number: Option<u64>,
    /// Gas used, a decimal integer; null while the transaction is pending.
    gas_used: Option<String>,
    /// Time of sending: ISO 8601, UTC.
    created_at: String,
}

impl DeploymentView {
    fn new(app: &App, principal: &Principal, stored: &Stored<DeploymentRecord>) -> Result<Self, ApiError> {
        let deployment = &stored.value;
        let chain = app.chains.platform().blockchains().readable(principal, &deployment.blockchain_id)?;
        let found = chain.node().view().transaction(deployment.transaction_hash).map_err(PlatformError::internal)?;
        let mined = match &found {
            Some(Located::Mined { block, index }) => {
                block.receipts().get(*index as usize).map(|receipt| (block, receipt))
            }
            _ => None,
        };
        Ok(Self {
            id: stored.id().to_owned(),
            blockchain_id: chain.id().to_owned(),
            template: deployment.template.clone(),
            contract_address: deployment.contract_address(&chain)?.to_string(),
            transaction_hash: deployment.transaction_hash.to_string(),
            from: deployment.from.to_string(),
            status: match &mined {
                None => "pending",
                Some((_, receipt)) if receipt.is_success() => "deployed",
                Some(_) => "failed",
            },
            block_number: mined.map(|(block, _)| block.height().get()),
            gas_used: mined.map(|(_, receipt)| receipt.gas_used.get().to_string()),
            created_at: clock::iso_8601(stored.created_at_ms()),
        })
    }
}

/// Deploys a contract from a template. Scope blockchain:deploy.
#[utoipa::path(
    post, path = "/v1/contracts/deploy", tag = "Contracts", operation_id = "deployContract", request_body = DeployContract,
    responses(
        (status = 201, description = "The creating transaction was sent", body = Success<DeploymentView>, headers(("Location" = String, description = "Path of the deployment"))),
        (status = 400, description = "The body is not JSON", body = Failure), (status = 401, description = "No valid credentials", body = Failure),
        (status = 403, description = "The scope is missing", body = Failure), (status = 404, description = "No such chain", body = Failure),
        (status = 409, description = "INSUFFICIENT_BALANCE, or the constructor would fail", body = Failure), (status = 413, description = "The body is too long", body = Failure),
        (status = 415, description = "The body is not application/json", body = Failure), (status = 422, description = "The body failed validation", body = Failure),
        (status = 503, description = "SERVICE_UNAVAILABLE: the chain is busy; STORAGE_FULL: its disk is full, with `freeBytes` and `freeBytesMin`", body = Failure),
    ),
)]
pub(super) async fn deploy(
    State(app): State<App>,
    headers: HeaderMap,
    Query(params): Query<Params>,
    body: Result<Bytes, BytesRejection>,
) -> Result<ApiResponse, ApiError> {
    let principal = app.authorize(&headers, Scope::BlockchainDeploy)?;
    refuse_unknown(&params, &[])?;
    let platform = app.chains.platform().clone();
    let spec = platform.blockchains().read_deployment(&principal, json_body(&headers, body)?)?;
    // A stranger's chain is not found before its queue is.
    platform.blockchains().writable(&principal, &spec.blockchain_id)?;
    let (chain, deployer) = (spec.blockchain_id.clone(), principal.clone());
    let deploy = move |_: &Cancellation| platform.blockchains().deploy(&deployer, spec);
    let deployment = match app.chains.rpc(&chain) {
        Some(rpc) => rpc.commands().run(Length::Short, deploy).await?,
        None => deploy(&Cancellation::default()),
    }?;
    ApiResponse::created(
        &DeploymentView::new(&app, &principal, &deployment)?,
        format!("/v1/contracts/{}", deployment.id()),
    )
}

/// Returns one deployment. Scope blockchain:read.
#[utoipa::path(
    get, path = "/v1/contracts/{deploymentId}", tag = "Contracts", operation_id = "getDeployment",
    params(("deploymentId" = String, Path, description = "Id of the deployment")),
    responses(
        (status = 200, description = "The deployment", body = Success<DeploymentView>), (status = 401, description = "No valid credentials", body = Failure),
        (status = 403, description = "The scope is missing", body = Failure), (status = 404, description = "No such deployment", body = Failure),
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
    let platform = app.chains.platform();
    let deployment = platform.blockchains().deployments().require(&principal.owner(), &id);
    let deployment = deployment.map_err(PlatformError::from)?;
    ApiResponse::ok(&DeploymentView::new(&app, &principal, &deployment)?)
}
