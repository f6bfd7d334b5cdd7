//! The cluster's configuration and its changes: one voter at a time, or any number through a joint configuration
//! (Ongaro's dissertation, chapter 4).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::quorum::{VoteResult, joint_committed, joint_vote};
use crate::{
    consensus::{
        Encoder, ReplicaId, Validator, ValidatorSet,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{Address, Bytes},
};

/// The configuration: voters and learners. Joint while `outgoing` has members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Membership {
    incoming: BTreeSet<ReplicaId>,
    outgoing: BTreeSet<ReplicaId>,
    learners: BTreeSet<ReplicaId>,
    /// Voters of `outgoing` that become learners when the joint configuration is left.
    learners_next: BTreeSet<ReplicaId>,
    auto_leave: bool,
    /// Sealing address of each voter.
    addresses: BTreeMap<ReplicaId, Address>,
    /// Cached encoding, which is part of every head record.
    encoded: Bytes,
}

impl Default for Membership {
    fn default() -> Self {
        Self::new([], [])
    }
}

/// Role of a replica in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Votes, and can become leader.
    Voter,
    /// Receives the log, without a vote.
    Learner,
    /// Not a member.
    Removed,
}

/// One replica's new role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Assignment {
    /// The replica.
    pub replica: ReplicaId,
    /// Its sealing address.
    pub address: Address,
    /// Its new role.
    pub role: Role,
}

/// A configuration change, part of a block's payload and in effect once that block is applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Change {
    /// Adds or removes at most one voter; learners in any number.
    Simple(Vec<Assignment>),
    /// Enters a joint configuration, which adds and removes any number of voters.
    EnterJoint {
        /// The new roles, applied in order.
        assignments: Vec<Assignment>,
        /// Whether the leader's next block leaves the joint configuration.
        auto_leave: bool,
    },
    /// Leaves the joint configuration.
    LeaveJoint,
}

/// Invalid configuration change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// A joint configuration can't be entered from another one.
    #[error("config is already joint")]
    AlreadyJoint,
    /// There is no voter to be joint with.
    #[error("can't make a zero-voter config joint")]
    NoVoters,
    /// There is no joint configuration to leave.
    #[error("can't leave a non-joint config")]
    NotJoint,
    /// A joint configuration has to be left before a simple change.
    #[error("can't apply simple config change in joint config")]
    SimpleWhileJoint,
    /// Majorities before and after might not intersect.
    #[error("more than one voter changed without entering joint config")]
    SeveralVoters,
    /// Without voters nothing could be committed.
    #[error("removed all voters")]
    RemovedAllVoters,
    /// Two voters would seal with one key, so that a block's author would not be known.
    #[error("replicas {first} and {second} would both seal as {address}; give each voter its own address")]
    SharedAddress {
        /// The address.
        address: Address,
        /// The voter with the lower number.
        first: ReplicaId,
        /// The voter with the higher number.
        second: ReplicaId,
    },
    /// A voter has another address than the assignment names.
    #[error("voter {replica} seals as {has}, not as {given}; to change its address, remove it and add it again")]
    OtherAddress {
        /// The voter.
        replica: ReplicaId,
        /// Its address.
        has: Address,
        /// The address in the assignment.
        given: Address,
    },
}

impl Membership {
    /// Creates a configuration of these voters and learners.
    pub fn new(
        voters: impl IntoIterator<Item = (ReplicaId, Address)>,
        learners: impl IntoIterator<Item = ReplicaId>,
    ) -> Self {
        let addresses: BTreeMap<_, _> = voters.into_iter().collect();
        let incoming: BTreeSet<_> = addresses.keys().copied().collect();
        let learners = learners.into_iter().filter(|learner| !incoming.contains(learner)).collect();
        let (outgoing, learners_next) = (BTreeSet::new(), BTreeSet::new());
        let (auto_leave, encoded) = (false, Bytes::new());
        Self { incoming, outgoing, learners, learners_next, auto_leave, addresses, encoded }.with_encoding()
    }

    /// Returns the voters of the incoming (or only) configuration.
    pub const fn incoming(&self) -> &BTreeSet<ReplicaId> {
        &self.incoming
    }

    /// Returns the voters of the outgoing configuration; empty unless joint.
    pub const fn outgoing(&self) -> &BTreeSet<ReplicaId> {
        &self.outgoing
    }

    /// Returns the learners.
    pub const fn learners(&self) -> &BTreeSet<ReplicaId> {
        &self.learners
    }

    /// Returns the outgoing voters that become learners when the joint configuration is left.
    pub const fn learners_next(&self) -> &BTreeSet<ReplicaId> {
        &self.learners_next
    }

