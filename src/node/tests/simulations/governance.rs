//! Proposals of a governor in all states, and operations of who makes, votes on and executes them.

use alloy_json_abi::Function;
use alloy_sol_types::{SolCall, SolValue};

use super::{
    choices::Choices,
    signed::message,
    world::{VOTING_DELAY, VOTING_PERIOD, World, amount},
};
use crate::{
    primitives::{Address, Bytes, U256},
    templates::{
        erc20::interface as erc20,
        governance_dao::interface::{self as governor, ProposalState},
    },
};

/// Newest proposals, of which one is drawn.
const NEWEST: u64 = 4;

/// In favour.
const FOR: u8 = 1;

impl World {
    /// Gives the accounts votes and the governor's timelock something to govern, and makes proposals in all states.
    pub(super) fn govern(&self) {
        let [token, dao] = ["erc20-token", "governance-dao"].map(|name| self.contract(name).address);
        for account in self.accounts() {
            self.run(*account, token, 0, &erc20::delegateCall { delegatee: *account });
        }
        let timelock = self.read(dao, &governor::timelockCall {}).unwrap();
        self.run(self.owner(), token, 0, &erc20::transferCall { to: timelock, value: amount(100) });
        for function in ["execute", "queue", "castVote", "cancel"] {
            self.advance_proposal(dao, function);
        }
    }

    /// Makes a proposal, as far as a function needs it: pending for `cancel`, active for votes, succeeded for `queue`, queued for `execute`.
    pub(super) fn advance_proposal(&self, dao: Address, function: &str) {
        let is_vote = function.starts_with("castVote");
        if !is_vote && !["cancel", "queue", "execute"].contains(&function) {
            return;
        }
        let (owner, token) = (self.owner(), self.contract("erc20-token").address);
        self.try_run(owner, token, erc20::delegateCall { delegatee: owner }.abi_encode());
        let kind = self.node.view().head().height().get() as usize;
        self.try_run(owner, dao, self.proposal(dao, kind).abi_encode());
        if function == "cancel" {
            return;
        }
        self.node.mine(VOTING_DELAY + 1).unwrap();
        if is_vote {
            return;
        }
        let count = self.read(dao, &governor::proposalCountCall {}).unwrap();
        let newest = self.read(dao, &governor::proposalDetailsAtCall { index: count - U256::ONE }).unwrap();
        let proposal_id = newest.proposalId;
        self.try_run(owner, dao, governor::castVoteCall { proposalId: proposal_id, support: FOR }.abi_encode());
        self.node.mine(VOTING_PERIOD).unwrap();
        if function == "execute" {
            self.try_run(owner, dao, governor::queue_1Call { proposalId: proposal_id }.abi_encode());
        }
    }

    /// Returns a proposal of two calls that only proposals make, and that leave the governor as it is.
    fn proposal(&self, dao: Address, kind: usize) -> governor::proposeCall {
        let friend = self.accounts()[1];
        let timelock = self.read(dao, &governor::timelockCall {}).unwrap();
        let settings = [
            governor::setVotingDelayCall { newVotingDelay: VOTING_DELAY.try_into().unwrap() }.abi_encode(),
            governor::setVotingPeriodCall { newVotingPeriod: VOTING_PERIOD as u32 }.abi_encode(),
            governor::setProposalThresholdCall { newProposalThreshold: U256::ZERO }.abi_encode(),
            governor::updateQuorumNumeratorCall { newQuorumNumerator: amount(4) }.abi_encode(),
            governor::updateTimelockCall { newTimelock: timelock }.abi_encode(),
            governor::relayCall { target: friend, value: U256::ZERO, data: Bytes::new() }.abi_encode(),
        ];
        let setting = settings[kind % settings.len()].clone();
        let transfer = erc20::transferCall { to: friend, value: amount(1) }.abi_encode();
        governor::proposeCall {
            targets: vec![self.contract("erc20-token").address, dao],
            values: vec![U256::ZERO; 2],
            calldatas: vec![transfer.into(), setting.into()],
            description: format!("Proposal {kind} after {}", self.node.view().head().height()),
        }
    }

