//! Operators of a run: changes of validators during the phase with faults.
//!
//! | protocol | commands |
//! |---|---|
//! | proof of authority | signers vote about the last of them, the candidate and a stranger |
//! | Raft | leadership is handed on; the candidate and the last voter become voters, learners, or nothing, alone or together |
//! | with stake | candidates join with stake and exit again, by transactions; where everybody moves, who is in jail returns when its time is over; where keys rotate, validators hand sealing on to replicas that never joined |
//!
//! No command removes what a protocol needs to tolerate the faults of its campaign: of the first validators none exits where some
//! may misbehave, and of Raft's voters only the last one does. Where everybody moves, nobody misbehaves: any replica is chosen, and
//! commands leave [`LEFT_MIN`] validators.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    consensus::{
        Admin, MembershipChange, ReplicaId,
        raft::{Assignment, Change, Role},
    },
    primitives::{Address, KeyPair, U256, ether},
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
    system::staking::{ValidatorStatus, prove_sealing_key},
};

/// Validators that commands leave at least where everybody moves.
const LEFT_MIN: usize = 4;

/// Pairs of replicas of which a rotation is tried.
const ROTATION_TRIES: usize = 4;

/// Source of operators' commands.
#[derive(Debug)]
pub(super) struct Operators {
    seed: u64,
    validators: u32,
    candidates: u32,
    /// Whether validators of genesis move, too.
    all_move: bool,
    /// Whether operators replace their sealing keys by those of other replicas.
    rotates_keys: bool,
    /// Keys of the replicas that have changed their stake.
    keys: BTreeMap<u32, KeyPair>,
    rng: SimRng,
}

impl Operators {
    /// Creates operators of `validators` validators, and of the candidates that follow them; with `all_move` also validators leave and
    /// join.
    pub(crate) fn new(seed: u64, validators: u32, candidates: u32, all_move: bool) -> Self {
        let rng = Streams::new(seed).stream("votes");
        Self { seed, validators, candidates, all_move, rotates_keys: false, keys: BTreeMap::new(), rng }
    }

    /// Lets operators on chains with stake replace their sealing keys, too.
    pub(super) const fn with_rotations(mut self, rotates_keys: bool) -> Self {
        self.rotates_keys = rotates_keys;
        self
    }

    /// Issues a random command, or none.
    pub(crate) fn act(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        let change = network.config().info().membership_change;
        if self.all_move && change == MembershipChange::Stake {
            self.unjail(network, oracle)?;
        }
        match change {
            MembershipChange::SignerVotes => self.vote(network),
            _ if self.candidates == 0 || self.rng.below(2) == 0 => Ok(()),
            MembershipChange::LeaderProposal => self.change_members(network),
            MembershipChange::Stake if self.rotates_keys && self.rng.below(2) == 0 => self.rotate_key(network, oracle),
            MembershipChange::Stake => self.change_stake(network, oracle),
        }
    }

