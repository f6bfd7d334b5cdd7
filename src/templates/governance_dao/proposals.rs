//! Proposals: made, queued, executed, cancelled.

use alloy_primitives::{LogData, aliases::U48, hex};

use super::{
    governance::is_self,
    interface::{self as sol, ProposalState},
    state::{GOVERNOR, Head, ProposalDetails},
    timelock::{self, Operation},
    voting_power::{clock, get_votes, quorum},
};
use crate::vm::{contract::*, math::downcast};

/// Marker before the address of the only account that may propose what a description describes.
const PROPOSER_MARKER: &[u8] = b"#proposer=";

/// Bytes of that address in hex, with `0x`.
const PROPOSER_BYTES: usize = 42;

/// What a proposal is to do.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    pub(super) targets: Vec<Address>,
    pub(super) values: Vec<U256>,
    pub(super) calldatas: Vec<Bytes>,
    pub(super) description_hash: B256,
}

impl Proposal {
    /// Returns the id (`getProposalId`).
    pub(super) fn id(&self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let Self { targets, values, calldatas, description_hash } = self.clone();
        host.keccak(&(targets, values, calldatas, description_hash).abi_encode_params()).map(Into::into)
    }

    /// Reads a proposal of the governor.
    pub(super) fn load(host: &mut Host<'_>, id: U256) -> Result<Self, Stop> {
        let (details, description_hash) = known_details(host, id)?;
        let (targets, values) = (details.targets.to_vec(host)?, details.values.to_vec(host)?);
        Ok(Self { targets, values, calldatas: details.calldatas.to_vec(host)?, description_hash })
    }

    fn store(self, host: &mut Host<'_>, details: ProposalDetails) -> Result<(), Stop> {
        details.targets.extend(host, self.targets)?;
        details.values.extend(host, self.values)?;
        details.calldatas.extend(host, self.calldatas)?;
        details.description_hash.set(host, self.description_hash)
    }

    /// Returns what `proposalDetails` returns.
    pub(super) fn details(self) -> (Vec<Address>, Vec<U256>, Vec<Bytes>, B256) {
        (self.targets, self.values, self.calldatas, self.description_hash)
    }

    fn operation(&self) -> Operation<'_> {
        let Self { targets, values, calldatas: payloads, description_hash } = self;
        Operation { targets, values, payloads, description_hash: *description_hash }
    }
}

/// Reads a proposal from the arguments of a function.
macro_rules! from_arguments {
    ($($call:ident),*) => { $(
        impl From<sol::$call> for Proposal {
            fn from(call: sol::$call) -> Self {
                let sol::$call { targets, values, calldatas, descriptionHash: description_hash } = call;
                Self { targets, values, calldatas, description_hash }
            }
        }
    )* };
}

from_arguments!(hashProposalCall, getProposalIdCall, queue_0Call, execute_0Call, cancel_0Call);

/// Returns where lies what a proposal is to do, and the hash of its description.
fn known_details(host: &mut Host<'_>, id: U256) -> Result<(ProposalDetails, B256), Stop> {
    let details = GOVERNOR.proposal_details.at(host, id)?;
    let description_hash = details.description_hash.get(host)?;
    require(!description_hash.is_zero(), sol::GovernorNonexistentProposal { proposalId: id })?;
    Ok((details, description_hash))
}

pub(super) fn head(host: &mut Host<'_>, id: U256) -> Result<Head, Stop> {
    GOVERNOR.proposals.at(host, id)?.head().get(host)
}

/// Returns what has become of a proposal (`state`).
pub(super) fn state(host: &mut Host<'_>, id: U256) -> Result<ProposalState, Stop> {
    head_and_state(host, id).map(|(_, state)| state)
}

fn head_and_state(host: &mut Host<'_>, id: U256) -> Result<(Head, ProposalState), Stop> {
    let head = head(host, id)?;
    Ok((head, state_of(host, id, head)?))
}

fn state_of(host: &mut Host<'_>, id: U256, head: Head) -> Result<ProposalState, Stop> {
    if head.executed {
        return Ok(ProposalState::Executed);
    }
    if head.canceled {
        return Ok(ProposalState::Canceled);
    }
    require(!head.vote_start.is_zero(), sol::GovernorNonexistentProposal { proposalId: id })?;
    let now = clock(host)?;
    if head.vote_start >= now {
        return Ok(ProposalState::Pending);
    }
    if head.deadline()? >= now {
        return Ok(ProposalState::Active);
    }
    if !is_quorum_reached(host, id, head)? || !is_vote_successful(host, id)? {
        return Ok(ProposalState::Defeated);
    }
    let eta = GOVERNOR.proposals.at(host, id)?.eta_seconds.get(host)?;
    if eta.is_zero() { Ok(ProposalState::Succeeded) } else { timelock::state(host, id) }
}

