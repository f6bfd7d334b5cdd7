//! A cluster of replicas with their disks and the messages between them, stepped explicitly.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::*;
use crate::{
    chain::Block,
    consensus::{BuildRequest, ChainEvent, Record, Verdict},
    primitives::{Address, B256, Bytes, Header, KeyPair},
};

/// One replica with its disk and its outputs.
pub(super) struct Node {
    pub(super) raft: Raft,
    pub(super) records: Records,
    /// Every write, in order.
    pub(super) writes: Vec<Vec<Record>>,
    /// Writes that are not durable yet.
    writing: VecDeque<(Ticket, Vec<Record>)>,
    /// Messages that wait for a write.
    held: VecDeque<(Ticket, ReplicaId, RaftMessage)>,
    pub(super) slow_disk: bool,
    pub(super) wanted: Option<BuildRequest>,
    pub(super) rejections: Vec<Rejection>,
    pub(super) marks: BTreeMap<&'static str, usize>,
    pub(super) reads: Vec<(u64, BlockId)>,
    pub(super) down: bool,
}

pub(super) struct Cluster {
    pub(super) config: RaftConfig,
    authenticator: Authenticator,
    genesis: Arc<Block>,
    first: Membership,
    pub(super) nodes: Vec<Node>,
    pub(super) wire: VecDeque<(ReplicaId, ReplicaId, RaftMessage)>,
    pub(super) fetches: VecDeque<(ReplicaId, ReplicaId, BlockId)>,
    /// Links that lose all messages.
    pub(super) cut: BTreeSet<(u32, u32)>,
    blocks: BTreeMap<B256, Arc<Block>>,
    /// The leader of each term.
    leaders: BTreeMap<u64, ReplicaId>,
    /// Every entry that any replica committed: its term and block, and the highest term of any replica by then.
    committed: BTreeMap<u64, (u64, Option<B256>, u64)>,
}

pub(super) fn id(number: u32) -> ReplicaId {
    ReplicaId::new(number)
}

impl Cluster {
    /// Creates a cluster of `voters` voters and, after them, `non_members` replicas that are not members.
    pub(super) fn new(voters: u32, non_members: u32) -> Self {
        Self::with_config(voters, non_members, RaftConfig::default().with_period(0))
    }

    pub(super) fn with_config(voters: u32, non_members: u32, config: RaftConfig) -> Self {
        let authenticator = Authenticator::symbolic(7);
        let first = Membership::new((0..voters).map(|number| (id(number), address(number))), []);
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        let mut cluster = Self {
            config,
            authenticator,
            genesis,
            first,
            nodes: Vec::new(),
            wire: VecDeque::new(),
            fetches: VecDeque::new(),
            cut: BTreeSet::new(),
            blocks: BTreeMap::new(),
            leaders: BTreeMap::new(),
            committed: BTreeMap::new(),
        };
        for number in 0..voters + non_members {
            let raft = cluster.raft_of(number, &BTreeMap::new());
            cluster.nodes.push(Node {
                raft,
                records: BTreeMap::new(),
                writes: Vec::new(),
                writing: VecDeque::new(),
                held: VecDeque::new(),
                slow_disk: false,
                wanted: None,
                rejections: Vec::new(),
                marks: BTreeMap::new(),
                reads: Vec::new(),
                down: false,
            });
        }
        for number in 0..voters + non_members {
            cluster.step(number, Event::Start);
        }
        cluster
    }

    pub(super) fn raft_of(&self, number: u32, records: &Records) -> Raft {
        let root = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = Some(self.authenticator.signer(&key(number)));
        let (config, first) = (self.config.clone(), self.first.clone());
        Raft::recover(config, root, first, records, self.authenticator.clone(), signer).unwrap()
    }

    pub(super) fn raft(&self, number: u32) -> &Raft {
        &self.nodes[number as usize].raft
    }

    /// Applies one event and its effects, and checks every invariant.
    pub(super) fn step(&mut self, number: u32, event: Event) {
        let mut inbox = VecDeque::from([event]);
        while let Some(event) = inbox.pop_front() {
            let before = self.raft(number).clone();
            let mut twin = before.clone();
            let (mut effects, mut twin_effects) = (Vec::new(), Vec::new());
            self.nodes[number as usize].raft.step(event.clone(), &mut effects);
            twin.step(event, &mut twin_effects);
            assert_eq!(twin, self.nodes[number as usize].raft, "a clone diverged");
            let is_refused = effects.iter().any(|effect| matches!(effect, Effect::Reject(_)));
            let is_quiet = effects.iter().all(|effect| matches!(effect, Effect::Reject(_) | Effect::Mark(_)));
            if is_refused && is_quiet {
                assert_eq!(before, self.nodes[number as usize].raft, "refused input changed the state");
            }
            for effect in effects {
                self.carry_out(number, effect, &mut inbox);
            }
            self.check_invariants();
        }
    }

