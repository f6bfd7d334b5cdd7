//! Replicas, a clock of slots, links that may be cut, and the checker that watches over safety.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use super::super::*;
use crate::{
    chain::Block,
    consensus::{BuildRequest, Deadline, Evidence, Recipients, ReplicaId, SealedHeader, Verdict},
    primitives::{B256, Bytes, Header, Height, KeyPair, U256},
    system::ValidatorUpdates,
};

/// What went wrong that never may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Broken {
    /// Two blocks of one height are irreversible.
    Agreement(Height),
    /// An honest producer confirmed a height twice.
    ConfirmedTwice(usize, Height),
    /// An honest producer made two blocks in one slot.
    SlotTwice(usize, u64),
    /// A block was made by a producer whose slot it is not.
    SlotOwner(u64),
    /// A schedule came into force before the block that proposed it was irreversible.
    ScheduleEarly(Height),
}

/// What a block is made with, where it is not as the rules want it.
#[derive(Clone, Debug, Default)]
pub(super) struct Odd {
    pub(super) author: Option<usize>,
    pub(super) confirmed: Option<u16>,
    pub(super) payload: Option<Payload>,
    pub(super) timestamp: Option<u64>,
    pub(super) beneficiary: Option<Address>,
    pub(super) difficulty: u64,
    pub(super) mix_hash: B256,
    /// Tells blocks apart that are equal otherwise.
    pub(super) salt: u64,
}

#[derive(Clone)]
pub(super) struct Lab {
    pub(super) config: DposConfig,
    /// Validators of genesis.
    producers: usize,
    pub(super) authenticator: Authenticator,
    pub(super) signers: Vec<Signer>,
    pub(super) genesis: Arc<Block>,
    /// `None`: down.
    pub(super) replicas: Vec<Option<Dpos>>,
    pub(super) records: Vec<Records>,
    pub(super) armed: Vec<Option<u64>>,
    pub(super) now: u64,
    pub(super) queue: VecDeque<(usize, usize, Message)>,
    /// Replicas hear each other when they are in one group.
    pub(super) groups: Vec<usize>,
    pub(super) blocks: BTreeMap<B256, Arc<Block>>,
    /// What executing the block of a height changes, on every branch.
    pub(super) updates: BTreeMap<u64, ValidatorUpdates>,
    canonical: Vec<BTreeMap<Height, BlockId>>,
    pub(super) decided: BTreeMap<Height, B256>,
    produced: BTreeMap<(usize, u64), B256>,
    confirmed: BTreeMap<usize, BTreeSet<Height>>,
    /// Whose word the checker does not take.
    pub(super) faulty: BTreeSet<usize>,
    pub(super) broken: BTreeSet<Broken>,
    pub(super) marks: BTreeMap<&'static str, u64>,
    pub(super) rejections: Vec<(usize, Rejection)>,
    pub(super) evidence: Vec<(usize, Evidence)>,
}

impl Lab {
    pub(super) fn new(count: usize) -> Self {
        Self::with_config(count, count, DposConfig::default())
    }

    /// So many replicas, the first `producers` of which (by address) are validators of genesis.
    pub(super) fn with_config(count: usize, producers: usize, config: DposConfig) -> Self {
        let authenticator = Authenticator::symbolic(7);
        let mut signers: Vec<_> =
            (0..count as u64).map(|index| authenticator.signer(&KeyPair::from_seed(index, "dpos"))).collect();
        signers.sort_by_key(Signer::address);
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        let mut lab = Self {
            config,
            producers,
            authenticator,
            signers,
            genesis: genesis.clone(),
            replicas: Vec::new(),
            records: vec![BTreeMap::new(); count],
            armed: vec![None; count],
            now: 0,
            queue: VecDeque::new(),
            groups: vec![0; count],
            blocks: BTreeMap::from([(genesis.hash(), genesis)]),
            updates: BTreeMap::new(),
            canonical: vec![BTreeMap::new(); count],
            decided: BTreeMap::new(),
            produced: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            faulty: BTreeSet::new(),
            broken: BTreeSet::new(),
            marks: BTreeMap::new(),
            rejections: Vec::new(),
            evidence: Vec::new(),
        };
        let set = lab.set(producers);
        lab.replicas = (0..count).map(|index| Some(lab.fresh(&set, Some(index)))).collect();
        (0..count).for_each(|index| lab.deliver(index, Event::Start));
        lab
    }

