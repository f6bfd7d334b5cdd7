//! PoS's fixture: slots that a test advances, and blocks, votes and evidence made outside the protocol.

use core::time::Duration;
use std::{collections::BTreeMap, sync::Arc};

use crate::{
    chain::Block,
    consensus::{
        Authenticator, BlockId, BuildRequest, ChainEvent, ConsensusMessage, Event, HeaderChainRules, Protocol, Records,
        ReplicaId, Signer, TimerId, Validator, ValidatorSet,
        pos::{
            ATTEST_TIMER, Checkpoint, HeaderContext, PROPOSE_TIMER, Payload, Pos, PosConfig, PosMessage, Proposal,
            SLOT_TIMER, SlashingEvidence, State, Vote, VoteData,
            reveal::{OwnReveals, mixed},
            tree::state_in,
        },
        testing::{self, Fixture, genesis},
    },
    primitives::{Address, B256, Bytes, Header, KeyPair},
};

pub(super) type Lab = testing::Lab<PosFixture>;

/// Slots of a second, four an epoch.
pub(super) fn config() -> PosConfig {
    PosConfig::default().with_period(Duration::from_secs(1)).with_slots_per_epoch(4).with_leak_quotient(4_096)
}

#[derive(Clone, Debug)]
pub(super) struct PosFixture {
    pub(super) config: PosConfig,
    /// Replicas that are validators at genesis: the first ones.
    validators: usize,
    /// The current slot.
    pub(super) slot: u64,
    /// Distinguishes blocks that are otherwise equal.
    pub(super) salt: u64,
    /// Whether no block is built in time.
    pub(super) is_slow: bool,
    /// The newest final epoch of each replica since its last start.
    finalized: BTreeMap<usize, u64>,
}

impl Fixture for PosFixture {
    type Protocol = Pos;

    fn recover(lab: &Lab, index: usize, records: &Records) -> Pos {
        let (config, signer) = (lab.fixture.config, Some(lab.signers[index].clone()));
        Pos::recover(config, &lab.genesis, &lab.genesis_set(), records, lab.authenticator.clone(), signer).unwrap()
    }

    fn start(lab: &Lab, index: usize) -> Pos {
        let (config, signer) = (lab.fixture.config, Some(lab.signers[index].clone()));
        Pos::new(config, &lab.genesis, &lab.first_set(), lab.authenticator.clone(), signer).unwrap()
    }

    fn build(lab: &mut Lab, index: usize, request: &BuildRequest) -> Option<Block> {
        if lab.fixture.is_slow {
            return None;
        }
        let parent = lab.nodes[index].blocks[&request.parent.hash].clone();
        let timestamp = request.timestamp_min.as_secs();
        Some(lab.header(&parent, timestamp, request.beneficiary, request.mix_hash, &request.payload))
    }

    fn after_step(lab: &mut Lab, index: usize) {
        let epoch = lab.replica(index).finalized().epoch;
        let before = lab.fixture.finalized.insert(index, epoch);
        assert!(before.is_none_or(|before| epoch >= before), "finality goes back");
    }
}

impl Lab {
    pub(super) fn new(count: usize) -> Self {
        Self::with_config(count, config())
    }

    pub(super) fn with_config(count: usize, config: PosConfig) -> Self {
        Self::with_extra(count, 0, config)
    }

    /// `extra` more replicas have keys and are no validators.
    pub(super) fn with_extra(count: usize, extra: usize, config: PosConfig) -> Self {
        let authenticator = Authenticator::symbolic(7).for_chain(genesis(0).hash());
        let key = |index| authenticator.signer(&KeyPair::from_seed(index, "pos"));
        let mut signers: Vec<_> = (0..count as u64).map(key).collect();
        signers.sort_by_key(Signer::address);
        signers.extend((count as u64..(count + extra) as u64).map(key));
        let fixture =
            PosFixture { config, validators: count, slot: 0, salt: 0, is_slow: false, finalized: BTreeMap::new() };
        Self::assemble(fixture, genesis(0), authenticator, signers)
    }

    /// The validators of genesis, as the first block's state has them.
    pub(super) fn genesis_set(&self) -> ValidatorSet {
        let (config, header) = (&self.fixture.config, self.genesis.header());
        let link = Pos::genesis_context(config, &self.first_set(), self.genesis.hash(), header);
        link.state.current.set().clone()
    }

    fn first_set(&self) -> ValidatorSet {
        let first = &self.signers[..self.fixture.validators];
        ValidatorSet::new(first.iter().map(|signer| member(signer.address()))).unwrap()
    }

