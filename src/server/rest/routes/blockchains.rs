//! `/v1/blockchains`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{blockchain_body::CreateBlockchain, view::Deleted};
use crate::{
    node::NodeView,
    platform::{
        Blockchain, BlockchainRecord, BlockchainSpec, ChainCommand, ChainState, Platform, PlatformError, Principal,
        Scope, Subject,
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
        },
    },
};

/// State of a chain: a new one is `provisioning`, or `created` with `start: false`; `created` leads to `provisioning` by start, `provisioning`
/// to `running` once its network is built, `running` to `paused` by pause and back by resume, both to `stopped` by stop, `stopped` and
/// `failed` to `running` by start; a failure leads to `failed`, and delete from every state to `deleting`, after which it is gone.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum BlockchainStatus {
    Created,
    Provisioning,
    Running,
    Paused,
    Stopped,
    Failed,
    Deleting,
}

impl BlockchainStatus {
    const fn of(state: &ChainState) -> Self {
        match state {
            ChainState::Created => Self::Created,
            ChainState::Provisioning => Self::Provisioning,
            ChainState::Running => Self::Running,
            ChainState::Paused => Self::Paused,
            ChainState::Stopped => Self::Stopped,
            ChainState::Failed { .. } => Self::Failed,
            ChainState::Deleting => Self::Deleting,
        }
    }
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
    /// Its state.
    #[schema(example = "running")]
    status: BlockchainStatus,
    /// Why it failed; null otherwise, and for those who may not read the chain.
    failure: Option<String>,
    /// Block and token parameters.
    config: ConfigView,
    /// Validators of genesis; GET /v1/blockchains/{blockchainId}/validators has the present ones. Empty while the chain is not in memory,
    /// and for those who may not read it.
    validators: Vec<GenesisValidatorView>,
    /// Features.
    features: Vec<String>,
    /// Wallet that got the premine at genesis; the service can sign for it.
    treasury: Option<String>,
    /// Hash of the genesis block; null while the chain is not in memory, and for those who may not read it: with the feature privacy all but
    /// its participants.
    genesis_hash: Option<String>,
    /// Height of the newest block; null likewise.
    current_block: Option<u64>,
    /// Path of its Ethereum JSON-RPC (POST and WebSocket).
    rpc_path: String,
    /// Time of creation: ISO 8601, UTC.
    created_at: String,
}

/// Parameters of a chain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConfigView {
    /// Time between blocks at present; null when each transaction is mined at once. That of genesis while the chain is not in memory, and for
    /// those who may not read it.
    block_time: Option<String>,
    /// Gas limit of the newest block; null while the chain is not in memory, and for those who may not read it.
    block_gas_limit: Option<String>,
    /// Token that pays for gas.
    native_token: NativeTokenView,
    /// Who enables and disables modules: `authority` or `governance`.
    #[schema(example = "authority")]
    upgrades: &'static str,
    /// Who adds and removes validators where there is no stake: `authority` or `governance`.
    #[schema(example = "authority")]
    membership: &'static str,
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

/// A validator of genesis.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct GenesisValidatorView {
    /// Address of the operator.
    address: String,
    /// Name of the operator.
    name: String,
    /// Address of the signing key, which the service holds.
    signer_address: String,
}

impl BlockchainView {
    pub(super) fn new(
        app: &App,
        principal: &Principal,
        stored: &Stored<BlockchainRecord>,
    ) -> Result<Self, PlatformError> {
        let state = app.platform().blockchains().state(stored);
        let sight = app.platform().blockchains().sight(principal, stored.id())?;
        let chain = sight.chain();
        let (spec, view) = (&stored.value.spec, chain.map(|chain| chain.node().view()));
        Ok(Self {
            id: stored.id().to_owned(),
            name: spec.name.clone(),
            kind: spec.kind.clone(),
            consensus: spec.consensus.name(),
            chain_id: stored.value.chain_id,
            status: BlockchainStatus::of(&state),
            failure: match state {
                ChainState::Failed { reason } if !sight.is_hidden() => Some(reason),
                _ => None,
            },
            config: ConfigView {
                block_time: block_time(spec, view.as_deref())?.map(|secs| format!("{secs}s")),
                block_gas_limit: view.as_ref().map(|view| view.head().block().header().gas_limit.to_string()),
                native_token: NativeTokenView {
                    name: spec.native_token.name.clone(),
                    symbol: spec.native_token.symbol.clone(),
                    premine: spec.native_token.premine.to_string(),
                },
                upgrades: spec.upgrades.name(),
                membership: spec.membership.name(),
            },
            validators: chain.map(|chain| validators(spec, chain)).unwrap_or_default(),
            features: spec.features.clone(),
            treasury: chain.and_then(|chain| chain.treasury()).or(stored.value.treasury).map(|it| it.to_string()),
            genesis_hash: view.as_ref().map(|view| view.genesis_hash().to_string()),
            current_block: view.as_ref().map(|view| view.head().height().get()),
            rpc_path: format!("/v1/blockchains/{}/eth", stored.id()),
            created_at: clock::iso_8601(stored.created_at_ms()),
        })
    }
}

