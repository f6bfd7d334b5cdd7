//! DPoS's fixture: a clock of slots, valid and invalid blocks, and checks of producers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::super::*;
use crate::{
    chain::Block,
    consensus::{
        BuildRequest, Deadline, Purpose, Recipients, ReplicaId, SealedHeader,
        testing::{self, Fixture, genesis},
    },
    primitives::{B64, B256, Bytes, Header, Height, KeyPair, U256},
};

pub(super) type Lab = testing::Lab<DposFixture>;

/// Two blocks of one height are irreversible.
pub(super) const AGREEMENT: &str = "finality";
/// An honest producer confirmed a height twice.
pub(super) const CONFIRMED_TWICE: &str = "confirmed twice";
/// An honest producer made two blocks in one slot.
pub(super) const SLOT_TWICE: &str = "slot twice";
/// A block was made by a producer whose slot it is not.
pub(super) const SLOT_OWNER: &str = "slot owner";
/// A schedule came into force before the block that proposed it was irreversible.
pub(super) const SCHEDULE_EARLY: &str = "schedule early";

#[derive(Clone, Debug)]
pub(super) struct DposFixture {
    pub(super) config: DposConfig,
    /// Replicas that are validators at genesis: the first ones.
    producers: usize,
    /// Time in seconds.
    pub(super) now: u64,
    produced: BTreeMap<(usize, u64), B256>,
    confirmed: BTreeMap<usize, BTreeSet<Height>>,
}

impl DposFixture {
    /// The lab's genesis has time 0, so that slots are times in periods.
    fn slot_of(&self, block: &Block) -> u64 {
        block.timestamp().as_secs() / self.config.period.max(1)
    }
}

/// Fields of a block that deviate from the rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Odd {
    pub(super) author: Option<usize>,
    pub(super) confirmed: Option<u16>,
    pub(super) implied: Option<Prepared>,
    pub(super) nonce: Option<B64>,
    pub(super) payload: Option<Payload>,
    pub(super) timestamp: Option<u64>,
    pub(super) beneficiary: Option<Address>,
    pub(super) difficulty: u64,
    pub(super) mix_hash: B256,
    /// Distinguishes blocks that are otherwise equal.
    pub(super) salt: u64,
}

impl Fixture for DposFixture {
    type Protocol = Dpos;

    fn recover(lab: &Lab, index: usize, records: &Records) -> Dpos {
        let genesis = (BlockId::of(&lab.genesis), lab.genesis.timestamp());
        let (set, signer) = (lab.set(lab.fixture.producers), Some(lab.signers[index].clone()));
        Dpos::recover(lab.fixture.config, genesis, &set, records, lab.authenticator.clone(), signer).unwrap()
    }

    fn start(lab: &Lab, index: usize) -> Dpos {
        let genesis = (BlockId::of(&lab.genesis), lab.genesis.timestamp());
        let (set, signer) = (lab.set(lab.fixture.producers), Some(lab.signers[index].clone()));
        Dpos::new(lab.fixture.config, genesis, &set, lab.authenticator.clone(), signer).unwrap()
    }

    fn build(lab: &mut Lab, index: usize, request: &BuildRequest) -> Option<Block> {
        let header = Header {
            number: request.parent.height.get() + 1,
            parent_hash: request.parent.hash,
            timestamp: request.timestamp_min.as_secs().max(lab.fixture.now),
            beneficiary: request.beneficiary,
            nonce: request.nonce,
            extra_data: Block::extra_data_of(&request.payload).unwrap_or_default(),
            // Two processes with one key, and a replica before and after a restart, build different blocks.
            gas_limit: index as u64,
            ..Header::default()
        };
        Some(Block::new(header, Vec::new(), request.payload.clone(), Vec::new()))
    }

    /// Checks what a producer announces first. Later, and to one replica, it shows heads of any author.
    fn on_send(lab: &mut Lab, index: usize, to: Recipients, message: &ConsensusMessage) {
        if let (ConsensusMessage::Block(block), Recipients::Others, false) = (message, to, lab.nodes[index].is_faulty) {
            let author = lab.signers.iter().position(|signer| signer.address() == block.header().beneficiary);
            let known = author.and_then(|author| lab.fixture.produced.get(&(author, lab.fixture.slot_of(block))));
            if known != Some(&block.hash()) {
                lab.check_produced(index, block);
            }
        }
    }

