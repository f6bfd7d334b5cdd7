//! Operators of a run: changes of validators during the phase with faults.
//!
//! | protocol | commands |
//! |---|---|
//! | proof of authority | signers vote about the last of them, the candidate and a stranger |
//! | Raft | leadership is handed on; the candidate and the last voter become voters, learners, or nothing, alone or together |
//! | with stake | candidates join with stake and exit again, by transactions |
//!
//! No command removes what a protocol needs to tolerate the faults of its campaign: of the first validators none exits where some
//! may misbehave, and of Raft's voters only the last one does.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    consensus::{
        Admin, MembershipChange, ReplicaId,
        raft::{Assignment, Change, Role},
    },
    primitives::{Address, KeyPair, ether},
    sim::{
        check::oracle::Oracle,
        engine::rng::{SimRng, Streams},
        network::{
            Network,
            builder::NetworkBuilder,
            error::NetworkError,
            replica::{Replica, process::ProcessState},
            validator_action::ValidatorAction,
        },
    },
    system::staking::ValidatorStatus,
};

/// Source of operators' commands.
#[derive(Debug)]
pub(super) struct Operators {
    seed: u64,
    validators: u32,
    candidates: u32,
    /// Keys of the candidates that have changed their stake.
    keys: BTreeMap<u32, KeyPair>,
    rng: SimRng,
}

impl Operators {
    /// Creates operators of `validators` validators, and of the candidates that follow them.
    pub(crate) fn new(seed: u64, validators: u32, candidates: u32) -> Self {
        Self { seed, validators, candidates, keys: BTreeMap::new(), rng: Streams::new(seed).stream("votes") }
    }

    /// Issues a random command, or none.
    pub(crate) fn act(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        match network.config().info().membership_change {
            MembershipChange::SignerVotes => self.vote(network),
            _ if self.candidates == 0 || self.rng.below(2) == 0 => Ok(()),
            MembershipChange::LeaderProposal => self.change_members(network),
            MembershipChange::Stake => self.change_stake(network, oracle),
        }
    }

    /// Lets operators of proof of authority vote about the last validator, the candidate, or an unknown address.
    fn vote(&mut self, network: &mut Network) -> Result<(), NetworkError> {
        // The last validator, an address that never seals, or the candidate.
        let target = match self.rng.below(if self.candidates == 0 { 2 } else { 3 }) {
            0 => self.address(network, self.validators - 1),
            1 => Address::repeat_byte(0x57),
            _ => self.address(network, self.validators),
        };
        let authorize = self.rng.below(2) == 0;
        for number in 0..self.validators {
            if self.rng.below(4) == 0 {
                continue;
            }
            refused_or_done(network.admin(Admin::Vote { target, authorize }, ReplicaId::new(number)))?;
        }
        Ok(())
    }

    /// Asks the replica that leads in the newest term for another leader or other members.
    fn change_members(&mut self, network: &mut Network) -> Result<(), NetworkError> {
        let Some(leader) = leader(network) else { return Ok(()) };
        let (candidate, last) = (self.validators, self.validators - 1);
        let command = match self.rng.below(5) {
            0 => Admin::TransferLeader { to: ReplicaId::new(self.rng.below(u64::from(candidate) + 1) as u32) },
            1 => Admin::ChangeMembers(Change::Simple(vec![self.assign(network, candidate, Role::Removed)])),
            2 => {
                let role = self.role();
                Admin::ChangeMembers(Change::Simple(vec![self.assign(network, candidate, role)]))
            }
            3 => {
                let role = self.role();
                Admin::ChangeMembers(Change::Simple(vec![self.assign(network, last, role)]))
            }
            _ => {
                let roles = [self.role(), self.role()];
                let assignments = vec![self.assign(network, candidate, roles[0]), self.assign(network, last, roles[1])];
                Admin::ChangeMembers(Change::EnterJoint { assignments, auto_leave: true })
            }
        };
        refused_or_done(network.admin(command, leader))
    }

    fn role(&mut self) -> Role {
        if self.rng.below(3) == 0 { Role::Learner } else { Role::Voter }
    }

    fn assign(&self, network: &Network, number: u32, role: Role) -> Assignment {
        Assignment { replica: ReplicaId::new(number), address: self.address(network, number), role }
    }

    /// Lets a candidate join, or exit if it has joined.
    fn change_stake(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        let number = self.validators + self.rng.below(self.candidates.into()) as u32;
        let key = &*self.keys.entry(number).or_insert_with(|| NetworkBuilder::validator_key(self.seed, number));
        let Some(replica) = network.replicas().get(number as usize) else { return Ok(()) };
        let (id, chain) = (replica.id(), replica.chain());
        let record = chain.staked_validator(chain.head(), key.address()).ok();
        let is_in = record.is_some_and(|record| record.status == ValidatorStatus::Bonded);
        let action =
            if is_in { ValidatorAction::Exit } else { ValidatorAction::Join { stake: ether(32), commission_bps: 500 } };
        // The contract may refuse it in the state that this replica has.
        let Ok(transaction) = network.validator_transaction(key, &action) else { return Ok(()) };
        oracle.submitted(&transaction);
        match network.submit(Arc::new(transaction), id) {
            Ok(_) | Err(NetworkError::Pool(_) | NetworkError::Down { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn address(&self, network: &Network, number: u32) -> Address {
        network.replicas().get(number as usize).and_then(Replica::address).unwrap_or_default()
    }
}

/// Returns the running replica that leads in the newest term.
pub(crate) fn leader(network: &Network) -> Option<ReplicaId> {
    let running = network.replicas().iter().filter(|replica| replica.process() == ProcessState::Running);
    let leaders = running.filter_map(|replica| Some((replica.protocol().leading_term()?, replica.id())));
    leaders.max().map(|(_, id)| id)
}

fn refused_or_done(outcome: Result<(), NetworkError>) -> Result<(), NetworkError> {
    match outcome {
        Err(NetworkError::Refused(_) | NetworkError::Down { .. }) => Ok(()),
        other => other,
    }
}
