//! Raft's fixture: elections, blocks and links as tests need them, and the invariants of the paper after every step.

use core::time::Duration;
use std::collections::BTreeMap;

use super::super::*;
use crate::{
    consensus::{
        ChainEvent,
        testing::{self, Content, Envelope, Fixture, genesis},
    },
    primitives::{Address, B256, KeyPair},
};

pub(super) type Cluster = testing::Lab<RaftFixture>;

#[derive(Clone, Debug)]
pub(super) struct RaftFixture {
    pub(super) config: RaftConfig,
    first: Membership,
    /// The leader of each term.
    leaders: BTreeMap<u64, usize>,
    /// Every entry that a replica had committed: its term and block, and the highest term of any replica by then.
    committed: BTreeMap<u64, (u64, Option<B256>, u64)>,
}

pub(super) fn id(number: usize) -> ReplicaId {
    ReplicaId::new(number as u32)
}

impl Fixture for RaftFixture {
    const CHECKS_STEPS: bool = true;
    const FETCHES_AT_ONCE: bool = false;
    type Protocol = Raft;

    fn recover(cluster: &Cluster, number: usize, records: &Records) -> Raft {
        let root = (BlockId::of(&cluster.genesis), cluster.genesis.timestamp());
        let RaftFixture { config, first, .. } = cluster.fixture.clone();
        let signer = Some(cluster.signers[number].clone());
        Raft::recover(config, root, first, records, cluster.authenticator.clone(), signer).unwrap()
    }

    fn on_send(_: &mut Cluster, _: usize, to: Recipients, message: &ConsensusMessage) {
        assert!(matches!((to, message), (Recipients::One(_), ConsensusMessage::Raft(_))), "unexpected {message:?}");
    }

    fn after_step(cluster: &mut Cluster, _: usize) {
        assert!(cluster.evidence.is_empty(), "crash faults leave no evidence");
        cluster.check_invariants();
    }
}

/// A Raft message from one replica to another.
pub(super) fn envelope(from: ReplicaId, to: ReplicaId, message: RaftMessage) -> Envelope {
    Envelope::message(from, to, ConsensusMessage::Raft(message))
}

/// The Raft message in an envelope; none for a block.
pub(super) fn raft_message(envelope: &Envelope) -> Option<&RaftMessage> {
    match &envelope.content {
        Content::Message(ConsensusMessage::Raft(message)) => Some(message),
        _ => None,
    }
}

impl Cluster {
    /// `voters` voters and, after them, `strangers` replicas outside the membership.
    pub(super) fn new(voters: usize, strangers: usize) -> Self {
        Self::with_config(voters, strangers, RaftConfig::default().with_period(Duration::ZERO))
    }

    pub(super) fn with_config(voters: usize, strangers: usize, config: RaftConfig) -> Self {
        let authenticator = Authenticator::symbolic(7);
        let first = Membership::new((0..voters).map(|number| (id(number), address(number))), []);
        let signers = (0..voters + strangers).map(|number| authenticator.signer(&key(number))).collect();
        let fixture = RaftFixture { config, first, leaders: BTreeMap::new(), committed: BTreeMap::new() };
        Self::assemble(fixture, genesis(0), authenticator, signers)
    }

    /// The reads that a replica reported as ready, with the head of each.
    pub(super) fn reads(&self, number: usize) -> Vec<(u64, BlockId)> {
        let events = self.nodes[number].chain_events.iter();
        let reads = events.filter_map(|event| match event {
            ChainEvent::ReadReady { request, block } => Some((*request, *block)),
            _ => None,
        });
        reads.collect()
    }

    /// The reads that a replica reported as aborted.
    pub(super) fn aborted_reads(&self, number: usize) -> Vec<u64> {
        let events = self.nodes[number].chain_events.iter();
        let aborted = events.filter_map(|event| match event {
            ChainEvent::ReadAborted { request } => Some(*request),
            _ => None,
        });
        aborted.collect()
    }

    /// Links these replicas with each other only.
    pub(super) fn only(&mut self, group: &[usize]) {
        self.heal();
        for number in (0..self.nodes.len()).filter(|number| !group.contains(number)) {
            self.isolate(number);
        }
    }