    fn on_head(lab: &mut Lab, index: usize, _old: BlockId, head: BlockId) {
        let node = &lab.nodes[index];
        let payload_of = |id: &BlockId| Payload::decode(node.blocks[&id.hash].payload());
        if head.height == Height::GENESIS || payload_of(&head).unwrap().activates.is_none() {
            return;
        }
        let reached = lab.link(index).state.progress().irreversible();
        let blocks = || node.canonical.range(Height::new(1)..);
        let proposals = blocks()
            .filter(|(height, id)| **height <= reached && payload_of(id).is_ok_and(|it| it.proposes.is_some()))
            .count();
        let activations = blocks().filter(|(_, id)| payload_of(id).is_ok_and(|it| it.activates.is_some())).count();
        if proposals < activations {
            lab.violate(SCHEDULE_EARLY, head.height.get(), [B256::ZERO; 2]);
        }
    }

    fn after_delivery(lab: &mut Lab) {
        lab.fire_due();
    }
}

impl Lab {
    pub(super) fn new(count: usize) -> Self {
        Self::with_config(count, count, DposConfig::default())
    }

    /// `count` replicas, the first `producers` of which (by address) are validators of genesis.
    pub(super) fn with_config(count: usize, producers: usize, config: DposConfig) -> Self {
        let authenticator = Authenticator::symbolic(7).for_chain(genesis(0).hash());
        let mut signers: Vec<_> =
            (0..count as u64).map(|index| authenticator.signer(&KeyPair::from_seed(index, "dpos"))).collect();
        signers.sort_by_key(Signer::address);
        let (produced, confirmed) = (BTreeMap::new(), BTreeMap::new());
        let fixture = DposFixture { config, producers, now: 0, produced, confirmed };
        Self::assemble(fixture, genesis(0), authenticator, signers)
    }

    pub(super) fn set(&self, producers: usize) -> ValidatorSet {
        ValidatorSet::equal(self.signers[..producers].iter().map(Signer::address)).unwrap()
    }

    pub(super) fn link(&self, index: usize) -> &HeaderContext {
        self.replica(index).head_context()
    }

    /// Returns the producer of the slot on a replica's head.
    pub(super) fn owner(&self, index: usize, slot: u64) -> usize {
        let schedule = self.link(index).state.active();
        let address = schedule.producers().members()[schedule.producer_at(slot, &self.fixture.config)].address;
        self.signers.iter().position(|signer| signer.address() == address).unwrap()
    }

    /// A sealed block in `slot` on the head of replica `on`, valid except for `odd`.
    pub(super) fn block(&self, on: usize, slot: u64, odd: &Odd) -> Arc<Block> {
        let link = self.link(on);
        let author = odd.author.unwrap_or_else(|| self.owner(on, slot));
        let place = link.state.active().producers().index_of(&self.signers[author].address());
        let place = place.unwrap_or_default();
        let confirmed = odd.confirmed.unwrap_or_else(|| link.state.progress().confirmable(place, Height::GENESIS));
        let draft = BlockInputs { slot, place, confirmed, offences: &[] };
        let says =
            link.extend(&self.fixture.config, &draft, Election::Counted).map(|(_, says)| says).unwrap_or_default();
        let DerivedPayload { absent, proposes, activates } = says;
        let regular = Payload { absent, proposes, activates, evidence: Vec::new() };
        let vote = Confirmation { confirmed, implied: odd.implied.unwrap_or(link.state.prepared()) };
        let nonce = odd.nonce.or_else(|| vote.nonce(link.block.height.next())).unwrap_or_default();
        let odd = &Odd { nonce: Some(nonce), ..odd.clone() };
        let payload = odd.payload.clone().unwrap_or(regular);
        let timestamp = self.fixture.config.time_of(slot, (link.slot, link.timestamp)).as_secs();
        self.raw(link.block, author, payload.encoded(), odd.timestamp.unwrap_or(timestamp), odd)
    }

