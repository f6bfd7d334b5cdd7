//! Replicas, a queue of messages, a store of blocks each, and slots that pass by hand.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use crate::{
    chain::Block,
    consensus::{
        Authenticator, BlockId, BuildRequest, ChainEvent, Effect, Event, Evidence, HeaderChainRules, Message, Protocol,
        Recipients, Records, Rejection, ReplicaId, Signer, TimerId, Validator, ValidatorSet, Verdict,
        pos::{
            ATTEST_TIMER, Checkpoint, HeaderContext, Offence, PROPOSE_TIMER, Payload, Pos, PosConfig, PosMessage,
            Proposal, SLOT_TIMER, State, Vote, VoteData, reveal_hash, rules, tree::state_in,
        },
    },
    primitives::{Address, B256, Bytes, Header, KeyPair},
    system::ValidatorUpdates,
};

/// Slots of a second, four an epoch.
pub(super) fn config() -> PosConfig {
    PosConfig::default().with_period(1).with_slots_per_epoch(4)
}

#[derive(Clone)]
pub(super) struct Lab {
    pub(super) config: PosConfig,
    pub(super) authenticator: Authenticator,
    pub(super) signers: Vec<Signer>,
    pub(super) genesis: Arc<Block>,
    pub(super) replicas: Vec<Pos>,
    pub(super) slot: u64,
    /// Messages under way.
    pub(super) queue: VecDeque<(usize, usize, Message)>,
    /// What each replica executed.
    pub(super) blocks: Vec<BTreeMap<B256, Arc<Block>>>,
    pub(super) records: Vec<Records>,
    armed: Vec<BTreeMap<TimerId, ()>>,
    pub(super) marks: BTreeMap<&'static str, u64>,
    pub(super) rejections: Vec<(usize, Rejection)>,
    pub(super) evidence: Vec<(usize, Evidence)>,
    /// Newest final checkpoint that each replica told of, with its proof.
    pub(super) finals: Vec<(BlockId, Option<Bytes>)>,
    /// Whose messages are lost, in both directions; they do nothing.
    pub(super) down: Vec<bool>,
    /// To which side of a cut each belongs.
    pub(super) side: Vec<usize>,
    /// What executing a block with this height changes.
    pub(super) updates: BTreeMap<u64, ValidatorUpdates>,
    /// Tells blocks apart that are equal otherwise.
    pub(super) salt: u64,
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
        let authenticator = Authenticator::symbolic(7);
        let key = |index| authenticator.signer(&KeyPair::from_seed(index, "pos"));
        let mut signers: Vec<_> = (0..count as u64).map(key).collect();
        signers.sort_by_key(Signer::address);
        signers.extend((count as u64..(count + extra) as u64).map(key));
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        let all = count + extra;
        let mut lab = Self {
            config,
            authenticator,
            signers,
            genesis: genesis.clone(),
            replicas: Vec::new(),
            slot: 0,
            queue: VecDeque::new(),
            blocks: vec![BTreeMap::from([(genesis.hash(), genesis)]); all],
            records: vec![Records::new(); all],
            armed: vec![BTreeMap::new(); all],
            marks: BTreeMap::new(),
            rejections: Vec::new(),
            evidence: Vec::new(),
            finals: vec![(BlockId::default(), None); all],
            down: vec![false; all],
            side: vec![0; all],
            updates: BTreeMap::new(),
            salt: 0,
        };
        let set = ValidatorSet::new(lab.signers[..count].iter().map(|signer| member(signer.address()))).unwrap();
        lab.replicas = (0..all)
            .map(|index| {
                let signer = Some(lab.signers[index].clone());
                Pos::new(config, &lab.genesis, &set, lab.authenticator.clone(), signer).unwrap()
            })
            .collect();
        (0..all).for_each(|index| lab.deliver(index, Event::Start));
        lab
    }

    pub(super) fn genesis_set(&self) -> ValidatorSet {
        self.replicas[0]
            .tree
            .get(&self.genesis.hash())
            .map_or_else(|| self.replicas[0].tree.weights.clone(), |node| node.context.state.current.set.clone())
    }

    pub(super) fn address(&self, index: usize) -> Address {
        self.signers[index].address()
    }

    pub(super) fn index_of(&self, address: &Address) -> usize {
        self.signers.iter().position(|signer| signer.address() == *address).unwrap()
    }

    /// Delivers an event and carries out everything but the sending.
    pub(super) fn deliver(&mut self, index: usize, event: Event) {
        let mut inbox = VecDeque::from([event]);
        while let Some(event) = inbox.pop_front() {
            let mut effects = Vec::new();
            let final_before = self.replicas[index].finalized();
            self.replicas[index].step(event, &mut effects);
            let replica = &self.replicas[index];
            assert!(replica.finalized().epoch >= final_before.epoch, "finality goes back");
            for effect in effects {
                self.carry_out(index, effect, &mut inbox);
            }
        }
    }

    fn carry_out(&mut self, index: usize, effect: Effect, inbox: &mut VecDeque<Event>) {
        match effect {
            Effect::Send { to, message, .. } => {
                let to: Vec<_> = match to {
                    Recipients::Others => (0..self.replicas.len()).collect(),
                    Recipients::One(one) => vec![one.index()],
                };
                for to in to.into_iter().filter(|to| *to != index) {
                    self.queue.push_back((index, to, message.clone()));
                }
            }
            Effect::ArmTimer { timer, .. } => drop(self.armed[index].insert(timer, ())),
            Effect::DisarmTimer(timer) => drop(self.armed[index].remove(&timer)),
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
                let block = self.built(index, &request);
                inbox.push_back(Event::BlockBuilt { ticket: request.ticket, block: Arc::new(block) });
            }
            Effect::Validate { block } => {
                self.blocks[index].insert(block.hash(), block.clone());
                let updates = self.updates.get(&block.height().get()).cloned().unwrap_or_default();
                inbox.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict: Verdict::Valid { updates } });
            }
            Effect::Fetch { block, from } => {
                if let Some(block) = self.served(index, from.index(), block) {
                    inbox.push_back(Event::BlockSynced { from, block });
                }
            }
            Effect::Chain(ChainEvent::Final { finality, proof }) => self.finals[index] = (finality.finalized, proof),
            Effect::Mark(name) => *self.marks.entry(name).or_default() += 1,
            Effect::Reject(rejection) => self.rejections.push((index, rejection)),
            Effect::Evidence(evidence) => self.evidence.push((index, evidence)),
            Effect::CancelBuild | Effect::Chain(_) | Effect::Draw { .. } => {}
        }
    }

    fn built(&mut self, index: usize, request: &BuildRequest) -> Block {
        let parent = self.blocks[index][&request.parent.hash].clone();
        let timestamp = request.timestamp_min.as_secs();
        self.header(&parent, timestamp, request.beneficiary, request.mix_hash, &request.payload)
    }

    fn header(
        &mut self,
        parent: &Block,
        timestamp: u64,
        beneficiary: Address,
        mix_hash: B256,
        payload: &Bytes,
    ) -> Block {
        self.salt += 1;
        let header = Header {
            number: parent.height().get() + 1,
            parent_hash: parent.hash(),
            timestamp,
            beneficiary,
            mix_hash,
            gas_limit: self.salt,
            extra_data: Block::extra_data_of(payload).unwrap(),
            ..Header::default()
        };
        Block::new(header, Vec::new(), payload.clone(), Vec::new())
    }

    fn served(&self, index: usize, from: usize, wanted: BlockId) -> Option<Arc<Block>> {
        if self.down[from] || self.down[index] || self.side[from] != self.side[index] {
            return None;
        }
        let hash = if wanted.hash.is_zero() {
            let mut hash = self.replicas[from].head().hash;
            while self.blocks[from].get(&hash)?.height() > wanted.height {
                hash = self.blocks[from][&hash].parent_hash();
            }
            hash
        } else {
            wanted.hash
        };
        self.blocks[from].get(&hash).cloned()
    }

    /// Delivers everything, in order.
    pub(super) fn apply_epoch(&mut self) {
        while let Some((from, to, message)) = self.queue.pop_front() {
            if !self.down[from] && !self.down[to] && self.side[from] == self.side[to] {
                self.deliver(to, Event::Message { from: ReplicaId::new(from as u32), message });
            }
        }
    }

    fn fire(&mut self, timer: TimerId) {
        for index in 0..self.replicas.len() {
            if !self.down[index] && self.armed[index].remove(&timer).is_some() {
                self.deliver(index, Event::Timer(timer));
            }
        }
        self.apply_epoch();
    }

    /// The next slot begins; nobody proposes yet.
    pub(super) fn tick(&mut self) {
        self.slot += 1;
        self.fire(SLOT_TIMER);
    }

    pub(super) fn propose(&mut self) {
        self.fire(PROPOSE_TIMER);
    }

    pub(super) fn attest(&mut self) {
        self.fire(ATTEST_TIMER);
    }

    /// A whole slot: its block, and its votes.
    pub(super) fn pass(&mut self) {
        self.tick();
        self.propose();
        self.attest();
    }

    pub(super) fn run(&mut self, slots: u64) {
        (0..slots).for_each(|_| self.pass());
    }

    /// Stops a replica and starts it from what it had persisted; slots that it missed go by.
    pub(super) fn restart(&mut self, index: usize) {
        let signer = Some(self.signers[index].clone());
        let (config, authenticator) = (self.config, self.authenticator.clone());
        let set = self.set_of_genesis();
        let recovered = Pos::recover(config, &self.genesis, &set, &self.records[index], authenticator, signer);
        self.replicas[index] = recovered.unwrap();
        self.armed[index].clear();
        self.wake(index);
    }

    /// Begins (again), and goes through the slots that went by.
    pub(super) fn wake(&mut self, index: usize) {
        self.deliver(index, Event::Start);
        while self.replicas[index].slot() < self.slot {
            self.deliver(index, Event::Timer(SLOT_TIMER));
        }
        self.apply_epoch();
    }

    fn set_of_genesis(&self) -> ValidatorSet {
        let link = Pos::genesis_context(&self.config, &self.first_set(), self.genesis.hash(), self.genesis.header());
        link.state.current.set.clone()
    }

    fn first_set(&self) -> ValidatorSet {
        let extra = self.signers.windows(2).position(|pair| pair[0].address() > pair[1].address());
        let count = extra.map_or(self.signers.len(), |last| last + 1);
        ValidatorSet::new(self.signers[..count].iter().map(|signer| member(signer.address()))).unwrap()
    }

    /// The link of a block of a replica's tree.
    pub(super) fn link(&self, replica: usize, block: B256) -> HeaderContext {
        self.replicas[replica].tree.get(&block).unwrap().context.clone()
    }

    /// A block by hand: of the slot's rightful proposer on `parent`, which `replica` knows.
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
        self.forge_on(&link, &self.blocks[replica][&parent].clone(), slot, change)
    }

    pub(super) fn forge_on(
        &mut self,
        link: &HeaderContext,
        parent: &Block,
        slot: u64,
        change: impl FnOnce(&mut Payload),
    ) -> Arc<Block> {
        let (mut state, dues) = link.state.advanced(&self.config, slot);
        let proposer = self.index_of(&state.current.proposer(&self.config, slot).unwrap());
        let reveal = self.signers[proposer].sign(reveal_hash(state.epoch()));
        let mix = rules::mixed(&self.authenticator, state.mix, &reveal);
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

    /// The vote that validator `who` owes in `slot` for a head that `replica` knows.
    pub(super) fn vote(&self, replica: usize, who: usize, slot: u64, head: B256) -> Vote {
        let state = self.state_at(replica, slot, head);
        let head = self.link(replica, head).block;
        let data = VoteData { slot, head, source: state.casper.justified, target: state.checkpoints[1] };
        Vote::signed(data, &self.signers[who])
    }

    fn state_at(&self, replica: usize, slot: u64, head: B256) -> Arc<State> {
        state_in(&self.config, &self.link(replica, head).state, self.config.epoch_of(slot))
    }

    /// Who may vote in `slot` for the first time.
    pub(super) fn committee(&self, replica: usize, slot: u64, head: B256) -> Vec<usize> {
        let state = self.state_at(replica, slot, head);
        let owes = |who: &usize| state.current.attestation_slot(&self.config, &self.address(*who)) == Some(slot);
        (0..self.signers.len()).filter(owes).collect()
    }

    /// Who proposes in `slot` on a head that `replica` knows.
    pub(super) fn proposer(&self, replica: usize, slot: u64, head: B256) -> usize {
        self.index_of(&self.state_at(replica, slot, head).current.proposer(&self.config, slot).unwrap())
    }

    pub(super) fn give_block(&mut self, to: usize, block: &Arc<Block>) {
        let from = ReplicaId::new(((to + 1) % self.replicas.len()) as u32);
        self.deliver(to, Event::Message { from, message: Message::Block(block.clone()) });
    }

    pub(super) fn give_vote(&mut self, to: usize, vote: &Vote) {
        let from = ReplicaId::new(((to + 1) % self.replicas.len()) as u32);
        self.deliver(to, Event::Message { from, message: vote.clone().into() });
    }

    pub(super) fn offence_message(offence: Offence) -> Message {
        Message::Pos(Arc::new(PosMessage::Offence(offence)))
    }

    /// All votes in a replica's chain, newest block first.
    pub(super) fn votes_of(&self, replica: usize) -> Vec<Vote> {
        let (mut votes, mut hash) = (Vec::new(), self.replicas[replica].head().hash);
        while let Some(block) = self.blocks[replica].get(&hash).filter(|block| block.height().get() > 0) {
            votes.extend(Payload::decode(block.payload()).unwrap().votes);
            hash = block.parent_hash();
        }
        votes
    }

    /// A replica's chain without genesis, oldest first.
    pub(super) fn chain_of(&self, replica: usize) -> Vec<Arc<Block>> {
        let (mut chain, mut hash) = (Vec::new(), self.replicas[replica].head().hash);
        while let Some(block) = self.blocks[replica].get(&hash).filter(|block| block.height().get() > 0) {
            chain.push(block.clone());
            hash = block.parent_hash();
        }
        chain.reverse();
        chain
    }

    pub(super) fn mark(&self, name: &str) -> u64 {
        self.marks.get(name).copied().unwrap_or_default()
    }

    pub(super) fn finalized(&self) -> Vec<Checkpoint> {
        self.replicas.iter().map(Pos::finalized).collect()
    }

    pub(super) fn heads(&self) -> Vec<B256> {
        self.replicas.iter().map(|replica| replica.head().hash).collect()
    }
}

pub(super) const WEIGHT: u64 = 32_000_000_000;

pub(super) fn member(address: Address) -> Validator {
    Validator { address, weight: WEIGHT }
}
