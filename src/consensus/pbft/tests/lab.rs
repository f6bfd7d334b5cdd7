//! PBFT's fixture: honest blocks, proposals and signed messages, and what is checked after every step.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    chain::Block,
    consensus::{
        Authenticator, BlockId, BuildRequest, ConsensusMessage, Protocol, Records, ReplicaId, Signer, TimerId,
        ValidatorSet,
        mutation::{self, Mutation},
        pbft::{BUILD_TIMER, Body, Pbft, PbftConfig, PbftMessage, RESEND_TIMER, SUSPECT_TIMER, Seal, View},
        testing::{self, Envelope, Fixture, genesis},
    },
    primitives::{Bytes, Header, Height, KeyPair, keccak256},
    system::{ValidatorUpdate, ValidatorUpdates},
};

pub(super) type Lab = testing::Lab<PbftFixture>;

/// K = 4, L = 8: small enough to fill.
pub(super) fn config() -> PbftConfig {
    PbftConfig::default().with_checkpoints(4, 8)
}

#[derive(Clone, Debug)]
pub(super) struct PbftFixture {
    pub(super) config: PbftConfig,
    /// Replicas that are validators at genesis: the first ones.
    validators: usize,
    /// Distinguishes blocks that are otherwise equal.
    pub(super) salt: u64,
    /// Replicas that lie when they are asked for a block, and the payload that they give it; `None` for no answer.
    pub(super) liars: BTreeMap<usize, Option<Bytes>>,
}

impl Fixture for PbftFixture {
    type Protocol = Pbft;

    fn recover(lab: &Lab, index: usize, records: &Records) -> Pbft {
        let genesis = (BlockId::of(&lab.genesis), lab.genesis.timestamp());
        let signer = Some(lab.signers[index].clone());
        let authenticator = lab.authenticator.clone();
        Pbft::recover(lab.fixture.config, genesis, lab.set(), records, authenticator, signer).unwrap()
    }

    fn start(lab: &Lab, index: usize) -> Pbft {
        lab.fresh(Some(index))
    }

    fn build(lab: &mut Lab, index: usize, request: &BuildRequest) -> Option<Block> {
        let parent = lab.nodes[index].blocks[&request.parent.hash].clone();
        let block = lab.block(&parent, index);
        let extra_data = Block::extra_data_of(&request.payload).unwrap_or_default();
        let header = Header { extra_data, ..block.header().clone() };
        Some(Block::new(header, Vec::new(), request.payload.clone(), Vec::new()))
    }

    /// As `Chain::insert` judges: a body is the header's, and a known block keeps its body.
    fn judge(lab: &Lab, index: usize, block: &Block) -> Option<String> {
        match lab.nodes[index].blocks.get(&block.hash()) {
            Some(_) if mutation::active(Mutation::PbftTakesAnyBody) => None,
            Some(known) if known.has_same_body(block) => None,
            Some(_) => Some("known with another body".to_owned()),
            None if !block.interventions().is_empty() => Some("interventions are not allowed".to_owned()),
            None => block.check_body().err().map(|error| error.to_string()),
        }
    }

    fn answer(lab: &Lab, peer: usize, block: Arc<Block>) -> Option<Arc<Block>> {
        match lab.fixture.liars.get(&peer) {
            None => Some(block),
            Some(lie) => lie.as_ref().map(|payload| Arc::new(with_payload(&block, payload))),
        }
    }

    fn on_head(lab: &mut Lab, index: usize, old: BlockId, new: BlockId) {
        if old == new {
            return;
        }
        let node = &lab.nodes[index];
        assert_eq!(node.blocks[&new.hash].parent_hash(), old.hash, "a block is skipped or taken back");
        if !node.is_faulty {
            lab.check_agreement("committed", 0, new);
        }
    }

    fn after_step(lab: &mut Lab, index: usize) {
        let node = &lab.nodes[index];
        if node.is_faulty {
            return;
        }
        let replica = &node.protocol;
        let (low, high) = replica.watermarks();
        assert!(replica.log.slots.keys().all(|height| low < *height && *height <= high), "outside the watermarks");
        assert!(replica.log.checkpoints.len() <= 4 && replica.log.checkpoint_votes.len() <= 2);
        let prepared: Vec<_> = replica
            .log
            .slots
            .iter()
            .filter_map(|(height, slot)| slot.prepared.map(|(view, hash)| (view, BlockId { height: *height, hash })))
            .collect();
        for (view, block) in prepared {
            lab.check_agreement("prepared", view.get(), block);
        }
    }
}

/// The block with another payload, under the same hash and seal.
pub(super) fn with_payload(block: &Block, payload: &Bytes) -> Block {
    let (header, transactions) = (block.header().clone(), block.transactions().to_vec());
    Block::new(header, transactions, payload.clone(), Vec::new()).with_seal(block.seal().clone())
}