    pub(super) fn raw(&self, parent: BlockId, author: usize, payload: Bytes, time: u64, odd: &Odd) -> Arc<Block> {
        let header = Header {
            number: parent.height.get() + 1,
            parent_hash: parent.hash,
            timestamp: time,
            beneficiary: odd.beneficiary.unwrap_or(self.signers[author].address()),
            difficulty: U256::from(odd.difficulty),
            mix_hash: odd.mix_hash,
            nonce: odd.nonce.unwrap_or_default(),
            gas_limit: odd.salt,
            extra_data: Block::extra_data_of(&payload).unwrap_or_default(),
            ..Header::default()
        };
        let block = Block::new(header, Vec::new(), payload, Vec::new());
        let seal = self.signers[author].sign(Purpose::Block, block.hash());
        Arc::new(block.with_seal(seal))
    }

    /// Sends a block to a replica, in the name of another one.
    pub(super) fn announce(&mut self, to: usize, block: &Arc<Block>) {
        self.deliver(
            to,
            Event::Message { from: ReplicaId::new(to as u32 ^ 1), message: ConsensusMessage::Block(block.clone()) },
        );
    }

    /// Checks a block that an honest replica sends.
    fn check_produced(&mut self, index: usize, block: &Block) {
        let slot = self.fixture.slot_of(block);
        let other = self.fixture.produced.insert((index, slot), block.hash());
        if let Some(other) = other.filter(|other| *other != block.hash()) {
            self.violate(SLOT_TWICE, slot, [other, block.hash()]);
        }
        let vote = Confirmation::of_header(block.header()).unwrap();
        let top = block.height().get();
        let first = vote.map_or(top + 1, |vote| vote.first(block.height()).get());
        for height in (first..=top).map(Height::new) {
            if !self.fixture.confirmed.entry(index).or_default().insert(height) {
                self.violate(CONFIRMED_TWICE, height.get(), [B256::ZERO, block.hash()]);
            }
        }
        if let Some(before) = self.replica(index).tree.get(&BlockId::parent_of(block)).cloned() {
            let schedule = before.context.state.active();
            let owner = schedule.producers().members()[schedule.producer_at(slot, &self.fixture.config)].address;
            if owner != self.signers[index].address() {
                self.violate(SLOT_OWNER, slot, [B256::ZERO, block.hash()]);
            }
        }
    }

    /// Begins the next slot and delivers all messages sent in it.
    pub(super) fn slot(&mut self) {
        self.begin_slot();
        self.settle();
    }

    /// Begins the next slot.
    pub(super) fn begin_slot(&mut self) {
        self.fixture.now += self.fixture.config.period;
        self.fire_due();
    }

    /// Fires the timers that are due.
    fn fire_due(&mut self) {
        (0..self.nodes.len()).for_each(|index| self.fire_due_of(index));
    }

    /// Fires the timer of one replica while it is due.
    pub(super) fn fire_due_of(&mut self, index: usize) {
        while self.is_due(index) {
            self.fire(index, SLOT_TIMER);
        }
    }

    fn is_due(&self, index: usize) -> bool {
        let node = &self.nodes[index];
        let is_past = |deadline: &Deadline| match deadline {
            Deadline::AtTimestamp { timestamp, .. } => timestamp.as_secs() <= self.fixture.now,
            Deadline::After { .. } => false,
        };
        node.is_up && node.timers.get(&SLOT_TIMER).is_some_and(is_past)
    }

    pub(super) fn slots(&mut self, count: u64) {
        (0..count).for_each(|_| self.slot());
    }

    /// Splits the replicas into these groups.
    pub(super) fn split(&mut self, groups: &[usize]) {
        self.groups.copy_from_slice(groups);
    }

    /// The heads of all replicas that are up.
    pub(super) fn heads(&self) -> Vec<BlockId> {
        self.nodes.iter().filter(|node| node.is_up).map(|node| node.protocol.head()).collect()
    }

    pub(super) fn is_agreed(&self) -> bool {
        self.heads().windows(2).all(|pair| pair[0] == pair[1])
    }

    pub(super) fn irreversible(&self, index: usize) -> u64 {
        self.replica(index).finality().finalized.height.get()
    }

    /// Whether a property did not hold.
    pub(super) fn is_violated(&self, property: &str) -> bool {
        self.violations.iter().any(|violation| violation.property == property)
    }

    /// The header as a light verifier sees it.
    pub(super) fn sealed(&self, index: usize, height: u64) -> SealedHeader {
        SealedHeader::from(self.canonical(index, height).as_ref())
    }
}
