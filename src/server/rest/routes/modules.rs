//! `/v1/blockchains/{blockchainId}/modules`.

mod config_schema;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

pub(super) use self::config_schema::{ModuleConfig, number_or_time};
use crate::{
    platform::{FieldError, Module, ModuleKind, ModuleSpec, ModuleState, PlacedContract, Scope},
    server::{
        api_error::ApiError,
        rest::{
            App,
            answer::{Change, Located},
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            page::Page,
            request::Request,
        },
    },
};

/// A module to enable, or to change.
#[derive(Debug, Deserialize, ToSchema)]
struct EnableModule {
    /// The module. This build can enable defi, nft and dao.
    module: ModuleName,
    /// Its configuration, every field with a default; the chain gets the hash of it as JSON with sorted keys. `defi`: `features` (dex, lending,
    /// staking), `swapFee`, `liquidationThreshold`, `ltv`, `price`, `rewardRate`, `token`. `nft`: `features` (minting, marketplace),
    /// `standard`, `collection`, `royalty`, `marketplaceFee`, `token`. `dao`: `name`, `token`, `votingDelay`, `votingPeriod`,
    /// `proposalThreshold`, `quorum`, `timelockDelay`.
    #[schema(value_type = Option<ModuleConfig>)]
    config: Option<Map<String, Value>>,
}

/// Name of a module.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ModuleName {
    Defi,
    Nft,
    Dao,
    Bridge,
    Oracle,
    Identity,
    Privacy,
    Storage,
}

impl From<ModuleName> for ModuleKind {
    fn from(name: ModuleName) -> Self {
        match name {
            ModuleName::Defi => Self::Defi,
            ModuleName::Nft => Self::Nft,
            ModuleName::Dao => Self::Dao,
            ModuleName::Bridge => Self::Bridge,
            ModuleName::Oracle => Self::Oracle,
            ModuleName::Identity => Self::Identity,
            ModuleName::Privacy => Self::Privacy,
            ModuleName::Storage => Self::Storage,
        }
    }
}

impl EnableModule {
    fn spec(&self, blockchain_id: &str) -> ModuleSpec {
        let config = self.config.clone().unwrap_or_default();
        ModuleSpec { blockchain_id: blockchain_id.to_owned(), kind: self.module.into(), config }
    }
}

impl Body for EnableModule {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({
            "module": "defi",
            "config": {
                "features": ["dex", "lending", "staking"], "swapFee": "0.3", "liquidationThreshold": "80", "ltv": "75",
                "price": "200000000000", "rewardRate": "1000000000000000",
                "token": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000000000000000000000000" },
            },
        });
        vec![("all fields", all), ("required fields", json!({ "module": "nft" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        self.spec("").check()
    }
}

/// A module of a chain. What governs is the chain's registry of modules; configuration and contracts are the service's record beside it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ModuleView {
    /// Name of the module, its id on the chain.
    #[schema(example = "defi")]
    id: String,
    /// Id of the chain.
    blockchain_id: String,
    /// Version of the module.
    version: u32,
    /// pending leads to enabled or failed; enabled and approved to disabled; a vote of governance for a configuration without contracts to
    /// approved, and for that of the contracts to enabled; approved, disabled and failed lead to pending by enabling.
    status: ModuleStatus,
    /// Its configuration as it was given, of an approved one that of its contracts; null of one that is in the registry alone.
    #[schema(value_type = Option<ModuleConfig>)]
    config: Option<Map<String, Value>>,
    /// Hash of the configuration in the registry.
    config_hash: String,
    /// Its contracts.
    contracts: Vec<ContractOfModule>,
    /// Hashes of the transactions that enabled, changed and disabled it, the oldest first, the newest hundred of many; none of one that is in
    /// genesis.
    transactions: Vec<String>,
    /// Height of the block that changed it last in the registry; null before.
    since_block: Option<u64>,
}

/// State of a module.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ModuleStatus {
    Pending,
    Approved,
    Enabled,
    Failed,
    Disabled,
}

/// A contract of a module or of a project.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ContractOfModule {
    /// What it is there.
    #[schema(example = "router")]
    name: String,
    /// Name of its template.
    template: String,
    /// Its address, known before it is there.
    address: String,
}