/// Seconds from a block to the next, which governance may have changed since genesis.
fn block_time(spec: &BlockchainSpec, view: Option<&NodeView>) -> Result<Option<u64>, PlatformError> {
    let Some(at_first) = spec.block_time else { return Ok(None) };
    let present = view.map(NodeView::block_time_secs).transpose().map_err(PlatformError::from_query)?;
    Ok(present.flatten().or(Some(at_first.as_secs())))
}

fn validators(spec: &BlockchainSpec, chain: &Blockchain) -> Vec<GenesisValidatorView> {
    let view = chain.node().view();
    let signers = view.chain().spec().validators.iter().enumerate();
    let validators = signers.map(|(index, signer)| {
        let operator = spec.validators.get(index);
        GenesisValidatorView {
            address: signer.operator().to_string(),
            name: operator.map_or_else(|| signer.name.clone(), |operator| operator.name.clone()),
            signer_address: signer.address.to_string(),
        }
    });
    validators.collect()
}

impl Located for BlockchainView {
    fn location(&self) -> String {
        format!("/v1/blockchains/{}", self.id)
    }
}

/// Path, operation, summary and handler of a command that changes the state of a chain.
type Command =
    (&'static str, &'static str, &'static str, fn(&App, &Request) -> Result<Change<BlockchainView>, ApiError>);

const COMMANDS: [Command; 4] = [
    (
        "/v1/blockchains/{blockchainId}/pause",
        "pauseBlockchain",
        "Pauses a running blockchain: it makes no blocks and takes no transactions; reads go on.",
        |app, request| command(app, request, ChainCommand::Pause),
    ),
    ("/v1/blockchains/{blockchainId}/resume", "resumeBlockchain", "Lets a paused blockchain go on.", |app, request| {
        command(app, request, ChainCommand::Resume)
    }),
    (
        "/v1/blockchains/{blockchainId}/stop",
        "stopBlockchain",
        "Takes a blockchain out of memory: nothing of it is read until it is started.",
        |app, request| command(app, request, ChainCommand::Stop),
    ),
    (
        "/v1/blockchains/{blockchainId}/start",
        "startBlockchain",
        "Starts a blockchain that was stopped, has failed or was never started.",
        |app, request| command(app, request, ChainCommand::Start),
    ),
];

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Blockchains;
    let (read, write) = (Access::Scope(Scope::BlockchainRead), Access::Scope(Scope::BlockchainWrite));
    let (list_path, one) = ("/v1/blockchains", "/v1/blockchains/{blockchainId}");
    let participants = "/v1/blockchains/{blockchainId}/participants";
    let commands = COMMANDS.map(|(path, operation, summary, carry_out)| {
        Endpoint::post(path, operation, tag, write, summary).runs(Runs::Long).acts(carry_out)
    });
    let mut all = vec![
        Endpoint::post(
            list_path,
            "createBlockchain",
            tag,
            write,
            "Creates a blockchain in this process and starts it.",
        )
        .runs(Runs::Long)
        .takes::<CreateBlockchain>()
        .creates(create),
        Endpoint::get(list_path, "listBlockchains", tag, read, "Lists the blockchains of the workspace, oldest first.")
            .lists(&["createdAt", "name", "chainId"], list),
        Endpoint::get(one, "getBlockchain", tag, read, "Returns one blockchain, in any state.").reads(get),
    ];
    all.extend(commands);
    all.extend([
        Endpoint::delete(
            one,
            "deleteBlockchain",
            tag,
            write,
            "Deletes a blockchain with its blocks, keys and deployments.",
        )
        .runs(Runs::Long)
        .acts(delete),
        Endpoint::get(
            participants,
            "listParticipants",
            tag,
            read,
            "Lists who reads a blockchain with the feature privacy.",
        )
        .lists(&["id"], list_participants),
        Endpoint::post(
            participants,
            "addParticipant",
            tag,
            write,
            "Lets somebody read a blockchain with the feature privacy.",
        )
        .takes::<AddParticipant>()
        .creates(add_participant),
        Endpoint::delete(
            "/v1/blockchains/{blockchainId}/participants/{participantId}",
            "removeParticipant",
            tag,
            write,
            "Takes somebody off the list of those who read a blockchain with the feature privacy.",
        )
        .fails_with(&[ErrorCode::Conflict])
        .acts(remove_participant),
    ]);
    all
}

