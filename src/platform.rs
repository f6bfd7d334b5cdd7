//! The service's resources and rules, without HTTP: workspaces and their members, API keys, blockchains, contract deployments.
//!
//! A [`Platform`] keeps its resources as [`records`] in a store, in memory or on disk, and its secrets in a [`vault`]. Every operation is a
//! plain call for a [`Principal`], who acts in one workspace and finds what is in it; it takes a decoded body and returns a resource or a
//! [`PlatformError`]. The `server` floor translates. Time, randomness and the master key are given from outside: a platform reads no
//! clock of its own.

mod analytics;
mod api_key;
mod attempts;
mod blockchain;
mod blockchains;
mod context;
mod contract_call;
mod contract_events;
mod contract_plan;
mod dapps;

mod deployment;
mod entropy;
mod error;
mod evidence;
mod expiry;
mod fields;
mod gas_count;
mod health;
mod idempotency;
mod mail;
mod maintenance;
mod metering;
mod migrations;
mod modules;
mod oauth;
mod plan;
mod principal;
mod projects;
mod proposals;
mod public_url;
pub mod records;
mod resources;
mod scope;
mod secret;
mod sent;
#[cfg(test)]
mod tests;
mod token;
mod tokens;
mod transaction_outcome;
mod users;
mod validator;
mod validators;
pub mod vault;
mod wallet;
mod webhooks;
mod workspace;

use core::num::NonZeroUsize;
use std::{path::PathBuf, sync::Arc};

pub use self::{
    analytics::{Analytics, Metric, SAMPLE_SECS, SeriesPoint, SeriesRequest},
    api_key::{ApiKey, ApiKeySpec, ApiKeyState, ApiKeyValue, ApiKeys},
    attempts::network_of,
    blockchain::{
        Blockchain, BlockchainRecord, BlockchainSpec, ChainCommand, ChainState, DecidedBy, Feature, NativeToken,
        ValidatorSpec,
        metrics::ChainMetrics,
        token_index::{Holder, HolderOrder, ListWindow, TokenTransfer},
    },
    blockchains::{Blockchains, EXPORT_BYTES_MAX, Outgoing, Sight, try_signed},
    context::{INVITATIONS_MAX, WORKSPACES_MAX},
    contract_call::{ContractCall, EncodedCall, abi_of, beside_signed, signed_call},
    contract_events::{ContractEvent, events_of},
    contract_plan::PlacedContract,
    dapps::{
        ComponentState, CustomDomain, DappChange, DappComponent, DappFigure, DappFrontend, DappRecord, DappSpec,
        DappState, DappTheme, Dapps, PlannedDapp, domain_name,
    },
    deployment::{DeploymentRecord, DeploymentSpec},
    entropy::{Entropy, EntropyError, OsEntropy},
    error::{FieldError, PlatformError},
    fields::{Fields, TextOrObject},
    health::Health,
    idempotency::{Begun, IdempotentRequests},
    mail::{Mail, Mailbox, Mails, ReceivedMail},
    maintenance::{Backup, CheckReport, CheckedChain, Pruned, STATES_KEPT_MIN, check, prune},
    metering::{Metering, OverQuota},
    modules::{EarlierModule, HostedModule, Module, ModuleKind, ModuleSpec, ModuleState, Modules},
    oauth::{
        AccessToken, AuthorizationRefusal, AuthorizationRequest, Authorized, ClientCredentials, ClientRegistration,
        Grant, Introspection, OAuth, OAuthClient, OAuthError, OAuthErrorCode, Parameters, ShownRefusal, TokenResponse,
        scope_text,
    },
    plan::{Plan, Plans, Usage},
    principal::{Principal, Subject},
    projects::{
        Project, ProjectChain, ProjectKind, ProjectNetwork, ProjectSpec, ProjectState, ProjectTemplate, Projects,
        TEMPLATES as PROJECT_TEMPLATES,
    },
    proposals::{Proposal, ProposalId, ProposalSpec, ProposalStatus, Proposals, Vote, VoteSpec},
    public_url::{InvalidPublicUrl, PublicUrl},
    resources::{ResourceKind, ResourceSort, ResourceSummary},
    scope::{Role, Scope, ScopeSet},
    sent::TransactionRecord,
    token::Token,
    tokens::{Allotment, TokenDetails, TokenFeatures, TokenMove, TokenSpec, TokenStandard, Tokens, Vesting},
    transaction_outcome::{TransactionOutcome, TransactionState},
    users::{Identity, Membership, Password, PasswordCost, Session, Users},
    validator::{HostedValidator, ValidatorId},
    validators::{
        ClaimOrder, CommissionOrder, Delegation, DelegationOrder, DelegationSpec, NewValidator, SlashOrder, SlashPart,
        SlashSpec, SlashedBy, StakeSpec, Unbonding, Validator, ValidatorChange, ValidatorDuties, ValidatorProcess,
        ValidatorRound, ValidatorState, Validators, Withdrawal, WithdrawalOrder,
    },
    wallet::{Wallet, WalletUse, Wallets},
    webhooks::{Webhook, WebhookChange, WebhookEvent, Webhooks, signature::SignedDelivery},
    workspace::{Invitation, InvitationToken, Member, Members, User, Workspace, Workspaces},
};
use self::{
    blockchain::PlatformTime,
    blockchains::Hosted,
    context::Context,
    health::Probes,
    maintenance::Backups,
    metering::Meter,
    records::{Owner, PageRequest, RecordError, Records, Unit, WorkspaceId},
    secret::Secret,
    vault::{MasterKey, Vault},
};
use crate::{
    node::{Clock, NetworkPool},
    store::{KeyValue, MemoryStore},
};