    pub(super) fn address(&self, index: usize) -> Address {
        self.signers[index].address()
    }

    pub(super) fn index_of(&self, address: &Address) -> usize {
        self.signers.iter().position(|signer| signer.address() == *address).unwrap()
    }

    fn header(
        &mut self,
        parent: &Block,
        timestamp: u64,
        beneficiary: Address,
        mix_hash: B256,
        payload: &Bytes,
    ) -> Block {
        self.fixture.salt += 1;
        let header = Header {
            number: parent.height().get() + 1,
            parent_hash: parent.hash(),
            timestamp,
            beneficiary,
            mix_hash,
            gas_limit: self.fixture.salt,
            extra_data: Block::extra_data_of(payload).unwrap(),
            ..Header::default()
        };
        Block::new(header, Vec::new(), payload.clone(), Vec::new())
    }

    fn fire_all(&mut self, timer: TimerId) {
        (0..self.nodes.len()).for_each(|index| self.fire(index, timer));
        self.settle();
    }

    /// Begins the next slot; nothing is proposed yet.
    pub(super) fn tick(&mut self) {
        self.fixture.slot += 1;
        self.fire_all(SLOT_TIMER);
    }

    pub(super) fn propose(&mut self) {
        self.fire_all(PROPOSE_TIMER);
    }

    pub(super) fn attest(&mut self) {
        self.fire_all(ATTEST_TIMER);
    }

    /// Runs a whole slot: its block and its votes.
    pub(super) fn pass(&mut self) {
        self.tick();
        self.propose();
        self.attest();
    }

    pub(super) fn run(&mut self, slots: u64) {
        (0..slots).for_each(|_| self.pass());
    }

    /// Stops a replica, starts it from its durable records, and advances it to the current slot.
    pub(super) fn restart_in_slot(&mut self, index: usize) {
        self.fixture.finalized.remove(&index);
        self.restart(index);
        self.enter_slot(index);
    }

    /// Resumes a replica that was paused, in the current slot.
    pub(super) fn resume(&mut self, index: usize) {
        self.nodes[index].is_up = true;
        self.deliver(index, Event::Start);
        self.enter_slot(index);
    }

    /// Stops a replica with its memory and timers kept.
    pub(super) fn pause(&mut self, index: usize) {
        self.nodes[index].is_up = false;
    }

    fn enter_slot(&mut self, index: usize) {
        while self.replica(index).slot() < self.fixture.slot {
            self.deliver(index, Event::Timer(SLOT_TIMER));
        }
        self.settle();
    }

    /// The link of a block of a replica's tree.
    pub(super) fn link(&self, replica: usize, block: B256) -> HeaderContext {
        self.replica(replica).tree.get(&block).unwrap().context.clone()
    }

    /// Makes a block outside the protocol: of the slot's proposer on `parent`, which `replica` knows.
    pub(super) fn forge(&mut self, replica: usize, parent: B256, slot: u64, votes: &[Vote]) -> Arc<Block> {
        self.forge_with(replica, parent, slot, |payload| {
            payload.votes = votes.to_vec();
            payload.votes.sort();
        })
    }

    /// The same with a payload that is changed before it is sealed.
    pub(super) fn forge_with(
        &mut self,
        replica: usize,
        parent: B256,
        slot: u64,
        change: impl FnOnce(&mut Payload),
    ) -> Arc<Block> {
        let link = self.link(replica, parent);
        self.forge_on(&link, &self.nodes[replica].blocks[&parent].clone(), slot, change)
    }

    pub(super) fn forge_on(
        &mut self,
        link: &HeaderContext,
        parent: &Block,
        slot: u64,
        change: impl FnOnce(&mut Payload),
    ) -> Arc<Block> {
        self.forge_revealing(link, parent, slot, None, change)
    }

    /// A block with another reveal than the proposer's next one.
    pub(super) fn forge_with_reveal(&mut self, replica: usize, parent: B256, slot: u64, element: B256) -> Arc<Block> {
        let (link, parent) = (self.link(replica, parent), self.nodes[replica].blocks[&parent].clone());
        self.forge_revealing(&link, &parent, slot, Some(element), |_| {})
    }

