//! Governance: proposals on which the chain's validators vote, as one native contract at [`GOVERNANCE_ADDRESS`], deployed in genesis where the
//! specification has `governance`. The Cosmos SDK's `x/gov` is the model, its `x/upgrade` that of upgrades.
//!
//! - Whoever has weight proposes one [`ProposalAction`]: a change of the chain's parameters, a validator in or out, a module on or off, an
//!   upgrade at a height, a text. What could not be executed as the chain is now is refused at once.
//! - Votes count by the weights at the end of the block before the proposal's: stake in gwei, or one a validator where there is no stake
//!   (the weights of the validators contract, or the list in genesis). Delegators do not vote: the validator votes with its pool. (The Cosmos
//!   SDK lets them override.) A vote may use a part of one's weight, and replaces an earlier one whole.
//! - The period ends in chain time. The first block at or after it begins with the system call [`end_voting`], which counts and executes, each
//!   action in a frame of its own: one that fails undoes itself alone, and its revert data is kept. At most [`FINAL_PER_BLOCK`] proposals end
//!   in a block; later ones wait for the next.
//! - Quorum, veto and threshold are in thousandths and compared exactly: see [`VotingRules::outcome`]. What becomes of a proposal is
//!   [`ProposalState`].

mod action;
mod execution;
pub mod interface;
mod layout;
mod outcome;
mod power;
mod proposing;
mod queue;
mod record;
mod spec;
mod state;
#[cfg(test)]
mod tests;
mod views;
mod voting;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, Bytes};
use alloy_sol_types::{SolCall, SolConstructor};

use self::{
    interface::Governance::{self, GovernanceCalls as Calls},
    layout::{GOVERNANCE, Settings},
};
use super::call::SystemCall;
use crate::vm::{
    Host, Marker, Stop, Template, TemplateId,
    abi::{self, NONE_PAYABLE, Returns},
    storage::StorageLayout,
};

pub use super::address::{GOVERNANCE_ADDRESS, VALIDATORS_ADDRESS};
pub use action::{ProposalAction, ProposalKind};
pub use execution::{EXECUTION_GAS, FAILURE_BYTES_MAX, FINAL_PER_BLOCK};
pub use outcome::{Tally, VoteOption, VotingRules};
pub use proposing::{DESCRIPTION_BYTES_MAX, INFO_BYTES_MAX, NAME_BYTES_MAX, TITLE_BYTES_MAX};
pub use record::{ProposalRecord, UpgradePlan, VoteRecord};
pub use spec::{GovernanceSpec, GovernanceSpecError, OPEN_MAX, PERIOD_SECS_MAX};
pub use state::{ProposalEvent, ProposalState};
pub use views::PAGE_MAX;
pub use voting::REASON_BYTES_MAX;

/// The template `governance`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct GovernanceTemplate;

impl GovernanceTemplate {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(0x7004, 1);
    /// Name of the template.
    pub const NAME: &'static str = "governance";

    /// Returns the init code of the contract. `voters` are the validators of a chain without stake, `None` of one with stake.
    pub fn init_code(spec: &GovernanceSpec, voters: Option<Vec<Address>>) -> Bytes {
        let settings = spec.settings(voters.is_none());
        let call = Governance::constructorCall { settings, voters: voters.unwrap_or_default() };
        Marker(Self::ID).init_code(&call.abi_encode())
    }
}

impl Template for GovernanceTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Proposals and votes of a chain's validators"
    }

    fn abi(&self) -> JsonAbi {
        Governance::abi::contract()
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<layout::GovernanceStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("governance/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let call: Governance::constructorCall = host.decode_constructor(params)?;
        let checked = GovernanceSpec::from(&call.settings).check();
        checked.map_err(|error| abi::revert_with(&error.to_string()))?;
        GOVERNANCE.settings.set(host, Settings::from(&call.settings))?;
        power::set_voters(host, &call.voters)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let call = host.decode_call(input, NONE_PAYABLE)?;
        dispatch(host, call)
    }
}

#[rustfmt::skip] // one function a line
fn dispatch(host: &mut Host<'_>, call: Calls) -> Result<Bytes, Stop> {
    match call {
        Calls::proposeParameterChange(call) => call.returns(proposing::propose_changes(host, &call)?),
        Calls::proposeValidatorAdd(call) => call.returns(proposing::propose(host, &call.terms, (&call).into())?),
        Calls::proposeValidatorRemove(call) => call.returns(proposing::propose(host, &call.terms, (&call).into())?),
        Calls::proposeModuleEnable(call) => call.returns(proposing::propose(host, &call.terms, (&call).into())?),
        Calls::proposeModuleDisable(call) => call.returns(proposing::propose(host, &call.terms, (&call).into())?),
        Calls::proposeUpgrade(call) => call.returns(proposing::propose(host, &call.terms, (&call).into())?),
        Calls::proposeText(call) => call.returns(proposing::propose(host, &call.terms, (&call).into())?),
        Calls::cancel(call) => call.returns(proposing::cancel(host, call.id)?),
        Calls::vote(call) => call.returns(voting::vote(host, &call)?),
        Calls::endVoting(call) => call.returns(execution::end_voting(host)?),
        Calls::proposalCount(call) => call.returns(views::proposal_count(host)?),
        Calls::proposal(call) => call.returns(views::proposal(host, call.id)?),
        Calls::proposals(call) => call.returns(views::proposals(host, call.from, call.count)?),
        Calls::openProposals(call) => call.returns(views::open_proposals(host)?),
        Calls::state(call) => call.returns(views::state(host, call.id)?),
        Calls::tally(call) => call.returns(views::tally(host, call.id)?),
        Calls::voteOf(call) => call.returns(views::vote_of(host, call.id, call.voter)?),
        Calls::powerOf(call) => call.returns(views::power_of(host, call.id, call.voter)?),
        Calls::settings(call) => call.returns(views::settings(host)?),
        Calls::upgradePlan(call) => call.returns(views::upgrade_plan(host)?),
    }
}

/// Ends the voting on proposals whose period is over, executes those that passed, and announces an upgrade whose height this is.
///
/// The chain itself makes the call at the start of every block, after the protocol's.
pub fn end_voting() -> SystemCall {
    SystemCall { to: GOVERNANCE_ADDRESS, input: interface::endVotingCall {}.abi_encode().into() }
}