/// Id of the chain that `chainbox dev` serves on `/`.
pub const DEFAULT_BLOCKCHAIN_ID: &str = "bc_default";
/// Id of the workspace that owns it.
pub const DEFAULT_WORKSPACE_ID: &str = "ws_default";

/// Returns the workspace of the default chain.
fn default_workspace() -> WorkspaceId {
    WorkspaceId::drawn(DEFAULT_WORKSPACE_ID.to_owned())
}

/// What a platform is given: store, clock, randomness, master keys, plans.
#[must_use = "no platform is opened until `open` is called"]
#[derive(Debug)]
pub struct PlatformBuilder {
    store: Arc<dyn KeyValue>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    plans: Plans,
    workspaces_max: u64,
    invitations_max: u64,
    password_cost: PasswordCost,
    networks: Option<NetworkPool>,
    backups: Option<PathBuf>,
}

/// Records of a kind that are deleted at once because they have expired.
const FORGOTTEN_AT_ONCE: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// Threads of the pool that a platform makes for itself.
const NETWORK_THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");

impl PlatformBuilder {
    /// Keeps records, and the chains of workspaces, in a store. It may be that of the default chain.
    pub fn with_store(self, store: Arc<dyn KeyValue>) -> Self {
        Self { store, ..self }
    }

    /// Takes ids and keys from another generator, for tests.
    pub fn with_entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        Self { entropy, ..self }
    }

    /// Sets the billing plans.
    pub fn with_plans(self, plans: Plans) -> Self {
        Self { plans, ..self }
    }

    /// Sets how many workspaces a user is a member of, when it makes another; 100 by default. The operators' own keys have no such bound.
    pub fn with_workspaces_max(self, workspaces_max: u64) -> Self {
        Self { workspaces_max, ..self }
    }

    /// Sets how many invitations a workspace, and a user in all workspaces, send within any hour; 100 by default. The operators' own keys have
    /// no such bound.
    pub fn with_invitations_max(self, invitations_max: u64) -> Self {
        Self { invitations_max, ..self }
    }

    /// Sets what hashing a password costs; OWASP's recommendation by default.
    pub fn with_password_cost(self, password_cost: PasswordCost) -> Self {
        Self { password_cost, ..self }
    }

    /// Lets chains run on this pool, by its clock; by default on one of two threads by the platform's clock.
    pub fn with_networks(self, networks: NetworkPool) -> Self {
        Self { networks: Some(networks), ..self }
    }

    /// Writes backups into this folder, each into one of its own; without it there are none.
    pub fn with_backups(self, folder: PathBuf) -> Self {
        Self { backups: Some(folder), ..self }
    }

    /// Opens the platform under a master key drawn for it: for a store that ends with the process.
    ///
    /// # Errors
    /// As [`PlatformBuilder::open_with`], and [`PlatformError::Entropy`].
    pub fn open(self, default_blockchain: impl Into<Option<Blockchain>>) -> Result<Platform, PlatformError> {
        let master_key = MasterKey::generate(&*self.entropy)?;
        self.open_with(default_blockchain, master_key, Vec::new())
    }

    /// Opens the platform: migrates its records, wraps its secrets under the present master key where they are under a former one, and
    /// brings the chains that the store has to the states that they were in, where they stopped. One that can't be opened is failed, with
    /// the reason in its record.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store can't be read, was written by a newer version, or is under another master key;
    /// [`PlatformError::Conflict`] when another chain has the default chain's chain id.
    pub fn open_with(
        self,
        default_blockchain: impl Into<Option<Blockchain>>,
        master_key: MasterKey,
        former: Vec<MasterKey>,
    ) -> Result<Platform, PlatformError> {
        let Self { store, clock, entropy, plans, workspaces_max, invitations_max, password_cost, networks, backups } =
            self;
        let records = Records::open(Arc::clone(&store), clock)?;
        unless_full(complete_indices(&records).map_err(PlatformError::from))?;
        let vault = Vault::new(master_key, Arc::clone(&entropy));
        let vault = former.into_iter().fold(vault, Vault::with_previous);
        // The former keys are at hand: until a later start has wrapped the rest, secrets open under both.
        unless_full(vault.rewrap(&records).map(drop).map_err(PlatformError::from))?;
        let secret = Secret::of_store(&records, &vault)?;
        let networks = networks.map_or_else(
            || {
                let clock = Arc::new(PlatformTime(Arc::clone(records.clock())));
                NetworkPool::with_clock(NETWORK_THREADS, clock).map_err(PlatformError::internal)
            },
            Ok,
        )?;
        let context =
            Context { records, entropy, vault, secret, plans, workspaces_max, invitations_max, password_cost };
        unless_full(IdempotentRequests { context: &context }.seal_former())?;
        make_default_workspace(&context)?;
        let taken_over = context.records.once(ORPHANS_TAKEN_OVER, workspace::take_over_orphans);
        unless_full(taken_over.map_err(PlatformError::from))?;
        let default_blockchain = default_blockchain.into().map(Arc::new);
        if let Some(default) = &default_blockchain {
            // Without its record the chain runs as it is described.
            unless_full(context.records.unit(|unit| blockchains::record_default(unit, default)))?;
        }
        let hosted = Hosted::new(default_blockchain.clone(), networks, Arc::clone(&store));
        hosted.boot(&context)?;
        let (probes, backups) = (Probes::default(), Backups::new(backups));
        let meter = Meter::default();
        let platform = Platform { context, store, default_blockchain, hosted, probes, backups, meter };
        platform.blockchains().send_all_unsettled();
        platform.projects().finish_all()?;
        Ok(platform)
    }
}

