//! `/v1/workspaces/{workspaceId}/projects`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{modules::ContractOfModule, view::Deleted};
use crate::{
    chain::CallRequest,
    platform::{
        FieldError, PlacedContract, Principal, Project, ProjectKind, ProjectNetwork, ProjectSpec, ProjectState, Scope,
        records::{Index, Stored},
    },
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
            scalar::{HexAddress, HexBytes},
        },
    },
};

/// What the description of an operation says of the transaction that makes the contracts.
const MADE: &str = "\
The contracts are made by one transaction of the chain's treasury, which owns them; or, on a chain that is there, by the `signedTransaction` of somebody \
else, who owns them then. It is the one that `POST /v1/workspaces/{workspaceId}/projects/plan` tells, with the sender's next nonce.";

const PLANNED: &str = "\
Tells the nonce and the call data for the account `from`, which need not be one that the service can sign for, and where the contracts will be. Sign it \
and create the project with `signedTransaction`, and the same name, type, template and config. Nothing is kept.";

/// A project to create. Only the name is required.
#[derive(Debug, Deserialize, ToSchema)]
struct CreateProject {
    /// Name of the project, of its chain and of its contracts.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "exchange")]
    name: String,
    /// What it is for.
    #[schema(max_length = 4096, default = "")]
    description: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(default = "dapp")]
    kind: Option<ProjectType>,
    /// Its template; that of the type by default: blank (dapp), erc20-token (token), nft-collection (nft), defi-exchange (defi), dao (dao),
    /// private-network (network).
    template: Option<TemplateName>,
    /// Its chain.
    config: Option<ProjectConfig>,
    /// The planned transaction that makes the contracts on a chain that is there, signed by somebody else, who owns them then.
    #[serde(rename = "signedTransaction")]
    signed_transaction: Option<HexBytes>,
}

/// A project to plan, on a chain that is there. All but the type and the features are required.
#[derive(Debug, Deserialize, ToSchema)]
struct PlanProject {
    /// Name of the project, and of its contracts.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "exchange")]
    name: String,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(default = "dapp")]
    kind: Option<ProjectType>,
    /// Its template, one with contracts.
    template: TemplateName,
    /// Its chain.
    config: PlannedConfig,
    /// Account that signs the transaction, and will own the contracts.
    from: HexAddress,
}

/// Chain of a project to plan.
#[derive(Debug, Deserialize, ToSchema)]
struct PlannedConfig {
    /// Id of a chain of the workspace.
    #[schema(min_length = 1, max_length = 64, pattern = r"\S", example = "bc_default")]
    blockchain: String,
    /// Optional parts of the template, such as mintable, burnable, pausable, votes, auctions.
    #[schema(max_items = 16, example = json!(["mintable"]))]
    features: Option<Vec<String>>,
}

/// Type of a project: dapp takes every template but private-network, the others take those of their kind.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ProjectType {
    Dapp,
    Token,
    Nft,
    Defi,
    Dao,
    Network,
}

/// Template of a project. blank: a chain without contracts. erc20-token: a token. nft-collection: a collection. nft-marketplace: a collection
/// and a marketplace. defi-exchange: a token and an exchange. lending-market: a token that is lent. staking: a token and a pool. dao: a
/// token with votes and a governor. private-network: a chain with permissions and privacy.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum TemplateName {
    Blank,
    #[serde(rename = "erc20-token")]
    Erc20Token,
    NftCollection,
    NftMarketplace,
    DefiExchange,
    LendingMarket,
    Staking,
    Dao,
    PrivateNetwork,
}

/// Chain of a project to create.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct ProjectConfig {
    /// A protocol, of a new chain (proof-of-authority by default, proof-of-stake, delegated-proof-of-stake, pbft, raft), or the id of a chain
    /// of the workspace.
    #[schema(min_length = 1, max_length = 64, pattern = r"\S", example = "proof-of-authority")]
    blockchain: Option<String>,
    /// What a new chain is: development (a block for each transaction), testnet (2 s, one validator), mainnet (5 s, four validators). The
    /// workspace's default network by default, or else development.
    #[schema(min_length = 1, max_length = 64, pattern = r"\S", example = "development")]
    network: Option<String>,
    /// Features of a new chain (smart-contracts, permissions, privacy) and optional parts of the template, such as mintable, burnable,
    /// pausable, votes, auctions.
    #[schema(max_items = 16, example = json!(["smart-contracts"]))]
    features: Option<Vec<String>>,
}