impl ContractOfModule {
    pub(super) fn new(contract: &PlacedContract) -> Self {
        Self { name: contract.name.clone(), template: contract.template.clone(), address: contract.address.to_string() }
    }
}

impl ModuleView {
    fn new(module: Module) -> Self {
        Self {
            id: module.name,
            blockchain_id: module.blockchain_id,
            version: module.version,
            status: match module.state {
                ModuleState::Pending => ModuleStatus::Pending,
                ModuleState::Approved => ModuleStatus::Approved,
                ModuleState::Enabled => ModuleStatus::Enabled,
                ModuleState::Failed => ModuleStatus::Failed,
                ModuleState::Disabled => ModuleStatus::Disabled,
            },
            config: module.config,
            config_hash: module.config_hash.to_string(),
            contracts: module.contracts.iter().map(ContractOfModule::new).collect(),
            transactions: module.transactions.iter().map(ToString::to_string).collect(),
            since_block: module.since,
        }
    }
}

impl Located for ModuleView {
    fn location(&self) -> String {
        format!("/v1/blockchains/{}/modules/{}", self.blockchain_id, self.id)
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Modules;
    let (read, write) = (Access::Scope(Scope::BlockchainRead), Access::Scope(Scope::BlockchainWrite));
    let (all, one) = ("/v1/blockchains/{blockchainId}/modules", "/v1/blockchains/{blockchainId}/modules/{module}");
    let of_path = |request: &Request, _: &Value| Some(request.path("blockchainId").to_owned());
    vec![
        Endpoint::post(all, "enableModule", tag, write, "Enables a module of a blockchain, or adds parts to one.")
            .described(
                "On a running chain one transaction of its treasury makes the contracts and puts the module in the chain's registry, all or \
                 nothing, in force with its block. A chain that has not started gets module and contracts in its genesis. Where \
                 governance owns the modules (`config.upgrades`), a proposal of the type module-enable comes first; the same request then \
                 makes the contracts. A module that this build does not have is a conflict that names those that it has.",
            )
            .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::Pruned])
            .runs(Runs::InTurnOf(of_path))
            .takes::<EnableModule>()
            .creates(enable),
        Endpoint::get(all, "listModules", tag, read, "Lists the modules of a blockchain by name, disabled ones too.")
            .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
            .lists(&["id"], list),
        Endpoint::get(one, "getModule", tag, read, "Returns a module of a blockchain.")
            .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
            .reads(get),
        Endpoint::delete(one, "disableModule", tag, write, "Disables a module of a blockchain; its contracts stay.")
            .fails_with(&[ErrorCode::InsufficientBalance, ErrorCode::Pruned])
            .runs(Runs::InTurnOf(of_path))
            .acts(disable),
    ]
}

fn enable(app: &App, request: &Request, body: EnableModule) -> Result<Change<ModuleView>, ApiError> {
    let id = request.new_id(app.platform(), "tx")?;
    let spec = body.spec(request.path("blockchainId"));
    Ok(Change::done(ModuleView::new(app.platform().modules().enable(request.principal()?, &id, &spec)?)))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<ModuleView>, u64), ApiError> {
    let found = app.platform().modules().list(request.principal()?, request.path("blockchainId"))?;
    let total = found.len() as u64;
    Ok((page.select(found).into_iter().map(ModuleView::new).collect(), total))
}

fn get(app: &App, request: &Request) -> Result<ModuleView, ApiError> {
    let (chain, name) = (request.path("blockchainId"), request.path("module"));
    Ok(ModuleView::new(app.platform().modules().get(request.principal()?, chain, name)?))
}

fn disable(app: &App, request: &Request) -> Result<Change<ModuleView>, ApiError> {
    let (chain, name) = (request.path("blockchainId"), request.path("module"));
    let id = request.new_id(app.platform(), "tx")?;
    Ok(Change::done(ModuleView::new(app.platform().modules().disable(request.principal()?, &id, chain, name)?)))
}