    fn forge_revealing(
        &mut self,
        link: &HeaderContext,
        parent: &Block,
        slot: u64,
        element: Option<B256>,
        change: impl FnOnce(&mut Payload),
    ) -> Arc<Block> {
        let (mut state, dues) = link.state.advanced(&self.fixture.config, slot);
        let proposer = self.index_of(&state.current.proposer(&self.fixture.config, slot).unwrap());
        let chain = state.reveal_chain(&self.address(proposer));
        let mut reveal = OwnReveals::default().reveal(&self.fixture.config, &self.signers[proposer], &chain, slot);
        reveal.element = element.or(reveal.element);
        let mix = mixed(&self.authenticator, state.mix, reveal.element);
        let accounting = state.apply_epoch(dues, None);
        let absent = state.stake.absent.clone();
        let mut payload = Payload { slot, reveal, accounting, absent, ..Payload::default() };
        change(&mut payload);
        let block = self.header(parent, slot, self.address(proposer), mix, &payload.encoded());
        self.seal(block, slot, proposer)
    }

    pub(super) fn seal(&self, block: Block, slot: u64, proposer: usize) -> Arc<Block> {
        let proposal = Proposal::signed(slot, BlockId::of(&block), &self.signers[proposer]);
        Arc::new(block.with_seal(proposal.signature))
    }

    /// Returns the vote of validator `who`, an attester of `slot`, for a head that `replica` has.
    pub(super) fn vote(&self, replica: usize, who: usize, slot: u64, head: B256) -> Vote {
        let state = self.state_at(replica, slot, head);
        let head = self.link(replica, head).block;
        let data = VoteData { slot, head, source: state.casper.justified, target: state.checkpoints[1] };
        Vote::signed(data, &self.signers[who])
    }

    fn state_at(&self, replica: usize, slot: u64, head: B256) -> Arc<State> {
        state_in(&self.fixture.config, &self.link(replica, head).state, self.fixture.config.epoch_of(slot))
    }

    /// Returns the attesters of `slot`.
    pub(super) fn committee(&self, replica: usize, slot: u64, head: B256) -> Vec<usize> {
        let state = self.state_at(replica, slot, head);
        let owes =
            |who: &usize| state.current.attestation_slot(&self.fixture.config, &self.address(*who)) == Some(slot);
        (0..self.signers.len()).filter(owes).collect()
    }

    /// Returns the proposer of `slot` on a head that `replica` has.
    pub(super) fn proposer(&self, replica: usize, slot: u64, head: B256) -> usize {
        self.index_of(&self.state_at(replica, slot, head).current.proposer(&self.fixture.config, slot).unwrap())
    }

    pub(super) fn give_block(&mut self, to: usize, block: &Arc<Block>) {
        let from = ReplicaId::new(((to + 1) % self.nodes.len()) as u32);
        self.deliver(to, Event::Message { from, message: ConsensusMessage::Block(block.clone()) });
    }

    pub(super) fn give_vote(&mut self, to: usize, vote: &Vote) {
        let from = ReplicaId::new(((to + 1) % self.nodes.len()) as u32);
        self.deliver(to, Event::Message { from, message: vote.clone().into() });
    }

    pub(super) fn offence_message(offence: SlashingEvidence) -> ConsensusMessage {
        ConsensusMessage::Pos(Arc::new(PosMessage::Offence(offence)))
    }

    /// All votes in a replica's chain, newest block first.
    pub(super) fn votes_of(&self, replica: usize) -> Vec<Vote> {
        let (mut votes, mut hash) = (Vec::new(), self.replica(replica).head().hash);
        while let Some(block) = self.nodes[replica].blocks.get(&hash).filter(|block| block.height().get() > 0) {
            votes.extend(Payload::decode(block.payload()).unwrap().votes);
            hash = block.parent_hash();
        }
        votes
    }

    /// A replica's chain without genesis, oldest first.
    pub(super) fn chain_of(&self, replica: usize) -> Vec<Arc<Block>> {
        let (mut chain, mut hash) = (Vec::new(), self.replica(replica).head().hash);
        while let Some(block) = self.nodes[replica].blocks.get(&hash).filter(|block| block.height().get() > 0) {
            chain.push(block.clone());
            hash = block.parent_hash();
        }
        chain.reverse();
        chain
    }

    /// The newest final block that a replica reported, with its proof.
    pub(super) fn reported_finality(&self, index: usize) -> Option<(BlockId, Option<Bytes>)> {
        self.nodes[index].chain_events.iter().rev().find_map(|event| match event {
            ChainEvent::Final { finality, proof } => Some((finality.finalized, proof.clone())),
            _ => None,
        })
    }

    pub(super) fn finalized(&self) -> Vec<Checkpoint> {
        self.replicas().map(Pos::finalized).collect()
    }

    pub(super) fn heads(&self) -> Vec<B256> {
        self.replicas().map(|replica| replica.head().hash).collect()
    }
}

pub(super) const WEIGHT: u64 = 32_000_000_000;

pub(super) fn member(address: Address) -> Validator {
    Validator { address, weight: WEIGHT }
}
