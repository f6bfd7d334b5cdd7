//! `/v1/governance/proposals`: submitting, reading and withdrawing proposals.

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{
    proposal_body::{ChangesView, CreateProposal},
    validator_body::signed,
};
use crate::{
    platform::{Proposal, ProposalId, ProposalStatus, Scope},
    primitives::Timestamp,
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
    system::{
        ParameterUpdate,
        governance::{ProposalAction, ProposalState},
    },
};

/// A proposal. Weights are decimal integers: stake in gwei, or one a validator on a chain without stake.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ProposalView {
    /// Id of the proposal.
    id: String,
    /// Id of its chain.
    blockchain_id: String,
    /// Its number in the chain's governance contract; null while it is pending.
    number: Option<u64>,
    /// pending leads to active; active to passed, rejected, vetoed, expired or canceled; passed, in the same block, to executed or failed.
    status: ProposalStatusView,
    /// What it is about.
    #[serde(rename = "type")]
    #[schema(example = "parameter-change")]
    kind: &'static str,
    /// Title.
    title: String,
    /// Description.
    description: String,
    /// What it changes.
    #[schema(value_type = ChangesView)]
    changes: Value,
    /// Who proposed it.
    proposer: String,
    /// Hash of the transaction that proposed it.
    transaction_hash: String,
    /// Time of its block: ISO 8601, UTC; null while it is pending.
    submitted_at: Option<String>,
    /// Time from which it takes no votes; null while it is pending.
    voting_ends_at: Option<String>,
    /// Part of all weight that must vote, in percent; null while it is pending.
    quorum: Option<f64>,
    /// Part of the votes without abstentions above which those in favour must be, in percent; null while it is pending.
    threshold: Option<f64>,
    /// The votes; null while it is pending.
    tally: Option<TallyView>,
    /// Height of the block that ended it; null before.
    finalized_block: Option<u64>,
    /// Revert data of a failed execution, in hex; null otherwise.
    failure: Option<String>,
}

/// State of a proposal.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ProposalStatusView {
    Pending,
    Active,
    Passed,
    Executed,
    Failed,
    Rejected,
    Vetoed,
    Expired,
    Canceled,
}

impl From<ProposalStatus> for ProposalStatusView {
    fn from(status: ProposalStatus) -> Self {
        match status {
            ProposalStatus::Pending => Self::Pending,
            ProposalStatus::OnChain(state) => match state {
                ProposalState::Active => Self::Active,
                ProposalState::Passed => Self::Passed,
                ProposalState::Executed => Self::Executed,
                ProposalState::Failed => Self::Failed,
                ProposalState::Rejected => Self::Rejected,
                ProposalState::Vetoed => Self::Vetoed,
                ProposalState::Expired => Self::Expired,
                ProposalState::Canceled => Self::Canceled,
            },
        }
    }
}

/// Weight that voted, by option, and all that may.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TallyView {
    /// In favour.
    yes: String,
    /// Against.
    no: String,
    /// Neither.
    abstain: String,
    /// Against, and that it should not have been proposed.
    veto: String,
    /// All weight that may vote.
    total_weight: String,
}

impl ProposalView {
    fn new(proposal: Proposal) -> Self {
        let voting = proposal.voting.as_ref();
        let percent = |permille: u16| f64::from(permille) / 10.0;
        Self {
            id: proposal.id.text(),
            number: proposal.number,
            status: proposal.status.into(),
            kind: proposal.action.kind().name(),
            changes: changes(&proposal.action),
            proposer: proposal.proposer.to_string(),
            transaction_hash: proposal.id.transaction.to_string(),
            submitted_at: voting.map(|voting| time(voting.submitted_at)),
            voting_ends_at: voting.map(|voting| time(voting.ends_at)),
            quorum: voting.map(|voting| percent(voting.quorum_permille)),
            threshold: voting.map(|voting| percent(voting.threshold_permille)),
            tally: voting.map(|voting| TallyView {
                yes: voting.tally.yes.to_string(),
                no: voting.tally.no.to_string(),
                abstain: voting.tally.abstain.to_string(),
                veto: voting.tally.veto.to_string(),
                total_weight: voting.total_weight.to_string(),
            }),
            finalized_block: voting.and_then(|voting| voting.finalized).map(|(height, _)| height.get()),
            failure: voting.and_then(|voting| voting.failure.as_ref()).map(hex::encode_prefixed),
            title: proposal.title,
            description: proposal.description,
            blockchain_id: proposal.id.blockchain_id,
        }
    }
}

fn time(at: Timestamp) -> String {
    clock::iso_8601(at.as_secs().saturating_mul(1_000))
}