fn is_quorum_reached(host: &mut Host<'_>, id: U256, head: Head) -> Result<bool, Stop> {
    let needed = quorum(host, U256::from(head.vote_start))?;
    let votes = GOVERNOR.proposal_votes.at(host, id)?;
    let for_votes = votes.for_votes.get(host)?;
    Ok(needed <= for_votes.add(votes.abstain_votes.get(host)?)?)
}

fn is_vote_successful(host: &mut Host<'_>, id: U256) -> Result<bool, Stop> {
    let votes = GOVERNOR.proposal_votes.at(host, id)?;
    let for_votes = votes.for_votes.get(host)?;
    Ok(for_votes > votes.against_votes.get(host)?)
}

/// Returns the votes against a proposal, in favour and in abstention (`proposalVotes`).
pub(super) fn votes(host: &mut Host<'_>, id: U256) -> Result<(U256, U256, U256), Stop> {
    let votes = GOVERNOR.proposal_votes.at(host, id)?;
    Ok((votes.against_votes.get(host)?, votes.for_votes.get(host)?, votes.abstain_votes.get(host)?))
}

/// Refuses a proposal in another state than these (`_validateStateBitmap`), and returns its first slot.
pub(super) fn expect_state(host: &mut Host<'_>, id: U256, expected: &[ProposalState]) -> Result<Head, Stop> {
    let (head, current) = head_and_state(host, id)?;
    let bits = expected.iter().fold(0_u8, |bits, state| bits | 1 << *state as u8);
    let error = unexpected_state(id, current, bits);
    require(expected.contains(&current), error)?;
    Ok(head)
}

fn unexpected_state(id: U256, current: ProposalState, expected: u8) -> sol::GovernorUnexpectedProposalState {
    let expected = U256::from(expected).into();
    sol::GovernorUnexpectedProposalState { proposalId: id, current, expectedStates: expected }
}

pub(super) fn propose(host: &mut Host<'_>, call: sol::proposeCall, description: Bytes) -> Result<U256, Stop> {
    let proposer = host.caller();
    require(may_propose(proposer, &description), sol::GovernorRestrictedProposer { proposer })?;
    let threshold = GOVERNOR.proposal_threshold.get(host)?;
    if !threshold.is_zero() {
        let before = clock(host)?.sub(U48::ONE)?;
        let votes = get_votes(host, proposer, U256::from(before))?;
        require(votes >= threshold, sol::GovernorInsufficientProposerVotes { proposer, votes, threshold })?;
    }
    let sol::proposeCall { targets, values, calldatas, .. } = call;
    let proposal = Proposal { targets, values, calldatas, description_hash: host.keccak(&description)? };
    create(host, proposal, description, proposer)
}

/// `_propose(targets, values, calldatas, description, proposer)`
fn create(host: &mut Host<'_>, proposal: Proposal, description: Bytes, proposer: Address) -> Result<U256, Stop> {
    let id = proposal.id(host)?;
    check_lengths(&proposal)?;
    let core = GOVERNOR.proposals.at(host, id)?;
    let known = core.head().get(host)?;
    if !known.vote_start.is_zero() {
        return Err(revert(&unexpected_state(id, state_of(host, id, known)?, 0)));
    }
    let snapshot = U256::from(clock(host)?) + U256::from(GOVERNOR.voting_delay.get(host)?);
    let duration = GOVERNOR.voting_period.get(host)?;
    let head =
        Head { proposer, vote_start: downcast(snapshot)?, vote_duration: duration, executed: false, canceled: false };
    core.head().set(host, head)?;
    emit_created(host, id, proposer, &proposal, snapshot, snapshot + U256::from(duration), description)?;
    GOVERNOR.proposal_ids.push(host, id)?;
    let details = GOVERNOR.proposal_details.at(host, id)?;
    proposal.store(host, details)?;
    Ok(id)
}