/// Workspaces, keys, chains and deployments of one process.
#[derive(Debug)]
pub struct Platform {
    context: Context,
    store: Arc<dyn KeyValue>,
    default_blockchain: Option<Arc<Blockchain>>,
    hosted: Hosted,
    probes: Probes,
    backups: Backups,
    meter: Meter,
}

impl Platform {
    /// Starts with a platform in memory that takes its time from `clock`.
    pub fn builder(clock: Arc<dyn Clock>) -> PlatformBuilder {
        let store = Arc::new(MemoryStore::new());
        PlatformBuilder {
            store,
            clock,
            entropy: Arc::new(OsEntropy),
            plans: Plans::default(),
            workspaces_max: context::WORKSPACES_MAX,
            invitations_max: context::INVITATIONS_MAX,
            password_cost: PasswordCost::default(),
            networks: None,
            backups: None,
        }
    }

    /// The records, for reading.
    pub const fn records(&self) -> &Records {
        &self.context.records
    }

    /// Runs a unit of work: what `work` changes is written as one batch when it succeeds, and dropped when it fails. Operations take the
    /// unit, so that several, and the response to an idempotent request, are one batch.
    ///
    /// # Errors
    /// Those of `work`; [`PlatformError`] when the batch can't be written, and nothing is changed.
    pub fn unit<R>(&self, work: impl FnOnce(&mut Unit<'_>) -> Result<R, PlatformError>) -> Result<R, PlatformError> {
        self.context.records.unit(work)
    }

    /// Draws the id of a new resource: the prefix, `_` and 16 hex digits.
    ///
    /// # Errors
    /// [`PlatformError::Entropy`].
    pub fn new_id(&self, prefix: &str) -> Result<String, PlatformError> {
        Ok(self.context.id(prefix)?)
    }

    /// Rules of users, workspaces and members.
    pub const fn workspaces(&self) -> Workspaces<'_> {
        Workspaces { context: &self.context }
    }