    /// Returns whether the configuration is joint.
    pub fn is_joint(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns whether the leader's next block leaves the joint configuration.
    pub const fn auto_leave(&self) -> bool {
        self.auto_leave
    }

    /// Returns whether `replica` is an incoming or outgoing voter.
    pub fn is_voter(&self, replica: ReplicaId) -> bool {
        self.incoming.contains(&replica) || self.outgoing.contains(&replica)
    }

    /// Returns whether `replica` is a voter or a learner.
    pub fn is_member(&self, replica: ReplicaId) -> bool {
        self.is_voter(replica) || self.learners.contains(&replica)
    }

    /// Returns all voters and learners, in order.
    pub fn members(&self) -> BTreeSet<ReplicaId> {
        self.incoming.iter().chain(&self.outgoing).chain(&self.learners).copied().collect()
    }

    /// Returns the voter whose sealing address is `address`.
    pub fn voter_of(&self, address: &Address) -> Option<ReplicaId> {
        let found = self.addresses.iter().find(|(replica, sealer)| *sealer == address && self.is_voter(**replica));
        found.map(|(replica, _)| *replica)
    }

    /// Returns all voters as validators of equal weight, by address.
    pub fn validators(&self) -> ValidatorSet {
        let voters = self.addresses.iter().filter(|(replica, _)| self.is_voter(**replica));
        let addresses: BTreeSet<_> = voters.map(|(_, address)| *address).collect();
        ValidatorSet::from_sorted(addresses.into_iter().map(|address| Validator { address, weight: 1 }).collect())
    }

    /// Returns the index that the majorities have committed; `matched` returns each voter's match index.
    pub fn committed(&self, matched: impl Fn(ReplicaId) -> u64) -> u64 {
        joint_committed(&self.incoming, &self.outgoing, matched)
    }

    /// Returns the result of an election among the voters so far; `vote` returns each voter's vote.
    pub fn vote(&self, vote: impl Fn(ReplicaId) -> Option<bool>) -> VoteResult {
        joint_vote(&self.incoming, &self.outgoing, vote)
    }

    /// Returns the configuration after `change`.
    ///
    /// # Errors
    /// [`ChangeError`] when majorities before and after might not intersect, no voter is left, or an address is not one
    /// voter's alone.
    pub fn after(&self, change: &Change) -> Result<Self, ChangeError> {
        match change {
            Change::Simple(assignments) => self.simple(assignments),
            Change::EnterJoint { assignments, auto_leave } => self.enter_joint(assignments, *auto_leave),
            Change::LeaveJoint => self.leave_joint(),
        }
    }

    /// Returns the configuration with those of `learners` added that are not members yet.
    #[must_use]
    pub fn with_learners(mut self, learners: &[ReplicaId]) -> Self {
        for learner in learners {
            if !self.is_member(*learner) {
                self.learners.insert(*learner);
            }
        }
        self.with_encoding()
    }

    fn simple(&self, assignments: &[Assignment]) -> Result<Self, ChangeError> {
        if self.is_joint() {
            return Err(ChangeError::SimpleWhileJoint);
        }
        let after = self.assign(assignments)?;
        if self.incoming.symmetric_difference(&after.incoming).count() > 1 {
            return Err(ChangeError::SeveralVoters);
        }
        Ok(after)
    }

    fn enter_joint(&self, assignments: &[Assignment], auto_leave: bool) -> Result<Self, ChangeError> {
        if self.is_joint() {
            return Err(ChangeError::AlreadyJoint);
        }
        if self.incoming.is_empty() {
            return Err(ChangeError::NoVoters);
        }
        let joint = Self { outgoing: self.incoming.clone(), auto_leave, ..self.clone() };
        joint.assign(assignments)
    }

    fn leave_joint(&self) -> Result<Self, ChangeError> {
        if !self.is_joint() {
            return Err(ChangeError::NotJoint);
        }
        let mut after = self.clone();
        after.learners.append(&mut after.learners_next);
        after.outgoing.clear();
        after.auto_leave = false;
        after.forget_addresses();
        Ok(after.with_encoding())
    }

    fn assign(&self, assignments: &[Assignment]) -> Result<Self, ChangeError> {
        let mut after = self.clone();
        for Assignment { replica, address, role } in assignments {
            match role {
                Role::Voter => after.make_voter(*replica, *address)?,
                Role::Learner => after.make_learner(*replica),
                Role::Removed => after.remove(*replica),
            }
        }
        if after.incoming.is_empty() {
            return Err(ChangeError::RemovedAllVoters);
        }
        after.forget_addresses();
        after.check_addresses()?;
        Ok(after.with_encoding())
    }

    /// Makes `replica` a voter. An outgoing or incoming voter has its address already.
    fn make_voter(&mut self, replica: ReplicaId, address: Address) -> Result<(), ChangeError> {
        self.learners.remove(&replica);
        self.learners_next.remove(&replica);
        self.incoming.insert(replica);
        let has = *self.addresses.entry(replica).or_insert(address);
        if has == address { Ok(()) } else { Err(ChangeError::OtherAddress { replica, has, given: address }) }
    }

    /// Checks that no two voters have one address.
    fn check_addresses(&self) -> Result<(), ChangeError> {
        let mut holders = BTreeMap::new();
        for (second, address) in &self.addresses {
            if let Some(first) = holders.insert(*address, *second)
                && !mutation::active(Mutation::RaftSharesAddresses)
            {
                return Err(ChangeError::SharedAddress { address: *address, first, second: *second });
            }
        }
        Ok(())
    }

    /// Makes `replica` a learner; an outgoing voter only when the joint configuration is left.
    fn make_learner(&mut self, replica: ReplicaId) {
        self.remove(replica);
        if self.outgoing.contains(&replica) {
            self.learners_next.insert(replica);
        } else {
            self.learners.insert(replica);
        }
    }

    fn remove(&mut self, replica: ReplicaId) {
        self.incoming.remove(&replica);
        self.learners.remove(&replica);
        self.learners_next.remove(&replica);
    }

    fn forget_addresses(&mut self) {
        let (incoming, outgoing) = (&self.incoming, &self.outgoing);
        self.addresses.retain(|replica, _| incoming.contains(replica) || outgoing.contains(replica));
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.raw(&self.encoded);
    }

    fn with_encoding(mut self) -> Self {
        let mut out = Encoder::new();
        self.encode_anew(&mut out);
        self.encoded = out.into_bytes().into();
        self
    }

    fn encode_anew(&self, out: &mut Encoder) {
        let Self { incoming, outgoing, learners, learners_next, auto_leave, addresses, encoded: _ } = self;
        for set in [incoming, outgoing, learners, learners_next] {
            out.list(set.iter(), |out, replica| out.u64(u64::from(replica.get())));
        }
        out.bool(*auto_leave);
        out.list(addresses.iter(), |out, (replica, address)| {
            out.u64(u64::from(replica.get()));
            out.address(address);
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let mut set = || Some(bytes.list(decode_replica)?.into_iter().collect());
        let (incoming, outgoing, learners, learners_next) = (set()?, set()?, set()?, set()?);
        let auto_leave = bytes.bool()?;
        let addresses = bytes.list(|bytes| Some((decode_replica(bytes)?, bytes.address()?)))?.into_iter().collect();
        let encoded = Bytes::new();
        Some(Self { incoming, outgoing, learners, learners_next, auto_leave, addresses, encoded }.with_encoding())
    }
}

fn decode_replica(bytes: &mut Decoder<'_>) -> Option<ReplicaId> {
    Some(ReplicaId::new(u32::try_from(bytes.u64()?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_voter_has_an_address_of_its_own_and_keeps_it() {
        let [first, second, third] = [1, 2, 3].map(ReplicaId::new);
        let at = |byte| Address::repeat_byte(byte);
        let voter = |replica, address| Assignment { replica, address, role: Role::Voter };
        let before = Membership::new([(first, at(1)), (second, at(2))], []);
        let shared = Err(ChangeError::SharedAddress { address: at(2), first: second, second: third });
        assert_eq!(before.after(&Change::Simple(vec![voter(third, at(2))])), shared);
        // Both majorities author while the configuration is joint.
        let leaves = Assignment { role: Role::Removed, ..voter(second, at(2)) };
        let assignments = vec![leaves, voter(third, at(2))];
        assert_eq!(before.after(&Change::EnterJoint { assignments, auto_leave: true }), shared);
        let is_refused = || before.after(&Change::Simple(vec![voter(third, at(2))])).is_err();
        assert!(is_refused() && !mutation::with(Mutation::RaftSharesAddresses, is_refused));
        let moved = Err(ChangeError::OtherAddress { replica: second, has: at(2), given: at(4) });
        assert_eq!(before.after(&Change::Simple(vec![voter(second, at(4))])), moved);
        let after = before.after(&Change::Simple(vec![leaves])).unwrap();
        let after = after.after(&Change::Simple(vec![voter(third, at(2))])).unwrap();
        assert_eq!(after.voter_of(&at(2)), Some(third));
    }

    #[test]
    fn an_encoding_round_trips() {
        let member = |number: u32| (ReplicaId::new(number), Address::repeat_byte(number as u8));
        let leave = |number: u32| Assignment {
            replica: ReplicaId::new(number),
            address: Address::ZERO,
            role: if number == 1 { Role::Learner } else { Role::Removed },
        };
        let before = Membership::new([member(1), member(2), member(3)], [ReplicaId::new(7)]);
        let joint = Change::EnterJoint { assignments: vec![leave(1), leave(2)], auto_leave: true };
        let joint = before.after(&joint).unwrap();
        let mut out = Encoder::new();
        joint.encode(&mut out);
        let mut bytes = Decoder::new(out.as_bytes());
        assert_eq!(Membership::decode(&mut bytes), Some(joint.clone()));
        assert!(bytes.is_empty());
        assert_eq!(joint.validators().len(), 3);
        assert_eq!(joint.after(&Change::LeaveJoint).unwrap().validators().len(), 1);
    }
}