fn check_lengths(proposal: &Proposal) -> Result<(), Stop> {
    let lengths = [proposal.targets.len(), proposal.calldatas.len(), proposal.values.len()];
    let [targets, calldatas, values] = lengths.map(U256::from);
    let is_valid = targets == values && targets == calldatas && !targets.is_zero();
    require(is_valid, sol::GovernorInvalidProposalLength { targets, calldatas, values })
}

/// Emits `ProposalCreated`, whose description need not be UTF-8.
fn emit_created(
    host: &mut Host<'_>,
    id: U256,
    proposer: Address,
    proposal: &Proposal,
    start: U256,
    end: U256,
    description: Bytes,
) -> Result<(), Stop> {
    let Proposal { targets, values, calldatas, .. } = proposal.clone();
    let signatures = vec![String::new(); targets.len()];
    let data = (id, proposer, targets, values, signatures, calldatas, start, end, description).abi_encode_params();
    host.log(LogData::new_unchecked(vec![sol::ProposalCreated::SIGNATURE_HASH], data.into()))
}

/// Returns whether a description leaves it to an account to propose it (`_isValidDescriptionForProposer`): one that ends with
/// `#proposer=` and an address does so to that account alone, so that nobody else takes the id first.
pub(super) fn may_propose(account: Address, description: &[u8]) -> bool {
    let Some((before, address)) = description.split_last_chunk::<PROPOSER_BYTES>() else { return true };
    if !before.ends_with(PROPOSER_MARKER) {
        return true;
    }
    let digits = address.strip_prefix(b"0x").filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    // What is no address is part of the description.
    digits.is_none_or(|digits| hex::decode(digits).is_ok_and(|bytes| bytes == account.as_slice()))
}

pub(super) fn queue(host: &mut Host<'_>, proposal: &Proposal) -> Result<U256, Stop> {
    let id = proposal.id(host)?;
    expect_state(host, id, &[ProposalState::Succeeded])?;
    let eta = downcast(proposal.operation().schedule(host, id)?)?;
    // Zero stands for a proposal that is not queued.
    require(!eta.is_zero(), sol::GovernorProposalQueueingFailed { proposalId: id })?;
    GOVERNOR.proposals.at(host, id)?.eta_seconds.overwrite(host, eta)?;
    host.emit(&sol::ProposalQueued { proposalId: id, etaSeconds: U256::from(eta) })?;
    Ok(id)
}

pub(super) fn execute(host: &mut Host<'_>, proposal: &Proposal) -> Result<U256, Stop> {
    let id = proposal.id(host)?;
    let head = expect_state(host, id, &[ProposalState::Queued])?;
    // Before the calls, which may come back.
    GOVERNOR.proposals.at(host, id)?.head().set(host, Head { executed: true, ..head })?;
    let (governor, executor) = (host.address(), GOVERNOR.timelock.get(host)?);
    if !is_self(host, executor) {
        for (_, data) in proposal.targets.iter().zip(&proposal.calldatas).filter(|(target, _)| **target == governor) {
            let call = host.keccak(data)?;
            GOVERNOR.governance_call.push_back(host, call)?;
        }
    }
    proposal.operation().execute(host, id)?;
    // A proposal may have set another timelock.
    let executor = GOVERNOR.timelock.get(host)?;
    if !is_self(host, executor) && !GOVERNOR.governance_call.is_empty(host)? {
        GOVERNOR.governance_call.clear(host)?;
    }
    host.emit(&sol::ProposalExecuted { proposalId: id })?;
    Ok(id)
}

/// Cancels a proposal that the governor knows (`cancel` by id).
pub(super) fn cancel_known(host: &mut Host<'_>, id: U256) -> Result<(), Stop> {
    known_details(host, id)?;
    cancel(host, id).map(drop)
}

/// Cancels a proposal before its vote starts, for its proposer. It is not queued yet, so that the timelock knows nothing of it.
pub(super) fn cancel(host: &mut Host<'_>, id: U256) -> Result<U256, Stop> {
    let account = host.caller();
    let (head, state) = head_and_state(host, id)?;
    let is_allowed = state == ProposalState::Pending && head.proposer == account;
    require(is_allowed, sol::GovernorUnableToCancel { proposalId: id, account })?;
    GOVERNOR.proposals.at(host, id)?.head().set(host, Head { canceled: true, ..head })?;
    host.emit(&sol::ProposalCanceled { proposalId: id })?;
    Ok(id)
}