impl Lab {
    pub(super) fn new(count: usize) -> Self {
        Self::with_config(count, config())
    }

    pub(super) fn with_config(count: usize, config: PbftConfig) -> Self {
        Self::with_validators(count, count, config)
    }

    /// `count` replicas with keys, of which the first `validators` are validators of genesis.
    pub(super) fn with_validators(count: usize, validators: usize, config: PbftConfig) -> Self {
        let authenticator = Authenticator::symbolic(7);
        let mut signers: Vec<_> =
            (0..count as u64).map(|index| authenticator.signer(&KeyPair::from_seed(index, "pbft"))).collect();
        signers.sort_by_key(Signer::address);
        Self::assemble(
            PbftFixture { config, validators, salt: 0, liars: BTreeMap::new() },
            genesis(0),
            authenticator,
            signers,
        )
    }

    pub(super) fn set(&self) -> ValidatorSet {
        ValidatorSet::equal(self.signers[..self.fixture.validators].iter().map(Signer::address)).unwrap()
    }

    pub(super) fn fresh(&self, index: Option<usize>) -> Pbft {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = index.map(|index| self.signers[index].clone());
        Pbft::new(self.fixture.config, genesis, self.set(), self.authenticator.clone(), signer).unwrap()
    }

    /// An unsealed block on `parent` that pays `author`.
    pub(super) fn block(&mut self, parent: &Block, author: usize) -> Block {
        self.fixture.salt += 1;
        let header = Header {
            number: parent.height().get() + 1,
            parent_hash: parent.hash(),
            timestamp: parent.timestamp().as_secs() + self.fixture.config.period,
            beneficiary: self.signers[author].address(),
            gas_limit: self.fixture.salt,
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

    /// Queues a message as if `from` had sent it; its signer may be another.
    pub(super) fn inject(&mut self, from: usize, to: usize, message: PbftMessage) {
        let [from, to] = [from, to].map(|index| ReplicaId::new(index as u32));
        self.queue.push_back(Envelope::message(from, to, ConsensusMessage::Pbft(Arc::new(message))));
    }

    /// Makes the execution of the block at `height` set these weights of replicas.
    pub(super) fn change(&mut self, height: u64, weights: &[(usize, u64)]) {
        let update = |(index, weight): &(usize, u64)| ValidatorUpdate {
            address: self.signers[*index].address(),
            weight: *weight,
        };
        let updates = ValidatorUpdates::new(weights.iter().map(update));
        self.updates.insert(Height::new(height), updates);
    }

    /// The replicas that are validators for the block after replica `index`'s head.
    pub(super) fn members(&self, index: usize) -> Vec<usize> {
        let set = self.replica(index).committee().validators();
        (0..self.signers.len()).filter(|other| set.contains(&self.signers[*other].address())).collect()
    }

    /// The replica that is the primary in the view of replica `index`.
    pub(super) fn primary_of(&self, index: usize) -> usize {
        let primary = self.replica(index).primary();
        self.signers.iter().position(|signer| signer.address() == primary).unwrap()
    }

    /// Fires a timer of some replicas and delivers what follows.
    pub(super) fn fire_all(&mut self, replicas: &[usize], timer: TimerId) {
        replicas.iter().for_each(|index| self.fire(*index, timer));
        self.settle();
    }

    /// Lets every timer of some replicas fire, round after round, while nothing is lost.
    pub(super) fn run(&mut self, replicas: &[usize], rounds: usize) {
        for _ in 0..rounds {
            [RESEND_TIMER, SUSPECT_TIMER, BUILD_TIMER].into_iter().for_each(|timer| self.fire_all(replicas, timer));
        }
    }

    /// Lets the primary build one block, and the others agree to it.
    pub(super) fn produce(&mut self) {
        (0..self.nodes.len()).for_each(|index| self.fire(index, BUILD_TIMER));
        self.settle();
    }

    /// Lets the request timer of every replica that is not isolated expire.
    pub(super) fn suspect(&mut self) {
        (0..self.nodes.len()).filter(|index| !self.is_isolated(*index)).collect::<Vec<_>>().into_iter().for_each(
            |index| {
                self.fire(index, SUSPECT_TIMER);
            },
        );
        self.settle();
    }

    /// Lets every replica receive everything again but what is cut.
    pub(super) fn lose_nothing(&mut self) {
        self.lost_labels.iter_mut().for_each(Vec::clear);
    }

    /// Lets all replicas lose messages with these labels.
    pub(super) fn lose(&mut self, labels: &[&'static str]) {
        self.lost_labels = vec![labels.to_vec(); self.nodes.len()];
    }

    pub(super) fn heights(&self) -> Vec<u64> {
        self.replicas().map(|replica| replica.head().height.get()).collect()
    }

    pub(super) fn views(&self) -> Vec<u64> {
        self.replicas().map(|replica| replica.view().get()).collect()
    }
}