fn create(app: &App, request: &Request, body: CreateBlockchain) -> Result<Change<BlockchainView>, ApiError> {
    let spec = body.into_spec()?;
    let (platform, principal) = (app.platform(), request.principal()?);
    let id = request.new_id(platform, "bc")?;
    platform.unit(|unit| platform.blockchains().provision(unit, principal, &id, spec).map(drop))?;
    platform.blockchains().bring_up(principal, &id)?;
    Ok(Change::done(BlockchainView::new(app, principal, &platform.blockchains().record(principal, &id)?)?))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<BlockchainView>, u64), ApiError> {
    let index = match page.sort_field() {
        "name" => BlockchainRecord::BY_NAME,
        "chainId" => BlockchainRecord::BY_CHAIN_ID,
        _ => Index::CREATED,
    };
    let principal = request.principal()?;
    let found = app.platform().blockchains().page(principal, &index, &page.request())?;
    let views = found.items.iter().map(|stored| BlockchainView::new(app, principal, stored));
    Ok((views.collect::<Result<_, _>>()?, found.total))
}

/// That a chain exists, and its description, its workspace's members know; what is in it, those who may read it.
fn get(app: &App, request: &Request) -> Result<BlockchainView, ApiError> {
    let (principal, id) = (request.principal()?, request.path("blockchainId"));
    let blockchains = app.platform().blockchains();
    let stored = match blockchains.record(principal, id) {
        Err(PlatformError::NotFound { .. }) => blockchains.readable_record(principal, id),
        own => own,
    };
    Ok(BlockchainView::new(app, principal, &stored?)?)
}

fn command(app: &App, request: &Request, command: ChainCommand) -> Result<Change<BlockchainView>, ApiError> {
    let (principal, id) = (request.principal()?, request.path("blockchainId"));
    app.platform().blockchains().carry_out(principal, id, command)?;
    Ok(Change::done(BlockchainView::new(app, principal, &app.platform().blockchains().record(principal, id)?)?))
}

fn delete(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let (principal, id) = (request.principal()?, request.path("blockchainId"));
    app.platform().blockchains().carry_out(principal, id, ChainCommand::Delete)?;
    Ok(Change::done(Deleted::of(id)))
}

/// Somebody to let read a chain.
#[derive(Debug, Deserialize, ToSchema)]
struct AddParticipant {
    /// A user or an API key: `user:` or `key:` and its id.
    #[schema(pattern = "^(user|key):[A-Za-z0-9_-]{1,64}$", example = "user:usr_0123456789abcdef")]
    participant: String,
}

impl Body for AddParticipant {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("required fields", json!({ "participant": "user:usr_0123456789abcdef" }))]
    }
}

/// Who reads a chain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ParticipantView {
    /// `user:` or `key:` and its id.
    #[schema(example = "user:usr_0123456789abcdef")]
    id: String,
    /// Id of the chain.
    blockchain_id: String,
}

impl Located for ParticipantView {
    fn location(&self) -> String {
        format!("/v1/blockchains/{}/participants/{}", self.blockchain_id, self.id)
    }
}

fn list_participants(app: &App, request: &Request, page: &Page) -> Result<(Vec<ParticipantView>, u64), ApiError> {
    let stored = app.platform().blockchains().record(request.principal()?, request.path("blockchainId"))?;
    let mut ids: Vec<String> = stored.value.participants.iter().map(Subject::to_string).collect();
    ids.sort_unstable();
    let total = ids.len() as u64;
    let view = |id| ParticipantView { id, blockchain_id: stored.id().to_owned() };
    Ok((page.select(ids).into_iter().map(view).collect(), total))
}

fn add_participant(app: &App, request: &Request, body: AddParticipant) -> Result<Change<ParticipantView>, ApiError> {
    let participant = subject(&body.participant)?;
    let (platform, principal, id) = participants_of(app, request)?;
    Ok(Change::unit(move |unit| {
        platform.blockchains().add_participant(unit, &principal, &id, &participant)?;
        Ok(ParticipantView { id: participant.to_string(), blockchain_id: id })
    }))
}

fn remove_participant(app: &App, request: &Request) -> Result<Change<Deleted>, ApiError> {
    let text = request.path("participantId");
    let participant = Subject::from_text(text).ok_or_else(|| PlatformError::not_found("participant", text))?;
    let (platform, principal, id) = participants_of(app, request)?;
    Ok(Change::unit(move |unit| {
        platform.blockchains().remove_participant(unit, &principal, &id, &participant)?;
        Ok(Deleted::of(&participant.to_string()))
    }))
}

fn participants_of(app: &App, request: &Request) -> Result<(Arc<Platform>, Principal, String), ApiError> {
    Ok((app.platform().clone(), request.principal()?.clone(), request.path("blockchainId").to_owned()))
}

fn subject(text: &str) -> Result<Subject, ApiError> {
    let expected = "user: or key: and an id";
    Ok(Subject::from_text(text).ok_or_else(|| PlatformError::field("participant", expected, text))?)
}
