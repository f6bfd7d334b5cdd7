//! Protocol steps with constructed blocks, without a network.

mod fork_choice;
mod formats;
mod intake;
mod rules;
mod sealing;

use core::time::Duration;
use std::collections::VecDeque;

use super::*;
use crate::{
    chain::{Ancestors, HeaderRules, RuleError},
    consensus::{
        ApplyRecords, ChainEvent, Evidence, HeaderFieldError, Purpose, ReplicaId, SealedHeader, Verdict,
        mutation::{self, Mutation},
        poa::blocks::{INTAKE, SIBLINGS_MAX, TWINS_MAX},
    },
    primitives::{B64, B256, Bytes, Header, Height, KeyPair, U256},
};

const PEER: ReplicaId = ReplicaId::new(1);

/// Signers whose index is their place in the ascending order of addresses, and a genesis block.
struct Setup {
    config: PoaConfig,
    authenticator: Authenticator,
    signers: Vec<Signer>,
    genesis: Arc<Block>,
}

/// Fields of a block that deviate from the rules.
#[derive(Default)]
struct Odd {
    timestamp: Option<u64>,
    difficulty: Option<u64>,
    beneficiary: Option<Address>,
    nonce: B64,
    mix_hash: B256,
    payload: Option<Payload>,
    /// Distinguishes blocks that are equal otherwise.
    gas_limit: u64,
}

impl Setup {
    fn new(count: u64) -> Self {
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        let authenticator = Authenticator::symbolic(7).for_chain(genesis.hash());
        let mut signers: Vec<_> =
            (0..count).map(|index| authenticator.signer(&KeyPair::from_seed(index, "poa"))).collect();
        signers.sort_by_key(Signer::address);
        Self { config: PoaConfig::default().with_period(Duration::from_secs(1)), authenticator, signers, genesis }
    }

    fn set(&self) -> ValidatorSet {
        ValidatorSet::equal(self.signers.iter().map(Signer::address)).unwrap()
    }

    fn replica(&self, signer: Option<usize>) -> Poa {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = signer.map(|index| self.signers[index].clone());
        Poa::new(self.config, genesis, self.set(), self.authenticator.clone(), signer).unwrap()
    }

    /// Returns a sealed block of `signer` (by index) on `parent`, valid except for `odd`; the set does not change.
    fn block(&self, parent: &Block, signer: usize, odd: &Odd) -> Arc<Block> {
        let (height, author) = (parent.height().next(), self.signers[signer].address());
        let payload = odd.payload.as_ref().map(Payload::encoded).unwrap_or_default();
        let in_turn = height.get() % self.signers.len() as u64 == signer as u64;
        let header = Header {
            number: height.get(),
            parent_hash: parent.hash(),
            timestamp: odd.timestamp.unwrap_or(parent.timestamp().as_secs() + 1),
            difficulty: U256::from(odd.difficulty.unwrap_or(if in_turn { 2 } else { 1 })),
            beneficiary: odd.beneficiary.unwrap_or(author),
            nonce: odd.nonce,
            mix_hash: odd.mix_hash,
            gas_limit: odd.gas_limit,
            extra_data: Block::extra_data_of(&payload).unwrap_or_default(),
            ..Header::default()
        };
        let block = Block::new(header, Vec::new(), payload, Vec::new());
        let seal = self.signers[signer].sign(Purpose::Block, block.hash());
        Arc::new(block.with_seal(seal))
    }

    /// Returns a branch of blocks by these signers.
    fn branch(&self, parent: &Arc<Block>, signers: &[usize]) -> Vec<Arc<Block>> {
        let mut parent = parent.clone();
        let extend = |signer: &usize| {
            parent = self.block(&parent, *signer, &Odd::default());
            parent.clone()
        };
        signers.iter().map(extend).collect()
    }
}

/// Steps through an event and the validations that follow, all with a valid verdict.
fn drive(poa: &mut Poa, event: Event) -> Vec<Effect> {
    let mut all = Vec::new();
    let mut inbox = VecDeque::from([event]);
    while let Some(event) = inbox.pop_front() {
        let mut effects = Vec::new();
        poa.step(event, &mut effects);
        for effect in &effects {
            if let Effect::Validate { block } = effect {
                inbox.push_back(Event::BlockJudged { block: BlockId::of(block), verdict: Verdict::VALID });
            }
        }
        all.extend(effects);
    }
    all
}

fn receive(poa: &mut Poa, block: &Arc<Block>) -> Vec<Effect> {
    drive(poa, Event::Message { from: PEER, message: ConsensusMessage::Block(block.clone()) })
}

fn receive_all<'a>(poa: &mut Poa, blocks: impl IntoIterator<Item = &'a Arc<Block>>) {
    for block in blocks {
        receive(poa, block);
    }
}
