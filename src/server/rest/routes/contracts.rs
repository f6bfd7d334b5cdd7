//! `/v1/contracts`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::{
    platform::{
        DeploymentRecord, DeploymentSpec, FieldError, Principal, Scope,
        records::{Index, SortKey, Stored},
    },
    primitives::Height,
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            answer::{Change, Located},
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            page::Page,
            request::Request,
            routes::view::{DeploymentStatus, beside_signed},
            scalar::{AbiMembers, GasLimit, HexAddress, HexBytes},
        },
    },
};

/// A contract to deploy from a template.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeployContract {
    /// Id of the chain to deploy on.
    #[schema(min_length = 1, max_length = 64, example = "bc_default")]
    blockchain_id: String,
    /// Name of a template of the chain; GET /v1/templates lists those of the default chain.
    #[schema(min_length = 1, max_length = 64, example = "erc20-token")]
    template: Option<String>,
    /// Parameters of the template's constructor by name, as GET /v1/templates lists them: integers of 32 bits and fewer are numbers,
    /// larger ones decimal strings; addresses and bytes are hex strings with 0x; structs are objects. erc721-nft takes totalSupply (ids from 1
    /// on) and decimals (0) too, erc1155-multi also name and symbol, and totalSupply in units of id 1: the supply is the sender's.
    #[schema(value_type = Option<AbiMembers>)]
    params: Option<Map<String, Value>>,
    /// Account that deploys the contract. The service must be able to sign for it. The chain's treasury by default.
    from: Option<HexAddress>,
    /// Gas limit of the transaction; estimated by default.
    gas_limit: Option<GasLimit>,
    /// A transaction that creates the contract, signed by somebody else; in place of all fields but blockchainId.
    signed_transaction: Option<HexBytes>,
}

impl Body for DeployContract {
    fn examples() -> Vec<(&'static str, Value)> {
        let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000000", "decimals": 18 });
        let all = json!({
            "blockchainId": "bc_default", "template": "erc20-token", "params": params,
            "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "gasLimit": "3000000",
        });
        let required = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000000" } });
        vec![("all fields", all), ("required fields", required)]
    }

    fn check(&self) -> Vec<FieldError> {
        let missing = |path: &str| FieldError {
            path: path.to_owned(),
            expected: "a value, unless there is a signedTransaction".to_owned(),
            got: "nothing".to_owned(),
        };
        let fields = [("template", self.template.is_some()), ("params", self.params.is_some())];
        let options = [("from", self.from.is_some()), ("gasLimit", self.gas_limit.is_some())];
        match self.signed_transaction {
            None => fields.iter().filter(|(_, is_there)| !is_there).map(|(path, _)| missing(path)).collect(),
            Some(_) => beside_signed(&[fields, options].concat()),
        }
    }
}

/// A deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeploymentView {
    /// Id of the deployment.
    #[schema(example = "dep_0123456789abcdef")]
    id: String,
    /// Id of the chain.
    blockchain_id: String,
    /// Name of the template.
    template: String,
    /// Address of the contract, known before the transaction is mined; null for those who may not read the chain: with the feature privacy
    /// all but its participants.
    contract_address: Option<String>,
    /// Hash of the creating transaction; null likewise.
    transaction_hash: Option<String>,
    /// Account that deployed the contract; null likewise.
    from: Option<String>,
    /// State of the deployment.
    status: DeploymentStatus,
    /// Height of the block with the transaction; null where none has it, and while the status is unavailable.
    block_number: Option<u64>,
    /// Gas used, a decimal integer; null likewise.
    gas_used: Option<String>,
    /// Time of sending: ISO 8601, UTC.
    created_at: String,
}

impl DeploymentView {
    fn new(app: &App, principal: &Principal, stored: &Stored<DeploymentRecord>) -> Result<Self, ApiError> {
        let deployment = &stored.value;
        let sight = app.platform().blockchains().sight(principal, &deployment.blockchain_id)?;
        let (chain, is_shown) = (sight.chain(), !sight.is_hidden());
        let outcome = chain.map(|chain| deployment.outcome(chain)).transpose()?;
        let address = deployment.known_address(chain.map(|chain| &**chain))?;
        Ok(Self {
            id: stored.id().to_owned(),
            blockchain_id: deployment.blockchain_id.clone(),
            template: deployment.template.clone(),
            contract_address: address.filter(|_| is_shown).map(|address| address.to_string()),
            transaction_hash: is_shown.then(|| deployment.transaction_hash.to_string()),
            from: is_shown.then(|| deployment.from.to_string()),
            status: DeploymentStatus::of(outcome.as_ref()),
            block_number: outcome.and_then(|outcome| outcome.height).map(Height::get),
            gas_used: outcome.and_then(|outcome| outcome.gas_used).map(|gas| gas.get().to_string()),
            created_at: clock::iso_8601(stored.created_at_ms()),
        })
    }
}

impl Located for DeploymentView {
    fn location(&self) -> String {
        format!("/v1/contracts/{}", self.id)
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let read = Access::Scope(Scope::BlockchainRead);
    vec![
        Endpoint::post(
            "/v1/contracts/deploy",
            "deployContract",
            Tag::Contracts,
            Access::Scope(Scope::BlockchainDeploy),
            "Deploys a contract from a template.",
        )
        .fails_with(&[ErrorCode::NotFound, ErrorCode::InsufficientBalance])
        .runs(Runs::InTurnOf(|_, body| Some(body.get("blockchainId")?.as_str()?.to_owned())))
        .takes::<DeployContract>()
        .creates(deploy),
        Endpoint::get(
            "/v1/contracts",
            "listDeployments",
            Tag::Contracts,
            read,
            "Lists the deployments of the workspace, oldest first.",
        )
        .lists(&["createdAt"], list),
        Endpoint::get("/v1/contracts/{deploymentId}", "getDeployment", Tag::Contracts, read, "Returns one deployment.")
            .reads(get),
    ]
}

fn deploy(app: &App, request: &Request, body: DeployContract) -> Result<Change<DeploymentView>, ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let spec = match body.signed_transaction {
        Some(signed) => DeploymentSpec::of_signed(&body.blockchain_id, signed.0),
        None => {
            let template = body.template.unwrap_or_default();
            let params = platform.tokens().constructor_params(&template, body.params.unwrap_or_default())?;
            let mut spec = DeploymentSpec::of_template(&body.blockchain_id, &template, params);
            (spec.from, spec.gas_limit) = (body.from.map(|from| from.0), body.gas_limit.map(|limit| limit.0));
            spec
        }
    };
    let deployment = platform.blockchains().deploy_as(principal, &request.new_id(platform, "dep")?, spec)?;
    Ok(Change::done(DeploymentView::new(app, principal, &deployment)?))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<DeploymentView>, u64), ApiError> {
    let principal = request.principal()?;
    let deployments = app.platform().blockchains().deployments();
    let found = deployments.page(&Index::CREATED, &principal.owner(), &SortKey::new(), &page.request())?;
    let views = found.items.iter().map(|stored| DeploymentView::new(app, principal, stored));
    Ok((views.collect::<Result<_, _>>()?, found.total))
}

fn get(app: &App, request: &Request) -> Result<DeploymentView, ApiError> {
    let principal = request.principal()?;
    let deployment =
        app.platform().blockchains().deployments().require(&principal.owner(), request.path("deploymentId"))?;
    DeploymentView::new(app, principal, &deployment)
}
