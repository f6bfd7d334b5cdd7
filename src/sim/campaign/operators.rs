//! What operators do during a run: who validates changes while things go wrong.
//!
//! | protocol | wishes |
//! |---|---|
//! | proof of authority | signers vote about the last of them, the candidate and a stranger |
//! | Raft | leadership is handed on; the candidate and the last voter become voters, learners, or nothing, alone or together |
//! | with stake | candidates join with stake and exit again, by transactions |
//!
//! No wish takes away what a protocol needs to bear the faults of its campaign: of the first validators nobody exits where some of
//! them may lie, and of Raft's voters only the last one does.

use std::sync::Arc;

use crate::{
    consensus::{
        Admin, ConsensusKind, Machine, ReplicaId,
        raft::{Assignment, Change, Role},
    },
    primitives::{Address, ether},
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

/// Wishes to come.
#[derive(Debug)]
pub(super) struct Operators {
    seed: u64,
    validators: u32,
    candidates: u32,
    rng: SimRng,
}

impl Operators {
    /// Operators of so many validators, and of candidates whose replicas come next.
    pub(crate) fn new(seed: u64, validators: u32, candidates: u32) -> Self {
        Self { seed, validators, candidates, rng: Streams::new(seed).stream("votes") }
    }

    /// Wishes something, or nothing.
    pub(crate) fn act(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        match network.config().kind() {
            ConsensusKind::Poa => self.vote(network),
            _ if self.candidates == 0 || self.rng.below(2) == 0 => Ok(()),
            ConsensusKind::Raft => self.change_members(network),
            _ => self.change_stake(network, oracle),
        }
    }

    /// Operators of proof of authority change their minds about the last validator and about a stranger.
    fn vote(&mut self, network: &mut Network) -> Result<(), NetworkError> {
        // The last validator, somebody who never seals, or the candidate.
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
        let wish = match self.rng.below(5) {
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
        refused_or_done(network.admin(wish, leader))
    }

    fn role(&mut self) -> Role {
        if self.rng.below(3) == 0 { Role::Learner } else { Role::Voter }
    }

    fn assign(&self, network: &Network, number: u32, role: Role) -> Assignment {
        Assignment { replica: ReplicaId::new(number), address: self.address(network, number), role }
    }

    /// A candidate joins, or one that did exits.
    fn change_stake(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        let number = self.validators + self.rng.below(self.candidates.into()) as u32;
        let key = NetworkBuilder::validator_key(self.seed, number);
        let Some(replica) = network.replicas().get(number as usize) else { return Ok(()) };
        let (id, chain) = (replica.id(), replica.chain());
        let record = chain.staked_validator(chain.head(), key.address()).ok();
        let is_in = record.is_some_and(|record| record.status == ValidatorStatus::Bonded);
        let action =
            if is_in { ValidatorAction::Exit } else { ValidatorAction::Join { stake: ether(32), commission_bps: 500 } };
        // The contract may refuse it in the state that this replica has.
        let Ok(transaction) = network.validator_transaction(&key, &action) else { return Ok(()) };
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

/// The running replica that leads in the newest term.
pub(crate) fn leader(network: &Network) -> Option<ReplicaId> {
    let running = network.replicas().iter().filter(|replica| replica.process() == ProcessState::Running);
    let leaders = running.filter_map(|replica| match replica.protocol() {
        Machine::Raft(raft) if raft.is_leader() => Some((raft.term(), replica.id())),
        _ => None,
    });
    leaders.max().map(|(_, id)| id)
}

fn refused_or_done(outcome: Result<(), NetworkError>) -> Result<(), NetworkError> {
    match outcome {
        Err(NetworkError::Refused(_) | NetworkError::Down { .. }) => Ok(()),
        other => other,
    }
}