    pub(super) fn set(&self, producers: usize) -> ValidatorSet {
        ValidatorSet::equal(self.signers[..producers].iter().map(Signer::address)).unwrap()
    }

    pub(super) fn fresh(&self, set: &ValidatorSet, index: Option<usize>) -> Dpos {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = index.map(|index| self.signers[index].clone());
        Dpos::new(self.config, genesis, set, self.authenticator.clone(), signer).unwrap()
    }

    pub(super) fn replica(&self, index: usize) -> &Dpos {
        self.replicas[index].as_ref().unwrap()
    }

    pub(super) fn link(&self, index: usize) -> &HeaderContext {
        self.replica(index).head_context()
    }

    /// Whose slot it is on a replica's head.
    pub(super) fn owner(&self, index: usize, slot: u64) -> usize {
        let schedule = self.link(index).state.active();
        let address = schedule.producers().members()[schedule.producer_at(slot, &self.config)].address;
        self.signers.iter().position(|signer| signer.address() == address).unwrap()
    }

    /// A sealed block in `slot` on the head of replica `on`, by the rules but for what is odd.
    pub(super) fn block(&self, on: usize, slot: u64, odd: &Odd) -> Arc<Block> {
        let link = self.link(on);
        let author = odd.author.unwrap_or_else(|| self.owner(on, slot));
        let place = link.state.active().producers().index_of(&self.signers[author].address());
        let place = place.unwrap_or_default();
        let confirmed = odd.confirmed.unwrap_or_else(|| link.state.progress().confirmable(place, Height::GENESIS));
        let draft = BlockInputs { slot, place, confirmed, offences: &[] };
        let says = link.extend(&self.config, &draft, Election::Counted).map(|(_, says)| says).unwrap_or_default();
        let DerivedPayload { absent, proposes, activates } = says;
        let regular = Payload { confirmed, absent, proposes, activates, evidence: Vec::new() };
        let payload = odd.payload.clone().unwrap_or(regular);
        let timestamp = self.config.time_of(slot, (link.slot, link.timestamp)).as_secs();
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
            gas_limit: odd.salt,
            extra_data: Block::extra_data_of(&payload).unwrap_or_default(),
            ..Header::default()
        };
        let block = Block::new(header, Vec::new(), payload, Vec::new());
        let seal = self.signers[author].sign(block.hash());
        Arc::new(block.with_seal(seal))
    }

    /// Delivers an event to a replica that is up, and carries out everything but the sending.
    pub(super) fn deliver(&mut self, index: usize, event: Event) {
        let mut inbox = VecDeque::from([event]);
        while let Some(event) = inbox.pop_front() {
            let Some(replica) = &mut self.replicas[index] else { return };
            let mut effects = Vec::new();
            replica.step(event, &mut effects);
            for effect in effects {
                self.carry_out(index, effect, &mut inbox);
            }
        }
    }

    /// Announces a block to a replica as another one would.
    pub(super) fn announce(&mut self, to: usize, block: &Arc<Block>) {
        self.blocks.insert(block.hash(), block.clone());
        self.deliver(to, Event::Message { from: ReplicaId::new(99), message: Message::Block(block.clone()) });
    }

    fn carry_out(&mut self, index: usize, effect: Effect, inbox: &mut VecDeque<Event>) {
        match effect {
            Effect::Send { to, message, .. } => {
                // What is sent to one is a head that was announced before, whoever made it.
                if let (Message::Block(block), Recipients::Others, false) = (&message, to, self.faulty.contains(&index))
                {
                    self.check_produced(index, block);
                }
                let to: Vec<_> = match to {
                    Recipients::Others => (0..self.replicas.len()).collect(),
                    Recipients::One(one) => vec![one.index()],
                };
                for to in to.into_iter().filter(|to| *to != index && self.groups[*to] == self.groups[index]) {
                    self.queue.push_back((index, to, message.clone()));
                }
            }
            Effect::ArmTimer { deadline: Deadline::AtTimestamp { timestamp, .. }, .. } => {
                self.armed[index] = Some(timestamp.as_secs());
            }
            Effect::DisarmTimer(_) => self.armed[index] = None,
            Effect::Persist { ticket, records } => {
                for record in records {
                    if record.value.is_empty() {
                        self.records[index].remove(&record.key);
                    } else {
                        self.records[index].insert(record.key, record.value);
                    }
                }
                inbox.push_back(Event::Persisted(ticket));
            }
            Effect::Build(request) => {
                let block = self.build(index, &request);
                inbox.push_back(Event::BlockBuilt { ticket: request.ticket, block: Arc::new(block) });
            }
            Effect::Validate { block } => {
                let updates = self.updates.get(&block.height().get()).cloned().unwrap_or_default();
                self.blocks.insert(block.hash(), block.clone());
                let verdict = Verdict::Valid { updates };
                inbox.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict });
            }
            Effect::Fetch { block, from } => self.serve(index, from.index(), block, inbox),
            Effect::Chain(ChainEvent::HeadMoved { new, .. }) => self.follow(index, new),
            Effect::Chain(ChainEvent::Final { finality, .. }) => self.check_final(index, finality.finalized),
            Effect::Mark(name) => *self.marks.entry(name).or_default() += 1,
            Effect::Reject(rejection) => self.rejections.push((index, rejection)),
            Effect::Evidence(evidence) => self.evidence.push((index, evidence)),
            _ => {}
        }
    }

    fn build(&self, index: usize, request: &BuildRequest) -> Block {
        let header = Header {
            number: request.parent.height.get() + 1,
            parent_hash: request.parent.hash,
            timestamp: request.timestamp_min.as_secs().max(self.now),
            beneficiary: request.beneficiary,
            extra_data: Block::extra_data_of(&request.payload).unwrap_or_default(),
            // Twins and other lives of a replica build other blocks.
            gas_limit: index as u64,
            ..Header::default()
        };
        Block::new(header, Vec::new(), request.payload.clone(), Vec::new())
    }

    fn serve(&self, index: usize, from: usize, wanted: BlockId, inbox: &mut VecDeque<Event>) {
        let is_linked = from < self.replicas.len() && self.groups[from] == self.groups[index];
        if !is_linked || self.replicas[from].is_none() {
            return;
        }
        let canonical = self.canonical[from].get(&wanted.height).map(|block| block.hash);
        let hash = if wanted.hash.is_zero() { canonical } else { Some(wanted.hash) };
        if let Some(block) = hash.and_then(|hash| self.blocks.get(&hash)) {
            inbox.push_back(Event::BlockSynced { from: ReplicaId::new(from as u32), block: block.clone() });
        }
    }

    fn follow(&mut self, index: usize, head: BlockId) {
        self.canonical[index].split_off(&head.height.next());
        let mut block = head;
        while self.canonical[index].insert(block.height, block) != Some(block) && block.height > Height::GENESIS {
            block = BlockId::parent_of(&self.blocks[&block.hash]);
        }
        let link = self.link(index).clone();
        let sealed = &self.blocks[&head.hash];
        let payload = Payload::decode(sealed.payload()).unwrap();
        if payload.activates.is_some() {
            let reached = link.state.progress().irreversible();
            let proposals = self.canonical[index].range(..=reached).filter(|(_, id)| {
                let block = &self.blocks[&id.hash];
                Payload::decode(block.payload()).is_ok_and(|payload| payload.proposes.is_some())
            });
            let activations = self.canonical[index].values().filter(|id| {
                let block = &self.blocks[&id.hash];
                Payload::decode(block.payload()).is_ok_and(|payload| payload.activates.is_some())
            });
            if proposals.count() < activations.count() {
                self.broken.insert(Broken::ScheduleEarly(head.height));
            }
        }
    }

    fn check_final(&mut self, index: usize, finalized: BlockId) {
        if self.faulty.contains(&index) {
            return;
        }
        for (height, block) in self.canonical[index].range(..=finalized.height) {
            if *self.decided.entry(*height).or_insert(block.hash) != block.hash {
                self.broken.insert(Broken::Agreement(*height));
            }
        }
    }

    /// Looks at a block that an honest replica sends.
    fn check_produced(&mut self, index: usize, block: &Block) {
        // The lab's genesis has time 0, so that slots are times in periods.
        let slot = block.timestamp().as_secs() / self.config.period.max(1);
        if self.produced.insert((index, slot), block.hash()).is_some_and(|other| other != block.hash()) {
            self.broken.insert(Broken::SlotTwice(index, slot));
        }
        let payload = Payload::decode(block.payload()).unwrap();
        let said = self.confirmed.entry(index).or_default();
        let top = block.height().get();
        for height in (top + 1 - u64::from(payload.confirmed)..=top).map(Height::new) {
            if !said.insert(height) {
                self.broken.insert(Broken::ConfirmedTwice(index, height));
            }
        }
        let before = self.replicas[index].as_ref().and_then(|dpos| dpos.tree.get(&BlockId::parent_of(block)).cloned());
        if let Some(before) = before {
            let schedule = before.context.state.active();
            let owner = schedule.producers().members()[schedule.producer_at(slot, &self.config)].address;
            if owner != self.signers[index].address() {
                self.broken.insert(Broken::SlotOwner(slot));
            }
        }
    }

    /// Delivers everything, in order; what was sent over a link that is cut now is lost.
    pub(super) fn settle(&mut self) {
        while let Some((from, to, message)) = self.queue.pop_front() {
            if self.groups[from] == self.groups[to] {
                self.deliver(to, Event::Message { from: ReplicaId::new(from as u32), message });
                self.fire();
            }
        }
    }

    /// Lets the next slot begin, and everything arrive that is said in it.
    pub(super) fn slot(&mut self) {
        self.begin_slot();
        self.settle();
    }

    /// Lets the next slot begin.
    pub(super) fn begin_slot(&mut self) {
        self.now += self.config.period;
        self.fire();
    }

    /// Fires the timers that are due.
    fn fire(&mut self) {
        for index in 0..self.replicas.len() {
            while self.replicas[index].is_some() && self.armed[index].is_some_and(|at| at <= self.now) {
                self.armed[index] = None;
                self.deliver(index, Event::Timer(SLOT_TIMER));
            }
        }
    }

    pub(super) fn slots(&mut self, count: u64) {
        (0..count).for_each(|_| self.slot());
    }

    pub(super) fn cut(&mut self, groups: &[usize]) {
        self.groups.copy_from_slice(groups);
    }

    pub(super) fn heal(&mut self) {
        self.groups.fill(0);
    }

    pub(super) fn stop(&mut self, index: usize) {
        (self.replicas[index], self.armed[index]) = (None, None);
    }

    /// Starts a replica from what it had persisted.
    pub(super) fn restart(&mut self, index: usize) {
        self.stop(index);
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = Some(self.signers[index].clone());
        let set = self.set(self.producers);
        let records = &self.records[index];
        let recovered = Dpos::recover(self.config, genesis, &set, records, self.authenticator.clone(), signer).unwrap();
        let head = recovered.head();
        self.replicas[index] = Some(recovered);
        self.canonical[index].clear();
        if head.height > Height::GENESIS {
            self.follow(index, head);
        }
        self.deliver(index, Event::Start);
    }

    pub(super) fn heads(&self) -> Vec<BlockId> {
        self.replicas.iter().flatten().map(Dpos::head).collect()
    }

    pub(super) fn is_agreed(&self) -> bool {
        self.heads().windows(2).all(|pair| pair[0] == pair[1])
    }

    pub(super) fn irreversible(&self, index: usize) -> u64 {
        self.replica(index).finality().finalized.height.get()
    }

    pub(super) fn mark(&self, name: &str) -> u64 {
        self.marks.get(name).copied().unwrap_or_default()
    }

    /// The header as a light verifier sees it.
    pub(super) fn sealed(&self, index: usize, height: u64) -> SealedHeader {
        SealedHeader::from(self.blocks[&self.canonical[index][&Height::new(height)].hash].as_ref())
    }
}