/// Returns what a proposal changes, as its body has it.
fn changes(action: &ProposalAction) -> Value {
    match action {
        ProposalAction::ParameterChange(updates) => {
            let member = |update: &ParameterUpdate| {
                (update.parameter.name().to_owned(), Value::String(update.value.to_string()))
            };
            Value::Object(updates.iter().map(member).collect::<Map<_, _>>())
        }
        ProposalAction::ValidatorAdd { validator, weight } => {
            json!({ "address": validator.to_string(), "weight": weight.to_string() })
        }
        ProposalAction::ValidatorRemove { validator } => json!({ "address": validator.to_string() }),
        ProposalAction::ModuleEnable { name, version, config_hash } => {
            json!({ "module": name, "version": version, "configHash": config_hash.to_string() })
        }
        ProposalAction::ModuleDisable { name } => json!({ "module": name }),
        ProposalAction::Upgrade { name, height, info } => json!({ "name": name, "height": height, "info": info }),
        ProposalAction::Text => json!({}),
    }
}

impl Located for ProposalView {
    fn location(&self) -> String {
        format!("/v1/governance/proposals/{}", self.id)
    }
}

/// A proposal to withdraw.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CancelProposal {
    /// The proposer's call of cancel, in hex; by default the service signs, for a wallet of the workspace.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

impl Body for CancelProposal {
    fn examples() -> Vec<(&'static str, Value)> {
        vec![("by the service", json!({}))]
    }
}

/// A withdrawal that was sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CancellationView {
    /// Hash of its transaction, which counts once a block has it.
    transaction_hash: String,
    /// The proposal as it is now.
    proposal: ProposalView,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Governance;
    let (read, write) = (Access::Scope(Scope::GovernanceRead), Access::Scope(Scope::GovernanceWrite));
    vec![
        Endpoint::post(
            "/v1/governance/proposals",
            "createProposal",
            tag,
            write,
            "Submits a proposal to the governance contract of a blockchain.",
        )
        .described(
            "Validators vote by the weights before the proposal's block. The first block whose time is not before the end of the period \
             counts the votes and executes what has passed; a changed parameter is in force from the protocol's next boundary on. What could \
             not be executed as the chain is now is a conflict, and so is a second proposal about a module while another one is open.",
        )
        .fails_with(&[ErrorCode::NotFound, ErrorCode::InsufficientBalance])
        .runs(Runs::InTurnOf(|_, body| Some(body.get("blockchainId")?.as_str()?.to_owned())))
        .takes::<CreateProposal>()
        .creates(create),
        Endpoint::get(
            "/v1/governance/proposals/{proposalId}",
            "getProposal",
            tag,
            read,
            "Returns one proposal with its tally.",
        )
        .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
        .reads(get),
        Endpoint::post(
            "/v1/governance/proposals/{proposalId}/cancel",
            "cancelProposal",
            tag,
            write,
            "Withdraws an active proposal on which nobody has voted, by a transaction of its proposer.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance])
        .runs(Runs::InTurnOf(|request, _| Some(ProposalId::read(request.path("proposalId")).ok()?.blockchain_id)))
        .takes::<CancelProposal>()
        .acts(cancel),
        Endpoint::get(
            "/v1/blockchains/{blockchainId}/proposals",
            "listProposals",
            tag,
            read,
            "Lists the proposals that the blocks of a blockchain have, by number.",
        )
        .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
        .runs(Runs::Long)
        .lists(&["number"], list),
    ]
}

/// The proposal in the path.
pub(super) fn id_of(request: &Request) -> Result<ProposalId, ApiError> {
    Ok(ProposalId::read(request.path("proposalId"))?)
}

fn create(app: &App, request: &Request, body: CreateProposal) -> Result<Change<ProposalView>, ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let chain = body.blockchain_id().to_owned();
    let spec = body.spec()?;
    platform.blockchains().writable(principal, &chain)?;
    let id = platform.proposals().submit(principal, &request.new_id(platform, "tx")?, &spec)?;
    Ok(Change::done(ProposalView::new(platform.proposals().get(principal, &id)?.1)))
}

fn get(app: &App, request: &Request) -> Result<ProposalView, ApiError> {
    Ok(ProposalView::new(app.platform().proposals().get(request.principal()?, &id_of(request)?)?.1))
}

fn cancel(app: &App, request: &Request, body: CancelProposal) -> Result<Change<CancellationView>, ApiError> {
    let (proposals, principal, id) = (app.platform().proposals(), request.principal()?, id_of(request)?);
    let (signed, sent_as) = (signed(body.signed_transaction.as_deref())?, request.new_id(app.platform(), "tx")?);
    let hash = proposals.cancel(principal, &id, &sent_as, signed.as_ref())?;
    let proposal = ProposalView::new(proposals.get(principal, &id)?.1);
    Ok(Change::done(CancellationView { transaction_hash: hash.to_string(), proposal }))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<ProposalView>, u64), ApiError> {
    let chain = request.path("blockchainId");
    let (found, total) = app.platform().proposals().list(request.principal()?, chain, page.window())?;
    Ok((found.into_iter().map(ProposalView::new).collect(), total))
}