    /// Returns one of the newest proposals, in a state if there is one.
    fn proposal_in(
        &self,
        dao: Address,
        state: ProposalState,
        choices: &mut Choices,
    ) -> Option<governor::proposalDetailsAtReturn> {
        let count: u64 = self.read(dao, &governor::proposalCountCall {})?.to();
        let newest = (count.saturating_sub(NEWEST)..count).map(amount);
        let all: Vec<_> =
            newest.filter_map(|index| self.read(dao, &governor::proposalDetailsAtCall { index })).collect();
        let is_wanted = |proposal: &&governor::proposalDetailsAtReturn| {
            self.read(dao, &governor::stateCall { proposalId: proposal.proposalId }) == Some(state)
        };
        let wanted: Vec<_> = all.iter().filter(is_wanted).cloned().collect();
        let drawn = if wanted.is_empty() { all } else { wanted };
        if drawn.is_empty() { None } else { Some(choices.one_of(&drawn)) }
    }

    /// Returns the input of a governor's function that is about a proposal that there is. `queue`, `execute` and `cancel` take its id, or all
    /// that it is.
    pub(super) fn governor_input(&self, dao: Address, function: &Function, choices: &mut Choices) -> Option<Vec<u8>> {
        let name = function.name.as_str();
        if name == "propose" {
            return Some(self.proposal(dao, choices.next(100)).abi_encode());
        }
        let state = match name {
            "queue" => ProposalState::Succeeded,
            "execute" => ProposalState::Queued,
            "cancel" => ProposalState::Pending,
            _ if name.starts_with("castVote") => ProposalState::Active,
            _ => return None,
        };
        let proposal = self.proposal_in(dao, state, choices)?;
        if name.starts_with("castVote") {
            return Some(self.ballot(dao, name, proposal.proposalId, choices));
        }
        let arguments = if function.inputs.len() == 1 {
            proposal.proposalId.abi_encode()
        } else {
            (proposal.targets, proposal.values, proposal.calldatas, proposal.descriptionHash).abi_encode_params()
        };
        Some([function.selector().as_slice(), &arguments].concat())
    }

    /// Returns the input of a vote: of the caller, or of the account that signed it.
    fn ballot(&self, dao: Address, name: &str, id: U256, choices: &mut Choices) -> Vec<u8> {
        let (support, voter) = (choices.next(3) as u8, choices.one_of(self.accounts()));
        let (reason, params) = ("for reasons".to_owned(), Bytes::from(vec![7; choices.one_of(&[0, 40])]));
        match name {
            "castVote" => governor::castVoteCall { proposalId: id, support }.abi_encode(),
            "castVoteWithReason" => governor::castVoteWithReasonCall { proposalId: id, support, reason }.abi_encode(),
            "castVoteWithReasonAndParams" => {
                governor::castVoteWithReasonAndParamsCall { proposalId: id, support, reason, params }.abi_encode()
            }
            "castVoteBySig" => {
                let message = message::Ballot { proposalId: id, support, voter, nonce: self.nonce(dao, voter) };
                let signature = self.sign("Gold", dao, voter, &message).to_vec().into();
                governor::castVoteBySigCall { proposalId: id, support, voter, signature }.abi_encode()
            }
            _ => {
                let message = message::ExtendedBallot {
                    proposalId: id,
                    support,
                    voter,
                    nonce: self.nonce(dao, voter),
                    reason: reason.clone(),
                    params: params.clone(),
                };
                let signature = self.sign("Gold", dao, voter, &message).to_vec().into();
                let proposal_id = id;
                governor::castVoteWithReasonAndParamsBySigCall {
                    proposalId: proposal_id,
                    support,
                    voter,
                    reason,
                    params,
                    signature,
                }
                .abi_encode()
            }
        }
    }
}
