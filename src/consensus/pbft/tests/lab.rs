//! Replicas, a queue of messages, a store of blocks each, and the checker that watches over safety.

use std::{collections::BTreeMap, collections::VecDeque, sync::Arc};

use crate::{
    chain::Block,
    consensus::{
        Authenticator, BlockId, BuildRequest, ChainEvent, Effect, Event, Message, Protocol, Recipients, Record,
        Records, Rejection, ReplicaId, Signer, TimerId, ValidatorSet, Verdict,
        pbft::{BUILD_TIMER, Body, Pbft, PbftConfig, PbftMessage, SUSPECT_TIMER, Seal, View},
    },
    primitives::{B256, Bytes, Header, Height, KeyPair, keccak256},
    system::ValidatorUpdates,
};

/// K = 4, L = 8: small enough to fill.
pub(super) fn config() -> PbftConfig {
    PbftConfig::default().with_checkpoints(4, 8)
}

/// Two honest replicas with other blocks at one height, or other blocks prepared in one view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disagreement {
    pub(super) what: &'static str,
    pub(super) height: Height,
    pub(super) first: B256,
    pub(super) second: B256,
}

/// Watches every step of honest replicas.
#[derive(Debug, Default)]
pub(super) struct Checker {
    committed: BTreeMap<Height, B256>,
    prepared: BTreeMap<(View, Height), B256>,
}

impl Checker {
    pub(super) fn check(&mut self, replica: &Pbft, heads: &[BlockId]) -> Result<(), Disagreement> {
        for head in heads {
            let first = *self.committed.entry(head.height).or_insert(head.hash);
            if first != head.hash {
                return Err(Disagreement { what: "committed", height: head.height, first, second: head.hash });
            }
        }
        for (height, slot) in &replica.log.slots {
            if let Some((view, second)) = slot.prepared {
                let first = *self.prepared.entry((view, *height)).or_insert(second);
                if first != second {
                    return Err(Disagreement { what: "prepared", height: *height, first, second });
                }
            }
        }
        let (low, high) = replica.watermarks();
        assert!(replica.log.slots.keys().all(|height| low < *height && *height <= high), "outside the watermarks");
        assert!(replica.log.checkpoints.len() <= 4 && replica.log.checkpoint_votes.len() <= 2);
        Ok(())
    }
}

pub(super) struct Lab {
    pub(super) config: PbftConfig,
    /// How many are validators of genesis.
    validators: usize,
    pub(super) authenticator: Authenticator,
    pub(super) signers: Vec<Signer>,
    pub(super) genesis: Arc<Block>,
    pub(super) replicas: Vec<Pbft>,
    /// Messages under way.
    pub(super) queue: VecDeque<(usize, usize, Message)>,
    /// What each replica executed, with the newest seal.
    pub(super) blocks: Vec<BTreeMap<B256, Arc<Block>>>,
    pub(super) heads: Vec<Vec<BlockId>>,
    pub(super) records: Vec<Records>,
    /// Every write of each replica, in order.
    pub(super) writes: Vec<Vec<Vec<Record>>>,
    /// What executing a block at this height changes in the set of validators.
    pub(super) updates: BTreeMap<Height, ValidatorUpdates>,
    pub(super) armed: Vec<BTreeMap<TimerId, ()>>,
    pub(super) marks: BTreeMap<&'static str, u64>,
    pub(super) rejections: Vec<(usize, Rejection)>,
    pub(super) evidence: Vec<(usize, crate::consensus::Evidence)>,
    /// Whose messages are lost, in both directions.
    pub(super) cut: Vec<bool>,
    /// Kinds of messages that are lost, by receiver.
    pub(super) deaf: Vec<Vec<&'static str>>,
    /// Whose word the checker does not take.
    pub(super) faulty: Vec<bool>,
    pub(super) checker: Checker,
    pub(super) disagreement: Option<Disagreement>,
    /// Tells blocks apart that are equal otherwise.
    pub(super) salt: u64,
}

impl Lab {
    pub(super) fn new(count: usize) -> Self {
        Self::with_config(count, config())
    }

    pub(super) fn with_config(count: usize, config: PbftConfig) -> Self {
        Self::with_validators(count, count, config)
    }