impl From<ProjectType> for ProjectKind {
    fn from(kind: ProjectType) -> Self {
        match kind {
            ProjectType::Dapp => Self::Dapp,
            ProjectType::Token => Self::Token,
            ProjectType::Nft => Self::Nft,
            ProjectType::Defi => Self::Defi,
            ProjectType::Dao => Self::Dao,
            ProjectType::Network => Self::Network,
        }
    }
}

impl From<ProjectKind> for ProjectType {
    fn from(kind: ProjectKind) -> Self {
        match kind {
            ProjectKind::Token => Self::Token,
            ProjectKind::Nft => Self::Nft,
            ProjectKind::Defi => Self::Defi,
            ProjectKind::Dao => Self::Dao,
            ProjectKind::Network => Self::Network,
            ProjectKind::Dapp => Self::Dapp,
        }
    }
}

impl TemplateName {
    const fn name(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::Erc20Token => "erc20-token",
            Self::NftCollection => "nft-collection",
            Self::NftMarketplace => "nft-marketplace",
            Self::DefiExchange => "defi-exchange",
            Self::LendingMarket => "lending-market",
            Self::Staking => "staking",
            Self::Dao => "dao",
            Self::PrivateNetwork => "private-network",
        }
    }
}

impl CreateProject {
    fn spec(&self) -> ProjectSpec {
        let config = self.config.as_ref();
        ProjectSpec {
            description: self.description.clone().unwrap_or_default(),
            kind: self.kind.map(ProjectKind::from).unwrap_or_default(),
            template: self.template.map(|template| template.name().to_owned()),
            blockchain: config.and_then(|config| config.blockchain.clone()),
            network: config.and_then(|config| config.network.clone()),
            features: config.and_then(|config| config.features.clone()).unwrap_or_default(),
            signed_transaction: self.signed_transaction.as_ref().map(|signed| signed.0.clone()),
            ..ProjectSpec::named(&self.name)
        }
    }
}

impl PlanProject {
    fn spec(&self) -> ProjectSpec {
        ProjectSpec {
            kind: self.kind.map(ProjectKind::from).unwrap_or_default(),
            template: Some(self.template.name().to_owned()),
            blockchain: Some(self.config.blockchain.clone()),
            features: self.config.features.clone().unwrap_or_default(),
            ..ProjectSpec::named(&self.name)
        }
    }
}