    /// Fires a replica's timer of the minimum election timeout: its leader's lease has expired.
    pub(super) fn lose_lease(&mut self, number: usize) {
        if self.replica(number).election_timeout == ElectionTimeout::Lease {
            self.deliver(number, Event::Timer(ELECTION_TIMER));
        }
    }

    /// Fires a replica's election timeout after the leases of the others have expired.
    pub(super) fn elect(&mut self, number: usize) {
        for other in 0..self.nodes.len() {
            if self.nodes[other].is_up && !self.replica(other).is_leader() {
                self.lose_lease(other);
            }
        }
        self.stand(number);
        self.settle();
    }

    /// Fires a replica's election timeout in either of its two phases; nothing is delivered.
    pub(super) fn stand(&mut self, number: usize) {
        let standing = |cluster: &Self| cluster.nodes[number].marks.get("raft/pre-vote").copied().unwrap_or_default();
        let before = standing(self);
        for _ in 0..3 {
            if standing(self) == before {
                self.deliver(number, Event::Timer(ELECTION_TIMER));
            }
        }
    }

    pub(super) fn beat(&mut self, number: usize) {
        self.deliver(number, Event::Timer(HEARTBEAT_TIMER));
        self.settle();
    }

    /// Builds the block that a leader requested; nothing is delivered.
    pub(super) fn build(&mut self, number: usize) -> BlockId {
        self.complete_build(number).expect("a block is wanted")
    }

    /// Builds a block and delivers all messages.
    pub(super) fn produce(&mut self, number: usize) -> BlockId {
        let block = self.build(number);
        self.settle();
        block
    }

    pub(super) fn assign(&self, number: usize, role: Role) -> Assignment {
        Assignment { replica: id(number), address: address(number), role }
    }

    pub(super) fn terms(&self, number: usize) -> Vec<u64> {
        let raft = self.replica(number);
        (raft.compacted_index() + 1..=raft.last_index()).map(|index| raft.entry(index).unwrap().term).collect()
    }

    fn check_invariants(&mut self) {
        let highest_term = self.nodes.iter().map(|node| node.protocol.term).max().unwrap();
        for (number, node) in (0..).zip(&self.nodes) {
            let raft = &node.protocol;
            if raft.is_leader() {
                let first = *self.fixture.leaders.entry(raft.term).or_insert(number);
                assert_eq!(first, number, "election safety: two leaders of term {}", raft.term);
            }
            for index in raft.compacted_index() + 1..=raft.committed_index() {
                let entry = raft.entry(index).unwrap();
                let is = (entry.term, entry.block.as_ref().map(|block| block.hash()));
                let known = *self.fixture.committed.entry(index).or_insert((is.0, is.1, highest_term));
                assert_eq!((known.0, known.1), is, "state-machine safety: entry {index} of replica {number}");
            }
        }
        for node in self.nodes.iter().filter(|node| node.protocol.is_leader()) {
            for (index, (term, _, by)) in &self.fixture.committed {
                if node.protocol.term > *by && *index > node.protocol.compacted_index() {
                    let own = node.protocol.log.term(*index);
                    assert_eq!(own, Some(*term), "leader completeness: entry {index}, term {}", node.protocol.term);
                }
            }
        }
        for (one, other) in self.nodes.iter().flat_map(|one| self.nodes.iter().map(move |other| (one, other))) {
            let (one, other) = (&one.protocol, &other.protocol);
            let first = one.compacted_index().max(other.compacted_index()) + 1;
            let common = (first..=one.last_index().min(other.last_index())).rev();
            let mut agreed = false;
            for index in common {
                let (a, b) = (one.entry(index).unwrap(), other.entry(index).unwrap());
                agreed |= a.term == b.term;
                let same = a.term == b.term && a.block.as_ref().map(|x| x.hash()) == b.block.as_ref().map(|x| x.hash());
                assert!(!agreed || same, "log matching: entry {index}");
            }
        }
    }
}

pub(super) fn key(number: usize) -> KeyPair {
    KeyPair::from_seed(number as u64, "raft")
}

pub(super) fn address(number: usize) -> Address {
    key(number).address()
}