    fn carry_out(&mut self, number: u32, effect: Effect, inbox: &mut VecDeque<Event>) {
        let node = &mut self.nodes[number as usize];
        match effect {
            Effect::Send { to: Recipients::One(to), message: Message::Raft(message), after } => match after {
                Some(ticket) if node.writing.iter().any(|(writing, _)| *writing >= ticket) => {
                    node.held.push_back((ticket, to, message));
                }
                _ => self.wire.push_back((id(number), to, message)),
            },
            Effect::Persist { ticket, records } => {
                node.writing.push_back((ticket, records));
                if !node.slow_disk {
                    self.flush_into(number, inbox);
                }
            }
            Effect::Build(request) => node.wanted = Some(request),
            Effect::CancelBuild => node.wanted = None,
            Effect::Validate { block } => {
                self.blocks.insert(block.hash(), block.clone());
                inbox.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict: Verdict::VALID });
            }
            // The shortest draw: the election timeout ends one timer later.
            Effect::Draw { ticket, .. } => inbox.push_back(Event::Random { ticket, value: 0 }),
            Effect::Fetch { block, from } => self.fetches.push_back((id(number), from, block)),
            Effect::Reject(rejection) => node.rejections.push(rejection),
            Effect::Mark(name) => *node.marks.entry(name).or_default() += 1,
            Effect::Chain(ChainEvent::ReadReady { request, block }) => node.reads.push((request, block)),
            Effect::ArmTimer { .. } | Effect::DisarmTimer(_) | Effect::Chain(_) => {}
            other => panic!("unexpected effect {other:?}"),
        }
    }

    fn flush_into(&mut self, number: u32, inbox: &mut VecDeque<Event>) {
        let node = &mut self.nodes[number as usize];
        while let Some((ticket, records)) = node.writing.pop_front() {
            node.writes.push(records.clone());
            node.records.extend(records.into_iter().map(|record| (record.key, record.value)));
            inbox.push_back(Event::Persisted(ticket));
            while node.held.front().is_some_and(|(waits_for, ..)| *waits_for <= ticket) {
                let (_, to, message) = node.held.pop_front().unwrap();
                self.wire.push_back((id(number), to, message));
            }
        }
    }

    /// Completes all pending writes.
    pub(super) fn flush(&mut self, number: u32) {
        let mut inbox = VecDeque::new();
        self.flush_into(number, &mut inbox);
        for event in inbox {
            self.step(number, event);
        }
    }

    /// Crashes a replica: drops its pending writes and messages.
    pub(super) fn crash(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        node.down = true;
        node.writing.clear();
        node.held.clear();
        node.wanted = None;
    }

    pub(super) fn restart(&mut self, number: u32) {
        let raft = self.raft_of(number, &self.nodes[number as usize].records);
        let node = &mut self.nodes[number as usize];
        (node.raft, node.down) = (raft, false);
        self.step(number, Event::Start);
    }

    /// Delivers messages and blocks until none is in flight.
    pub(super) fn run(&mut self) {
        for _ in 0..20_000 {
            if let Some((from, to, message)) = self.wire.pop_front() {
                self.deliver(from, to, message);
            } else if let Some((to, from, block)) = self.fetches.pop_front() {
                if self.is_open(to, from) && self.is_open(from, to) {
                    let block = self.blocks[&block.hash].clone();
                    self.step(to.get(), Event::BlockSynced { from, block });
                }
            } else {
                return;
            }
        }
        panic!("messages never end");
    }

    pub(super) fn deliver(&mut self, from: ReplicaId, to: ReplicaId, message: RaftMessage) {
        if self.is_open(from, to) {
            self.step(to.get(), Event::Message { from, message: Message::Raft(message) });
        }
    }

    fn is_open(&self, from: ReplicaId, to: ReplicaId) -> bool {
        !self.cut.contains(&(from.get(), to.get())) && !self.nodes[from.index()].down && !self.nodes[to.index()].down
    }

    /// Cuts a replica off, both ways.
    pub(super) fn isolate(&mut self, number: u32) {
        for other in (0..self.nodes.len() as u32).filter(|other| *other != number) {
            self.cut.extend([(number, other), (other, number)]);
        }
    }

    /// Leaves only the links between the replicas of `group`.
    pub(super) fn only(&mut self, group: &[u32]) {
        self.cut.clear();
        for number in (0..self.nodes.len() as u32).filter(|number| !group.contains(number)) {
            self.isolate(number);
        }
    }

    /// Ends the fixed part of a replica's election timeout, and with it the leader's lease.
    pub(super) fn end_lease(&mut self, number: u32) {
        if self.raft(number).election_timeout == ElectionTimeout::Lease {
            self.step(number, Event::Timer(ELECTION_TIMER));
        }
    }

    /// Ends a replica's election timeout and the others' leases, and delivers all messages.
    pub(super) fn elect(&mut self, number: u32) {
        for other in 0..self.nodes.len() as u32 {
            if !self.nodes[other as usize].down && !self.raft(other).is_leader() {
                self.end_lease(other);
            }
        }
        self.end_election_timeout(number);
        self.run();
    }

    /// Ends a replica's election timeout, whatever its phase; delivers nothing.
    pub(super) fn end_election_timeout(&mut self, number: u32) {
        let pre_votes =
            |cluster: &Self| cluster.nodes[number as usize].marks.get("raft/pre-vote").copied().unwrap_or_default();
        let before = pre_votes(self);
        for _ in 0..3 {
            if pre_votes(self) == before {
                self.step(number, Event::Timer(ELECTION_TIMER));
            }
        }
    }

    pub(super) fn beat(&mut self, number: u32) {
        self.step(number, Event::Timer(HEARTBEAT_TIMER));
        self.run();
    }

    /// Builds the block that a leader requested; delivers nothing.
    pub(super) fn build(&mut self, number: u32) -> BlockId {
        let request = self.nodes[number as usize].wanted.take().expect("a block is wanted");
        let header = Header {
            parent_hash: request.parent.hash,
            number: request.parent.height.get() + 1,
            timestamp: request.timestamp_min.as_secs(),
            beneficiary: request.beneficiary,
            extra_data: Block::extra_data_of(&request.payload).unwrap(),
            ..Header::default()
        };
        let block = Arc::new(Block::new(header, Vec::new(), request.payload.clone(), Vec::new()));
        self.step(number, Event::BlockBuilt { ticket: request.ticket, block: block.clone() });
        BlockId::of(&block)
    }

    /// Builds a block and delivers all messages.
    pub(super) fn produce(&mut self, number: u32) -> BlockId {
        let block = self.build(number);
        self.run();
        block
    }

    pub(super) fn assign(&self, number: u32, role: Role) -> Assignment {
        Assignment { replica: id(number), address: address(number), role }
    }

    pub(super) fn terms(&self, number: u32) -> Vec<u64> {
        let raft = self.raft(number);
        (raft.compacted_index() + 1..=raft.last_index()).map(|index| raft.entry(index).unwrap().term).collect()
    }

    fn check_invariants(&mut self) {
        let highest_term = self.nodes.iter().map(|node| node.raft.term).max().unwrap();
        for (number, node) in (0..).zip(&self.nodes) {
            let raft = &node.raft;
            if raft.is_leader() {
                let first = *self.leaders.entry(raft.term).or_insert(id(number));
                assert_eq!(first, id(number), "election safety: two leaders of term {}", raft.term);
            }
            for index in raft.compacted_index() + 1..=raft.committed_index() {
                let entry = raft.entry(index).unwrap();
                let is = (entry.term, entry.block.as_ref().map(|block| block.hash()));
                let known = *self.committed.entry(index).or_insert((is.0, is.1, highest_term));
                assert_eq!((known.0, known.1), is, "state-machine safety: entry {index} of replica {number}");
            }
        }
        for node in self.nodes.iter().filter(|node| node.raft.is_leader()) {
            for (index, (term, _, by)) in &self.committed {
                if node.raft.term > *by && *index > node.raft.compacted_index() {
                    let own = node.raft.log.term(*index);
                    assert_eq!(own, Some(*term), "leader completeness: entry {index}, term {}", node.raft.term);
                }
            }
        }
        for (one, other) in self.nodes.iter().flat_map(|one| self.nodes.iter().map(move |other| (one, other))) {
            let (one, other) = (&one.raft, &other.raft);
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

pub(super) fn key(number: u32) -> KeyPair {
    KeyPair::from_seed(u64::from(number), "raft")
}

pub(super) fn address(number: u32) -> Address {
    key(number).address()
}