impl Body for CreateProject {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({
            "name": "exchange", "description": "Gold for ether", "type": "dapp", "template": "defi-exchange",
            "config": {
                "blockchain": "proof-of-authority", "network": "development", "features": ["smart-contracts", "mintable"],
            },
        });
        vec![("all fields", all), ("required fields", json!({ "name": "exchange" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        self.spec().check()
    }
}

impl Body for PlanProject {
    fn examples() -> Vec<(&'static str, Value)> {
        let account = "0x1111111111111111111111111111111111111111";
        let all = json!({
            "name": "exchange", "type": "dapp", "template": "defi-exchange",
            "config": { "blockchain": "bc_default", "features": ["mintable"] }, "from": account,
        });
        let required = json!({
            "name": "exchange", "template": "defi-exchange", "config": { "blockchain": "bc_default" }, "from": account,
        });
        vec![("all fields", all), ("required fields", required)]
    }

    fn check(&self) -> Vec<FieldError> {
        self.spec().check()
    }
}

/// Changes of a project; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
struct UpdateProject {
    /// Name of the project; chain and contracts keep theirs.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "exchange")]
    name: Option<String>,
    /// What it is for.
    #[schema(max_length = 4096)]
    description: Option<String>,
}

impl Body for UpdateProject {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({ "name": "bazaar", "description": "Gold for ether" });
        vec![("all fields", all), ("required fields", json!({}))]
    }
}

/// A project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ProjectView {
    /// Id of the project.
    #[schema(example = "prj_0123456789abcdef")]
    id: String,
    /// Id of its workspace.
    workspace_id: String,
    /// Name of the project.
    name: String,
    /// What it is for.
    description: String,
    /// Its type.
    #[serde(rename = "type")]
    kind: ProjectType,
    /// Name of its template.
    #[schema(example = "defi-exchange")]
    template: String,
    /// provisioning leads to active or failed, active to failed when its chain ends; unavailable to those who may not read its chain.
    status: ProjectStatus,
    /// Why it failed; null otherwise.
    failure: Option<String>,
    /// Id of its chain.
    blockchain_id: String,
    /// What its chain was made as; null of a chain that was there before.
    network: Option<NetworkName>,
    /// Features that it was made with.
    features: Vec<String>,
    /// Its contracts; null for those who may not read its chain: with the feature privacy all but its participants.
    contracts: Option<Vec<ContractOfModule>>,
    /// Hash of the transaction that makes them; null without contracts, and likewise.
    transaction_hash: Option<String>,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
    /// Time of the last change: ISO 8601, UTC.
    updated_at: String,
}

/// State of a project: `provisioning` leads to `active` or `failed`; `active` to `paused` and `stopped` with its chain, and back, and to
/// `failed` when its chain ends.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ProjectStatus {
    Provisioning,
    Active,
    Paused,
    Stopped,
    Failed,
    Unavailable,
}

/// What the chain of a project is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum NetworkName {
    Development,
    Testnet,
    Mainnet,
}

impl ProjectView {
    fn new(app: &App, principal: &Principal, stored: &Stored<Project>) -> Result<Self, ApiError> {
        let project = &stored.value;
        let state = app.platform().projects().state(principal, stored)?;
        let is_shown = state != ProjectState::Unavailable;
        let (status, failure) = match state {
            ProjectState::Provisioning => (ProjectStatus::Provisioning, None),
            ProjectState::Active => (ProjectStatus::Active, None),
            ProjectState::Paused => (ProjectStatus::Paused, None),
            ProjectState::Stopped => (ProjectStatus::Stopped, None),
            ProjectState::Unavailable => (ProjectStatus::Unavailable, None),
            ProjectState::Failed { reason } => (ProjectStatus::Failed, Some(reason)),
        };
        Ok(Self {
            id: stored.id().to_owned(),
            workspace_id: stored.owner().as_str().to_owned(),
            name: project.name.clone(),
            description: project.description.clone(),
            kind: project.kind.into(),
            template: project.template.clone(),
            status,
            failure,
            blockchain_id: project.blockchain_id.clone(),
            network: project.network.map(|network| match network {
                ProjectNetwork::Testnet => NetworkName::Testnet,
                ProjectNetwork::Mainnet => NetworkName::Mainnet,
                ProjectNetwork::Development => NetworkName::Development,
            }),
            features: project.features.clone(),
            contracts: is_shown.then(|| project.contracts.iter().map(ContractOfModule::new).collect()),
            transaction_hash: project.transaction.filter(|_| is_shown).map(|hash| hash.to_string()),
            created_at: clock::iso_8601(stored.created_at_ms()),
            updated_at: clock::iso_8601(stored.updated_at_ms()),
        })
    }
}

impl Located for ProjectView {
    fn location(&self) -> String {
        format!("/v1/workspaces/{}/projects/{}", self.workspace_id, self.id)
    }
}

/// The transaction that makes a project's contracts, without fees and gas limit, which are the signer's.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PlannedProject {
    /// Id of the chain.
    blockchain_id: String,
    /// Sender.
    from: String,
    /// Nonce; the addresses follow from it.
    nonce: u64,
    /// Contract that is called.
    to: String,
    /// Value, always 0.
    value: String,
    /// Call data.
    data: String,
    /// The contracts, and where they will be.
    contracts: Vec<ContractOfModule>,
}

