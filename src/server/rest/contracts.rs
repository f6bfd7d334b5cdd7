//! `/v1/contracts`.

use axum::{
    body::Bytes,
    extract::{Path, Query, State, rejection::BytesRejection},
    http::HeaderMap,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    App,
    answer::Answer,
    query::{Params, refuse_unknown},
    request::json_body,
    schema::{Failure, Success},
};
use crate::{
    node::Located,
    platform::{Deployment, DeploymentSpec, PlatformError, Scope},
    server::{api_error::ApiError, clock},
};

/// A contract to deploy from a template.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body that DeploymentSpec reads")]
pub(super) struct DeployContract {
    /// The chain to deploy on.
    #[schema(example = "bc_default")]
    blockchain_id: String,
    /// erc20-token; the other templates of the service (erc721-nft, erc1155-multi, governance-dao, staking-pool, marketplace) are refused by
    /// this version with 422.
    #[schema(example = "erc20-token")]
    template: String,
    /// The template's parameters.
    params: TokenParams,
    /// Who deploys and owns: an account that the service can sign for. The chain's treasury by default.
    #[schema(example = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")]
    from: Option<String>,
    /// The most gas, a decimal integer; estimated by default.
    #[schema(example = "3000000")]
    gas_limit: Option<String>,
}

/// Parameters of erc20-token.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body that DeploymentSpec reads")]
pub(super) struct TokenParams {
    /// The token's name.
    #[schema(example = "Gold", max_length = 256)]
    name: String,
    /// Its symbol.
    #[schema(example = "GLD", max_length = 256)]
    symbol: String,
    /// What the deployer gets, a decimal integer in the smallest unit; `decimals` never scales it.
    #[schema(default = "0", example = "1000000000000000000000000")]
    total_supply: Option<String>,
    /// Digits after the point that a user interface shows.
    #[schema(default = 18, example = 18, minimum = 0, maximum = 255)]
    decimals: Option<u8>,
}

/// A deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeploymentView {
    /// Its id here.
    #[schema(example = "dep_0123456789abcdef")]
    id: String,
    /// The chain.
    blockchain_id: String,
    /// The template.
    template: &'static str,
    /// Where the contract is, or will be once the transaction is mined.
    contract_address: String,
    /// The creating transaction.
    transaction_hash: String,
    /// Who deployed.
    from: String,
    /// `pending`, `deployed` or `failed`.
    #[schema(example = "deployed")]
    status: &'static str,
    /// The block, once mined.
    block_number: Option<u64>,
    /// Gas used, once mined; decimal.
    gas_used: Option<String>,
    /// When it was sent: ISO 8601, UTC.
    created_at: String,
}

impl DeploymentView {
    fn new(app: &App, deployment: &Deployment) -> Result<Self, ApiError> {
        let chain = app.chains.platform().require_blockchain(&deployment.spec().blockchain_id)?;
        let found = chain.node().view().transaction(deployment.transaction_hash()).map_err(PlatformError::internal)?;
        let mined = match &found {
            Some(Located::Mined { block, index }) => {
                block.receipts().get(*index as usize).map(|receipt| (block, receipt))
            }
            _ => None,
        };
        Ok(Self {
            id: deployment.id().to_owned(),
            blockchain_id: chain.id().to_owned(),
            template: deployment.spec().template.name(),
            contract_address: deployment.contract_address(&chain)?.to_string(),
            transaction_hash: deployment.transaction_hash().to_string(),
            from: deployment.from().to_string(),
            status: match &mined {
                None => "pending",
                Some((_, receipt)) if receipt.is_success() => "deployed",
                Some(_) => "failed",
            },
            block_number: mined.map(|(block, _)| block.height().get()),
            gas_used: mined.map(|(_, receipt)| receipt.gas_used.get().to_string()),
            created_at: clock::iso_8601(deployment.created_at_ms()),
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
    ),
)]
pub(super) async fn deploy(
    State(app): State<App>,
    headers: HeaderMap,
    Query(params): Query<Params>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Answer, ApiError> {
    app.authorize(&headers, Scope::BlockchainDeploy)?;
    refuse_unknown(&params, &[])?;
    let spec = DeploymentSpec::read(json_body(&headers, body)?)?;
    let deployment = app.chains.platform().deploy(spec, clock::now_ms())?;
    Answer::created(&DeploymentView::new(&app, &deployment)?, format!("/v1/contracts/{}", deployment.id()))
}

/// One deployment. Scope blockchain:read.
#[utoipa::path(
    get, path = "/v1/contracts/{deploymentId}", tag = "Contracts", operation_id = "getDeployment",
    params(("deploymentId" = String, Path, description = "The deployment's id")),
    responses(
        (status = 200, description = "The deployment", body = Success<DeploymentView>), (status = 401, description = "No valid credentials", body = Failure),
        (status = 403, description = "The scope is missing", body = Failure), (status = 404, description = "No such deployment", body = Failure),
    ),
)]
pub(super) async fn get(
    State(app): State<App>,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(params): Query<Params>,
) -> Result<Answer, ApiError> {
    app.authorize(&headers, Scope::BlockchainRead)?;
    refuse_unknown(&params, &[])?;
    let deployment = app.chains.platform().require_deployment(&id)?;
    Answer::ok(&DeploymentView::new(&app, &deployment)?)
}