    /// Rules of users: sign-up, log-in, sessions.
    pub const fn users(&self) -> Users<'_> {
        Users { context: &self.context, client: None }
    }

    /// Rules of the OAuth 2.0 authorization server.
    pub const fn oauth(&self) -> OAuth<'_> {
        OAuth { context: &self.context, client_address: None }
    }

    /// The mails that wait in the outbox.
    pub const fn mails(&self) -> Mails<'_> {
        Mails { context: &self.context }
    }

    /// Rules of validators.
    pub const fn validators(&self) -> Validators<'_> {
        Validators { chains: self.blockchains() }
    }

    /// Rules of proposals and votes.
    pub const fn proposals(&self) -> Proposals<'_> {
        Proposals { chains: self.blockchains() }
    }

    /// Rules of API keys.
    pub const fn api_keys(&self) -> ApiKeys<'_> {
        ApiKeys { context: &self.context }
    }

    /// Rules of blockchains and deployments.
    pub const fn blockchains(&self) -> Blockchains<'_> {
        Blockchains { context: &self.context, hosted: &self.hosted }
    }

    /// Figures of chains over time.
    pub const fn analytics(&self) -> Analytics<'_> {
        Analytics { context: &self.context, hosted: &self.hosted }
    }

    /// Rules of webhooks.
    pub const fn webhooks(&self) -> Webhooks<'_> {
        Webhooks { context: &self.context, hosted: &self.hosted }
    }

    /// Rules of tokens.
    pub const fn tokens(&self) -> Tokens<'_> {
        Tokens { blockchains: self.blockchains() }
    }

    /// Rules of modules.
    pub const fn modules(&self) -> Modules<'_> {
        Modules { blockchains: self.blockchains() }
    }

    /// Rules of projects.
    pub const fn projects(&self) -> Projects<'_> {
        Projects { blockchains: self.blockchains() }
    }

    /// Rules of dApps.
    pub const fn dapps(&self) -> Dapps<'_> {
        Dapps { blockchains: self.blockchains() }
    }

    /// Rules of idempotent requests.
    pub const fn idempotency(&self) -> IdempotentRequests<'_> {
        IdempotentRequests { context: &self.context }
    }

    /// Rules of wallets.
    pub const fn wallets(&self) -> Wallets<'_> {
        Wallets { context: &self.context }
    }

    /// Counting of what workspaces use.
    pub const fn metering(&self) -> Metering<'_> {
        Metering { context: &self.context, meter: &self.meter, hosted: &self.hosted }
    }

    /// Returns what a principal's workspace used in the present period, and the bounds of its plan.
    ///
    /// # Errors
    /// [`PlatformError`] of reading.
    pub fn usage(&self, principal: &Principal) -> Result<Vec<(Usage, u64, Option<u64>)>, PlatformError> {
        let owner = principal.owner();
        self.unit(|unit| {
            let plan = self.context.plan(unit, &owner)?;
            let of = |usage: Usage| {
                let used = match self.metering().used(principal.workspace(), usage) {
                    Some(used) => used,
                    None => plan::used(unit, &owner, usage)?,
                };
                Ok((usage, used, usage.limit(&plan)))
            };
            Usage::ALL.into_iter().map(of).collect()
        })
    }

    /// Returns a page of the resources of a principal's workspace that it may see, of one kind or all, and the length of the whole list.
    ///
    /// # Errors
    /// [`PlatformError`] of reading.
    pub fn resources(
        &self,
        principal: &Principal,
        kind: Option<ResourceKind>,
        sort: ResourceSort,
        request: &PageRequest,
    ) -> Result<(Vec<ResourceSummary>, u64), PlatformError> {
        resources::page(self.blockchains(), principal, kind, sort, request)
    }

    /// The chain served on `/`, where there is one.
    pub const fn default_blockchain(&self) -> Option<&Arc<Blockchain>> {
        self.default_blockchain.as_ref()
    }

    /// Deletes some of what has expired: sessions, mailed tokens, grants, responses to idempotent requests, and invitations 30 days later.
    /// Revokes some of the API keys that deleted OAuth clients left. Returns whether there may be more of it. To be called from time to
    /// time, again while there may be more; what has expired has no effect before it is deleted either.
    ///
    /// # Errors
    /// [`PlatformError`] of the records.
    pub fn forget_expired(&self) -> Result<bool, PlatformError> {
        let count = forget_expired(&self.context, &PageRequest::first(FORGOTTEN_AT_ONCE).counted())?;
        // A kind of which there are more has filled its page, so that all kinds together have as many at least.
        Ok(count >= FORGOTTEN_AT_ONCE.get())
    }

    /// Checks the parts of the service, and counts the result for its uptime.
    pub fn probe(&self) -> Health {
        self.probes.renew(&self.context.records, || self.probe_parts())
    }

    /// Returns the health that the newest probe found, if that was less than a second ago; otherwise that of a probe made now.
    pub fn health(&self) -> Health {
        self.probes.newest_or(&self.context.records, || self.probe_parts())
    }

    fn probe_parts(&self) -> Health {
        let now_ms = self.context.records.clock().now_ms();
        // Each is looked at: the first look at a chain says from when on it is watched.
        let behind = self.hosted.all_open().iter().filter(|chain| chain.is_behind(now_ms)).count();
        self.probes.run(&self.context.records, behind == 0 && !self.hosted.has_failed())
    }

    /// Returns the number of chains in memory, of all workspaces.
    pub fn open_blockchains(&self) -> usize {
        self.hosted.all_open().len()
    }

    /// Returns the chain in memory with this id, whoever owns it: for the service's own work. What a caller reads goes by
    /// [`Blockchains::readable`].
    pub fn running_blockchain(&self, id: &str) -> Option<Arc<Blockchain>> {
        self.hosted.get(id)
    }

    /// The service as a principal of the default workspace, for what the process does at its start.
    pub fn service_principal(&self) -> Principal {
        Principal::new(Subject::Service, default_workspace(), Role::Owner.cap())
    }

    /// Creates an API key of the default workspace and returns its value.
    ///
    /// # Errors
    /// As [`ApiKeys::create`].
    pub fn create_api_key(&self, name: &str, scopes: &[Scope]) -> Result<ApiKeyValue, PlatformError> {
        let spec = ApiKeySpec { name: name.to_owned(), scopes: scopes.iter().copied().collect(), lifetime_ms: None };
        Ok(self.unit(|unit| self.api_keys().create(unit, &self.service_principal(), spec))?.0)
    }
}