    /// Lets operators of proof of authority vote about the last validator, the candidate, or an unknown address.
    fn vote(&mut self, network: &mut Network) -> Result<(), NetworkError> {
        // The last validator, an address that never seals, or the candidate.
        let target = match self.rng.below(if self.candidates == 0 { 2 } else { 3 }) {
            1 => Address::repeat_byte(0x57),
            _ if self.all_move => {
                let (number, _) = self.movers();
                self.address(network, number)
            }
            0 => self.address(network, self.validators - 1),
            _ => self.address(network, self.validators),
        };
        let signers = network.replicas().iter().map(|replica| replica.validators().len()).min();
        let must_grow = self.all_move && signers.is_some_and(|signers| signers <= LEFT_MIN);
        let authorize = self.rng.below(2) == 0 || must_grow;
        let voters = if self.all_move { self.validators + self.candidates } else { self.validators };
        for number in 0..voters {
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
        let (candidate, last) = self.movers();
        let voters = network.replica(leader)?.validators().len();
        let may_shrink = !self.all_move || voters > LEFT_MIN;
        let command = match self.rng.below(5) {
            0 => Admin::TransferLeader { to: ReplicaId::new(self.rng.below(u64::from(candidate) + 1) as u32) },
            1 => {
                let role = if may_shrink { Role::Removed } else { Role::Voter };
                Admin::ChangeMembers(Change::Simple(vec![self.assign(network, candidate, role)]))
            }
            2 => {
                let role = self.role(may_shrink);
                Admin::ChangeMembers(Change::Simple(vec![self.assign(network, candidate, role)]))
            }
            3 => {
                let role = self.role(may_shrink);
                Admin::ChangeMembers(Change::Simple(vec![self.assign(network, last, role)]))
            }
            _ => {
                let roles = [self.role(may_shrink), self.role(may_shrink)];
                let assignments = vec![self.assign(network, candidate, roles[0]), self.assign(network, last, roles[1])];
                Admin::ChangeMembers(Change::EnterJoint { assignments, auto_leave: true })
            }
        };
        refused_or_done(network.admin(command, leader))
    }

    fn role(&mut self, may_shrink: bool) -> Role {
        if self.rng.below(3) == 0 && may_shrink { Role::Learner } else { Role::Voter }
    }

    /// Returns the numbers of two replicas to join or leave: the candidate and the last validator, or any two where everybody moves.
    fn movers(&mut self) -> (u32, u32) {
        if !self.all_move {
            return (self.validators, self.validators - 1);
        }
        let all = u64::from(self.validators + self.candidates);
        let first = self.rng.below(all);
        let second = (first + 1 + self.rng.below(all - 1)) % all;
        (first as u32, second as u32)
    }

    fn assign(&self, network: &Network, number: u32, role: Role) -> Assignment {
        Assignment { replica: ReplicaId::new(number), address: self.address(network, number), role }
    }

    /// Lets a candidate join, or exit if it has joined; where everybody moves, a validator, too.
    fn change_stake(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        let number = match self.all_move {
            true => self.movers().0,
            false => self.validators + self.rng.below(self.candidates.into()) as u32,
        };
        let key = &*self.keys.entry(number).or_insert_with(|| NetworkBuilder::validator_key(self.seed, number));
        let Some(replica) = network.replicas().get(number as usize) else { return Ok(()) };
        let (id, chain) = (replica.id(), replica.chain());
        let record = chain.staked_validator(chain.head(), key.address()).ok();
        let is_in = record.as_ref().is_some_and(|record| record.status == ValidatorStatus::Bonded);
        if is_in && self.all_move {
            let records = chain.staked_validators(chain.head()).unwrap_or_default();
            let bonded = records.iter().filter(|record| record.status == ValidatorStatus::Bonded).count();
            if bonded <= LEFT_MIN {
                return Ok(());
            }
        }
        // Whoever is back has what it has not withdrawn: with more each time a liar would soon have a third.
        let own = record.and_then(|record| record.stake).map_or(U256::ZERO, |stake| stake.self_stake);
        let join = ValidatorAction::Join { stake: ether(32).saturating_sub(own), commission_bps: 500 };
        let action = if is_in { ValidatorAction::Exit } else { join };
        submit(network, oracle, key, &action, id).map(drop)
    }

    /// Lets validators whose time in jail is over return.
    fn unjail(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        for number in 0..self.validators + self.candidates {
            let key = &*self.keys.entry(number).or_insert_with(|| NetworkBuilder::validator_key(self.seed, number));
            let Some(replica) = network.replicas().get(number as usize) else { return Ok(()) };
            let (id, chain) = (replica.id(), replica.chain());
            let Ok(record) = chain.staked_validator(chain.head(), key.address()) else { continue };
            let until = record.stake.and_then(|stake| stake.jailed_until);
            if record.status == ValidatorStatus::Jailed && until.is_some_and(|until| until <= chain.head().timestamp())
            {
                submit(network, oracle, key, &ValidatorAction::Unjail, id)?;
            }
        }
        Ok(())
    }

    /// Hands the sealing of a validator on to another replica, whose key becomes the validator's. The contract refuses it where that
    /// replica validates itself, or seals or sealed for another: then others are tried.
    fn rotate_key(&mut self, network: &mut Network, oracle: &mut Oracle) -> Result<(), NetworkError> {
        for _ in 0..ROTATION_TRIES {
            let (from, to) = self.movers();
            let [actor, key] = [from, to].map(|number| NetworkBuilder::validator_key(self.seed, number));
            let Some(replica) = network.replicas().get(from as usize) else { return Ok(()) };
            let (id, chain_id) = (replica.id(), replica.chain().spec().chain_id);
            let proof = prove_sealing_key(chain_id, actor.address(), &key);
            let action = ValidatorAction::SetSealingKey { key: key.address(), proof };
            if submit(network, oracle, &actor, &action, id)? {
                break;
            }
        }
        Ok(())
    }

    fn address(&self, network: &Network, number: u32) -> Address {
        network.replicas().get(number as usize).and_then(Replica::address).unwrap_or_default()
    }
}

/// Submits an operator's transaction; returns `false` if the contract refuses it in the state that the operator's replica has.
fn submit(
    network: &mut Network,
    oracle: &mut Oracle,
    actor: &KeyPair,
    action: &ValidatorAction,
    replica: ReplicaId,
) -> Result<bool, NetworkError> {
    let Ok(transaction) = network.validator_transaction(actor, action) else { return Ok(false) };
    oracle.submitted(&transaction);
    match network.submit(Arc::new(transaction), replica) {
        Ok(_) | Err(NetworkError::Pool(_) | NetworkError::Down { .. }) => Ok(true),
        Err(error) => Err(error),
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