    /// So many replicas with keys, of whom the first are validators of genesis.
    pub(super) fn with_validators(count: usize, validators: usize, config: PbftConfig) -> Self {
        let authenticator = Authenticator::symbolic(7);
        let mut signers: Vec<_> =
            (0..count as u64).map(|index| authenticator.signer(&KeyPair::from_seed(index, "pbft"))).collect();
        signers.sort_by_key(Signer::address);
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        let mut lab = Self {
            config,
            validators,
            authenticator,
            signers,
            genesis: genesis.clone(),
            replicas: Vec::new(),
            queue: VecDeque::new(),
            blocks: vec![BTreeMap::from([(genesis.hash(), genesis)]); count],
            heads: vec![Vec::new(); count],
            records: vec![BTreeMap::new(); count],
            writes: vec![Vec::new(); count],
            updates: BTreeMap::new(),
            armed: vec![BTreeMap::new(); count],
            marks: BTreeMap::new(),
            rejections: Vec::new(),
            evidence: Vec::new(),
            cut: vec![false; count],
            deaf: vec![Vec::new(); count],
            faulty: vec![false; count],
            checker: Checker::default(),
            disagreement: None,
            salt: 0,
        };
        lab.replicas = (0..count).map(|index| lab.fresh(Some(index))).collect();
        (0..count).for_each(|index| lab.deliver(index, Event::Start));
        lab
    }

    pub(super) fn set(&self) -> ValidatorSet {
        ValidatorSet::equal(self.signers[..self.validators].iter().map(Signer::address)).unwrap()
    }

    pub(super) fn fresh(&self, index: Option<usize>) -> Pbft {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = index.map(|index| self.signers[index].clone());
        Pbft::new(self.config, genesis, self.set(), self.authenticator.clone(), signer).unwrap()
    }

    /// An unsealed block on `parent` that pays `author`.
    pub(super) fn block(&mut self, parent: &Block, author: usize) -> Block {
        self.salt += 1;
        let header = Header {
            number: parent.height().get() + 1,
            parent_hash: parent.hash(),
            timestamp: parent.timestamp().as_secs() + self.config.period,
            beneficiary: self.signers[author].address(),
            gas_limit: self.salt,
            ..Header::default()
        };
        Block::new(header, Vec::new(), Bytes::new(), Vec::new())
    }

    /// A pre-prepare of `author` in `view`.
    pub(super) fn proposal(&mut self, parent: &Block, author: usize, view: u64) -> (BlockId, PbftMessage) {
        let block = self.block(parent, author);
        let (id, view) = (BlockId::of(&block), View::new(view));
        let signature = self.signers[author].sign(keccak256(super::super::vote::pre_prepare(view, &id)));
        let block = Arc::new(block.with_seal(Seal::Proposal { view, signature: signature.clone() }.encoded()));
        (id, PbftMessage { body: Body::PrePrepare { view, block }, signature })
    }

    pub(super) fn signed(&self, signer: usize, body: Body) -> PbftMessage {
        PbftMessage::signed(body, &self.signers[signer])
    }

    /// Puts a message under way, whoever signed it.
    pub(super) fn inject(&mut self, from: usize, to: usize, message: PbftMessage) {
        self.queue.push_back((from, to, Message::Pbft(Arc::new(message))));
    }

    /// Delivers an event and carries out everything but the sending.
    pub(super) fn deliver(&mut self, index: usize, event: Event) {
        let mut inbox = VecDeque::from([event]);
        while let Some(event) = inbox.pop_front() {
            let mut effects = Vec::new();
            self.replicas[index].step(event, &mut effects);
            let heads = self.heads[index].len();
            for effect in effects {
                self.carry_out(index, effect, &mut inbox);
            }
            if !self.faulty[index] {
                let new = self.heads[index][heads..].to_vec();
                let verdict = self.checker.check(&self.replicas[index], &new);
                self.disagreement = self.disagreement.take().or(verdict.err());
            }
        }
    }