impl Platform {
    /// Creates an API key of the default workspace in place of those that the service has made with this name: for a process that shows
    /// its key at each start. What those made stays the service's.
    ///
    /// # Errors
    /// As [`ApiKeys::create`].
    pub fn renew_api_key(&self, name: &str, scopes: &[Scope]) -> Result<ApiKeyValue, PlatformError> {
        self.unit(|unit| {
            let forgotten = self.api_keys().forget_own(unit, name)?;
            Ok::<_, PlatformError>(forgotten.iter().try_for_each(|key| workspace::take_over(unit, key))?)
        })?;
        self.create_api_key(name, scopes)
    }
}

/// Deletes some of each kind of what has expired; returns how many records.
fn forget_expired(context: &Context, some: &PageRequest) -> Result<usize, PlatformError> {
    let users = Users { context, client: None }.forget_expired(some)?;
    let grants = OAuth { context, client_address: None }.forget_expired(some)?;
    let responses = IdempotentRequests { context }.forget_expired(some)?;
    let transactions = sent::forget_settled(&context.records, some)?;
    let invitations = Workspaces { context }.members().forget_expired(some)?;
    let counts = [users, grants, responses, transactions, invitations];
    Ok(counts.into_iter().fold(0, usize::saturating_add))
}

/// Counter that is 1 once the indices by expiry have the keys and invitations that were in the store before they were.
const EXPIRY_INDEXED: &str = "expiry-indexed";
/// Counter that is 1 once the index by OAuth client has the keys that were in the store before it was.
const CLIENTS_KEYS_INDEXED: &str = "clients-keys-indexed";

/// Counter that is 1 once the service has what keys of its own, as they were in former versions, left behind.
const ORPHANS_TAKEN_OVER: &str = "orphans-taken-over";

/// Completes the indices of records that were written before the indices were.
fn complete_indices(records: &Records) -> Result<(), RecordError> {
    resources::complete_indices(records)?;
    sent::complete_indices(records)?;
    Project::complete_indices(records)?;
    records.once(EXPIRY_INDEXED, |records| {
        records.complete_indices::<ApiKey>()?;
        records.complete_indices::<Invitation>()
    })?;
    records.once(CLIENTS_KEYS_INDEXED, Records::complete_indices::<ApiKey>)?;
    dapps::complete_indices(records)
}

/// Leaves what a full disk has no room for to a later start: reads go on.
fn unless_full(done: Result<(), PlatformError>) -> Result<(), PlatformError> {
    match done {
        Err(PlatformError::StorageFull { .. }) => Ok(()),
        done => done,
    }
}

fn make_default_workspace(context: &Context) -> Result<(), PlatformError> {
    let owner = Owner::Workspace(default_workspace());
    context.records.unit(|unit| {
        if unit.of::<Workspace>().get(&owner, owner.as_str())?.is_none() {
            let workspace = Workspace { billing_plan: Plans::UNLIMITED.to_owned(), ..Workspace::named("default") };
            unit.insert(&owner, owner.as_str(), workspace)?;
        }
        wallet::create_managed(context, unit, &owner)?;
        Ok(())
    })
}