impl PlannedProject {
    fn new(blockchain_id: String, request: &CallRequest, contracts: &[PlacedContract]) -> Self {
        Self {
            blockchain_id,
            from: request.from.unwrap_or_default().to_string(),
            nonce: request.nonce.unwrap_or_default(),
            to: request.to.unwrap_or_default().to_string(),
            value: request.value.to_string(),
            data: request.input.to_string(),
            contracts: contracts.iter().map(ContractOfModule::new).collect(),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Projects;
    let (read, write) = (Access::Scope(Scope::WorkspaceRead), Access::Scope(Scope::WorkspaceWrite));
    let make = Access::Scopes(&[Scope::WorkspaceWrite, Scope::BlockchainWrite, Scope::BlockchainDeploy]);
    let (all, one) = ("/v1/workspaces/{workspaceId}/projects", "/v1/workspaces/{workspaceId}/projects/{projectId}");
    vec![
        Endpoint::post(all, "createProject", tag, make, "Creates a project: a chain, and contracts from a template.")
            .described(MADE)
            .fails_with(&[ErrorCode::InsufficientBalance])
            .runs(Runs::Long)
            .takes::<CreateProject>()
            .creates(create),
        Endpoint::post(
            "/v1/workspaces/{workspaceId}/projects/plan",
            "planProject",
            tag,
            Access::Scope(Scope::BlockchainDeploy),
            "Returns the transaction that makes a project's contracts, to be signed.",
        )
        .described(PLANNED)
        .takes::<PlanProject>()
        .acts(plan),
        Endpoint::get(all, "listProjects", tag, read, "Lists the projects of the workspace, oldest first.")
            .lists(&["createdAt", "name"], list),
        Endpoint::get(one, "getProject", tag, read, "Returns one project.").reads(get),
        Endpoint::patch(one, "updateProject", tag, write, "Changes name and description of a project.")
            .takes::<UpdateProject>()
            .acts(update),
        Endpoint::delete(one, "deleteProject", tag, write, "Deletes a project; its chain and contracts stay.")
            .acts(delete),
    ]
}

fn create(app: &App, request: &Request, body: CreateProject) -> Result<Change<ProjectView>, ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let (id, chain) = (request.new_id(platform, "prj")?, request.new_id(platform, "bc")?);
    let stored = platform.projects().create(principal, (&id, &chain), &body.spec())?;
    Ok(Change::done(ProjectView::new(app, principal, &stored)?))
}

fn plan(app: &App, request: &Request, body: PlanProject) -> Result<Change<PlannedProject>, ApiError> {
    let (projects, spec) = (app.platform().projects(), body.spec());
    let (transaction, contracts) = projects.plan(request.principal()?, &spec, body.from.0)?;
    Ok(Change::done(PlannedProject::new(body.config.blockchain, &transaction, &contracts)))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<ProjectView>, u64), ApiError> {
    let index = if page.sort_field() == "name" { Project::BY_NAME } else { Index::CREATED };
    let principal = request.principal()?;
    let found = app.platform().projects().page(principal, &index, &page.request())?;
    let views = found.items.iter().map(|stored| ProjectView::new(app, principal, stored));
    Ok((views.collect::<Result<_, _>>()?, found.total))
}

fn get(app: &App, request: &Request) -> Result<ProjectView, ApiError> {
    let principal = request.principal()?;
    let stored = app.platform().projects().require(principal, request.path("projectId"))?;
    ProjectView::new(app, principal, &stored)
}

fn update(app: &App, request: &Request, body: UpdateProject) -> Result<Change<ProjectView>, ApiError> {
    let (app, principal) = (app.clone(), request.principal()?.clone());
    let id = request.path("projectId").to_owned();
    let UpdateProject { name, description } = body;
    let changed = Change::unit({
        let (app, principal) = (app.clone(), principal.clone());
        move |unit| app.platform().projects().update(unit, &principal, &id, (name, description))
    });
    Ok(changed.map(move |stored| ProjectView::new(&app, &principal, &stored)))
}

fn delete(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let (platform, principal) = (app.platform().clone(), request.principal()?.clone());
    let id = request.path("projectId").to_owned();
    Ok(Change::unit(move |unit| {
        platform.projects().delete(unit, &principal, &id)?;
        Ok(Deleted::of(&id))
    }))
}