    fn carry_out(&mut self, index: usize, effect: Effect, inbox: &mut VecDeque<Event>) {
        match effect {
            Effect::Send { to, message, .. } => {
                let to: Vec<_> = match to {
                    Recipients::Others => (0..self.replicas.len().max(self.signers.len())).collect(),
                    Recipients::One(one) => vec![one.index()],
                };
                for to in to.into_iter().filter(|to| *to != index) {
                    self.queue.push_back((index, to, message.clone()));
                }
            }
            Effect::ArmTimer { timer, .. } => drop(self.armed[index].insert(timer, ())),
            Effect::DisarmTimer(timer) => drop(self.armed[index].remove(&timer)),
            Effect::Persist { ticket, records } => {
                records.iter().for_each(|record| write(&mut self.records[index], record));
                self.writes[index].push(records);
                inbox.push_back(Event::Persisted(ticket));
            }
            Effect::Build(request) => {
                let block = self.build(index, &request);
                inbox.push_back(Event::BlockBuilt { ticket: request.ticket, block: Arc::new(block) });
            }
            Effect::Validate { block } => {
                self.blocks[index].entry(block.hash()).or_insert_with(|| block.clone());
                let updates = self.updates.get(&block.height()).cloned().unwrap_or_default();
                inbox.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict: Verdict::Valid { updates } });
            }
            Effect::Fetch { block, from } => self.serve(index, from.index(), block, inbox),
            Effect::Chain(ChainEvent::Sealed { block, seal }) => {
                let resealed = self.blocks[index][&block.hash].as_ref().clone().with_seal(seal);
                self.blocks[index].insert(block.hash, Arc::new(resealed));
            }
            Effect::Chain(ChainEvent::HeadMoved { new, old, .. }) => {
                assert_eq!(self.blocks[index][&new.hash].parent_hash(), old.hash);
                self.heads[index].push(new);
            }
            Effect::Mark(name) => *self.marks.entry(name).or_default() += 1,
            Effect::Reject(rejection) => self.rejections.push((index, rejection)),
            Effect::Evidence(evidence) => self.evidence.push((index, evidence)),
            Effect::CancelBuild | Effect::Chain(_) | Effect::Draw { .. } => {}
        }
    }

    fn build(&mut self, index: usize, request: &BuildRequest) -> Block {
        let parent = self.blocks[index][&request.parent.hash].clone();
        let block = self.block(&parent, index);
        let extra_data = Block::extra_data_of(&request.payload).unwrap_or_default();
        let header = Header { extra_data, ..block.header().clone() };
        Block::new(header, Vec::new(), request.payload.clone(), Vec::new())
    }

    fn serve(&self, index: usize, from: usize, wanted: BlockId, inbox: &mut VecDeque<Event>) {
        if self.cut[from] || self.cut[index] {
            return;
        }
        let canonical = self.heads[from].iter().find(|head| head.height == wanted.height).map(|head| head.hash);
        let hash = if wanted.hash.is_zero() { canonical } else { Some(wanted.hash) };
        if let Some(block) = hash.and_then(|hash| self.blocks[from].get(&hash)) {
            inbox.push_back(Event::BlockSynced { from: ReplicaId::new(from as u32), block: block.clone() });
        }
    }

    /// Delivers the message at this place of the queue, unless it is lost.
    pub(super) fn deliver_at(&mut self, place: usize) {
        let Some((from, to, message)) = self.queue.remove(place) else { return };
        let lost = self.cut[from] || self.cut[to] || self.deaf[to].contains(&message.label());
        if !lost && to < self.replicas.len() {
            self.deliver(to, Event::Message { from: ReplicaId::new(from as u32), message });
        }
    }

    /// Delivers everything, in order.
    pub(super) fn settle(&mut self) {
        while !self.queue.is_empty() {
            self.deliver_at(0);
        }
    }

    /// Fires a timer if it runs.
    pub(super) fn fire(&mut self, index: usize, timer: TimerId) {
        if self.armed[index].remove(&timer).is_some() {
            self.deliver(index, Event::Timer(timer));
        }
    }

    /// Lets whoever may build one block, and everybody agree to it.
    pub(super) fn produce(&mut self) {
        (0..self.replicas.len()).for_each(|index| self.fire(index, BUILD_TIMER));
        self.settle();
    }

    /// Lets everybody (who is not cut off) run out of patience.
    pub(super) fn suspect(&mut self) {
        (0..self.replicas.len()).filter(|index| !self.cut[*index]).collect::<Vec<_>>().into_iter().for_each(|index| {
            self.fire(index, SUSPECT_TIMER);
        });
        self.settle();
    }

    /// Stops a replica and starts it from what it had persisted.
    pub(super) fn restart(&mut self, index: usize) {
        self.replicas[index] = self.recovered(index);
        self.armed[index].clear();
        self.deliver(index, Event::Start);
    }

    /// What a replica would be after a restart.
    pub(super) fn recovered(&self, index: usize) -> Pbft {
        self.recovered_from(index, &self.records[index])
    }

    /// The same from these records.
    pub(super) fn recovered_from(&self, index: usize, records: &Records) -> Pbft {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = Some(self.signers[index].clone());
        let authenticator = self.authenticator.clone();
        Pbft::recover(self.config, genesis, self.set(), records, authenticator, signer).unwrap()
    }

    pub(super) fn heights(&self) -> Vec<u64> {
        self.replicas.iter().map(|replica| replica.head().height.get()).collect()
    }

    pub(super) fn views(&self) -> Vec<u64> {
        self.replicas.iter().map(|replica| replica.view().get()).collect()
    }

    pub(super) fn mark(&self, name: &str) -> u64 {
        self.marks.get(name).copied().unwrap_or_default()
    }

    /// The canonical block at `height` of a replica.
    pub(super) fn canonical(&self, index: usize, height: u64) -> Arc<Block> {
        if height == 0 {
            return self.genesis.clone();
        }
        self.blocks[index][&self.heads[index][height as usize - 1].hash].clone()
    }
}

/// Writes a record; one without a value is forgotten.
pub(super) fn write(records: &mut Records, record: &Record) {
    if record.value.is_empty() {
        records.remove(&record.key);
    } else {
        records.insert(record.key.clone(), record.value.clone());
    }
}
